"""A cluster's transactions with their owners: what is listed, for how long each is under way, and whose it is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eosctl.analysis.id_shapes import shapes_of
from eosctl.analysis.owners import KnownNames
from eosctl.model.transactions import (
    LeaderOwner,
    Owner,
    TaskOwner,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)


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


def ownership(transactional_id: str | None, names: KnownNames) -> Ownership:
    """Who uses the ID; unknown for None."""
    if transactional_id is None:
        return Ownership((), ())
    owners = names.owners(transactional_id)
    return Ownership(owners, () if owners else shapes_of(transactional_id))


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """One transactional ID with all that is known of it; running_ms is how long its open transaction is under way."""

    transactional_id: str
    state: TransactionState
    producer_id: int
    coordinator: int
    description: TransactionDescription | None
    ownership: Ownership
    running_ms: int | None


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


def list_with_owners(
    listings: Iterable[TransactionListing],
    descriptions: Mapping[str, TransactionDescription],
    names: KnownNames,
    selection: Selection,
    as_of: int,
) -> tuple[ListedTransaction, ...]:
    """The listed IDs that the selection keeps, those under way longest first, then by ID."""
    found = [_listed(each, descriptions.get(each.transactional_id), names, as_of) for each in listings]
    kept = [each for each in found if selection.keeps(each)]
    return tuple(sorted(kept, key=lambda each: (-(each.running_ms or -1), each.transactional_id)))


def _listed(
    listing: TransactionListing, description: TransactionDescription | None, names: KnownNames, as_of: int
) -> ListedTransaction:
    # The description is the newer of the two answers.
    return ListedTransaction(
        transactional_id=listing.transactional_id,
        state=listing.state if description is None else description.state,
        producer_id=listing.producer_id if description is None else description.producer.producer_id,
        coordinator=listing.coordinator,
        description=description,
        ownership=ownership(listing.transactional_id, names),
        running_ms=running_ms(description, as_of),
    )


def running_ms(description: TransactionDescription | None, as_of: int) -> int | None:
    """How long the open transaction is under way; None where none is. Clocks may differ: never below 0."""
    if description is None or description.start_ms is None:
        return None
    return max(0, as_of - description.start_ms)


def exhausted_soon(producer_epoch: int, left: int = 1000) -> bool:
    """Whether fewer than `left` epochs remain below Short.MAX_VALUE - 1, where the ID gets a new producer ID."""
    return producer_epoch > LAST_EPOCH - left


LAST_EPOCH = 32_766
"""The last epoch a coordinator gives out under one producer ID."""


def open_ids(listed: Sequence[ListedTransaction]) -> int:
    """How many of them have a transaction under way."""
    return sum(1 for each in listed if each.state.is_open)
