"""Records of one side as they come, and the part of them that is kept while they are compared."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from eosctl.model.mirror import NO_TIME, Stretch
from eosctl.model.mirror_progress import KeptRuns


class Block(NamedTuple):
    """Records that follow each other: offsets, digests, and the timestamps (ms) of their batches, side by side.

    optional are records that a mirror may hold and need not: those of aborted or undecided source transactions.
    """

    offsets: Sequence[int]
    digests: Sequence[int]
    times: Sequence[int]
    optional: bool = False


INTEGERS: Final = "q"
"""64 bits with a sign: digests, offsets and timestamps are kept side by side, not as objects."""

OpenBlocks = Callable[[int], Iterator[Block]]
"""Reads a side from this offset on."""

ENDLESS: Final = 1 << 63
AT_ONCE: Final = 8192
"""Records that are read and compared at once."""


class Log(NamedTuple):
    """One side: how to read it, where it starts, and the offset from which on it is not decided what was committed.

    That is ENDLESS where all is decided.
    """

    open: OpenBlocks
    start: int = 0
    settled: int = ENDLESS


class Buffer:
    """A piece of one side around a cursor. Places count records from the first one that was read, whatever was dropped.

    at is the place of the cursor, base that of the first record kept, end the one behind the last record read; begin is
    the offset behind the last record that was dropped. Where records are missing, at least `at_once` are read.
    """

    def __init__(self, blocks: Iterator[Block], start: int = 0, at: int = 0, at_once: int = 1) -> None:
        self.digests = array(INTEGERS)
        self.offsets = array(INTEGERS)
        self.times = array(INTEGERS)
        self.base = self.at = at
        self.begin = self._next_offset = start
        self._blocks = blocks
        self._at_once = at_once
        self.exhausted = False

    @property
    def end(self) -> int:
        """The place behind the last record read."""
        return self.base + len(self.digests)

    def load(self, ahead: int) -> bool:
        """Read until so many records lie at and behind the cursor, or all are read; whether there is one."""
        wanted = 0 if len(self.digests) >= ahead + self.at - self.base else max(ahead, self._at_once)
        while not self.exhausted and len(self.digests) < wanted + self.at - self.base:
            self._load_block()
        return self.end > self.at

    def _load_block(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            self.exhausted = True
        elif block.offsets:
            self._next_offset = block.offsets[-1] + 1
            self.digests.extend(block.digests)
            self.offsets.extend(block.offsets)
            self.times.extend(block.times)

    def go_to(self, offset: int, place: int) -> int:
        """Read up to an offset, and stand at its record, which has this place; how many records lie before it."""
        while not self.exhausted and self._next_offset < offset:
            self._load_block()
        before = bisect_left(self.offsets, offset)
        self.base, self.at = place - before, place
        return before

    def place_of(self, offset: int) -> int:
        """The place of the first record at or behind an offset, as far as it is read."""
        return self.base + bisect_left(self.offsets, offset)

    def drop(self, before: int) -> None:
        """Keep nothing before this place."""
        count = before - self.base
        if count > 0:
            self.begin = self.offsets[count - 1] + 1
            del self.digests[:count], self.offsets[:count], self.times[:count]
            self.base = before

    def digest(self, place: int) -> int:
        """The digest of the record at a place that is kept."""
        return self.digests[place - self.base]

    def offset(self, place: int) -> int:
        """Its offset; behind the last record the offset that follows it."""
        return self.offsets[place - self.base] if place < self.end else self._next_offset

    def time(self, place: int) -> int:
        """The timestamp of its batch, in ms."""
        return self.times[place - self.base] if place < self.end else NO_TIME


def equal_run(one: Buffer, other: Buffer, place: int, other_place: int, most: int) -> int:
    """How many records from these places on are equal, `most` at most, as far as both are read."""
    start, other_start = place - one.base, other_place - other.base
    count = max(0, min(most, len(one.digests) - start, len(other.digests) - other_start))
    mine = one.digests[start : start + count]
    theirs = other.digests[other_start : other_start + count]
    if mine == theirs:
        return count
    return next(number for number, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])


NO_RUNS: Final = KeptRuns((), 0, None)


class Runs:
    """Single records joined to stretches, `most` at most; more counts the stretches that were left out."""

    def __init__(self, most: int, kept: KeptRuns = NO_RUNS) -> None:
        self.stretches: list[Stretch] = list(kept.stretches)
        self.more = kept.more
        self._most = most
        self._following = kept.following

    def kept(self) -> KeptRuns:
        """What was added so far."""
        return KeptRuns(tuple(self.stretches), self.more, self._following)

    def add(self, at: tuple[int, int], following: tuple[int, int], found: Stretch) -> None:
        """Records at the place `at` (source, target); it belongs to the stretch whose records end there."""
        if self._following == at and self.stretches:
            last = self.stretches[-1]
            self.stretches[-1] = last._replace(
                source_end=max(last.source_end, found.source_end),
                target_end=max(last.target_end, found.target_end),
                records=last.records + found.records,
            )
        elif len(self.stretches) < self._most:
            self.stretches.append(found)
        else:
            self.more += 1
        self._following = following

    @property
    def records(self) -> int:
        """How many records there are in all stretches that were kept."""
        return sum(each.records for each in self.stretches)

    @property
    def joined(self) -> Stretch | None:
        """All stretches as one; None where there is none."""
        if not self.stretches:
            return None
        first, last = self.stretches[0], self.stretches[-1]
        return first._replace(source_end=last.source_end, target_end=last.target_end, records=self.records)

    def take(self, offset: int, following: int | None) -> bool:
        """Whether a stretch holds this source offset; it is taken out of it.

        following is the offset behind the one that was taken before, if no record lies in between.
        """
        for number, each in enumerate(self.stretches):
            if each.source_start <= offset < each.source_end:
                there = 0 if each.source_start == following else min(offset - each.source_start, each.records - 1)
                before = each._replace(source_end=offset, records=there)
                after = each._replace(source_start=offset + 1, records=each.records - 1 - there)
                self.stretches[number : number + 1] = [part for part in (before, after) if part.records > 0]
                self._following = None
                return True
        return False
