"""The fold over records that name a transaction of the database, and which of these transactions are not whole.

1. The end of a transaction says how many records it has. They are numbered from 1 on, and lie in any partition of any
   topic of the connector, none of which another connector writes to.
2. A connector that begins again within a transaction writes its begin again, and may number the rest from 1 again. So
   the numbers up to the total must be there, and each before the last begin from 1 on without a gap.
3. Records of a tail may still be aborted: they may make a transaction whole, and are no proof that it is.
4. Without its begin or its end nothing is judged. A later run goes on with these parts, and with those of half ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from eosctl.analysis.audit.batches import Header
from eosctl.analysis.grammars.grammar import RecordWithHeaders
from eosctl.model.events import (
    KEPT_OPEN,
    HalfTransaction,
    TransactionCounts,
    TransactionItem,
    TransactionPart,
    TransactionRole,
)
from eosctl.model.names import TopicPartition

Items = Mapping[TopicPartition, Sequence[TransactionItem]]
"""The parts of each partition in the order of their offsets."""


class DatabaseTransactionScan:
    """Give it the parts of a range in offset order; `items` has them, with runs of records as one."""

    def __init__(self, connectors: tuple[str, ...]) -> None:
        self._connectors = connectors
        self.items: list[TransactionItem] = []

    def add(self, part: TransactionPart, record: RecordWithHeaders, header: Header) -> None:
        last = self.items[-1] if self.items else None
        if (
            last is not None
            and part.role is TransactionRole.COUNTED
            and (last.role, last.transaction) == part[:2]
            and part.number == last.last + 1
            and header.producer_id == last.producer_id
        ):
            self.items[-1] = last._replace(last=part.number, last_offset=record.offset)
            return
        place = (record.offset, record.offset, record.timestamp, header.producer_id, header.producer_epoch)
        self.items.append(TransactionItem(self._connectors, *part, part.number, *place))


class _Placed(NamedTuple):
    item: TransactionItem
    place: TopicPartition


class TransactionConclusion(NamedTuple):
    """The counts, and the items that a later run goes on with."""

    counts: TransactionCounts
    left: Mapping[TopicPartition, tuple[TransactionItem, ...]]


def judge_transactions(settled: Items, tails: Items, whole: int) -> TransactionConclusion:
    """Puts the parts of one bucket together; `whole` is what earlier runs found whole."""
    parts, later = _by_transaction(settled), _by_transaction(tails)
    half: list[HalfTransaction] = []
    kept: list[list[_Placed]] = []
    for name, mine in parts.items():
        begins = [each for each in mine if each.item.role is TransactionRole.BEGINS]
        ends = [each for each in mine if each.item.role is TransactionRole.ENDS]
        if not begins or not ends:
            kept.append(mine)
            continue
        total = max(ends, key=lambda each: each.item.timestamp)
        if _is_whole(mine, total):
            whole += 1
            continue
        kept.append(mine)
        if not _is_whole([*mine, *later.get(name, ())], total):
            half.append(_half(mine, total, min(each.item.timestamp for each in begins)))
    half.sort(key=lambda each: each.begun)
    return TransactionConclusion(TransactionCounts(whole, tuple(half[:KEPT_OPEN])), _left(kept))


def _by_transaction(places: Items) -> dict[tuple[object, str], list[_Placed]]:
    found: dict[tuple[object, str], list[_Placed]] = {}
    for place, items in places.items():
        for item in items:
            found.setdefault((item.connectors, item.transaction), []).append(_Placed(item, place))
    return found


def _runs(parts: Iterable[_Placed]) -> list[tuple[int, int]]:
    """The numbers that are there, as first and last of each run."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((each.item.first, each.item.last) for each in parts if _is_counted(each)):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _is_counted(part: _Placed) -> bool:
    return part.item.role is TransactionRole.COUNTED


def _is_whole(parts: Sequence[_Placed], total: _Placed) -> bool:
    """Whether all numbers up to the total are there, and none before (rule 2)."""
    return all(first == 1 and last >= total.item.last for first, last in _runs(parts) or [(1, 0)])


def _half(parts: Sequence[_Placed], total: _Placed, begun: int) -> HalfTransaction:
    counted = [each for each in parts if _is_counted(each)]
    last = max(counted or [total], key=lambda each: (each.item.last, each.item.timestamp))
    runs = tuple(_runs(counted))
    end, place = total.place, last.place
    return HalfTransaction(
        total.item.transaction,
        runs,
        begun,
        end.topic,
        end.partition,
        total.item,
        place.topic,
        place.partition,
        last.item,
    )


def _left(kept: Iterable[Sequence[_Placed]]) -> dict[TopicPartition, tuple[TransactionItem, ...]]:
    """Of each bucket the latest KEPT_OPEN transactions."""
    latest = sorted(kept, key=lambda parts: max(each.item.timestamp for each in parts))[-KEPT_OPEN:]
    left: dict[TopicPartition, list[TransactionItem]] = {}
    for each in (each for parts in latest for each in parts):
        left.setdefault(each.place, []).append(each.item)
    return {place: tuple(sorted(items, key=lambda item: item.offset)) for place, items in sorted(left.items())}


def add_transactions(counts: Iterable[TransactionCounts]) -> TransactionCounts:
    """The counts of all buckets together."""
    whole, half = 0, list[HalfTransaction]()
    for each in counts:
        whole += each.whole
        half += each.half
    return TransactionCounts(whole, tuple(sorted(half, key=lambda found: (found.begun, found.transaction))))
