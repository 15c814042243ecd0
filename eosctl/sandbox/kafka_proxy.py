"""A proxy in front of one broker, through which workers reach it: it cuts connections, and holds one commit.

A transaction is committed once its coordinator has answered EndTxn. A worker that ends before the request has committed
nothing; one that ends before it reads the answer has committed without knowing it.
"""

import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Final

from eosctl.sandbox.properties import HOST

END_TXN: Final = 26
FIRST_FLEXIBLE_END_TXN: Final = 3


class Moment(StrEnum):
    """When a commit is held: before the coordinator gets it, or after the coordinator's answer."""

    BEFORE_COMMIT = "before"
    AFTER_COMMIT = "after"


class Hold:
    """Holds the next commit of a transactional ID that begins with `prefix`, and all behind it on its connection."""

    def __init__(self, prefix: str, moment: Moment) -> None:
        self.moment = moment
        self._prefix = prefix.encode()
        self._lock = threading.Lock()
        self._caught = threading.Event()
        self._ended = threading.Event()
        self._passes = False
        self.transactional_id: str | None = None

    def take(self, frame: bytes) -> bool:
        """True if this request is the commit to hold; only one is."""
        found = committed_id(frame)
        if found is None or not found.startswith(self._prefix):
            return False
        with self._lock:
            if self.transactional_id is not None or self._ended.is_set():
                return False
            self.transactional_id = found.decode()
        return True

    def stand(self) -> bool:
        """Waits, on the thread of the connection, until the hold ends; whether the frame passes then."""
        self._caught.set()
        self._ended.wait()
        return self._passes

    def wait(self, timeout_s: float) -> str | None:
        """The transactional ID of the held commit; None if none came in that time."""
        return self.transactional_id if self._caught.wait(timeout_s) else None

    def end(self, *, passes: bool) -> None:
        """Lets the frame pass, or drops it with its connection."""
        self._passes = passes
        self._ended.set()


def committed_id(frame: bytes) -> bytes | None:
    """The transactional ID of an EndTxn that commits; None for any other request.

    Request header: int16 API key, int16 version, int32 correlation ID, nullable string client ID, from version 3 of
    EndTxn on a count of tagged fields. Body: the ID (compact from version 3 on), int64 producer ID, int16 producer
    epoch, bool committed.
    """
    key, version, _, client_length = struct.unpack_from(">hhih", frame)
    if key != END_TXN:
        return None
    position = 10 + max(0, client_length)
    if version >= FIRST_FLEXIBLE_END_TXN:
        length, position = frame[position + 1] - 1, position + 2  # IDs of workers are short: one byte of length
    else:
        (length,), position = struct.unpack_from(">h", frame, position), position + 2
    committed = frame[position + length + 10]
    return frame[position : position + length] if committed else None


class KafkaProxy:
    """Listens on a port of its own from the start; `lead_to` says where connections go."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.hold: Hold | None = None
        self._broker: tuple[str, int] | None = None
        self._open: set[Connection] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, port: int) -> None:
        self._broker = HOST, port

    def cut(self) -> int:
        """Closes all connections, and returns how many there were."""
        with self._lock:
            connections = list(self._open)
        for each in connections:
            each.close()
        return len(connections)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def forget(self, connection: "Connection") -> None:
        with self._lock:
            self._open.discard(connection)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    assert self._broker is not None
                    broker = socket.create_connection(self._broker)
                except OSError:
                    client.close()
                    continue
                connection = _Held(self, client, broker)
                with self._lock:
                    self._open.add(connection)
                connection.start()


class Connection(ABC):
    """A client's connection, and the one to the broker behind it. It is closed when one of the two passes ends."""

    def __init__(self, client: socket.socket, broker: socket.socket) -> None:
        self._client, self._broker = client, broker
        for each in (client, broker):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        for pump in (self.pass_requests, self.pass_answers):
            threading.Thread(target=self._run, args=(pump,), daemon=True).start()

    def close(self) -> None:
        for each in (self._client, self._broker):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def requests(self) -> Iterator[bytes]:
        """The client's frames, without their sizes."""
        return _frames(self._client)

    def answers(self) -> Iterator[bytes]:
        """The broker's frames, without their sizes."""
        return _frames(self._broker)

    def ask(self, frame: bytes) -> None:
        self._broker.sendall(struct.pack(">i", len(frame)) + frame)

    def answer(self, frame: bytes) -> None:
        self._client.sendall(struct.pack(">i", len(frame)) + frame)

    @abstractmethod
    def pass_requests(self) -> None:
        """Forwards the client's requests to the broker."""

    @abstractmethod
    def pass_answers(self) -> None:
        """Gives the client what the broker answers."""

    def _run(self, pump: Callable[[], None]) -> None:
        with suppress(OSError):
            pump()
        self.close()


class _Held(Connection):
    """One on which a commit may be held."""

    def __init__(self, proxy: KafkaProxy, client: socket.socket, broker: socket.socket) -> None:
        super().__init__(client, broker)
        self._proxy = proxy
        self._answer_held: tuple[bytes, Hold] | None = None

    def close(self) -> None:
        super().close()
        self._proxy.forget(self)

    def pass_requests(self) -> None:
        for frame in self.requests():
            hold = self._proxy.hold
            if hold is not None and hold.take(frame):
                if hold.moment is Moment.BEFORE_COMMIT and not hold.stand():
                    return
                if hold.moment is Moment.AFTER_COMMIT:
                    self._answer_held = frame[4:8], hold
            self.ask(frame)

    def pass_answers(self) -> None:
        for frame in self.answers():
            held = self._answer_held
            if held is not None and frame[:4] == held[0] and not held[1].stand():
                return
            self.answer(frame)


def _frames(sock: socket.socket) -> Iterator[bytes]:
    while (head := _exactly(sock, 4)) is not None:
        frame = _exactly(sock, struct.unpack(">i", head)[0])
        if frame is None:
            return
        yield frame


def _exactly(sock: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        piece = sock.recv(min(size - len(found), 1 << 18))
        if not piece:
            return None
        found += piece
    return bytes(found)
