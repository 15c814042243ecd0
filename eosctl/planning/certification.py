"""The schedule of a certification: which fault comes in which round, by the seed alone."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final, TypeVar

from eosctl.model.certification import Fault, FaultKind, Round

T = TypeVar("T")

CHANCES: Final = 8
"""Numbers that a round's fault may choose by."""


def schedule(seed: int, rounds: int, kinds: Sequence[FaultKind], boundaries: Sequence[str | None]) -> tuple[Round, ...]:
    """Round 0 without a fault, and `rounds` rounds with faults.

    All faults come once before one is repeated. The faults that a certificate needs come first, in an order by the
    seed; with fewer rounds, each begins with a needed fault that has not come yet. The boundaries take turns.
    """
    deck = _deck(seed, kinds)
    turns = _shuffled(f"{seed}/boundaries", boundaries)
    return (
        Round(0, Fault.NONE, _chance(seed, 0), boundaries[0] if boundaries else None),
        *(
            Round(number, next(deck), _chance(seed, number), turns[number % len(turns)] if turns else None)
            for number in range(1, rounds + 1)
        ),
    )


def _deck(seed: int, kinds: Sequence[FaultKind]) -> Iterator[Fault]:
    turn = 0
    while True:
        for is_needed in (True, False):
            faults = [each.fault for each in kinds if each.is_needed is is_needed]
            yield from _shuffled(f"{seed}/{turn}/{is_needed}", faults)
        turn += 1


def _shuffled(salt: str, items: Sequence[T]) -> list[T]:
    """In an order that depends on the salt alone, in every version of Python."""
    return [
        item for _, _, item in sorted((_number(f"{salt}/{place}"), place, item) for place, item in enumerate(items))
    ]


def _chance(seed: int, number: int) -> tuple[int, ...]:
    return tuple(_number(f"{seed}/round {number}/{which}") for which in range(CHANCES))


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")
