"""The transactions of some producer IDs in all partitions: conclusions now, and what a later run has to know.

A transaction is closed when nothing can be added to it, or to what it is judged by: its last marker is older than
OPEN_FOR_MS, its producer has no open part, and those that are not settled in all partitions ended more than BESIDE_MS
later. Closed ones are kept as a summary for each producer ID, the others as items.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.audit.logged_parts import CLOCKS_DIFFER_MS
from eosctl.analysis.audit.transaction_judgement import JudgementInputs, ended_ms, judge_producer
from eosctl.analysis.audit.transaction_owners import name_owners, name_stall
from eosctl.analysis.audit.transaction_parts import TOGETHER_MS, Transaction, parts_of
from eosctl.analysis.audit.transaction_scan import extend_items, join_items
from eosctl.analysis.audit.transaction_summary import AskedWrites, Totals
from eosctl.model.audit_states import Part, ProducerItems, TransactionItem
from eosctl.model.audit_summaries import ClosedTransactions, OffsetsWrite, TransactionSummary
from eosctl.model.names import TopicPartition

OPEN_FOR_MS: Final = 15 * 60_000
BESIDE_MS: Final = CLOCKS_DIFFER_MS + TOGETHER_MS
"""As far as the judgement of a transaction, and where the clock puts its parts, looks at others."""

Places = dict[TopicPartition, list[tuple[ProducerItems, ...]]]
Items = dict[int, dict[TopicPartition, tuple[TransactionItem, ...]]]


class Known(NamedTuple):
    """Items of settled ranges and tails in offset order, and what earlier runs concluded."""

    settled: Places
    tails: Places
    closed: ClosedTransactions


class TransactionConclusion(NamedTuple):
    """Conclusions with what is still open, those without it, and the items of what is still open."""

    now: TransactionSummary
    closed: ClosedTransactions
    left: Mapping[TopicPartition, tuple[ProducerItems, ...]]


def reduce_transactions(
    known: Known, inputs: JudgementInputs, offsets_topics: frozenset[str], asked_writes: Sequence[OffsetsWrite]
) -> TransactionConclusion:
    """Judge every transaction, and part those that are closed from the others."""
    inputs = inputs._replace(offsets_topics=offsets_topics)
    settled, tails = _by_producer(known.settled), _by_producer(known.tails)
    before = dict(known.closed.producers)
    now, closed = Totals(), _Closed()
    now.add(TransactionSummary(stalls=tuple(name_stall(each, inputs.owners) for each in known.closed.stalls)))
    asked = AskedWrites(asked_writes)
    for total in (now, closed.shared):
        total.add(TransactionSummary(committed=asked.still(known.closed.committed)))
    closed.shared.add(TransactionSummary(stalls=known.closed.stalls))
    left: dict[TopicPartition, list[ProducerItems]] = {}
    for producer_id in sorted(settled.keys() | tails.keys() | before.keys()):
        mine = settled.get(producer_id, {})
        behind = tails.get(producer_id, {})
        whole = {place: join_items(mine.get(place, ()), behind.get(place, ())) for place in {**mine, **behind}}
        judged = list(judge_producer(list(_parts(producer_id, whole, offsets_topics)), inputs))
        closed_until = _closed_until([transaction for transaction, _ in judged], mine, inputs.as_of)
        of_now, of_closed = Totals(), Totals()
        for total in (of_now, of_closed):
            total.add(before.get(producer_id, TransactionSummary()))
        still: dict[TopicPartition, set[int]] = {}
        for transaction, anomalies in judged:
            committed = asked.committed_in(transaction)
            of_now.add_transaction(transaction, anomalies, committed, inputs)
            if ended_ms(transaction) < closed_until:
                of_closed.add_transaction(transaction, anomalies, committed, inputs)
                continue
            for part in transaction:
                still.setdefault(TopicPartition(part.topic, part.partition), set()).add(part.first)
        now.add(name_owners(producer_id, of_now.result(), inputs.owners))
        closed.add(producer_id, of_closed.result())
        for place, items in mine.items():
            kept = _still_open(items, still.get(place, set()))
            if kept:
                left.setdefault(place, []).append(ProducerItems(producer_id, kept))
    frozen = {place: tuple(items) for place, items in left.items()}
    return TransactionConclusion(now.result(), closed.result(), frozen)


class _Closed:
    """Conclusions about closed transactions that grow."""

    def __init__(self) -> None:
        self.shared = Totals()
        self._producers: list[tuple[int, TransactionSummary]] = []

    def add(self, producer_id: int, summary: TransactionSummary) -> None:
        self.shared.add(TransactionSummary(stalls=summary.stalls, committed=summary.committed))
        own = summary._replace(stalls=(), committed=())
        if own != TransactionSummary():
            self._producers.append((producer_id, own))

    def result(self) -> ClosedTransactions:
        shared = self.shared.result()
        return ClosedTransactions(tuple(self._producers), shared.stalls, shared.committed)


def _by_producer(places: Places) -> Items:
    items: dict[int, dict[TopicPartition, list[TransactionItem]]] = {}
    for place, rows in places.items():
        for row in rows:
            for producer_id, found in row:
                extend_items(items.setdefault(producer_id, {}).setdefault(place, []), found)
    return {producer_id: {place: tuple(found) for place, found in mine.items()} for producer_id, mine in items.items()}


def _parts(
    producer_id: int, items: Mapping[TopicPartition, tuple[TransactionItem, ...]], offsets_topics: frozenset[str]
) -> Iterable[Part]:
    for place in sorted(items):
        yield from parts_of(place, producer_id, items[place], offsets=place.topic in offsets_topics)


def _closed_until(
    transactions: Sequence[Transaction], settled: Mapping[TopicPartition, tuple[TransactionItem, ...]], as_of: int
) -> int:
    """Transactions of one producer ID that ended before this time are closed."""
    bounds = {place: items[-1].last_offset for place, items in settled.items()}
    until = as_of - OPEN_FOR_MS
    for transaction in transactions:
        if any(part.marker_offset is None for part in transaction):
            return -1
        if any(
            (part.marker_offset or 0) > bounds.get(TopicPartition(part.topic, part.partition), -1)
            for part in transaction
        ):
            until = min(until, ended_ms(transaction) - BESIDE_MS)
    return until


def _still_open(items: Iterable[TransactionItem], first: set[int]) -> tuple[TransactionItem, ...]:
    """The items of transactions whose first offset is among `first`, with their markers; data at the end stays."""
    kept: list[TransactionItem] = []
    waiting: list[TransactionItem] = []
    for item in items:
        waiting.append(item)
        if item.kind != 0:
            if waiting[0].offset in first:
                kept += waiting
            waiting = []
    return tuple(kept + waiting)
