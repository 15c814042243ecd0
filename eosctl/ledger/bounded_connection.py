"""A connection of psycopg that ends: each wait for the server has a deadline and a limit of bytes.

1. psycopg drives libpq without blocking, and waits in one method. That method here stops at the deadline, however the
   server drips, and where more bytes were read than an answer may have.
2. Connecting runs in a thread: a server chooses how often libpq hashes the password (SCRAM), and one call does all of
   it. A connection that comes after its time is closed.
3. Bytes are counted by the kernel: libpq goes on reading a long message for as long as more of it is there. Where the
   kernel does not count (a local socket, not Linux), what it holds before and after a read is a lower bound.
"""

import fcntl
import os
import select
import socket
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from eosctl.ledger.store import Row

if TYPE_CHECKING:
    import psycopg

READ: Final = 1
WRITE: Final = 2
"""As psycopg's Wait and Ready have them."""
LOOK_S: Final = 0.005
"""How often it is looked how much has arrived, while libpq reads."""
RECEIVED: Final = 128
"""Where tcpi_bytes_received is in Linux's struct tcp_info."""
SMALLEST_READ: Final = 8192
"""libpq reads at least so much at a time, if it is there."""


class Late(Exception):
    """The server took longer than it may."""


class TooLarge(Exception):
    """The server sent more than it may."""


class Bounds:
    """What one exchange may take: until when, and how many bytes."""

    def __init__(self, deadline: float, most_bytes: int) -> None:
        self.deadline, self.bytes_left = deadline, most_bytes

    def run(self, gen: Any, file: int) -> Any:  # noqa: ANN401  # psycopg's generators
        """Runs one of psycopg's exchanges on the socket to its end. Raises Late or TooLarge."""
        try:
            wanted = next(gen)
            while True:
                ready = self._ready(file, int(wanted))
                if not ready:
                    continue
                before, held = _received(file), _readable(file)
                with _stopped_beyond(file, before + self.bytes_left):
                    wanted = gen.send(type(wanted)(ready))
                least = max(held - _readable(file), min(held, SMALLEST_READ))
                self.bytes_left -= max(_received(file) - before, least)
                if self.bytes_left < 0:
                    raise TooLarge
        except StopIteration as end:
            return end.value

    def _ready(self, file: int, wanted: int) -> int:
        """What of it can be done now; 0 after a second, so that a signal is noticed."""
        if (left := self.deadline - monotonic()) <= 0:
            raise Late
        poll = select.poll()
        poll.register(file, (select.POLLIN if wanted & READ else 0) | (select.POLLOUT if wanted & WRITE else 0))
        events = poll.poll(min(left, 1.0) * 1000)
        if not events:
            return 0
        seen = events[0][1]
        ended = wanted if seen & (select.POLLERR | select.POLLHUP | select.POLLNVAL) else 0
        return ended | (READ if seen & select.POLLIN else 0) | (WRITE if seen & select.POLLOUT else 0)


@contextmanager
def _stopped_beyond(file: int, most: int) -> Iterator[None]:
    """Shuts the connection down when more has arrived, while libpq reads within one call (without Python's lock)."""
    over = Event()

    def watch() -> None:
        while not over.wait(LOOK_S):
            if _received(same.fileno()) > most:
                same.shutdown(socket.SHUT_RDWR)
                return

    with socket.socket(fileno=os.dup(file)) as same:
        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except Exception:
            if _received(file) > most or _received(same.fileno()) > most:
                raise TooLarge from None
            raise
        finally:
            over.set()
            thread.join()


def _readable(file: int) -> int:
    """How many bytes have arrived that were not read."""
    try:
        return int.from_bytes(fcntl.ioctl(file, termios.FIONREAD, bytes(4)), sys.byteorder)
    except (OSError, ValueError):
        return 0  # it was closed meanwhile


def _received(file: int) -> int:
    """How many bytes have arrived on a TCP connection since it began; 0 where the kernel does not count them."""
    if sys.platform != "linux":
        return 0
    try:
        with socket.socket(fileno=os.dup(file)) as same:
            counts = same.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RECEIVED + 8)
    except OSError:
        return 0
    return int.from_bytes(counts[RECEIVED:], sys.byteorder)


def bounded_connection(bounds: Bounds, parameters: dict[str, Any]) -> "psycopg.Connection[Row]":
    """A connection that keeps to `bounds`, which its owner sets before each exchange. Raises Late."""
    from psycopg import Connection

    class Bounded(Connection[Row]):
        def wait(self, gen: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  # as psycopg has it
            try:
                return bounds.run(gen, self.pgconn.socket)
            except (Late, TooLarge):
                self.pgconn.finish()
                raise

    def connect() -> "psycopg.Connection[Row]":
        return Bounded.connect(autocommit=True, prepare_threshold=None, client_encoding="UTF8", **parameters)

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
