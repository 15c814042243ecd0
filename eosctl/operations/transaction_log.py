"""What `transactions log` reads and decides: the live log, or segment files without a broker."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from eosctl.analysis.owners import KnownNames
from eosctl.analysis.transaction_history import history
from eosctl.analysis.transaction_log import fold_transaction_log, log_findings
from eosctl.analysis.transactions import ownership
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import EXIT_FINE, EXIT_FOUND, EosctlError, Unreachable, UsageError
from eosctl.model.names import coordinator_partition
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import TRANSACTION_LOG, LogRecord, NewerLogRecord, TransactionLogFacts
from eosctl.operations.owners import read_connect_names
from eosctl.operations.saved_transactions import read_saved
from eosctl.operations.session import Session
from eosctl.render.views.transaction_log import view_transaction_history, view_transaction_log
from eosctl.sources.log_segment import LogSegment, partition_of_segment

EXPIRATION: Final = "transactional.id.expiration.ms"
SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which IDs (none: all), from which files (none: the cluster), and what the user says of the brokers."""

    transactional_ids: frozenset[str]
    segments: tuple[Path, ...]
    partitions: int | None
    expiration_ms: int | None
    config_topic: str


@dataclass(frozen=True, slots=True)
class _Read:
    """What there is to fold, and the facts that the findings need."""

    as_of: int
    records: Iterator[LogRecord]
    names: KnownNames
    leaders: Mapping[int, int] | Skipped
    partitions: int | Skipped
    expiration_ms: int | Skipped
    notes: tuple[str, ...]
    cluster_id: str | None
    unread: Mapping[int, Skipped] = field(default_factory=dict)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and which partitions could not be read."""
        return (*self.notes, f"not read: {_reasons(self.unread)}") if self.unread else self.notes

    def finish(self, code: int) -> int:
        """The exit code; raises Unreachable where nothing was found in a log that was not read as a whole."""
        if self.unread and code == EXIT_FINE:
            raise Unreachable(f"the transaction log was not read as a whole: {_reasons(self.unread)}")
        return code


def _reasons(unread: Mapping[int, Skipped]) -> str:
    reasons = [each.reason for each in unread.values()]
    more = f" and {len(reasons) - SHOWN} more" if len(reasons) > SHOWN else ""
    return f"{', '.join(reasons[:SHOWN])}{more}"


def log_now(session: Session, request: LogRequest) -> int:
    """Shows the last state of each ID with findings. Returns the exit code."""
    read, options = _read(session, request), session.options
    as_of = read.as_of
    folded = fold_transaction_log(_wanted(read.records, request))
    owners = {name: ownership(name, read.names) for name in folded.ids}
    findings = log_findings(folded, owners, as_of, read.expiration_ms, read.partitions)
    unread = {"expiry": read.expiration_ms, "the coordinator's partition": read.partitions}
    notes = [f"not checked: {what}: {why.reason}" for what, why in unread.items() if isinstance(why, Skipped)]
    document = view_transaction_log(
        folded, owners, read.leaders, findings, (*notes, *read.all_notes), rfc3339(as_of), read.cluster_id
    )
    missing = request.transactional_ids - folded.ids.keys()
    hidden = {name for name in missing if read.unread and _place(name, read) in read.unread}
    if missing - hidden:
        session.options.console.warn(f"the log holds no record of {', '.join(sorted(missing - hidden))}")
    options.console.result(document)
    return read.finish(EXIT_FOUND if missing - hidden or any(each.counts for each in findings) else EXIT_FINE)


def _place(name: str, read: _Read) -> int:
    return -1 if isinstance(read.leaders, Skipped) else coordinator_partition(name, len(read.leaders))


def log_history(session: Session, request: LogRequest) -> int:
    """Shows every record that the log still holds, with what happened by it. Returns the exit code."""
    read = _read(session, request)
    entries = history(_wanted(read.records, request))
    session.options.console.result(
        view_transaction_history(entries, read.all_notes, rfc3339(read.as_of), read.cluster_id)
    )
    return read.finish(EXIT_FINE)


def _wanted(records: Iterator[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    names = request.transactional_ids
    if not names:
        return records
    return (each for each in records if isinstance(each, NewerLogRecord) or each.transactional_id in names)


def _read(session: Session, request: LogRequest) -> _Read:
    options = session.options
    if request.segments:
        return _read_segments(session, request)
    if options.snapshot is not None:
        return _read_saved(options.snapshot, options.group_id, request)
    return _read_cluster(session, request)


def _read_saved(path: Path, group_id: str | None, request: LogRequest) -> _Read:
    saved = read_saved(path, group_id)
    log = saved.log
    kept = f"the log held {log.read} records, of which the snapshot has {len(log.records)}: the last of each ID"
    return _Read(
        as_of=saved.snapshot.as_of,
        records=iter(log.records),
        names=saved.connect.names,
        leaders=log.leaders,
        partitions=request.partitions or len(log.leaders) or Skipped("there was no transaction log yet"),
        expiration_ms=request.expiration_ms or log.expiration_ms,
        notes=(*((kept,) if len(log.records) < log.read else ()), *saved.connect.notes),
        cluster_id=saved.cluster_id,
        unread=_wanted_unread(log, request),
    )


def _wanted_unread(log: TransactionLogFacts, request: LogRequest) -> Mapping[int, Skipped]:
    """Partitions that were not read when the snapshot was saved, of those that the IDs asked for belong into."""
    if not request.transactional_ids:
        return log.unread
    chosen = (
        {coordinator_partition(name, len(log.leaders)) for name in request.transactional_ids} if log.leaders else ()
    )
    return {partition: why for partition, why in log.unread.items() if partition in chosen}


def _read_segments(session: Session, request: LogRequest) -> _Read:
    offline = not_asked("read from files; say it with --expiration-ms")
    group_id = session.options.group_id
    return _Read(
        as_of=session.now(),
        records=_segment_records(session, request),
        names=KnownNames.of({} if group_id is None else {group_id: ()}),
        leaders=not_asked("read from files"),
        partitions=request.partitions or not_asked("read from files; say it with --partitions"),
        expiration_ms=request.expiration_ms or offline,
        notes=(),
        cluster_id=None,
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


def _read_cluster(session: Session, request: LogRequest) -> _Read:
    from eosctl.sources.transaction_log import (
        read_transaction_log,
        transaction_log_leaders,
        transaction_log_offsets,
    )

    wire = session.wire
    leaders = transaction_log_leaders(wire)
    ids = request.transactional_ids
    chosen = {coordinator_partition(name, len(leaders)) for name in ids} if ids and leaders else leaders
    offsets, unread = transaction_log_offsets(wire, sorted(chosen))
    connect = read_connect_names(session, request.config_topic)
    return _Read(
        as_of=session.now(),
        records=read_transaction_log(wire, offsets),
        names=connect.names,
        leaders=leaders,
        partitions=request.partitions or len(leaders) or Skipped("there is no transaction log yet"),
        expiration_ms=request.expiration_ms or expiration_of(session),
        notes=connect.notes,
        cluster_id=wire.cluster_id,
        unread=unread,
    )


def expiration_of(session: Session) -> int | Skipped:
    """The brokers' transactional.id.expiration.ms, the least of them."""
    from eosctl.sources.kafka_topics import broker_settings

    found = []
    for broker in session.wire.brokers():
        try:
            settings = broker_settings(session.wire, broker.node_id, [EXPIRATION])
        except EosctlError as error:
            return Skipped.of(error)
        if isinstance(settings, Skipped):
            return settings
        found.append(int(settings[EXPIRATION]))
    return min(found)
