"""Fetches of one partition, one ahead of the consumer: whole batches with the answer that they came in."""

from collections.abc import Iterator, Sequence
from typing import Final

from eosctl.clients.channel import Pending
from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import Response, fetch
from eosctl.clients.wire import Wire
from eosctl.codecs.batch_limits import most_batch_bytes
from eosctl.codecs.record_batches import Batch, iter_batches
from eosctl.errors import EosctlError, Refused, TimedOut, Undecodable, Unreachable
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel

FETCH_BYTES: Final = 1 << 20
MOST_BYTES: Final = 1 << 27
"""No batch is larger: message.max.bytes is less than what a broker's answer may take."""
OFFSET_OUT_OF_RANGE: Final = 1
PAUSE_S: Final = 0.05


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
        self._stall = Deadline(wire.timeout_s)
        self._begun: Pending | Unreachable | None = None
        self._empty_answers = 0

    def begin(self, leader: int = NO_LEADER) -> None:
        """Send the first Fetch already, to the leader if it is known: so that many readers wait at the same time."""
        self._leader = leader
        self._begun = self._ask()

    def __iter__(self) -> Iterator[tuple[list[Batch], Response]]:
        """Each answer's batches, with the answer."""
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
                # How long the consumer took is no fault of the broker: a Fetch that ended meanwhile is sent again.
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
        """A Fetch in flight, or why none can be sent; None where nothing is left to ask for."""
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
        return partition_leaders(self._wire, [self.topic_partition.topic]).get(self.topic_partition, NO_LEADER)

    def _take(self, pending: Pending | Unreachable | None) -> Response | None:
        """The partition's part of the answer; None where it has to be asked again, after a pause."""
        assert pending is not None
        try:
            if isinstance(pending, Unreachable):
                raise pending
            return self._checked(pending.response().responses[0].partitions[0])
        except Unreachable as error:
            self._leader = NO_LEADER
            if not error.retriable or not self._stall.pause(PAUSE_S):
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
        """Whether nothing is left below the limit (compaction removed it), or the leader has not caught up yet.

        One empty answer is none: records that come from tiered storage too late are answered so, too.
        """
        stable = self._isolation is IsolationLevel.READ_COMMITTED
        if (answer.last_stable_offset if stable else answer.high_watermark) >= self.limit:
            self._empty_answers += 1
            return self._empty_answers > 1
        self._stall.pause_or_raise(PAUSE_S, f"the leader of {self.topic_partition} does not reach offset {self.limit}")
        return False


def are_in_order(batches: Sequence[Batch], position: int) -> bool:
    """Whether each begins behind the end of the one before, the first one ending at the position or behind it."""
    behind = -1
    for header, *_ in batches:
        if header[0] < behind or header[6] < 0:
            return False
        behind = header[0] + header[6] + 1
    return not batches or batches[0].header.last_offset >= position
