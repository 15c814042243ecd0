"""Settings that are whole numbers, whoever says so."""

from typing import Final

from eosctl.errors import Undecodable

MOST_DIGITS: Final = 19
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
    """The number that a setting is; Undecodable with `what` for what is none."""
    digits = text.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > MOST_DIGITS:
        shown = text if len(text) <= MOST_DIGITS else f"{text[:MOST_DIGITS]}…"
        raise Undecodable(f"{what} is {shown!r}, which is no whole number")
    return int(text)
