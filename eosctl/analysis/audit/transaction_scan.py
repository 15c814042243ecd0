"""Per producer ID, what its transactional batches and markers in one partition say, in offset order.

Data batches of one epoch without a marker between them become one item, so a range has about two items a transaction.
"""

from collections.abc import Iterator, Sequence

from eosctl.analysis.audit.batches import Header, Marker, first_time
from eosctl.model.audit_states import ItemKind, ProducerItems, TransactionItem


class TransactionScan:
    """Give it transactional batches and markers in offset order, then ask for `states`."""

    def __init__(self) -> None:
        self._items: dict[int, list[TransactionItem]] = {}

    def add_data(self, header: Header) -> None:
        """Take in a transactional data batch."""
        items = self._items.setdefault(header.producer_id, [])
        batch = TransactionItem(
            ItemKind.DATA,
            header.base_offset,
            header.last_offset,
            header.producer_epoch,
            header.record_count,
            header.batch_length,
            first_time(header),
            header.max_timestamp,
        )
        if items and continues(items[-1], batch):
            items[-1] = join_data(items[-1], batch)
        else:
            items.append(batch)

    def add_marker(self, marker: Marker, *, committed: bool) -> None:
        """Take in an end-transaction marker."""
        kind = ItemKind.COMMIT if committed else ItemKind.ABORT
        at, time = marker.offset, marker.timestamp
        item = TransactionItem(kind, at, at, marker.producer_epoch, 0, 0, time, time)
        self._items.setdefault(marker.producer_id, []).append(item)

    def states(self) -> Iterator[ProducerItems]:
        """The items of each producer ID."""
        for producer_id, items in self._items.items():
            yield ProducerItems(producer_id, tuple(items))


def continues(before: TransactionItem, after: TransactionItem) -> bool:
    """Whether `after` is more data of the transaction that `before` is data of."""
    return (
        before.kind is ItemKind.DATA and after.kind is ItemKind.DATA and before.producer_epoch == after.producer_epoch
    )


def join_data(before: TransactionItem, after: TransactionItem) -> TransactionItem:
    """Both as one item."""
    return before._replace(
        last_offset=after.last_offset,
        records=before.records + after.records,
        size_bytes=before.size_bytes + after.size_bytes,
        first_timestamp=min(before.first_timestamp, after.first_timestamp),
        last_timestamp=max(before.last_timestamp, after.last_timestamp),
    )


def extend_items(items: list[TransactionItem], later: Sequence[TransactionItem]) -> None:
    """Put the items of a later range behind those of the ranges before it."""
    if items and later and continues(items[-1], later[0]):
        items[-1] = join_data(items[-1], later[0])
        later = later[1:]
    items.extend(later)


def join_items(left: tuple[TransactionItem, ...], right: tuple[TransactionItem, ...]) -> tuple[TransactionItem, ...]:
    """The items of two neighbouring ranges as those of both."""
    items = list(left)
    extend_items(items, right)
    return tuple(items)
