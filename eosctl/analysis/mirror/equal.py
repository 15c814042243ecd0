"""Pieces of a pair of partitions that can be compared apart: where to cut, and how far a piece is equal.

Any pair of offsets may be a cut: a piece says no more than how many records from there on are equal.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from eosctl.analysis.mirror.blocks import AT_ONCE, Block, Buffer, Log, equal_run
from eosctl.analysis.mirror.search import find_run
from eosctl.model.mirror_progress import EqualPiece, EqualRun

LOOKED_FOR: Final = 1024
"""Records of the target that are looked for in the source, to find a cut."""
NEAR: Final = 50_000
"""Offsets of the source within which the search by time ends, and as many on either side are looked through."""


class Piece(NamedTuple):
    """From a pair of offsets to another one, which it does not hold."""

    source_start: int
    target_start: int
    source_end: int
    target_end: int


def cut(source: Log, target: Log, ends: tuple[int, int], count: int) -> list[Piece]:
    """About `count` pieces of both sides up to the offsets `ends`; fewer where equal records were not found."""
    start, end = target.start, ends[1]
    wanted = [start + (end - start) * number // count for number in range(1, count)]
    found = {(source.start, target.start), ends}
    for offset in wanted:
        pair = _equal_pair(source, target, offset, ends[0])
        if pair is not None:
            found.add(pair)
    ordered = sorted(found)
    return [Piece(*one, *other) for one, other in pairwise(ordered) if other[0] > one[0] and other[1] > one[1]]


def _equal_pair(source: Log, target: Log, offset: int, source_end: int) -> tuple[int, int] | None:
    """Offsets of an equal record near this one of the target."""
    offsets, digests, time = list[int](), list[int](), None
    for block in target.open(offset):
        time = block.times[0] if time is None else time
        offsets += block.offsets
        digests += block.digests
        if len(digests) >= LOOKED_FOR:
            break
    if time is None:
        return None
    near = _offset_at(source, source_end, time)
    stop = min(source_end, near + 2 * NEAR)
    found = find_run(before(source.open(max(source.start, near - NEAR)), stop), digests[:LOOKED_FOR])
    return None if found is None else (found.offset, offsets[found.number])


def _offset_at(source: Log, end: int, time: int) -> int:
    """An offset of the source around which batches are as old as this, where they are in the order of time."""
    low, high = source.start, end
    while high - low > NEAR:
        middle = (low + high) // 2
        block = next(source.open(middle), None)
        if block is None or block.times[0] >= time:
            high = middle
        else:
            low = middle
    return low


def before(blocks: Iterator[Block], end: int) -> Iterator[Block]:
    """Their records before an offset."""
    for block in blocks:
        if block.offsets[-1] < end:
            yield block
            continue
        kept = bisect_left(block.offsets, end)
        if kept:
            yield Block(block.offsets[:kept], block.digests[:kept], block.times[:kept], block.optional)
        return


def equal_from(source: Log, target: Log, piece: Piece, window: int) -> tuple[EqualRun, bool] | None:
    """The records from the piece's beginning on that are equal, and whether these are all of both sides.

    The context is the last records of them, as many as the window holds.
    """
    committed = (each for each in before(source.open(piece.source_start), piece.source_end) if not each.optional)
    mine = Buffer(committed, piece.source_start, at_once=AT_ONCE)
    theirs = Buffer(before(target.open(piece.target_start), piece.target_end), piece.target_start, at_once=AT_ONCE)
    first: tuple[int, int] | None = None
    last = (0, 0)
    while mine.load(1) and theirs.load(1):
        count = equal_run(mine, theirs, mine.at, theirs.at, AT_ONCE)
        if not count:
            break
        first = (mine.offset(mine.at), theirs.offset(theirs.at)) if first is None else first
        mine.at, theirs.at = mine.at + count, theirs.at + count
        last = (mine.offset(mine.at - 1), theirs.offset(theirs.at - 1))
        mine.drop(mine.at - window)
        theirs.drop(theirs.at)
    if first is None:
        return None
    whole = not mine.load(1) and not theirs.load(1)
    return EqualRun(*first, *last, mine.at, mine.begin), whole


def joined(pieces: Sequence[EqualPiece], window: int) -> Iterator[EqualRun]:
    """The runs of pieces in order; one that goes on where the piece before it ended is one with it."""
    held: EqualRun | None = None
    for piece, following in zip_longest(pieces, pieces[1:]):
        run = piece.run
        if held is not None:
            run = run._replace(
                source_start=held.source_start, target_start=held.target_start, records=held.records + run.records
            )
        goes_on = piece.whole and following is not None and following.begins == piece.ends
        if goes_on and following is not None and following.run.records >= window:
            held = run
        else:
            yield run
            held = None
