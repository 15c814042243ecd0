"""The transactions of some producer IDs in all partitions: conclusions now, and what a later run has to know.

A transaction is closed when nothing can be added to it: each of its parts is ended, its last marker is older than
OPEN_FOR_MS, and its producer has no open part. Closed ones are kept as a summary, the others as items.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.audit.transaction_judgement import Bench, judge_producer
from eosctl.analysis.audit.transaction_parts import Transaction, parts_of
from eosctl.analysis.audit.transaction_scan import join_items
from eosctl.analysis.audit.transaction_summary import add_summaries, summarize
from eosctl.model.audit_states import Part, ProducerItems, TransactionItem
from eosctl.model.audit_summaries import Suspicion, TransactionSummary
from eosctl.model.names import TopicPartition

OPEN_FOR_MS: Final = 15 * 60_000

Places = dict[TopicPartition, list[tuple[ProducerItems, ...]]]
Items = dict[int, dict[TopicPartition, tuple[TransactionItem, ...]]]


class Known(NamedTuple):
    """Items of settled ranges and tails in offset order, and what earlier runs concluded."""

    settled: Places
    tails: Places
    summary: TransactionSummary


class TransactionConclusion(NamedTuple):
    """Conclusions with what is still open, without it, and the items of what is still open."""

    now: TransactionSummary
    closed: TransactionSummary
    left: Mapping[TopicPartition, tuple[ProducerItems, ...]]


def reduce_transactions(
    known: Known, bench: Bench, offsets_topics: frozenset[str], suspicions: Sequence[Suspicion]
) -> TransactionConclusion:
    """Judge every transaction, and part those that are closed from the others."""
    settled, tails = _by_producer(known.settled), _by_producer(known.tails)
    now, closed = [known.summary], [known.summary]
    left: dict[TopicPartition, list[ProducerItems]] = {}
    for producer_id in sorted(settled.keys() | tails.keys()):
        mine = settled.get(producer_id, {})
        behind = tails.get(producer_id, {})
        whole = {place: join_items(mine.get(place, ()), behind.get(place, ())) for place in {**mine, **behind}}
        parts = list(_parts(producer_id, whole, offsets_topics))
        asked = [each for each in suspicions if each.producer_id == producer_id]
        bounds = {place: items[-1].last_offset for place, items in mine.items()}
        still = set()
        for transaction, troubles in judge_producer(parts, bench):
            summary = summarize(transaction, troubles, asked, bench)
            now.append(summary)
            if _is_closed(transaction, parts, bounds, bench.as_of):
                closed.append(summary)
            else:
                still |= {(part.topic, part.partition, part.first) for part in transaction}
        for place, items in mine.items():
            kept = _still_open(items, {first for topic, index, first in still if TopicPartition(topic, index) == place})
            if kept:
                left.setdefault(place, []).append(ProducerItems(producer_id, kept))
    frozen = {place: tuple(items) for place, items in left.items()}
    return TransactionConclusion(add_summaries(now), add_summaries(closed), frozen)


def _by_producer(places: Places) -> Items:
    items: Items = {}
    for place, rows in places.items():
        for row in rows:
            for producer_id, found in row:
                mine = items.setdefault(producer_id, {})
                mine[place] = join_items(mine.get(place, ()), found)
    return items


def _parts(
    producer_id: int, items: Mapping[TopicPartition, tuple[TransactionItem, ...]], offsets_topics: frozenset[str]
) -> Iterable[Part]:
    for place in sorted(items):
        yield from parts_of(place, producer_id, items[place], offsets=place.topic in offsets_topics)


def _is_closed(
    transaction: Transaction, parts: Sequence[Part], bounds: Mapping[TopicPartition, int], as_of: int
) -> bool:
    if any(part.marker_offset is None for part in parts):
        return False
    settled = all(
        (part.marker_offset or 0) <= bounds.get(TopicPartition(part.topic, part.partition), -1) for part in transaction
    )
    return settled and as_of - max(part.marker_timestamp for part in transaction) > OPEN_FOR_MS


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
