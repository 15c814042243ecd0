"""Parses integers as Kafka does."""

from typing import Final

from eosctl.errors import Undecodable
from eosctl.late_pattern import late_pattern

SHOWN: Final = 19
_WHOLE: Final = late_pattern(r"[+-]?[0-9]{1,19}")
"""As many digits as a Java long has: Python refuses to read some thousands."""
MOST_TASK_DIGITS: Final = 10
"""A task's number is a Java int."""
MOST_TASKS: Final = 100_000
"""More tasks of a connector than any cluster runs: their IDs are named one by one."""


def task_numbers(count: int, connector: str) -> range:
    """The numbers of its tasks; Undecodable where a record or setting has more than any cluster runs."""
    if count > MOST_TASKS:
        raise Undecodable(f"connector {connector} has {count} tasks, and more than {MOST_TASKS} are not listed")
    return range(count)


def whole_number(text: str, what: str) -> int:
    """The setting as an integer; raises Undecodable with `what` if it is none."""
    number = whole(text)
    if number is None:
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        raise Undecodable(f"{what} is {shown!r}, which is no whole number")
    return number


def whole(text: str) -> int | None:
    """The whole number that Kafka reads in this text, with or without blanks around it; None where it reads none."""
    return int(text) if _WHOLE.fullmatch(text.strip()) else None
