"""Last stable offsets: how far readers of committed records come, and who keeps them from the rest."""

from collections.abc import Iterable, Sequence
from typing import Any

from eosctl.analysis.transactions import Ownership
from eosctl.model.counts import counted
from eosctl.model.hanging import OpenTransaction
from eosctl.model.last_stable import PartitionStability
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.views.transactions import owner_fields

PARTITIONS = Table(
    "partitions",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("LOG-START", "log_start_offset", "its first offset"),
        figure("LAST-STABLE", "last_stable_offset", "where readers of committed records end"),
        figure("HIGH-WATERMARK", "high_watermark", "where its records end"),
        figure("HELD-BACK", "held_back", "offsets between the two"),
        figure("HELD_S", "held_s", "since the first of them was written"),
        Column("STATE", "state", "of the transaction that holds it back", tones={"unknown": Tone.WARN}),
        Column("BY", "by", "who holds it back"),
    ),
    empty="nothing is held back",
)


def view_stability(
    partitions: Sequence[tuple[PartitionStability, Sequence[tuple[OpenTransaction, Ownership]]]],
    free: int,
    not_searched: Sequence[str],
    notes: Iterable[str],
    as_of: int,
    cluster_id: str | None,
) -> Document:
    """`transactions lso`: the partitions shown, how many others hold nothing back, and of which it is not known."""
    rows = [_row(each, owned, as_of) for each, owned in partitions]
    held = [row for row in rows if row["held_back"]]
    lost = [f"not seen, because no leader answers for them: {', '.join(not_searched)}"] if not_searched else []
    return Document(
        kind="transactions.lso",
        as_of=rfc3339(as_of),
        cluster_id=cluster_id,
        data={"partitions": rows, "partitions_not_held_back": free, "not_searched": list(not_searched)},
        blocks=(PARTITIONS,),
        prose=(f"{counted(len(held), 'partition is', 'partitions are')} held back, {free:,} not.",),
        notes=(*lost, *notes),
    )


def _row(
    stability: PartitionStability, owned: Sequence[tuple[OpenTransaction, Ownership]], as_of: int
) -> dict[str, Any]:
    offsets = stability.offsets
    held_ms = None if stability.since_ms is None else max(0, as_of - stability.since_ms)
    holders = [_holder(each, owner) for each, owner in owned]
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


def _holder(transaction: OpenTransaction, owned: Ownership) -> dict[str, Any]:
    name = transaction.transactional_id
    producer = f"producer {transaction.producer}"
    return {
        "producer_id": transaction.producer.producer_id,
        "producer_epoch": transaction.producer.producer_epoch,
        "start_offset": transaction.start_offset,
        "transactional_id": name,
        "state": "unknown" if transaction.description is None else transaction.description.state.value,
        **owner_fields(owned),
        "words": producer if name is None else f"{name} ({owned})",
    }
