"""What coordinators answered about transactional IDs, looked up."""

from collections.abc import Iterable, Mapping

from eosctl.errors import EosctlError
from eosctl.model.transactions import Described, TransactionDescription, TransactionListing


def known(described: Mapping[str, Described]) -> dict[str, TransactionDescription]:
    """Those that are known; raises the first error among them."""
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
