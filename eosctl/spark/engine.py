"""The Spark engine: ranges and pieces of mirrors as tasks, states as a DataFrame, buckets reduced where they are.

1. Nothing but the DataFrame API is used, so classic sessions and Spark Connect both do.
2. The job that scans brings the driver what it reduces itself: kinds of which there is little. That is faster than
   another job. The scanned rows are persisted for the rest.
3. Rows of other kinds are shuffled by bucket, with the carried ones among them.
4. Tasks have no side effects: one that is repeated gives the same rows. All writing is the driver's.
5. A piece of mirrored pairs of partitions is a task that reads both clusters. Digests are keyed by process, so that it
   reads its piece of both sides, and gives offsets and counts.
6. A range of a table's topic is a task that gives the records that count, by the bucket of the key, and facts at the
   end. The rows of some ranges are persisted, then the driver takes them in the order of the ranges.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from eosctl.analysis.source_audit import RowReader
from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.engines.auditing import Advance, Progress, Reduced, Reduction, reduce_bucket
from eosctl.engines.mirroring import BothSides, PairPiece, compare_piece
from eosctl.engines.scanning import collecting_rarely
from eosctl.engines.source_records import Block, RangeRecords, RecordFacts, RecordsAsked, range_records
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.model.mirror import EqualPiece
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import ClusterSource
from eosctl.spark.executor_access import ExecutorAccess
from eosctl.spark.range_frame import (
    ARROW,
    COLUMNS,
    NO_BUCKET,
    SMALL,
    Batches,
    Flagged,
    batches,
    carried,
    decode_rows,
    encode_flagged,
    encode_rows,
    in_order,
    place_frame,
    range_frame,
    restored,
)

# Spark's progress with the ranges of a scan, as the engine's Progress.
#
# Spark reports how many tasks of a stage are done, not which. Tasks are started in the order of the ranges, so the
# first ones count as done; when the scan is over, all are.


PERIOD_S: Final = 0.2


class _Count:
    """Turns a number of finished tasks into one Progress for each new one."""

    def __init__(self, ranges: Sequence[OffsetRange], advance: Advance) -> None:
        self._ranges, self._advance = ranges, advance
        self._done = 0
        self._lock = threading.Lock()

    def reach(self, tasks: int, done: int) -> None:
        """`done` of the `tasks` of some stage are finished; stages of other sizes are not the scan."""
        if tasks != len(self._ranges):
            return
        with self._lock:
            for offsets in self._ranges[self._done : done]:
                self._advance(Progress(offsets))
            self._done = max(self._done, done)


@contextmanager
def watching(spark: SparkSession, ranges: Sequence[OffsetRange], advance: Advance) -> Iterator[None]:
    """Report the ranges while the block runs; the advance function is called from another thread meanwhile."""
    count = _Count(ranges, advance)
    is_connect = type(spark).__module__.startswith("pyspark.sql.connect")
    watch = _handler if hasattr(spark, "registerProgressHandler") and is_connect else _poller
    with watch(spark, count.reach):
        yield
    count.reach(len(ranges), len(ranges))


@contextmanager
def _handler(spark: Any, reach: Callable[[int, int], None]) -> Iterator[None]:  # noqa: ANN401  # Connect's session
    """Spark Connect reports by itself."""

    def handle(stages: Iterable[Any] | None, **_: object) -> None:
        for stage in stages or ():
            reach(stage.num_tasks, stage.num_completed_tasks)

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)


@contextmanager
def _poller(spark: SparkSession, reach: Callable[[int, int], None]) -> Iterator[None]:
    """A classic session has to be polled."""
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def poll() -> None:
        while not over.wait(PERIOD_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    reach(info.numTasks, info.numCompletedTasks)

    thread = threading.Thread(target=poll, name="eosctl-spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


MOST_HERE: Final = 1 << 26
"""Bytes of payload up to which the rows of a kind are reduced in the driver: some two seconds of work."""

RESULT: Final = "result"


class SparkFailed(EosctlError):
    """Spark's error, and where to look."""

    exit_code = 4


class SparkEngine:
    """Runs an audit on the executors of `spark`, which reach the cluster by `access`."""

    def __init__(self, spark: SparkSession, access: ExecutorAccess, *, most_here: int = MOST_HERE) -> None:
        self._spark, self._access, self._most_here = spark, access, most_here

    def scan(self, plan: AuditPlan, advance: Advance) -> "SparkRows":
        frame = range_frame(self._spark, plan, self._access, self._most_here).persist()
        rows = SparkRows(self._spark, frame, self._most_here)
        try:
            with watching(self._spark, in_order(plan), advance), own_errors():
                rows.scan()
        except BaseException:
            rows.close()
            raise
        return rows

    def source_records(
        self, plan: AuditPlan, asked: RecordsAsked, ranges: Sequence[OffsetRange], advance: Callable[[int], None]
    ) -> Iterator[RangeRecords]:
        """Those of each range of a table's topic, in the order of the ranges; ranges are cut into tasks."""
        pieces = tuple(cut_ranges(ranges))
        for begin in range(0, len(pieces), RANGES_AT_ONCE):
            some = pieces[begin : begin + RANGES_AT_ONCE]
            work = RecordsWork(plan, asked, some)
            frame = place_frame(self._spark, len(some), _records_task(work, self._access)).persist()
            try:
                with watching(self._spark, some, lambda each: advance(each.offsets.size)), own_errors():
                    frame.count()
                yield from _range_records(frame)
            finally:
                frame.unpersist()


class SparkRows:
    """Small kinds on the driver, all on executors."""

    def __init__(self, spark: SparkSession, frame: DataFrame, most_here: int) -> None:
        self._spark, self._frame, self._most_here = spark, frame, most_here
        self._here: dict[StateKind, list[StateRow]] = {}
        self._there: set[StateKind] = set()

    def scan(self) -> None:
        """The job that reads the topics."""
        for row in decode_rows(self._frame.where(sql.col(SMALL)).select(*ARROW.names).toArrow()):
            if row.bucket == NO_BUCKET:
                self._there.add(row.kind)
            else:
                self._here.setdefault(row.kind, []).append(row)

    def reduce(self, reduction: Reduction, carried: Iterable[StateRow]) -> Sequence[Reduced]:
        """One Reduced for each bucket that has rows of the reduction's kind, or carried ones; by bucket."""
        before = list(carried)
        here = () if reduction.kind in self._there else self._here.get(reduction.kind, ())
        size = sum(len(row.payload) for row in (*here, *before))
        with own_errors():
            if reduction.kind in self._there or size > self._most_here:
                return self._reduce_there(reduction, before)
            return _reduce_here(reduction, [*before, *here])

    def _reduce_there(self, reduction: Reduction, before: list[StateRow]) -> list[Reduced]:
        def reduce_group(group: pa.Table) -> pa.Table:
            rows = list(decode_rows(group))
            return _encode_reduced(reduction, reduce_bucket(reduction, rows[0].bucket, rows))

        mine = (sql.col("kind") == reduction.kind.value) & (sql.col("bucket") != NO_BUCKET)
        rows = self._frame.where(mine).select(*ARROW.names)
        if before:
            rows = rows.unionByName(self._spark.createDataFrame(encode_rows(before), schema=COLUMNS))
        reduced = rows.groupBy("bucket").applyInArrow(reduce_group, schema=f"{RESULT} boolean, {COLUMNS}")
        return _decode_reduced(reduced.toArrow())

    def close(self) -> None:
        self._frame.unpersist()


def _reduce_here(reduction: Reduction, rows: Iterable[StateRow]) -> list[Reduced]:
    buckets: dict[int, list[StateRow]] = {}
    for row in rows:
        buckets.setdefault(row.bucket, []).append(row)
    return [reduce_bucket(reduction, bucket, buckets[bucket]) for bucket in sorted(buckets)]


def _encode_reduced(reduction: Reduction, reduced: Reduced) -> pa.Table:
    """The conclusions as a row marked so, followed by the carried rows."""
    result = StateRow(reduction.kind, reduced.bucket, "", 0, 0, True, reduced.result)
    return encode_flagged(RESULT, [(True, result), *((False, row) for row in reduced.carried)])


def _decode_reduced(table: pa.Table) -> list[Reduced]:
    results: dict[int, bytes] = {}
    carried: dict[int, list[StateRow]] = {}
    flags = table.column(RESULT).to_pylist()
    for flag, row in zip(flags, decode_rows(table.select(ARROW.names)), strict=True):
        if flag:
            results[row.bucket] = row.payload
        else:
            carried.setdefault(row.bucket, []).append(row)
    return [Reduced(bucket, results[bucket], tuple(carried.get(bucket, ()))) for bucket in sorted(results)]


@contextmanager
def own_errors() -> Iterator[None]:
    """Translates errors of executors, and shortens Spark's own."""
    try:
        yield
    except PySparkException as failure:
        error = restored(failure)
        if error is None:
            lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
            words = " ... ".join(dict.fromkeys((lines[0], lines[-1]))) if lines else type(failure).__name__
            error = SparkFailed(f"Spark failed: {words[:500]}", hint="see the executors' logs")
        raise error from failure


class BothAccesses(NamedTuple):
    """How executors reach both clusters."""

    source: ExecutorAccess
    target: ExecutorAccess


class PieceWork(NamedTuple):
    """The topics of both sides, the number of context records, and the pieces, for all tasks."""

    source: AuditPlan
    target: AuditPlan
    window: int
    pieces: tuple[PairPiece, ...]


_WORK: Final = msgspec.json.Decoder(PieceWork)


class SparkPieces:
    """Compares pieces on the executors of `spark`, which reach the clusters by `accesses`."""

    def __init__(self, spark: SparkSession, accesses: BothAccesses) -> None:
        self._spark, self._accesses = spark, accesses

    def __call__(self, sides: BothSides, pieces: Sequence[PairPiece]) -> list[EqualPiece | None]:
        """The equal length of each piece, in their order. Raises read errors, and SparkFailed."""
        if not pieces:
            return []
        work = PieceWork(sides.source, sides.target, sides.window, tuple(pieces))
        with own_errors():
            rows = decode_rows(piece_frame(self._spark, work, self._accesses).select(*ARROW.names).toArrow())
            found = {row.bucket: decode_audit_state(row.payload, list[EqualPiece]) for row in rows}
        return [next(iter(found[place]), None) for place in range(len(pieces))]


def piece_frame(spark: SparkSession, work: PieceWork, accesses: BothAccesses) -> DataFrame:
    """A row for each piece, whose bucket is its place in the work."""
    return place_frame(spark, len(work.pieces), _task(work, accesses))


def _task(work: PieceWork, accesses: BothAccesses) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    encoded = msgspec.json.encode(work)

    def compare(places: Batches) -> Iterator[pa.RecordBatch]:
        return compare_places(encoded, accesses, places)

    return compare


def compare_places(encoded: bytes, accesses: BothAccesses, places: Batches) -> Iterator[pa.RecordBatch]:
    """On an executor: the pieces at these places. Raises what `executor_errors.restored` reads."""
    work = _decoded(encoded)
    source, target = (partial(_open, access) for access in accesses)
    sides = BothSides(source, target, work.source, work.target, work.window)
    for batch in places:
        for place in batch.column(0).to_pylist():
            asked = work.pieces[place]
            try:
                found = compare_piece(sides, asked)
            except EosctlError as error:
                raise carried(error) from error
            pair, payload = asked.pair, encode_audit_state([] if found is None else [found])
            where = (pair.topics.source, pair.partition, asked.piece.source_start)
            yield from batches([Flagged(True, StateRow(StateKind.MIRROR, place, *where, True, payload))])


def _open(access: ExecutorAccess) -> ClusterSource:
    return ClusterSource(access.client_properties(), access.timeout_s)


@lru_cache(maxsize=1)
def _decoded(encoded: bytes) -> PieceWork:
    """Once for all tasks of a Python worker."""
    return _WORK.decode(encoded)


# -- the records of a table's topic ------------------------------------------------------------------------------------

RECORDS_A_TASK: Final = 250_000
RANGES_AT_ONCE: Final = 256
"""The rows of so many tasks wait on the executors; after a kill these are read again."""


class RecordsWork(NamedTuple):
    """The plan's topic, the form of its records, and the ranges, for all tasks."""

    plan: AuditPlan
    asked: RecordsAsked
    ranges: tuple[OffsetRange, ...]


_RECORDS_WORK: Final = msgspec.json.Decoder(RecordsWork)


def cut_ranges(ranges: Iterable[OffsetRange]) -> Iterator[OffsetRange]:
    for offsets in ranges:
        for start in range(offsets.start, offsets.end, RECORDS_A_TASK):
            yield offsets._replace(start=start, end=min(start + RECORDS_A_TASK, offsets.end))


def _records_task(work: RecordsWork, access: ExecutorAccess) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    encoded = msgspec.json.encode(work)

    def read(places: Batches) -> Iterator[pa.RecordBatch]:
        return read_places(encoded, access, places)

    return read


def read_places(encoded: bytes, access: ExecutorAccess, places: Batches) -> Iterator[pa.RecordBatch]:
    """On an executor: the rows of the ranges at these places. Raises what `range_frame.restored` reads."""
    work, reader = _decoded_records(encoded)
    for batch in places:
        for place in batch.column(0).to_pylist():
            try:
                with _open(access) as source, collecting_rarely():
                    found = range_records(work.asked, reader, source, work.plan, work.ranges[place])
            except EosctlError as error:
                raise carried(error) from error
            yield from batches(Flagged(False, each) for each in _records_rows(work.ranges[place], found))


def _records_rows(offsets: OffsetRange, found: RangeRecords) -> Iterator[StateRow]:
    """The blocks, followed by the facts in a row without a bucket."""
    at = (offsets.topic, offsets.partition, offsets.start, True)
    for bucket, content in found.blocks:
        yield StateRow(StateKind.SOURCE_RECORDS, bucket, *at, content)
    yield StateRow(StateKind.SOURCE_RECORDS, NO_BUCKET, *at, msgspec.json.encode(found.facts))


def _range_records(frame: DataFrame) -> Iterator[RangeRecords]:
    blocks: list[Block] = []
    with own_errors():
        for bucket, payload in frame.select("bucket", "payload").toLocalIterator(prefetchPartitions=True):
            if bucket == NO_BUCKET:
                yield RangeRecords(blocks, msgspec.json.decode(payload, type=RecordFacts))
                blocks = []
            else:
                blocks.append(Block(bucket, bytes(payload)))


@lru_cache(maxsize=1)
def _decoded_records(encoded: bytes) -> tuple[RecordsWork, RowReader]:
    """Once for all tasks of a Python worker."""
    work = _RECORDS_WORK.decode(encoded)
    return work, RowReader(work.asked.table, work.asked.handling)
