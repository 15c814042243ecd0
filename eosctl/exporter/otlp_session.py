"""The HTTP session that OpenTelemetry's SDK sends with: bounded in time and bytes, whatever answers.

1. `requests` bounds each read from a socket, so an answer that drips has no end. Here a timer ends the sockets of a
   push when its whole time is over.
2. At most MOST_BYTES of an answer's body are read. A redirect is not followed: it is a refusal, as all but 2xx are.
"""

import io
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from time import monotonic
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

MOST_BYTES: Final = 64 << 10


class _Sockets:
    """Second descriptors of the sockets in use: a TLS handshake takes the first one from who opened it."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []
        self._changing = Lock()
        self.ended = False

    def add(self, opened: socket.socket) -> None:
        with self._changing:
            self._open.append(opened.dup())
        if self.ended:
            self.end()

    def end(self) -> None:
        """Every read and write on them ends at once."""
        self.ended = True
        with self._changing:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._changing:
            for each in self._open:
                each.close()
            self._open.clear()


class _Adapter(HTTPAdapter):
    """Connections whose sockets are known."""

    def __init__(self, sockets: _Sockets) -> None:
        self._sockets = sockets
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as requests has it
        super().init_poolmanager(*args, **kwargs)
        self._know(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as requests has it
        manager = super().proxy_manager_for(*args, **kwargs)
        self._know(manager)
        return manager

    def _know(self, manager: Any) -> None:  # noqa: ANN401  # of two kinds
        sockets = self._sockets

        class Plain(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                opened = super()._new_conn()
                sockets.add(opened)
                return opened

        class Secure(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                opened = super()._new_conn()
                sockets.add(opened)
                return opened

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}


class BoundedSession(requests.Session):
    """A session whose exchanges end `timeout_s` after `bounded` was entered, all together."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__()
        self._timeout_s, self._deadline, self._sockets = timeout_s, 0.0, _Sockets()
        self.answer = b""
        self.refusal: str | None = None

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """The time of one push. Its connections are closed at the end."""
        self._deadline, self._sockets = monotonic() + self._timeout_s, _Sockets()
        self.answer, self.refusal = b"", None
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(self._sockets))
        end = Timer(self._timeout_s, self._sockets.end)
        end.daemon = True
        end.start()
        try:
            yield
        finally:
            end.cancel()
            self._sockets.close()
            self.close()

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401  # as requests has it
        """One exchange. Raises where it is late, or is answered by a redirect."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise self._late()
        bounds = {"timeout": left, "allow_redirects": False, "stream": True}
        try:
            response = super().request(method, url, *args, **{**kwargs, **bounds})
            body = response.raw.read(MOST_BYTES, decode_content=False)
        except Exception as error:
            if self._sockets.ended or monotonic() >= self._deadline:
                raise self._late() from error
            raise
        if self._sockets.ended:
            response.close()
            raise self._late()
        response.close()
        if 300 <= response.status_code < 400:
            self.refusal = f"the collector answered {response.status_code}, and a redirect is not followed"
            raise requests.RequestException(self.refusal)
        response.raw = io.BytesIO(body)
        self.answer = body if response.ok else b""
        return response

    def _late(self) -> requests.RequestException:
        self.refusal = f"the collector did not answer within {self._timeout_s:g} s"
        return requests.RequestException(self.refusal)
