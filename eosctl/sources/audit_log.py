"""One offset range of a partition as an audit reads it: batches, markers and damages, never an end before the end.

1. A batch belongs to the range in which its last offset lies; ranges that tile a log share no batch and miss none.
2. Settled ranges are fetched with read_committed: each answer names the aborted transactions of its stretch.
3. Bytes that are no batch, records deleted while they are read, and a topic created again meanwhile are damages with
   their offsets: the reading goes on behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from msgspec import Struct

from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import LEADERLESS_PATIENCE_S, NO_LEADER, partition_leaders
from eosctl.clients.messages import list_offsets
from eosctl.clients.wire import Window, Wire
from eosctl.codecs.record_batches import (
    HEADER,
    LENGTH_AT,
    Batch,
    BatchHeader,
    DamagedOffsets,
    EndTransactionMarker,
    MarkerType,
    claimed_length,
    decode_marker,
    next_batch,
)
from eosctl.errors import EosctlError, Refused, Undecodable, Unreachable, UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.sources.kafka_log import (
    MOST_BYTES,
    LogReader,
    RecordsDeleted,
    are_in_order,
    partition_offsets,
)
from eosctl.sources.kafka_topics import topic_ids

if TYPE_CHECKING:
    from eosctl.clients.messages import Response
    from eosctl.model.audit import AuditPlan
    from eosctl.model.client_properties import ClientProperties
    from eosctl.model.topics import OffsetRange, PartitionOffsets


# A partition's batches for who has to go on behind damage: what could not be read is passed over, and kept.
#
# 1. Damage that a broker does not notice comes with the answer: it is passed over by the rule of
#    codecs.record_batches.
# 2. Nothing covers a batch's base offset, and its CRC is not checked where headers are enough. So a batch whose
#    offsets do not lie between its neighbours' is damaged, too.
# 3. A broker that stumbles itself answers with an error (which of NOT_SERVED, is chance), or with nothing. It finds
#    offsets by an index with an entry for every 4 KiB (`index.interval.bytes`), so it serves those behind some later
#    one.


FETCH_BYTES: Final = 1 << 23
MOST_RECORDS: Final = 1 << 20
PROBE_BYTES: Final = 1 << 12
OUT_OF_PLACE: Final = "the offsets of a batch are not between its neighbours'"
NOT_SERVED: Final = {-1: "UNKNOWN_SERVER_ERROR", 2: "CORRUPT_MESSAGE", 87: "INVALID_RECORD"}


class NotServed(Refused):
    """The broker cannot read its own log at the position."""


class LenientReader(LogReader):
    """Passes over bytes that are no batch, and keeps where they were."""

    def __init__(self, wire: Wire, offsets: OffsetRange, position: int, max_bytes: int = FETCH_BYTES) -> None:
        isolation = IsolationLevel.READ_COMMITTED if offsets.settled else IsolationLevel.READ_UNCOMMITTED
        super().__init__(wire, offsets.topic_partition, position, offsets.end, isolation, max_bytes=max_bytes)
        self.offsets = offsets
        self._damages: list[DamagedOffsets] = []
        self._behind: list[DamagedOffsets] = []

    @property
    def position(self) -> int:
        return self._position

    def take_damages(self) -> Sequence[DamagedOffsets]:
        taken, self._damages = self._damages, []
        return taken

    def take_last_damages(self) -> Sequence[DamagedOffsets]:
        return [*self.take_damages(), *self._behind]

    def next_served(self) -> int | None:
        """The first offset after the position from which on the broker returns records; None: none below the limit.

        Requests distances of 1, 2, 4, ..., and then halves the last step: 40 small requests for a million offsets.
        """
        refused, step = self._position, 1
        while refused < self.limit - 1:
            asked = min(self._position + step, self.limit - 1)
            if self._serves(asked):
                return self._first_served(refused, asked)
            refused, step = asked, step * 2
        return None

    def _first_served(self, refused: int, served: int) -> int:
        while served - refused > 1:
            middle = (refused + served) // 2
            refused, served = (refused, middle) if self._serves(middle) else (middle, served)
        return served

    def _serves(self, offset: int) -> bool:
        """True if the answer to a Fetch at the offset holds a batch with it or after it."""
        probe = LenientReader(self._wire, self.offsets, offset, PROBE_BYTES)
        try:
            for batches, _ in probe:
                return any(batch.header.last_offset >= offset for batch in batches)
        except NotServed:
            return False
        return False

    def _checked(self, answer: Response) -> Response:
        if answer.error_code in NOT_SERVED:
            raise NotServed(f"the broker answers {NOT_SERVED[answer.error_code]}")
        return super()._checked(answer)

    def _damaged(self, reason: str) -> EosctlError:
        return NotServed(reason)

    def _whole_batches(self, records: bytes) -> list[Batch]:
        """Those up to the first damage; nothing where the answer begins with it: then the position is behind it."""
        self._damages += self._behind
        self._behind = []
        batches: list[Batch] = []
        try:
            for batch in self._batches(records):
                batches.append(batch)  # noqa: PERF402  # those before the damage are kept
        except Undecodable as error:
            if not batches:
                self._pass_over(records, error.reason)
        return batches if are_in_order(batches, self._position) else self._in_order(batches)

    def _in_order(self, batches: Sequence[Batch]) -> list[Batch]:
        """Batches up to the first that is out of place (rule 2)."""
        good: list[Batch] = []
        behind = before = self._position
        for number, batch in enumerate(batches):
            first, last = batch.header.base_offset, batch.header.last_offset
            if last < self._position or (good and first < before):
                self._behind = [DamagedOffsets(behind, min(behind + 1, self.limit), OUT_OF_PLACE)] if good else []
                return good
            if good and first < behind:
                return good[:-1] or self._behind_first(batches[number:])
            good.append(batch)
            before, behind = behind, last + 1
        return good

    def _behind_first(self, batches: Sequence[Batch]) -> list[Batch]:
        """The batches behind the first one, which is out of place; the broker gives it again with them each time."""
        before, self._position = self._position, min(batches[0].header.base_offset, self.limit)
        if before < self._position:
            self._damages.append(DamagedOffsets(before, self._position, OUT_OF_PLACE))
        return self._in_order(batches)

    def _pass_over(self, records: bytes, reason: str) -> None:
        """Go on at the batch behind the damaged one. Where the answer ends before that, the next one may be longer."""
        behind = next_batch(records, 0, self._position + 1)
        if behind is None and claimed_length(records) + HEADER.size > len(records) >= self._max_bytes < MOST_BYTES:
            return
        following = self._following(records) if behind is None else _offset_at(records, behind)
        offset, self._position = self._position, min(following, self.limit)
        self._damages.append(DamagedOffsets(offset, self._position, reason))

    def _following(self, records: bytes) -> int:
        """The offset behind the damaged batch as far as its header shows: a segment ends with it."""
        if len(records) < HEADER.size:
            return self._position + 1
        header = BatchHeader._make(HEADER.unpack_from(records))
        sound = header.base_offset <= self._position <= header.last_offset < header.base_offset + MOST_RECORDS
        return header.next_offset if sound else self._position + 1


def _offset_at(records: bytes, place: int) -> int:
    return int.from_bytes(records[place : place + LENGTH_AT], "big")


SILENT: Final = "the broker returns later records instead"


class DataBatch(NamedTuple):
    """A data batch; aborted is whether its transaction was (never in a tail range, where that is open)."""

    batch: Batch
    aborted: bool


class ControlBatch(NamedTuple):
    """A control batch; marker None is a control record that ends no transaction."""

    batch: Batch
    marker: EndTransactionMarker | None


LogItem = DataBatch | ControlBatch | DamagedOffsets


class LogSource(AbstractContextManager["LogSource"]):
    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        raise NotImplementedError


OpenSource = Callable[[], LogSource]
"""Opens a source; it can be pickled."""


class ClusterSource(LogSource):
    def __init__(self, properties: ClientProperties, timeout_s: float) -> None:
        self._wire = Wire(properties, timeout_s=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        return read_range(self._wire, offsets, plan.topic(offsets.topic).topic_id)


class OpenCluster(Struct, frozen=True):
    """Opens a ClusterSource; can be sent to other processes of this machine, secrets and all."""

    properties: ClientProperties
    timeout_s: float

    def __call__(self) -> ClusterSource:
        return ClusterSource(self.properties, self.timeout_s)


def read_range(wire: Wire, offsets: OffsetRange, topic_id: str | None) -> Iterator[LogItem]:
    """Everything in the range, in offset order.

    topic_id is the plan's: if the topic has another one when the range has been read, all of it is damaged.
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
        reader = LenientReader(wire, offsets, position)
        try:
            yield from _with_states(reader)
            behind, reason = reader.next_served(), SILENT
            if behind is None:
                return
        except RecordsDeleted:
            start = partition_offsets(wire, [offsets.topic_partition])[offsets.topic_partition].log_start_offset
            behind, reason = max(start, reader.position + 1), "records were deleted while being read"
        except NotServed as error:
            behind, reason = reader.next_served() or offsets.end, error.message
        position = min(behind, offsets.end)
        yield DamagedOffsets(reader.position, position, reason)


def _with_states(reader: LenientReader) -> Iterator[LogItem]:
    """Batches with the state of their transactions, by the rule of sources.kafka_log."""
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
    yield from reader.take_last_damages()


def _control(batch: Batch, reader: LogReader) -> ControlBatch | DamagedOffsets:
    try:
        return ControlBatch(batch, decode_marker(batch, topic_partition=reader.topic_partition))
    except Undecodable as error:
        return DamagedOffsets(batch.header.base_offset, batch.header.next_offset, error.reason)


class RecordLog(Protocol):
    """Partitions that can be read in ranges of offsets."""

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        """The partitions of the topic. Raises UsageError where there is none."""

    def bounds(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """The log start offset, last stable offset and high watermark of each."""

    def cut_bytes(self, place: TopicPartition) -> int:
        """How many bytes behind the high watermark are no whole batch."""

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order; batches of a settled range say whether they were aborted."""

    def offsets_at(
        self, places: Collection[TopicPartition], time_ms: int
    ) -> Mapping[TopicPartition, tuple[int, int] | None]:
        """Offset and timestamp of the first record with that timestamp or a later one; None if there is none."""


class LiveLog:
    """Partitions of a cluster, read from their leaders."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        return sorted(partition_leaders(self._wire, [topic]))

    def bounds(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        """As their leaders answer; raises UsageError for a partition that does not exist."""
        return partition_offsets(self._wire, places, leaderless_s=LEADERLESS_PATIENCE_S)

    def cut_bytes(self, place: TopicPartition) -> int:
        """None: a broker cuts them off when it starts."""
        return 0

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        return read_range(self._wire, offsets, None) if offsets.size > 0 else iter(())

    def offsets_at(
        self, places: Collection[TopicPartition], time_ms: int
    ) -> Mapping[TopicPartition, tuple[int, int] | None]:
        """ListOffsets by timestamp (KIP-79), one request to each leader."""
        leaders = partition_leaders(self._wire, {place.topic for place in places})
        led: dict[int, list[TopicPartition]] = {}
        for place in sorted(places):
            if leaders.get(place, NO_LEADER) == NO_LEADER:
                raise Unreachable(f"{place} has no leader")
            led.setdefault(leaders[place], []).append(place)
        window: Window[None] = self._wire.window()
        for leader, mine in led.items():
            window.put(None, leader, list_offsets(mine, max(0, time_ms), IsolationLevel.READ_UNCOMMITTED))
        found: dict[TopicPartition, tuple[int, int] | None] = {}
        for answer in window:
            if answer.error is not None:
                raise answer.error
            assert answer.response is not None
            for topic in answer.response.topics:
                for part in topic.partitions:
                    found[TopicPartition(topic.name, part.partition_index)] = self._at(topic.name, part)
        return found

    def _at(self, topic: str, part: Response) -> tuple[int, int] | None:
        if part.error_code:
            who, resource = self._wire.principal, f"Topic {topic}"
            raise protocol_error(part.error_code, principal=who, operation="Describe", resource=resource)
        return None if part.offset < 0 else (int(part.offset), int(part.timestamp))
