"""Fetches of one partition, one ahead of the consumer: whole batches with the answer that they came in."""

from collections.abc import Iterator
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
        self._begun: Pending | None = None

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
                    self._max_bytes *= 2
            elif answer is not None and self._is_empty(answer):
                return
            if batches:
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
        return batches

    def _batches(self, records: bytes) -> Iterator[Batch]:
        return iter_batches(records, topic_partition=self.topic_partition, most_bytes=self._most_batch_bytes)

    def _ask(self) -> Pending | None:
        """A Fetch in flight; None where there is no leader to ask."""
        if self._position >= self.limit:
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
        if not self._stall.pause(PAUSE_S):
            raise trouble
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
        """Whether nothing is left below the limit (compaction removed it), or the leader has not caught up yet."""
        stable = self._isolation is IsolationLevel.READ_COMMITTED
        if (answer.last_stable_offset if stable else answer.high_watermark) >= self.limit:
            return True
        self._stall.pause_or_raise(PAUSE_S, f"the leader of {self.topic_partition} does not reach offset {self.limit}")
        return False
