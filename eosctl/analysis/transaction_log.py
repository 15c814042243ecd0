"""The transaction log folded: the last state of every ID, its history, and its future.

1. The last record of an ID in its partition is its state; a tombstone means that the coordinator forgot it.
2. An ID belongs into partition abs(hash) modulo the number of partitions. One found elsewhere is lost to its
   coordinator: the number of partitions of `__transaction_state` must never be changed.
3. An ID in Empty or Complete* that was idle for transactional.id.expiration.ms is forgotten (looked at once an hour).
   Its producer's next transaction then fails with INVALID_PRODUCER_ID_MAPPING.
4. Epochs of a producer ID end at 32766; the coordinator then gives the ID a new producer ID with epoch 0. Under
   transaction.version 2 (KIP-890) each transaction takes an epoch, so this happens after some 32,000 transactions.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import transactions
from eosctl.analysis.catalogue import transactions as kinds
from eosctl.model.names import coordinator_partition
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.transaction_log import (
    DAY_MS,
    KEPT_DAYS,
    NEAR_EXPIRY,
    CommitDay,
    CommitHistory,
    FoldedLog,
    HistoryEntry,
    LoggedId,
    LogRecord,
    NewerLogRecord,
    TransactionLogRecord,
    TransactionLogValue,
)
from eosctl.model.transactions import NO_TIMEOUT_MS, Ownership, TransactionState

LAST_EPOCH: Final = 32_766
"""The last epoch a coordinator gives out under one producer ID."""
EPOCHS_LEFT: Final = 1000
KEPT: Final = 10
"""How many records of each ID a snapshot keeps: two or three transactions."""
EXPIRING: Final = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
AFTER: Final = {
    TransactionState.EMPTY: EXPIRING,
    TransactionState.ONGOING: EXPIRING,
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: EXPIRING | {TransactionState.ONGOING},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
}
"""The states that each one may follow (TransactionState.validPreviousStates of 4.3.1)."""


def fold_transaction_log(records: Iterable[LogRecord]) -> FoldedLog:
    """The last record of each ID, and the records that contradict the one before them; records in order of offsets."""
    ids: dict[str, LoggedId] = {}
    newer: list[NewerLogRecord] = []
    unknown: dict[str, Skipped] = {}
    broken: dict[str, tuple[TransactionLogRecord, TransactionLogRecord]] = {}
    count = 0
    for record in records:
        count += 1
        if isinstance(record, NewerLogRecord):
            newer.append(record)
            if record.transactional_id is not None:
                ids.pop(record.transactional_id, None)
                unknown[record.transactional_id] = Skipped(f"the {_of_newer_kafka(record)}")
            continue
        unknown.pop(record.transactional_id, None)
        before = ids.get(record.transactional_id)
        last = record
        if before is not None and _is_broken(before.last, record):
            broken[record.transactional_id] = before.last, record
        if before is not None and before.last.partition != record.partition:
            last = max(before.last, record, key=lambda each: each.timestamp)
        ids[record.transactional_id] = LoggedId(last, 1 if before is None else before.records + 1)
    return FoldedLog(ids, count, tuple(newer), unknown, broken)


def _is_broken(before: TransactionLogRecord, record: TransactionLogRecord) -> bool:
    """Compaction leaves no gap between two records of an ID: it keeps the last one of those that it has seen."""
    if before.partition != record.partition or before.value is None or record.value is None:
        return False
    return _falls(before.value, record.value) or not _may_follow(before.value.state, record.value.state)


def _falls(old: TransactionLogValue, new: TransactionLogValue) -> bool:
    same = new.producer.producer_id == old.producer.producer_id
    return same and new.producer.producer_epoch < old.producer.producer_epoch


def _may_follow(old: TransactionState, new: TransactionState) -> bool:
    """A state is written again where a coordinator took the first write for failed."""
    return old is new or new not in AFTER or old in AFTER[new]


def last_values(
    folded: FoldedLog,
    transactional_ids: Collection[str],
    partitions: int,
    unread: Mapping[int, Skipped],
    before: Mapping[str, TransactionLogValue] | None = None,
) -> dict[str, TransactionLogValue | Skipped]:
    """The last logged state of each of these IDs.

    partitions is the log's number of partitions; the IDs of unread ones are Skipped. before are the states of an
    earlier reading, which this one continues.
    """
    last = {**(before or {}), **{name: each.value for name, each in folded.ids.items()}}
    logged = ((name, last[name]) for name in transactional_ids if name in last)
    values: dict[str, TransactionLogValue | Skipped] = {name: value for name, value in logged if value is not None}
    values |= {name: folded.unknown[name] for name in transactional_ids if name in folded.unknown}
    if not unread:
        return values
    places = {name: coordinator_partition(name, partitions) for name in transactional_ids}
    return values | {name: unread[place] for name, place in places.items() if place in unread}


def idle_since(values: Mapping[str, TransactionLogValue | Skipped]) -> dict[str, int | Skipped]:
    """Time of the last record of each of these IDs (ms since the epoch), for IDs that can expire."""
    return {
        name: value if isinstance(value, Skipped) else value.last_update_ms
        for name, value in values.items()
        if isinstance(value, Skipped) or value.state in EXPIRING
    }


def last_records(records: Iterable[LogRecord], keep: int = KEPT) -> tuple[int, tuple[LogRecord, ...]]:
    """The number of records, and the last `keep` of each ID in their order, newer versions included."""
    tails: dict[str | None, deque[tuple[int, LogRecord]]] = {}
    count = 0
    for record in records:
        tails.setdefault(record.transactional_id, deque(maxlen=keep)).append((count, record))
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
    """Present and coming problems, in the order of IDs; skips checks whose facts were skipped."""
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
    return (*found, *_broken(folded), *_newer(folded))


def _broken(folded: FoldedLog) -> Iterator[Finding]:
    for name, (before, record) in sorted(folded.broken.items()):
        old, new = before.value, record.value
        assert old is not None
        assert new is not None
        if falls := _falls(old, new):
            what = f"epoch {new.producer.producer_epoch} follows {old.producer.producer_epoch} of the same producer ID"
        else:
            what = f"{new.state} follows {old.state}"
        yield kinds.BROKEN_LOG.finding(
            name,
            f"at offset {record.offset} of partition {record.partition} {what}, which no coordinator writes",
            {"partition": record.partition, "offset": record.offset, "before": before.offset},
            severity=Severity.ERROR if falls else Severity.WARNING,
        )


def _misplaced(name: str, logged: LoggedId, partitions: int) -> list[Finding]:
    wanted = coordinator_partition(name, partitions)
    if logged.value is None or logged.last.partition == wanted:
        return []
    return [
        kinds.MISPLACED.finding(
            name,
            f"its records are in partition {logged.last.partition}, but with {partitions} partitions it belongs to "
            f"{wanted}. The coordinator there does not know it, and fences no old producer",
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
                f"if {owned if ours else 'its producer'} must continue later, restart it then (a task by REST), or "
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
            f"a {_of_newer_kafka(each)}",
            {f"{each.part}_version": each.version, "transactional_id": each.transactional_id},
        )
        for each in folded.newer
    ]


def _of_newer_kafka(record: NewerLogRecord) -> str:
    of = "" if record.transactional_id is None else f" of {record.transactional_id}"
    return f"record{of} at offset {record.offset} has {record.part} version {record.version}, which a newer Kafka wrote"


def history(records: Iterable[LogRecord]) -> Iterator[HistoryEntry]:
    """Every record with its meaning after the previous one of the same ID; in the order of reading.

    Compaction keeps the last record of each ID only, so a history may begin anywhere.
    """
    before: dict[str, TransactionLogValue | None] = {}
    for record in records:
        if isinstance(record, TransactionLogRecord):
            name, now = record.transactional_id, record.value
            yield HistoryEntry(record, _words(before.get(name), now, record.timestamp, is_first=name not in before))
            before[name] = now


def _words(before: TransactionLogValue | None, now: TransactionLogValue | None, at: int, *, is_first: bool) -> str:
    if now is None:
        return "forgotten: idle for transactional.id.expiration.ms"
    match now.state:
        case TransactionState.EMPTY:
            words = _initialised(before, now, is_first=is_first)
        case TransactionState.ONGOING:
            words = _ongoing(before, now)
        case TransactionState.PREPARE_COMMIT:
            words = "commit decided; markers are being written"
        case TransactionState.PREPARE_ABORT:
            words = f"abort decided{_by_coordinator(before, now)}; markers are being written"
        case TransactionState.COMPLETE_COMMIT:
            words = f"committed{_duration(now, at)}"
        case TransactionState.COMPLETE_ABORT:
            words = f"aborted{_duration(now, at)}"
        case state:
            words = str(state.value)
    return words


def _initialised(before: TransactionLogValue | None, now: TransactionLogValue, *, is_first: bool) -> str:
    if before is None:
        again = "" if is_first else " again, after it was forgotten"
        return f"initialised{again}, epoch {now.producer.producer_epoch}"
    if before.producer.producer_id != now.producer.producer_id:
        return f"initialised with another producer ID: the epochs of {before.producer.producer_id} are used up"
    epochs = f"{before.producer.producer_epoch} to {now.producer.producer_epoch}"
    return f"initialised, epoch {epochs}: the producer before it is fenced"


def _ongoing(before: TransactionLogValue | None, now: TransactionLogValue) -> str:
    there = len(now.partitions or ())
    if before is None or before.state is not TransactionState.ONGOING:
        return f"transaction in progress in {pluralize(there, 'partition')}"
    return f"{there - len(before.partitions or ())} partitions added"


def _by_coordinator(before: TransactionLogValue | None, now: TransactionLogValue) -> str:
    """Before transaction.version 2 a producer's own abort keeps the epoch; only a coordinator raises it."""
    raised = before is not None and now.producer.producer_epoch > before.producer.producer_epoch
    return " by its coordinator (timeout or fencing)" if raised and now.client_transaction_version < 2 else ""


def _duration(now: TransactionLogValue, at: int) -> str:
    """Age by the record's time: the decision's last update, which markers may follow much later."""
    return f" after {at - now.start_ms} ms" if 0 <= now.start_ms <= at else ""


# Histories of commits, from the records of the transaction log; and whether an ID is quieter than in its history.
#
# 1. A task of workers that are enabled commits one transaction for each batch that its connector returned
#    (ExactlyOnceWorkerSourceTask.commitTransaction), and none where there is nothing to commit. So a source without
#    changes and a connector that is blocked look alike: only the task's own history says which of the two is likely.
# 2. A coordinator writes CompleteCommit at the end of each transaction, and Empty when a producer initializes it. The
#    transaction log is compacted: in cleaned segments an ID keeps its last record, in later ones every record. So the
#    interval between two remaining commits is the original interval.
# 3. Commits of an earlier reading are continued by a later one where both have a commit in common, or where the later
#    one has every record after the end of the earlier one. Otherwise commits may have been compacted between the two,
#    and the interval there is not known.
# 4. An ID is quiet where nothing was committed for FACTOR times the longest interval of its history, and a minute at
#    least. Among n + 1 intervals of one distribution, the last is the longest with probability 1 / (n + 1). For random
#    commits at a constant rate (Poisson), it is FACTOR times longer than all others with probability 1 / C(n + FACTOR,
#    FACTOR): once in 5,456 with ENOUGH intervals. During a time as long as the history, a false report of any interval
#    has a probability of 0.6 %, and less with more intervals.
# 5. Sources have days and weeks. A history that reaches back a week has the same hour of the week before in it, so the
#    pause of a night or of a weekend is one of its intervals; one of a day has the night's, one that is shorter none.


FACTOR: Final = 3
ENOUGH: Final = 30
"""Fewer intervals are no history."""
SHORTEST_MS: Final = DAY_MS
WHOLE_MS: Final = 7 * DAY_MS
LEAST_MS: Final = 60_000
"""No ID is quiet for less: brokers and workers that are restarted take as long."""


class Quietness(NamedTuple):
    """The time without a commit (silent_ms), and the longest interval of the history.

    ratio is their quotient, None if the history is too short. quiet: it is more than the history allows. whole: the
    history reaches back a week.
    """

    silent_ms: int
    ratio: float | None
    quiet: bool
    whole: bool


def quietness(history: CommitHistory, as_of: int) -> Quietness:
    """Of an ID with this history, at as_of (ms since the epoch)."""
    silent_ms = max(0, as_of - history.quiet_since_ms)
    if history.intervals < ENOUGH or history.span_ms < SHORTEST_MS:
        return Quietness(silent_ms, None, quiet=False, whole=False)
    ratio = silent_ms / max(1, history.longest_ms)
    quiet = silent_ms > max(LEAST_MS, FACTOR * history.longest_ms)
    return Quietness(silent_ms, ratio, quiet, history.span_ms >= WHOLE_MS)


class CommitHistories:
    """The histories of some transactional IDs, continued by the records of the transaction log that pass by.

    continues: the records are all those after the end of the earlier reading.
    """

    def __init__(
        self, transactional_ids: Iterable[str], earlier: Mapping[str, CommitHistory], *, continues: bool = False
    ) -> None:
        self._open = {name: _Continued(earlier.get(name), continues=continues) for name in transactional_ids}

    def following(self, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        """Passes the records on and takes in each commit and each claim of one of the IDs."""
        for each in records:
            if isinstance(each, TransactionLogRecord) and each.value is not None:
                continued = self._open.get(each.transactional_id)
                if continued is not None:
                    continued.add(each.value.state, each.value.last_update_ms)
            yield each

    def result(self) -> dict[str, CommitHistory]:
        found = ((name, each.history) for name, each in self._open.items())
        return {name: history for name, history in found if history is not None}


class _Continued:
    """One history that records continue, given in the order of the log."""

    def __init__(self, earlier: CommitHistory | None, *, continues: bool) -> None:
        self._first = self._last = self._claimed = 0
        self._days: list[CommitDay] = []
        self._joins = continues
        if earlier is not None:
            self._first, self._last, self._claimed = earlier.first_ms, earlier.last_ms, earlier.claimed_ms or 0
            self._days = list(earlier.days)

    @property
    def history(self) -> CommitHistory | None:
        if not self._last:
            return None
        oldest = self._last - KEPT_DAYS * DAY_MS
        days = tuple(each for each in self._days if (each.day + 1) * DAY_MS > oldest)
        return CommitHistory(max(self._first, oldest), self._last, self._claimed or None, days)

    def add(self, state: TransactionState, at: int) -> None:
        if state is TransactionState.EMPTY:
            self._claimed = max(at, self._claimed)
        elif state is not TransactionState.COMPLETE_COMMIT:
            return
        elif at <= self._last:
            self._joins = True
        else:
            if not self._last:
                self._first = at
            elif self._joins and self._claimed <= self._last:
                self._count(at // DAY_MS, at - self._last)
            self._last, self._joins = at, True

    def _count(self, day: int, interval_ms: int) -> None:
        if self._days and self._days[-1].day == day:
            _, intervals, longest_ms = self._days.pop()
            self._days.append(CommitDay(day, intervals + 1, max(longest_ms, interval_ms)))
        else:
            self._days.append(CommitDay(day, 1, interval_ms))
