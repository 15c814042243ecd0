"""Last stable offsets: how far read_committed consumers come, and who keeps them from the rest."""

from collections.abc import Iterator, Mapping

from eosctl.model.counts import counted, some
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.hanging import OpenTransaction
from eosctl.model.last_stable import GroupReading, LastStableOffsets, PartitionStability
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.model.transactions import NO_OWNER, Ownership
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.documents.transactions import HolderRow, ReadingGroupRow, StabilityData, StabilityRow
from eosctl.render.views.transactions import owner_fields, unseen

PARTITIONS = Table(
    "partitions",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("LOG-START", "log_start_offset", "its first offset"),
        figure("LAST-STABLE", "last_stable_offset", "where read_committed consumers end"),
        figure("HIGH-WATERMARK", "high_watermark", "where its records end"),
        figure("HELD-BACK", "held_back", "offsets between the two"),
        figure("HELD-S", "held_s", "since the first of them was written"),
        Column("STATE", "state", "of the transaction that holds it back", tones={"unknown": Tone.WARN}),
        Column("BY", "by", "who holds it back"),
    ),
    empty="no partition is blocked",
)

OF_A_GROUP = Table(
    "partitions",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        Column("WAITS", "group_held_back", "whether the group may wait there", tones={"yes": Tone.WARN}),
        figure("COMMITTED", "committed_offset", "what the group committed"),
        figure("LAG", "lag", "from there to the last stable offset"),
        figure("LAST-STABLE", "last_stable_offset", "where read_committed consumers end"),
        *PARTITIONS.columns[5:],
    ),
    empty="no partition that the group committed offsets of",
)


def view_stability(found: LastStableOffsets) -> Document:
    """`transactions lso`: the partitions shown, how many others hold nothing back, and of which it is not known."""
    rows = [_row(each, found) for each in found.partitions]
    held = [row for row in rows if row["held_back"]]
    data: StabilityData = {
        "partitions": rows,
        "partitions_not_held_back": found.free,
        "not_searched": [str(each) for each in found.not_searched],
        "group": None if found.group is None else _group(found.group),
    }
    return Document(
        kind="transactions.lso",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(PARTITIONS if found.group is None else OF_A_GROUP,),
        prose=(
            (f"{len(held):,} of {len(held) + found.free:,} partitions blocked",)
            if found.group is None
            else tuple(_of_the_group(found.group, found))
        ),
        notes=(*unseen(found.not_searched), *found.notes),
    )


def _row(stability: PartitionStability, found: LastStableOffsets) -> StabilityRow:
    offsets = stability.offsets
    held_ms = None if stability.since_ms is None else max(0, found.as_of - stability.since_ms)
    holders = [_holder(each, found.owners) for each in stability.holders]
    committed = None if found.group is None else found.group.at(offsets.topic_partition)
    return {
        "topic": offsets.topic_partition.topic,
        "partition": offsets.topic_partition.partition,
        "log_start_offset": offsets.log_start_offset,
        "last_stable_offset": offsets.last_stable_offset,
        "high_watermark": offsets.high_watermark,
        "held_back": offsets.held_back,
        "held_ms": held_ms,
        "held_s": None if held_ms is None else round(held_ms / 1000, 1),
        "state": holders[0]["state"] if holders else None,
        "by": "; ".join(each["words"] for each in holders) if holders else None,
        "holders": holders,
        "committed_offset": committed,
        "lag": None if committed is None else max(0, offsets.last_stable_offset - committed),
        "group_held_back": None if found.group is None else found.group.is_held_back(offsets),
    }


def _group(group: GroupReading) -> ReadingGroupRow:
    pending = group.pending
    return {
        "group_id": group.group_id,
        "state": group.state,
        "pending_offset_commits": pending if isinstance(pending, Skipped) else [str(each) for each in pending],
    }


def _of_the_group(group: GroupReading, found: LastStableOffsets) -> Iterator[str]:
    name = f"Group {group.group_id} ({group.state})" if group.state else f"Group {group.group_id}"
    if isinstance(group.committed, Skipped):
        yield f"{name}: the offsets that it committed were not read."
    elif not group.committed:
        yield f"{name} has committed no offsets, so which partitions it reads is not known: name them with --topic."
    else:
        places = [each.offsets for each in found.partitions if each.offsets.topic_partition in group.committed]
        waits = sum(map(group.is_held_back, places))
        read = counted(len(places), "partition")
        yield f"{name} may wait for a transaction in {waits:,} of the {read} that it reads."
    if isinstance(group.pending, Skipped):
        yield f"Whether a transaction commits offsets of the group is not known: {group.pending.reason}."
    elif group.pending:
        yield (
            f"Its offsets in {some(group.pending)} are in a transaction that is not decided (in {CONSUMER_OFFSETS}): "
            "a member that reads committed does not begin there before it ends."
        )


def _holder(transaction: OpenTransaction, owners: Mapping[str, Ownership]) -> HolderRow:
    name = transaction.transactional_id
    owned = NO_OWNER if name is None else owners[name]
    producer = f"producer {transaction.producer}"
    two_phase = transaction.description is not None and transaction.description.is_two_phase
    words = producer if name is None else f"{name} ({owned})"
    return {
        "producer_id": transaction.producer.producer_id,
        "producer_epoch": transaction.producer.producer_epoch,
        "start_offset": transaction.start_offset,
        "transactional_id": name,
        "state": "unknown" if transaction.description is None else transaction.description.state.value,
        **owner_fields(owned),
        "two_phase_commit": None if transaction.description is None else two_phase,
        "words": f"{words}, of two-phase commit: no timeout ends it" if two_phase else words,
    }
