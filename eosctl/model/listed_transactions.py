"""What `transactions list`, `describe` and `producers` answer: transactional IDs with their owners."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.errors import EosctlError, NotAuthorized, Unreachable
from eosctl.model.names import TopicPartition
from eosctl.model.producers import ActiveProducer, no_leader_answers
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import (
    LeaderOwner,
    Ownership,
    TaskOwner,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """One transactional ID with all that is known of it; running_ms is the age of its open transaction."""

    transactional_id: str
    state: TransactionState
    producer_id: int
    coordinator: int
    description: TransactionDescription | None
    ownership: Ownership
    running_ms: int | None


@dataclass(frozen=True, slots=True)
class UndescribedId:
    """A transactional ID that has no description, and why."""

    transactional_id: str
    ownership: Ownership
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which IDs to list; nothing set keeps all. pattern is a regular expression that the whole ID must match.

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
        """Whether the ID is wanted, now that it is described."""
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


@dataclass(frozen=True, slots=True)
class HiddenIds:
    """Whether brokers may keep IDs from this principal, how many, and what could not be ruled out (None: nothing)."""

    may_see_all: bool
    count: int | Skipped
    uncertain: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionList(Answer):
    """The transactional IDs that a selection keeps, those with the oldest open transaction first.

    as_of is in ms since the epoch. unanswered are brokers that did not list their IDs, missing the reasons why IDs may
    be missing or are not described; notes say what makes the answer less certain.
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
        """Unreachable where a coordinator did not answer."""
        if not self.missing:
            return None
        return Unreachable(
            f"not every coordinator answers: {self.missing[0]}", hint="the list is right for all the others that do"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescriptions(Answer):
    """Each transactional ID that was asked for, in the order given; errors are those of IDs without an answer."""

    as_of: int
    cluster_id: str | None
    transactions: tuple[ListedTransaction | UndescribedId, ...]
    errors: tuple[EosctlError, ...]
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether no coordinator knows one of the IDs."""
        return any(isinstance(each, UndescribedId) for each in self.transactions)

    @property
    def failure(self) -> EosctlError | None:
        """The first of the errors, NotAuthorized before others."""
        return next(iter(sorted(self.errors, key=lambda each: not isinstance(each, NotAuthorized))), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerList(Answer):
    """The producers of partitions, the transactional IDs that hold their producer IDs, and the owners of these."""

    as_of: int
    cluster_id: str | None
    producers: tuple[ActiveProducer, ...]
    transactional_ids: Mapping[int, str]
    owners: Mapping[str, Ownership]
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]

    @property
    def failure(self) -> EosctlError | None:
        """Unreachable where partitions are left out because no leader answers."""
        return no_leader_answers(self.not_searched)
