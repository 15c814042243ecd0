"""A cluster's transactions with their owners: what is listed, how long each has been open, and whose it is."""

from collections.abc import Iterable, Mapping

from eosctl.analysis.owners import KnownNames, ownership
from eosctl.model.transactions import ListedTransaction, Selection, TransactionDescription, TransactionListing


def list_with_owners(
    listings: Iterable[TransactionListing],
    descriptions: Mapping[str, TransactionDescription],
    names: KnownNames,
    selection: Selection,
    as_of: int,
) -> tuple[ListedTransaction, ...]:
    """The listed IDs that the selection keeps, those with the oldest open transaction first, then by ID."""
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
    """How long a transaction has been open; None where none is. Clocks may differ: never below 0."""
    if description is None or description.start_ms is None:
        return None
    return max(0, as_of - description.start_ms)
