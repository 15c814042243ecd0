"""Which logged transaction a committed part of one producer ID is of, under transaction.version 0 and 1.

1. Transactions of a session follow each other. So the committed parts in one partition and the logged transactions
   that committed there are the same ones in the same order.
2. They are put together one by one only if none is missing: there are at least as many parts as transactions that were
   complete SETTLED_MS before the audit, and no more than were decided at all. Compaction, retention, or a log that
   begins later leave a partition unmatched.
3. A marker is written between the decision and the completion, which are hours apart where a partition had no leader.
   The broker of the partition and the coordinator have a clock each. If the marker is outside by more than
   CLOCKS_DIFFER_MS, they would rather be different transactions: the partition is unmatched.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from eosctl.model.audit_states import Part
from eosctl.model.names import TopicPartition
from eosctl.model.transaction_log_history import LoggedTransaction

SETTLED_MS: Final = 10_000
CLOCKS_DIFFER_MS: Final = 60_000

Matched = Mapping[Part, LoggedTransaction]


def match_parts(parts: Iterable[Part], logged: Sequence[LoggedTransaction], as_of: int) -> Matched:
    """Parts with their transactions, those that could be matched."""
    sessions: dict[int, list[LoggedTransaction]] = {}
    for transaction in logged:
        if transaction.committed:
            sessions.setdefault(transaction.producer_epoch, []).append(transaction)
    places: dict[tuple[int, TopicPartition], list[Part]] = {}
    for part in parts:
        if part.committed and part.marker_epoch == part.producer_epoch:
            places.setdefault((part.producer_epoch, TopicPartition(part.topic, part.partition)), []).append(part)
    matched: dict[Part, LoggedTransaction] = {}
    for (epoch, place), mine in places.items():
        theirs = [each for each in sessions.get(epoch, ()) if place in each.partitions]
        settled = sum(each.completed_ms is not None and each.completed_ms <= as_of - SETTLED_MS for each in theirs)
        pairs = list(zip(sorted(mine, key=_first), theirs, strict=False))
        if settled <= len(mine) <= len(theirs) and all(_may_be_of(part, each) for part, each in pairs):
            matched.update(pairs)
    return matched


def _may_be_of(part: Part, logged: LoggedTransaction) -> bool:
    after = logged.completed_ms is not None and part.marker_timestamp > logged.completed_ms + CLOCKS_DIFFER_MS
    return part.marker_timestamp >= logged.decided_ms - CLOCKS_DIFFER_MS and not after


def _first(part: Part) -> int:
    return part.first
