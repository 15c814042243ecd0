"""Transactions as their coordinator knows them (KIP-98, KIP-664)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.errors import EosctlError
from eosctl.model.counts import counted
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped

REASONS_SHOWN: Final = 3


class TransactionState(StrEnum):
    """States of TransactionMetadata; Unknown stands for a name that a newer broker added."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"

    @property
    def is_open(self) -> bool:
        """Whether a transaction is ongoing: not yet decided, or decided but its markers not all written."""
        return self in {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """What the coordinator answers about one transactional ID (DescribeTransactions).

    timeout_ms is the transaction timeout its producer asked for; start_ms is the start of the ongoing transaction,
    else None (a coordinator keeps a stale start in Complete* states); partitions are those of the open transaction,
    in Prepare* states those that still lack their marker.
    """

    transactional_id: str
    state: TransactionState
    producer: ProducerIdAndEpoch
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]
    coordinator: int


Descriptions = Mapping[str, TransactionDescription | Skipped]


def why_undescribed(descriptions: Descriptions) -> Skipped | None:
    """One reason for all IDs of which no coordinator gave a description; None where there are none."""
    skipped = [each for each in descriptions.values() if isinstance(each, Skipped)]
    if not skipped:
        return None
    reasons = list(dict.fromkeys(each.reason for each in skipped))
    more = f"; and {len(reasons) - REASONS_SHOWN} more reasons" if len(reasons) > REASONS_SHOWN else ""
    ids = counted(len(skipped), "transactional ID is", "transactional IDs are")
    return Skipped(f"{ids} unknown: {'; '.join(reasons[:REASONS_SHOWN])}{more}", skipped[0].cause)


Described = TransactionDescription | EosctlError | None
"""One ID's description; None where its coordinator does not know the ID; else why there is no description."""


class TransactionListing(NamedTuple):
    """One transactional ID as ListTransactions shows it: producer ID, state, and the coordinator that said so."""

    transactional_id: str
    producer_id: int
    state: TransactionState
    coordinator: int


@dataclass(frozen=True, slots=True)
class ListedTransactions:
    """The transactional IDs that coordinators list, and why others may be missing.

    unanswered are the brokers that did not list theirs, with the reason; unlisted says in words why IDs may be missing:
    those brokers, and partitions of the transaction log that have no leader.
    """

    transactions: tuple[TransactionListing, ...]
    unanswered: Mapping[int, str]
    unlisted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderOwner:
    """The transactional ID belongs to the leader of Connect cluster `group_id`."""

    group_id: str

    def __str__(self) -> str:
        return f"leader of Connect cluster {self.group_id}"


@dataclass(frozen=True, slots=True)
class TaskOwner:
    """The transactional ID belongs to a source task of Connect cluster `group_id`."""

    group_id: str
    task: ConnectorTaskId

    def __str__(self) -> str:
        return f"task {self.task.task} of connector {self.task.connector} in Connect cluster {self.group_id}"


Owner = LeaderOwner | TaskOwner


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who uses a transactional ID: owners by known group IDs and connectors (several: ambiguous), and shapes as hints.

    Shapes are looked at only where no owner is known.
    """

    owners: tuple[Owner, ...]
    shapes: tuple[str, ...]

    def __str__(self) -> str:
        """One line: the owners, or that they are unknown with the shapes that the ID has."""
        if self.owners:
            return " or ".join(map(str, self.owners))
        return f"unknown, shape of {' or '.join(self.shapes)}" if self.shapes else "unknown"


NO_OWNER: Final = Ownership((), ())
"""That of a producer whose transactional ID is not known."""
