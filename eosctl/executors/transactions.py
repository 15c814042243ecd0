"""Ending a hanging transaction: a marker that bypasses its coordinator (WriteTxnMarkers, KIP-664).

It is ABORT, or the COMMIT that the coordinator decided on and did not write.

1. The partition's leader reports the producer's open transaction. None: done before. From another offset: refused.
2. The step's preconditions are read again, then the marker is written, under the producer epoch that the leader has.
3. Afterwards the leader must not have the transaction open any more, and where the last stable offset stood at its
   start, that must have moved.

A leader that moved is looked up again. Error codes: 31 neither Alter (brokers 3.8) nor ClusterAction on the cluster; 47
the producer's epoch was raised meanwhile; 52 a newer coordinator wrote to the partition.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.clients import errors
from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, code_name, protocol_error
from eosctl.clients.leaders import MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import (
    LATEST,
    Response,
    describe_producers,
    end_transaction,
    find_coordinators,
    list_offsets,
    write_marker,
)
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import EndTransactionMarker, MarkerType
from eosctl.errors import NotAuthorized, PartlyApplied, Refused, Unreachable
from eosctl.executors.apply import Recheck
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.names import ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.plan import AbortTransaction, CommitTransaction, WriteCommitMarker
from eosctl.model.preconditions import TransactionNow
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import TransactionState

PAUSE_S: Final = 0.05
TRANSACTION_COORDINATOR_FENCED: Final = 52
REQUEST_TIMED_OUT: Final = 7
NOT_ENOUGH_REPLICAS: Final = frozenset({19, 20})
AGAIN: Final = MOVED | {UNKNOWN_TOPIC_OR_PARTITION, REQUEST_TIMED_OUT} | NOT_ENOUGH_REPLICAS


HangingStep = AbortTransaction | WriteCommitMarker


def end_in_partition(step: HangingStep, recheck: Recheck, *, access: ClusterAccess) -> str:
    """Abort or commit what the step names and say how the last stable offset moved.

    Raises Refused where something else is open, NotAuthorized naming the missing ACL, TimedOut where the leader does
    not confirm in time.
    """
    partition = _Partition(access.wire, TopicPartition(step.topic, step.partition), access.timeout_s)
    open_now = partition.open_transaction(step.producer_id)
    if open_now is None:
        return "nothing to do: the producer has no open transaction there"
    if open_now.current_txn_start_offset != step.start_offset:
        raise Refused(
            f"producer {step.producer_id} has a transaction from offset {open_now.current_txn_start_offset} open in "
            f"{step.topic}-{step.partition}, not from {step.start_offset}"
        )
    recheck()
    before = partition.last_stable_offset()
    commit = isinstance(step, WriteCommitMarker)
    producer = ProducerIdAndEpoch(step.producer_id, step.producer_epoch)
    partition.write_marker(producer, step.coordinator_epoch, commit=commit)
    after = partition.confirm(step, held=before == step.start_offset)
    done = "committed" if commit else "aborted"
    if after != before:
        return f"{done}; the last stable offset moved from {before} to {after}"
    return f"{done}; the last stable offset is still {before}: an earlier transaction is open"


class _Partition:
    def __init__(self, wire: Wire, topic_partition: TopicPartition, timeout_s: float) -> None:
        self._wire = wire
        self._place = topic_partition
        self._deadline = Deadline(timeout_s)

    def open_transaction(self, producer_id: int) -> Response | None:
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
        while True:
            request = list_offsets([self._place], LATEST, IsolationLevel.READ_COMMITTED)
            part = self._wire.request(self._leader(), request).topics[0].partitions[0]
            if part.error_code == 0:
                return int(part.offset)
            self._again_or_raise(part.error_code, "Describe")

    def write_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int, *, commit: bool) -> None:
        """The marker, written; sent twice it does no harm, because nothing is open then."""
        while True:
            request = write_marker(self._place, producer, coordinator_epoch, commit=commit)
            code = self._wire.request(self._leader(), request).markers[0].topics[0].partitions[0].error_code
            if code == 0:
                return
            self._refuse_or_again(code, producer)

    def confirm(self, step: HangingStep, *, held: bool) -> int:
        """The last stable offset, once the transaction is closed and no longer holds it."""
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
            case errors.CLUSTER_AUTHORIZATION_FAILED:
                raise NotAuthorized(
                    principal=self._wire.principal,
                    operation="Alter (brokers before 3.8: ClusterAction)",
                    resource="Cluster kafka-cluster",
                )
            case errors.INVALID_PRODUCER_EPOCH:
                raise Refused(
                    f"{self._place} takes no marker for epoch {producer.producer_epoch} of producer "
                    f"{producer.producer_id}: its epoch was raised since",
                    hint="`eosctl transactions hanging` shows the open transactions",
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


# Committing a transaction in the name of its producer, which is gone: EndTxn with COMMIT (KIP-98, KIP-890).
#
# 1. The coordinator is asked for the transaction of the step. It is committed already: nothing is sent.
# 2. The step's preconditions are read again, then EndTxn is sent to the coordinator. 14, 15, 16 and 51 are asked
#    again.
# 3. Before EndTxn is sent again, for any reason, the ID is described again: with transaction.version 0 and 1 a
#    coordinator takes a repeated EndTxn for the end of the producer's next transaction. It is sent again only if the
#    same transaction is still Ongoing, without a further record.
# 4. Error codes (TransactionCoordinator.endTransaction): 47 and 90 another epoch holds the ID; 49 another producer ID
#    holds it, or the ID is unknown; 48 its state cannot be committed. None of them committed anything.
# 5. PrepareCommit is final. It is waited for until the coordinator has CompleteCommit; then each partition must have
#    the commit marker of this producer. With EndTxn v5 the marker has the next epoch, 32767 at most.


RAISES_EPOCH: Final = 2
"""The transaction.version from which on the end of a transaction raises its producer's epoch."""
LOOK_AGAIN: Final = frozenset(
    {
        errors.COORDINATOR_LOAD_IN_PROGRESS,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.NOT_COORDINATOR,
        errors.CONCURRENT_TRANSACTIONS,
    }
)
FENCED: Final = frozenset({errors.INVALID_PRODUCER_EPOCH, errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_ID_MAPPING})
NOT_KNOWN: Final = "whether it is committed is not known; `eosctl apply` the same plan again: it looks first"

Markers = Mapping[TopicPartition, EndTransactionMarker | Skipped | None]


class CommitChecks(NamedTuple):
    look: Callable[[Side, str], TransactionNow]
    offsets: Callable[[Wire, Sequence[TopicPartition]], Mapping[TopicPartition, PartitionOffsets]]
    markers: Callable[[Wire, CommitTransaction, Mapping[TopicPartition, int]], Markers]


def commit_transaction(
    step: CommitTransaction,
    recheck: Recheck,
    *,
    access: ClusterAccess,
    checks: CommitChecks,
    failpoint: Failpoint = no_failpoint,
) -> str:
    """Commit the step's transaction, and name its markers and the changes of the last stable offsets.

    Raises Refused if nothing was committed and nothing may be, NotAuthorized naming the missing ACL, TimedOut if the
    coordinator does not answer or cannot write the markers in time.
    """
    run = _Commit(access, step, checks)
    if run.is_committed():
        return f"nothing to do: it is committed already; {run.prove({})}"
    recheck()
    before = checks.offsets(access.wire, run.places)
    failpoint("commit:checked")
    answered = run.send()
    failpoint("commit:sent")
    run.await_markers()
    return f"committed{answered}; {run.prove(before)}"


class _Commit:
    def __init__(self, access: ClusterAccess, step: CommitTransaction, checks: CommitChecks) -> None:
        self._wire, self._step, self._checks = access.wire, step, checks
        self._deadline = Deadline(access.timeout_s)
        self.places = [each.topic_partition for each in step.parts]

    def is_committed(self) -> bool:
        """Whether this very transaction is decided, and its markers are written or being written."""
        committed = self._look().is_committed(self._step.started_ms)
        if committed:
            self.await_markers()
        return committed

    def send(self) -> str:
        step = self._step
        raises_epoch = step.transaction_version >= RAISES_EPOCH
        request = end_transaction(step.transactional_id, step.producer, commit=True, raises_epoch=raises_epoch)
        while True:
            try:
                answer = self._wire.request(self._coordinator(), request)
            except Unreachable as error:
                why = error.message
            else:
                if answer.error_code == 0:
                    follows = (answer.producer_id or -1, answer.producer_epoch)
                    return "" if follows[0] < 0 else f", the producer that follows is {follows[0]}/{follows[1]}"
                self._require_repeatable(answer.error_code)
                why = f"the coordinator of {step.transactional_id} answers {code_name(answer.error_code)}"
            self._deadline.pause_or_raise(PAUSE_S, f"{why}; {NOT_KNOWN}")
            if self._is_ended_meanwhile():
                return ""

    def await_markers(self) -> None:
        """Return once the coordinator has the transaction as complete: it has written all markers by then."""
        step = self._step
        while (now := self._look()).is_committed(step.started_ms) and now.state is TransactionState.PREPARE_COMMIT:
            self._deadline.pause_or_raise(
                PAUSE_S,
                f"the commit of {step.transactional_id} is decided and cannot be revoked, but some markers are not "
                "written: its coordinator continues; `eosctl apply` the same plan again looks for them",
            )

    def prove(self, before: Mapping[TopicPartition, PartitionOffsets]) -> str:
        """The places of the markers. They lie after the high watermark of `before`, otherwise after the first record.

        Raises PartlyApplied if a partition has an abort marker or none: then the result is not the requested one.
        """
        starts = {each.topic_partition: each.start_offset for each in self._step.parts if not each.is_empty}
        since = {place: each.high_watermark for place, each in before.items()} or starts
        markers = self._checks.markers(self._wire, self._step, since)
        after = self._checks.offsets(self._wire, list(since)) if since else {}
        wrong = [f"{place}: {why}" for place, each in markers.items() if (why := self._fault(each)) is not None]
        if wrong:
            raise PartlyApplied(
                f"{self._step.transactional_id} is CompleteCommit, and not all partitions show it: "
                f"{first_few(wrong, '; ')}",
                hint="`eosctl transactions hanging` shows its open transactions; a read_committed consumer skips "
                "aborted records",
            )
        words = [self._words(place, each, before.get(place), after[place]) for place, each in markers.items()]
        return f"commit markers: {first_few(words)}"

    def _words(
        self,
        place: TopicPartition,
        marker: EndTransactionMarker | Skipped | None,
        before: PartitionOffsets | None,
        after: PartitionOffsets,
    ) -> str:
        if not isinstance(marker, EndTransactionMarker):
            return f"{place} not checked: {'' if marker is None else marker.reason}"
        start = next(each.start_offset for each in self._step.parts if each.topic_partition == place)
        stable = after.last_stable_offset
        if stable <= start:
            return f"{place} at {marker.offset} (last stable offset still {stable}: an earlier transaction is open)"
        moved = stable if before is None else f"{before.last_stable_offset} to {stable}"
        return f"{place} at {marker.offset} (last stable offset {moved})"

    def _fault(self, marker: EndTransactionMarker | Skipped | None) -> str | None:
        if isinstance(marker, Skipped):
            return None
        if marker is None:
            return "no marker of the producer"
        epochs = {self._step.producer_epoch, self._step.producer_epoch + 1}
        if marker.type is MarkerType.COMMIT and marker.producer_epoch in epochs:
            return None
        return f"{marker.type.name} marker of epoch {marker.producer_epoch} at offset {marker.offset}"

    def _look(self) -> TransactionNow:
        return self._checks.look(self._step.side, self._step.transactional_id)

    def _try_to_look(self) -> TransactionNow | None:
        try:
            return self._look()
        except Unreachable:
            return None

    def _coordinator(self) -> int:
        name = self._step.transactional_id
        while True:
            (found,) = self._wire.request_any(find_coordinators([name])).coordinators
            if found.error_code == 0:
                return int(found.node_id)
            if found.error_code not in LOOK_AGAIN:
                raise protocol_error(
                    found.error_code,
                    principal=self._wire.principal,
                    operation="Describe",
                    resource=f"TransactionalId {name}",
                )
            self._deadline.pause_or_raise(PAUSE_S, f"no broker coordinates {name} ({code_name(found.error_code)})")

    def _is_ended_meanwhile(self) -> bool:
        """Rule 3: true if the sent request has ended it; raises Refused if it ended otherwise, or has changed."""
        step = self._step
        while (now := self._try_to_look()) is None:
            self._deadline.pause_or_raise(
                PAUSE_S, f"the coordinator of {step.transactional_id} does not answer; {NOT_KNOWN}"
            )
        why = step.unchanged.why_changed(now)
        if why is not None:
            raise Refused(f"EndTxn may have been carried out, and is not sent again: {why}", hint=NOT_KNOWN)
        return now.is_committed(step.started_ms)

    def _require_repeatable(self, code: int) -> None:
        step = self._step
        resource = f"TransactionalId {step.transactional_id}"
        if code in LOOK_AGAIN:
            return
        if code == errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            raise NotAuthorized(principal=self._wire.principal, operation="Write", resource=resource)
        if code in FENCED | {errors.INVALID_TXN_STATE}:
            raise Refused(
                f"the coordinator of {step.transactional_id} refuses the commit of producer {step.producer} with "
                f"{code_name(code)}: it committed nothing",
                hint=f"`eosctl transactions describe {step.transactional_id}` shows its state now",
            )
        raise protocol_error(code, principal=self._wire.principal, operation="EndTxn", resource=resource)
