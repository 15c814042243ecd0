"""Last stable offsets: how far read_committed consumers come, and who keeps them from the rest."""

from collections.abc import Mapping

from eosctl.model.hanging import OpenTransaction
from eosctl.model.last_stable import LastStableOffsets, PartitionStability
from eosctl.model.times import rfc3339
from eosctl.model.transactions import NO_OWNER, Ownership
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.documents.transactions import HolderRow, StabilityData, StabilityRow
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
        figure("HELD_S", "held_s", "since the first of them was written"),
        Column("STATE", "state", "of the transaction that holds it back", tones={"unknown": Tone.WARN}),
        Column("BY", "by", "who holds it back"),
    ),
    empty="no partition is blocked",
)


def view_stability(found: LastStableOffsets) -> Document:
    """`transactions lso`: the partitions shown, how many others hold nothing back, and of which it is not known."""
    rows = [_row(each, found) for each in found.partitions]
    held = [row for row in rows if row["held_back"]]
    data: StabilityData = {
        "partitions": rows,
        "partitions_not_held_back": found.free,
        "not_searched": [str(each) for each in found.not_searched],
    }
    return Document(
        kind="transactions.lso",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(PARTITIONS,),
        prose=(f"{len(held):,} of {len(held) + found.free:,} partitions blocked",),
        notes=(*unseen(found.not_searched), *found.notes),
    )


def _row(stability: PartitionStability, found: LastStableOffsets) -> StabilityRow:
    offsets = stability.offsets
    held_ms = None if stability.since_ms is None else max(0, found.as_of - stability.since_ms)
    holders = [_holder(each, found.owners) for each in stability.holders]
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
    }


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
