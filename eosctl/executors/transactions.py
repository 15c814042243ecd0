"""Ending a hanging transaction: an ABORT marker written past its coordinator (WriteTxnMarkers, KIP-664).

1. The partition's leader is asked what the producer has open. Nothing: done before. From another offset: refused.
2. The step's preconditions are read again, then the marker is written, under the producer epoch that the leader has.
3. Afterwards the leader must not have the transaction open any more, and where the last stable offset stood at its
   start, that must have moved.

A leader that moved is looked up again. What a code means: 31 neither Alter (brokers 3.8) nor ClusterAction on the
cluster; 47 the producer's epoch was raised meanwhile; 52 a newer coordinator wrote to the partition.
"""

from typing import Final

from eosctl.clients import codes
from eosctl.clients.access import ClusterAccess
from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION, code_name
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import LATEST, Response, list_offsets
from eosctl.clients.producer_messages import describe_producers, write_abort_marker
from eosctl.clients.wire import Wire
from eosctl.errors import NotAuthorized, Refused
from eosctl.executors.apply import Recheck
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.model.transaction_steps import AbortTransaction

PAUSE_S: Final = 0.05
TRANSACTION_COORDINATOR_FENCED: Final = 52
REQUEST_TIMED_OUT: Final = 7
NOT_ENOUGH_REPLICAS: Final = frozenset({19, 20})
AGAIN: Final = MOVED | {UNKNOWN_TOPIC_OR_PARTITION, REQUEST_TIMED_OUT} | NOT_ENOUGH_REPLICAS


def abort_in_partition(step: AbortTransaction, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Abort what the step names and say how the last stable offset moved.

    Raises Refused where something else is open, NotAuthorized naming the missing ACL, TimedOut where the leader does
    not confirm in time.
    """
    partition = _Partition(access.wire, TopicPartition(step.topic, step.partition), access.timeout_s)
    open_now = partition.open_transaction(step.producer_id)
    if open_now is None:
        return "nothing to do: the producer has nothing open there any more"
    if open_now.current_txn_start_offset != step.start_offset:
        raise Refused(
            f"producer {step.producer_id} has a transaction from offset {open_now.current_txn_start_offset} open in "
            f"{step.topic}-{step.partition}, not from {step.start_offset}"
        )
    recheck()
    before = partition.last_stable_offset()
    partition.write_marker(ProducerIdAndEpoch(step.producer_id, step.producer_epoch), step.coordinator_epoch)
    after = partition.confirm(step, held=before == step.start_offset)
    return f"aborted; the last stable offset moved from {before} to {after}" if after != before else _still_held(before)


def _still_held(offset: int) -> str:
    return f"aborted; the last stable offset is still {offset}: an earlier transaction is open"


class _Partition:
    """One partition, asked at its leader until the time is up."""

    def __init__(self, wire: Wire, topic_partition: TopicPartition, timeout_s: float) -> None:
        self._wire = wire
        self._place = topic_partition
        self._deadline = Deadline(timeout_s)

    def open_transaction(self, producer_id: int) -> Response | None:
        """The producer's state at the leader, if it has a transaction open."""
        while True:
            answer = self._wire.request(self._leader(), describe_producers([self._place]))
            part = answer.topics[0].partitions[0]
            if part.error_code == 0:
                for each in part.active_producers:
                    if each.producer_id == producer_id and each.current_txn_start_offset >= 0:
                        return each
                return None
            self._again_or_raise(part.error_code, "Read")

    def last_stable_offset(self) -> int:
        """Where read_committed consumers end."""
        while True:
            request = list_offsets([self._place], LATEST, IsolationLevel.READ_COMMITTED)
            part = self._wire.request(self._leader(), request).topics[0].partitions[0]
            if part.error_code == 0:
                return int(part.offset)
            self._again_or_raise(part.error_code, "Describe")

    def write_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int) -> None:
        """The marker, written; sent twice it does no harm, because nothing is open then."""
        while True:
            request = write_abort_marker(self._place, producer, coordinator_epoch)
            code = self._wire.request(self._leader(), request).markers[0].topics[0].partitions[0].error_code
            if code == 0:
                return
            self._refuse_or_again(code, producer)

    def confirm(self, step: AbortTransaction, *, held: bool) -> int:
        """The last stable offset, once the transaction is closed and, where it held that offset, it has moved."""
        while True:
            open_now = self.open_transaction(step.producer_id)
            offset = self.last_stable_offset()
            ended = open_now is None or open_now.current_txn_start_offset != step.start_offset
            if ended and not (held and offset <= step.start_offset):
                return offset
            self._deadline.pause_or_raise(
                PAUSE_S, f"the marker is written, but the last stable offset of {self._place} is still {offset}"
            )

    def _leader(self) -> int:
        while True:
            leader = partition_leaders(self._wire, [self._place.topic]).get(self._place, NO_LEADER)
            if leader != NO_LEADER:
                return leader
            self._deadline.pause_or_raise(PAUSE_S, f"{self._place} has no leader")

    def _refuse_or_again(self, code: int, producer: ProducerIdAndEpoch) -> None:
        match code:
            case codes.CLUSTER_AUTHORIZATION_FAILED:
                raise NotAuthorized(
                    principal=self._wire.principal,
                    operation="Alter (brokers before 3.8: ClusterAction)",
                    resource="Cluster kafka-cluster",
                )
            case codes.INVALID_PRODUCER_EPOCH:
                raise Refused(
                    f"{self._place} takes no marker for epoch {producer.producer_epoch} of producer "
                    f"{producer.producer_id}: its epoch was raised meanwhile",
                    hint="`eosctl transactions hanging` shows what is open now",
                )
            case code if code == TRANSACTION_COORDINATOR_FENCED:
                raise Refused(
                    f"a newer coordinator wrote to {self._place}: the coordinator epoch of the marker is too low",
                    hint="plan it again, which reads the coordinator epoch again",
                )
        self._again_or_raise(code, "ClusterAction")

    def _again_or_raise(self, code: int, operation: str) -> None:
        if code not in AGAIN:
            resource = f"Topic {self._place.topic}"
            raise protocol_error(code, principal=self._wire.principal, operation=operation, resource=resource)
        self._deadline.pause_or_raise(PAUSE_S, f"{self._place} answers {code_name(code)}")
