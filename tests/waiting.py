"""Waiting on conditions, with words for what did not come."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    ask: Callable[[], T], what: str | Callable[[], str] = "it", *, deadline_s: float = 60.0, every_s: float = 0.05
) -> T:
    """The first true answer of `ask`; fails, saying `what` did not come to pass, after the deadline."""
    deadline = time.monotonic() + deadline_s
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not so after {deadline_s} s: {what if isinstance(what, str) else what()}"
        time.sleep(every_s)
    return answer
