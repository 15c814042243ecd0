"""The requests of one command to one kind of peer: how many, which take long, and how each one ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock, Timer
from time import monotonic
from typing import Final

from msgspec import Struct

LONG_S: Final = 2.0
"""The time after which a long request's address is named."""


class _Outstanding(Struct, frozen=True):
    name: str
    address: str
    since: float


def _nothing(_: str) -> None:
    """Say nothing."""


class RequestLog:
    """Counts the requests, from any thread.

    `waiting` gets one sentence for each address that has not answered for LONG_S, `ended` one for each request.
    A sentence names request and address; it never holds a body or credentials.
    """

    def __init__(self, waiting: Callable[[str], None] = _nothing, ended: Callable[[str], None] = _nothing) -> None:
        self._lock, self.total = Lock(), 0
        self._waiting, self._ended = waiting, ended
        self._numbers = count()
        self._outstanding: dict[int, _Outstanding] = {}
        self._said: set[str] = set()

    @property
    def is_heard(self) -> bool:
        return self._waiting is not _nothing

    def connecting(self, address: str) -> int:
        """The number of a connection that is begun: it is waited for as a request is, and not counted."""
        return self._begin("a connection", address)

    def sent(self, name: str, address: str) -> int:
        with self._lock:
            self.total += 1
        return self._begin(name, address)

    def done(self, number: int, outcome: str) -> None:
        with self._lock:
            request = self._outstanding.pop(number, None)
            if request is None:
                return
            if all(each.address != request.address for each in self._outstanding.values()):
                self._said.discard(request.address)
        self._ended(f"{request.name} {request.address}: {outcome} in {1000 * (monotonic() - request.since):.0f} ms")

    def look(self) -> None:
        """Say which addresses have not answered for long; each once, until it has answered."""
        now = monotonic()
        with self._lock:
            late = {
                each.address: each.name
                for each in self._outstanding.values()
                if now - each.since >= LONG_S and each.address not in self._said
            }
            self._said.update(late)
        for address, name in late.items():
            self._waiting(f"waiting for {address} ({name})")

    @contextmanager
    def blocking(self, name: str, address: str) -> Iterator[list[str]]:
        """A request that the block waits for; the block puts into the list how it ended."""
        number, outcome = self.sent(name, address), list[str]()
        timer = Timer(LONG_S, self.look) if self.is_heard else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield outcome
        finally:
            if timer is not None:
                timer.cancel()
            self.done(number, outcome[0] if outcome else "no answer")

    def _begin(self, name: str, address: str) -> int:
        request = _Outstanding(name, address, monotonic())
        with self._lock:
            number = next(self._numbers)
            self._outstanding[number] = request
        return number
