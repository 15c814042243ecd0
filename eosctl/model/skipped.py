"""The difference between "it does not exist" and "it was not read"."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.errors import DID_YOU_MEAN, EosctlError, NotAuthorized, Throttled, Undecodable, Unreachable, Unsupported

T = TypeVar("T")


class Cause(StrEnum):
    """Why something was not read; MIXED: it was read, and the workers differ, as in a rolling restart."""

    NOT_ASKED = "not-asked"
    MIXED = "mixed"
    NOT_IN_USE = "not-in-use"
    NOT_SAVED = "not-saved"
    DENIED = "denied"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    UNDECODABLE = "undecodable"
    UNSUPPORTED = "unsupported"
    OTHER_GROUP = "other-group"
    UNKNOWN = "unknown"

    @property
    def is_gap(self) -> bool:
        """True if it should have been readable. Not requested, not in use and mixed are no gaps."""
        return self not in {Cause.NOT_ASKED, Cause.NOT_IN_USE, Cause.MIXED}


_CAUSES: Final = (
    (NotAuthorized, Cause.DENIED),
    (Throttled, Cause.THROTTLED),
    (Unreachable, Cause.UNREACHABLE),
    (Undecodable, Cause.UNDECODABLE),
    (Unsupported, Cause.UNSUPPORTED),
)


class Skipped(Struct, frozen=True):
    """Not read, and why. Unknown is not absent. Two are equal that give the same reason."""

    reason: str
    cause: Cause = Cause.UNKNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skipped) and self.reason == other.reason

    def __hash__(self) -> int:
        return hash(self.reason)

    @classmethod
    def of(cls, error: EosctlError) -> Self:
        """The error's message is the reason, with the name that may be meant."""
        meant = "" if error.hint is None or not error.hint.startswith(DID_YOU_MEAN) else f" ({error.hint})"
        return cls(
            error.message + meant, next((cause for kind, cause in _CAUSES if isinstance(error, kind)), Cause.UNKNOWN)
        )


def not_asked(reason: str) -> Skipped:
    """Not read because the user gave no input for it: no answer needs it."""
    return Skipped(reason, Cause.NOT_ASKED)


def read_or_skip(read: Callable[[], T | Skipped]) -> T | Skipped:
    try:
        return read()
    except EosctlError as error:
        return Skipped.of(error)


class Unread(Struct, frozen=True):
    """One requested fact that was not read: its name, the reason in words, and the kind of reason.

    needed is False for a fact that only adds to an answer: without it no verdict changes and no row or finding is lost.
    """

    what: str
    reason: str
    cause: Cause
    needed: bool = True

    @property
    def is_gap(self) -> bool:
        return self.needed and self.cause.is_gap

    def __str__(self) -> str:
        return f"{self.what} was not read: {self.reason}"


class Coverage(Struct, frozen=True):
    """The facts that were requested, in order, and the ones that were not read."""

    asked: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()

    def __add__(self, other: "Coverage") -> "Coverage":
        unread = {**_by_name(self.unread)}
        for name, each in _by_name(other.unread).items():
            known = unread.get(name)
            unread[name] = each if known is None else replace(known, needed=known.needed or each.needed)
        return Coverage(tuple(dict.fromkeys((*self.asked, *other.asked))), tuple(unread.values()))

    @property
    def gaps(self) -> tuple[Unread, ...]:
        return tuple(each for each in self.unread if each.is_gap)


def _by_name(unread: Iterable[Unread]) -> dict[tuple[str, str, Cause], Unread]:
    return {(each.what, each.reason, each.cause): each for each in unread}


def unread_in(what: str, fact: object) -> Iterator[Unread]:
    """The unread parts of a fact: the whole, members of a mapping, or fields of a record and their members.

    A record may name its missing parts, as Skipped in `lacking`; an empty record in a mapping misses nothing.
    """
    if isinstance(fact, Skipped):
        yield Unread(what, fact.reason, fact.cause)
    elif isinstance(fact, Mapping):
        for key, value in fact.items():
            if isinstance(value, Skipped):
                yield Unread(f"{what} {key}", value.reason, value.cause)
            elif isinstance(value, Struct):
                yield from _unread_fields(f"{what} {key}", value)
    elif isinstance(fact, Struct):
        yield from (Unread(what, lack.reason, lack.cause) for lack in getattr(fact, "lacking", ()))
        yield from _unread_fields(what, fact)


def _unread_fields(what: str, record: Struct) -> Iterator[Unread]:
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, Struct | Mapping):
            yield from unread_in(f"{what}: {name.replace('_', ' ')}", value)
