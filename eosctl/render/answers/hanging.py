"""Hanging transactions: each with its reason, its effects, and the next step."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Struct

from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.hanging import (
    Advice,
    Decision,
    GroupLag,
    GroupReading,
    HangingReason,
    HangingTransactions,
    HeldBack,
    LastStableOffsets,
    OpenTransaction,
    PartitionStability,
    UnknownAge,
    Verdict,
    WaitingGroup,
)
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import ClusterClock, rfc3339
from eosctl.model.transactions import NO_OWNER, Ownership, TransactionState
from eosctl.render.answers.transactions import (
    CountedRow,
    GroupLagRow,
    HolderRow,
    OwnerFields,
    ReadingGroupRow,
    StabilityData,
    StabilityRow,
    owner_fields,
    unseen,
)
from eosctl.render.document import Document, Table, Tone, col, columns, row_of

# The answer of `transactions hanging`.


ADVICE_TONES = {
    Advice.ABORT.value: Tone.BAD,
    Advice.FENCE.value: Tone.WARN,
    Advice.COMPLETE.value: Tone.WARN,
    Advice.WAIT.value: Tone.FAINT,
    Advice.COMMIT.value: Tone.BAD,
    Advice.UNKNOWN.value: Tone.BAD,
}


class OpenTransactionFields(OwnerFields, frozen=True):
    """An open transaction of a partition and its owner."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    producer_id: Annotated[int, "the producer that wrote it"]
    producer_epoch: Annotated[int, col("its epoch", "EPOCH")]
    start_offset: Annotated[int, "where the transaction begins"]
    last_timestamp: int | None
    transactional_id: Annotated[str | None, "the ID that holds the producer ID; - where none does"]


class TimedFields(OpenTransactionFields, frozen=True):
    """For how long it has been open: since its last batch."""

    open_ms: int | None
    open_s: Annotated[float | None, "seconds since its last batch"]


class PendingCommitRow(Struct, frozen=True):
    """A group whose offset commits are in the transaction, and the partitions they are of."""

    group_id: str
    partitions: list[str]


class HeldBackFields(TimedFields, frozen=True):
    """The effects of the transaction, and the consumers that may wait for it."""

    last_stable_offset: int | Skipped
    high_watermark: int | Skipped
    held_back: Annotated[int | Skipped, "offsets that read_committed consumers do not see"]
    holds_last_stable_offset: bool
    waiting_groups: Sequence[WaitingGroup] | Skipped
    waiting_connect: list[str]
    pending_offset_commits: list[PendingCommitRow] | Skipped


class DecisionRow(Struct, frozen=True):
    """The decision of the coordinator, which the transaction log has."""

    transactional_id: str
    committed: bool
    decided_ms: int
    decided: str


class JudgedRow(HeldBackFields, frozen=True):
    """A transaction that hangs, or is old and in progress; next is what to do, with the command.

    decision is null where the coordinator decided on nothing with this partition.
    """

    coordinator_epoch: int
    last_time: str | None
    state: TransactionState | None
    reason: Annotated[str, "why it hangs"]
    reason_id: HangingReason | None
    advice: Annotated[Advice, col("abort, commit, fence, complete, wait or unknown", tones=ADVICE_TONES)]
    decision: DecisionRow | Skipped | None
    next: str


class UndecidedRow(TimedFields, frozen=True):
    """A transaction that may hang; its state is unknown."""

    reason: Annotated[str, "why it is not known whether it hangs"]


class UndatedRow(OpenTransactionFields, frozen=True):
    """A transaction that no coordinator will end, and whose age is unknown."""

    last_time: str | None
    reason: Annotated[str, "why it is not known how old it is"]
    reason_id: HangingReason | None
    next: str


class HangingData(Struct, frozen=True):
    """Hanging transactions, old ones that do not hang, and ones that cannot be judged; uncertain gives the reason why
    there may be more."""

    transactions: list[JudgedRow]
    in_progress: list[JudgedRow]
    undecided: list[UndecidedRow]
    undated: list[UndatedRow]
    cluster_clock: ClusterClock | Skipped | None
    searched_partitions: int
    not_searched: list[str]
    uncertain: str | None


HANGING = Table(
    "transactions",
    columns(
        JudgedRow,
        "topic partition producer_id producer_epoch start_offset open_s held_back transactional_id owner reason advice",
    ),
    empty="no hanging transactions",
)

IN_PROGRESS = Table(
    "in_progress",
    HANGING.columns,
    title="Old, but not hanging: their coordinators know them",
)

UNDECIDED = Table(
    "undecided",
    columns(
        UndecidedRow, "topic partition producer_id producer_epoch start_offset open_s transactional_id owner reason"
    ),
    title="Old, and whether they hang is not known: a coordinator that may know them does not answer",
)

UNDATED = Table(
    "undated",
    columns(UndatedRow, "topic partition producer_id producer_epoch start_offset transactional_id owner reason"),
    title="No coordinator will end them, and their age is not known: they hang unless they began just now",
)

REASONS = {
    HangingReason.NO_TRANSACTIONAL_ID: "no coordinator knows its producer ID",
    HangingReason.NOT_DESCRIBED: "its coordinator does not know the transactional ID",
    HangingReason.NOT_LISTED: "its coordinator has no such transaction: the partition is not in it",
    HangingReason.OVERTAKEN: "it is complete, its marker is missing, and a later one of its producer is open here",
}


def _transaction_fields(transaction: OpenTransaction, found: HangingTransactions) -> dict[str, Any]:
    """The transaction itself and its owner."""
    name = transaction.transactional_id
    return {
        "topic": transaction.topic_partition.topic,
        "partition": transaction.topic_partition.partition,
        "producer_id": transaction.producer.producer_id,
        "producer_epoch": transaction.producer.producer_epoch,
        "start_offset": transaction.start_offset,
        "last_timestamp": transaction.active.last_timestamp,
        "transactional_id": name,
        **owner_fields(NO_OWNER if name is None else found.owners[name]),
    }


def _timed_fields(transaction: OpenTransaction, found: HangingTransactions) -> dict[str, Any]:
    last = transaction.active.last_timestamp
    open_ms = None if last is None else max(0, found.as_of - last)
    return {"open_ms": open_ms, "open_s": None if open_ms is None else round(open_ms / 1000, 1)}


def _last_time(transaction: OpenTransaction) -> str | None:
    last = transaction.active.last_timestamp
    return None if last is None else rfc3339(last)


def _judged_row(verdict: Verdict, found: HangingTransactions) -> JudgedRow:
    transaction = verdict.transaction
    described, epoch = transaction.description, transaction.active.coordinator_epoch
    return JudgedRow(
        **_transaction_fields(transaction, found),
        **_timed_fields(transaction, found),
        coordinator_epoch=-1 if epoch is None else epoch,
        last_time=_last_time(transaction),
        state=None if described is None else described.state,
        reason="in progress" if verdict.reason is None else REASONS[verdict.reason],
        reason_id=verdict.reason,
        advice=verdict.advice,
        decision=_decision_row(verdict.decision),
        next=_next_step(verdict),
        **_held_fields(found.held_back[transaction.place]),
    )


def _decision_row(decision: Decision | Skipped | None) -> DecisionRow | Skipped | None:
    if not isinstance(decision, Decision):
        return decision
    return row_of(DecisionRow, decision, decided=rfc3339(decision.decided_ms))


def _undecided_row(transaction: OpenTransaction, found: HangingTransactions) -> UndecidedRow:
    reason = "; ".join(found.undecided_reasons)
    return UndecidedRow(**_transaction_fields(transaction, found), **_timed_fields(transaction, found), reason=reason)


def _undated_row(undated: UnknownAge, found: HangingTransactions) -> UndatedRow:
    transaction = undated.transaction
    then = f"{_abort(transaction)} --force" if undated.decision is None else _unknown(transaction, undated.decision)
    return UndatedRow(
        **_transaction_fields(transaction, found),
        last_time=_last_time(transaction),
        reason=undated.reason,
        reason_id=transaction.reason,
        next=f"correct the clock, or look again after the longest transaction timeout; if it is still there: {then}",
    )


def _held_fields(held: HeldBack) -> dict[str, Any]:
    offsets = held.offsets
    return {
        "last_stable_offset": offsets if isinstance(offsets, Skipped) else offsets.last_stable_offset,
        "high_watermark": offsets if isinstance(offsets, Skipped) else offsets.high_watermark,
        "held_back": offsets if isinstance(offsets, Skipped) else offsets.held_back,
        "holds_last_stable_offset": held.holds_lso,
        "waiting_groups": held.groups,
        "waiting_connect": list(held.connect),
        "pending_offset_commits": held.commits
        if isinstance(held.commits, Skipped)
        else [PendingCommitRow(each.group_id, [str(p) for p in each.partitions]) for each in held.commits],
    }


def _next_step(verdict: Verdict) -> str:
    """The next step, as a sentence with the command."""
    if verdict.reason is HangingReason.OVERTAKEN:
        return _of_overtaken(verdict)
    if verdict.decision is not None and verdict.advice in {Advice.COMMIT, Advice.UNKNOWN}:
        return _unknown(verdict.transaction, verdict.decision)
    return _ended_by(verdict)


def _ended_by(verdict: Verdict) -> str:
    transaction = verdict.transaction
    fence = f"eosctl fence --transactional-id {shlex.quote(str(transaction.transactional_id))}"
    abort = _abort(transaction)
    match verdict.advice, verdict.hangs:
        case Advice.COMPLETE, hangs:
            return _completed(fence, abort, hangs=hangs)
        case Advice.ABORT, _:
            return f"abort it: {abort}"
        case Advice.FENCE, True:
            return f"its producer has another transaction in progress, so fence it first: {fence}; then {abort}"
        case Advice.FENCE, False:
            return f"it is beyond its timeout and in progress; fence its producer: {fence}"
        case Advice.WAIT, True:
            return "its coordinator is ending another transaction of the ID; look again when that is complete"
        case _:
            return _waited(transaction, fence)


def _of_overtaken(verdict: Verdict) -> str:
    """The marker of the later transaction ends both."""
    transaction, decision = verdict.transaction, verdict.decision
    name = shlex.quote(str(transaction.transactional_id))
    both = f"the marker of the transaction that {name} has in progress ends it here, too"
    match decision:
        case Decision(committed=True, decided_ms=at):
            return (
                f"its coordinator committed it at {rfc3339(at)}; {both}: let its producer commit. A timeout, `eosctl "
                "fence` and `eosctl transactions abort` abort both, which loses committed records"
            )
        case Skipped():
            return f"{both}; {_unknown(transaction, decision)}"
    ended = "ended no transaction with it" if decision is None else f"aborted it at {rfc3339(decision.decided_ms)}"
    return (
        f"its coordinator {ended}; {both}, so a commit shows its records. Fence its producer, which aborts both, if "
        f"its application repeats what is aborted: eosctl fence --transactional-id {name}"
    )


def _unknown(transaction: OpenTransaction, decision: Decision | Skipped) -> str:
    """Of a transaction that was committed, or may have been."""
    if isinstance(decision, Skipped):
        return f"whether it was committed is not known: {decision.reason}; {transaction.decided_by}"
    return (
        f"its coordinator committed it at {rfc3339(decision.decided_ms)}, and an abort would hide its records for "
        f"ever; {decision.finished_by(transaction)}"
    )


def _waited(transaction: OpenTransaction, fence: str) -> str:
    until = transaction.timeout_at_ms
    if until is None:
        return "wait: its coordinator is ending it"
    return f"wait: its coordinator aborts it after its timeout, at {rfc3339(until)}; to end it now: {fence}"


def _completed(fence: str, abort: str, *, hangs: bool) -> str:
    if hangs:
        return (
            "its producer has a transaction of two-phase commit in progress (KIP-939); have its application commit or "
            f"abort that first; then {abort}"
        )
    return (
        "it is of two-phase commit (KIP-939), and no timeout ends it; have its application commit or abort it. "
        f"Only if the application will never run again: {fence}, which aborts it"
    )


def _abort(transaction: OpenTransaction) -> str:
    topic, partition = transaction.topic_partition.topic, transaction.topic_partition.partition
    return (
        f"eosctl transactions abort --topic {topic} --partition {partition} --start-offset {transaction.start_offset}"
    )


def view_hanging(found: HangingTransactions) -> Document:
    """Hanging transactions, then old ones that do not hang, and ones that cannot be judged."""
    hanging = [_judged_row(each, found) for each in found.verdicts if each.hangs]
    waiting = [_judged_row(each, found) for each in found.verdicts if not each.hangs]
    undecided = [_undecided_row(each, found) for each in found.undecided]
    undated = [_undated_row(each, found) for each in found.undated]
    advised: list[JudgedRow | UndatedRow] = [*hanging, *undated]
    steps = [f"{row.topic}-{row.partition} from {row.start_offset}: {row.next}" for row in advised]
    lost = [str(each) for each in found.not_searched]
    unsure = [] if found.access.unknown is None else [f"not certain: {found.access.unknown}"]
    unsure += [f"not searched, because no leader answers for them: {', '.join(lost)}"] if lost else []
    count = pluralize(found.searched, "partition")
    data = HangingData(
        transactions=hanging,
        in_progress=waiting,
        undecided=undecided,
        undated=undated,
        cluster_clock=found.clock,
        searched_partitions=found.searched,
        not_searched=lost,
        uncertain=found.access.unknown,
    )
    return Document(
        kind="transactions.hanging",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(
            HANGING,
            *([IN_PROGRESS] if waiting else []),
            *([UNDECIDED] if undecided else []),
            *([UNDATED] if undated else []),
        ),
        prose=(f"{pluralize(len(hanging), 'hanging transaction')} in {count} searched.",),
        notes=(*steps, *_who_waits(hanging), *_in_progress(found), *unsure, *found.notes),
    )


def _in_progress(found: HangingTransactions) -> list[str]:
    """The number of partitions that open transactions hold back without hanging, and the least time since."""
    alive = [*found.young, *(each.transaction.active for each in found.verdicts if not each.hangs)]
    places = sorted({each.topic_partition for each in alive})
    if not places:
        return []
    times = [each.last_timestamp for each in alive if each.last_timestamp is not None]
    since = f" (last batch at {rfc3339(min(times))})" if times else ""
    names = " ".join(f"--topic {shlex.quote(name)}" for name in dict.fromkeys(each.topic for each in places))
    held = "1 partition is" if len(places) == 1 else f"{len(places):,} partitions are"
    which = "that are in progress, or too young to be hanging"
    return [f"{held} held back by open transactions {which}{since}: eosctl transactions lso {names}"]


def _pending(commits: Skipped | list[PendingCommitRow]) -> list[str]:
    if isinstance(commits, Skipped):
        return []
    return [
        f"members of group {each.group_id} that read committed: their offsets for {', '.join(each.partitions)} "
        "are not decided"
        for each in commits
    ]


def _who_waits(rows: Sequence[JudgedRow]) -> list[str]:
    said = []
    for row in rows:
        groups = row.waiting_groups
        names = [] if isinstance(groups, Skipped) else [f"{each} (lag {each.lag})" for each in groups]
        waiting = [*names, *row.waiting_connect, *_pending(row.pending_offset_commits)]
        if waiting:
            said.append(f"after {row.topic}-{row.partition} may wait: {', '.join(waiting)}")
    return list(dict.fromkeys(said))


# Last stable offsets: how far read_committed consumers come, and who keeps them from the rest.


PARTITIONS = Table(
    "partitions",
    columns(
        StabilityRow, "topic partition log_start_offset last_stable_offset high_watermark held_back held_s state by"
    ),
    empty="no partition is blocked",
)

OF_A_GROUP = Table(
    "partitions",
    columns(
        StabilityRow,
        "topic partition group_held_back committed_offset lag lag_records.readable lag_records.aborted "
        "lag_records.markers last_stable_offset held_back held_s state by",
    ),
    empty="no partition that the group committed offsets of",
)


BEHIND = Table(
    "groups",
    columns(
        GroupLagRow,
        "group_id partitions lag_records.readable lag_records.aborted lag_records.markers uncounted held_back",
    ),
    title="Consumer groups with lag, counted as for read_committed",
    empty="no consumer group is behind",
    most=20,
)


def view_stability(found: LastStableOffsets) -> Document:
    """`transactions lso`: the partitions shown, and how many others hold nothing back, or are unknown."""
    rows = [stability_row(each, found) for each in found.partitions]
    held = [row for row in rows if row.held_back]
    data = StabilityData(
        partitions=rows,
        partitions_not_held_back=found.free,
        not_searched=[str(each) for each in found.not_searched],
        group=None if found.group is None else _group(found.group),
        groups=found.lags if isinstance(found.lags, Skipped) else list(_behind(found.lags)),
    )
    return Document(
        kind="transactions.lso",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(PARTITIONS, *(() if isinstance(data.groups, Skipped) else (BEHIND,)))
        if found.group is None
        else (OF_A_GROUP,),
        prose=(
            (f"{len(held):,} of {len(held) + found.free:,} partitions blocked",)
            if found.group is None
            else tuple(_of_the_group(found.group, found))
        ),
        notes=(*_endings(found), *_uncounted(data.groups), *unseen(found.not_searched), *found.notes),
    )


def _behind(lags: Sequence[GroupLag]) -> Iterator[GroupLagRow]:
    for each in lags:
        if each.partitions:
            yield row_of(
                GroupLagRow,
                each,
                group_id=each.group.group_id,
                state=each.group.state,
                lag_records=row_of(CountedRow, each.counts),
            )


def _uncounted(rows: Sequence[GroupLagRow] | Skipped) -> Iterator[str]:
    if isinstance(rows, Skipped):
        yield f"the lag of consumer groups is not known: {rows.reason}"
        return
    far = [row for row in rows if row.uncounted]
    if far:
        worst = max(far, key=lambda row: row.uncounted)
        command = f"eosctl transactions lso --group {shlex.quote(worst.group_id)} --within {worst.uncounted}"
        yield f"not all offsets before {pluralize(len(far), 'group')} were counted; to count them: {command}"


def _endings(found: LastStableOffsets) -> Iterator[str]:
    """Of each transaction that was overtaken, or that a group may wait for, how it ends."""
    for verdict in found.overtaken.values():
        transaction = verdict.transaction
        yield f"{transaction.topic_partition} from {transaction.start_offset}: {_of_overtaken(verdict)}"
    group = found.group
    if group is None:
        return
    for each in found.partitions:
        topic = each.offsets.topic_partition.topic
        waits = topic == CONSUMER_OFFSETS or group.is_held_back(each.offsets)
        for held in each.holders if waits else ():
            if held.place in found.overtaken:
                continue
            yield f"{each.offsets.topic_partition} from {held.start_offset}: {_ending(held)}"


def _ending(held: OpenTransaction) -> str:
    if held.reason is not None:
        return (
            f"it may hang ({REASONS[held.reason]}); whether it does, and how to end it: "
            f"eosctl transactions hanging --topic {shlex.quote(held.topic_partition.topic)}"
        )
    fence = f"eosctl fence --transactional-id {shlex.quote(str(held.transactional_id))}"
    if held.description is not None and held.description.is_two_phase:
        return _completed(fence, _abort(held), hangs=False)
    return _waited(held, fence)


def stability_row(stability: PartitionStability, found: LastStableOffsets) -> StabilityRow:
    """The fields of the group are null where none was asked about, or where it committed no offset."""
    offsets = stability.offsets
    held_ms = None if stability.since_ms is None else max(0, found.as_of - stability.since_ms)
    holders = [_holder(each, found.owners) for each in stability.holders]
    committed = None if found.group is None else found.group.at(offsets.topic_partition)
    counts = found.counts.get(offsets.topic_partition)
    return row_of(
        StabilityRow,
        offsets,
        topic=offsets.topic_partition.topic,
        partition=offsets.topic_partition.partition,
        held_ms=held_ms,
        held_s=None if held_ms is None else round(held_ms / 1000, 1),
        state=holders[0].state if holders else None,
        by="; ".join(each.words for each in holders) if holders else None,
        holders=holders,
        committed_offset=committed,
        lag=None if committed is None else max(0, offsets.last_stable_offset - committed),
        lag_records=counts if counts is None or isinstance(counts, Skipped) else row_of(CountedRow, counts),
        group_held_back=None if found.group is None else found.group.is_held_back(offsets),
    )


def _group(group: GroupReading) -> ReadingGroupRow:
    pending = group.pending
    return ReadingGroupRow(
        group_id=group.group_id,
        state=group.group.state,
        protocol_type=group.group.protocol_type,
        pending_offset_commits=pending if isinstance(pending, Skipped) else [str(each) for each in pending],
    )


def _of_the_group(group: GroupReading, found: LastStableOffsets) -> Iterator[str]:
    listed = group.group
    named = f"{listed} ({listed.state})" if listed.state else str(listed)
    name = named[0].upper() + named[1:]
    if isinstance(group.committed, Skipped):
        yield f"{name}: the offsets that it committed were not read."
    elif not group.committed:
        yield f"{name} has committed no offsets, so which partitions it reads is not known: name them with --topic."
    else:
        places = [each.offsets for each in found.partitions if each.offsets.topic_partition in group.committed]
        waits = sum(map(group.is_held_back, places))
        read = pluralize(len(places), "partition")
        yield f"{name} may wait for a transaction in {waits:,} of the {read} that it reads."
    if isinstance(group.pending, Skipped):
        yield f"It is not known whether a transaction commits offsets of the group: {group.pending.reason}."
    elif group.pending:
        yield (
            f"Its offsets in {first_few(group.pending)} are in an open transaction (in {CONSUMER_OFFSETS}). A member "
            "starts there only after it ends: of Java clients any, of librdkafka one with read_committed."
        )


def _holder(transaction: OpenTransaction, owners: Mapping[str, Ownership]) -> HolderRow:
    name = transaction.transactional_id
    owned = NO_OWNER if name is None else owners[name]
    producer = f"producer {transaction.producer}"
    two_phase = transaction.description is not None and transaction.description.is_two_phase
    words = producer if name is None else f"{name} ({owned})"
    return HolderRow(
        producer_id=transaction.producer.producer_id,
        producer_epoch=transaction.producer.producer_epoch,
        start_offset=transaction.start_offset,
        transactional_id=name,
        state="unknown" if transaction.description is None else transaction.description.state.value,
        **owner_fields(owned),
        two_phase_commit=None if transaction.description is None else two_phase,
        words=f"{words}, two-phase commit: no timeout ends it" if two_phase else words,
    )
