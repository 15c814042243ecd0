"""Waiting on conditions, with words for what did not come."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    ask: Callable[[], T], what: str | Callable[[], str] = "it", *, deadline_s: float = 60.0, every_s: float = 0.05
) -> T:
    """The first true answer of `ask`; after the deadline it fails, naming `what`.

    The interval is `every_s` at first, and grows: the answer is late by at most a twentieth of the wait.
    """
    begin = time.monotonic()
    while not (answer := ask()):
        waited = time.monotonic() - begin
        assert waited < deadline_s, f"not so after {deadline_s} s: {what if isinstance(what, str) else what()}"
        time.sleep(max(every_s, waited / 20))
    return answer
