"""Transactions of one producer ID, put together from what they left in each partition.

1. In one partition, data up to the next marker is one part of a transaction. A marker without data is a part, too, if
   it commits: compaction removed its records.
2. Under transaction.version 2 (KIP-890) a marker has the epoch of its data plus one, and the next transaction that
   epoch: parts with the same epoch of data are one transaction.
3. Under versions 0 and 1 all transactions of a session share an epoch, and one follows the other: parts whose markers
   were written within TOGETHER_MS are one transaction, unless they lie in the same partition.
4. Where the transaction log was read, it is more exact than the clock which of those are one (see `logged_parts`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.model.audit_states import ItemKind, Part, TransactionItem
from eosctl.model.names import TopicPartition
from eosctl.model.transaction_log_history import LoggedTransaction

TOGETHER_MS: Final = 5
"""Markers of one transaction were seen 1 ms apart at most where the brokers share a clock."""

NOTHING_MATCHED: Final[Mapping[Part, LoggedTransaction]] = {}

Transaction = tuple[Part, ...]


def parts_of(
    topic_partition: TopicPartition, producer_id: int, items: Iterable[TransactionItem], *, offsets: bool
) -> Iterator[Part]:
    """The parts that a producer ID's transactions left in one partition, in offset order; the last may be open."""
    data: TransactionItem | None = None
    for item in items:
        if item.kind is ItemKind.DATA:
            if data is not None:
                yield _part(topic_partition, producer_id, data, None, offsets=offsets)
            data = item
            continue
        if data is not None or item.kind is ItemKind.COMMIT:
            yield _part(topic_partition, producer_id, data, item, offsets=offsets)
        data = None
    if data is not None:
        yield _part(topic_partition, producer_id, data, None, offsets=offsets)


def _part(
    place: TopicPartition,
    producer_id: int,
    data: TransactionItem | None,
    marker: TransactionItem | None,
    *,
    offsets: bool,
) -> Part:
    known = data or marker
    assert known is not None
    return Part(
        topic=place.topic,
        partition=place.partition,
        offsets=offsets,
        producer_id=producer_id,
        producer_epoch=known.producer_epoch,
        first=known.offset,
        last=known.last_offset,
        records=0 if data is None else data.records,
        size_bytes=0 if data is None else data.size_bytes,
        first_timestamp=known.first_timestamp,
        committed=marker is not None and marker.kind is ItemKind.COMMIT,
        marker_offset=None if marker is None else marker.offset,
        marker_timestamp=-1 if marker is None else marker.first_timestamp,
        marker_epoch=-1 if marker is None else marker.producer_epoch,
    )


def raises_epochs(parts: Iterable[Part]) -> bool | None:
    """Whether the producer's commits raise its epoch (transaction.version 2); None where no commit shows it."""
    for part in parts:
        if part.committed and part.records:
            return part.marker_epoch == part.producer_epoch + 1
    return None


def join_parts(parts: Iterable[Part], matched: Mapping[Part, LoggedTransaction] = NOTHING_MATCHED) -> list[Transaction]:
    """Parts of one producer ID, each put to those of the same transaction; in the order of their markers."""
    ended = [part for part in parts if part.marker_offset is not None]
    opened = [part for part in parts if part.marker_offset is None]
    by_epoch: dict[int, list[Part]] = {}
    clocked: list[Part] = []
    raising = {epoch for epoch, group in _by_epoch(ended).items() if raises_epochs(group)}
    by_log: dict[LoggedTransaction, list[Part]] = {}
    for part in ended:
        if part in matched:
            by_log.setdefault(matched[part], []).append(part)
            continue
        epoch = part.producer_epoch if part.records else part.marker_epoch - 1
        if epoch in raising:
            by_epoch.setdefault(epoch, []).append(part)
        else:
            clocked.append(part)
    for part in opened:
        if part.producer_epoch in by_epoch:
            by_epoch[part.producer_epoch].append(part)
    joined = [tuple(group) for group in (*by_epoch.values(), *by_log.values())]
    joined += _join_by_clock(clocked)
    joined += [(part,) for part in opened if part.producer_epoch not in by_epoch]
    return sorted(joined, key=_order)


def _by_epoch(parts: Iterable[Part]) -> Mapping[int, list[Part]]:
    groups: dict[int, list[Part]] = {}
    for part in parts:
        groups.setdefault(part.producer_epoch, []).append(part)
    return groups


def _join_by_clock(parts: list[Part]) -> list[Transaction]:
    parts.sort(key=lambda part: (part.marker_timestamp, not part.offsets, part.topic, part.partition, part.first))
    groups: list[list[Part]] = []
    taken: set[tuple[str, int]] = set()
    for part in parts:
        place = part.topic, part.partition
        near = groups and part.marker_timestamp - groups[-1][0].marker_timestamp <= TOGETHER_MS
        if near and place not in taken and part.committed == groups[-1][0].committed:
            groups[-1].append(part)
        else:
            groups.append([part])
            taken = set()
        taken.add(place)
    return [tuple(group) for group in groups]


def _order(transaction: Transaction) -> tuple[int, str, int, int]:
    first = min(transaction, key=lambda part: (part.topic, part.partition, part.first))
    ended = [part.marker_timestamp for part in transaction if part.marker_offset is not None]
    return min(ended, default=1 << 62), first.topic, first.partition, first.first
