"""A peer on loopback that keeps what it is sent, and the addresses that lead there or nowhere."""

import contextlib
import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tests.attack.hostile_worker import HONEST, answer

Answer = Callable[[str, str], bytes]
"""The bytes that answer a request, given its method and its path."""

CANARY: Final = "canary-7f3a"
CLIENT_HELLO: Final = b"\x16\x03\x01"
LOOPBACK: Final = (
    *("127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "127.0.1", "2130706433", "0x7f.1", "0x7f000001"),
    *("017700000001", "0177.0.0.1", "0", "0.0.0.0", "00000", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *("[::1]", "[::]", "[64:ff9b::127.0.0.1]", "127.0.0.1.", "127\u30020\u30020\u30021", "%31%32%37.0.0.1"),
)
"""This machine, or names that may stand for it."""

NOWHERE: Final = (
    *("http://xn--/", "http://xn--a/", "http://a..b/", "http://*/", "http://[::zz]/", "http://[v1.a]/", "http:///", ""),
    *("ftp://{0}/", "file:///etc/passwd", "gopher://{0}/", "unix:/tmp/a", "javascript:alert(1)", "//{0}/", "{0}"),
    *("http:{0}/", "http:/{0}", "http:\\\\{0}\\", "http://{0}99999/", "http://127.0.0.1:-1/", "http://127.0.0.1:0/"),
    *("http://\x01/", "http://a\u2028b/", "http://\u202e{0}/", "http://{0}\x1b[2J/", "HTTP://{0}/\t", " http://{0}/"),
    *("http://u:p@{0}/", "http://{0}@localhost/", "http://{0}#@localhost/", "http://{0}?@a", "http://{0}\\@localhost/"),
    *("http://169.254.169.254/latest/", "https://{0}/", "http://224.0.0.1:1/", "http://255.255.255.255:1/"),
    *("http://{0}/%0d%0aPUT%20/x", "http://{0}/\r\nPUT /x HTTP/1.1\r\n\r\n", "http://{0}/../../x", "http://{0}/a?b=c"),
    "http://" + "a" * 30_000,
)
"""Addresses that are none, or odd; {0} is the place of the peer."""


@contextmanager
def recording(reply: Answer) -> Iterator[tuple[int, list[bytes]]]:
    """The port of the peer and what it was sent, one item for each request."""
    seen: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                threading.Thread(target=converse, args=(peer,), daemon=True).start()

    def converse(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.settimeout(2)
            request = _request(peer)
            seen.append(request)
            method, _, rest = request.decode("latin-1").partition(" ")
            peer.sendall(reply(method, rest.partition(" ")[0]))

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()[1], seen
        finally:
            server.shutdown(socket.SHUT_RDWR)


def _request(peer: socket.socket) -> bytes:
    """One request as it was sent, with its body; bytes that are no HTTP as far as they came."""
    found = b""
    while b"\r\n\r\n" not in found and (piece := peer.recv(1 << 16)):
        found += piece
    head = found.partition(b"\r\n\r\n")[0].lower()
    length = head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0].strip()
    while length.isdigit() and len(found) < len(head) + 4 + int(length) and (piece := peer.recv(1 << 16)):
        found += piece
    return found


def honest(cluster_id: str) -> Answer:
    """The answers of a worker of this Kafka cluster."""
    bodies = {**HONEST, "/": {"version": "4.3.1", "commit": "c", "kafka_cluster_id": cluster_id}}

    def reply(_: str, path: str) -> bytes:
        key = "validate" if path.endswith("/validate") else "/connectors?expand" if "?expand" in path else path
        found = bodies.get(key)
        return answer("404 Not Found", b"{}") if found is None else answer("200 OK", json.dumps(found).encode())

    return reply


def redirecting(onward: str, cluster_id: str, chance: random.Random) -> Answer:
    """A worker that sends some requests, among them all that write, on to another address."""
    status, share, seed = chance.choice([301, 302, 303, 307, 308]), chance.choice([0.2, 0.6, 1.0]), chance.random()
    otherwise = honest(cluster_id)

    def reply(method: str, path: str) -> bytes:
        if method == "GET" and random.Random(f"{seed} {path}").random() > share:
            return otherwise(method, path)
        location = onward.encode("utf-8", "ignore").replace(b"\0", b"")
        return b"HTTP/1.1 %d X\r\nLocation: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (status, location)

    return reply


def hostile_url(port: int, chance: random.Random) -> str:
    """An address that leads to the port by some spelling, or nowhere."""
    place = f"{chance.choice(LOOPBACK)}:{port}"
    ordinary = [f"http://{place}/", f"http://{place}", f"http://{place}/connectors/evil/config", f"HTTP://{place}/"]
    return chance.choice([*ordinary * 8, *(each.replace("{0}", place) for each in NOWHERE)])


def beyond_a_plain_get(request: bytes) -> bool:
    """True if it has another method, a body, or credentials. The beginning of a TLS handshake is none."""
    if request.startswith(CLIENT_HELLO):  # a certificate would follow the server's answer
        return CANARY.encode() in request
    head, _, body = request.partition(b"\r\n\r\n")
    names = {line.partition(b":")[0].strip().lower() for line in head.split(b"\r\n")[1:]}
    shown = {b"authorization", b"cookie", b"proxy-authorization", b"referer"}
    return not head.startswith(b"GET /") or bool(body) or bool(names & shown) or CANARY.encode() in request
