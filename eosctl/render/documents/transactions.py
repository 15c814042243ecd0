"""What `transactions list`, `describe`, `producers` and `lso` answer."""

from typing import TypedDict

from eosctl.model.skipped import Skipped
from eosctl.model.transactions import HiddenIds, TransactionState
from eosctl.render.documents.places import OwnerFields, PartitionRow


class DescribedFields(TypedDict):
    """What its coordinator says of an ID; null and empty where it was not described."""

    producer_epoch: int | None
    timeout_ms: int | None
    timeout_s: float | None
    two_phase_commit: bool | None
    start_ms: int | None
    started: str | None
    partitions: list[PartitionRow]
    partition_names: list[str]
    partition_count: int


class TransactionRow(DescribedFields, OwnerFields):
    """A transactional ID; error says why it could not be described."""

    transactional_id: str
    state: TransactionState | None
    producer_id: int | None
    coordinator: int | None
    running_ms: int | None
    running_s: float | None
    error: str | None


class UnansweredRow(TypedDict):
    """A broker that did not list its transactions, and why."""

    broker: int
    reason: str


class TransactionsData(TypedDict):
    """The IDs that match; missing says what keeps the list from being whole."""

    transactions: list[TransactionRow]
    hidden: HiddenIds | Skipped
    unanswered: list[UnansweredRow]
    missing: list[str]


class DescriptionsData(TypedDict):
    """One row for each ID that was asked for, in their order."""

    transactions: list[TransactionRow]


class ProducerFields(TypedDict):
    """A producer that the leader of a partition remembers, in the protocol's own fields."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int | None
    last_time: str | None
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class ProducerRow(ProducerFields, OwnerFields):
    """The same with the transactional ID that holds the producer ID now."""

    transactional_id: str | None


class ProducersData(TypedDict):
    """Producers of the partitions; not_searched are those without a leader that answers."""

    producers: list[ProducerRow]
    not_searched: list[str]


class HolderRow(OwnerFields):
    """A transaction that holds back a last stable offset."""

    producer_id: int
    producer_epoch: int
    start_offset: int
    transactional_id: str | None
    state: str
    two_phase_commit: bool | None
    words: str


class StabilityRow(TypedDict):
    """A partition: held_back are the offsets between last stable offset and high watermark.

    committed_offset is that of the group that was asked about, lag the offsets from there to the last stable offset;
    group_held_back says whether the group may be kept from records there.
    """

    topic: str
    partition: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    held_back: int
    held_ms: int | None
    held_s: float | None
    state: str | None
    by: str | None
    holders: list[HolderRow]
    committed_offset: int | None
    lag: int | None
    group_held_back: bool | None


class ReadingGroupRow(TypedDict):
    """The group that was asked about; its offsets in pending_offset_commits are in a transaction that is open."""

    group_id: str
    state: str
    pending_offset_commits: list[str] | Skipped


class StabilityData(TypedDict):
    """Partitions whose last stable offset is behind, and how many are not."""

    partitions: list[StabilityRow]
    partitions_not_held_back: int
    not_searched: list[str]
    group: ReadingGroupRow | None
