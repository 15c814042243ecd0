"""The difference between "there is none" and "it was not read"."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self, TypeVar

from eosctl.errors import (
    EosctlError,
    NotAuthorized,
    Throttled,
    Undecodable,
    Unreachable,
    Unsupported,
)

T = TypeVar("T")


class Cause(StrEnum):
    """Why something was not read; MIXED: it was, and the workers do not have it in common, as in a rolling restart."""

    NOT_ASKED = "not-asked"
    MIXED = "mixed"
    NOT_IN_USE = "not-in-use"
    NOT_SAVED = "not-saved"
    DENIED = "denied"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    UNDECODABLE = "undecodable"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"

    @property
    def is_gap(self) -> bool:
        """Whether nobody knows it who could: not what no input was given for, what is not there, nor what is mixed."""
        return self not in {Cause.NOT_ASKED, Cause.NOT_IN_USE, Cause.MIXED}


_CAUSES: Final = (
    (NotAuthorized, Cause.DENIED),
    (Throttled, Cause.THROTTLED),
    (Unreachable, Cause.UNREACHABLE),
    (Undecodable, Cause.UNDECODABLE),
    (Unsupported, Cause.UNSUPPORTED),
)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Not read, and why. Unknown is not absent. Two are equal that give the same reason."""

    reason: str
    cause: Cause = field(default=Cause.UNKNOWN, compare=False)

    @classmethod
    def of(cls, error: EosctlError) -> Self:
        """What this error kept from being read."""
        return cls(error.message, next((cause for kind, cause in _CAUSES if isinstance(error, kind)), Cause.UNKNOWN))


def not_asked(reason: str) -> Skipped:
    """Not read because the user gave no input for it: no answer needs it."""
    return Skipped(reason, Cause.NOT_ASKED)


def or_skipped(read: Callable[[], T | Skipped]) -> T | Skipped:
    """What `read` returns, or Skipped with the reason why it could not."""
    try:
        return read()
    except EosctlError as error:
        return Skipped.of(error)
