"""A connection of psycopg that ends: each wait for the server has a deadline and a limit of bytes.

1. libpq reads a long message for as long as more of it is there, and one call may take gigabytes. So libpq is given one
   end of a socket pair in the place of its socket. What the server sends goes through the other end, and is counted
   before libpq sees it. libpq knows no difference: host, port, TLS and passwords are those of its own connection.
2. psycopg drives libpq without blocking, and waits in one method. That method here moves bytes between the server and
   the pair, and stops at the deadline, however the server drips.
3. Connecting runs in a thread: a server chooses how often libpq hashes the password (SCRAM), and one call does all of
   it. A connection that comes after its time is closed.
"""

import os
import select
import socket
from collections.abc import Callable, Generator
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from eosctl.ledger.store import Row

if TYPE_CHECKING:
    import psycopg

READ: Final = 1
WRITE: Final = 2
"""As psycopg's Wait and Ready have them."""
PIECE: Final = 1 << 16
"""How much is moved at a time; the socket pair holds more."""


class Late(Exception):
    """The server took longer than it may."""


class TooLarge(Exception):
    """The server sent more than it may."""


class Bounds:
    """What one exchange may take: until when, and how many bytes."""

    def __init__(self, deadline: float, most_bytes: int) -> None:
        self.deadline, self.bytes_left = deadline, most_bytes

    @property
    def seconds_left(self) -> float:
        """Until the deadline. Raises Late after it."""
        if (left := self.deadline - monotonic()) <= 0:
            raise Late
        return left

    def count(self, arrived: int) -> None:
        """So many bytes more. Raises TooLarge beyond the limit."""
        self.bytes_left -= arrived
        if self.bytes_left < 0:
            raise TooLarge


class Relay:
    """Moves bytes between the server and libpq within `bounds`, which its owner sets before each exchange."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._server, self._near = socket.socket(), socket.socket()
        self._file, self._inode = -1, -1
        self._inward, self._outward, self._has_ended = b"", b"", False

    def connecting(self, gen: Any) -> Generator[tuple[int, int], int, Any]:  # noqa: ANN401  # psycopg's generators
        """psycopg's generator of a connection, with the pair in the place of each socket from its first read on.

        Until then libpq looks at the socket itself, such as for the user of a local server (requirepeer).
        """
        file, wanted = next(gen)
        while True:
            if wanted == READ and not self._encloses(file):
                self._enclose(file)
            if not self._encloses(file):
                ready = yield file, wanted
            elif not (ready := self._moved(wanted)) and (yield self._server.fileno(), self._waited_for):
                ready = self._moved(wanted)
            try:
                file, wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    def run(self, gen: Any) -> Any:  # noqa: ANN401  # psycopg's generators
        """Runs one of psycopg's exchanges to its end. Raises Late or TooLarge."""
        try:
            wanted = next(gen)
            while True:
                left = self._bounds.seconds_left
                if ready := self._moved(wanted):
                    wanted = gen.send(ready)
                else:
                    _ready(self._server.fileno(), self._waited_for, min(left, 1.0))
        except StopIteration as end:
            return end.value

    def close(self) -> None:
        """Closes the connection, after what libpq said last."""
        self._move_outward()
        self._server.close()
        self._near.close()

    def _encloses(self, file: int) -> bool:
        """Whether this is the pair: libpq may close a socket and open another of the same number."""
        return os.fstat(file).st_ino == self._inode

    def _enclose(self, file: int) -> None:
        self._server.close()
        self._near.close()
        self._server = socket.socket(fileno=os.dup(file))
        self._near, far = socket.socketpair()
        with far:
            for each in (self._server, self._near, far):
                each.setblocking(False)
            os.dup2(far.fileno(), file, inheritable=False)
        self._file, self._inode = file, os.fstat(file).st_ino
        self._inward, self._outward, self._has_ended = b"", b"", False

    @property
    def _waited_for(self) -> int:
        """What of the server's socket is waited for."""
        return READ * (not self._inward and not self._has_ended) | WRITE * bool(self._outward)

    def _moved(self, wanted: int) -> int:
        """Moves what can be moved now; what libpq can do of what it wants."""
        self._move_outward()
        self._move_inward()
        return _ready(self._file, wanted, 0)

    def _move_inward(self) -> None:
        if not self._inward and not self._has_ended:
            try:
                self._inward = self._server.recv(min(PIECE, self._bounds.bytes_left + 1))
                self._has_ended = not self._inward
            except BlockingIOError:
                return
            except OSError:
                self._has_ended = True
            self._bounds.count(len(self._inward))
        with suppress(OSError):  # it is full, or libpq has closed its end
            if self._has_ended:
                self._near.shutdown(socket.SHUT_WR)
            elif self._inward:
                self._inward = self._inward[self._near.send(self._inward) :]

    def _move_outward(self) -> None:
        """All of it, or until the server takes no more: libpq can write again once little of the pair is full."""
        try:
            while self._outward or (said := self._near.recv(PIECE)):
                self._outward = self._outward or said
                self._outward = self._outward[self._server.send(self._outward) :]
        except BlockingIOError:
            return
        except OSError:  # the server is gone, which libpq reads, or nothing is connected
            self._outward = b""


def _ready(file: int, wanted: int, seconds: float) -> int:
    """What of it can be done with the file within this time; 0 for nothing. An end or an error is both."""
    poll = select.poll()
    poll.register(file, (select.POLLIN if wanted & READ else 0) | (select.POLLOUT if wanted & WRITE else 0))
    events = poll.poll(seconds * 1000)
    if not events:
        return 0
    seen = events[0][1]
    ended = wanted if seen & (select.POLLERR | select.POLLHUP | select.POLLNVAL) else 0
    return ended | (READ if seen & select.POLLIN else 0) | (WRITE if seen & select.POLLOUT else 0)


def bounded_connection(bounds: Bounds, parameters: dict[str, Any]) -> "psycopg.Connection[Row]":
    """A connection that keeps to `bounds`, which its owner sets before each exchange. Raises Late or TooLarge."""
    from psycopg import Connection

    relay = Relay(bounds)

    class Bounded(Connection[Row]):
        @classmethod
        def _connect_gen(cls, *args: Any, **named: Any) -> Any:  # noqa: ANN401  # as psycopg has it
            return relay.connecting(super()._connect_gen(*args, **named))

        def wait(self, gen: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  # as psycopg has it
            try:
                return relay.run(gen)
            except (Late, TooLarge):
                self.pgconn.finish()
                relay.close()
                raise

        def close(self) -> None:
            super().close()
            relay.close()

    def connect() -> "psycopg.Connection[Row]":
        try:
            return Bounded.connect(autocommit=True, prepare_threshold=None, client_encoding="UTF8", **parameters)
        except BaseException:
            relay.close()
            raise

    return _in_time(bounds.deadline, connect)


def _in_time(deadline: float, connect: Callable[[], "psycopg.Connection[Row]"]) -> "psycopg.Connection[Row]":
    made: list[psycopg.Connection[Row]] = []
    failed: list[Exception] = []
    over: list[bool] = []

    def run() -> None:
        try:
            connection = connect()
        except Exception as error:  # noqa: BLE001  # raised by who waits
            failed.append(error)
            return
        made.append(connection)
        if over:
            connection.close()

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - monotonic()))
    if thread.is_alive():
        over.append(True)
        raise Late
    if failed:
        raise failed[0]
    return made[0]
