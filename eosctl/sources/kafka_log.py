"""Every record of a partition in offset order, with what became of the transaction it was written in."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import Batch, MarkerType, decode_marker, decode_records
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.topics import PartitionOffsets
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.log_reader import LogReader


def read_log(
    wire: Wire,
    topic_partition: TopicPartition,
    *,
    start: int | None = None,
    offsets: PartitionOffsets | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Iterator[Record]:
    """The records of one partition from `start` (None: the log start offset), as they were when the call began.

    1. `offsets` (otherwise asked now) bound the reading: what is written later is not seen.
    2. Below the last stable offset every transaction is decided, and each answer to a Fetch with read_committed names
       the aborted ones in its range: records are passed on as they come, COMMITTED or ABORTED, in flat memory.
    3. From there to the high watermark the end-transaction markers decide; a record whose transaction has no marker
       there is OPEN. Records wait in memory for the first undecided transaction before them.
    4. With isolation read_committed, only step 2 is done. Aborted records are passed on all the same, marked ABORTED.

    Raises UsageError for a partition that does not exist, NotAuthorized where Read is missing, Undecodable for a bad
    batch, Refused when records were deleted while being read, TimedOut when no leader answers for `wire.timeout_s`.
    """
    for part in read_batches(wire, topic_partition, start=start, offsets=offsets, isolation=isolation):
        decoded = decode_records(part.batch, state=part.state, topic_partition=topic_partition)
        if part.whole:
            yield from decoded
        else:
            yield from (record for record in decoded if part.first <= record.offset < part.limit)


class StatedBatch(NamedTuple):
    """A data batch, what became of its transaction, and the offsets (first, and one past the last) that were asked."""

    batch: Batch
    state: RecordState
    first: int
    limit: int

    @property
    def whole(self) -> bool:
        """Whether all its records were asked for."""
        return self.batch.header.base_offset >= self.first and self.batch.header.last_offset < self.limit


def read_batches(
    wire: Wire,
    topic_partition: TopicPartition,
    *,
    start: int | None = None,
    offsets: PartitionOffsets | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    begun: LogReader | None = None,
) -> Iterator[StatedBatch]:
    """The data batches behind `read_log`, in the same order and by the same rule, their records not decoded.

    `begun` is what `begin_reading` gave for this partition and these offsets.
    """
    bounds = offsets if offsets is not None else partition_offsets(wire, [topic_partition])[topic_partition]
    first = bounds.log_start_offset if start is None else max(start, bounds.log_start_offset)
    committed = IsolationLevel.READ_COMMITTED
    yield from _decided(begun or LogReader(wire, topic_partition, first, bounds.last_stable_offset, committed))
    if isolation is IsolationLevel.READ_UNCOMMITTED:
        rest = max(first, bounds.last_stable_offset)
        unstable = LogReader(wire, topic_partition, rest, bounds.high_watermark, IsolationLevel.READ_UNCOMMITTED)
        yield from _undecided(unstable)


def begin_reading(wire: Wire, offsets: PartitionOffsets, leader: int) -> LogReader:
    """A reading of the whole partition whose first Fetch is in flight; `read_batches` goes on with it."""
    first, stable = offsets.log_start_offset, offsets.last_stable_offset
    reader = LogReader(wire, offsets.topic_partition, first, stable, IsolationLevel.READ_COMMITTED)
    reader.begin(leader)
    return reader


def _decided(reader: LogReader) -> Iterator[StatedBatch]:
    """Batches below the last stable offset.

    A producer's batches are aborted from the first offset of an aborted transaction up to the producer's next abort
    marker; the list of one answer covers the whole range of that answer.
    """
    for batches, answer in reader:
        coming = sorted((entry.first_offset, entry.producer_id) for entry in answer.aborted_transactions or ())
        coming.reverse()
        aborting: set[int] = set()
        for batch in batches:
            header = batch.header
            while coming and coming[-1][0] <= header.last_offset:
                aborting.add(coming.pop()[1])
            if header.is_control:
                marker = decode_marker(batch, topic_partition=reader.topic_partition)
                if marker is not None and marker.type is MarkerType.ABORT:
                    aborting.discard(marker.producer_id)
                continue
            aborted = header.is_transactional and header.producer_id in aborting
            yield _stated(reader, batch, RecordState.ABORTED if aborted else RecordState.COMMITTED)


def _undecided(reader: LogReader) -> Iterator[StatedBatch]:
    """Batches from the last stable offset on: held back until all transactions before them are decided."""
    held: dict[int, list[Any]] = {}
    open_batches: dict[int, list[int]] = {}
    for number, batch in enumerate(chain.from_iterable(batches for batches, _ in reader)):
        header = batch.header
        if not header.is_control:
            held[number] = [batch, None if header.is_transactional else RecordState.COMMITTED]
            if header.is_transactional:
                open_batches.setdefault(header.producer_id, []).append(number)
        else:
            marker = decode_marker(batch, topic_partition=reader.topic_partition)
            if marker is not None:
                state = RecordState.COMMITTED if marker.type is MarkerType.COMMIT else RecordState.ABORTED
                for decided in open_batches.pop(marker.producer_id, ()):
                    held[decided][1] = state
        while held and (first := next(iter(held))) is not None and held[first][1] is not None:
            yield _stated(reader, *held.pop(first))
    for batch, state in held.values():
        yield _stated(reader, batch, state or RecordState.OPEN)


def _stated(reader: LogReader, batch: Batch, state: RecordState) -> StatedBatch:
    return StatedBatch(batch, state, reader.first, reader.limit)
