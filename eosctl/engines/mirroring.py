"""Pairs of partitions, compared in processes of this machine: a pair is the unit of work, or a piece of a large one."""

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, groupby, islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from eosctl.analysis.mirror.aligner import WINDOW, Aligner, Changed
from eosctl.analysis.mirror.blocks import ENDLESS, INTEGERS, Block, Log, Piece, cut, equal_from, joined
from eosctl.analysis.mirror.verdict import ANOTHER, counts_at, why_again, with_pieces
from eosctl.codecs.record_batches import BatchHeader, DamagedOffsets, decode_entries, plain_records
from eosctl.engines.local import SMALL, worker_processes
from eosctl.engines.scanning import collecting_rarely
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan
from eosctl.model.mirror import (
    NOTHING,
    Alignment,
    Compared,
    ComparedPair,
    Counts,
    Damage,
    EqualPiece,
    Kept,
    MirrorProgress,
    PartitionPair,
    TopicPair,
)
from eosctl.model.names import Side
from eosctl.model.records import first_time
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import DataBatch, LogSource, OpenSource

# One side of a mirrored pair of partitions as blocks of digests, decoded in runs of batches.  A run has as many batches
# as fit unpacked into RUN_BYTES. Work on all their records at once costs little for each.


if HAS_COLUMNS := find_spec("numpy") is not None:
    # Its linear algebra, which nothing here needs, starts a thread for each CPU, and each spins for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from eosctl.codecs.record_columns import Parts, Records, columns

RUN_BYTES: Final = 1 << 22
HEADERLESS: Final = (Compared.WITHOUT_HEADERS, Compared.KEY_AND_VALUE)
TIMELESS: Final = (Compared.WITHOUT_TIMESTAMP, Compared.KEY_AND_VALUE)

DIGESTS: Final[dict[Compared, Callable[[Any], int]]] = {
    Compared.WHOLE: lambda each: hash((each.timestamp, each.key, each.value, *each.headers)),
    Compared.WITHOUT_TIMESTAMP: lambda each: hash((each.key, each.value, *each.headers)),
    Compared.WITHOUT_HEADERS: lambda each: hash((each.timestamp, each.key, each.value)),
    Compared.KEY_AND_VALUE: lambda each: hash((each.key, each.value)),
}
"""Python's keyed SipHash of 64 bits: the same within a process, and infeasible to collide on purpose."""


class NoColumns(Exception):  # a reason to decode in another way, not an error
    """The records of a batch do not add up, or no client writes them so: each has to be decoded."""


class OpenBatch(NamedTuple):
    """A batch of a run, and its records without compression."""

    item: DataBatch
    records: memoryview

    @property
    def header(self) -> BatchHeader:
        return self.item.batch.header


class DecodedRun(NamedTuple):
    """Offsets and digests of all records of a run, and the number in each batch; none of damaged ones."""

    offsets: Sequence[int]
    digests: Sequence[int]
    counts: Sequence[int]
    damaged: Mapping[int, Undecodable] = MappingProxyType({})


Decode = Callable[[Sequence[OpenBatch], Compared], DecodedRun]


def columns_of(run: Sequence[OpenBatch], compared: Compared) -> DecodedRun:
    """All records of the run at once. Raises NoColumns."""
    parts = Parts(timestamp=compared not in TIMELESS, headers=compared not in HEADERLESS)
    heads = [each.header for each in run]
    found = columns(
        [
            Records(each.records, h.record_count, h.base_offset, h.base_timestamp, h.max_timestamp, h.attributes)
            for each, h in zip(run, heads, strict=True)
        ],
        parts,
    )
    if found is None:
        raise NoColumns
    offsets, digests = (array(INTEGERS, each.tobytes()) for each in found)
    return DecodedRun(offsets, digests, [each.record_count for each in heads])


def record_by_record(run: Sequence[OpenBatch], compared: Compared) -> DecodedRun:
    """Each record as an object, by the decoder of record_batches."""
    offsets, digests = array(INTEGERS), array(INTEGERS)
    counts, damaged = [], {}
    for number, each in enumerate(run):
        try:
            entries = decode_entries(each.item.batch)
        except Undecodable as error:
            damaged[number], entries = error, []
        offsets.extend(entry.offset for entry in entries)
        digests.extend(map(DIGESTS[compared], entries))
        counts.append(len(entries))
    return DecodedRun(offsets, digests, counts, damaged)


Apart = Sequence[tuple[int, int]]
"""Offsets [start, end) whose batches are counted elsewhere."""


@dataclass
class Seen:
    """Counts of one side; each batch counts once, however often it is read."""

    counts: Counts = NOTHING
    damages: dict[Damage, None] = field(default_factory=dict)


class SideReading:
    """One side of a pair as blocks of digests, from any offset on.

    counted is the part that is counted already; batches that begin at or after `end`, or are `apart`, are not counted.
    """

    def __init__(
        self,
        source: LogSource,
        plan: AuditPlan,
        side: Side,
        ranges: Sequence[OffsetRange],
        decode: Decode,
        counted: Counts = NOTHING,
        end: int = ENDLESS,
        apart: Apart = (),
    ) -> None:
        self._source, self._plan, self._side, self._ranges, self._decode = source, plan, side, ranges, decode
        self._end, self._apart = end, apart
        self.seen = Seen(counted)

    def blocks(self, start: int, compared: Compared) -> Iterator[Block]:
        """Everything from the offset on. Batches of a run that count alike are one block."""
        for offsets, run in self._runs(start):
            found = self._decode(run, compared)
            for number, error in found.damaged.items():
                self._damaged(run[number].item, error)
            kinds, end = self._kinds(run, offsets), 0
            for kind, alike in groupby(zip(run, found.counts, kinds, strict=True), key=itemgetter(2)):
                batches, counts, _ = zip(*alike, strict=True)
                begin, end = end, end + sum(counts)
                first = bisect_left(found.offsets, offsets.start, begin, end)
                last = bisect_left(found.offsets, offsets.end, first, end)
                if kind.counts:
                    self._count(batches, last - first, kind)
                if first < last and (self._side is Side.SOURCE or not kind.optional):
                    times = _times(batches, counts)[first - begin : last - begin]
                    yield Block(found.offsets[first:last], found.digests[first:last], times, kind.optional)

    def _kinds(self, run: Sequence[OpenBatch], offsets: OffsetRange) -> "list[_Kind]":
        until, end, apart, undecided = self.seen.counts.until, self._end, self._apart, not offsets.settled
        found = []
        for (batch, aborted), _ in run:
            base = batch.header.base_offset
            counts = until <= base < end and not (apart and any(start <= base < stop for start, stop in apart))
            found.append(_Kind(counts, aborted, aborted or (undecided and batch.header.is_transactional)))
        return found

    def _runs(self, start: int) -> Iterator[tuple[OffsetRange, list[OpenBatch]]]:
        """Runs of batches, each within one range of offsets; a batch may begin before it or end behind it."""
        for each in self._ranges:
            offsets = each._replace(start=max(each.start, start))
            run: list[OpenBatch] = []
            size = 0
            for item in self._source.read(self._plan, offsets) if offsets.size > 0 else ():
                if isinstance(item, DamagedOffsets):
                    self.seen.damages[Damage(self._side, *item)] = None
                elif isinstance(item, DataBatch):
                    try:
                        records = plain_records(item.batch)
                    except Undecodable as error:
                        self._damaged(item, error)
                        continue
                    # Records of one answer need not be copied to lie side by side.
                    goes_on = bool(run) and item.batch.data.obj is run[-1].item.batch.data.obj
                    if size >= (RUN_BYTES if goes_on else RUN_BYTES // 2):
                        yield offsets, run
                        run, size = [], 0
                    run.append(OpenBatch(item, records))
                    size += len(records)
            if run:
                yield offsets, run

    def _damaged(self, item: DataBatch, error: Undecodable) -> None:
        header = item.batch.header
        self.seen.damages[Damage(self._side, header.base_offset, header.next_offset, error.reason)] = None

    def _count(self, batches: Sequence[OpenBatch], records: int, kind: "_Kind") -> None:
        counts = self.seen.counts
        self.seen.counts = Counts(
            until=batches[-1].header.next_offset,
            records=counts.records + (0 if kind.optional else records),
            size_bytes=counts.size_bytes + sum(len(each.item.batch.data) for each in batches),
            aborted=counts.aborted + (records if kind.aborted else 0),
        )


class _Kind(NamedTuple):
    """Common properties of a block's batches: whether they count, were aborted, may be missing in a mirror."""

    counts: bool
    aborted: bool
    optional: bool


def _times(batches: Sequence[OpenBatch], counts: Sequence[int]) -> "array[int]":
    times = array(INTEGERS)
    for each, count in zip(batches, counts, strict=True):
        times.extend(array(INTEGERS, (first_time(each.header),)) * count)
    return times


# Both sides of a mirrored pair of partitions, opened for reading.  The source's settled range has committed and aborted
# records. In the tail behind the last stable offset transactions are undecided; non-transactional records are
# committed. On the target the records of read_committed consumers count.


class BothSides(NamedTuple):
    """How to read the sides, and the topics of each as the reader of ranges needs them.

    window is the number of records on either side of a difference to look at.
    """

    open_source: OpenSource
    open_target: OpenSource
    source: AuditPlan
    target: AuditPlan
    window: int = WINDOW

    def ids(self, topics: TopicPair) -> tuple[str | None, str | None]:
        return self.source.topic(topics.source).topic_id, self.target.topic(topics.target).topic_id


class Counting(NamedTuple):
    """The batches of a side that count: those before `end`, behind the counted ones, and not in `apart`."""

    counted: Counts = NOTHING
    end: int = ENDLESS
    apart: Apart = ()


ALL: Final = Counting()


class OpenSides(NamedTuple):
    """Both sides of a pair, readable at any offset."""

    source: SideReading
    target: SideReading


def open_sides(
    sides: BothSides,
    pair: PartitionPair,
    sources: tuple[LogSource, LogSource],
    decode: Decode,
    counting: tuple[Counting, Counting] = (ALL, ALL),
) -> OpenSides:
    """Readers of both sides; `counting` limits the counts of source and target."""
    (one, other), (mine, theirs) = sources, counting
    return OpenSides(
        SideReading(one, sides.source, Side.SOURCE, _ranges(pair, Side.SOURCE), decode, *mine),
        SideReading(other, sides.target, Side.TARGET, _ranges(pair, Side.TARGET), decode, *theirs),
    )


def _ranges(pair: PartitionPair, side: Side) -> list[OffsetRange]:
    topics = pair.topics
    topic, bounds = (topics.source, pair.source) if side is Side.SOURCE else (topics.target, pair.target)
    place, start, stable = (topic, pair.partition), bounds.audited_from, bounds.last_stable_offset
    settled = OffsetRange(*place, start, stable)
    if side is Side.TARGET or bounds.high_watermark <= stable:
        return [settled]
    return [settled, OffsetRange(*place, max(start, stable), bounds.high_watermark, settled=False)]


SMALLEST_PIECE: Final = 500_000
"""Offsets of the target from which on a piece is worth the looking for a cut, and the context that is read again."""
LARGEST_PIECE: Final = 5_000_000
DECODE: Final[Decode] = columns_of if HAS_COLUMNS else record_by_record


class PairPiece(NamedTuple):
    """A piece of a pair; batches before the offsets `counted` were counted by an earlier run."""

    pair: PartitionPair
    piece: Piece
    counted: tuple[int, int] = (0, 0)


def cut_pair(
    sides: BothSides, pair: PartitionPair, earlier: MirrorProgress | None, processes: int, least: int = 2
) -> list[PairPiece]:
    """The pieces of a pair behind the earlier comparison; empty if it is too small."""
    starts, counted = (pair.source.audited_from, pair.target.audited_from), (0, 0)
    if earlier is not None:
        starts = (earlier.kept.source_next, earlier.kept.target_next)
        counted = (earlier.source.until, earlier.target.until)
    ends = (pair.source.last_stable_offset, pair.target.last_stable_offset)
    size = ends[1] - starts[1]
    count = max(min(size // SMALLEST_PIECE, max(processes, size // LARGEST_PIECE)), 1 if size > 0 else 0)
    if count < least or pair.checkpoints:
        return []
    with sides.open_source() as one, sides.open_target() as other, suppress(NoColumns):
        source, target = open_sides(sides, pair, (one, other), DECODE)
        found = cut(_log(source, starts[0]), _log(target, starts[1]), ends, count)
        return [PairPiece(pair, each, counted) for each in found]
    return []


def _log(side: SideReading, start: int) -> Log:
    return Log(lambda offset: side.blocks(offset, Compared.WHOLE), start)


def compare_piece(sides: BothSides, asked: PairPiece) -> EqualPiece | None:
    """The equal length of the piece; None if its first record differs, or part of it is damaged."""
    with suppress(NoColumns):
        return _compared_piece(sides, asked, DECODE)
    return _compared_piece(sides, asked, record_by_record)


def _compared_piece(sides: BothSides, asked: PairPiece, decode: Decode) -> EqualPiece | None:
    pair, piece, counted = asked
    begins, ends = (piece.source_start, piece.target_start), (piece.source_end, piece.target_end)
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        counting = (
            Counting(Counts(max(begins[0], counted[0])), ends[0]),
            Counting(Counts(max(begins[1], counted[1])), ends[1]),
        )
        source, target = open_sides(sides, pair, (one, other), decode, counting)
        found = equal_from(_log(source, begins[0]), _log(target, begins[1]), piece, sides.window)
        if found is None or source.seen.damages or target.seen.damages:
            return None
        run, whole = found
        return EqualPiece(begins, ends, run, whole, source.seen.counts, target.seen.counts)


Advance = Callable[[int], None]
ComparePieces = Callable[[BothSides, Sequence[PairPiece]], Sequence[EqualPiece | None]]
"""Gives how far each piece is equal, in their order."""


class PairJob(NamedTuple):
    """A pair, the end of an earlier run (None: compare all), and its pieces known to be equal."""

    pair: PartitionPair
    earlier: MirrorProgress | None = None
    pieces: tuple[EqualPiece, ...] = ()

    @property
    def size(self) -> int:
        """Offsets to compare on both sides."""
        pair, earlier = self.pair, self.earlier
        starts = (pair.source.audited_from, pair.target.audited_from)
        if earlier is not None:
            starts = (earlier.kept.source_next, earlier.kept.target_next)
        ends = (pair.source.high_watermark, pair.target.high_watermark)
        return sum(max(0, end - start) for start, end in zip(starts, ends, strict=True))


def compare_pair(sides: BothSides, job: PairJob) -> ComparedPair:
    """One pair, by the strictest digest by which records of both sides are equal.

    With an earlier run's progress, whose basis is unchanged, only later records are compared. With numpy batches are
    decoded as columns; if one cannot be, all is read again and decoded record by record.
    """
    if HAS_COLUMNS:
        with suppress(NoColumns):
            return _compared(sides, job, columns_of)
    return _compared(sides, job, record_by_record)


def _compared(sides: BothSides, job: PairJob, decode: Decode) -> ComparedPair:
    again = None if job.earlier is None else why_again(job.pair, sides.ids(job.pair.topics), job.earlier)
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        if job.earlier is not None and again is None:
            try:
                return _Comparison(sides, job, (one, other), decode).result()
            except Changed:
                again = ANOTHER
        nothing: ComparedPair | None = None
        for compared in Compared:
            whole = PairJob(job.pair, None, job.pieces if compared is Compared.WHOLE else ())
            found = _Comparison(sides, whole, (one, other), decode, compared).result()._replace(again=again)
            if _explains(found.alignment):
                return found
            nothing = nothing or found
        assert nothing is not None
        return nothing


def _explains(found: Alignment) -> bool:
    """True if records are equal by its digest, or never will be.

    By a weaker digest as many as half of the smaller side: some are equal to others by chance, as tombstones of a key.
    """
    smaller = min(found.source_records, found.target_records)
    equal = found.matched + sum(each.records for each in found.aborted)
    return not smaller or equal >= (1 if found.compared is Compared.WHOLE else smaller / 2)


class _Comparison:
    """A pair, compared by one digest, from the beginning or from where an earlier run ended."""

    def __init__(
        self,
        sides: BothSides,
        job: PairJob,
        opened: tuple[LogSource, LogSource],
        decode: Decode,
        compared: Compared = Compared.WHOLE,
    ) -> None:
        self._sides, self._job, self._compared = sides, job, compared
        earlier, pieces = job.earlier, job.pieces
        self._counts = (Counts(), Counts()) if earlier is None else (earlier.source, earlier.target)
        counting = (
            Counting(self._counts[0], apart=[(each.begins[0], each.source.until) for each in pieces]),
            Counting(self._counts[1], apart=[(each.begins[1], each.target.until) for each in pieces]),
        )
        self._source, self._target = open_sides(sides, job.pair, opened, decode, counting)

    def result(self) -> ComparedPair:
        """Raises Changed if the earlier run cannot be resumed."""
        pair, earlier = self._job.pair, None if self._job.earlier is None else self._job.earlier.kept
        if earlier is not None and earlier.last is not None:
            self._require_equal(*earlier.last)
        stable, end = pair.source.last_stable_offset, pair.source.high_watermark
        settled = stable if stable < end else ENDLESS
        aligner = Aligner(
            Log(self._read_source, pair.source.audited_from, settled),
            Log(self._read_target, pair.target.audited_from),
            pair.position if isinstance(pair.position, int) else None,
            self._sides.window,
            pair.checkpoints,
            earlier=earlier,
            equal=joined(self._job.pieces, self._sides.window),
            on_keep=self._remember_counts,
        )
        aligned = aligner.align()
        source, target = with_pieces((self._source.seen.counts, self._target.seen.counts), self._job.pieces)
        aligned = replace(
            aligned,
            compared=self._compared,
            damages=(*self._source.seen.damages, *self._target.seen.damages),
            source_records=source.records,
            target_records=target.records,
            source_bytes=source.size_bytes,
            target_bytes=target.size_bytes,
            aborted_in_target=target.aborted,
            continued=None if earlier is None else (earlier.source_next, earlier.target_next),
        )
        return ComparedPair(aligned, self._progress(aligned, aligner.kept))

    def _read_source(self, offset: int) -> Iterator[Block]:
        return self._source.blocks(offset, self._compared)

    def _read_target(self, offset: int) -> Iterator[Block]:
        return self._target.blocks(offset, self._compared)

    def _require_equal(self, offset: int, there: int) -> None:
        """Requires that the last pair of equal records still is, unless one of them was deleted since."""
        if offset < self._job.pair.source.audited_from or there < self._job.pair.target.audited_from:
            return
        mine, theirs = next(self._read_source(offset), None), next(self._read_target(there), None)
        if mine is None or theirs is None or (mine.offsets[0], theirs.offsets[0]) != (offset, there):
            raise Changed
        if mine.digests[0] != theirs.digests[0]:
            raise Changed

    def _remember_counts(self) -> None:
        self._counts = (self._source.seen.counts, self._target.seen.counts)

    def _progress(self, aligned: Alignment, kept: Kept | None) -> MirrorProgress | None:
        """The progress; None if further reads may change the result.

        Damaged batches may be readable later, and a weaker digest may match more records than a stronger one.
        """
        ids = self._sides.ids(self._job.pair.topics)
        whole = aligned.compared is Compared.WHOLE and not aligned.damages
        if kept is None or kept.first is None or not whole or ids[0] is None or ids[1] is None:
            return None
        counts = counts_at(self._counts, kept, self._job.pieces)
        return (
            None
            if counts is None
            else MirrorProgress(self._job.pair.topics, self._job.pair.partition, ids[0], ids[1], kept, *counts)
        )


def compare_pairs(
    sides: BothSides,
    jobs: Sequence[PairJob],
    processes: int | None,
    advance: Advance,
    apart: ComparePieces | None = None,
) -> list[ComparedPair]:
    """All pairs, in their order, in `processes` processes (None: one for each CPU).

    A large pair is cut: its pieces are compared first, and one process compares the records that they do not explain.
    If `apart` is given, it compares the pieces of all pairs.
    """
    count = processes or os.cpu_count() or 1
    if apart is not None:
        return list(_one_by_one(sides, _compared_apart(sides, jobs, apart, count), advance))
    if count == 1 or sum(each.size for each in jobs) <= SMALL:
        return list(_one_by_one(sides, jobs, advance))
    pieces = [cut_pair(sides, each.pair, each.earlier, count) for each in jobs]
    if len(jobs) == 1 and not pieces[0]:
        return list(_one_by_one(sides, jobs, advance))
    with worker_processes(count) as pool:
        compared = [[pool.submit(compare_piece, sides, each) for each in mine] for mine in pieces]
        order = sorted(range(len(jobs)), key=lambda number: (len(pieces[number]), -jobs[number].size))
        pending: dict[int, Future[ComparedPair]] = {}
        for number in order:
            found = tuple(each for future in compared[number] if (each := future.result()) is not None)
            pending[number] = pool.submit(compare_pair, sides, jobs[number]._replace(pieces=found))
        results = {}
        for number in order:
            results[number] = pending[number].result()
            advance(jobs[number].size)
    return [results[number] for number in range(len(jobs))]


def _compared_apart(sides: BothSides, jobs: Sequence[PairJob], apart: ComparePieces, processes: int) -> list[PairJob]:
    asked = [cut_pair(sides, each.pair, each.earlier, processes, least=1) for each in jobs]
    found = iter(apart(sides, list(chain.from_iterable(asked))))
    return [
        job._replace(pieces=tuple(each for each in islice(found, len(mine)) if each is not None))
        for job, mine in zip(jobs, asked, strict=True)
    ]


def _one_by_one(sides: BothSides, jobs: Sequence[PairJob], advance: Advance) -> Iterator[ComparedPair]:
    for each in jobs:
        yield compare_pair(sides, each)
        advance(each.size)
