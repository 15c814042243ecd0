"""The transaction log folded: the last state of every ID, its history, and what is going to happen to it.

1. The last record of an ID in its partition is its state; a tombstone means that the coordinator forgot it.
2. An ID belongs into partition abs(hash) modulo the number of partitions. One found elsewhere is lost to its
   coordinator: the number of partitions of `__transaction_state` must never be changed.
3. An ID in Empty or Complete* that was idle for transactional.id.expiration.ms is forgotten (looked at once an hour).
   Its producer's next transaction then fails with INVALID_PRODUCER_ID_MAPPING.
4. Epochs of a producer ID end at 32766; the coordinator then gives the ID a new producer ID with epoch 0. Under
   transaction.version 2 (KIP-890) each transaction takes an epoch, so this happens after some 32,000 transactions.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import Final

from eosctl.analysis.catalogue import transaction_log as kinds
from eosctl.analysis.catalogue import transactions
from eosctl.model.names import coordinator_partition
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import FoldedLog, LoggedId, LogRecord, NewerLogRecord, TransactionLogValue
from eosctl.model.transactions import NO_TIMEOUT_MS, Ownership, TransactionState

LAST_EPOCH: Final = 32_766
"""The last epoch a coordinator gives out under one producer ID."""
EPOCHS_LEFT: Final = 1000
KEPT: Final = 10
"""How many records of each ID a snapshot keeps: two or three transactions."""
NEAR_EXPIRY: Final = 7
"""An ID whose last seventh of transactional.id.expiration.ms has begun is near expiry: a day of the default week."""
EXPIRING: Final = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


def fold_transaction_log(records: Iterable[LogRecord]) -> FoldedLog:
    """The last state of every ID. An ID that lies in two partitions keeps the later record, by timestamp."""
    ids: dict[str, LoggedId] = {}
    newer: list[NewerLogRecord] = []
    count = 0
    for record in records:
        count += 1
        if isinstance(record, NewerLogRecord):
            newer.append(record)
            continue
        before = ids.get(record.transactional_id)
        last = record
        if before is not None and before.last.partition != record.partition:
            last = max(before.last, record, key=lambda each: each.timestamp)
        ids[record.transactional_id] = LoggedId(last, 1 if before is None else before.records + 1)
    return FoldedLog(ids, count, tuple(newer))


def last_values(
    folded: FoldedLog,
    transactional_ids: Collection[str],
    partitions: int,
    unread: Mapping[int, Skipped],
    before: Mapping[str, TransactionLogValue] | None = None,
) -> dict[str, TransactionLogValue | Skipped]:
    """The last state of each of these IDs that the log holds.

    The log has so many partitions; the IDs of those that could not be read are Skipped. before are the states that an
    earlier reading found, which this one continues.
    """
    last = {**(before or {}), **{name: each.value for name, each in folded.ids.items()}}
    logged = ((name, last[name]) for name in transactional_ids if name in last)
    values: dict[str, TransactionLogValue | Skipped] = {name: value for name, value in logged if value is not None}
    if not unread:
        return values
    places = {name: coordinator_partition(name, partitions) for name in transactional_ids}
    return values | {name: unread[place] for name, place in places.items() if place in unread}


def idle_since(values: Mapping[str, TransactionLogValue | Skipped]) -> dict[str, int | Skipped]:
    """When each of these IDs was last written down (ms since the epoch), of those that can expire."""
    return {
        name: value if isinstance(value, Skipped) else value.last_update_ms
        for name, value in values.items()
        if isinstance(value, Skipped) or value.state in EXPIRING
    }


def last_records(records: Iterable[LogRecord], keep: int = KEPT) -> tuple[int, tuple[LogRecord, ...]]:
    """How many records there are, and of each ID the last `keep`, those of newer versions too, in their order."""
    tails: dict[str | None, deque[tuple[int, LogRecord]]] = {}
    count = 0
    for record in records:
        name = None if isinstance(record, NewerLogRecord) else record.transactional_id
        tails.setdefault(name, deque(maxlen=keep)).append((count, record))
        count += 1
    kept = sorted((each for tail in tails.values() for each in tail), key=itemgetter(0))
    return count, tuple(record for _, record in kept)


def log_findings(
    folded: FoldedLog,
    owners: Mapping[str, Ownership],
    as_of: int,
    expiration_ms: int | Skipped,
    partitions: int | Skipped,
) -> tuple[Finding, ...]:
    """What is wrong or will be, in the order of IDs; checks whose facts were skipped are left out."""
    found: list[Finding] = []
    for name, logged in sorted(folded.ids.items()):
        value = logged.value
        if not isinstance(partitions, Skipped):
            found += _misplaced(name, logged, partitions)
        if value is not None:
            if not isinstance(expiration_ms, Skipped):
                found += _near_expiry(name, value, owners.get(name), as_of, expiration_ms)
            found += _exhausted(name, value)
            found += _without_timeout(name, value)
    return (*found, *_newer(folded))


def _misplaced(name: str, logged: LoggedId, partitions: int) -> list[Finding]:
    wanted = coordinator_partition(name, partitions)
    if logged.value is None or logged.last.partition == wanted:
        return []
    return [
        kinds.MISPLACED.finding(
            name,
            f"it lies in partition {logged.last.partition}, but of {partitions} partitions {wanted} is its own: the "
            "coordinator there does not know it, and fences no old producer",
            {"partition": logged.last.partition, "coordinator_partition": wanted},
        )
    ]


def _near_expiry(
    name: str, value: TransactionLogValue, owned: Ownership | None, as_of: int, expiration_ms: int
) -> list[Finding]:
    left = value.last_update_ms + expiration_ms - as_of
    if value.state not in EXPIRING or left > expiration_ms // NEAR_EXPIRY:
        return []
    ours = owned is not None and bool(owned.owners)
    when = "is due to be forgotten" if left <= 0 else f"will be forgotten in {left / 3_600_000:.1f} h"
    return [
        transactions.NEAR_EXPIRY.finding(
            name,
            f"idle for {(as_of - value.last_update_ms) / 3_600_000:.1f} h, it {when}; its producer's next transaction "
            "then fails with INVALID_PRODUCER_ID_MAPPING",
            {"last_update_ms": value.last_update_ms, "expiration_ms": expiration_ms, "left_ms": left},
            cure=(
                f"if {owned if ours else 'its producer'} is to go on later, restart it then (a task by REST), or "
                "raise transactional.id.expiration.ms on the brokers (restart them one by one)"
            ),
            severity=Severity.WARNING if ours else Severity.INFO,
        )
    ]


def _exhausted(name: str, value: TransactionLogValue) -> list[Finding]:
    left = LAST_EPOCH - value.producer.producer_epoch
    if left >= EPOCHS_LEFT:
        return []
    return [
        kinds.EPOCHS_NEAR_END.finding(
            name,
            f"producer ID {value.producer.producer_id} has {max(0, left)} epochs left, then the ID gets another one",
            {"producer_epoch": value.producer.producer_epoch, "left": max(0, left)},
        )
    ]


def _without_timeout(name: str, value: TransactionLogValue) -> list[Finding]:
    if value.timeout_ms != NO_TIMEOUT_MS:
        return []
    is_open = value.state is TransactionState.ONGOING
    what = "an open transaction" if is_open else "transactions"
    return [
        kinds.WITHOUT_TIMEOUT.finding(
            name,
            f"it has {what} of two-phase commit, which no timeout ends",
            {"state": value.state.value, "start_ms": value.start_ms if is_open else None},
            severity=Severity.WARNING if is_open else Severity.INFO,
        )
    ]


def _newer(folded: FoldedLog) -> list[Finding]:
    return [
        kinds.NEWER_RECORD.finding(
            f"__transaction_state-{each.partition}@{each.offset}",
            f"a record with key version {each.key_version}, which a newer Kafka wrote",
            {"key_version": each.key_version},
        )
        for each in folded.newer
    ]
