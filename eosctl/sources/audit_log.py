"""One offset range of a partition as an audit reads it: batches, markers and damages, never an end before the end.

1. A batch belongs to the range in which its last offset lies; ranges that tile a log share no batch and miss none.
2. Settled ranges are fetched with read_committed: each answer names the aborted transactions of its stretch.
3. Bytes that are no batch, records deleted while they are read, and a topic created anew meanwhile are damages with
   their offsets: the reading goes on behind them.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import (
    HEADER,
    Batch,
    BatchHeader,
    DamagedOffsets,
    EndTransactionMarker,
    MarkerType,
    claimed_length,
    decode_marker,
    iter_batches,
    next_batch,
)
from eosctl.errors import Undecodable, UsageError
from eosctl.model.audit import OffsetRange
from eosctl.model.records import IsolationLevel
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_topics import topic_ids
from eosctl.sources.log_reader import LogReader, RecordsDeleted

FETCH_BYTES: Final = 1 << 23
MOST_BYTES: Final = 1 << 27
MOST_RECORDS: Final = 1 << 20


class DataBatch(NamedTuple):
    """A data batch; aborted is whether its transaction was (never in a tail range, where that is open)."""

    batch: Batch
    aborted: bool


class ControlBatch(NamedTuple):
    """A control batch; marker None is a control record that ends no transaction."""

    batch: Batch
    marker: EndTransactionMarker | None


LogItem = DataBatch | ControlBatch | DamagedOffsets


def read_range(wire: Wire, offsets: OffsetRange, topic_id: str | None) -> Iterator[LogItem]:
    """Everything in the range, in offset order.

    topic_id is that of the plan: if the topic has another one when the range has been read, all of it is damaged.
    Raises NotAuthorized where Read is missing, TimedOut where no leader answers for `wire.timeout_s`.
    """
    try:
        yield from _read(wire, offsets)
    except UsageError:
        yield DamagedOffsets(offsets.start, offsets.end, "the topic or partition was deleted before it was read")
        return
    found = topic_ids(wire, [offsets.topic]).get(offsets.topic)
    if topic_id is not None and found != topic_id:
        what = "deleted" if found is None else f"deleted and created again (topic ID {found})"
        yield DamagedOffsets(offsets.start, offsets.end, f"the topic was {what} while it was read")


def _read(wire: Wire, offsets: OffsetRange) -> Iterator[LogItem]:
    position = offsets.start
    while position < offsets.end:
        reader = _LenientReader(wire, offsets, position)
        try:
            yield from _stated(reader)
            return
        except RecordsDeleted:
            start = partition_offsets(wire, [offsets.topic_partition])[offsets.topic_partition].log_start_offset
            behind = min(max(start, reader.position + 1), offsets.end)
            yield DamagedOffsets(reader.position, behind, "records were deleted while being read")
            position = behind


def _stated(reader: "_LenientReader") -> Iterator[LogItem]:
    """Batches with what became of them, by the rule of sources.kafka_log."""
    start, end, settled = reader.offsets.start, reader.offsets.end, reader.offsets.settled
    for batches, answer in reader:
        coming = sorted((entry.first_offset, entry.producer_id) for entry in answer.aborted_transactions or ())
        coming.reverse()
        aborting: set[int] = set()
        yield from reader.take_damages()
        for batch in batches:
            header = batch.header
            while coming and coming[-1][0] <= header.last_offset:
                aborting.add(coming.pop()[1])
            if header.is_control:
                item = _control(batch, reader)
                if isinstance(item, ControlBatch) and item.marker and item.marker.type is MarkerType.ABORT:
                    aborting.discard(item.marker.producer_id)
                if start <= header.last_offset < end:
                    yield item
            elif start <= header.last_offset < end:
                yield DataBatch(batch, settled and header.is_transactional and header.producer_id in aborting)
    yield from reader.take_damages()


def _control(batch: Batch, reader: LogReader) -> ControlBatch | DamagedOffsets:
    try:
        return ControlBatch(batch, decode_marker(batch, topic_partition=reader.topic_partition))
    except Undecodable as error:
        return DamagedOffsets(batch.header.base_offset, batch.header.next_offset, error.reason)


class _LenientReader(LogReader):
    """Passes over bytes that are no batch, and keeps where they were."""

    def __init__(self, wire: Wire, offsets: OffsetRange, position: int) -> None:
        isolation = IsolationLevel.READ_COMMITTED if offsets.settled else IsolationLevel.READ_UNCOMMITTED
        super().__init__(wire, offsets.topic_partition, position, offsets.end, isolation, max_bytes=FETCH_BYTES)
        self.offsets = offsets
        self._damages: list[DamagedOffsets] = []

    @property
    def position(self) -> int:
        """The next offset to be fetched."""
        return self._position

    def take_damages(self) -> Sequence[DamagedOffsets]:
        """What was passed over since the last call."""
        taken, self._damages = self._damages, []
        return taken

    def _whole_batches(self, records: bytes) -> list[Batch]:
        batches: list[Batch] = []
        try:
            for batch in iter_batches(records, topic_partition=self.topic_partition):
                batches.append(batch)  # noqa: PERF402  # those before the damage are kept
        except Undecodable as error:
            if not batches:
                self._pass_over(records, error)
        return batches

    def _pass_over(self, records: bytes, error: Undecodable) -> None:
        """Go on at the batch behind the damaged one. Where the answer ends before that, the next one may be longer."""
        behind = next_batch(records, 0, self._position + 1)
        if behind is None and claimed_length(records) + HEADER.size > len(records) >= self._max_bytes < MOST_BYTES:
            return
        following = self._following(records) if behind is None else int.from_bytes(records[behind : behind + 8], "big")
        offset, self._position = self._position, min(following, self.limit)
        self._damages.append(DamagedOffsets(offset, self._position, error.reason))

    def _following(self, records: bytes) -> int:
        """The offset behind the damaged batch as far as its header tells: a segment ends with it."""
        if len(records) < HEADER.size:
            return self._position + 1
        header = BatchHeader._make(HEADER.unpack_from(records))
        sound = header.base_offset <= self._position <= header.last_offset < header.base_offset + MOST_RECORDS
        return header.next_offset if sound else self._position + 1
