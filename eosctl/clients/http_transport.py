"""HTTP exchanges that end: one deadline for the whole of each, and a limit to its answer.

httpcore bounds each read from a socket, so a peer that drips its answer byte by byte would be read for ever. Here each
step of an exchange gets the remaining time until its deadline (time.monotonic()).
"""

import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpcore
from msgspec import Struct

from eosctl.clients.deadline import in_ascii, look_up
from eosctl.clients.http_url import HttpUrl
from eosctl.version import __version__

if TYPE_CHECKING:
    import ssl


JSON: Final = "application/json"
SLICE: Final = 1 << 14
"""The size of one write, so that a slow reader is noticed in between."""
FAILURES: Final = (
    *(httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError),
    *(httpcore.UnsupportedProtocol, httpcore.ConnectionNotAvailable),
)
"""httpcore's exceptions beside TimeoutException; they have no class in common."""


class TooLarge(Exception):
    """The answer has more bytes than it may."""


class NotConnected(Exception):
    """The host leads to an IP address that may not be connected to; the text names it and its kind."""


class NotInTime(Exception):
    """There is no whole answer at the deadline."""


class NoAnswer(Exception):
    """The connection, its TLS or its HTTP failed; the text is the library's."""


class HttpRequest(Struct, frozen=True):
    method: str
    url: HttpUrl
    content: bytes | None = None
    content_type: str = JSON


class HttpAnswer(Struct, frozen=True):
    """status, headers `Content-Type` and `Location` (empty: none), and the body, which is not decompressed."""

    status: int
    content_type: str
    content: bytes
    location: str


class HttpClient:
    """Exchanges with the origin of `base`, over connections that stay open between them.

    context is for https. against returns why an IP address is forbidden; it decides on the address of each connection,
    regardless of earlier look-ups of the host's name. Cookies are sent back: by them a balancer may keep the requests
    of one client at one worker. Proxy settings of the environment are not read: they are for the web, not for a worker
    inside the cluster.
    """

    def __init__(
        self,
        base: HttpUrl,
        context: "ssl.SSLContext | None",
        credentials: tuple[str, str] | None,
        against: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self.base: HttpUrl = base
        self._credentials, self._backend = credentials, _Backend(against)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=self._backend)
        self._cookies: Mapping[bytes, bytes] = {}

    @property
    def opened(self) -> int:
        """How many connections were opened until now."""
        return self._backend.opened

    def exchange(self, request: HttpRequest, deadline: float, max_bytes: int) -> HttpAnswer:
        """The answer to the request, read completely until `deadline`; a redirect is an answer, and not followed.

        Raises TooLarge, NotConnected, NotInTime and NoAnswer.
        """
        # Each step of a request gets its time from here; the streams below take it as the end, not as a duration.
        steps = dict.fromkeys(("connect", "read", "write"), deadline) | {"pool": max(0.0, deadline - time.monotonic())}
        url = request.url
        port, target = url.port, url.target.encode("ascii")
        asked = httpcore.Request(
            request.method.encode("ascii"),
            httpcore.URL(scheme=url.scheme.encode("ascii"), host=url.host.encode("ascii"), port=port, target=target),
            headers=self._headers(request),
            content=request.content or b"",
            extensions={"timeout": steps},
        )
        with _own_errors():
            answered = self._pool.handle_request(asked)
            try:
                content = b"".join(_limited(answered.iter_stream(), max_bytes))
            finally:
                answered.close()
        found: dict[bytes, list[bytes]] = {}
        for name, value in answered.headers:
            found.setdefault(name.lower(), []).append(value)
        for cookie in found.get(b"set-cookie", ()):
            name, _, value = cookie.partition(b";")[0].partition(b"=")
            self._cookies = {**self._cookies, name.strip(): value.strip()}
        kind, location = (found.get(name, [b""])[0].decode("latin-1") for name in (b"content-type", b"location"))
        return HttpAnswer(answered.status, kind, content, location)

    def close(self) -> None:
        self._pool.close()

    def _headers(self, request: HttpRequest) -> list[tuple[bytes, bytes]]:
        """Encoding identity: eosctl decompresses no answer."""
        headers = {
            "Host": request.url.netloc,
            "Accept": JSON,
            "Accept-Encoding": "identity",
            "Connection": "keep-alive",
            "User-Agent": f"eosctl/{__version__}",
        }
        if request.content is not None:
            headers["Content-Type"] = request.content_type
        if request.content is not None or request.method in {"PATCH", "POST", "PUT"}:
            headers["Content-Length"] = str(len(request.content or b""))
        if self._credentials is not None:
            headers["Authorization"] = f"Basic {b64encode(':'.join(self._credentials).encode()).decode()}"
        cookies = b"; ".join(b"%s=%s" % each for each in self._cookies.items())
        named = [(name.encode(), value.encode("ascii")) for name, value in headers.items()]
        return [*named, (b"Cookie", cookies)] if cookies else named


def _limited(pieces: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise TooLarge
        yield piece


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except httpcore.TimeoutException as error:
        raise NotInTime(str(error)) from error
    except FAILURES as error:
        raise NoAnswer(str(error)) from error


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
                place: Any = in_ascii(address)  # as the socket module takes it
                stream = self._sockets.connect_tcp(place, port, left, local_address, socket_options or ())
                self.opened += 1
                return _Stream(stream)
            except httpcore.ConnectError as error:
                failure = error
        raise failure


class _Stream(httpcore.NetworkStream):
    """A stream whose `timeout`s are the end of the time, in seconds of time.monotonic()."""

    def __init__(self, stream: httpcore.NetworkStream, *, has_tls: bool = False) -> None:
        self._stream, self._has_tls = stream, has_tls

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), SLICE):
            self._stream.write(buffer[start : start + SLICE], _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: "ssl.SSLContext", server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), has_tls=True)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  # as httpcore has it
        if info == "ssl_object" and not self._has_tls:
            return None  # the library would load ssl to find that
        return self._stream.get_extra_info(info)


def _addresses(host: str, port: int, end: float) -> list[str]:
    """The IP addresses of a host: all of them share the time, and the connection uses a checked one."""
    try:
        found = look_up(host, port, end)
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
