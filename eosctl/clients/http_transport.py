"""HTTP exchanges that end: one deadline for the whole of each, and a limit to its answer.

httpx bounds each read from a socket, so a peer that drips its answer byte by byte would be read for ever. Here a
request has the end of its time in `extensions["deadline"]` (time.monotonic()), and each step of it gets the remaining
time until then; `extensions["max_bytes"]` limits the body of each answer, redirects included.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import httpcore
import httpx

from eosctl.clients.deadline import done_by
from eosctl.version import __version__

DEADLINE: Final = "deadline"
MAX_BYTES: Final = "max_bytes"
LOCATION: Final = "location"
USER_AGENT: Final = f"eosctl/{__version__}"
SLICE: Final = 1 << 14
"""The size of one write, so that a slow reader is noticed in between."""


class TooLarge(Exception):
    """The answer has more bytes than it may."""


class NotConnected(Exception):
    """The host leads to an IP address that may not be connected to; the text names it and its kind."""


class HttpAnswer(NamedTuple):
    status: int
    content_type: str
    content: bytes
    location: str


def exchange(http: httpx.Client, request: httpx.Request, deadline: float, max_bytes: int) -> HttpAnswer:
    """The answer to the request, read completely until `deadline`.

    It is not decompressed: eosctl requests no compression. A redirect is an answer; it is not followed. Raises
    TooLarge, NotConnected, and httpx's exceptions.
    """
    request.extensions |= {DEADLINE: deadline, MAX_BYTES: max_bytes}
    request.headers.update({"Accept-Encoding": "identity", "User-Agent": USER_AGENT})
    response = http.send(request, stream=True, follow_redirects=False)
    try:
        content = b"".join(response.iter_raw())
    finally:
        response.close()
    kind = response.headers.get("content-type", "")
    return HttpAnswer(response.status_code, kind, content, response.extensions[LOCATION])


def url_of(text: str) -> httpx.URL:
    """The URL. Raises httpx.InvalidURL also for a host with a label that begins as IDNA's do, and is none.

    httpx itself raises UnicodeError for it, and later: where it names the host.
    """
    url = httpx.URL(text)
    try:
        url.host  # noqa: B018  # it is decoded
    except UnicodeError as error:
        raise httpx.InvalidURL(str(error)) from error
    return url


@cache
def public_authorities() -> ssl.SSLContext:
    """The context of `verify=True`, read once: each client would read the file of certificates again, for 20 ms."""
    return httpx.create_ssl_context(trust_env=False)


class BoundedTransport(httpx.BaseTransport):
    """httpx's transport over streams that keep to the deadline of a request.

    verify None stands for the public authorities, which are read at the first https. against returns why an IP address
    is forbidden; it decides on the address of each connection, regardless of earlier look-ups of the host's name.
    """

    def __init__(self, verify: ssl.SSLContext | None, against: Callable[[str], str | None] = lambda _: None) -> None:
        self._verify, self._backend = verify, _Backend(against)
        self._pools: dict[bytes, httpcore.ConnectionPool] = {}

    @property
    def opened(self) -> int:
        """How many connections were opened until now."""
        return self._backend.opened

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose body is read as it is iterated."""
        assert isinstance(request.stream, httpx.SyncByteStream)
        deadline = request.extensions[DEADLINE]
        # Each step of a request gets its time from here; the streams below take it as the end, not as a duration.
        steps = dict.fromkeys(("connect", "read", "write"), deadline) | {"pool": max(0.0, deadline - time.monotonic())}
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions={**request.extensions, "timeout": steps},
        )
        with _as_httpx():
            answered = self._pool(url.raw_scheme).handle_request(asked)
        locations = [value.decode("latin-1") for name, value in answered.headers if name.lower() == b"location"]
        # httpx decodes compressed bodies, and makes a request of a redirect that it does not follow.
        left_out = {b"content-encoding", b"location"}
        return httpx.Response(
            answered.status,
            headers=[(name, value) for name, value in answered.headers if name.lower() not in left_out],
            stream=_Body(answered.stream, request.extensions[MAX_BYTES]),
            extensions={LOCATION: next(iter(locations), "")},
        )

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, scheme: bytes) -> httpcore.ConnectionPool:
        if scheme not in self._pools:
            context = (self._verify or public_authorities()) if scheme == b"https" else None
            self._pools.setdefault(scheme, httpcore.ConnectionPool(ssl_context=context, network_backend=self._backend))
        return self._pools[scheme]


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Any, max_bytes: int) -> None:  # noqa: ANN401  # httpcore names no class
        self._stream, self._left = stream, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            for piece in self._stream:
                self._left -= len(piece)
                if self._left < 0:
                    raise TooLarge
                yield piece

    def close(self) -> None:
        self._stream.close()


class _as_httpx:
    """Raises httpcore's exceptions as httpx's, whose names are the same."""

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if type(error).__module__.startswith("httpcore"):
            kind = getattr(httpx, type(error).__name__, httpx.TransportError)
            raise kind(str(error)) from error


class _Backend(httpcore.NetworkBackend):
    """Connects; `timeout` is the end of the time, in seconds of time.monotonic()."""

    _sockets = httpcore.SyncBackend()

    def __init__(self, against: Callable[[str], str | None]) -> None:
        self._against = against
        self.opened = 0

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        assert timeout is not None
        addresses = _addresses(host, port, timeout)
        for address in addresses:
            if (reason := self._against(address)) is not None:
                raise NotConnected(f"{host} leads to {address}: {reason}")
        for address in addresses:
            try:
                left = _left(timeout, httpcore.ConnectTimeout)
                stream = self._sockets.connect_tcp(address, port, left, local_address, socket_options or ())
                self.opened += 1
                return _Stream(stream)
            except httpcore.ConnectError as error:
                failure = error
        raise failure


class _Stream(httpcore.NetworkStream):
    """A stream whose `timeout`s are the end of the time, in seconds of time.monotonic()."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), SLICE):
            self._stream.write(buffer[start : start + SLICE], _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  # as httpcore has it
        return self._stream.get_extra_info(info)


def _addresses(host: str, port: int, end: float) -> list[str]:
    """The IP addresses of a host: all of them share the time, and the connection uses a checked one."""
    try:
        found = done_by(end, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except TimeoutError as error:
        raise httpcore.ConnectTimeout(f"the name {host} is not resolved") from error
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(each[4][0]) for each in found]


def _left(deadline: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise late("the time is up")
    return left
