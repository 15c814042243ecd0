"""Hanging transactions: each with why it hangs, what it holds back, and what to do about it."""

from collections.abc import Iterable, Sequence
from typing import Any

from eosctl.analysis.transactions import Ownership
from eosctl.model.counts import counted
from eosctl.model.hanging import (
    Advice,
    HangingReason,
    HeldBack,
    OpenTransaction,
    TransactionalIdAccess,
    Verdict,
)
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.views.transactions import owner_fields

ADVICE_TONES = {Advice.ABORT.value: Tone.BAD, Advice.FENCE.value: Tone.WARN, Advice.WAIT.value: Tone.FAINT}

HANGING = Table(
    "transactions",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("PRODUCER-ID", "producer_id", "the producer that wrote it"),
        figure("EPOCH", "producer_epoch", "its epoch"),
        figure("START-OFFSET", "start_offset", "where the transaction begins"),
        figure("OPEN_S", "open_s", "since its last batch"),
        figure("HELD-BACK", "held_back", "offsets that read_committed readers do not see"),
        Column("TRANSACTIONAL-ID", "transactional_id", "the ID that holds the producer ID"),
        Column("OWNER", "owner", "who uses it"),
        Column("REASON", "reason", "why it hangs"),
        Column("ADVICE", "advice", "abort, fence or wait", tones=ADVICE_TONES),
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
    (*HANGING.columns[:6], *HANGING.columns[7:10]),
    title="Old, and whether they hang cannot be told: a coordinator that may know them does not answer",
)

REASONS = {
    HangingReason.NO_TRANSACTIONAL_ID: "no coordinator knows its producer ID",
    HangingReason.NOT_DESCRIBED: "its coordinator does not know the transactional ID",
    HangingReason.NOT_LISTED: "its coordinator has no such transaction: the partition is not in it",
}


def hanging_row(verdict: Verdict, held: HeldBack, owned: Ownership, as_of: int) -> dict[str, Any]:
    """One of `data.transactions[]` or `data.in_progress[]`."""
    transaction, active = verdict.transaction, verdict.transaction.active
    described = transaction.description
    return {
        "topic": transaction.topic_partition.topic,
        "partition": transaction.topic_partition.partition,
        "producer_id": transaction.producer.producer_id,
        "producer_epoch": transaction.producer.producer_epoch,
        "coordinator_epoch": -1 if active.coordinator_epoch is None else active.coordinator_epoch,
        "start_offset": transaction.start_offset,
        "last_timestamp": active.last_timestamp,
        "last_time": None if active.last_timestamp is None else rfc3339(active.last_timestamp),
        "open_ms": None if active.last_timestamp is None else max(0, as_of - active.last_timestamp),
        "open_s": None if active.last_timestamp is None else round(max(0, as_of - active.last_timestamp) / 1000, 1),
        "transactional_id": transaction.transactional_id,
        **owner_fields(owned),
        "state": None if described is None else described.state.value,
        "reason": "under way" if verdict.reason is None else REASONS[verdict.reason],
        "reason_id": None if verdict.reason is None else verdict.reason.value,
        "advice": verdict.advice.value,
        "next": next_step(verdict),
        **_held_fields(held),
    }


def undecided_row(transaction: OpenTransaction, owned: Ownership, reason: str, as_of: int) -> dict[str, Any]:
    """One of `data.undecided[]`."""
    last = transaction.active.last_timestamp
    return {
        "topic": transaction.topic_partition.topic,
        "partition": transaction.topic_partition.partition,
        "producer_id": transaction.producer.producer_id,
        "producer_epoch": transaction.producer.producer_epoch,
        "start_offset": transaction.start_offset,
        "last_timestamp": last,
        "open_ms": None if last is None else max(0, as_of - last),
        "open_s": None if last is None else round(max(0, as_of - last) / 1000, 1),
        "transactional_id": transaction.transactional_id,
        **owner_fields(owned),
        "reason": reason,
    }


def _held_fields(held: HeldBack) -> dict[str, Any]:
    offsets = held.offsets
    if isinstance(offsets, Skipped):
        return {"last_stable_offset": offsets, "high_watermark": offsets, "held_back": offsets} | _waiting(held)
    return {
        "last_stable_offset": offsets.last_stable_offset,
        "high_watermark": offsets.high_watermark,
        "held_back": offsets.held_back,
    } | _waiting(held)


def _waiting(held: HeldBack) -> dict[str, Any]:
    return {
        "holds_last_stable_offset": held.holds_lso,
        "waiting_groups": held.groups,
        "waiting_connect": list(held.connect),
        "pending_offset_commits": held.commits
        if isinstance(held.commits, Skipped)
        else [{"group_id": each.group_id, "partitions": [str(p) for p in each.partitions]} for each in held.commits],
    }


def next_step(verdict: Verdict) -> str:
    """What to do about it, as a sentence with the command."""
    transaction = verdict.transaction
    where = f"--topic {transaction.topic_partition.topic} --partition {transaction.topic_partition.partition}"
    fence = f"eosctl fence --transactional-id {transaction.transactional_id}"
    abort = f"eosctl transactions abort {where} --start-offset {transaction.start_offset}"
    match verdict.advice, verdict.hangs:
        case Advice.ABORT, _:
            return f"abort it: {abort}"
        case Advice.FENCE, True:
            return f"its producer has another transaction under way, so fence it first: {fence}; then {abort}"
        case Advice.FENCE, False:
            return f"it is beyond its timeout and under way; fence its producer: {fence}"
        case Advice.WAIT, True:
            return "its coordinator is ending another transaction of the ID; look again when that is complete"
        case _:
            return "wait: its coordinator ends it, or aborts it when its transaction timeout has passed"


def view_hanging(
    rows: Sequence[tuple[Verdict, dict[str, Any]]],
    undecided: Sequence[dict[str, Any]],
    access: TransactionalIdAccess,
    partitions: int,
    not_searched: Sequence[str],
    notes: Iterable[str],
    as_of: str | None,
    cluster_id: str | None,
) -> Document:
    """What hangs, and below it what is old and does not hang, and what cannot be judged."""
    hanging = [row for verdict, row in rows if verdict.hangs]
    waiting = [row for verdict, row in rows if not verdict.hangs]
    steps = [f"{row['topic']}-{row['partition']} from {row['start_offset']}: {row['next']}" for row in hanging]
    unsure = [] if access.unknown is None else [f"not certain: {access.unknown}"]
    unsure += [f"not searched, because no leader answers for them: {', '.join(not_searched)}"] if not_searched else []
    return Document(
        kind="transactions.hanging",
        as_of=as_of,
        cluster_id=cluster_id,
        data={
            "transactions": hanging,
            "in_progress": waiting,
            "undecided": list(undecided),
            "searched_partitions": partitions,
            "not_searched": list(not_searched),
            "uncertain": access.unknown,
        },
        blocks=(HANGING, *([IN_PROGRESS] if waiting else []), *([UNDECIDED] if undecided else [])),
        prose=(f"{counted(len(hanging), 'hanging transaction')} in {counted(partitions, 'partition')} searched.",),
        notes=(*steps, *_who_waits(hanging), *unsure, *notes),
    )


def _pending(commits: Skipped | list[dict[str, Any]]) -> list[str]:
    if isinstance(commits, Skipped):
        return []
    return [
        f"members of group {each['group_id']} that read committed: their offsets for {', '.join(each['partitions'])} "
        "are not decided"
        for each in commits
    ]


def _who_waits(rows: Sequence[dict[str, Any]]) -> list[str]:
    said = []
    for row in rows:
        groups = row["waiting_groups"]
        names = [] if isinstance(groups, Skipped) else [f"group {each.group_id} (lag {each.lag})" for each in groups]
        waiting = [*names, *row["waiting_connect"], *_pending(row["pending_offset_commits"])]
        if waiting:
            said.append(f"behind {row['topic']}-{row['partition']} may wait: {', '.join(waiting)}")
    return list(dict.fromkeys(said))
