"""Committing a transaction in the name of its producer, which is gone: EndTxn with COMMIT (KIP-98, KIP-890).

1. The coordinator is asked for the transaction of the step. It is committed already: nothing is sent.
2. The step's preconditions are read again, then EndTxn is sent to the coordinator. 14, 15, 16 and 51 are asked again.
3. Before EndTxn is sent once more, for whatever reason, the ID is looked at again: with transaction.version 0 and 1 a
   coordinator takes a repeated EndTxn for the end of the producer's next transaction. Sent again it is only where the
   same transaction is still Ongoing, with no further record.
4. What the answer means (TransactionCoordinator.endTransaction): 47 and 90 another epoch holds the ID, 49 another
   producer ID does or the ID is not known, 48 it is in no state that can be committed. None of them committed anything.
5. PrepareCommit is final. It is waited for until the coordinator has CompleteCommit; then each partition must have the
   commit marker of this producer. With EndTxn v5 the marker has the next epoch, 32767 at most.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.clients import codes
from eosctl.clients.access import ClusterAccess
from eosctl.clients.codes import code_name
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import find_coordinators
from eosctl.clients.transaction_messages import end_transaction
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import EndTransactionMarker, MarkerType
from eosctl.errors import NotAuthorized, PartlyApplied, Refused, Unreachable
from eosctl.executors.apply import Recheck
from eosctl.model.counts import some
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_steps import CommitTransaction, TransactionNow, TransactionUnchanged, why_changed
from eosctl.model.transactions import TransactionState

PAUSE_S: Final = 0.05
RAISES_EPOCH: Final = 2
"""The transaction.version from which on the end of a transaction raises its producer's epoch."""
LOOK_AGAIN: Final = frozenset(
    {
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.COORDINATOR_NOT_AVAILABLE,
        codes.NOT_COORDINATOR,
        codes.CONCURRENT_TRANSACTIONS,
    }
)
FENCED: Final = frozenset({codes.INVALID_PRODUCER_EPOCH, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_ID_MAPPING})
NOT_KNOWN: Final = "whether it is committed is not known; `eosctl apply` the same plan again: it looks first"

Markers = Mapping[TopicPartition, EndTransactionMarker | Skipped | None]


class CommitChecks(NamedTuple):
    """How a transactional ID, offsets of partitions, and the markers of a step's producer are read."""

    look: Callable[[Wire, str], TransactionNow]
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
    """Commit what the step names, and say where its markers are and how the last stable offsets moved.

    Raises Refused where nothing was committed and nothing may be, NotAuthorized naming the missing ACL, TimedOut where
    the coordinator does not answer or cannot write the markers in time.
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
        """EndTxn, answered: what it says of the producer that follows."""
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
                f"the commit of {step.transactional_id} is decided and cannot be revoked, but not all of its markers "
                "are written: its coordinator goes on; `eosctl apply` the same plan again looks for them",
            )

    def prove(self, before: Mapping[TopicPartition, PartitionOffsets]) -> str:
        """Where the markers are. They lie behind the high watermark of `before`, otherwise behind the first record.

        Raises PartlyApplied where a partition has an abort marker or none: then it is not what was asked for.
        """
        starts = {each.topic_partition: each.start_offset for each in self._step.parts if not each.is_empty}
        since = {place: each.high_watermark for place, each in before.items()} or starts
        markers = self._checks.markers(self._wire, self._step, since)
        after = self._checks.offsets(self._wire, list(since)) if since else {}
        wrong = [f"{place}: {why}" for place, each in markers.items() if (why := self._fault(each)) is not None]
        if wrong:
            raise PartlyApplied(
                f"{self._step.transactional_id} is CompleteCommit, and not all partitions show it: {some(wrong, '; ')}",
                hint="`eosctl transactions hanging` shows what is open there; a consumer that reads committed skips "
                "what is aborted",
            )
        words = [self._words(place, each, before.get(place), after[place]) for place, each in markers.items()]
        return f"commit markers: {some(words)}"

    def _words(
        self,
        place: TopicPartition,
        marker: EndTransactionMarker | Skipped | None,
        before: PartitionOffsets | None,
        after: PartitionOffsets,
    ) -> str:
        if not isinstance(marker, EndTransactionMarker):
            return f"{place} not looked at: {'' if marker is None else marker.reason}"
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
        return self._checks.look(self._wire, self._step.transactional_id)

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
        """Rule 3: whether what was sent has ended it; raises Refused where another end has, or it has changed."""
        step = self._step
        while (now := self._try_to_look()) is None:
            self._deadline.pause_or_raise(
                PAUSE_S, f"the coordinator of {step.transactional_id} does not answer; {NOT_KNOWN}"
            )
        wanted = TransactionUnchanged(
            step.side, step.transactional_id, step.producer_id, step.producer_epoch, step.started_ms, step.parts
        )
        why = why_changed(wanted, now)
        if why is not None:
            raise Refused(f"EndTxn may have been carried out, and is not sent again: {why}", hint=NOT_KNOWN)
        return now.is_committed(step.started_ms)

    def _require_repeatable(self, code: int) -> None:
        step = self._step
        resource = f"TransactionalId {step.transactional_id}"
        if code in LOOK_AGAIN:
            return
        if code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            raise NotAuthorized(principal=self._wire.principal, operation="Write", resource=resource)
        if code in FENCED | {codes.INVALID_TXN_STATE}:
            raise Refused(
                f"the coordinator of {step.transactional_id} refuses the commit of producer {step.producer} with "
                f"{code_name(code)}: it committed nothing",
                hint=f"`eosctl transactions describe {step.transactional_id}` shows its state now",
            )
        raise protocol_error(code, principal=self._wire.principal, operation="EndTxn", resource=resource)
