"""The HTTP server: its address, its answers, and the effects of slow or hostile clients."""

import contextlib
import http.client
import socket
import threading
import time

import pytest

from eosctl.errors import ConfigError, UsageError
from eosctl.exporter.exporter import CONNECTIONS, Address, MetricsServer, Page, address_of
from tests.waiting import eventually

BODY = b"x" * 100_000


@pytest.fixture
def serve():
    """`serve(exchange_s)` is the port of a server with the page /metrics."""
    servers = []

    def start(exchange_s=10.0):
        def pages(path):
            return Page(200, "text/plain", BODY) if path == "/metrics" else None

        server = MetricsServer(address_of("127.0.0.1:0", allow_remote=False), pages, exchange_s=exchange_s)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        servers.append((server, thread))
        return server.port

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(port, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_pages_are_answered_with_or_without_a_query_and_others_are_not_found(serve):
    port = serve()
    assert asked(port) == (200, BODY)
    assert asked(port, "/metrics?name=x") == (200, BODY)
    assert asked(port, method="HEAD") == (200, b"")
    assert asked(port, "/etc/passwd")[0] == 404
    assert asked(port, method="POST")[0] == 501


def test_a_client_that_drips_is_cut_off_and_delays_no_other(serve):
    port = serve(exchange_s=0.5)
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET /metrics HTTP/1.0\r\nX-")
        assert asked(port)[0] == 200
        began = time.monotonic()

        def cut_off():
            try:
                slow.sendall(b"x")  # each byte begins the time of a read again
                slow.settimeout(0.05)
                return slow.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        eventually(cut_off, deadline_s=10)
        assert time.monotonic() - began < 5


def test_a_client_that_reads_nothing_does_not_keep_its_thread(serve):
    port, others = serve(exchange_s=0.3), set(_at_work())
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.connect(("127.0.0.1", port))
        deaf.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        eventually(lambda: set(_at_work()) <= others, deadline_s=10)


def _at_work():
    """The threads that serve a connection."""
    return [each for each in threading.enumerate() if "process_request_thread" in each.name]


def test_60_slow_clients_that_reconnect_delay_no_other(serve):
    port, over = serve(exchange_s=0.3), threading.Event()

    def reconnect():
        while not over.is_set():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.5) as slow:
                slow.sendall(b"GET /metrics HTTP/1.1\r\nX-")
                slow.recv(1)

    clients = [threading.Thread(target=reconnect) for _ in range(60)]
    for each in clients:
        each.start()
    try:
        for _ in range(20):
            began = time.monotonic()
            assert asked(port)[0] == 200
            assert time.monotonic() - began < 1
    finally:
        over.set()
        for each in clients:
            each.join()


def test_a_connection_too_many_takes_the_place_of_the_oldest(serve):
    port = serve(exchange_s=30.0)
    held = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(CONNECTIONS)]
    try:
        assert asked(port)[0] == 200
        assert held[0].recv(1) == b""  # and no TimeoutError
        held[-1].sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert held[-1].recv(12) == b"HTTP/1.0 200"
    finally:
        for each in held:
            each.close()
    eventually(lambda: _is_served(port), deadline_s=10)


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        (["localhost"], 200),
        (["LOCALHOST.:9464"], 200),
        (["127.0.0.1:1"], 200),
        (["[::1]:9464"], 200),
        (["evil.example"], 421),
        (["evil.example:9464"], 421),
        (["127.0.0.1.evil.example"], 421),
        (["localhost@evil.example"], 421),
        (["10.0.0.1"], 421),
        ([""], 421),
        ([], 421),
        (["localhost", "evil.example"], 421),
    ],
)
def test_on_loopback_only_a_host_of_this_machine_is_answered(serve, hosts, status):
    with socket.create_connection(("127.0.0.1", serve()), timeout=10) as client:
        lines = "".join(f"Host: {each}\r\n" for each in hosts)
        client.sendall(f"GET /metrics HTTP/1.1\r\n{lines}\r\n".encode())
        assert client.recv(12).decode() == f"HTTP/1.0 {status}"


def test_the_host_of_listen_is_answered_and_with_allow_remote_each():
    address = Address("metrics.internal:9464", socket.AF_INET, ("127.0.0.1", 9464))
    assert address.is_named("metrics.internal:9464")
    assert not address.is_named("other.internal:9464")
    assert address_of("0.0.0.0:9464", allow_remote=True).is_named("prometheus.internal")


def _is_served(port):
    try:
        return asked(port)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_a_request_without_end_is_refused(serve):
    port = serve()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(b"GET /" + b"a" * 70_000)
        assert client.recv(100).startswith(b"HTTP/1.0 414")
    assert asked(port)[0] == 200


def test_a_port_that_is_taken_is_an_error_with_the_way_out():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"cannot listen on {text}: Address already in use") as caught:
            MetricsServer(address_of(text, allow_remote=False), lambda _: None)
    assert "--listen" in caught.value.hint


@pytest.mark.parametrize("listen", ["9464", "127.0.0.1", ":9464", "127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:²"])
def test_a_malformed_address_is_a_usage_error(listen):
    with pytest.raises(UsageError, match="is no address"):
        address_of(listen, allow_remote=True)


@pytest.mark.parametrize(("listen", "loopback"), [("127.0.0.1:1", True), ("[::1]:1", True), ("0.0.0.0:1", False)])
def test_only_loopback_is_listened_on_unless_more_is_allowed(listen, loopback):
    assert address_of(listen, allow_remote=True).is_loopback is loopback
    if not loopback:
        with pytest.raises(UsageError, match="other machines") as caught:
            address_of(listen, allow_remote=False)
        assert "--allow-remote" in caught.value.hint


HOST = b"Host: localhost\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n", 200),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 400),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n", 200),
        ((b"GET /metrics HTTP/1.1\r\n" + HOST + b"Connection: keep-alive\r\n\r\n") * 1000, 200),
        (b"GET http://evil/metrics HTTP/1.1\r\nHost: evil\r\n\r\n", 421),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n evil\r\n\r\n", 421),
    ],
    ids=["h2", "h2c", "tls", "headers", "chunks", "keep-alive", "absolute", "folded"],
)
def test_one_request_of_a_connection_is_answered_with_one_status_and_the_connection_ends(serve, sent, status):
    with socket.create_connection(("127.0.0.1", serve()), timeout=10) as client:
        answer = b""
        with contextlib.suppress(ConnectionError):  # it has not read all that was sent
            client.sendall(sent)
            while piece := client.recv(1 << 16):
                answer += piece
    assert answer.startswith(b"HTTP/1.0 %d " % status)
    assert answer.count(b"HTTP/1.0 ") == 1
