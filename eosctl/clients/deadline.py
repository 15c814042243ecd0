"""The time limit of a wait for something in the cluster, which is polled until then."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from time import monotonic, sleep
from typing import TypeVar

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
    """The result of `ask`, or its exception. TimeoutError at `end` (time.monotonic); `ask` is abandoned then.

    For calls without a timeout: the system looks up a host's name for 5 s at each name server, and twice.
    """
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(ask())
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    return found.result(max(0.0, end - monotonic()))
