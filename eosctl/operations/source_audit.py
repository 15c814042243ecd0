"""Comparing captured tables with their topics: rows, then records, then a second look at what differs."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar, Final, NamedTuple

from msgspec.structs import replace

from eosctl.analysis.source_audit import KINDS, findings_about, unseen_at_most, verdict_of
from eosctl.atomic_write import OWNER_ONLY
from eosctl.engines.source_audit import TableComparison
from eosctl.errors import ConfigError, EosctlError, Undecodable, UsageError
from eosctl.files import open_file
from eosctl.ledger.postgresql import PostgresqlConnection, postgresql_store
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditVerdict, OffsetRange, TopicRole
from eosctl.model.client_properties import split_list
from eosctl.model.hidden_fields import HiddenFields
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.source_audit import (
    CapturedTable,
    ColumnKind,
    ComparedTable,
    Handling,
    RowDifference,
    SourceAuditReport,
    TableColumn,
)
from eosctl.model.text import first_few
from eosctl.operations.offset_stores import OffsetsRequest, source_connectors, worker_version
from eosctl.operations.offsets import CALLED, DEFAULT_SLOT, SLOT
from eosctl.operations.session import Session
from eosctl.sources.audit_log import LogSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.config_providers import look_up
from eosctl.sources.mariadb_tables import SCHEMES, mariadb_tables
from eosctl.sources.source_tables import PostgresqlTables, SourceTables

PAUSE_S: Final = 0.5
COPYING: Final = frozenset({"", "initial", "initial_only", "always", "when_needed", "parallel"})
"""Values of snapshot.mode with which a connector copies rows that were there before it."""
SAME_VALUES: Final = frozenset(
    {"ExtractNewRecordState", "RegexRouter", "TimestampRouter", "ByLogicalTableRouter", "InsertField", "InsertHeader",
     "DropHeaders", "HeaderFrom", "ReplaceField", "SetSchemaMetadata", "ValueToKey", "TimezoneConverter",
     "PartitionRouting"}
)  # fmt: skip
"""Transformations of Kafka's and Debezium's that leave the values of a row's columns as they are."""
CHANGED_COLUMNS: Final = ("column.mask.", "column.truncate.")


class SourceAuditRequest(HiddenFields, frozen=True, kw_only=True):
    """The command line. tables are SCHEMA.NAME or SCHEMA.NAME=TOPIC (none: those that the connector captures).

    rate is in rows a second, wait_s the longest wait for the connector; caught_up: the user says it has read all.
    """

    hidden: ClassVar = ("source_dsn",)

    offsets: OffsetsRequest
    source_dsn: str
    tables: tuple[str, ...] = ()
    chunk: int = 5000
    rate: int | None = None
    sample: int | None = None
    state: Path | None = None
    wait_s: float = 60.0
    caught_up: bool = False

    @property
    def connector(self) -> str | None:
        return next(iter(self.offsets.connectors), None)


class Comparer(NamedTuple):
    """What one table's comparison works with."""

    reader: ClusterReader
    log: LogSource
    source: SourceTables
    comparison: TableComparison
    request: SourceAuditRequest
    config: Mapping[str, str]
    progress: Callable[..., AbstractContextManager[Callable[[int], None]]]


def audit_source(session: Session, request: SourceAuditRequest) -> SourceAuditReport:
    """Each table's verdict. Raises UsageError where no table is known to be captured."""
    if request.state is not None:
        _make_state_file(request.state)
    reader = session.reader
    opened = reader.record_batches()
    if isinstance(opened, Skipped):
        raise UsageError(f"the topics cannot be read: {opened.reason}", hint="name the cluster with -b")
    config = _config_of(reader, request)
    with _open_source(request.source_dsn, session.timeout_s) as source:
        tables = _captured(source, config, request)
        names = reader.topic_names()
        of = f"{source.name} and {request.connector or 'tables'} in cluster {reader.cluster_id}"
        with _state_file(request.state) as file, TableComparison(file, of, _handling(config)) as kept, opened() as log:
            comparer = Comparer(reader, log, source, kept, request, config, session.options.console.progress)
            compared = tuple(_compare(comparer, each, names) for each in tables)
        if request.state is not None:
            request.state.unlink(missing_ok=True)
    return SourceAuditReport(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        connector=request.connector,
        source=source.name,
        tables=compared,
        findings=tuple(finding for each in compared for finding in findings_about(each)),
        looked_for=tuple(KINDS.values()),
        coverage=reader.coverage,
    )


@contextmanager
def _open_source(dsn: str, timeout_s: float) -> Iterator[SourceTables]:
    scheme = dsn.partition("://")[0]
    if scheme in SCHEMES:
        with mariadb_tables(dsn, look_up, timeout_s) as tables:
            yield tables
        return
    if scheme not in {"postgresql", "postgres"}:
        raise UsageError(
            f"--source-dsn: scheme {scheme!r} is not known",
            hint="write postgresql://USER@HOST/DATABASE or mariadb://USER@HOST",
        )
    store = postgresql_store(dsn, look_up, timeout_s, CALLED._replace(is_short=False))
    with store.connect() as connection:
        yield PostgresqlTables(store.name, _Streamed(connection))


class _Streamed:
    """A connection whose rows may be large."""

    def __init__(self, connection: PostgresqlConnection) -> None:
        self._connection = connection
        self.begin_reading, self.roll_back = connection.begin_reading, connection.roll_back

    def rows(self, statement: str, values: Sequence[str | int] = ()) -> Iterator[Sequence[object]]:
        return self._connection.rows(statement, values, streamed=True)


def _make_state_file(path: Path) -> None:
    """Makes the file where there is none. It has rows of the database, so only its owner may read it."""
    try:
        if path.exists():
            open_file(path).close()
        else:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except OSError as error:
        raise ConfigError(f"cannot keep the comparison in {path}: {error.strerror or error}") from error


@contextmanager
def _state_file(named: Path | None) -> Iterator[Path]:
    if named is not None:
        yield named
        return
    with tempfile.TemporaryDirectory(prefix="eosctl-source-audit-") as directory:
        yield Path(directory) / "comparison.db"


# -- what is compared --------------------------------------------------------------------------------------------------


def _config_of(reader: ClusterReader, request: SourceAuditRequest) -> Mapping[str, str]:
    """The connector's config; empty where no connector is named. UsageError for one that is not there."""
    if request.connector is None:
        if not request.tables:
            raise UsageError("no connector is named", hint="give --connector NAME, or --table SCHEMA.NAME=TOPIC")
        return {}
    version = worker_version(reader, request.offsets.worker_version).version
    configs = source_connectors(reader, request.offsets, version).configs
    if isinstance(configs, Skipped):
        raise UsageError(
            f"the config of connector {request.connector} is not known: {configs.reason}",
            hint="give --connect-url or --config-topic",
        )
    if request.connector not in configs:
        raise UsageError(f"there is no source connector {request.connector}", hint="eosctl connector list names them")
    return {key: str(value) for key, value in configs[request.connector].items()}


def _handling(config: Mapping[str, str]) -> Handling:
    """Debezium's connectors for MySQL and MariaDB write times in microseconds unless the config says otherwise."""
    given = Handling()
    if config.get("connector.class", "").rpartition(".")[2].startswith(("MySql", "MariaDb")):
        given = given._replace(times="adaptive_time_microseconds")
    return Handling(
        config.get("decimal.handling.mode", given.decimals),
        config.get("time.precision.mode", given.times),
        config.get("binary.handling.mode", given.binaries),
        config.get("unavailable.value.placeholder", given.unavailable),
    )


def _captured(
    source: SourceTables, config: Mapping[str, str], request: SourceAuditRequest
) -> tuple[CapturedTable, ...]:  # fmt: skip
    prefix, delimiter = config.get("topic.prefix", ""), config.get("topic.delimiter", ".")
    found = []
    for text in request.tables:
        label, _, topic = text.partition("=")
        schema, _, name = label.partition(".")
        if not name or not (topic or prefix):
            raise UsageError(f"--table {text}: no topic is known for it", hint="write SCHEMA.NAME=TOPIC")
        found.append(CapturedTable(schema, name, topic or _topic(prefix, delimiter, schema, name)))
    if not found:
        if not prefix:
            raise UsageError(
                f"the tables of connector {request.connector} are not known: its config has no topic.prefix",
                hint="give --table SCHEMA.NAME=TOPIC",
            )
        found = [
            CapturedTable(schema, name, _topic(prefix, delimiter, schema, name))
            for schema, name in source.tables()
            if _is_captured(schema, name, config)
        ]
    if not found:
        raise UsageError("the database has no table that the connector captures", hint="does --source-dsn name it?")
    return tuple(replace(each, columns=_columns(source, each, config)) for each in found)


def _topic(prefix: str, delimiter: str, schema: str, name: str) -> str:
    """As Debezium names it: what a topic's name cannot have is an underscore."""
    return re.sub(r"[^a-zA-Z0-9._-]", "_", delimiter.join((prefix, schema, name)))


def _is_captured(schema: str, name: str, config: Mapping[str, str]) -> bool:
    """By Debezium's lists of regular expressions, which match the whole name in any case."""
    for kind, text in (("schema", schema), ("database", schema), ("table", f"{schema}.{name}")):
        included, excluded = config.get(f"{kind}.include.list", ""), config.get(f"{kind}.exclude.list", "")
        if included and not _matches(included, text):
            return False
        if excluded and _matches(excluded, text):
            return False
    return True


def _matches(patterns: str, text: str) -> bool:
    try:
        return any(re.fullmatch(each, text, re.IGNORECASE) for each in split_list(patterns))
    except re.error as error:
        raise UsageError(f"{patterns}: {error}", hint="name the tables with --table") from None


def _columns(source: SourceTables, table: CapturedTable, config: Mapping[str, str]) -> tuple[TableColumn, ...]:
    """The table's columns; those whose values the connector masks or cuts are not compared."""
    changed = [value for key, value in config.items() if key.startswith(CHANGED_COLUMNS)]
    found = source.columns(table.schema, table.name)
    if not found:
        raise UsageError(f"table {table.label} is not in {source.name}, or may not be read")
    return tuple(
        each._replace(kind=ColumnKind.OTHER)
        if each.key is None and any(_matches(value, f"{table.label}.{each.name}") for value in changed)
        else each
        for each in found
    )


# -- one table ---------------------------------------------------------------------------------------------------------


def _compare(comparer: Comparer, table: CapturedTable, topics: frozenset[str]) -> ComparedTable:
    blank = ComparedTable(table=table)
    try:
        if not table.key:
            return replace(blank, reasons=("the table has no primary key",))
        comparer.comparison.begin(table)
        total = _read_rows(comparer, table)
        if table.topic not in topics:
            rows = comparer.comparison.rows()
            if rows:
                return replace(blank, rows=rows, reasons=(f"topic {table.topic} does not exist, or may not be read",))
            return replace(blank, verdict=AuditVerdict.HELD)
        reasons = [*_compare_with_topic(comparer, table)]
    except EosctlError as error:
        return replace(blank, reasons=(error.message,))
    return _concluded(comparer, table, reasons, total)


def _read_rows(comparer: Comparer, table: CapturedTable) -> int | None:
    """All rows, or a sample; how many there are where it is one."""
    source, comparison, request = comparer.source, comparer.comparison, comparer.request
    total = share = None
    limit = request.chunk if request.rate is None else max(1, min(request.chunk, request.rate))
    if request.sample is not None:
        total = source.count(table)
        share, limit = min(1.0, request.sample / max(total, 1)), 4 * request.sample
    with comparer.progress(f"rows of {table.label}", unit="rows") as advance:
        while not comparison.is_read:
            begun = monotonic()
            chunk = source.chunk(table, comparison.after, limit, None if share == 1 else share)
            if chunk.rows:
                comparison.add(table, chunk)
            if len(chunk.rows) < limit:
                comparison.end_rows()
            elif request.rate is not None:
                sleep(max(0.0, len(chunk.rows) / request.rate - (monotonic() - begun)))
            advance(len(chunk.rows))
    return total


def _compare_with_topic(comparer: Comparer, table: CapturedTable) -> Iterator[str]:
    """Reads the topic until nothing differs or the connector has passed all points; gives reasons against a verdict."""
    comparison, request = comparer.comparison, comparer.request
    sample = request.sample
    passed, ends = _passed(comparer, table)
    comparison.compare(table, sample)
    if comparison.has_differing():
        _look_again(comparer, table)
        deadline = monotonic() + request.wait_s
        last = comparison.last_point()
        wanted = 0 if last is None or request.caught_up else last.high
        goal = None if passed < wanted else ends
        while (goal is None or comparison.is_short_of(goal)) and monotonic() < deadline:
            sleep(PAUSE_S)
            passed, ends = _passed(comparer, table)
            goal = ends if goal is None and passed >= wanted else goal
        yield from _settled(comparer, table, passed, goal or ends)
    yield from _doubts(comparer, table)


def _settled(comparer: Comparer, table: CapturedTable, passed: int, ends: Mapping[int, int]) -> Iterator[str]:
    """What still differs, and is decided."""
    comparison, request, source = comparer.comparison, comparer.request, comparer.source
    comparison.compare_again(table)
    comparison.end_look()
    last = comparison.last_point()
    if not request.caught_up and last is not None and passed < last.high:
        comparison.doubt_behind(passed)
        if comparison.undecided():
            known = f"has only passed {source.words_of(passed)}" if passed else "does not show where it is"
            yield (
                f"the connector {known}, and rows were read up to {source.words_of(last.high)}: change a captured row, "
                "or set heartbeat.interval.ms and heartbeat.action.query, or give --caught-up if you know that it has"
            )
    if comparison.is_short_of(ends) and comparison.has_differing():
        comparison.doubt_behind(0)
        yield f"an open transaction of topic {table.topic} hides records: see `eosctl transactions hanging`"


def _look_again(comparer: Comparer, table: CapturedTable) -> None:
    """A point for keys of the topic that had no row; without positions in the records, for all keys that differ."""
    comparison, source = comparer.comparison, comparer.source
    kinds = (RowDifference.EXTRA,) if comparison.has_positions else tuple(RowDifference)
    for some in comparison.differing(table, kinds):
        comparison.look(table, some, source.rows_at(table, [each.raw for each in some]))


def _passed(comparer: Comparer, table: CapturedTable) -> tuple[int, Mapping[int, int]]:
    """Where the connector was, and the high watermarks then: once all before these is read, no record is hidden.

    The slot confirms what the connector has committed. A partition that has the record of a change has those of all
    transactions that were committed before that change was written: what all partitions have passed counts, too.
    """
    reader, comparison = comparer.reader, comparer.comparison
    slot = None if not comparer.config else comparer.config.get(SLOT, DEFAULT_SLOT)
    confirmed = comparer.source.confirmed(slot) or 0
    described = reader.topics([table.topic], ()).get(table.topic)
    if described is None:
        raise Undecodable(f"topic {table.topic} was deleted while it was read")
    places = [TopicPartition(table.topic, number) for number in range(described.partitions)]
    bounds = reader.bounds(places)
    topic = AuditedTopic(table.topic, TopicRole.OUTPUT, described.topic_id)
    plan = AuditPlan(reader.now(), reader.cluster_id, None, (topic,), (), ())
    left = sum(
        max(0, each.last_stable_offset - comparison.next_offset(place.partition)) for place, each in bounds.items()
    )
    with comparer.progress(f"records of {table.topic}", left, unit="offsets") as advance:
        for place, each in bounds.items():
            start = max(each.log_start_offset, comparison.next_offset(place.partition))
            if start < each.last_stable_offset:
                offsets = OffsetRange(table.topic, place.partition, start, each.last_stable_offset)
                for count in comparison.fold(comparer.log, plan, table, offsets):
                    advance(count)
    ends = {place.partition: each.high_watermark for place, each in bounds.items()}
    streamed = min((comparison.note_order(place.partition) for place in places), default=0)
    return max(confirmed, streamed), ends


def _doubts(comparer: Comparer, table: CapturedTable) -> Iterator[str]:
    """What of the connector's config and the topic's log keeps a difference from being a loss."""
    comparison, config = comparer.comparison, comparer.config
    if comparison.count(RowDifference.MISSING):
        for reason in _absences(comparer, table):
            comparison.doubt(RowDifference.MISSING)
            yield reason
    if comparison.count(RowDifference.DIFFERING) and (change := _changes(config)):
        comparison.doubt(RowDifference.DIFFERING)
        yield f"values may be changed on their way by {first_few(change)}"
    skipped = {"c", "u", "d"} & set(split_list(config.get("skipped.operations", "")))
    if skipped and any(map(comparison.count, RowDifference)):
        for kind in RowDifference:
            comparison.doubt(kind)
        yield f"skipped.operations leaves out {' and '.join(sorted(skipped))}"
    for reason, count in comparison.unusable().items():
        yield f"{count:,} records of the topic are not compared: {reason}"


def _absences(comparer: Comparer, table: CapturedTable) -> Iterator[str]:
    """Why a row may be absent from the topic though nothing was lost."""
    reader, mode = comparer.reader, comparer.config.get("snapshot.mode", "").strip().lower()
    if mode not in COPYING:
        yield f"snapshot.mode={mode}: rows that did not change since the connector began need not be in the topic"
    partitions = reader.topics([table.topic], ())[table.topic].partitions
    bounds = reader.bounds([TopicPartition(table.topic, number) for number in range(partitions)])
    begun = [
        f"{place.partition} at {each.log_start_offset:,}" for place, each in bounds.items() if each.log_start_offset
    ]
    if begun:
        yield f"the log of partition {first_few(begun)} begins behind 0: records before it were deleted"


def _changes(config: Mapping[str, str]) -> list[str]:
    named = [f"converter {each}" for each in split_list(config.get("converters", ""))]
    for alias in split_list(config.get("transforms", "")):
        kind = config.get(f"transforms.{alias}.type", "").rpartition(".")[2].partition("$")[0]
        if kind not in SAME_VALUES:
            named.append(f"transformation {alias} ({kind or 'of an unknown type'})")
    return named


def _concluded(comparer: Comparer, table: CapturedTable, reasons: Sequence[str], total: int | None) -> ComparedTable:
    comparison, source = comparer.comparison, comparer.source
    last = comparison.last_point()
    rows, undecided = comparison.rows(), comparison.undecided()
    counts = {each: comparison.count(each) for each in RowDifference}
    if undecided and not reasons:
        reasons = [f"{undecided:,} keys changed, or were copied by a snapshot, while they were compared: run it again"]
    if not comparison.has_positions:
        reasons_of = "records of the topic do not say where in the source's log they belong"
        reasons = [*reasons, reasons_of] if undecided else reasons
    compared = ComparedTable(
        table=table,
        rows=rows,
        keys=comparison.keys(),
        counts=counts,
        undecided=undecided,
        samples={each: comparison.samples(each) for each in RowDifference},
        uncompared=comparison.uncompared(table),
        at=None if last is None else source.words_of(last.high),
        reasons=tuple(reasons),
        evidence=tuple(kind.id for each, kind in KINDS.items() if counts[each]),
        sample_of=total,
        unseen_at_most=None if total is None or any(counts.values()) else unseen_at_most(rows, total),
        queries=getattr(source, "queries", 0),
    )
    return replace(compared, verdict=verdict_of(compared))
