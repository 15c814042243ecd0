"""Records of one side as they come, and the part of them that is kept while they are compared."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from eosctl.model.mirror import (
    NO_TIME,
    Alignment,
    EqualPiece,
    EqualRun,
    Kept,
    KeptRuns,
    MissingRun,
    Stretch,
    Translated,
)


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
    """One side: how to read it, its start, and the offset from which on commits are undecided.

    That is ENDLESS if everything is decided.
    """

    open: OpenBlocks
    start: int = 0
    settled: int = ENDLESS


class Buffer:
    """A piece of one side around a cursor. Places count records from the first one that was read, including dropped
    ones.

    at is the place of the cursor, base that of the first kept record, end the one after the last record read. begin is
    the offset after the last dropped record. If records are missing, at least `at_once` are read.
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
        """Reads until `count` records lie at and behind the cursor, or the end; True if any does."""
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
        """Reads to an offset, and returns the number of records before it; its record gets this place."""
        while not self.exhausted and self._next_offset < offset:
            self._load_block()
        before = bisect_left(self.offsets, offset)
        self.base, self.at = place - before, place
        return before

    def position_of(self, offset: int) -> int:
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
        return self.digests[place - self.base]

    def offset(self, place: int) -> int:
        return self.offsets[place - self.base] if place < self.end else self._next_offset

    def time(self, place: int) -> int:
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
        self._left_out: tuple[int, int] | None = None

    def kept(self) -> KeptRuns:
        return KeptRuns(tuple(self.stretches), self.more, self._following)

    def add(self, at: tuple[int, int], following: tuple[int, int], found: Stretch) -> None:
        """Records at the place `at` (source, target), joined to the stretch that ends there."""
        if at == self._left_out:
            self._left_out = following
        elif at == self._following:
            last = self.stretches[-1]
            self.stretches[-1] = last._replace(
                source_end=max(last.source_end, found.source_end),
                target_end=max(last.target_end, found.target_end),
                records=last.records + found.records,
            )
            self._following = following
        elif len(self.stretches) < self._most:
            self.stretches.append(found)
            self._following, self._left_out = following, None
        else:
            self.more += 1
            self._following, self._left_out = None, following

    @property
    def records(self) -> int:
        return sum(each.records for each in self.stretches)

    @property
    def joined(self) -> Stretch | None:
        """All stretches as one, or None."""
        if not self.stretches:
            return None
        first, last = self.stretches[0], self.stretches[-1]
        return first._replace(source_end=last.source_end, target_end=last.target_end, records=self.records)

    def take(self, offset: int, following: int | None) -> bool:
        """True if a stretch holds this source offset, which is then removed from it.

        following is the offset after the previously taken one, if no record lies in between.
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


MOST_STRETCHES: Final = 10_000
KINDS: Final = ("head", "lead", "gaps", "late", "repeats", "aborted", "unknown")


class Tally:
    """The first and the last pair of equal records, their number, and stretches by kind.

    missing are the places of passed source records, with the target offset at which they were missing; each may still
    come late. settled is the source offset from which on commits are undecided.
    """

    def __init__(self, kept: Kept | None, settled: int) -> None:
        self._settled = settled
        self.first = None if kept is None else kept.first
        self.last = None if kept is None else kept.last
        self.matched = 0 if kept is None else kept.matched
        self._first_place = 0 if kept is None else kept.first_place
        runs = {} if kept is None else kept.runs
        self.runs = {kind: Runs(MOST_STRETCHES, runs.get(kind, NO_RUNS)) for kind in KINDS}
        self.missing: dict[int, int] = {}

    def go_on_missing(self, runs: Iterable[MissingRun], base: int) -> None:
        """Records that an earlier run lacked may come late, unless the source has deleted them since."""
        for each in runs:
            if each.start >= base:
                self.missing.update(dict.fromkeys(range(each.start, each.end), each.stretch.target_start))
            else:
                there = each.stretch.target_start
                self._runs_before(each.start).add((each.start, there), (each.end, there), each.stretch)

    def _runs_before(self, place: int) -> Runs:
        return self.runs["head" if self.first is None or place < self._first_place else "gaps"]

    def match(self, first: tuple[int, int], last: tuple[int, int], place: int, count: int) -> None:
        """The next records are equal, from the pair of offsets `first` to the pair `last`; place is the first one's."""
        if self.first is None:
            self.first, self._first_place = first, place
        self.last, self.matched = last, self.matched + count

    def note(self, kind: str, at: tuple[int, int], offset: int, there: int, time: int) -> None:
        """One record at these places, a source offset and a target offset is late or repeated."""
        self.runs[kind].add(at, (at[0] + 1, at[1] + 1), Stretch(offset, offset + 1, there, there + 1, 1, time))

    def pass_again(self, source: Buffer, target: Buffer, place: int) -> None:
        """Records from this place on are in the target again or late, up to the cursor or the first difference."""
        for each in range(place, place + equal_run(source, target, place, target.at, source.at - place)):
            kind = "repeats" if self.missing.pop(each, None) is None else "late"
            self.matched += kind == "late"
            self.note(kind, (each, target.at), source.offset(each), target.offset(target.at), source.time(each))
            target.at += 1

    def note_unknown(self, target: Buffer, begin: int, until: int, expected: int) -> None:
        """The target's records from one place to another equal none of the source; expected is a source offset."""
        kind = "lead" if self.first is None else "unknown"
        for place in range(begin, until):
            there = target.offset(place)
            found = Stretch(expected, expected, there, there + 1, 1, target.time(place))
            self.runs[kind].add((expected, place), (expected, place + 1), found)

    def rest(self, source: Buffer, end: int, position: int | None) -> Iterator[Stretch]:
        """The loaded source records from the cursor on are not in the target, which ends at the offset `end`.

        Up to the mirror's position these are gaps; gives the others.
        """
        for place in range(source.at, source.end):
            offset = source.offset(place)
            found = Stretch(offset, offset + 1, end, end, 1, source.time(place))
            if position is not None and offset <= position and self.first is not None:
                self.runs["gaps"].add((place, end), (place + 1, end), found)
            else:
                yield found

    def leap(self, begin: int, end: int, there: int, places: tuple[int, int], time: int) -> None:
        """The target lacks the source offsets [begin, end), whose records have the places [first, last)."""
        kind = "head" if self.first is None else "gaps"
        found = Stretch(begin, end, there, there, places[1] - places[0], time)
        self.runs[kind].add((places[0], there), (places[1], there), found)

    def flush_missing(self, source: Buffer, before: int) -> None:
        """Records missing before this place leave the window, and are no longer searched."""
        for place in sorted(each for each in self.missing if each < before):
            there = self.missing.pop(place)
            offset = source.offset(place)
            found = Stretch(offset, offset + 1, there, there, 1, source.time(place))
            self._runs_before(place).add((place, there), (place + 1, there), found)

    def kept(
        self, source: Buffer, target: Buffer, begin: int, aborted: set[int], searches: tuple[int, int, int]
    ) -> Kept:
        """All findings, with both cursors; target records from `begin` on are not explained."""
        return Kept(
            source_next=min(source.offset(source.at), self._settled),
            source_place=source.at,
            context=source.begin,
            context_records=source.at - source.base,
            target_next=target.offset(begin),
            target_place=begin,
            waiting=target.at - begin,
            first=self.first,
            first_place=self._first_place,
            last=self.last,
            matched=self.matched,
            runs={kind: runs.kept() for kind, runs in self.runs.items()},
            missing=tuple(self._missing_runs(source)),
            aborted_taken=tuple(sorted(each for each in aborted if each >= source.begin)),
            searches=searches,
        )

    def _missing_runs(self, source: Buffer) -> Iterator[MissingRun]:
        runs = Runs(len(self.missing))
        for place, there in sorted(self.missing.items()):
            offset = source.offset(place)
            runs.add(
                (place, there), (place + 1, there), Stretch(offset, offset + 1, there, there, 1, source.time(place))
            )
        for each in runs.stretches:
            start = source.position_of(each.source_start)
            yield MissingRun(start, start + each.records, each)

    def alignment(self, lag: Stretch | None, translated: tuple[Translated, ...]) -> Alignment:
        """The alignment; the reader adds the figures of its reads."""
        runs = self.runs
        return Alignment(
            matched=self.matched,
            first=self.first,
            last=self.last,
            head=runs["head"].joined,
            lead=runs["lead"].joined,
            lag=lag,
            gaps=tuple(sorted(runs["gaps"].stretches)),
            late=tuple(runs["late"].stretches),
            repeats=tuple(runs["repeats"].stretches),
            aborted=tuple(runs["aborted"].stretches),
            unknown=tuple(runs["unknown"].stretches),
            translated=translated,
            more=sum(each.more for each in runs.values()),
        )


MOST_CANDIDATES: Final = 32


class DigestIndex:
    """Places by digest, built at the first look-up, so that equal sides pay nothing for it."""

    def __init__(self, window: int) -> None:
        self._window = window
        self.clear()

    def clear(self) -> None:
        """Forgets everything, for use with another buffer."""
        self._places: dict[int, list[int]] = {}
        self._begin = self._end = 0

    def places(self, buffer: Buffer, digest: int) -> list[int]:
        """All places in the buffer with this digest, in order."""
        if self._begin < buffer.base - self._window or not self._places:
            self._places, self._begin, self._end = {}, buffer.base, buffer.base
        for place in range(max(self._end, buffer.base), buffer.end):
            self._places.setdefault(buffer.digest(place), []).append(place)
        self._end = buffer.end
        return [place for place in self._places.get(digest, ()) if place >= buffer.base]

    def candidates(self, source: Buffer, digest: int, missing: Container[int]) -> list[int]:
        """The nearest of them: ahead of the cursor, and behind it, missing ones first.

        None is farther than the window: the result does not depend on how many happen to be kept.
        """
        there = [place for place in self.places(source, digest) if -self._window <= place - source.at < self._window]
        ahead = [place for place in there if place >= source.at][:MOST_CANDIDATES]
        behind = [place for place in there if place < source.at]
        lacking = [place for place in behind if place in missing][:MOST_CANDIDATES]
        return [*ahead, *lacking, *behind[-MOST_CANDIDATES:]]


ENOUGH: Final = 8
"""Records that have to be equal one after the other, where there are as many."""


class FoundRun(NamedTuple):
    """The offset of the run, the index of its first wanted record, and the committed records passed."""

    offset: int
    number: int
    passed: int


def find_run(blocks: Iterator[Block], wanted: Sequence[int], until: int | None = None) -> FoundRun | None:
    """The first place with a run of wanted records; before the offset `until`, if given."""
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
    """Source records in [`offset`, `until`) that are in the target again, or late."""
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


# Pieces of a pair of partitions that can be compared apart: where to cut, and how far a piece is equal.
#
# Any pair of offsets may be a cut: a piece says no more than how many records from there on are equal.


LOOKED_FOR: Final = 1024
"""Records of the target that are looked for in the source, to find a cut."""
NEAR: Final = 50_000
"""Offsets of the source within which the search by time ends, and as many on either side are looked through."""


class Piece(NamedTuple):
    """The part from one pair of offsets up to another, exclusive."""

    source_start: int
    target_start: int
    source_end: int
    target_end: int


def cut(source: Log, target: Log, ends: tuple[int, int], count: int) -> list[Piece]:
    """About `count` pieces of both sides up to the offsets `ends`; fewer where no equal records are found."""
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
    """Offsets of an equal record near this target record."""
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
    """A source offset of batches of about this age, if times are in order."""
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
    """The runs of pieces in order, neighbouring ones joined."""
    held: EqualRun | None = None
    for piece, following in zip_longest(pieces, pieces[1:]):
        run = piece.run
        if held is not None:
            run = run._replace(
                source_start=held.source_start, target_start=held.target_start, records=held.records + run.records
            )
        goes_on = piece.whole and following is not None and following.begins == piece.ends
        if following is not None and goes_on and following.run.records >= window:
            held = run
        else:
            yield run
            held = None
