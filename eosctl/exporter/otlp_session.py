"""The HTTP session that OpenTelemetry's SDK sends with: bounded in time and bytes, whatever answers.

1. `requests` bounds each read from a socket, so an answer that drips has no end. Here a timer ends the sockets of a
   push when its whole time is over.
2. At most MOST_BYTES of an answer's body are read. A redirect is not followed: it is a refusal, as all but 2xx are.
"""

import io
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from requests import Response, Session
    from requests.adapters import HTTPAdapter

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


def _adapter(sockets: _Sockets) -> "HTTPAdapter":
    """Connections whose sockets are known, through a proxy or not."""
    from requests.adapters import HTTPAdapter

    pools = _pools(sockets)

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  # as requests has it
            super().init_poolmanager(*args, **kwargs)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as requests has it
            manager = super().proxy_manager_for(*args, **kwargs)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter()


def _pools(sockets: _Sockets) -> dict[str, Any]:
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            sockets.add(opened := super()._new_conn())
            return opened

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            sockets.add(opened := super()._new_conn())
            return opened

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class PushBounds:
    """What the exchanges of one push may take, all together, and what came of them."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s, self._deadline, self._sockets = timeout_s, 0.0, _Sockets()
        self.answer = b""
        self.status: int | None = None
        self.refusal: str | None = None
        self.session = _session(self)

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """The time of one push begins. Its connections are closed at the end."""
        self._deadline, self._sockets = monotonic() + self.timeout_s, _Sockets()
        self.answer, self.refusal, self.status = b"", None, None
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _adapter(self._sockets))
        end = Timer(self.timeout_s, self._sockets.end)
        end.daemon = True
        end.start()
        try:
            yield
        finally:
            end.cancel()
            self._sockets.close()
            self.session.close()

    def exchange(self, send: Callable[[float], "Response"]) -> "Response":
        """What `send` gives within the time that is left. Raises where it is late, or is answered by a redirect."""
        if (left := self._deadline - monotonic()) <= 0:
            raise self._refused(self.late)
        try:
            response = send(left)
            body = response.raw.read(MOST_BYTES, decode_content=False)
            response.close()
        except Exception as error:
            if self._is_over():
                raise self._refused(self.late) from error
            raise
        if self._is_over():
            raise self._refused(self.late)
        if 300 <= response.status_code < 400:
            raise self._refused(f"the collector answered {response.status_code}, and a redirect is not followed")
        self.status = response.status_code
        response.raw = io.BytesIO(body)
        self.answer = body if response.ok else b""
        return response

    def _is_over(self) -> bool:
        return self._sockets.ended or monotonic() >= self._deadline

    @property
    def late(self) -> str:
        """What is said of a push whose time is over."""
        return f"the collector did not answer within {self.timeout_s:g} s"

    def _refused(self, why: str) -> Exception:
        from requests import RequestException

        self.refusal = why
        return RequestException(why)


def _session(bounds: PushBounds) -> "Session":
    """A session of `requests` that keeps to the bounds."""
    from requests import Session

    class Bounded(Session):
        def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> "Response":  # noqa: ANN401  # as there
            def send(left: float) -> "Response":
                ours = {"timeout": left, "allow_redirects": False, "stream": True}
                return super(Bounded, self).request(method, url, *args, **{**kwargs, **ours})

            return bounds.exchange(send)

    return Bounded()
