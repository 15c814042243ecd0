"""Every record of a partition in offset order, with what became of the transaction it was written in."""

import time
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from eosctl.clients.channel import Pending
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, UNKNOWN_TOPIC_OR_PARTITION, partition_leaders
from eosctl.clients.messages import Response, fetch
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import Batch, MarkerType, decode_marker, decode_records, iter_batches
from eosctl.errors import EosctlError, Refused, TimedOut, Unreachable
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.topics import PartitionOffsets
from eosctl.sources.kafka_offsets import partition_offsets

FETCH_BYTES: Final = 1 << 20
OFFSET_OUT_OF_RANGE: Final = 1
PAUSE_S: Final = 0.05


def read_log(
    wire: Wire,
    topic_partition: TopicPartition,
    *,
    start: int | None = None,
    offsets: PartitionOffsets | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Iterator[Record]:
    """The records of one partition from `start` (else the log start offset), as they were at the beginning of the call.

    1. `offsets` (else asked now) bound the reading: what is written later is not seen.
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
) -> Iterator[StatedBatch]:
    """The data batches behind `read_log`, in the same order and by the same rule, their records not decoded."""
    bounds = offsets if offsets is not None else partition_offsets(wire, [topic_partition])[topic_partition]
    first = bounds.log_start_offset if start is None else max(start, bounds.log_start_offset)
    stable = _Reader(wire, topic_partition, first, bounds.last_stable_offset, IsolationLevel.READ_COMMITTED)
    yield from _decided(stable)
    if isolation is IsolationLevel.READ_UNCOMMITTED:
        rest = max(first, bounds.last_stable_offset)
        unstable = _Reader(wire, topic_partition, rest, bounds.high_watermark, IsolationLevel.READ_UNCOMMITTED)
        yield from _undecided(unstable)


def _decided(reader: "_Reader") -> Iterator[StatedBatch]:
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
            yield reader.stated(batch, RecordState.ABORTED if aborted else RecordState.COMMITTED)


def _undecided(reader: "_Reader") -> Iterator[StatedBatch]:
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
            yield reader.stated(*held.pop(first))
    for batch, state in held.values():
        yield reader.stated(batch, state or RecordState.OPEN)


class _Reader:
    """Fetches batches of one partition from `position` up to `limit`, one request ahead of its consumer."""

    def __init__(
        self, wire: Wire, topic_partition: TopicPartition, position: int, limit: int, isolation: IsolationLevel
    ) -> None:
        self.topic_partition = topic_partition
        self._wire = wire
        self._first = position
        self._position = position
        self._limit = limit
        self._isolation = isolation
        self._max_bytes = FETCH_BYTES
        self._leader = NO_LEADER
        self._stalled_at = time.monotonic() + wire.timeout_s

    def stated(self, batch: Batch, state: RecordState) -> StatedBatch:
        """The batch with its state and the bounds of this reading."""
        return StatedBatch(batch, state, self._first, self._limit)

    def __iter__(self) -> Iterator[tuple[list[Batch], Response]]:
        """Each answer's batches, with the answer."""
        pending = self._ask()
        while self._position < self._limit:
            answer = self._take(pending)
            batches: list[Batch] = []
            if answer is not None and answer.records:
                batches = list(iter_batches(answer.records, topic_partition=self.topic_partition))
                if not batches:
                    self._max_bytes *= 2
            elif answer is not None and self._is_empty(answer):
                return
            if batches:
                self._position = batches[-1].header.next_offset
                self._stalled_at = time.monotonic() + self._wire.timeout_s
            if self._position < self._limit:
                pending = self._ask()
            if batches:
                yield [batch for batch in batches if batch.header.base_offset < self._limit], answer

    def _ask(self) -> Pending | None:
        """A Fetch under way; None where there is no leader to ask."""
        if self._position >= self._limit:
            return None
        try:
            if self._leader == NO_LEADER:
                self._leader = self._find_leader()
            if self._leader == NO_LEADER:
                return None
            request = fetch(self.topic_partition, self._position, self._max_bytes, self._isolation)
            return self._wire.start(self._leader, request)
        except Unreachable:
            self._leader = NO_LEADER
            return None

    def _find_leader(self) -> int:
        return partition_leaders(self._wire, [self.topic_partition.topic]).get(self.topic_partition, NO_LEADER)

    def _take(self, pending: Pending | None) -> Response | None:
        """The partition's part of the answer; None where it has to be asked again, after a pause."""
        try:
            if pending is not None:
                return self._checked(pending.response().responses[0].partitions[0])
            trouble: EosctlError = TimedOut(f"{self.topic_partition} has no leader")
        except Unreachable as error:
            trouble = error
        self._leader = NO_LEADER
        if time.monotonic() >= self._stalled_at:
            raise trouble
        time.sleep(PAUSE_S)
        return None

    def _checked(self, answer: Response) -> Response:
        code = answer.error_code
        if code == 0:
            return answer
        if code in MOVED or code == UNKNOWN_TOPIC_OR_PARTITION:
            raise Unreachable(f"broker {self._leader} does not lead {self.topic_partition}")
        if code == OFFSET_OUT_OF_RANGE:
            raise Refused(
                f"records of {self.topic_partition} from offset {self._position} on were deleted while being read",
                hint="run the command again: it then begins at the new log start offset",
            )
        resource = f"Topic {self.topic_partition.topic}"
        raise protocol_error(code, principal=self._wire.principal, operation="Read", resource=resource)

    def _is_empty(self, answer: Response) -> bool:
        """Whether nothing is left below the limit (compaction removed it), or the leader has not caught up yet."""
        stable = self._isolation is IsolationLevel.READ_COMMITTED
        if (answer.last_stable_offset if stable else answer.high_watermark) >= self._limit:
            return True
        if time.monotonic() >= self._stalled_at:
            raise TimedOut(f"the leader of {self.topic_partition} does not reach offset {self._limit}")
        time.sleep(PAUSE_S)
        return False
