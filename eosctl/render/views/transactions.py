"""Transactions with their owners: listed, described, and the producers of partitions."""

from collections.abc import Sequence

from eosctl.model.counts import counted
from eosctl.model.names import TopicPartition
from eosctl.model.producers import ActiveProducer
from eosctl.model.times import rfc3339
from eosctl.model.transactions import (
    NO_OWNER,
    LeaderOwner,
    ListedTransaction,
    Owner,
    Ownership,
    ProducerList,
    TaskOwner,
    TransactionDescription,
    TransactionDescriptions,
    TransactionList,
    UndescribedId,
)
from eosctl.render.brief import brief_owner
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.documents.places import OwnerFields, OwnerRow
from eosctl.render.documents.transactions import (
    DescribedFields,
    DescriptionsData,
    ProducerFields,
    ProducerRow,
    ProducersData,
    TransactionRow,
    TransactionsData,
)

STATE_TONES = {"Ongoing": Tone.WARN, "PrepareCommit": Tone.WARN, "PrepareAbort": Tone.WARN}

OWNER = Column("OWNER", "owner", "who uses it", brief=brief_owner)

LISTED = Table(
    "transactions",
    (
        Column("TRANSACTIONAL-ID", "transactional_id", "the ID"),
        Column("STATE", "state", "the coordinator's state of it", tones=STATE_TONES),
        figure("PRODUCER-ID", "producer_id", "the producer that holds it"),
        figure("EPOCH", "producer_epoch", "its epoch"),
        figure("RUNNING-S", "running_s", "how long its transaction has been open"),
        figure("TIMEOUT-S", "timeout_s", "its transaction timeout"),
        figure("PARTITIONS", "partition_count", "partitions in its open transaction"),
        figure("COORDINATOR", "coordinator", "the broker that coordinates it"),
        OWNER,
    ),
    empty="no transactional IDs",
)

DESCRIBED = Table(
    "transactions",
    (
        *LISTED.columns[:6],
        Column("STARTED", "started", "when its open transaction began, UTC"),
        Column("OPEN-IN", "partition_names", "partitions of the open transaction; in Prepare* those without a marker"),
        figure("COORDINATOR", "coordinator", "the broker that coordinates it"),
        OWNER,
        Column("ERROR", "error", "why it could not be described", tones={}),
    ),
    empty="no transactional IDs",
)

PRODUCERS = Table(
    "producers",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("PRODUCER-ID", "producer_id", "a producer that the partition's leader remembers"),
        figure("EPOCH", "producer_epoch", "its epoch"),
        figure("SEQUENCE", "last_sequence", "the sequence number of its last record"),
        Column("LAST-TIME", "last_time", "the timestamp of its last batch, UTC"),
        figure("MARKER-EPOCH", "coordinator_epoch", "coordinator epoch of its last marker; - where there was none"),
        figure("OPEN-FROM", "transaction_start_offset", "where its open transaction begins; - where none is open"),
        Column("TRANSACTIONAL-ID", "transactional_id", "the ID that holds the producer ID now"),
        OWNER,
    ),
    empty="no producers",
)


def owner_fields(ownership: Ownership) -> OwnerFields:
    """owner in words; owners[] in parts; shapes[] as hints."""
    return {
        "owner": str(ownership),
        "owners": [_owner(each) for each in ownership.owners],
        "shapes": list(ownership.shapes),
    }


def _owner(owner: Owner) -> OwnerRow:
    match owner:
        case LeaderOwner(group_id=group_id):
            return {"kind": "connect-leader", "group_id": group_id, "connector": None, "task": None}
        case TaskOwner(group_id=group_id, task=task):
            return {"kind": "connect-task", "group_id": group_id, "connector": task.connector, "task": task.task}


def _listed_row(listed: ListedTransaction) -> TransactionRow:
    """One of `data.transactions[]` of list and describe."""
    described = listed.description
    return {
        "transactional_id": listed.transactional_id,
        "state": listed.state,
        "producer_id": listed.producer_id,
        "coordinator": listed.coordinator,
        "running_ms": listed.running_ms,
        "running_s": None if listed.running_ms is None else round(listed.running_ms / 1000, 1),
        **_described_fields(described),
        **owner_fields(listed.ownership),
        "error": None,
    }


def _described_fields(described: TransactionDescription | None) -> DescribedFields:
    partitions = () if described is None else described.partitions
    start_ms = None if described is None else described.start_ms
    return {
        "producer_epoch": None if described is None else described.producer.producer_epoch,
        "timeout_ms": None if described is None else described.timeout_ms,
        "timeout_s": None if described is None else round(described.timeout_ms / 1000, 1),
        "two_phase_commit": None if described is None else described.is_two_phase,
        "start_ms": start_ms,
        "started": None if start_ms is None else rfc3339(start_ms),
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in partitions],
        "partition_names": [str(each) for each in partitions],
        "partition_count": len(partitions),
    }


def view_transactions(found: TransactionList) -> Document:
    """`transactions list`."""
    open_now = sum(1 for each in found.transactions if each.state.is_open)
    data: TransactionsData = {
        "transactions": [_listed_row(each) for each in found.transactions],
        "hidden": found.hidden,
        "unanswered": [{"broker": node_id, "reason": reason} for node_id, reason in found.unanswered.items()],
        "missing": list(found.missing),
    }
    return Document(
        kind="transactions.list",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(LISTED,),
        prose=(f"{counted(len(found.transactions), 'transactional ID')}, {open_now} with a transaction in progress.",),
        notes=(*found.missing, *found.notes),
    )


def _undescribed_row(unknown: UndescribedId) -> TransactionRow:
    return {
        "transactional_id": unknown.transactional_id,
        "state": None,
        "producer_id": None,
        "coordinator": None,
        "running_ms": None,
        "running_s": None,
        **_described_fields(None),
        **owner_fields(unknown.ownership),
        "error": unknown.reason,
    }


def view_descriptions(found: TransactionDescriptions) -> Document:
    """`transactions describe`: one row for each ID that was asked for, in their order."""
    data: DescriptionsData = {
        "transactions": [
            _undescribed_row(each) if isinstance(each, UndescribedId) else _listed_row(each)
            for each in found.transactions
        ]
    }
    return Document(
        kind="transactions.describe",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(DESCRIBED,),
        notes=found.notes,
    )


def _producer_fields(active: ActiveProducer) -> ProducerFields:
    """A producer of a partition in the protocol's own fields."""
    return {
        "topic": active.topic_partition.topic,
        "partition": active.topic_partition.partition,
        "producer_id": active.producer.producer_id,
        "producer_epoch": active.producer.producer_epoch,
        "last_sequence": active.last_sequence,
        "last_timestamp": active.last_timestamp,
        "last_time": None if active.last_timestamp is None else rfc3339(active.last_timestamp),
        "coordinator_epoch": active.coordinator_epoch,
        "transaction_start_offset": active.transaction_start_offset,
    }


def view_producers(found: ProducerList) -> Document:
    """`transactions producers`: each with the transactional ID that holds its producer ID, and that ID's owner."""
    open_now = sum(1 for each in found.producers if each.transaction_start_offset is not None)
    data: ProducersData = {
        "producers": [_producer_row(each, found) for each in found.producers],
        "not_searched": [str(each) for each in found.not_searched],
    }
    return Document(
        kind="transactions.producers",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(PRODUCERS,),
        prose=(f"{counted(len(found.producers), 'producer')}, {open_now} with a transaction open in the partition.",),
        notes=(*unseen(found.not_searched), *found.notes),
    )


def _producer_row(active: ActiveProducer, found: ProducerList) -> ProducerRow:
    name = found.transactional_ids.get(active.producer.producer_id)
    owned = NO_OWNER if name is None else found.owners[name]
    return {**_producer_fields(active), "transactional_id": name, **owner_fields(owned)}


def unseen(partitions: Sequence[TopicPartition]) -> tuple[str, ...]:
    """The note on partitions that an answer lacks because no leader answers for them."""
    if not partitions:
        return ()
    return (f"not seen, because no leader answers for them: {', '.join(map(str, partitions))}",)
