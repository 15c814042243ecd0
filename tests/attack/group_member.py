"""A member of a Connect group that is no worker: it needs Read on the group, and advertises any address."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = (10, 0), (11, 2), (12, 0), (13, 0), (14, 0)
SASL_HANDSHAKE, SASL_AUTHENTICATE = (17, 1), (36, 0)
Login = tuple[str, str]
"""User and password."""

COORDINATOR_COMES = {14, 15, 16}
"""It loads the group's partition, or there was no group before."""
SESSION_MS = 60_000
SESSIONED = 2


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


class _Member:
    def __init__(self, address: str, group_id: str, url: str, login: Login | None) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 120)
        self._group, self._member, self._generation = _text(group_id), "", 0
        subscription = struct.pack(">h", SESSIONED) + _text(url) + struct.pack(">qi", 0, -1)
        if login is not None:
            self._log_in(*login)
        self._protocols = struct.pack(">i", 1) + _text("sessioned") + _blob(subscription)

    def _log_in(self, user: str, password: str) -> None:
        shown = _blob(f"\0{user}\0{password}".encode())
        for request, body in ((SASL_HANDSHAKE, _text("PLAIN")), (SASL_AUTHENTICATE, shown)):
            assert self._ask(request, body)[:2] == bytes(2), request

    def _ask(self, request: tuple[int, int], body: bytes) -> bytes:
        self._socket.sendall(_blob(struct.pack(">hhi", *request, 1) + _text("evil") + body))
        size = struct.unpack(">i", self._read(4))[0]
        return self._read(size)[4:]

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            piece = self._socket.recv(size - len(found))
            assert piece, "the broker closed the connection"
            found += piece
        return found

    @property
    def _known(self) -> bytes:
        return self._group + struct.pack(">i", self._generation) + _text(self._member)

    def join(self) -> None:
        """Returns once the group is stable with this member, after each rebalance."""
        while True:
            body = self._group + struct.pack(">ii", SESSION_MS, SESSION_MS) + _text(self._member)
            answer = self._ask(JOIN_GROUP, body + _text("connect") + self._protocols)
            error, self._generation = struct.unpack_from(">hi", answer, 4)
            if error in COORDINATOR_COMES:
                self._ask(FIND_COORDINATOR, self._group)
                threading.Event().wait(0.1)
                continue
            assert error == 0, error
            place = 10
            for _ in ("protocol", "leader", "member"):
                size = struct.unpack_from(">h", answer, place)[0]
                value, place = answer[place + 2 : place + 2 + size].decode(), place + 2 + size
            self._member = value
            if struct.unpack_from(">h", self._ask(SYNC_GROUP, self._known + struct.pack(">i", 0)))[0] == 0:
                return

    def stay(self) -> None:
        """One heartbeat; joins again where the group rebalances."""
        if struct.unpack(">h", self._ask(HEARTBEAT, self._known)[:2])[0] != 0:
            self.join()

    def leave(self) -> None:
        """The group goes on without it."""
        self._ask(LEAVE_GROUP, self._group + _text(self._member))
        self._socket.close()


@contextmanager
def member_of(group_id: str, bootstrap: str, url: str, login: Login | None = None) -> Iterator[None]:
    """A member of the group, with this address, while the block runs; as this user of SASL/PLAIN."""
    member, over = _Member(bootstrap, group_id, url, login), threading.Event()
    member.join()

    def stay() -> None:
        while not over.wait(0.5):
            member.stay()

    staying = threading.Thread(target=stay, daemon=True)
    staying.start()
    try:
        yield
    finally:
        over.set()
        staying.join(60)
        member.leave()
