"""Every record of a partition in offset order, with the state of its transaction."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from eosctl.clients.channel import Pending
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, protocol_error
from eosctl.clients.leaders import JUST_NOW_S, LEADERLESS_PATIENCE_S, MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import EARLIEST, LATEST, Response, fetch, list_offsets
from eosctl.clients.wire import Reply, Window, Wire
from eosctl.codecs.record_batches import (
    Batch,
    BatchHeader,
    MarkerType,
    decode_entries,
    decode_marker,
    decode_records,
    give_entries,
    iter_batches,
    most_batch_bytes,
)
from eosctl.errors import EosctlError, Refused, Throttled, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.model import hanging
from eosctl.model import offsets as source_offsets
from eosctl.model.names import TopicPartition
from eosctl.model.records import Entry, IsolationLevel, Record, RecordState, Writer, Written, first_time
from eosctl.model.skipped import Skipped
from eosctl.model.topics import CountedStretch, PartitionOffsets, RecordsDigest, RecordTally
from eosctl.sources.kafka_topics import settings_ahead, topic_facts, topic_facts_or_skipped

FETCH_BYTES: Final = 1 << 20
MOST_BYTES: Final = 1 << 27
"""No batch is larger: message.max.bytes is less than the largest answer of a broker."""
OFFSET_OUT_OF_RANGE: Final = 1
FETCH_PAUSE_S: Final = 0.05


class RecordsDeleted(Refused):
    """The log start offset has passed the position."""


class LogReader:
    """Fetches batches of one partition from `position` up to `limit`, one request ahead of its consumer."""

    def __init__(
        self,
        wire: Wire,
        topic_partition: TopicPartition,
        position: int,
        limit: int,
        isolation: IsolationLevel,
        *,
        max_bytes: int = FETCH_BYTES,
    ) -> None:
        self.topic_partition = topic_partition
        self.first = position
        self.limit = limit
        self._wire = wire
        self._position = position
        self._isolation = isolation
        self._max_bytes = max_bytes
        self._most_batch_bytes = most_batch_bytes(wire.properties)
        self._leader = NO_LEADER
        self._has_failed = False
        self._stall = Deadline(wire.timeout_s)
        self._begun: Pending | Unreachable | None = None
        self._empty_answers = 0
        self._beyond: BatchHeader | None = None

    def begin(self, leader: int = NO_LEADER) -> None:
        self._leader = leader
        self._begun = self._ask()

    def __iter__(self) -> Iterator[tuple[list[Batch], Response]]:
        pending = self._ask() if self._begun is None else self._begun
        self._stall = Deadline(self._wire.timeout_s)
        while self._position < self.limit:
            answer = self._take(pending)
            batches: list[Batch] = []
            if answer is not None and answer.records:
                before = self._position
                batches = self._whole_batches(answer.records)
                if not batches and self._position == before:
                    self._ask_for_more()
                batches = self._within_log(batches, answer.high_watermark)
            elif answer is not None and self._is_empty(answer):
                return
            if batches:
                self._empty_answers = 0
                self._position = batches[-1].header.next_offset
                self._stall = Deadline(self._wire.timeout_s)
            if self._position < self.limit:
                pending = self._ask()
            if batches:
                yield [batch for batch in batches if batch.header.base_offset < self.limit], answer
                # A slow consumer is no fault of the broker: a Fetch that ended meanwhile is sent again.
                self._stall = Deadline(self._wire.timeout_s)

    def _whole_batches(self, records: bytes) -> list[Batch]:
        """Those before bytes that are no batch; raises Undecodable where the answer begins with them."""
        batches: list[Batch] = []
        try:
            for batch in self._batches(records):
                batches.append(batch)  # noqa: PERF402  # those before the damage are kept
        except Undecodable:
            if not batches:
                raise
        if not are_in_order(batches, self._position):
            raise self._damaged(f"the broker answered a Fetch at offset {self._position} with batches out of place")
        return batches

    def _within_log(self, batches: list[Batch], high_watermark: int) -> list[Batch]:
        """The batches below the high watermark; raises Undecodable if the first one claims later offsets twice.

        A leader notes its high watermark before it reads the records of the answer (Partition.readRecords), so records
        may lie beyond it once.
        """
        end = max(self.limit, high_watermark)
        within = [batch for batch in batches if batch.header.last_offset < end]
        if batches and not within:
            header = batches[0].header
            if self._beyond == header:
                what = f"a batch claims offsets up to {header.last_offset}, but the high watermark is {high_watermark}"
                raise self._damaged(what)
            self._beyond = header
            self._stall.pause_or_raise(FETCH_PAUSE_S, f"records of {self.topic_partition} are beyond its end")
        return within

    def _ask_for_more(self) -> None:
        """The answer had no whole batch, which KIP-74 rules out where the broker's log is sound."""
        if self._max_bytes >= MOST_BYTES:
            raise self._damaged(f"the broker answers a Fetch of {self._max_bytes} bytes with no whole batch")
        self._max_bytes *= 2

    def _damaged(self, reason: str) -> EosctlError:
        place = self.topic_partition
        return Undecodable(reason, topic=place.topic, partition=place.partition, offset=self._position)

    def _batches(self, records: bytes) -> Iterator[Batch]:
        return iter_batches(records, topic_partition=self.topic_partition, most_bytes=self._most_batch_bytes)

    def _ask(self) -> Pending | Unreachable | None:
        """A Fetch in flight, or why none can be sent; None if nothing is left to fetch."""
        if self._position >= self.limit:
            return None
        try:
            if self._leader == NO_LEADER:
                self._leader = self._find_leader()
            if self._leader == NO_LEADER:
                return TimedOut(f"{self.topic_partition} has no leader")
            request = fetch(self.topic_partition, self._position, self._max_bytes, self._isolation)
            return self._wire.start(self._leader, request)
        except Unreachable as error:
            return error

    def _find_leader(self) -> int:
        heard_s = 0.0 if self._has_failed else JUST_NOW_S
        leaders = partition_leaders(self._wire, [self.topic_partition.topic], heard_s=heard_s)
        return leaders.get(self.topic_partition, NO_LEADER)

    def _take(self, pending: Pending | Unreachable | None) -> Response | None:
        """The partition's part of the answer; None if it must be requested again, after a pause."""
        assert pending is not None
        try:
            if isinstance(pending, Unreachable):
                raise pending
            return self._checked(pending.response().responses[0].partitions[0])
        except Unreachable as error:
            self._leader, self._has_failed = NO_LEADER, True
            if not error.retriable or not self._stall.pause(FETCH_PAUSE_S):
                raise
            return None

    def _checked(self, answer: Response) -> Response:
        code = answer.error_code
        if code == 0:
            return answer
        if code in MOVED or code == UNKNOWN_TOPIC_OR_PARTITION:
            raise Unreachable(f"broker {self._leader} does not lead {self.topic_partition}")
        if code == OFFSET_OUT_OF_RANGE:
            raise RecordsDeleted(
                f"records of {self.topic_partition} from offset {self._position} on were deleted while being read",
                hint="run the command again: it then begins at the new log start offset",
            )
        resource = f"Topic {self.topic_partition.topic}"
        raise protocol_error(code, principal=self._wire.principal, operation="Read", resource=resource)

    def _is_empty(self, answer: Response) -> bool:
        """True if nothing is left below the limit (compaction removed it), or the leader has not caught up yet.

        One empty answer proves nothing: records that come from tiered storage too late look the same.
        """
        stable = self._isolation is IsolationLevel.READ_COMMITTED
        if (answer.last_stable_offset if stable else answer.high_watermark) >= self.limit:
            self._empty_answers += 1
            return self._empty_answers > 1
        self._stall.pause_or_raise(
            FETCH_PAUSE_S, f"the leader of {self.topic_partition} does not reach offset {self.limit}"
        )
        return False


def are_in_order(batches: Sequence[Batch], position: int) -> bool:
    """True if each batch begins after the end of the previous one, and the first one ends at the position or later."""
    behind = -1
    for header, *_ in batches:
        if header[0] < behind or header[6] < 0:
            return False
        behind = header[0] + header[6] + 1
    return not batches or batches[0].header.last_offset >= position


PAUSE_S: Final = 0.1
RESTART_PATIENCE_S: Final = 30.0
"""The same for a reader that cannot do without the partition: a broker with its only replica may be restarting."""


class _Bound(Struct, frozen=True):
    timestamp: int
    isolation: IsolationLevel


# In this order on one connection: the log may grow in between, and no bound may pass the next.
_BOUNDS: Final = (
    _Bound(EARLIEST, IsolationLevel.READ_UNCOMMITTED),
    _Bound(LATEST, IsolationLevel.READ_COMMITTED),
    _Bound(LATEST, IsolationLevel.READ_UNCOMMITTED),
)


def partition_offsets(
    wire: Wire,
    partitions: Iterable[TopicPartition],
    *,
    timeout_s: float | None = None,
    leaderless_s: float = RESTART_PATIENCE_S,
) -> Mapping[TopicPartition, PartitionOffsets]:
    """Log start offset, last stable offset and high watermark of each partition.

    Moved leaders are looked up again until the deadline, and for leaderless_s at most once only leaderless partitions
    are left. Raises UsageError for a topic or partition that does not exist, NotAuthorized without Describe, TimedOut
    naming leaderless partitions, Throttled if a quota leaves no time, Undecodable for impossible offsets.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    wanted = set(partitions)
    leaderless = min(patience, leaderless_s)
    found, hopeless = _poll_until_answered(wire, wanted, patience, leaderless)
    if throttled := [each for each in hopeless.values() if isinstance(each, Throttled)]:
        raise throttled[0]
    if missing := sorted(wanted - found.keys()):
        waited = leaderless if hopeless.keys() >= set(missing) else patience
        raise TimedOut(f"no leader answered for {', '.join(map(str, missing))} within {waited:g} s")
    return found


def offsets_or_skipped(
    wire: Wire, partitions: Iterable[TopicPartition], *, timeout_s: float | None = None
) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
    """The same, with the reason in place of a partition without an answer.

    One without a leader is waited for LEADERLESS_PATIENCE_S only: no broker answers before it has a leader.
    """
    patience = wire.timeout_s if timeout_s is None else timeout_s
    wanted = set(partitions)
    found, hopeless = _poll_until_answered(wire, wanted, patience, min(patience / 2, LEADERLESS_PATIENCE_S))
    return dict(found) | {
        each: Skipped.of(hopeless.get(each) or Unreachable(f"no leader answered for {each}"))
        for each in sorted(wanted - found.keys())
    }


def _poll_until_answered(
    wire: Wire, wanted: set[TopicPartition], patience: float, leaderless_patience: float
) -> tuple[dict[TopicPartition, PartitionOffsets], Mapping[TopicPartition, EosctlError]]:
    """The answers that came in time, and reasons for some of the others: no leader, or a leader that takes no
    request."""
    started, heard_s = time.monotonic(), JUST_NOW_S
    found: dict[TopicPartition, PartitionOffsets] = {}
    hopeless: Mapping[TopicPartition, EosctlError] = {}
    while pending := wanted - found.keys():
        waited = time.monotonic() - started
        if waited >= (leaderless_patience if pending <= hopeless.keys() else patience):
            break
        answered, hopeless = _ask(wire, pending, patience - waited, heard_s)
        found |= answered
        heard_s = 0.0
        if all(each in hopeless and not hopeless[each].retriable for each in wanted - found.keys()):
            break
        time.sleep(PAUSE_S)
    return found, hopeless


def _ask(
    wire: Wire, pending: set[TopicPartition], remaining: float, heard_s: float
) -> tuple[Mapping[TopicPartition, PartitionOffsets], Mapping[TopicPartition, EosctlError]]:
    topics = {partition.topic for partition in pending}
    leaders = partition_leaders(wire, topics, heard_s=heard_s, timeout_s=remaining)
    if not leaders.keys() >= pending:
        leaders = partition_leaders(wire, topics, timeout_s=remaining)
    led: dict[int, list[TopicPartition]] = {}
    hopeless: dict[TopicPartition, EosctlError] = {}
    for partition in sorted(pending):
        if partition not in leaders:
            raise UsageError(f"topic {partition.topic} has no partition {partition.partition}")
        if leaders[partition] == NO_LEADER:
            hopeless[partition] = Unreachable(f"{partition} has no leader")
        else:
            led.setdefault(leaders[partition], []).append(partition)
    window = wire.window(timeout_s=remaining)
    for node_id, group in led.items():
        for bound in _BOUNDS:
            window.put(bound, node_id, list_offsets(group, bound.timestamp, bound.isolation))
    offsets: dict[TopicPartition, dict[_Bound, int]] = {}
    for answer in window:
        if isinstance(answer.error, Throttled):
            hopeless |= dict.fromkeys(led[answer.node_id], answer.error)
        for partition, offset in _read(wire, answer).items():
            offsets.setdefault(partition, {})[answer.item] = offset
    found = {
        partition: _in_order(PartitionOffsets(partition, *(bounds[bound] for bound in _BOUNDS)))
        for partition, bounds in offsets.items()
        if len(bounds) == len(_BOUNDS)
    }
    return found, hopeless


def _in_order(offsets: PartitionOffsets) -> PartitionOffsets:
    """The same; raises Undecodable if no log can have them."""
    start, stable, end = offsets.log_start_offset, offsets.last_stable_offset, offsets.high_watermark
    if 0 <= start <= stable <= end:
        return offsets
    raise Undecodable(
        f"the leader of {offsets.topic_partition} answered ListOffsets with log start offset {start}, last stable "
        f"offset {stable} and high watermark {end}; each must be at least 0 and at most the next"
    )


def _read(wire: Wire, answer: Reply[_Bound]) -> Mapping[TopicPartition, int]:
    if answer.error is not None:
        if isinstance(answer.error, Unreachable):
            return {}
        raise answer.error
    offsets = {}
    assert answer.response is not None
    for topic in answer.response.topics:
        for partition in topic.partitions:
            if partition.error_code in MOVED or partition.error_code == UNKNOWN_TOPIC_OR_PARTITION:
                continue
            if partition.error_code:
                resource = f"Topic {topic.name}"
                code = partition.error_code
                raise protocol_error(code, principal=wire.principal, operation="Describe", resource=resource)
            offsets[TopicPartition(topic.name, partition.partition_index)] = partition.offset
    return offsets


def read_log(
    wire: Wire,
    topic_partition: TopicPartition,
    *,
    start: int | None = None,
    offsets: PartitionOffsets | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Iterator[Record]:
    """The records of one partition from `start` (None: the log start offset), as they were when the call began.

    1. `offsets` (otherwise asked now) bound the reading: later records are not seen.
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
    """A data batch, the state of its transaction, and the requested offsets (first, and one past the last)."""

    batch: Batch
    state: RecordState
    first: int
    limit: int

    @property
    def whole(self) -> bool:
        return self.batch.header.base_offset >= self.first and self.batch.header.last_offset < self.limit

    def entries(self, topic_partition: TopicPartition) -> list[Entry]:
        """The records between those offsets, as the decoder gives them. Raises as decode_entries does."""
        found = decode_entries(self.batch, topic_partition=topic_partition)
        return found if self.whole else [each for each in found if self.first <= each.offset < self.limit]

    def fold_into(self, fold: Fold, topic_partition: TopicPartition) -> None:
        """Gives the fold these records one by one. Raises as give_entries does."""
        header = self.batch.header
        writer = Writer(header.is_transactional, header.producer_id, header.producer_epoch)
        part = None if self.whole else self.entries(topic_partition)
        count = max(0, header.record_count) if part is None else len(part)
        written = Written(header.base_offset, count, self.state, writer)

        def give(take: Callable[[Iterable[Entry]], None]) -> None:
            if part is None:
                give_entries(self.batch, take, topic_partition=topic_partition)
            else:
                take(part)

        give(lambda entries: fold.add_batch(entries, written))
        if fold.counts_by_key:
            give(fold.count_by_key)


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
    yield from decided_batches(begun or LogReader(wire, topic_partition, first, bounds.last_stable_offset, committed))
    if isolation is IsolationLevel.READ_UNCOMMITTED:
        rest = max(first, bounds.last_stable_offset)
        unstable = LogReader(wire, topic_partition, rest, bounds.high_watermark, IsolationLevel.READ_UNCOMMITTED)
        yield from _undecided_batches(unstable)


def begin_reading(wire: Wire, offsets: PartitionOffsets, leader: int) -> LogReader:
    """A reading of the whole partition whose first Fetch is in flight; `read_batches` continues it."""
    first, stable = offsets.log_start_offset, offsets.last_stable_offset
    reader = LogReader(wire, offsets.topic_partition, first, stable, IsolationLevel.READ_COMMITTED)
    reader.begin(leader)
    return reader


def decided_batches(
    reader: LogReader, passed_over: Callable[[BatchHeader], object] = lambda _: None
) -> Iterator[StatedBatch]:
    """Batches below the last stable offset. passed_over takes the headers of markers, which are none of them.

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
                passed_over(header)
                continue
            aborted = header.is_transactional and header.producer_id in aborting
            yield _stated_batch(reader, batch, RecordState.ABORTED if aborted else RecordState.COMMITTED)


def _undecided_batches(reader: LogReader) -> Iterator[StatedBatch]:
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
            yield _stated_batch(reader, *held.pop(first))
    for batch, state in held.values():
        yield _stated_batch(reader, batch, state or RecordState.OPEN)


def _stated_batch(reader: LogReader, batch: Batch, state: RecordState) -> StatedBatch:
    return StatedBatch(batch, state, reader.first, reader.limit)


CELL: Final = 1024
"""A tally has a stretch for so many offsets at most: a stretch is read again if a position lies within it."""


class Allowance:
    """The bytes that may still be read; None: any number."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._left = most_bytes

    @property
    def is_spent(self) -> bool:
        return self._left is not None and self._left <= 0

    def take(self, size: int) -> None:
        self._left = None if self._left is None else self._left - size


def clamp(start: int, offsets: PartitionOffsets) -> int:
    """The next offset of a consumer at this position: not before the log start, and not beyond the last stable
    offset."""
    return min(max(start, offsets.log_start_offset), offsets.last_stable_offset)


def tally_records(
    wire: Wire,
    offsets: PartitionOffsets,
    starts: Collection[int],
    kept: RecordTally,
    allowance: Allowance,
) -> RecordTally:
    """Counts the content between each of these positions and the last stable offset.

    Stretches of an earlier tally are read again only where a position lies within one. If the allowance is spent, the
    tally ends early, and the next one continues it.
    """
    begins, limit = sorted({clamp(start, offsets) for start in starts}), offsets.last_stable_offset
    known = [
        each
        for each in kept.stretches
        if begins[0] <= each.first
        and each.limit <= limit
        and bisect_right(begins, each.first) == bisect_left(begins, each.limit)
    ]
    found: list[CountedStretch] = []
    reached = begins[0]
    for first, end, stretch in [*((each.first, each.limit, each) for each in known), (limit, limit, None)]:
        if reached < first and not allowance.is_spent:
            found += _count_span(wire, offsets.topic_partition, _edges(reached, first, begins), allowance)
        found += [] if stretch is None else [stretch]
        reached = end
    return RecordTally(tuple(_joined(found, begins)))


def _edges(first: int, limit: int, begins: Iterable[int]) -> Sequence[int]:
    cuts = {*begins, *range(first - first % CELL, limit, CELL)}
    return sorted({first, *(each for each in cuts if first < each < limit), limit})


def _joined(stretches: Iterable[CountedStretch], begins: Collection[int]) -> Iterator[CountedStretch]:
    """Merges adjacent counts within one cell, if no position is between them."""
    before: CountedStretch | None = None
    for each in stretches:
        if before is not None and before.limit == each.first and each.first % CELL and each.first not in begins:
            before = before.joined(each)
        else:
            yield from () if before is None else (before,)
            before = each
    yield from () if before is None else (before,)


def _count_span(
    wire: Wire, place: TopicPartition, edges: Sequence[int], allowance: Allowance
) -> Iterator[CountedStretch]:
    """The stretches between these offsets. A batch within one of them is counted by its header."""
    first, limit = edges[0], edges[-1]
    counted = [[0, 0, 0] for _ in edges]
    reached = limit

    def note(offset: int, what: int, count: int = 1) -> None:
        if first <= offset < limit:
            counted[bisect_right(edges, offset) - 1][what] += count

    reader = LogReader(wire, place, first, limit, IsolationLevel.READ_COMMITTED)
    for part in decided_batches(reader, lambda header: note(header.base_offset, MARKERS)):
        header, what = part.batch.header, ABORTED if part.state is RecordState.ABORTED else READABLE
        if part.whole and bisect_right(edges, header.base_offset) == bisect_right(edges, header.last_offset):
            note(header.base_offset, what, header.record_count)
        else:
            for entry in decode_entries(part.batch, topic_partition=place):
                note(entry.offset, what)
        allowance.take(len(part.batch.data))
        if allowance.is_spent:
            reached = min(header.next_offset, limit)
            break
    for start, end, counts in zip(edges, edges[1:], counted, strict=False):
        if start < reached:
            yield CountedStretch(start, min(end, reached), *counts)


READABLE, ABORTED, MARKERS = range(3)
MOST_KEYS: Final = 10


Position = tuple[TopicPartition, int]
"""A partition and an offset in it."""


def first_timestamps(
    wire: Wire, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Partition to the timestamp (ms) of the first batch at or after its offset; those not answered are left out."""
    found = first_headers(wire, offsets.items(), leaders)
    return {place: at for (place, _), header in found.items() if (at := first_time(header)) >= 0}


def first_headers(
    wire: Wire, positions: Iterable[Position], leaders: Mapping[TopicPartition, int]
) -> dict[Position, BatchHeader]:
    """The header of the first batch at or after each position; those not answered are left out.

    One small Fetch for each. A batch comes whole however large it is (KIP-74).
    """
    window: Window[Position] = wire.window(in_flight=20)
    for each in positions:
        partition, offset = each
        if leaders.get(partition, NO_LEADER) != NO_LEADER:
            window.put(each, leaders[partition], fetch(partition, offset, 1, IsolationLevel.READ_UNCOMMITTED))
    found: dict[Position, BatchHeader] = {}
    for answer in window:
        part = None if answer.response is None else answer.response.responses[0].partitions[0]
        if part is not None and part.error_code == 0 and part.records:
            batch = next(iter_batches(part.records, topic_partition=answer.item[0]), None)
            if batch is not None:
                found[answer.item] = batch.header
    return found


def first_batches(
    wire: Wire, positions: Iterable[Position], leaders: Mapping[TopicPartition, int]
) -> dict[Position, hanging.FirstBatch]:
    """The epoch and time in each of these headers."""
    found = first_headers(wire, positions, leaders)
    return {each: hanging.FirstBatch(header.producer_epoch, first_time(header)) for each, header in found.items()}


def first_keys(wire: Wire, partitions: Iterable[TopicPartition]) -> Iterator[bytes | None]:
    """The keys in the first data batch of each partition that has one."""
    for partition in partitions:
        for record in islice(read_log(wire, partition), MOST_KEYS):
            yield record.key


def records_digest(wire: Wire, topic_partition: TopicPartition, most: int | None) -> RecordsDigest:
    """The digest of the first `most` committed records; None: of all."""
    found, count = hashlib.sha256(), 0
    for record in read_log(wire, topic_partition):
        if record.state is RecordState.COMMITTED:
            if count == most:
                break
            count += 1
            for part in (record.key, record.value):
                found.update(b"-" if part is None else b"%d:%s" % (len(part), part))
    return RecordsDigest(count, found.hexdigest())


AHEAD: Final = 8
"""Partitions that are waited for at the same time; each holds one answer, of 1 MiB at most, until its turn."""

Advance = Callable[[int], object]
Progress = Callable[..., AbstractContextManager[Advance]]


class Fold(Protocol):
    """Keeps the last record of each key while a partition is read: analysis.offsets.OffsetsFold."""

    def add_batch(self, entries: Iterable[Entry], written: Written) -> None:
        """Take in records that follow each other and were written in one state by one writer."""

    @property
    def counts_by_key(self) -> bool:
        """True if `count_by_key` must be given the records of the last batch, too."""

    def count_by_key(self, entries: Iterable[Entry]) -> None:
        """Count the records under the keys that are counted one by one."""

    def result(self, topic_partition: TopicPartition, offsets: PartitionOffsets) -> source_offsets.OffsetsPartition:
        """The present result."""


NewFold = Callable[[], Fold]


def offsets_bounds(wire: Wire, topic: str, partitions: int) -> dict[TopicPartition, PartitionOffsets]:
    """The bounds for reading each partition of the topic, in their order."""
    bounds = partition_offsets(wire, [TopicPartition(topic, number) for number in range(partitions)])
    return dict(sorted(bounds.items()))


def read_offsets_partitions(
    wire: Wire,
    bounds: Mapping[TopicPartition, PartitionOffsets],
    new_fold: NewFold,
    advance: Advance = lambda _: None,
) -> tuple[source_offsets.OffsetsPartition, ...]:
    """The partitions as they were when `bounds` was read, folded. `advance` is given the number of records read.

    While one partition is folded, the first batches of the next ones are on their way. Raises what read_log raises.
    """
    leaders = partition_leaders(wire, {place.topic for place in bounds}, heard_s=JUST_NOW_S)
    waiting, begun = deque(bounds.values()), deque[tuple[PartitionOffsets, LogReader]]()
    folded = []
    while waiting or begun:
        while waiting and len(begun) < AHEAD:
            offsets = waiting.popleft()
            begun.append((offsets, begin_reading(wire, offsets, leaders.get(offsets.topic_partition, NO_LEADER))))
        offsets, reader = begun.popleft()
        folded.append(_folded(wire, offsets, reader, new_fold()))
        advance(offsets.high_watermark - offsets.log_start_offset)
    return tuple(folded)


def _folded(wire: Wire, offsets: PartitionOffsets, reader: LogReader, fold: Fold) -> source_offsets.OffsetsPartition:
    """Makes records only of the parts of a batch that outlive it."""
    place = offsets.topic_partition
    for part in read_batches(wire, place, offsets=offsets, begun=reader):
        part.fold_into(fold, place)
    return fold.result(place, offsets)


def read_offsets_topic(
    wire: Wire, topic: str, new_fold: NewFold, progress: Progress
) -> source_offsets.OffsetsTopic | None:
    """The topic's partitions, each folded while it is read; None if there is no such topic."""
    facts = topic_facts(wire, [topic], heard_s=JUST_NOW_S)[topic]
    if facts is None:
        return None
    settings = settings_ahead(wire, topic)
    bounds = offsets_bounds(wire, topic, facts.partitions)
    total = sum(each.high_watermark - each.log_start_offset for each in bounds.values())
    with progress(f"reading {topic}", total, unit="records") as advance:
        parts = read_offsets_partitions(wire, bounds, new_fold, advance)
    return source_offsets.OffsetsTopic(topic, topic_facts_or_skipped(wire, topic, settings), parts)
