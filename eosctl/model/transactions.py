"""Transactions as their coordinators know them (KIP-98, KIP-664), with who uses their IDs."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.errors import EosctlError, NotAuthorized, Unreachable
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Result
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.text import first_few, pluralize


class ActiveProducer(Struct, frozen=True):
    """One idempotent producer of a partition that the leader still knows.

    last_sequence is the sequence number of its last record (-1: its last batch was a marker). last_timestamp is the
    timestamp of its last batch in ms, or None. coordinator_epoch belongs to the last marker of its producer ID, or
    None. transaction_start_offset is where its open transaction in this partition begins, or None.
    """

    topic_partition: TopicPartition
    producer: ProducerIdAndEpoch
    last_sequence: int
    last_timestamp: int | None
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class AnsweredProducers(NamedTuple):
    """Producers by partition and producer ID, and the partitions that no leader answered for in time."""

    producers: tuple[ActiveProducer, ...]
    unanswered: tuple[TopicPartition, ...]


def no_leader_answers(partitions: tuple[TopicPartition, ...]) -> Unreachable | None:
    """The error of an answer that lacks these partitions; None where it lacks none."""
    if not partitions:
        return None
    return Unreachable(f"no leader answers for {pluralize(len(partitions), 'partition')}, {partitions[0]} first")


REASONS_SHOWN: Final = 3
NO_TIMEOUT_MS: Final = (1 << 31) - 1
"""The transaction timeout that a coordinator keeps for two-phase commit (KIP-939), and that it never applies."""


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
        return self in OPEN_STATES


# Made once: a set and a call of the enumeration for each of 20,000 IDs are seen in the profile of a list.
STATES: Final[Mapping[str, TransactionState]] = {each.value: each for each in TransactionState}
OPEN_STATES: Final = frozenset(map(TransactionState, ("Ongoing", "PrepareCommit", "PrepareAbort")))


class TransactionDescription(Struct, frozen=True):
    """The coordinator's answer about one transactional ID (DescribeTransactions).

    timeout_ms is the transaction timeout that its producer requested. start_ms is the start of the ongoing transaction,
    or None (a coordinator keeps a stale start in Complete* states). partitions belong to the open transaction; in
    Prepare* states they are those without their marker.
    """

    transactional_id: str
    state: TransactionState
    producer: ProducerIdAndEpoch
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]
    coordinator: int

    @property
    def is_two_phase(self) -> bool:
        """True if no timeout ends its transactions (TransactionMetadata.isDistributedTwoPhaseCommitTxn).

        Brokers before 4.1 have no two-phase commit: they abort a transaction with this timeout after 24.8 days.
        """
        return self.timeout_ms == NO_TIMEOUT_MS

    @property
    def is_hidden(self) -> bool:
        """True if its partitions are hidden from the principal: coordinators omit topics without Describe (KIP-664).

        An ongoing transaction has at least one.
        """
        return self.state is TransactionState.ONGOING and not self.partitions


HIDDEN_PARTITIONS: Final = Skipped("its topics may not be described, and coordinators leave them out", Cause.DENIED)
Descriptions = Mapping[str, TransactionDescription | Skipped]


def why_undescribed(descriptions: Descriptions) -> Skipped | None:
    """One reason for all IDs that no coordinator described; None if there are none."""
    skipped = [each for each in descriptions.values() if isinstance(each, Skipped)]
    if not skipped:
        return None
    reasons = list(dict.fromkeys(each.reason for each in skipped))
    more = f"; and {len(reasons) - REASONS_SHOWN} more reasons" if len(reasons) > REASONS_SHOWN else ""
    ids = pluralize(len(skipped), "transactional ID is", "transactional IDs are")
    return Skipped(f"{ids} unknown: {'; '.join(reasons[:REASONS_SHOWN])}{more}", skipped[0].cause)


Described = TransactionDescription | EosctlError | None
"""One ID's description; None if its coordinator does not know the ID; otherwise the error."""


class TransactionListing(NamedTuple):
    """One transactional ID in ListTransactions: producer ID, state, and the coordinator that listed it."""

    transactional_id: str
    producer_id: int
    state: TransactionState
    coordinator: int


class ListedTransactions(Struct, frozen=True):
    """The transactional IDs that coordinators list, and why others may be missing.

    unanswered are the brokers that did not list theirs, with the reason. unlisted gives the reasons for missing IDs:
    those brokers, and leaderless partitions of the transaction log. leaderless are these partitions.
    """

    transactions: tuple[TransactionListing, ...]
    unanswered: Mapping[int, str]
    unlisted: tuple[str, ...] = ()
    leaderless: tuple[int, ...] | Skipped = ()

    @property
    def lacking(self) -> tuple[Skipped, ...]:
        """The same reasons as facts that were not read."""
        return tuple(Skipped(reason, Cause.UNREACHABLE) for reason in self.unlisted)


class LeaderOwner(Struct, frozen=True):
    group_id: str

    def __str__(self) -> str:
        return f"leader of Connect cluster {self.group_id}"


class TaskOwner(Struct, frozen=True):
    group_id: str
    task: ConnectorTaskId

    def __str__(self) -> str:
        return f"task {self.task.task} of connector {self.task.connector} in Connect cluster {self.group_id}"


Owner = LeaderOwner | TaskOwner


class Ownership(Struct, frozen=True):
    """The users of a transactional ID: owners by known group IDs and connectors (several: ambiguous), and shapes as
    hints.

    Shapes count only without a known owner.
    """

    owners: tuple[Owner, ...]
    shapes: tuple[str, ...]

    def __str__(self) -> str:
        """One line: the owners, or that they are unknown with the shapes that the ID has."""
        if self.owners:
            return " or ".join(map(str, self.owners))
        return f"unknown, shape of {' or '.join(self.shapes)}" if self.shapes else "unknown"


NO_OWNER: Final = Ownership((), ())
"""The owner of a producer whose transactional ID is not known."""


class ListedTransaction(Struct, frozen=True):
    """One transactional ID with all facts about it; running_ms is the age of its open transaction."""

    transactional_id: str
    state: TransactionState
    producer_id: int
    coordinator: int
    description: TransactionDescription | None
    ownership: Ownership
    running_ms: int | None


class UndescribedId(Struct, frozen=True):
    transactional_id: str
    ownership: Ownership
    reason: str


class Selection(Struct, frozen=True):
    """The IDs to list; an empty selection keeps all. pattern is a regular expression for the whole ID.

    owner keeps IDs whose owner or shape, in words, contains that text; connector and group names are the usual ones.
    """

    states: tuple[TransactionState, ...] = ()
    producer_ids: tuple[int, ...] = ()
    pattern: re.Pattern[str] | None = None
    longer_than_ms: int | None = None
    owner: str | None = None

    def names(self, listing: TransactionListing) -> bool:
        """Whether the listing alone does not rule the ID out."""
        return self.pattern is None or self.pattern.fullmatch(listing.transactional_id) is not None

    def keeps(self, listed: ListedTransaction) -> bool:
        """True if the described ID is requested."""
        long_enough = self.longer_than_ms is None or (listed.running_ms or 0) > self.longer_than_ms
        owned = self.owner is None or _belongs(listed.ownership, self.owner)
        return long_enough and owned


def _belongs(ownership: Ownership, wanted: str) -> bool:
    names: set[str] = set()
    for owner in ownership.owners:
        match owner:
            case LeaderOwner(group_id=group_id):
                names |= {group_id, "leader"}
            case TaskOwner(group_id=group_id, task=task):
                names |= {group_id, task.connector, str(task)}
    return wanted in names or (not ownership.owners and wanted.lower() in str(ownership).lower())


class TransactionalIdAccess(Struct, frozen=True):
    """How far brokers show transactional IDs to this principal: they omit hidden ones silently.

    denied are the tested IDs and prefixes that were refused; empty if the principal may Describe all of them. unknown
    names what could not be ruled out, or None.
    """

    denied: tuple[str, ...]
    unknown: str | None

    @property
    def lacking(self) -> tuple[Skipped, ...]:
        if self.denied:
            return (
                Skipped(f"Describe is denied, so brokers leave IDs out: {', '.join(self.denied[:3])}", Cause.DENIED),
            )
        return () if self.unknown is None else (Skipped(self.unknown, Cause.DENIED),)

    @property
    def granted(self) -> bool:
        return not self.denied

    def require(self, principal: str) -> None:
        if not self.granted:
            raise NotAuthorized(
                principal=principal,
                operation="Describe",
                resource="TransactionalId *",
                hint="without it every open transaction of an ID that may not be seen would look as if it hung; "
                f"refused: {first_few(self.denied, most=3)}",
            )


class HiddenIds(Struct, frozen=True):
    """Transactional IDs that brokers may hide from this principal: their number, and a possibility that could not be
    excluded."""

    may_see_all: bool
    count: int | Skipped
    uncertain: str | None


class TransactionList(Result, frozen=True, kw_only=True):
    """The transactional IDs of a selection, those with the oldest open transaction first.

    as_of is in ms since the epoch. unanswered are brokers that did not list their IDs. missing gives the reasons why
    IDs may be missing or are not described. notes say what makes the answer less certain.
    """

    as_of: int
    cluster_id: str | None
    transactions: tuple[ListedTransaction, ...]
    hidden: HiddenIds | Skipped
    unanswered: Mapping[int, str]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def failure(self) -> EosctlError | None:
        if not self.missing:
            return None
        return Unreachable(
            f"not every coordinator answers: {self.missing[0]}", hint="the list is right for all the others that do"
        )


class TransactionDescriptions(Result, frozen=True, kw_only=True):
    """Each transactional ID that was asked for, in the order given; errors belong to IDs without an answer."""

    as_of: int
    cluster_id: str | None
    transactions: tuple[ListedTransaction | UndescribedId, ...]
    errors: tuple[EosctlError, ...]
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        return any(isinstance(each, UndescribedId) for each in self.transactions)

    @property
    def failure(self) -> EosctlError | None:
        return next(iter(sorted(self.errors, key=lambda each: not isinstance(each, NotAuthorized))), None)


class ProducerList(Result, frozen=True, kw_only=True):
    as_of: int
    cluster_id: str | None
    producers: tuple[ActiveProducer, ...]
    transactional_ids: Mapping[int, str]
    owners: Mapping[str, Ownership]
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]

    @property
    def failure(self) -> EosctlError | None:
        return no_leader_answers(self.not_searched)


def require_described(described: Mapping[str, Described]) -> dict[str, TransactionDescription]:
    found = {}
    for name, answer in described.items():
        if isinstance(answer, EosctlError):
            raise answer
        if answer is not None:
            found[name] = answer
    return found


def transactional_ids_by_producer(listings: Iterable[TransactionListing]) -> dict[int, str]:
    """Producer ID to the transactional ID that holds it; a producer ID belongs to one transactional ID."""
    return {listing.producer_id: listing.transactional_id for listing in listings}
