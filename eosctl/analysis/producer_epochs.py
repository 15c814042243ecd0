"""The producers of transactional IDs out of the transaction log: which epochs each had, and what ended them.

1. InitProducerId is logged as Empty, with the next epoch or with epoch 0 of another producer ID. A transaction that is
   open then, its coordinator first aborts under a raised epoch (PrepareEpochFence, which is never logged itself), and
   the producer that fences asks again until it gets the epoch after that.
2. A coordinator aborts a transaction that outlived its timeout under a raised epoch, too. Only the times distinguish
   them: before its timeout a transaction is aborted by fencing alone; after it, by fencing only where InitProducerId
   follows within RETRY_MS.
3. A producer's own abort keeps the epoch with transaction.version 0 and 1. With 2 each end of a transaction raises it,
   so the abort of a producer that closes looks like one of its coordinator. Which version the producer uses, its
   Ongoing record says: the record of a coordinator's abort has the version of the brokers.
4. A producer of version 0 or 1 may raise its own epoch after its own abort (KIP-360), with the same InitProducerId.
5. A producer that closes writes nothing into the log: one that was closed before looks like one that was fenced while
   it had nothing open.
6. The end of a transaction that takes the last epoch under version 2 gives the ID another producer ID, without an
   InitProducerId: it is the same client.
7. Compaction removes the oldest records of an ID first, so of a history only the beginning can be missing.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import groupby, pairwise
from typing import Final

from msgspec import Struct, field

from eosctl.analysis.catalogue import transactions as kinds
from eosctl.late_pattern import late_pattern
from eosctl.model.producer_epochs import EpochEnd, PrefixChurn, ProducerEpochs
from eosctl.model.report import Finding, Severity
from eosctl.model.text import pluralize
from eosctl.model.times import lasting, rfc3339
from eosctl.model.transaction_log import DAY_MS, NEAR_EXPIRY, LogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import NO_TIMEOUT_MS, TransactionState

RETRY_MS: Final = 5_000
"""A client that gets CONCURRENT_TRANSACTIONS asks for its epoch again within a second, by default."""
MOST_KEPT: Final = 1_000
"""Of each ID the last producers are kept, so that memory is bounded by the number of IDs."""
OWN_EPOCHS: Final = 2
"""The transaction.version from which on each transaction has an epoch of its own."""
KEPT_STATES: Final = frozenset({TransactionState.ONGOING, TransactionState.PREPARE_COMMIT})
"""States that are logged with the version of the client."""
COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


class _Abort(Enum):
    """The author of the abort that ended the last transaction, if its records show it."""

    OWN = auto()
    COORDINATOR = auto()
    EITHER = auto()


class _Producer(Struct):
    """The producer that has the ID now, while its records are read."""

    first: TransactionLogRecord
    now: TransactionLogValue
    begun_ms: int | None
    committed: int = 0
    aborted: int = 0
    last_epoch: int = 0
    version: int | None = None
    abort: _Abort | None = None
    overdue: bool = False
    decided_ms: int = 0
    completed_ms: int = 0


class EpochFold:
    """Takes in the transaction log record by record, in the order of offsets within a partition."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._present: dict[str, _Producer | None] = {}
        self._ended: dict[str, deque[ProducerEpochs]] = {}
        self.left_out = 0
        self.newer = 0
        """Records of a version that a newer Kafka wrote: what they say of their IDs is missing."""

    def add_all(self, records: Iterable[LogRecord]) -> None:
        for record in records:
            if isinstance(record, TransactionLogRecord):
                self._add(record)
            else:
                self.newer += 1

    def found(self) -> dict[str, tuple[ProducerEpochs, ...]]:
        """The producers of each ID, by the ID's name."""
        names = sorted(self._present.keys() | self._ended.keys())
        return {name: (*self._ended.get(name, ()), *_present(self._present.get(name))) for name in names}

    def values(self) -> dict[str, TransactionLogValue]:
        """The last state of each ID that its coordinator has not forgotten."""
        return {name: each.now for name, each in self._present.items() if each is not None}

    def _add(self, record: TransactionLogRecord) -> None:
        name, value = record.transactional_id, record.value
        present = self._present.get(name)
        if value is None:
            if present is not None:
                self._end(_expired(present, record.timestamp))
            self._present[name] = None
        elif present is None:
            self._present[name] = _begun(record, value)
        elif value.state is TransactionState.EMPTY and value.producer != present.now.producer:
            self._end(_fenced(present, value))
            self._present[name] = _begun(record, value)
        else:
            _take_in(present, value)
            if value.producer.producer_id != present.now.producer.producer_id:
                self._end(_closed(present, value))
                present = _Producer(record, value, value.last_update_ms, version=present.version)
                self._present[name] = present
            else:
                present.now = value

    def _end(self, ended: ProducerEpochs) -> None:
        kept = self._ended.setdefault(ended.transactional_id, deque(maxlen=self._most))
        self.left_out += len(kept) == self._most
        kept.append(ended)


def _begun(record: TransactionLogRecord, value: TransactionLogValue) -> _Producer:
    is_first = value.state is TransactionState.EMPTY
    found = _Producer(record, value, value.last_update_ms if is_first else None)
    _take_in(found, value)
    return found


def _take_in(present: _Producer, value: TransactionLogValue) -> None:
    """Adds the record, compared with the previous one."""
    before = present.now
    if value.state in KEPT_STATES:
        present.version = value.client_transaction_version if value.version else None
        present.abort = None
    elif value.state is TransactionState.PREPARE_ABORT and before.state is not value.state:
        present.abort = _abort(present, before, value)
        present.decided_ms = present.completed_ms = value.last_update_ms
        timeout = value.timeout_ms
        present.overdue = timeout != NO_TIMEOUT_MS and 0 <= value.start_ms < value.last_update_ms - timeout
    elif value.state is TransactionState.COMPLETE_COMMIT:
        present.committed += before.state is not value.state
    elif value.state is TransactionState.COMPLETE_ABORT:
        present.aborted += before.state is not value.state
        present.completed_ms = value.last_update_ms
    same = value.producer.producer_id == before.producer.producer_id
    if same and present.abort is not _Abort.COORDINATOR:
        present.last_epoch = value.producer.producer_epoch


def _abort(present: _Producer, before: TransactionLogValue, value: TransactionLogValue) -> _Abort:
    raised = value.producer.producer_epoch - before.producer.producer_epoch
    if raised == 0:
        return _Abort.OWN
    if raised > 1:  # brokers of 4.0 and 4.1 raise it twice (KAFKA-19367)
        return _Abort.COORDINATOR
    of_client = before.client_transaction_version if before.state is TransactionState.ONGOING else present.version or 0
    return _Abort.EITHER if of_client >= OWN_EPOCHS else _Abort.COORDINATOR


def _row(
    present: _Producer,
    ended_ms: int | None = None,
    ended_by: EpochEnd | None = None,
    by: str | None = None,
    *,
    was_open: bool | None = None,
    certain: bool = True,
) -> ProducerEpochs:
    first, now = present.first, present.now
    producer = now.producer if first.value is None else first.value.producer
    return ProducerEpochs(
        transactional_id=first.transactional_id,
        partition=first.partition,
        offset=first.offset,
        producer=producer,
        last_epoch=present.last_epoch,
        begun_ms=present.begun_ms,
        last_ms=now.last_update_ms,
        committed=present.committed,
        aborted=present.aborted,
        timeout_ms=now.timeout_ms,
        client_version=present.version,
        ended_ms=ended_ms,
        ended_by=ended_by,
        by=by,
        was_open=was_open,
        certain=certain,
    )


def _fenced(present: _Producer, by: TransactionLogValue) -> ProducerEpochs:
    """Ended by this InitProducerId, or before it."""
    newer, at = f"producer {by.producer}", by.last_update_ms
    is_soon = at - present.completed_ms <= RETRY_MS
    match present.abort:
        case _Abort.COORDINATOR | _Abort.EITHER if present.overdue and not is_soon:
            return _timed_out(present)
        case _Abort.COORDINATOR | _Abort.EITHER if present.overdue:
            words = f"{newer}, or its coordinator before that: its transaction was beyond its timeout"
            return _row(present, present.decided_ms, EpochEnd.UNKNOWN, words, was_open=True, certain=False)
        case _Abort.COORDINATOR:
            words = newer if is_soon else "a producer that did not finish initTransactions"
            return _row(present, present.decided_ms, EpochEnd.FENCED, words, was_open=True)
        case _Abort.EITHER if is_soon:
            words = f"{newer}; its last transaction was aborted by fencing, or shortly before by itself"
            return _row(present, at, EpochEnd.FENCED, words, certain=False)
        case _Abort.OWN if is_soon:
            words = f"{newer}, which may be the same client: after an abort it may raise its epoch (KIP-360)"
            return _row(present, at, EpochEnd.FENCED, words, was_open=False, certain=False)
    is_open = present.now.state.is_open
    words = newer if is_open else f"{newer}; no transaction was open, so it may have been closed before"
    return _row(present, at, EpochEnd.FENCED, words, was_open=is_open)


def _closed(present: _Producer, value: TransactionLogValue) -> ProducerEpochs:
    """Ended without an InitProducerId (rule 6)."""
    at = value.last_update_ms
    if value.state in COMPLETE:
        by = f"its own end of a transaction, which took the last epoch: the same client is {value.producer} now"
        return _row(present, at, EpochEnd.CLOSED, by, was_open=False)
    return _row(
        present, at, EpochEnd.UNKNOWN, f"no record says how producer {value.producer} got the ID", certain=False
    )


def _timed_out(present: _Producer) -> ProducerEpochs:
    own = present.abort is _Abort.EITHER
    words = f"its coordinator, after {present.now.timeout_ms} ms"
    if own:
        words += "; or it aborted its transaction itself as late"
    return _row(present, present.decided_ms, EpochEnd.TIMED_OUT, words, was_open=True, certain=not own)


def _expired(present: _Producer, at: int) -> ProducerEpochs:
    ended = _ended_already(present)
    if ended is not None:
        return ended
    words = f"its coordinator: idle since {rfc3339(present.now.last_update_ms)}"
    return _row(present, at, EpochEnd.EXPIRED, words, was_open=False)


def _ended_already(present: _Producer) -> ProducerEpochs | None:
    """The producer as ended by its coordinator, or by a fencing that no other producer followed."""
    if present.abort in {_Abort.COORDINATOR, _Abort.EITHER} and present.overdue:
        return _timed_out(present)
    if present.abort is _Abort.COORDINATOR:
        words = "a producer that did not finish initTransactions"
        return _row(present, present.decided_ms, EpochEnd.FENCED, words, was_open=True)
    return None


def _present(present: _Producer | None) -> Iterator[ProducerEpochs]:
    if present is not None:
        yield _ended_already(present) or _row(present)


# Whether two producers take an ID from each other.
#
# 1. One that is restarted again and again initializes its ID each time, as two do that fence each other. So epochs that
#    rise alone are a warning.
# 2. Each InitProducerId has the transaction timeout of its client, and each transaction its transaction.version. Where
#    they change back and forth, there are two configurations, and so two clients.


REPEATED: Final = 3
SHORT_MS: Final = 600_000
"""A producer that had its ID for longer was not fenced by one that runs beside it and that restarts at once."""
TIMES_SHOWN: Final = 10


def contentions(found: Mapping[str, Sequence[ProducerEpochs]]) -> Iterator[Finding]:
    """A finding for each ID that producers took from each other at least REPEATED times in a row."""
    for name, producers in found.items():
        runs = groupby(pairwise(producers), key=lambda pair: _is_taken(pair[0]))
        rows = [[*(first for first, _ in some), some[-1][1]] for taken, each in runs if taken and (some := list(each))]
        longest = max(rows, key=len, default=[])
        if len(longest) > REPEATED:
            yield _contention(name, longest)


def _is_taken(ended: ProducerEpochs) -> bool:
    """True if a later producer initialized the ID soon, before this producer had committed a transaction or while it
    was writing."""
    if ended.ended_by not in {EpochEnd.FENCED, EpochEnd.UNKNOWN} or ended.ended_ms is None:
        return False
    soon = ended.begun_ms is not None and ended.ended_ms - ended.begun_ms <= SHORT_MS
    return soon and (ended.committed == 0 or ended.was_open is not False)


def _contention(name: str, producers: Sequence[ProducerEpochs]) -> Finding:
    settings = [(each.timeout_ms, each.client_version) for each in producers]
    timeouts = [each.timeout_ms for each in producers]
    is_two = _alternates(timeouts) or _alternates([each.client_version for each in producers])
    *_, older, newer = producers
    times = [each.begun_ms for each in producers if each.begun_ms is not None]
    message = (
        f"{len(producers)} producers had it within {lasting(times[-1] - times[0])}, and each was fenced by the next: "
        f"{_at(older)}, then {_at(newer)}. "
    )
    if is_two:
        first, second = sorted(set(settings), key=str)[:2]
        message += f"Their settings change back and forth ({_words(first)}; {_words(second)}): two clients have this ID"
    else:
        message += "Two clients have this ID, or one is restarted again and again"
    evidence = {
        "initialized": [rfc3339(each) for each in times[-TIMES_SHOWN:]],
        "producers": [str(each.producer) for each in producers[-TIMES_SHOWN:]],
        "timeouts_ms": timeouts[-TIMES_SHOWN:],
        "client_transaction_versions": [each.client_version for each in producers[-TIMES_SHOWN:]],
        "count": len(producers),
    }
    return kinds.CONTENDED.finding(name, message, evidence, severity=Severity.ERROR if is_two else Severity.WARNING)


def _alternates(values: Sequence[int | None]) -> bool:
    """Whether two values take turns, so that each comes back; unknown ones are passed over."""
    known = [value for value in values if value is not None]
    changes = [value for value, _ in groupby(known)]
    return len(changes) > REPEATED and len(set(changes)) == 2


def _at(producer: ProducerEpochs) -> str:
    at = "" if producer.begun_ms is None else f" at {rfc3339(producer.begun_ms)}"
    return f"{producer.producer}{at}"


def _words(settings: tuple[int, int | None]) -> str:
    timeout_ms, version = settings
    of_version = "" if version is None else f", transaction.version {version}"
    return f"transaction.timeout.ms {timeout_ms}{of_version}"


# How the IDs of a prefix come and go.
#
# 1. An ID lies in one partition of the log (EOS300 names others), so its life is known where its partition has been
#    read: memory is bounded by the IDs of the largest partition, and by MOST_PREFIXES.
# 2. Compaction keeps the last record of an ID: how many IDs are idle, and since when, is exact. Its first record may be
#    gone, so new IDs are counted at least. Where a prefix has had the same churn for days, as many IDs become idle in
#    a day as are new.
# 3. Each InitProducerId of an ID raises its epoch. So does each transaction with transaction.version 2, and an abort by
#    the coordinator, by up to 2 (KAFKA-19367). So an ID with an epoch from AGAIN on was used more than once.


MOST_PREFIXES: Final = 10_000
"""Prefixes that are counted apart; the IDs of further ones are counted together."""
AGAIN: Final = 4
MANY: Final = 10_000
"""IDs of one prefix that are idle and were used once: about as many KB of each coordinator's memory."""
_VARYING: Final = late_pattern(
    r"(?:(?:^|[-_.])(?:\d+(?:_\d+)?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"
    r"|[bcdf-hj-np-tv-xz2456789]{8,10}-[bcdf-hj-np-tv-xz2456789]{5})|(?<=\D)\d+)+$",
    re.IGNORECASE,
)
"""Numbers, UUIDs, hashes and names of Kubernetes pods at the end of an ID."""


def prefix_of(transactional_id: str) -> str:
    """The ID without the numbers, UUIDs, hashes and names of pods at its end."""
    return _VARYING.sub("", transactional_id)


class _Expiring(Struct):
    """IDs that are due soon, and the first of them; may_expire are those of which the log does not show more use."""

    ids: int = 0
    first: tuple[int, str] | None = None

    def add(self, due_ms: int, name: str) -> None:
        self.ids += 1
        self.first = (due_ms, name) if self.first is None or due_ms < self.first[0] else self.first


class _Prefix(Struct):
    ids: int = 0
    open: int = 0
    new: int = 0
    idle: int = 0
    used_once: int = 0
    used_again: int = 0
    expiring: _Expiring = field(default_factory=_Expiring)
    may_expire: _Expiring = field(default_factory=_Expiring)
    oldest_ms: int | None = None


class ChurnFold:
    """Takes in the transaction log, one partition after the other. as_of and expiration_ms are in ms.

    Each ID's producer IDs, the present and the previous one, are added to producer_ids.
    """

    def __init__(self, as_of: int, expiration_ms: int | None, producer_ids: set[int] | None = None) -> None:
        self._as_of, self._expiration_ms, self._producer_ids = as_of, expiration_ms, producer_ids
        self._prefixes: dict[str, _Prefix] = {}
        self.other_ids = 0
        self.newer = 0

    def add_all(self, records: Iterable[LogRecord]) -> None:
        for _, of_partition in groupby(records, key=lambda each: each.partition):
            fold = EpochFold()
            fold.add_all(of_partition)
            self.newer += fold.newer
            values = fold.values()
            for name, producers in fold.found().items():
                if name in values:
                    value = values[name]
                    self._add(name, producers, value)
                    if self._producer_ids is not None:
                        self._producer_ids |= {value.producer.producer_id, value.previous_producer_id}

    def found(self) -> tuple[PrefixChurn, ...]:
        """Those with most idle IDs first, then those with most IDs."""
        rows = [self._row(prefix, each) for prefix, each in self._prefixes.items()]
        return tuple(sorted(rows, key=lambda each: (-each.idle, -each.ids, each.prefix)))

    def _add(self, name: str, producers: Sequence[ProducerEpochs], value: TransactionLogValue) -> None:
        prefix = prefix_of(name)
        if prefix not in self._prefixes and len(self._prefixes) >= MOST_PREFIXES:
            self.other_ids += 1
            return
        here = self._prefixes.setdefault(prefix, _Prefix())
        here.ids += 1
        first = producers[0]
        is_first = first.begun_ms is not None and first.producer.producer_epoch == 0
        here.new += is_first and self._as_of - (first.begun_ms or 0) <= DAY_MS
        at = value.last_update_ms
        if value.state.is_open:
            here.open += 1
            return
        used_again = _used_again(producers, value, is_first=is_first)
        if used_again is not False:
            self._add_expiry(here.expiring if used_again else here.may_expire, name, value)
        if self._as_of - at > DAY_MS:
            here.idle += 1
            here.oldest_ms = at if here.oldest_ms is None else min(at, here.oldest_ms)
            here.used_once += used_again is False
            here.used_again += used_again is True

    def _add_expiry(self, due: _Expiring, name: str, value: TransactionLogValue) -> None:
        """Also of an ID that is idle for less than a day, where the brokers keep IDs for a day or less."""
        if self._expiration_ms is not None:
            due_ms = value.last_update_ms + self._expiration_ms
            if due_ms - self._as_of <= self._expiration_ms // NEAR_EXPIRY:
                due.add(due_ms, name)

    def _row(self, prefix: str, each: _Prefix) -> PrefixChurn:
        unknown = each.may_expire if not each.new else _Expiring()  # where IDs come new each day, others are left
        first = min(filter(None, (each.expiring.first, unknown.first)), default=(None, ""))
        days = 1.0 if each.oldest_ms is None else max(1.0, (self._as_of - each.oldest_ms) / DAY_MS - 1)
        return PrefixChurn(
            prefix=prefix,
            ids=each.ids,
            open=each.open,
            new=each.new,
            idle=each.idle,
            idle_per_day=round(each.idle / days, 1),
            used_once=each.used_once,
            used_again=each.used_again,
            expiring=None if self._expiration_ms is None else each.expiring.ids + unknown.ids,
            expiring_unknown=unknown.ids,
            first_expiry_ms=first[0],
            an_id=first[1],
        )


def _used_again(producers: Sequence[ProducerEpochs], value: TransactionLogValue, *, is_first: bool) -> bool | None:
    """Whether an ID had more than one producer or transaction; None where compaction left too few records."""
    ended = sum(each.committed + each.aborted for each in producers)
    producer_id, epoch = value.producer.producer_id, value.producer.producer_epoch
    earlier = value.previous_producer_id not in {-1, producer_id}
    if len(producers) > 1 or ended > 1 or epoch >= AGAIN or earlier:
        return True
    return False if is_first else None


def churn_findings(prefixes: Iterable[PrefixChurn], as_of: int) -> Iterator[Finding]:
    """IDs that will expire although they were used again and again, and prefixes that leave many IDs behind."""
    for each in prefixes:
        if each.expiring and each.first_expiry_ms is not None:
            left_ms = each.first_expiry_ms - as_of
            when = "is due to be forgotten" if left_ms <= 0 else f"will be forgotten in {lasting(left_ms)}"
            unsure = f" (of {each.expiring_unknown:,} the log no longer shows it)" if each.expiring_unknown else ""
            yield kinds.NEAR_EXPIRY.finding(
                each.prefix,
                f"{pluralize(each.expiring, 'idle ID')} that had been used again and again{unsure}: {each.an_id} {when}"
                ". The next transaction of its producer then fails with INVALID_PRODUCER_ID_MAPPING",
                {"ids": each.expiring, "transactional_id": each.an_id, "left_ms": left_ms},
                cure="if an application still has them, restart it then, or raise transactional.id.expiration.ms on "
                "the brokers (restart them one by one)",
                severity=Severity.INFO,
            )
        left = each.idle - each.used_again
        if left >= MANY:
            yield kinds.CHURNING.finding(
                each.prefix,
                f"{left:,} idle IDs that were not used again, about {each.idle_per_day:,.0f} a day",
                {"ids": each.ids, "idle": each.idle, "used_once": each.used_once, "new": each.new},
            )
