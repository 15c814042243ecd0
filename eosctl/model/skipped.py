"""The difference between "there is none" and "it was not read"."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from eosctl.errors import EosctlError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Skipped:
    """Not read, and why. Unknown is not absent."""

    reason: str


def or_skipped(read: Callable[[], T | Skipped]) -> T | Skipped:
    """What `read` returns, or Skipped with the reason why it could not."""
    try:
        return read()
    except EosctlError as error:
        return Skipped(error.message)
