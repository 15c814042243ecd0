"""What `transactions hanging` answers."""

from collections.abc import Sequence
from typing import TypedDict

from eosctl.model.clock import ClusterClock
from eosctl.model.hanging import Advice, HangingReason, WaitingGroup
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionState
from eosctl.render.documents.places import OwnerFields


class OpenTransactionFields(OwnerFields):
    """An open transaction of a partition and its owner."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    last_timestamp: int | None
    transactional_id: str | None


class TimedFields(TypedDict):
    """For how long it has been open: since its last batch."""

    open_ms: int | None
    open_s: float | None


class PendingCommitRow(TypedDict):
    """A group whose offset commits are in the transaction, and the partitions they are of."""

    group_id: str
    partitions: list[str]


class HeldBackFields(TypedDict):
    """What the transaction holds back, and who may wait for it."""

    last_stable_offset: int | Skipped
    high_watermark: int | Skipped
    held_back: int | Skipped
    holds_last_stable_offset: bool
    waiting_groups: Sequence[WaitingGroup] | Skipped
    waiting_connect: list[str]
    pending_offset_commits: list[PendingCommitRow] | Skipped


class JudgedRow(OpenTransactionFields, TimedFields, HeldBackFields):
    """A transaction that hangs, or is old and in progress; next is what to do, with the command."""

    coordinator_epoch: int
    last_time: str | None
    state: TransactionState | None
    reason: str
    reason_id: HangingReason | None
    advice: Advice
    next: str


class UndecidedRow(OpenTransactionFields, TimedFields):
    """A transaction of which it is not known whether it hangs."""

    reason: str


class UndatedRow(OpenTransactionFields):
    """A transaction that no coordinator will end, and of which it is not known how old it is."""

    last_time: str | None
    reason: str
    reason_id: HangingReason | None
    next: str


class HangingData(TypedDict):
    """What hangs, what is old and does not hang, and what is not known; uncertain says why there may be more."""

    transactions: list[JudgedRow]
    in_progress: list[JudgedRow]
    undecided: list[UndecidedRow]
    undated: list[UndatedRow]
    cluster_clock: ClusterClock | Skipped | None
    searched_partitions: int
    not_searched: list[str]
    uncertain: str | None
