"""Transactions with their owners: listed, described, and the producers of partitions."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from msgspec import Struct

from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transactions import (
    NO_OWNER,
    ActiveProducer,
    HiddenIds,
    LeaderOwner,
    ListedTransaction,
    Owner,
    Ownership,
    ProducerList,
    TaskOwner,
    TransactionDescription,
    TransactionDescriptions,
    TransactionList,
    TransactionState,
    UndescribedId,
)
from eosctl.render.cells import brief_owner
from eosctl.render.document import Column, Document, RowStream, Table, Tone, col, columns, tree

# Partitions, and who owns a transactional ID: the same shapes in several documents.


STATE_TONES = {"Ongoing": Tone.WARN, "PrepareCommit": Tone.WARN, "PrepareAbort": Tone.WARN}


class PartitionRow(Struct, frozen=True):
    """A partition of a topic."""

    topic: str
    partition: int


class OwnerRow(Struct, frozen=True):
    """The owner of a transactional ID: connect-leader or connect-task; connector and task are null for a leader."""

    kind: str
    group_id: str
    connector: str | None
    task: int | None


OwnerWords: TypeAlias = Annotated[str, col("its owner, or the shape of its name", brief=brief_owner)]


class OwnerFields(Struct, frozen=True):
    """owner in words, owners in parts; shapes are hints of where the form of the ID comes from."""

    owner: OwnerWords
    owners: list[OwnerRow]
    shapes: list[str]


# The answers of `transactions list`, `describe`, `producers` and `lso`.


class DescribedFields(OwnerFields, frozen=True):
    """The coordinator's description of an ID; null and empty if it was not described."""

    producer_epoch: Annotated[int | None, col("the producer's epoch", "EPOCH")]
    timeout_ms: int | None
    timeout_s: Annotated[float | None, "its transaction timeout, after which the coordinator aborts"]
    two_phase_commit: bool | None
    start_ms: int | None
    started: Annotated[str | None, "when its open transaction began, UTC"]
    partitions: list[PartitionRow]
    partition_names: Annotated[
        list[str], col("partitions of the open transaction; in Prepare*, partitions whose marker is missing", "OPEN-IN")
    ]
    partition_count: Annotated[int, col("partitions in its open transaction", "PARTITIONS")]


class TransactionRow(DescribedFields, frozen=True):
    """A transactional ID; error says why it could not be described."""

    transactional_id: Annotated[str, "the ID"]
    state: Annotated[TransactionState | None, col("its state at the coordinator", tones=STATE_TONES)]
    producer_id: Annotated[int | None, "the producer that holds it"]
    coordinator: Annotated[int | None, "the broker that coordinates it"]
    running_ms: int | None
    running_s: Annotated[float | None, "how long its transaction has been open"]
    error: Annotated[str | None, "why it could not be described"]


class UnansweredRow(Struct, frozen=True):
    """A broker that did not list its transactions, and why."""

    broker: int
    reason: str


class TransactionsData(Struct, frozen=True):
    """The IDs that match; missing says what keeps the list from being whole."""

    transactions: list[TransactionRow]
    hidden: HiddenIds | Skipped
    unanswered: list[UnansweredRow]
    missing: list[str]


class DescriptionsData(Struct, frozen=True):
    """One row for each ID that was asked for, in their order."""

    transactions: list[TransactionRow]


class ProducerFields(OwnerFields, frozen=True):
    """A producer that the leader of a partition remembers, in the protocol's own fields."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    producer_id: Annotated[int, "a producer that the partition's leader remembers"]
    producer_epoch: Annotated[int, col("its epoch", "EPOCH")]
    last_sequence: Annotated[int, col("the sequence number of its last record", "SEQUENCE")]
    last_timestamp: int | None
    last_time: Annotated[str | None, "the timestamp of its last batch, UTC"]
    coordinator_epoch: Annotated[
        int | None, col("the coordinator epoch of its last marker; - where there was none", "MARKER-EPOCH")
    ]
    transaction_start_offset: Annotated[
        int | None, col("where its open transaction begins; - where none is open", "OPEN-FROM")
    ]


class ProducerRow(ProducerFields, frozen=True):
    """The same with the transactional ID that holds the producer ID now."""

    transactional_id: Annotated[str | None, "the ID that holds the producer ID now; - where none does"]


class ProducersData(Struct, frozen=True):
    """Producers of the partitions; not_searched are those without a leader that answers."""

    producers: list[ProducerRow]
    not_searched: list[str]


class HolderRow(OwnerFields, frozen=True):
    """A transaction that holds back a last stable offset."""

    producer_id: int
    producer_epoch: int
    start_offset: int
    transactional_id: str | None
    state: str
    two_phase_commit: bool | None
    words: str


class CountedRow(Struct, frozen=True):
    """Content of the offsets between a position and the last stable offset, for a read_committed consumer.

    removed are offsets without a record: compaction removed it.
    """

    readable: Annotated[int, "records that a read_committed consumer still gets"]
    aborted: Annotated[int, "records of aborted transactions, which it passes over"]
    markers: Annotated[int, "markers, which it passes over"]
    removed: int


class StabilityRow(Struct, frozen=True):
    """A partition: held_back are the offsets between last stable offset and high watermark.

    committed_offset is the requested group's, lag the offsets from there to the last stable offset, lag_records their
    contents; group_held_back: the group may wait for records there.
    """

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    log_start_offset: Annotated[int, col("its first offset", "LOG-START")]
    last_stable_offset: Annotated[int, col("the last stable offset: where read_committed consumers end", "LAST-STABLE")]
    high_watermark: Annotated[int, "the high watermark: the offset after its last replicated record"]
    held_back: Annotated[int, "offsets between the two"]
    held_ms: int | None
    held_s: Annotated[float | None, "the time since the first of these records"]
    state: Annotated[
        str | None, col("the coordinator's state of the transaction that holds it back", tones={"unknown": Tone.WARN})
    ]
    by: Annotated[str | None, "its transactional ID and owner, or its producer ID/epoch"]
    holders: list[HolderRow]
    committed_offset: Annotated[int | None, col("the offset that the group committed", "COMMITTED")]
    lag: Annotated[int | None, "offsets from there to the last stable offset"]
    lag_records: CountedRow | Skipped | None
    group_held_back: Annotated[
        bool | None,
        col(
            "whether the group may wait there: it committed nothing beyond the last stable offset",
            "WAITS",
            tones={"yes": Tone.WARN},
        ),
    ]


class ReadingGroupRow(Struct, frozen=True):
    """The group that was asked about; its offsets in pending_offset_commits are in a transaction that is open."""

    group_id: str
    state: str
    protocol_type: str
    pending_offset_commits: list[str] | Skipped


class GroupLagRow(Struct, frozen=True):
    """A consumer group that is behind or held back, if its members read committed: brokers do not show whether they do.

    lag_records are the offsets from its committed offsets to the last stable offsets, as far as they were counted.
    """

    group_id: Annotated[
        str, col("the consumer group; one that committed beyond a last stable offset is left out", "GROUP")
    ]
    state: str
    partitions: Annotated[int, "partitions in which it is behind or held back"]
    lag_records: CountedRow
    uncounted: Annotated[int, "offsets before the last stable offsets that were not counted"]
    held_back: Annotated[int, "offsets between last stable offset and high watermark"]


class StabilityData(Struct, frozen=True):
    """Partitions whose last stable offset is behind, and how many are not; groups are empty if one was asked about."""

    partitions: list[StabilityRow]
    partitions_not_held_back: int
    not_searched: list[str]
    group: ReadingGroupRow | None
    groups: list[GroupLagRow] | Skipped


OWNER = Column("OWNER", "owner", "who uses it", brief=brief_owner)

LISTED = Table(
    "transactions",
    columns(
        TransactionRow,
        "transactional_id state producer_id producer_epoch running_s timeout_s partition_count coordinator owner",
    ),
    empty="no transactional IDs",
)

DESCRIBED = Table(
    "transactions",
    columns(
        TransactionRow,
        "transactional_id state producer_id producer_epoch running_s timeout_s started partition_names coordinator "
        "owner error",
    ),
    empty="no transactional IDs",
)

PRODUCERS = Table(
    "producers",
    columns(
        ProducerRow,
        "topic partition producer_id producer_epoch last_sequence last_time coordinator_epoch "
        "transaction_start_offset transactional_id owner",
    ),
    empty="no producers",
)


def owner_fields(ownership: Ownership) -> dict[str, Any]:
    """owner in words; owners[] in parts; shapes[] as hints."""
    return {
        "owner": str(ownership),
        "owners": [_owner(each) for each in ownership.owners],
        "shapes": list(ownership.shapes),
    }


def _owner(owner: Owner) -> OwnerRow:
    match owner:
        case LeaderOwner(group_id=group_id):
            return OwnerRow(kind="connect-leader", group_id=group_id, connector=None, task=None)
        case TaskOwner(group_id=group_id, task=task):
            return OwnerRow(kind="connect-task", group_id=group_id, connector=task.connector, task=task.task)


def _listed_row(listed: ListedTransaction) -> TransactionRow:
    described = listed.description
    return TransactionRow(
        transactional_id=listed.transactional_id,
        state=listed.state,
        producer_id=listed.producer_id,
        coordinator=listed.coordinator,
        running_ms=listed.running_ms,
        running_s=None if listed.running_ms is None else round(listed.running_ms / 1000, 1),
        **_described_fields(described),
        **owner_fields(listed.ownership),
        error=None,
    )


def _described_fields(described: TransactionDescription | None) -> dict[str, Any]:
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
    listed = found.transactions
    open_now = sum(1 for each in listed if each.state.is_open)
    data = TransactionsData(
        transactions=RowStream(len(listed), lambda: (tree(_listed_row(each)) for each in listed)),
        hidden=found.hidden,
        unanswered=[UnansweredRow(broker=node_id, reason=reason) for node_id, reason in found.unanswered.items()],
        missing=list(found.missing),
    )
    return Document(
        kind="transactions.list",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(LISTED,),
        prose=(f"{pluralize(len(listed), 'transactional ID')}, {open_now} with a transaction in progress.",),
        notes=(*found.missing, *found.notes),
    )


def _undescribed_row(unknown: UndescribedId) -> TransactionRow:
    return TransactionRow(
        transactional_id=unknown.transactional_id,
        state=None,
        producer_id=None,
        coordinator=None,
        running_ms=None,
        running_s=None,
        **_described_fields(None),
        **owner_fields(unknown.ownership),
        error=unknown.reason,
    )


def view_descriptions(found: TransactionDescriptions) -> Document:
    """`transactions describe`: one row for each ID that was asked for, in their order."""
    data = DescriptionsData(
        transactions=[
            _undescribed_row(each) if isinstance(each, UndescribedId) else _listed_row(each)
            for each in found.transactions
        ]
    )
    return Document(
        kind="transactions.describe",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(DESCRIBED,),
        notes=found.notes,
    )


def _producer_fields(active: ActiveProducer) -> dict[str, Any]:
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
    data = ProducersData(
        producers=[_producer_row(each, found) for each in found.producers],
        not_searched=[str(each) for each in found.not_searched],
    )
    return Document(
        kind="transactions.producers",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(PRODUCERS,),
        prose=(f"{pluralize(len(found.producers), 'producer')}, {open_now} with a transaction open in the partition.",),
        notes=(*unseen(found.not_searched), *found.notes),
    )


def _producer_row(active: ActiveProducer, found: ProducerList) -> ProducerRow:
    name = found.transactional_ids.get(active.producer.producer_id)
    owned = NO_OWNER if name is None else found.owners[name]
    return ProducerRow(**_producer_fields(active), transactional_id=name, **owner_fields(owned))


def unseen(partitions: Sequence[TopicPartition]) -> tuple[str, ...]:
    """The note on partitions that an answer lacks because no leader answers for them."""
    if not partitions:
        return ()
    return (f"not seen, because no leader answers for them: {', '.join(map(str, partitions))}",)
