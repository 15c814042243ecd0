"""The time limit of a wait for something in the cluster, which is polled until then."""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any, TypeVar

from eosctl.errors import TimedOut

T = TypeVar("T")


class Deadline:
    """Now and this many seconds later; since is the beginning, if that is not now (time.monotonic)."""

    def __init__(self, timeout_s: float, since: float | None = None) -> None:
        self._timeout_s = timeout_s
        self._end = (monotonic() if since is None else since) + timeout_s

    def pause(self, seconds: float) -> bool:
        """Waits that long before the next question, and returns True; False at once where the time is over."""
        if monotonic() >= self._end:
            return False
        sleep(seconds)
        return True

    def pause_or_raise(self, seconds: float, why: str) -> None:
        """The same; raises TimedOut where the time is over, with why the wait had not ended."""
        if not self.pause(seconds):
            raise TimedOut(f"{why}, for {self._timeout_s:g} s")


def done_by(end: float, ask: Callable[[], T]) -> T:
    """The result of `ask`, or its exception. TimeoutError at `end` (time.monotonic); `ask` is abandoned then."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(ask())
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            failed.append(error)

    asking = Thread(target=run, daemon=True)
    asking.start()
    asking.join(max(0.0, end - monotonic()))
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found[0]


def look_up(host: str, port: int, end: float) -> Sequence[tuple[Any, ...]]:
    """The addresses of a host, as socket.getaddrinfo gives them; TimeoutError at `end` (time.monotonic).

    The system looks up a name for 5 s at each name server, and twice; for an IP address it asks none.
    """

    def found() -> Sequence[tuple[Any, ...]]:
        return socket.getaddrinfo(in_ascii(host), port, type=socket.SOCK_STREAM)

    return found() if _is_ip(host) else done_by(end, found)


def in_ascii(host: str) -> str | bytes:
    """The name for a look-up: of a str Python loads the rules for names of other scripts first, which takes 1 ms."""
    return host.encode() if host.isascii() else host


def _is_ip(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False
