"""What `transactions log` answers: the log of a cluster, or segment files without a broker."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eosctl.analysis.owners import KnownNames, owners_of
from eosctl.analysis.transaction_history import history
from eosctl.analysis.transaction_log import fold_transaction_log, log_findings
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import UsageError
from eosctl.model.counts import counted
from eosctl.model.coverage import Coverage
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.transaction_log import (
    LogRecord,
    NewerLogRecord,
    TransactionHistory,
    TransactionLogRecords,
    TransactionLogReport,
)
from eosctl.operations.owners import read_connect_names
from eosctl.operations.session import Session
from eosctl.sources.log_segment import LogSegment, partition_of_segment


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which IDs (none: all), from which files (none: the cluster), and what the user says of the brokers."""

    transactional_ids: frozenset[str]
    segments: tuple[Path, ...]
    partitions: int | None
    expiration_ms: int | None
    config_topic: str


@dataclass(frozen=True, slots=True)
class _Log:
    """The records that are asked for, and the facts that the findings need."""

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
        """Whether the ID belongs into a partition that was not read."""
        if isinstance(self.leaders, Skipped) or not self.unread:
            return False
        return coordinator_partition(name, len(self.leaders)) in self.unread


def fold_log(session: Session, request: LogRequest) -> TransactionLogReport:
    """The last state of each ID with findings; warns of IDs that the log has no record of."""
    log = _read(session, request)
    folded = fold_transaction_log(log.records)
    owners = owners_of(folded.ids, log.names)
    missing = request.transactional_ids - folded.ids.keys()
    absent = frozenset(name for name in missing if not log.lies_unread(name))
    if absent:
        session.options.console.warn(f"the log holds no record of {', '.join(sorted(absent))}")
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
    """Every record that the log still holds, with what happened by it."""
    log = _read(session, request)
    return TransactionHistory(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        entries=tuple(history(log.records)),
        unread=log.unread,
        notes=log.notes,
        coverage=_coverage(session, request),
    )


def _coverage(session: Session, request: LogRequest) -> Coverage:
    return Coverage() if request.segments else session.reader.coverage


def _read(session: Session, request: LogRequest) -> _Log:
    return _read_segments(session, request) if request.segments else _read_cluster(session, request)


def _read_cluster(session: Session, request: LogRequest) -> _Log:
    reader = session.reader
    log = reader.transaction_log(request.transactional_ids)
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
    records = counted(log.left_out, "record of the log was", "records of the log were")
    return (f"{records} not kept: the snapshot has the last of each ID",)


def _read_segments(session: Session, request: LogRequest) -> _Log:
    group_id = session.options.group_id
    return _Log(
        as_of=session.now(),
        cluster_id=None,
        records=_wanted(_segment_records(session, request), request),
        names=KnownNames.of({} if group_id is None else {group_id: ()}),
        leaders=not_asked("read from files"),
        partitions=request.partitions or not_asked("read from files; say it with --partitions"),
        expiration_ms=request.expiration_ms or not_asked("read from files; say it with --expiration-ms"),
        unread={},
        notes=(),
    )


def _segment_records(session: Session, request: LogRequest) -> Iterator[LogRecord]:
    for path in request.segments:
        place = partition_of_segment(path)
        if place is not None and place.topic != TRANSACTION_LOG:
            raise UsageError(f"{path} is a segment of {place}, not of {TRANSACTION_LOG}")
        segment = LogSegment(path)
        for record in segment:
            yield decode_log_record(-1 if place is None else place.partition, record)
        if segment.cut_bytes:
            session.options.console.warn(
                f"{path} ends within a batch: its last {segment.cut_bytes} bytes were not read"
            )


def _wanted(records: Iterable[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    names = request.transactional_ids
    if not names:
        return iter(records)
    return (each for each in records if isinstance(each, NewerLogRecord) or each.transactional_id in names)
