"""Source and target of one pair of partitions, merged: which source record each target record is.

Both sides are read once, in order. As long as they are equal, nothing but digests is compared. Where they differ, the
records of the source around the cursor (WINDOW before and behind it) are looked up by digest:

1. ahead: the records that are passed are missing until they come later, or never (a gap).
2. behind: a repeat, or, if it was missing, a late one (out of order).
3. of an aborted or undecided source transaction: the mirror reads uncommitted.
4. nowhere in the window: the whole source is looked through again, MOST_SEARCHES times at most; what equals no record
   of the source then is unknown.

Where a record is found several times, that place counts from which on most of the following records are equal, too.
Memory does not grow with the number of records.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from eosctl.analysis.mirror.aborted import AbortedRecords
from eosctl.analysis.mirror.blocks import Block, Buffer, OpenBlocks, Runs, equal_run
from eosctl.analysis.mirror.digest_index import DigestIndex
from eosctl.analysis.mirror.marks import Marks
from eosctl.analysis.mirror.search import find_run
from eosctl.model.mirror import Alignment, Checkpoint, Stretch

WINDOW: Final = 50_000
AT_ONCE: Final = 8192
MOST_SEARCHES: Final = 16
MOST_STRETCHES: Final = 10_000
MOST_CANDIDATES: Final = 32
LOOKED_AT: Final = 64
"""Records that decide between places, and after how many unknown ones the whole source is searched."""
SEARCHED_FOR: Final = 1024
KINDS: Final = ("head", "lead", "gaps", "late", "repeats", "aborted", "unknown")
FOLLOWING: Final = 8
"""How many times as many unknown records come between two searches that found nothing."""


class Aligner:
    """Compares one pair of partitions. `position` is the last source offset that the mirror says it has copied."""

    def __init__(
        self,
        source: OpenBlocks,
        source_start: int,
        target: Iterator[Block],
        position: int | None = None,
        window: int = WINDOW,
        checkpoints: Sequence[Checkpoint] = (),
    ) -> None:
        self._open, self._start, self._position, self._window = source, source_start, position, window
        self._aborted = AbortedRecords(window)
        self._source = self._source_from(source_start)
        self._target = Buffer(target, at_once=min(window, AT_ONCE))
        self._marks = Marks(checkpoints)
        self._missing: dict[int, int] = {}
        self._index = DigestIndex(window)
        self._first: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None
        self._first_place = 0
        self._matched = 0
        self._pending_from: int | None = None
        self._searches = self._passed_over = self._failed = 0
        self._runs = {kind: Runs(MOST_STRETCHES) for kind in KINDS}

    def align(self) -> Alignment:
        """What both sides say together; the figures of what was read are the reader's."""
        target = self._target
        while target.load(1) or self._search_at_end():
            if not target.load(1):
                continue
            (source := self._source).load(1)
            count = equal_run(source, target, source.at, target.at, self._window)
            if count:
                self._settle_unknown(target.at)
                self._match(count)
            else:
                self._differ()
            self._drop()
        self._settle_unknown(target.at)
        self._marks.end_target(self._source.at)
        lag = self._rest()
        self._flush_missing(self._source.end)
        runs = self._runs
        return Alignment(
            matched=self._matched,
            first=self._first,
            last=self._last,
            head=runs["head"].joined,
            lead=runs["lead"].joined,
            lag=lag,
            gaps=tuple(sorted(runs["gaps"].stretches)),
            late=tuple(runs["late"].stretches),
            repeats=tuple(runs["repeats"].stretches),
            aborted=tuple(runs["aborted"].stretches),
            unknown=tuple(runs["unknown"].stretches),
            translated=self._marks.translated(self._source.end),
            more=sum(each.more for each in runs.values()),
        )

    def _match(self, count: int) -> None:
        source, target = self._source, self._target
        if self._first is None:
            self._first, self._first_place = (source.offset(source.at), target.offset(target.at)), source.at
        self._marks.match(source, target, count)
        source.at, target.at, self._matched = source.at + count, target.at + count, self._matched + count
        self._last = (source.offset(source.at - 1), target.offset(target.at - 1))

    def _differ(self) -> None:
        """The target's record is not the one that is expected."""
        source, target = self._source, self._target
        target.load(LOOKED_AT)
        source.load(self._window)
        if equal_run(source, target, source.at, target.at, 1):
            return
        places = self._candidates(target.digest(target.at))
        if self._take_aborted(places):
            return
        if not places:
            self._wait()
            return
        scores = {place: equal_run(source, target, place, target.at, LOOKED_AT) for place in places}
        best = max(places, key=lambda place: (scores[place], place in self._missing, place >= source.at))
        self._settle_unknown(target.at)
        if best >= source.at:
            self._missing.update(dict.fromkeys(range(source.at, best), target.offset(target.at)))
            source.at = best
        else:
            self._again(best)

    def _candidates(self, digest: int) -> list[int]:
        """Places in the window with this digest: the nearest ones, ahead and behind."""
        source = self._source
        there = self._index.places(source, digest)
        ahead = [place for place in there if place >= source.at][:MOST_CANDIDATES]
        behind = [place for place in there if place < source.at]
        missing = [place for place in behind if place in self._missing][:MOST_CANDIDATES]
        return [*ahead, *missing, *behind[-MOST_CANDIDATES:]]

    def _take_aborted(self, places: list[int]) -> bool:
        """Pass records of aborted transactions, if the expected record follows them or nothing else explains them."""
        source, target, run = self._source, self._target, self._aborted.run(self._target, again=not places)
        follows = target.at + run == target.end or equal_run(source, target, source.at, target.at + run, 1)
        if not run or (places and not follows):
            return False
        self._settle_unknown(target.at)
        while run and (taken := self._aborted.take(target.digest(target.at))):
            run -= 1
            there = target.offset(target.at)
            found = Stretch(taken[0], taken[0] + 1, there, there + 1, 1, taken[1])
            self._runs["aborted"].add((0, target.at), (0, target.at + 1), found)
            target.at += 1
        return True

    def _again(self, place: int) -> None:
        """Records from this place on are there another time, or late, up to the cursor or the first difference."""
        source, target = self._source, self._target
        count = equal_run(source, target, place, target.at, source.at - place)
        for each in range(place, place + count):
            kind = "repeats" if self._missing.pop(each, None) is None else "late"
            self._matched += kind == "late"
            self._note(kind, (each, target.at), source.offset(each), source.time(each))
            target.at += 1

    def _note(self, kind: str, at: tuple[int, int], offset: int, time: int) -> None:
        there = self._target.offset(at[1])
        found = Stretch(offset, offset + 1, there, there + 1, 1, time)
        self._runs[kind].add(at, (at[0] + 1, at[1] + 1), found)

    # -- records that are not in the window ---------------------------------------------------------------------------

    def _wait(self) -> None:
        """Pass an unknown record; after some of them the whole source is searched."""
        if self._pending_from is None:
            self._pending_from = self._target.at
        self._target.at += 1
        pending = self._target.at - self._pending_from
        if pending == LOOKED_AT and self._passed_over:
            self._passed_over -= 1
        elif pending == LOOKED_AT and not self._search(self._pending_from):
            self._failed += 1
            self._passed_over = FOLLOWING**self._failed
        elif pending >= SEARCHED_FOR:
            self._settle_unknown(self._target.at)

    def _search_at_end(self) -> bool:
        begin = self._pending_from
        return begin is not None and self._target.at - begin < LOOKED_AT and self._search(begin)

    def _search(self, begin: int) -> bool:
        """Whether the source holds the records from `begin` on; both cursors are there then."""
        source, target = self._source, self._target
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            return False
        before, target.at = target.at, begin
        target.load(SEARCHED_FOR)
        wanted = target.digests[begin - target.base : begin - target.base + SEARCHED_FOR]
        ahead = find_run(self._open(source.offset(source.end)), wanted)
        if ahead is not None:
            self._settle_unknown(begin + ahead.number)
            target.at = begin + ahead.number
            self._leap(ahead.offset, ahead.passed)
            return True
        until = source.offset(source.at)
        behind = find_run(self._open(self._start), wanted, until)
        if behind is not None:
            self._settle_unknown(begin + behind.number)
            target.at = begin + behind.number
            self._again_from(behind.offset, until)
            return True
        target.at = before
        return False

    def _leap(self, offset: int, passed: int) -> None:
        """Go on at a source offset behind the window; `passed` records lie between the window and it."""
        source, there = self._source, self._target.offset(self._target.at)
        self._missing.update(dict.fromkeys(range(source.at, source.end), there))
        begin, time = source.offset(source.end), source.time(source.at)
        self._flush_missing(source.end)
        kind = "head" if self._first is None else "gaps"
        if passed:
            found = Stretch(begin, offset, there, there, passed, time)
            self._runs[kind].add((source.end, there), (source.end + passed, there), found)
        self._source = self._source_from(offset, source.end + passed)
        self._index.clear()

    def _source_from(self, start: int, place: int = 0) -> Buffer:
        return Buffer(self._aborted.committed(self._open(start)), start, place, min(self._window, AT_ONCE))

    def _again_from(self, offset: int, until: int) -> None:
        """Records from a source offset before the window on are there another time, or late."""
        target = self._target
        number, following = 0, None
        for block in self._open(offset):
            for each, digest in zip(block.offsets, block.digests, strict=True):
                if block.optional:
                    break
                if each >= until or not target.load(1) or target.digest(target.at) != digest:
                    return
                late = self._runs["gaps"].take(each, following)
                following = each + 1
                self._matched += late
                self._note("late" if late else "repeats", (-1 - offset + number, target.at), each, block.timestamp)
                number += 1
                target.at += 1
                target.drop(target.at - 1)

    def _settle_unknown(self, until: int) -> None:
        """What is pending before this place equals no record of the source."""
        target, begin = self._target, self._pending_from
        kind = "lead" if self._first is None else "unknown"
        expected = self._source.offset(self._source.at)
        for place in range(until if begin is None else begin, until):
            there = target.offset(place)
            found = Stretch(expected, expected, there, there + 1, 1, target.time(place))
            self._runs[kind].add((expected, place), (expected, place + 1), found)
        self._pending_from = None

    # -- what is behind -----------------------------------------------------------------------------------------------

    def _drop(self) -> None:
        """Keep the window and what is pending."""
        source, target = self._source, self._target
        self._marks.pass_source(source)
        if source.at - source.base > 2 * self._window:
            self._flush_missing(source.at - self._window)
            source.drop(source.at - self._window)
        kept = target.at if self._pending_from is None else self._pending_from
        if kept - target.base > self._window:
            target.drop(kept)

    def _flush_missing(self, before: int) -> None:
        """What is missing before this place will not be looked for in the window any more."""
        for place in sorted(each for each in self._missing if each < before):
            there = self._missing.pop(place)
            offset = self._source.offset(place)
            kind = "head" if self._first is None or place < self._first_place else "gaps"
            found = Stretch(offset, offset + 1, there, there, 1, self._source.time(place))
            self._runs[kind].add((place, there), (place + 1, there), found)

    def _rest(self) -> Stretch | None:
        """The source's records behind the last one that was expected: gaps up to the mirror's position, then lag."""
        source, end = self._source, self._target.offset(self._target.end)
        lag: list[Stretch] = []
        while source.load(1):
            for place in range(source.at, source.end):
                offset = source.offset(place)
                found = Stretch(offset, offset + 1, end, end, 1, source.time(place))
                if self._position is not None and offset <= self._position and self._first is not None:
                    self._runs["gaps"].add((place, end), (place + 1, end), found)
                elif lag:
                    lag[0] = lag[0]._replace(source_end=offset + 1, records=lag[0].records + 1)
                else:
                    lag.append(found)
            source.at = source.end
            self._marks.pass_source(source)
            self._flush_missing(source.at - self._window)
            source.drop(source.at - self._window)
        return lag[0] if lag else None
