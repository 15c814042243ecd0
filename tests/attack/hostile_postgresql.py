"""A peer on loopback that speaks PostgreSQL's protocol as no server does."""

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Attack = Callable[[socket.socket], None]
"""Acts on a connection whose start-up packet was read."""

TLS, GSS = 80877103, 80877104


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


READY = message(b"Z", b"I")
IN_TRANSACTION = message(b"Z", b"T")
PARAMETERS = b"".join(
    message(b"S", f"{name}\0{value}\0".encode())
    for name, value in (("server_version", "17.0"), ("client_encoding", "UTF8"), ("standard_conforming_strings", "on"))
)
LOGIN = message(b"R", struct.pack("!I", 0)) + PARAMETERS + READY


def error(state: str, text: str = "no", severity: str = "ERROR") -> bytes:
    return message(b"E", f"S{severity}\0V{severity}\0C{state}\0M{text}\0\0".encode("utf-8", "surrogateescape"))


def complete(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


def described(count: int, kind: int = 25) -> bytes:
    column = b"a\0" + struct.pack("!IHIHIH", 0, 0, kind, 0xFFFF, 0xFFFFFFFF, 1)
    return message(b"T", struct.pack("!H", count) + column * count)


def data_row(*values: bytes | None) -> bytes:
    fields = (b"\xff\xff\xff\xff" if each is None else struct.pack("!I", len(each)) + each for each in values)
    return message(b"D", struct.pack("!H", len(values)) + b"".join(fields))


@contextmanager
def hostile_postgresql(attack: Attack) -> Iterator[str]:
    """HOST:PORT of a peer that does `attack` to each connection."""
    server, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                threading.Thread(target=converse, args=(connection,), daemon=True).start()

    def converse(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, struct.error):
            while struct.unpack("!I", connection.recv(1 << 16)[4:8])[0] in {TLS, GSS}:
                connection.sendall(b"N")
            attack(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def dripping(after: bytes, byte: bytes) -> Attack:
    """These bytes, then one more each 50 ms, for ever."""

    def attack(connection: socket.socket) -> None:
        connection.sendall(after)
        while True:
            connection.sendall(byte)
            threading.Event().wait(0.05)

    return attack


def flooding(after: bytes, piece: bytes) -> Attack:
    """These bytes, then the piece without end, once the client has asked something."""

    def attack(connection: socket.socket) -> None:
        connection.sendall(after)
        connection.recv(1 << 16) if after else None
        while True:
            connection.sendall(piece)

    return attack


def answering(answer: bytes) -> Attack:
    """A login, BEGIN, then this to each question."""

    def attack(connection: socket.socket) -> None:
        connection.sendall(LOGIN)
        connection.recv(1 << 16)
        connection.sendall(complete("BEGIN") + IN_TRANSACTION)
        while connection.recv(1 << 16):
            connection.sendall(answer)

    return attack


def endless_hashes(connection: socket.socket) -> None:
    """SCRAM with as many iterations as its field can hold: a thread of the client hashes until its process ends."""
    connection.sendall(message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256\0\0"))
    nonce = connection.recv(4096).split(b"r=")[1]
    connection.sendall(message(b"R", struct.pack("!I", 11) + b"r=" + nonce + b"xx,s=c2FsdA==,i=2147483647"))
    connection.recv(1)


NOTICE = message(b"N", b"SNOTICE\0VNOTICE\0C00000\0M" + b"x" * 8000 + b"\0\0")
GIANT = described(5) + b"D" + struct.pack("!IHI", 1 << 30, 1, (1 << 30) - 10)
GIANT_NOTICE = b"N" + struct.pack("!I", 1 << 30)
PARSED = message(b"1", b"") + message(b"2", b"")
ROWS = data_row(b"a", b"t", b"0/1", b"0/1", None) * 1000

CASES: dict[str, Attack] = {
    "drips a login": dripping(b"R", b"\0"),
    "drips after the login": dripping(LOGIN, NOTICE[:1]),
    "notices before the login": flooding(b"", NOTICE),
    "notices after the login": flooding(LOGIN, NOTICE),
    "says nothing": lambda connection: connection.recv(1),
    "hashes for ever": endless_hashes,
    "endless rows": flooding(LOGIN, ROWS),
    "endless described rows": answering(complete("DECLARE CURSOR") + IN_TRANSACTION + described(5) + ROWS * 100),
    "a giant row": flooding(LOGIN + GIANT, b"x" * 65536),
    "a giant notice in the login": lambda connection: (
        connection.sendall(LOGIN[: -len(READY)] + GIANT_NOTICE) or flooding(b"", b"x" * 65536)(connection)
    ),
    "a giant row in an answer": answering(PARSED + GIANT + b"x" * (1 << 20)),
    "an error for the login": lambda connection: connection.sendall(error("ZZZZZ")),
    "an unknown SQLSTATE": answering(error("ZZ999") + IN_TRANSACTION),
    "an SQLSTATE of other letters": answering(error("\udcff\x1b[2J", "\x1b[2J\udcff") + IN_TRANSACTION),
    "another type": answering(PARSED + described(5, 16) + data_row(b"xx", b"", b"", None, None) + complete("FETCH 1")),
    "a copy": answering(message(b"G", b"\0\0\0") + IN_TRANSACTION),
    "ready at once": answering(IN_TRANSACTION),
    "hangs up": lambda connection: connection.sendall(LOGIN),
}


def anything(seed: int) -> Attack:
    """Random messages after the login, each with a length that is true or not."""
    chance = random.Random(seed)
    kinds = b"TDCZENS123nsItGHWAKRVdc"
    parts = [LOGIN]
    for _ in range(chance.randint(1, 12)):
        body = chance.randbytes(chance.randint(0, 60))
        length = chance.choice([len(body) + 4, len(body) + 4, 0, 3, 1 << 30, (1 << 32) - 1])
        parts.append(bytes([chance.choice(kinds)]) + struct.pack("!I", length) + body)
    known = b"".join(parts)

    def attack(connection: socket.socket) -> None:
        connection.sendall(known)
        connection.recv(1 << 16)
        connection.recv(1 << 16)

    return attack
