"""Source and target of one pair of partitions, merged: the source record of each target record.

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

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from eosctl.analysis.mirror.blocks import (
    AT_ONCE,
    ENDLESS,
    Block,
    Buffer,
    DigestIndex,
    Log,
    Runs,
    Tally,
    equal_run,
    find_run,
    pass_again,
)
from eosctl.model.groups import Checkpoint
from eosctl.model.mirror import Alignment, EqualRun, Kept, Stretch, Translated


class AbortedRecords:
    """Aborted records of the source that were passed last, `most` at most, by digest.

    taken are offsets of those among them that the target was seen to hold by an earlier run.
    """

    def __init__(self, most: int, taken: Iterable[int] = ()) -> None:
        self._most = most
        self._places: dict[int, deque[tuple[int, int]]] = {}
        self._taken: dict[int, tuple[int, int]] = {}
        self._order: deque[tuple[int, int]] = deque()
        self.taken_offsets = set(taken)
        self._passed = -1

    def committed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            if block.optional:
                self._keep(block)
            else:
                yield block

    def _keep(self, block: Block) -> None:
        for offset, digest, time in zip(block.offsets, block.digests, block.times, strict=True):
            if offset <= self._passed:
                continue
            self._passed = offset
            self._order.append((offset, digest))
            if offset in self.taken_offsets:
                self._taken[digest] = (offset, time)
            else:
                self._places.setdefault(digest, deque()).append((offset, time))
        while len(self._order) > self._most:
            self._forget(*self._order.popleft())

    def _forget(self, offset: int, digest: int) -> None:
        self.taken_offsets.discard(offset)
        if self._taken.get(digest, (-1, 0))[0] == offset:
            del self._taken[digest]
        places = self._places.get(digest)
        if places and places[0][0] == offset:
            places.popleft()
        if not places:
            self._places.pop(digest, None)

    def run(self, target: Buffer, *, again: bool) -> int:
        """Number of records at the target's cursor that may be some of these; with `again` including taken ones."""
        length = 0
        while target.at + length < target.end and self._holds(target.digest(target.at + length), again=again):
            length += 1
            target.load(length + 1)
        return length

    def _holds(self, digest: int, *, again: bool) -> bool:
        return bool(self._places.get(digest)) or (again and digest in self._taken)

    def pass_run(self, target: Buffer, run: int, found: Runs) -> None:
        """Passes `run` records of the target, or as many as match these, and adds them to `found`."""
        while run and (taken := self._take(target.digest(target.at))):
            run -= 1
            there = target.offset(target.at)
            stretch = Stretch(taken[0], taken[0] + 1, there, there + 1, 1, taken[1])
            found.add((0, target.at), (0, target.at + 1), stretch)
            target.at += 1

    def _take(self, digest: int) -> tuple[int, int] | None:
        """Source offset and time (ms) of the oldest one with this digest that was not taken yet, or of the last taken.

        A mirror that reads uncommitted and goes back copies records of aborted transactions again, too.
        """
        places = self._places.get(digest)
        if places:
            self._taken[digest] = places.popleft()
            self.taken_offsets.add(self._taken[digest][0])
        return self._taken.get(digest)


# The checkpoints while two sides are compared: the source record at a source offset, and at a target offset.  A group
# that continues in the target at an offset reads the records from there on. This offset must not be after the first
# source record that the group has not read: then records in between would be skipped. Before it, some are read again.


class Marks:
    """The places of source records at which checkpoints point, on both sides."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._in_source = sorted({each.upstream for each in checkpoints}, reverse=True)
        self._in_target = sorted({each.downstream for each in checkpoints if each.downstream >= 0}, reverse=True)
        self._source_places: dict[int, int] = {}
        self._target_places: dict[int, int] = {}

    def match(self, source: Buffer, target: Buffer, count: int) -> None:
        """This many records at both cursors are equal and will be passed."""
        wanted = self._in_target
        last = target.offset(target.at + count - 1) if wanted else 0
        while wanted and wanted[-1] <= last:
            offset = wanted.pop()
            found = max(bisect_left(target.offsets, offset), target.at - target.base)
            self._target_places[offset] = source.at + found - (target.at - target.base)

    def pass_source(self, source: Buffer) -> None:
        """The source's cursor has moved on; earlier records are still kept."""
        wanted = self._in_source
        while wanted and wanted[-1] <= source.offset(source.at):
            offset = wanted.pop()
            if source.base and (not source.offsets or offset < source.offsets[0]):
                continue  # it was leapt over, without a count of the records there
            self._source_places[offset] = source.base + bisect_left(source.offsets, offset)

    def end_target(self, place: int) -> None:
        """The target has ended: offsets behind its end point at the next source record."""
        self._target_places.update(dict.fromkeys(self._in_target, place))

    def translated(self, end: int) -> tuple[Translated, ...]:
        """The checkpoints that both sides could be asked for; `end` is the place behind the source's last record."""
        self._source_places.update(dict.fromkeys(self._in_source, end))
        return tuple(
            Translated(each, self._source_places[each.upstream] - self._target_places[each.downstream])
            for each in self._checkpoints
            if each.upstream in self._source_places and each.downstream in self._target_places
        )


WINDOW: Final = 50_000
MOST_SEARCHES: Final = 16
LOOKED_AT: Final = 64
"""Records that decide between places, and after how many unknown ones the whole source is searched."""
SEARCHED_FOR: Final = 1024
FOLLOWING: Final = 8
"""How many times as many unknown records come between two searches that found nothing."""


class Changed(Exception):  # a reason to compare everything, not an error
    """The source no longer holds records that an earlier run saw."""


class Aligner:
    """Compares one pair of partitions. `position` is the last source offset that the mirror reports as copied.

    earlier is the state of an earlier run, which is continued (raises Changed if the source around it is another one).
    equal are runs of records that are known to be equal: when both cursors reach one, it is passed. After the
    comparison, `kept` is the state for a later run; on_keep is called when the comparison is there.
    """

    def __init__(
        self,
        source: Log,
        target: Log,
        position: int | None = None,
        window: int = WINDOW,
        checkpoints: Sequence[Checkpoint] = (),
        *,
        earlier: Kept | None = None,
        equal: Iterable[EqualRun] = (),
        on_keep: Callable[[], None] = lambda: None,
    ) -> None:
        self._in_source, self._in_target, self._position, self._window = source, target, position, window
        self._equal = {(each.source_start, each.target_start): each for each in equal if each.records >= window}
        self._stops = sorted({source.settled, *(start for start, _ in self._equal)})
        self._aborted = AbortedRecords(window, () if earlier is None else earlier.aborted_taken)
        self._marks, self._tally = Marks(checkpoints), Tally(earlier, source.settled)
        self._index = DigestIndex(window)
        self._pending_from: int | None = None
        self._searches, self._passed_over, self._failed = (0, 0, 0) if earlier is None else earlier.searches
        self._source = self._source_from(source.start if earlier is None else max(source.start, earlier.context))
        self._target = self._target_from(target.start if earlier is None else earlier.target_next)
        self.kept: Kept | None = None
        self._on_keep = on_keep
        if earlier is not None:
            self._go_on(earlier)

    def _go_on(self, earlier: Kept) -> None:
        there = self._source.go_to(earlier.source_next, earlier.source_place)
        if there != earlier.context_records and self._in_source.start <= earlier.context:
            raise Changed
        self._tally.go_on_missing(earlier.missing, self._source.base)
        self._target.base = self._target.at = earlier.target_place
        if earlier.waiting:
            self._target.load(earlier.waiting)
            self._pending_from = earlier.target_place
            self._target.at += earlier.waiting

    def align(self) -> Alignment:
        """The alignment of both sides; the reader adds the figures of its reads."""
        while self._target.load(1) or self._ended():
            source, target = self._source, self._target
            if not target.load(1):
                continue
            source.load(1)
            if self._pass_equal():
                continue
            count = equal_run(source, target, source.at, target.at, self._at_most())
            if count:
                self._match(count)
            else:
                self._differ()
            self._drop()
        self._settle_unknown(self._target.at)
        self._marks.end_target(self._source.at)
        lag = self._rest()
        return self._tally.alignment(lag, self._marks.translated(self._source.end))

    def _ended(self) -> bool:
        """True if there is more to do at the target's end."""
        self._keep()
        return self._search_at_end()

    def _at_most(self) -> int:
        """Number of records that may be passed at once: to the first undecided one, or a known run."""
        source = self._source
        offset = source.offset(source.at)
        if source.at < source.end and offset >= self._in_source.settled:
            self._keep()
        stop = next(iter(self._stops[bisect_right(self._stops, offset) :]), ENDLESS)
        return max(1, min(self._window, source.position_of(stop) - source.at))

    def _keep(self) -> None:
        """Keeps the present position, from which a later run resumes."""
        if self.kept is None:
            begin = self._target.at if self._pending_from is None else self._pending_from
            searches = (self._searches, self._passed_over, self._failed)
            self.kept = self._tally.kept(self._source, self._target, begin, self._aborted.taken_offsets, searches)
            self._on_keep()

    def _is_decided(self, aborted: int) -> bool:
        """True if records not yet readable would change nothing; `aborted` may be passed."""
        source, target = self._source, self._target
        return (
            target.end - target.at >= max(SEARCHED_FOR, aborted + 1)
            and source.end - source.at >= self._window
            and source.offset(source.end) <= self._in_source.settled
        )

    def _pass_equal(self) -> bool:
        """Pass a run of records that is known to be equal, if both cursors are at its beginning."""
        source, target = self._source, self._target
        found = self._equal.pop((source.offset(source.at), target.offset(target.at)), None)
        if found is None or found.source_last >= self._in_source.settled:
            return False
        self._settle_unknown(target.at)
        self._tally.flush_missing(source, source.at)
        last = (found.source_last, found.target_last)
        self._tally.match((found.source_start, found.target_start), last, source.at, found.records)
        self._source = self._source_from(found.context)
        self._source.go_to(found.source_last + 1, source.at + found.records)
        self._target = self._target_from(found.target_last + 1)
        self._target.base = self._target.at = target.at + found.records
        self._index.clear()
        return True

    def _match(self, count: int) -> None:
        source, target = self._source, self._target
        self._settle_unknown(target.at)
        first = (source.offset(source.at), target.offset(target.at))
        self._marks.match(source, target, count)
        source.at, target.at = source.at + count, target.at + count
        last = (source.offset(source.at - 1), target.offset(target.at - 1))
        self._tally.match(first, last, source.at - count, count)

    def _differ(self) -> None:
        """The target's record differs from the expected one."""
        source, target, missing = self._source, self._target, self._tally.missing
        target.load(SEARCHED_FOR)
        source.load(self._window)
        if equal_run(source, target, source.at, target.at, 1):
            return
        places = self._index.candidates(source, target.digest(target.at), missing)
        aborted = self._aborted.run(target, again=not places)
        if not self._is_decided(aborted):
            self._keep()
        if self._take_aborted(places, aborted):
            return
        if not places:
            self._wait()
            return
        scores = {place: equal_run(source, target, place, target.at, LOOKED_AT) for place in places}
        best = max(places, key=lambda place: (scores[place], place in missing, place >= source.at))
        self._settle_unknown(target.at)
        if best < source.at:
            self._tally.pass_again(source, target, best)
        missing.update(dict.fromkeys(range(source.at, best), target.offset(target.at)))
        source.at = max(source.at, best)

    def _take_aborted(self, places: list[int], run: int) -> bool:
        """Passes records of aborted transactions if the expected record follows, or nothing else explains them."""
        source, target = self._source, self._target
        follows = target.at + run == target.end or equal_run(source, target, source.at, target.at + run, 1)
        if not run or (places and not follows):
            return False
        self._settle_unknown(target.at)
        self._aborted.pass_run(target, run, self._tally.runs["aborted"])
        return True

    def _wait(self) -> None:
        """Passes an unknown record; after several of them searches the whole source."""
        if self._pending_from is None:
            self._pending_from = self._target.at
        pending = self._target.at + 1 - self._pending_from
        if pending == LOOKED_AT and self._in_source.settled < ENDLESS:
            self._keep()  # a search passes over what is not decided yet
        self._target.at += 1
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
        """True if the source holds the records from `begin` on; both cursors are at that place then."""
        source, target = self._source, self._target
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            return False
        before, target.at = target.at, begin
        self._tally.flush_missing(source, source.at - self._window)
        target.load(SEARCHED_FOR)
        wanted = target.digests[begin - target.base : begin - target.base + SEARCHED_FOR]
        edge = min(source.at + self._window, source.end)
        ahead = find_run(self._in_source.open(source.offset(edge)), wanted)
        if ahead is not None:
            self._settle_unknown(begin + ahead.number)
            target.at = begin + ahead.number
            self._leap(edge, ahead.offset, ahead.passed)
            return True
        until = source.offset(source.at)
        behind = find_run(self._in_source.open(self._in_source.start), wanted, until)
        if behind is not None:
            self._settle_unknown(begin + behind.number)
            target.at = begin + behind.number
            pass_again(self._in_source.open(behind.offset), target, self._tally, behind.offset, until)
            return True
        target.at = before
        return False

    def _leap(self, edge: int, offset: int, passed: int) -> None:
        """Resumes at a source offset; `passed` records lie between the window's end, `edge`, and it."""
        source, there = self._source, self._target.offset(self._target.at)
        self._tally.missing.update(dict.fromkeys(range(source.at, edge), there))
        self._tally.flush_missing(source, edge)
        if passed:
            time = source.time(source.at)
            self._tally.leap(source.offset(edge), offset, there, (edge, edge + passed), time)
        self._source = self._source_from(offset, edge + passed)
        self._index.clear()

    def _source_from(self, start: int, place: int = 0) -> Buffer:
        blocks = self._aborted.committed(self._in_source.open(start))
        return Buffer(blocks, start, place, min(self._window, AT_ONCE))

    def _target_from(self, start: int) -> Buffer:
        return Buffer(self._in_target.open(start), start, at_once=min(self._window, AT_ONCE))

    def _settle_unknown(self, until: int) -> None:
        """Pending records before this place equal no record of the source."""
        if self._pending_from is not None:
            self._tally.note_unknown(self._target, self._pending_from, until, self._source.offset(self._source.at))
        self._pending_from = None

    def _drop(self) -> None:
        """Drops all but the window and the pending records."""
        source, target = self._source, self._target
        self._marks.pass_source(source)
        if source.at - source.base > 2 * self._window:
            self._tally.flush_missing(source, source.at - self._window)
            source.drop(source.at - self._window)
        kept = target.at if self._pending_from is None else self._pending_from
        if kept - target.base > self._window:
            target.drop(kept)

    def _rest(self) -> Stretch | None:
        """The source's records behind the last one that was expected: gaps up to the mirror's position, then lag."""
        source, end = self._source, self._target.offset(self._target.end)
        lag: Stretch | None = None
        while source.load(1):
            for each in self._tally.rest(source, end, self._position):
                before = each._replace(records=0) if lag is None else lag
                lag = before._replace(source_end=each.source_end, records=before.records + 1)
            source.at = source.end
            self._marks.pass_source(source)
            self._tally.flush_missing(source, source.at - self._window)
            source.drop(source.at - self._window)
        self._tally.flush_missing(source, source.end)
        return lag
