"""A peer on loopback that answers HTTP as no worker does: for ever, without end, in fragments, or in other shapes."""

import contextlib
import json
import random
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Attack = Callable[[socket.socket, str], None]
"""Writes to a connection that requested this path; BrokenPipeError if the client has gone."""

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"
HONEST = {
    "/": {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "K"},
    "/connectors": ["orders"],
    "/connectors?expand": {
        "orders": {
            "info": {"type": "source", "config": {"name": "orders", "connector.class": PLUGIN, "topic": "t"}},
            "status": {
                "connector": {"state": "RUNNING", "worker_id": "w"},
                "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "w", "trace": "x"}],
                "type": "source",
            },
        }
    },
    "/connectors/orders/status": {"name": "orders", "tasks": [{"id": 0, "state": "UNASSIGNED", "worker_id": "w"}]},
    "/connectors/orders/topics": {"orders": {"topics": ["t"]}},
    "/connectors/orders/offsets": {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 1}}]},
    "/connectors/orders/config": {"name": "orders", "connector.class": PLUGIN},
    "/connector-plugins": [{"class": PLUGIN, "type": "source", "version": "4.3.1"}],
    "validate": {"configs": [{"value": {"name": "exactly.once.support", "errors": ["no"]}}]},
}
"""Answers of a worker with one connector, by path."""

VALUES = (None, True, -1, 2**31, 2**63, 10**400, 0.5, "", "x", "\ud800", "1", [], [[]], {}, {"a": {}}, "\x1b[2J\u202e")
"""Values for places where something else belongs."""


@contextmanager
def hostile(attack: Attack) -> Iterator[str]:
    """The address of a peer that does `attack` to each connection."""
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, IndexError):
            request = connection.recv(1 << 16)
            attack(connection, request.split(b" ")[1].decode())

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def answer(status: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _drip(connection: socket.socket, first: bytes, byte: bytes) -> None:
    connection.sendall(first)
    while True:
        connection.sendall(byte)
        threading.Event().wait(0.02)


def drip_body(connection: socket.socket, _: str) -> None:
    _drip(connection, OK + b"Content-Length: 1000000\r\n\r\n", b" ")


def drip_header(connection: socket.socket, _: str) -> None:
    _drip(connection, OK + b"X-A: ", b"a")


def continue_for_ever(connection: socket.socket, _: str) -> None:
    _drip(connection, b"", b"HTTP/1.1 100 Continue\r\n\r\n")


def _without_end(connection: socket.socket, first: bytes, piece: bytes) -> None:
    connection.sendall(first)
    while True:
        connection.sendall(piece)


def ten_gigabytes(connection: socket.socket, _: str) -> None:
    _without_end(connection, OK + b"Content-Length: 10000000000\r\n\r\n", b" " * 65536)


def endless_chunks(connection: socket.socket, _: str) -> None:
    _without_end(connection, OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n")


def endless_redirect(connection: socket.socket, _: str) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: /other\r\nTransfer-Encoding: chunked\r\n\r\n"
    _without_end(connection, head, b"10000\r\n" + b" " * 65536 + b"\r\n")


def redirect_in_circles(connection: socket.socket, path: str) -> None:
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /x" + path.encode() + b"\r\nContent-Length: 0\r\n\r\n")


def compressed_bomb(connection: socket.socket, _: str) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = packer.compress(b" " * (64 << 20)) + packer.flush()
    connection.sendall(OK + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def hang_up(connection: socket.socket, _: str) -> None:
    connection.sendall(OK[:20])


ENDLESS: tuple[Attack, ...] = (
    *(drip_body, drip_header, continue_for_ever, ten_gigabytes, endless_chunks),
    *(endless_redirect, redirect_in_circles, compressed_bomb, hang_up),
)

TEXTS = (
    b"[" * 100_000,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"9" * 5_000,
    b"NaN",
    b"1e999",
    b'"\xed\xa0\x80"',
    b"[" + b"{}," * 3_000_000 + b"{}]",
    b"\x00\xff",
    b"{",
)
"""Bodies that are no JSON that a worker writes."""


def answering(body: bytes) -> Attack:
    """This body to every request."""
    return lambda connection, _: connection.sendall(answer("200 OK", body))


def wrong_shape(seed: int) -> Attack:
    """Honest answers with one wrong value in each."""
    chosen = random.Random(seed)
    changed = {path: json.dumps(_changed(chosen, body)).encode() for path, body in HONEST.items()}

    def attack(connection: socket.socket, path: str) -> None:
        key = "validate" if path.endswith("/validate") else "/connectors?expand" if "?expand" in path else path
        connection.sendall(answer("200 OK", changed[key]) if key in changed else answer("404 Not Found", b"{}"))

    return attack


def _changed(chosen: random.Random, value: object) -> object:
    """The value with one value somewhere in it replaced, or one member missing."""
    if not isinstance(value, dict | list) or not value or chosen.random() < 0.15:
        return chosen.choice(VALUES)
    if isinstance(value, list):
        place = chosen.randrange(len(value))
        return [_changed(chosen, each) if number == place else each for number, each in enumerate(value)]
    name = chosen.choice(list(value))
    if chosen.random() < 0.1:
        return {key: each for key, each in value.items() if key != name}
    return {**value, name: _changed(chosen, value[name])}
