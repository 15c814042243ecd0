"""What a reader was asked for, and what of it was not read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from eosctl.model.skipped import Cause, Skipped


@dataclass(frozen=True, slots=True)
class Unread:
    """One fact that was asked for and not read: what it is, the reason in words, and the kind of reason."""

    what: str
    reason: str
    cause: Cause

    @property
    def is_gap(self) -> bool:
        """Whether an answer may lack it: what the user gave no input for was not asked."""
        return self.cause is not Cause.NOT_ASKED


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was asked for, in the order of asking, and what of it was not read."""

    asked: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()

    def __add__(self, other: "Coverage") -> "Coverage":
        """Both together, each thing once."""
        return Coverage(
            tuple(dict.fromkeys((*self.asked, *other.asked))), tuple(dict.fromkeys((*self.unread, *other.unread)))
        )

    @property
    def gaps(self) -> tuple[Unread, ...]:
        """What was not read although it was asked for."""
        return tuple(each for each in self.unread if each.is_gap)


def unread_in(what: str, fact: object) -> Iterator[Unread]:
    """What of a fact was not read: the whole, members of a mapping, or fields of a record and their members."""
    if isinstance(fact, Skipped):
        yield Unread(what, fact.reason, fact.cause)
    elif isinstance(fact, Mapping):
        for key, value in fact.items():
            if isinstance(value, Skipped):
                yield Unread(f"{what} {key}", value.reason, value.cause)
    elif is_dataclass(fact):
        for each in fields(fact):
            value = getattr(fact, each.name)
            if isinstance(value, Skipped | Mapping):
                yield from unread_in(f"{what}: {each.name.replace('_', ' ')}", value)
