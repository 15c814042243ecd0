"""Serves the last samples of each cycle over HTTP: GET and HEAD, for clients that may be slow or hostile.

1. Each connection is one request in a thread of its own; its whole time is EXCHANGE_S, however it drips.
2. At most CONNECTIONS are open. A further one takes the place of the oldest, so a new client is always heard.
3. No request has a body that is read. A server on a loopback address answers only requests whose Host header names
   that address, another loopback address, `localhost` or the host of --listen: a web page whose name was rebound to
   127.0.0.1 reads nothing.
"""

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import Condition, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from eosctl.errors import ConfigError, NotInstalled, UsageError, reason_of
from eosctl.model.watch import Metric, Observation, Sample

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import GaugeMetricFamily


EXCHANGE_S: Final = 10.0
CONNECTIONS: Final = 256


class Page(NamedTuple):
    status: int
    content_type: str
    body: bytes


NOT_FOUND: Final = Page(404, "text/plain; charset=utf-8", b"there are /metrics, /healthz and /readyz\n")
MISDIRECTED: Final = Page(
    421, "text/plain; charset=utf-8", b"the Host header names another host: ask localhost or the address of --listen\n"
)
Pages = Callable[[str], Page | None]


class Address(NamedTuple):
    """Listening address: as given, and as a socket takes it."""

    text: str
    family: int
    place: tuple[Any, ...]

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return _is_loopback(str(self.place[0]))

    def is_named(self, host: str) -> bool:
        """True if the value of a Host header names this address; its port may be a tunnel's."""
        if not self.is_loopback:
            return True
        name, given = _host_of(host), _host_of(self.text)
        return name in {"localhost", given} or _is_loopback(name)


def _host_of(authority: str) -> str:
    """The host of HOST, HOST:PORT, [IPV6] or [IPV6]:PORT, in lower case and without its last dot."""
    host = authority.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].removesuffix(".")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def address_of(listen: str, *, allow_remote: bool) -> Address:
    """Parses HOST:PORT or [IPV6]:PORT; UsageError if malformed, or reachable remotely without --allow-remote."""
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
        hint = "metrics show topics, connectors and transactional IDs to any client: agree with --allow-remote"
        raise UsageError(f"--listen {listen} can be reached from other machines", hint=hint)
    return address


class MetricsServer(ThreadingHTTPServer):
    """Listens from the beginning; answers while `serve_forever` runs. ConfigError if the address is not available."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False
    request_queue_size = 1024
    """A connection that the kernel does not queue is tried again after a second."""

    def __init__(self, address: Address, pages: Pages, *, exchange_s: float = EXCHANGE_S) -> None:
        self.address_family = address.family
        self.address, self.pages, self.exchange_s = address, pages, exchange_s
        self._open: dict[socket.socket, float] = {}  # when each began, the oldest first
        self._changing = Lock()
        try:
            super().__init__(address.place, _Handler)
        except OSError as error:
            hint = "name another one with --listen; port 0 takes a free one"
            raise ConfigError(f"cannot listen on {address.text}: {reason_of(error)}", hint=hint) from error

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Binds without HTTPServer's look-up of the host name, which may wait for a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as socketserver has it
        """Serves in a new thread; ends the oldest connection where there are too many."""
        with self._changing:
            if len(self._open) >= CONNECTIONS:
                _cut(oldest := next(iter(self._open)))
                del self._open[oldest]
            self._open[request] = monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Closes connections that exceed their deadline, however slowly their clients send."""
        with self._changing:
            over = [each for each, began in self._open.items() if monotonic() - began >= self.exchange_s]
            for each in over:
                _cut(each)
                del self._open[each]

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401  # as socketserver has it
        with self._changing:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # as socketserver has it
        """Ignores client disconnects."""


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer
    timeout = EXCHANGE_S
    default_request_version = "HTTP/1.0"  # so that a request that is not HTTP/1 is answered with a status line, too
    server_version, sys_version = "eosctl", ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        page = self._page()
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(page.body)

    def _page(self) -> Page:
        hosts = self.headers.get_all("Host", [])
        # Only clients of HTTP/1.0 leave it out, and no browser is one.
        absent_is_fine = not hosts and self.request_version == "HTTP/1.0"
        if not absent_is_fine and (len(hosts) != 1 or not self.server.address.is_named(hosts[0])):
            return MISDIRECTED
        return self.server.pages(self.path.partition("?")[0]) or NOT_FOUND

    def log_message(self, *_: object) -> None:
        return


CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROFILE: Final = "profile"
"""The label that each series has besides those of its metric."""


class Exposition:
    """The samples of each profile as one page, the metrics in the order of their table.

    Raises ConfigError where the extra `watch` is not installed.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        try:
            from prometheus_client.openmetrics.exposition import generate_latest
        except ImportError as error:
            raise NotInstalled("--listen", "watch", error) from error
        self._metrics = tuple(metrics)
        self._generate: Callable[[CollectorRegistry], bytes] = generate_latest

    def text(self, published: Mapping[str, Iterable[Sample]]) -> bytes:
        from prometheus_client import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self._metrics, published))
        return self._generate(registry)


class _Collector:
    """The collector that prometheus-client asks for the families of a page."""

    def __init__(self, metrics: tuple[Metric, ...], published: Mapping[str, Iterable[Sample]]) -> None:
        self._metrics, self._published = metrics, published

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        from prometheus_client.metrics_core import GaugeMetricFamily

        families: dict[Metric, GaugeMetricFamily] = {}
        for profile, samples in self._published.items():
            for each in samples:
                if each.metric not in families:
                    labels = (PROFILE, *each.metric.labels)
                    families[each.metric] = GaugeMetricFamily(each.metric.name, each.metric.help, labels=labels)
                families[each.metric].add_metric(list(map(printable, (profile, *each.labels))), each.value)
        return (families[each] for each in self._metrics if each in families)


def printable(label: str) -> str:
    """The label with bytes that are not UTF-8 escaped."""
    return label.encode("utf-8", "backslashreplace").decode("utf-8")


class _Published(Struct, frozen=True):
    """An observation, valid until a time of the monotonic clock."""

    observation: Observation
    until: float


class Board:
    """The last observation of each profile. Cycles publish from threads of their own; no reader waits for one."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._published: dict[str, _Published] = {}
        self._count = 0

    def publish(self, observation: Observation, lifetime_s: float) -> None:
        """Replaces the profile's last observation; after `lifetime_s` it is too old to be shown."""
        until = time.monotonic() + lifetime_s
        with self._changed:
            self._published[observation.profile] = _Published(observation, until)
            self._count += 1
            self._changed.notify_all()

    def latest(self) -> dict[str, Observation]:
        """The last observation by profile; of an expired one, the samples that are still true."""
        with self._changed:
            published = dict(self._published)
        now = time.monotonic()
        return {
            name: each.observation if now < each.until else each.observation.stale for name, each in published.items()
        }

    def wait(self, seen: int, timeout_s: float) -> int:
        """Waits until the number of publications is not `seen`, or for the timeout; returns the number."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)
            return self._count


TEXT: Final = "text/plain; charset=utf-8"
NOT_YET: Final = Page(503, TEXT, b"no cycle has ended yet\n")


class Exporter:
    """Serves /metrics, /healthz and /readyz."""

    def __init__(self, board: Board, exposition: Exposition) -> None:
        self._board, self._exposition = board, exposition
        self._writing = Lock()
        self._written: tuple[Mapping[str, Sequence[Sample]], Page] | None = None

    def page(self, path: str) -> Page | None:
        """The page; None for another path. /metrics and /readyz are 503 until the first cycle has ended."""
        if path == "/healthz":
            return Page(200, TEXT, b"ok\n")
        if path not in {"/metrics", "/readyz"}:
            return None
        published = {profile: each.samples for profile, each in self._board.latest().items()}
        if not published:
            return NOT_YET
        return Page(200, TEXT, b"ok\n") if path == "/readyz" else self._metrics(published)

    def _metrics(self, published: Mapping[str, Sequence[Sample]]) -> Page:
        """Written once for each change, by one thread at a time, for any number of clients."""
        with self._writing:
            if self._written is None or self._written[0] != published:
                self._written = published, Page(200, CONTENT_TYPE, self._exposition.text(published))
            return self._written[1]
