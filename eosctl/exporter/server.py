"""A small HTTP server: GET and HEAD of pages that are there, for clients that may be slow or hostile.

1. Each connection is one request in a thread of its own; its whole time is EXCHANGE_S, however it drips.
2. At most CONNECTIONS are open; a further one is closed at once. No request has a body that is read.
"""

import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import BoundedSemaphore, Timer
from typing import Any, Final, NamedTuple

from eosctl.errors import ConfigError, UsageError

EXCHANGE_S: Final = 10.0
CONNECTIONS: Final = 16


class Page(NamedTuple):
    """What is answered: status, content type and body."""

    status: int
    content_type: str
    body: bytes


NOT_FOUND: Final = Page(404, "text/plain; charset=utf-8", b"there are /metrics, /healthz and /readyz\n")
Pages = Callable[[str], Page | None]


class Address(NamedTuple):
    """Where to listen: as it was given, and as a socket takes it."""

    text: str
    family: int
    place: tuple[Any, ...]

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        return ip_address(str(self.place[0]).partition("%")[0]).is_loopback


def address_of(listen: str, *, allow_remote: bool) -> Address:
    """HOST:PORT or [IPV6]:PORT; UsageError where it is none, or is reached from elsewhere and that is not allowed."""
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) <= 65535):
        raise UsageError(f"--listen {listen} is no address", hint="give HOST:PORT, as 127.0.0.1:9464")
    try:
        name = host.removeprefix("[").removesuffix("]")
        found = socket.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--listen {listen}: {host} is no address of this machine: {error}") from error
    address = Address(listen, found[0], found[4])
    if not address.is_loopback and not allow_remote:
        hint = "metrics name topics, connectors and transactional IDs, to whoever asks: agree with --allow-remote"
        raise UsageError(f"--listen {listen} can be reached from other machines", hint=hint)
    return address


class MetricsServer(ThreadingHTTPServer):
    """Listens from the beginning; answers while `serve_forever` runs. ConfigError where the address cannot be had."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False

    def __init__(self, address: Address, pages: Pages, *, exchange_s: float = EXCHANGE_S) -> None:
        self.address_family = address.family
        self.pages, self.exchange_s, self._slots = pages, exchange_s, BoundedSemaphore(CONNECTIONS)
        try:
            super().__init__(address.place, _Handler)
        except OSError as error:
            hint = "name another one with --listen; port 0 takes a free one"
            raise ConfigError(f"cannot listen on {address.text}: {error.strerror or error}", hint=hint) from error

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Without the look-up of the host's name that HTTPServer does, which may wait for a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as socketserver has it
        """In a thread of its own, if not too many are at work."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as socketserver has it
        """Ended from outside when its time is over."""
        end = Timer(self.exchange_s, _cut, [request])
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as socketserver has it
        """A client that goes away is nobody's concern."""


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer
    timeout = EXCHANGE_S
    server_version, sys_version = "eosctl", ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self.server.pages(self.path.partition("?")[0]) or NOT_FOUND
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)

    def log_message(self, *_: object) -> None:
        return
