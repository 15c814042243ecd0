"""A run of records, looked for in a whole side, and passed where it lies before the window."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.mirror.blocks import Block, Buffer
from eosctl.analysis.mirror.tally import Tally

ENOUGH: Final = 8
"""Records that have to be equal one after the other, where there are as many."""


class FoundRun(NamedTuple):
    """Where it is: the offset, which of the wanted records lies there, and how many committed records were passed."""

    offset: int
    number: int
    passed: int


def find_run(blocks: Iterator[Block], wanted: Sequence[int], until: int | None = None) -> FoundRun | None:
    """The first place from which on records are equal to wanted ones; before the offset `until`, if it is given."""
    places: dict[int, int] = {}
    for number, digest in enumerate(wanted):
        places.setdefault(digest, number)
    required = (each for each in blocks if not each.optional)
    passed, block = 0, next(required, None)
    while block is not None and (until is None or block.offsets[0] < until):
        following = next(required, None)
        if not places.keys().isdisjoint(block.digests):
            digests = [*block.digests, *(() if following is None else following.digests)]
            for number, digest in enumerate(block.digests):
                if digest in places and _runs(digests, number, wanted, places[digest]):
                    beyond = until is not None and block.offsets[number] >= until
                    return None if beyond else FoundRun(block.offsets[number], places[digest], passed + number)
        passed, block = passed + len(block.digests), following
    return None


def _runs(digests: Sequence[int], at: int, wanted: Sequence[int], index: int) -> bool:
    count = min(ENOUGH, len(digests) - at, len(wanted) - index)
    return list(digests[at : at + count]) == list(wanted[index : index + count])


def pass_again(blocks: Iterator[Block], target: Buffer, tally: Tally, offset: int, until: int) -> None:
    """Records of the source from `offset` on, before `until`, are in the target another time, or late."""
    number, following = 0, None
    for block in blocks:
        for each, digest, time in zip(block.offsets, block.digests, block.times, strict=True):
            if block.optional:
                break
            if each >= until or not target.load(1) or target.digest(target.at) != digest:
                return
            late = tally.runs["gaps"].take(each, following)
            following = each + 1
            tally.matched += late
            at, there = (-1 - offset + number, target.at), target.offset(target.at)
            tally.note("late" if late else "repeats", at, each, there, time)
            number += 1
            target.at += 1
            target.drop(target.at - 1)
