"""Answers `transactions log`, `history` and `churn`: what the transaction log holds of each ID, or files of it."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from eosctl.analysis.producer_epochs import ChurnFold, EpochFold, churn_findings, contentions
from eosctl.analysis.producer_state import StatesFold, state_findings
from eosctl.analysis.transaction_log import fold_transaction_log, history, log_findings
from eosctl.analysis.transactions import KnownNames, owners_of
from eosctl.codecs.transaction_log import decode_log_record, may_begin_with
from eosctl.errors import Undecodable, UsageError
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition
from eosctl.model.producer_epochs import EpochHistory, IdChurn
from eosctl.model.producer_state import ProducerStates
from eosctl.model.skipped import Cause, Coverage, Skipped, not_asked, unread_in
from eosctl.model.text import pluralize
from eosctl.model.transaction_log import (
    LogRecord,
    NewerLogRecord,
    TransactionHistory,
    TransactionLogRecords,
    TransactionLogReport,
)
from eosctl.operations.session import Session
from eosctl.operations.transactions import read_connect_names, with_threads
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.log_directories import LogSegment, partition_of_segment


class LogRequest(Struct, frozen=True):
    """The IDs (none: all), the files (none: the cluster), and the user's settings of the brokers.

    prefix selects further IDs, or all wanted ones if none is named.
    """

    transactional_ids: frozenset[str]
    segments: tuple[Path, ...]
    partitions: int | None
    expiration_ms: int | None
    config_topic: str
    prefix: str | None = None

    def wants(self, name: str) -> bool:
        if name in self.transactional_ids:
            return True
        return not self.transactional_ids if self.prefix is None else name.startswith(self.prefix)


class _Log(Struct, frozen=True):
    """The requested records, and the facts that the findings need."""

    as_of: int
    cluster_id: str | None
    records: Iterator[LogRecord]
    names: KnownNames
    leaders: Mapping[int, int] | Skipped
    partitions: int | Skipped
    expiration_ms: int | Skipped
    unread: Mapping[int, Skipped]
    notes: tuple[str, ...]

    def lies_unread(self, name: str) -> bool:
        """True if the ID belongs to a partition that was not read."""
        if isinstance(self.leaders, Skipped) or not self.unread:
            return False
        return coordinator_partition(name, len(self.leaders)) in self.unread


def fold_log(session: Session, request: LogRequest) -> TransactionLogReport:
    """The last state of each ID with findings; warns of IDs that the log has no record of."""
    log = _read(session, request)
    folded = fold_transaction_log(_of_few_ids(log.records, request))
    owners = owners_of(folded.ids, _named(session, request, log, folded.ids))
    absent = _absent(session, request, log, folded.ids)
    facts = {"expiry": log.expiration_ms, "the coordinator's partition": log.partitions}
    unchecked = (f"not checked: {what}: {why.reason}" for what, why in facts.items() if isinstance(why, Skipped))
    return TransactionLogReport(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        log=folded,
        owners=owners,
        leaders=log.leaders,
        findings=log_findings(folded, owners, log.as_of, log.expiration_ms, log.partitions),
        absent=absent,
        unread=log.unread,
        notes=(*unchecked, *log.notes),
        coverage=_coverage(session, request),
    )


def log_history(session: Session, request: LogRequest) -> TransactionHistory:
    """Every record that the log still holds, with its event; warns of IDs that it has no record of."""
    log = _read(session, request)
    entries = tuple(history(_of_few_ids(log.records, request)))
    return TransactionHistory(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        entries=entries,
        absent=_absent(session, request, log, {each.record.transactional_id for each in entries}),
        unread=log.unread,
        notes=log.notes,
        coverage=_coverage(session, request),
    )


def read_epoch_history(session: Session, request: LogRequest) -> EpochHistory:
    """The producers that had each of these IDs; warns of IDs that the log has no record of."""
    log = _read(session, request)
    fold = EpochFold()
    fold.add_all(_of_few_ids(log.records, request))
    found = fold.found()
    newer = (f"{pluralize(fold.newer, 'record was', 'records were')} not read: a newer Kafka wrote them",)
    return EpochHistory(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        epochs=tuple(each for producers in found.values() for each in producers),
        left_out=fold.left_out,
        owners=owners_of(found, _named(session, request, log, found)),
        findings=tuple(contentions(found)),
        absent=_absent(session, request, log, found),
        unread=log.unread,
        notes=(*(newer if fold.newer else ()), *log.notes),
        coverage=_coverage(session, request),
    )


def read_churn(session: Session, request: LogRequest, *, with_states: bool = False) -> IdChurn:
    """How the IDs of each prefix come and go, by the transaction log; with_states, the brokers' producers as well.

    Raises UsageError if states are wanted of files.
    """
    if with_states and request.segments:
        raise UsageError("segment files show no producer states: brokers are asked for them", hint="leave one out")
    log = _read(session, request)
    known = None if isinstance(log.expiration_ms, Skipped) else log.expiration_ms
    producer_ids: set[int] | None = set() if with_states and not request.prefix else None
    fold = ChurnFold(log.as_of, known, producer_ids)
    fold.add_all(log.records)
    prefixes = fold.found()
    states: ProducerStates | Skipped = not_asked("--producers was not given")
    uncounted: dict[str, Skipped] = {}
    if with_states:
        logged = None if fold.newer or log.unread else producer_ids
        states, uncounted = _read_states(session.reader, log.as_of, logged)
    newer = (f"{pluralize(fold.newer, 'record was', 'records were')} not read: a newer Kafka wrote them",)
    return IdChurn(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        prefixes=prefixes,
        other_ids=fold.other_ids,
        expiration_ms=log.expiration_ms,
        states=states,
        findings=(
            *churn_findings(prefixes, log.as_of),
            *(() if isinstance(states, Skipped) else state_findings(states)),
        ),
        absent=frozenset(),
        unread=log.unread,
        notes=(*(newer if fold.newer else ()), *log.notes),
        coverage=_coverage(session, request) + Coverage((), tuple(unread_in("producers of", uncounted))),
    )


def _read_states(
    reader: ClusterReader, as_of: int, logged: Container[int] | None
) -> tuple[ProducerStates, dict[str, Skipped]]:
    """Of all partitions that could be read, and why others could not: by topic where Read is missing."""
    leaders = reader.partitions({})
    with reader.optional_reads():
        replicas, settings = reader.replicas(), reader.broker_settings()
    fold, uncounted, unread = StatesFold(as_of, logged), dict[str, Skipped](), 0
    for place, producers in reader.producers_by_partition(leaders):
        if isinstance(producers, Skipped):
            unread += 1
            uncounted[place.topic if producers.cause is Cause.DENIED else str(place)] = producers
        else:
            fold.add(place, leaders[place], producers)
    return fold.found(replicas, settings, unread), uncounted


MOST_IDS: Final = 200_000
"""So many IDs are kept in memory at a time, with about 3 kB each."""


def _of_few_ids(records: Iterable[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    """The same records. Raises UsageError where they are of more than MOST_IDS IDs, with a prefix that has fewer."""
    names: set[str] = set()
    for record in records:
        if record.transactional_id is not None:
            names.add(record.transactional_id)
            if len(names) > MOST_IDS:
                stem = request.prefix or ""
                raise UsageError(
                    f"the transaction log has more than {MOST_IDS:,} transactional IDs"
                    + (f" that begin with {stem}" if stem else "")
                    + ", and each takes about 3 kB of memory",
                    hint=f"name IDs, or select fewer: `eosctl transactions history --prefix {narrower(stem, names)}`, "
                    "for example; `eosctl transactions churn` counts them all by prefix",
                )
        yield record


SAMPLE: Final = 10_000


def narrower(stem: str, names: Collection[str]) -> str:
    """The most frequent prefix that is longer than the stem and has a tenth of these names at most."""
    sample = sorted(names)[:: max(1, len(names) // SAMPLE)]
    found, length = stem, len(stem)
    while longer := Counter(each[: length + 1] for each in sample if len(each) > length):
        [(found, count)] = longer.most_common(1)
        if count <= len(sample) // 10:
            break
        length += 1
    return found


def _absent(session: Session, request: LogRequest, log: _Log, found: Collection[str]) -> frozenset[str]:
    """The requested IDs without a record in the part of the log that was read."""
    missing = request.transactional_ids.difference(found)
    absent = frozenset(name for name in missing if not log.lies_unread(name))
    if absent:
        session.options.console.warn(f"the log holds no record of {', '.join(sorted(absent))}: never used, or expired")
    return absent


def _named(session: Session, request: LogRequest, log: _Log, found: Iterable[str]) -> KnownNames:
    return log.names if request.segments else with_threads(session.reader, log.names, found)


def _coverage(session: Session, request: LogRequest) -> Coverage:
    return Coverage() if request.segments else session.reader.coverage


def _read(session: Session, request: LogRequest) -> _Log:
    return _read_segments(session, request) if request.segments else _read_cluster(session, request)


def _read_cluster(session: Session, request: LogRequest) -> _Log:
    reader = session.reader
    if request.prefix is None:
        log = reader.transaction_log(request.transactional_ids)
    else:
        log = reader.transaction_log(prefix="" if request.transactional_ids else request.prefix)
    connect = read_connect_names(reader, request.config_topic)
    return _Log(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        records=_wanted(log.records, request),
        names=connect.names,
        leaders=log.leaders,
        partitions=request.partitions or len(log.leaders) or Skipped("there is no transaction log yet"),
        expiration_ms=request.expiration_ms or log.expiration_ms,
        unread=log.unread,
        notes=(*_left_out(log), *connect.notes),
    )


def _left_out(log: TransactionLogRecords) -> tuple[str, ...]:
    if not log.left_out:
        return ()
    records = pluralize(log.left_out, "record of the log was", "records of the log were")
    return (f"{records} not kept: the snapshot has the last of each ID",)


def _read_segments(session: Session, request: LogRequest) -> _Log:
    group_id = session.options.group_id
    return _Log(
        as_of=session.now(),
        cluster_id=None,
        records=_wanted(_segment_records(session, request), request),
        names=KnownNames.of({} if group_id is None else {group_id: ()}),
        leaders=not_asked("read from files"),
        partitions=request.partitions or not_asked("read from files; give --partitions"),
        expiration_ms=request.expiration_ms or not_asked("read from files; give --expiration-ms"),
        unread={},
        notes=(),
    )


def _segment_records(session: Session, request: LogRequest) -> Iterator[LogRecord]:
    stem = (
        b"" if request.prefix is None or request.transactional_ids else request.prefix.encode(errors="surrogateescape")
    )
    for path in request.segments:
        place = partition_of_segment(path)
        if place is not None and place.topic != TRANSACTION_LOG:
            raise UsageError(f"{path} is a segment of {place}, not of {TRANSACTION_LOG}")
        segment, is_empty = LogSegment(path), True
        for record in segment:
            is_empty = False
            if may_begin_with(record.key or b"", stem):
                yield decode_log_record(-1 if place is None else place.partition, record)
        if segment.cut_bytes and is_empty:
            reason = f"{path} has no whole record batch: it is no segment of {TRANSACTION_LOG}, or was cut off"
            raise Undecodable(reason, hint="give a .log file of a __transaction_state partition's directory")
        if segment.cut_bytes:
            session.options.console.warn(
                f"{path} ends within a batch: its last {segment.cut_bytes} bytes were not read"
            )


def _wanted(records: Iterable[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    if not request.transactional_ids and request.prefix is None:
        return iter(records)
    return (each for each in records if isinstance(each, NewerLogRecord) or request.wants(each.transactional_id))
