"""Whether a transaction may be committed in the name of its producer, and how.

1. Only its owner knows whether it is whole: a Flink job by its checkpoint, a coordinator of two-phase commits by its
   decision. The owner kept producer ID and epoch, and both must be those that the coordinator has.
2. Only what is Ongoing is committed. What is committed already, aborted, or being ended is said and refused.
3. Its client must be gone, for a client that is at work may write more, or abort. No request of Kafka says who is
   connected. So it is refused where a record came while its partitions were watched, where a task or the leader of a
   Connect cluster has the ID, and where a partition could not be asked. Connect's own IDs are refused always: Connect
   aborts what a task left behind, and produces it again.
4. EndTxn is sent as the client of the transaction would (KIP-890): version 5, which raises the epoch, where the log
   has it as of transaction.version 2, below otherwise. So an owner that asks later learns that it is committed.
5. A partition without a leader is refused: Kafka 4.3 ends such a transaction without that partition's marker.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from eosctl.model.hanging import Advice, Decision, HangingReason, OpenTransaction, Verdict
from eosctl.model.names import ProducerIdAndEpoch, Side
from eosctl.model.plan import (
    AbortTransaction,
    CommitTransaction,
    FenceTransaction,
    Plan,
    PlannedStep,
    WriteCommitMarker,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import COMMITTED, ClusterIs, NoLiveOwner, OpenPart, why_moved
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest, MissingMarkerRequest
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionDescription, TransactionState

COMMIT: Final = "transactions.commit"
LAST_EPOCH: Final = 32_766
"""Short.MAX_VALUE - 1: no client has a higher one (TransactionMetadata.isEpochExhausted)."""
EPOCH_PER_TRANSACTION: Final = 2
"""The transaction.version from which on each transaction of a producer has an epoch of its own."""
DANGER: Final = (
    "a commit cannot be rolled back. Commit only if the owner of the ID has decided to commit exactly this "
    "transaction; otherwise consumers read a part of its work, and later read it again"
)
ENDED: Final = COMMITTED | {TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT}
LOST: Final = "readers skip its records; only their owner can produce them again"


def plan_commit(request: CommitRequest, facts: CommitFacts) -> Planned:
    """The plan by the rules above; without a step where something speaks against it."""
    against = tuple(_objections(request, facts))
    step = None if against else _step(request, facts)
    steps = () if step is None else (_planned(step, facts.cluster_id),)
    return Planned(
        plan=Plan(COMMIT, facts.as_of, steps),
        cluster_id=facts.cluster_id,
        objections=against,
        hint=_hint(request, facts) if against else None,
        warnings=() if step is None else tuple(_warnings(step, facts)),
    )


def _planned(step: CommitTransaction, cluster_id: str) -> PlannedStep:
    return PlannedStep(step, (ClusterIs(Side.SOURCE, cluster_id), NoLiveOwner(Side.SOURCE, (step.transactional_id,))))


def _step(request: CommitRequest, facts: CommitFacts) -> CommitTransaction:
    """Of a transaction with nothing against it, which is described and logged."""
    described, logged = facts.described, facts.logged
    assert described is not None
    assert described.start_ms is not None
    assert logged is not None
    return CommitTransaction(
        Side.SOURCE,
        request.transactional_id,
        request.producer.producer_id,
        request.producer.producer_epoch,
        described.start_ms,
        logged.client_transaction_version,
        tuple(each for _, each in sorted(facts.after.items()) if isinstance(each, OpenPart)),
    )


def _objections(request: CommitRequest, facts: CommitFacts) -> Iterator[str]:
    name, described = request.transactional_id, facts.described
    if described is None:
        yield f"no coordinator knows {name}: it was never used, or is forgotten (transactional.id.expiration.ms)"
        return
    if described.state is not TransactionState.ONGOING:
        yield _ended(request, facts, described)
        return
    if described.producer != request.producer:
        end = "is committed already" if _is_committed(request, facts) else "has ended"
        yield (
            f"{name} is held by producer {described.producer}, not by {request.producer}. A later producer "
            f"initialized the ID: your transaction {end}, and the transaction in progress is another"
        )
        return
    if described.start_ms is None:
        yield f"the coordinator of {name} names no start of its transaction: whether it is yours is not known"
        return
    if request.producer.producer_epoch > LAST_EPOCH:
        yield f"no client has epoch {request.producer.producer_epoch}: a coordinator gives none above {LAST_EPOCH}"
    yield from _not_read_alike(name, described, facts.logged)
    yield from _at_work(request, facts)


def _not_read_alike(name: str, described: TransactionDescription, logged: TransactionLogValue | None) -> Iterator[str]:
    """The log has all partitions, those too whose topics may not be described."""
    if logged is None:
        yield f"the transaction log has no record of {name}: with which EndTxn its client would commit is not known"
        return
    if (logged.state, logged.producer, logged.start_ms) != (described.state, described.producer, described.start_ms):
        yield f"{name} changed while it was read: its client is at work"
        return
    hidden = sorted(set(logged.partitions or ()) - set(described.partitions))
    if hidden:
        yield f"what {name} has in {first_few(hidden)} may not be described: Describe on the topic is missing"


def _at_work(request: CommitRequest, facts: CommitFacts) -> Iterator[str]:
    name = request.transactional_id
    moved = why_moved(name, facts.before, facts.after)
    if moved is not None:
        yield f"{moved} (watched for {request.watch_s:g} s)"
    in_use = facts.live.why_in_use([name], None)
    if in_use is not None:
        yield in_use
    elif facts.ownership.owners:
        yield (
            f"{name} belongs to {facts.ownership}: Connect never commits an abandoned transaction of a task. It "
            "aborts it and produces the records again from the last source offsets, so a commit here repeats them"
        )


def _ended(request: CommitRequest, facts: CommitFacts, described: TransactionDescription) -> str:
    """The end of the producer's transaction, if the ID's last one is certainly its own, or the log has its commit."""
    name, producer, logged = request.transactional_id, request.producer, facts.logged
    state, at = described.state, "" if logged is None else f" since {rfc3339(logged.last_update_ms)}"
    holder = f"{name} is {state.value} as {described.producer}{at}"
    last = f"the last transaction of producer {producer} is"
    match state if logged is not None and _is_last_of(producer, described.producer, logged) else None:
        case TransactionState.COMPLETE_COMMIT:
            return f"{holder}: {last} committed already, there is nothing to do"
        case TransactionState.PREPARE_COMMIT:
            return f"{holder}: {last} being committed, its coordinator is writing the markers"
        case TransactionState.COMPLETE_ABORT | TransactionState.PREPARE_ABORT:
            return f"{holder}: {last} aborted and cannot be committed; {LOST}"
    if _is_committed(request, facts):
        return f"{holder}: {last} committed already by the transaction log, there is nothing to do"
    return f"{holder}: no transaction of producer {producer} is open; the end of its last one is unknown"


def _is_last_of(producer: ProducerIdAndEpoch, held: ProducerIdAndEpoch, logged: TransactionLogValue) -> bool:
    """True if the ID's last transaction, behind which its producer is held, was certainly this producer's.

    Up to transaction.version 1 the ID keeps the epoch of the transaction. An abort by the coordinator raises it, but an
    ID that was initialized again has that epoch too. From 2 on each end raises it; epoch 32766 is followed by 0 of the
    next producer ID, and the log has the previous one (KIP-890).
    """
    if logged.client_transaction_version < EPOCH_PER_TRANSACTION:
        return held == producer
    if held.producer_id == producer.producer_id:
        return held.producer_epoch == producer.producer_epoch + 1
    rolled_over = (held.producer_epoch, producer.producer_epoch) == (0, LAST_EPOCH)
    return rolled_over and logged.previous_producer_id == producer.producer_id


class ProducerEnds:
    """Takes in the transaction log; found has the records by which the last transactions of these producers ended.

    A pool of IDs (Flink's POOLING) gives an ID to the next transaction soon after the commit of the one before.
    """

    def __init__(self, requests: Iterable[CommitRequest]) -> None:
        self._wanted: dict[str, list[CommitRequest]] = {}
        for request in requests:
            self._wanted.setdefault(request.transactional_id, []).append(request)
        self.found: dict[CommitRequest, TransactionLogValue] = {}

    def add(self, record: TransactionLogRecord) -> TransactionLogRecord:
        """The same record."""
        value = record.value
        if value is None:
            return record
        for request in self._wanted.get(record.transactional_id, ()):
            if value.state is TransactionState.ONGOING and value.producer == request.producer:
                self.found.pop(request, None)
            elif value.state in ENDED and _is_last_of(request.producer, value.producer, value):
                self.found[request] = value
        return record


def _hint(request: CommitRequest, facts: CommitFacts) -> str:
    described, name = facts.described, request.transactional_id
    if described is None or described.state is not TransactionState.ONGOING:
        return (
            f"`eosctl transactions log {name} --history` shows the end of each of its transactions; --missing-markers "
            "writes commit markers that are missing in partitions"
        )
    if described.producer != request.producer:
        return "ask the owner again; if no owner will end the transaction, abort it by fencing the ID: `eosctl fence`"
    if facts.ownership.owners or facts.live.why_in_use([name], None) is not None:
        return "start the connector, or end the transaction by `eosctl fence`"
    return "stop the client, or let it commit itself"


def _warnings(step: CommitTransaction, facts: CommitFacts) -> Iterator[str]:
    yield DANGER
    empty = [each.topic_partition for each in step.parts if each.is_empty]
    if empty:
        yield (
            f"{first_few(empty)} has no record of it: the partition was added to the transaction without a record. "
            "Perhaps its client ended before it had flushed"
        )
    described = facts.described
    assert described is not None
    ends_ms = step.started_ms + described.timeout_ms
    if facts.as_of < ends_ms:
        yield f"its coordinator aborts it at {rfc3339(ends_ms)}, when its timeout has passed"
    else:
        late = pluralize((facts.as_of - ends_ms) // 1000, "second")
        yield f"its timeout has passed {late} ago: its coordinator may abort it at any moment"


# Ends the leftovers of an application: commits its owner's list, and fences the other open transactions.
#
# 1. A transaction of the list is committed by the rules above. If it is committed already, that is a warning.
# 2. Other transactions are fenced, which aborts them, only if they are Ongoing and their client is gone (rule 3 above).
# 3. A transaction whose owner may have decided to commit it is not fenced. A Flink job that is restored finds its
#    transaction aborted, logs an error, and goes on: the records are lost.
# 4. One objection refuses the whole plan: a part of a job's transactions is no state of the job.


LEFTOVERS: Final = "transactions.leftovers-ended"
UNDECIDED: Final = (
    "give --flink-checkpoint with the job's last completed checkpoint, or --commit-listed with what its owner decided: "
    "an empty list if it decided nothing"
)
SHOW_OPEN: Final = "without --commit-listed, --flink-checkpoint and --fence-rest the command shows what is open"
ABORTED: Final = (
    "fencing aborts what is open, and that cannot be rolled back: only its owner can produce the records again"
)


def plan_leftovers(
    listed: Sequence[tuple[CommitRequest, CommitFacts]],
    rest: Sequence[tuple[CommitRequest, CommitFacts]],
    as_of: int,
    cluster_id: str,
    transaction_timeout_ms: int,
) -> Planned:
    """The plan by the rules above; without a step where something speaks against it."""
    steps: list[PlannedStep] = []
    against: list[str] = []
    warnings: dict[str, None] = {}
    undecided: dict[str, list[str]] = {}
    for request, facts in listed:
        objections = tuple(_objections(request, facts))
        if _is_committed(request, facts):
            warnings |= dict.fromkeys(objections)
        elif objections:
            against += objections
        else:
            step = _step(request, facts)
            steps.append(_planned(step, cluster_id))
            warnings |= dict.fromkeys(_warnings(step, facts))
    for request, facts in rest:
        described = facts.described
        if described is None or described.state is not TransactionState.ONGOING or described.start_ms is None:
            continue
        against += _against_fencing(request, facts, described)
        if facts.undecided is not None:
            undecided.setdefault(facts.undecided, []).append(request.transactional_id)
        fence = _fence(described, facts, transaction_timeout_ms)
        steps.append(PlannedStep(fence, (ClusterIs(Side.SOURCE, cluster_id), *fence.implied())))
        warnings[ABORTED] = None
    hint = "stop the client, or take it out of the list" if against else UNDECIDED if undecided else None
    if not steps and not against:
        against = [next(iter(warnings), "nothing that may be ended is open under this prefix")]
        hint = SHOW_OPEN
    against += [f"{first_few(names)}: {why}" for why, names in undecided.items()]
    return Planned(
        plan=Plan(LEFTOVERS, as_of, () if against else tuple(steps)),
        cluster_id=cluster_id,
        objections=tuple(against),
        hint=hint,
        warnings=() if against else tuple(warnings),
    )


def _fence(described: TransactionDescription, facts: CommitFacts, transaction_timeout_ms: int) -> FenceTransaction:
    assert described.start_ms is not None
    held = described.producer
    return FenceTransaction(
        Side.SOURCE,
        described.transactional_id,
        held.producer_id,
        held.producer_epoch,
        described.start_ms,
        tuple(each for _, each in sorted(facts.after.items()) if isinstance(each, OpenPart)),
        transaction_timeout_ms,
    )


def _is_committed(request: CommitRequest, facts: CommitFacts) -> bool:
    described, logged = facts.described, facts.logged
    if described is None or logged is None:
        return False
    if facts.ended is not None and described.producer != request.producer:
        return facts.ended.state in COMMITTED
    return described.state in COMMITTED and _is_last_of(request.producer, described.producer, logged)


def _against_fencing(request: CommitRequest, facts: CommitFacts, described: TransactionDescription) -> Iterator[str]:
    name = request.transactional_id
    if described.producer != request.producer:
        yield f"{name} changed while it was read: its client is at work"
        return
    yield from _not_read_alike(name, described, facts.logged)
    yield from filter(None, (why_moved(name, facts.before, facts.after), facts.live.why_in_use([name], None)))


# Which open transactions of a partition to abort, and whether that may be done.
#
# 1. Without a start offset or producer ID all that hang in the partition are aborted; these narrow it down.
# 2. Only what hangs by KIP-664's rule is aborted, and only when it is older than the longest transaction timeout.
# 3. Where the producer has another transaction in progress, or its coordinator is ending one, it may write to the
#    partition again: that is refused. So is a transaction that does not hang, and one that is younger.
# 4. What its coordinator decided to commit, or may have, is refused: an abort would hide records that are committed
#    elsewhere, with their source offsets.
# 5. With force 2 to 4 do not refuse. The marker passes the coordinator by: a client may commit all the same, and then
#    a part of its transaction is committed and this part is lost.


ABORT: Final = "transactions.abort"


def plan_abort(request: AbortRequest, verdicts: Sequence[Verdict], as_of: int, cluster_id: str) -> Planned:
    """The plan by the rules above. verdicts are on everything open in the partition, whatever its age."""
    named = request.start_offset is not None or request.producer_id is not None
    chosen = [each for each in verdicts if _is_named(request, each.transaction)]
    if not request.force and any(each.hangs for each in chosen):
        chosen = [each for each in chosen if each.hangs]
    objections = [(why, each) for each in chosen if (why := _objection(request, each, as_of)) is not None]
    steps = tuple(_abort_step(each.transaction, cluster_id, forced=request.force) for each in chosen)
    if not chosen:
        which = "no transaction of that producer or start offset" if named else "no transaction"
        nothing = f"{which} is open in {request.topic_partition}, so there is nothing to abort"
        hint = "`eosctl transactions hanging` finds what hangs"
        return Planned(plan=Plan(ABORT, as_of, ()), cluster_id=cluster_id, objections=(nothing,), hint=hint)
    planned = Planned(plan=Plan(ABORT, as_of, steps), cluster_id=cluster_id)
    if request.force:
        return replace(planned, warnings=tuple(_danger(why) for why, _ in objections))
    if not objections:
        return planned
    return replace(planned, objections=tuple(why for why, _ in objections), hint=_remedy(objections[0][1]))


def _is_named(request: AbortRequest, transaction: OpenTransaction) -> bool:
    by_offset = request.start_offset is None or transaction.start_offset == request.start_offset
    by_producer = request.producer_id is None or transaction.producer.producer_id == request.producer_id
    return transaction.topic_partition == request.topic_partition and by_offset and by_producer


def _objection(request: AbortRequest, verdict: Verdict, as_of: int) -> str | None:
    transaction = verdict.transaction
    what = f"the transaction of producer {transaction.producer} from offset {transaction.start_offset}"
    described = transaction.description
    if not verdict.hangs and described is not None:
        return f"{what} does not hang: its coordinator has it as {described.state.value} under {_name(transaction)}"
    if (hidden := _would_hide(verdict)) is not None:
        return f"{what} in {transaction.topic_partition} {hidden}"
    if verdict.advice is not Advice.ABORT:
        return f"{what} hangs, but its producer has another transaction in progress as {_name(transaction)}"
    why = None if verdict.decision is not None else _too_young(request, transaction.active.last_timestamp, as_of)
    return None if why is None else f"{what} {why}"


def _would_hide(verdict: Verdict) -> str | None:
    """Why an abort would hide committed records, or may."""
    match verdict.decision:
        case Decision(committed=True, decided_ms=at, transactional_id=name):
            return (
                f"was committed: its coordinator decided that at {rfc3339(at)} as {name}. Only the marker is missing "
                "here, and an abort would hide its records for ever"
            )
        case Skipped(reason=reason):
            return f"may have been committed: {reason}"
    return None


def _too_young(request: AbortRequest, last: int | None, as_of: int) -> str | None:
    if last is None or as_of - last > request.max_timeout_ms:
        return None
    if last > as_of:
        return f"has a timestamp {(last - as_of) / 1000:.1f} s in the future, so its age is not known"
    return f"is {max(0, as_of - last) / 60_000:.1f} min old, younger than transactions may become"


def _name(transaction: OpenTransaction) -> str:
    return transaction.transactional_id or "no transactional ID"


def _remedy(verdict: Verdict) -> str:
    if verdict.reason is HangingReason.OVERTAKEN and verdict.advice is Advice.WAIT:
        return (
            f"have {_name(verdict.transaction)} commit the transaction that it has in progress: the marker of that one "
            "commits both here"
        )
    match verdict.decision:
        case Decision(committed=True):
            return verdict.decision.finished_by(verdict.transaction)
        case Skipped():
            return verdict.transaction.decided_by
    return _abort_hint(verdict)


def _abort_hint(verdict: Verdict) -> str:
    name, until = verdict.transaction.transactional_id, verdict.transaction.timeout_at_ms
    fence = f"eosctl fence --transactional-id {shlex.quote(str(name))}"
    if verdict.advice is Advice.FENCE:
        then = ", then abort this one, which that does not end" if verdict.hangs else ", which ends its transaction"
        return f"fence its producer first: {fence}{then}"
    if verdict.advice is Advice.COMPLETE:
        return (
            f"have the application of {name} commit or abort its two-phase transaction first: no timeout ends it "
            "(KIP-939)"
        )
    if verdict.advice is Advice.WAIT and until is not None:
        return (
            f"wait: its coordinator aborts it after its timeout, at {rfc3339(until)}; or fence its producer, which "
            f"aborts it in all its partitions: {fence}"
        )
    if verdict.advice is Advice.WAIT:
        return "wait until its coordinator ends it; --force aborts it here, which may break the transaction in two"
    return "wait, or give --max-transaction-timeout; --force aborts it all the same"


def _danger(objection: str) -> str:
    return (
        f"{objection}; with --force its records here are aborted although its client may still commit the others. "
        "Consumers then read only a part of the transaction"
    )


def _abort_step(transaction: OpenTransaction, cluster_id: str, *, forced: bool) -> PlannedStep:
    place, producer = transaction.topic_partition, transaction.producer
    epoch = transaction.active.coordinator_epoch
    step = AbortTransaction(
        Side.SOURCE,
        place.topic,
        place.partition,
        producer.producer_id,
        producer.producer_epoch,
        0 if epoch is None else epoch,
        transaction.start_offset,
        forced,
    )
    return PlannedStep(step, (ClusterIs(Side.SOURCE, cluster_id), *step.implied()))


# Writes commit markers that are missing although the coordinator decided to commit.
#
# 1. Only a transaction that hangs by KIP-664's rule, and whose commit is in the transaction log with this partition.
# 2. Up to transaction.version 1 the ID's next transaction has the same epoch. While one is in progress, its client may
#    write to the partition, and the marker would commit a part of it: that is refused.


def plan_missing_markers(
    request: MissingMarkerRequest, verdicts: Sequence[Verdict], as_of: int, cluster_id: str
) -> Planned:
    """The plan by the rules above. verdicts are on everything open in the partitions of the ID's transactions."""
    chosen = [each for each in verdicts if _lacks_marker(request, each)]
    against = tuple(why for each in chosen if (why := _why_in_progress(each.transaction)) is not None)
    if not chosen:
        against = (
            f"no partition lacks the commit marker of {request.transactional_id}, producer {request.producer}, as far "
            "as the transaction log has its commits",
        )
    steps = () if against else tuple(_marker_step(each, cluster_id) for each in chosen)
    hint = "`eosctl transactions hanging` shows what hangs, and which decision the log has" if against else None
    return Planned(plan=Plan(COMMIT, as_of, steps), cluster_id=cluster_id, objections=against, hint=hint)


def _lacks_marker(request: MissingMarkerRequest, verdict: Verdict) -> bool:
    match verdict.decision:
        case Decision(committed=True, transactional_id=request.transactional_id):
            return verdict.hangs and verdict.transaction.producer == request.producer
    return False


def _why_in_progress(transaction: OpenTransaction) -> str | None:
    described = transaction.description
    if described is None or not described.state.is_open or described.producer != transaction.producer:
        return None
    return (
        f"{described.transactional_id} has another transaction in progress under the same producer epoch "
        f"({described.state.value}), which its client may extend to {transaction.topic_partition}: stop that first"
    )


def _marker_step(verdict: Verdict, cluster_id: str) -> PlannedStep:
    transaction, decision = verdict.transaction, verdict.decision
    assert isinstance(decision, Decision)
    place, producer, epoch = transaction.topic_partition, transaction.producer, transaction.active.coordinator_epoch
    step = WriteCommitMarker(
        Side.SOURCE,
        place.topic,
        place.partition,
        producer.producer_id,
        producer.producer_epoch,
        0 if epoch is None else epoch,
        transaction.start_offset,
        decision.transactional_id,
        decision.decided_ms,
    )
    return PlannedStep(step, (ClusterIs(Side.SOURCE, cluster_id), *step.implied()))
