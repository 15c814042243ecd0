"""Comparing captured tables with their topics: rows, then records, then a second look at what differs."""

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar, Final, NamedTuple

from msgspec.structs import replace

from eosctl.analysis.source_audit import KINDS, findings_about, unseen_at_most, verdict_of
from eosctl.atomic_write import OWNER_ONLY
from eosctl.engines.scanning import COMPACT, collecting_rarely
from eosctl.engines.source_audit import TableComparison
from eosctl.engines.source_records import ReadApart
from eosctl.errors import ConfigError, EosctlError, Undecodable, UsageError, reason_of
from eosctl.files import open_file
from eosctl.ledger.postgresql import SOURCE, PostgresqlConnection, postgresql_store
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditVerdict, SparkOptions, TopicRole
from eosctl.model.client_properties import split_list
from eosctl.model.evidence_file import EvidencedCluster
from eosctl.model.hidden_fields import HiddenFields
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Coverage, Skipped, unread_in
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
from eosctl.model.topics import CLEANUP_POLICY, RETENTION_SETTINGS, OffsetRange, TopicDescription
from eosctl.operations.audit_request import EvidenceRequest
from eosctl.operations.audit_topics import with_settings
from eosctl.operations.evidence_file import Evidence, digest_ranges, evidenced_cluster, write_evidence
from eosctl.operations.offset_stores import OffsetsRequest, source_connectors
from eosctl.operations.offsets import DEFAULT_SLOT, SLOT
from eosctl.operations.session import Session
from eosctl.operations.workers import worker_version
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.java import find_java
from eosctl.sources.audit_log import LogSource, OpenSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.config_providers import look_up
from eosctl.sources.mariadb_tables import SCHEMES, mariadb_tables
from eosctl.sources.source_tables import PostgresqlTables, SourceTables
from eosctl.spark.starting import spark_engine

PAUSE_S: Final = 0.5
COPYING: Final = frozenset({"", "initial", "initial_only", "always", "when_needed", "parallel"})
"""Values of snapshot.mode with which a connector copies rows that were there before it."""
SAME_VALUES: Final = frozenset(
    {"ExtractNewRecordState", "RegexRouter", "TimestampRouter", "ByLogicalTableRouter", "InsertField", "InsertHeader",
     "DropHeaders", "HeaderFrom", "ReplaceField", "SetSchemaMetadata", "ValueToKey", "TimezoneConverter",
     "PartitionRouting"}
)  # fmt: skip
"""Transformations of Kafka's and Debezium's that leave the values of a row's columns as they are."""
OTHER_VALUES: Final = frozenset({"Cast", "MaskField", "TimestampConverter", "ExtractField", "Flatten", "HoistField"})
"""Transformations of Kafka's that leave out no record. Others may."""
PUBLICATION: Final = "publication.name"
DEFAULT_PUBLICATION: Final = "dbz_publication"
COPIED: Final = "snapshot.include.collection.list"
SELECTED: Final = "snapshot.select.statement.overrides"
CHANGED_COLUMNS: Final = ("column.mask.", "column.truncate.")


class SourceAuditRequest(HiddenFields, frozen=True, kw_only=True):
    """The command line. tables are SCHEMA.NAME or SCHEMA.NAME=TOPIC (none: those that the connector captures).

    rate is in rows a second, wait_s the longest wait for the connector; caught_up: the user says it has read all.
    spark: its executors read the topics; None: this machine does.
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
    evidence: EvidenceRequest | None = None
    spark: SparkOptions | None = None
    key_path: str | None = None

    @property
    def connector(self) -> str | None:
        return next(iter(self.offsets.connectors), None)


class Comparer(NamedTuple):
    """Inputs of one table's comparison; read_apart reads its topic's records elsewhere (None: here)."""

    reader: ClusterReader
    log: LogSource
    read_apart: ReadApart | None
    source: SourceTables
    comparison: TableComparison
    request: SourceAuditRequest
    config: Mapping[str, str]
    progress: Callable[..., AbstractContextManager[Callable[[int], None]]]


def audit_source(
    session: Session, request: SourceAuditRequest, as_json: Callable[[SourceAuditReport], str]
) -> SourceAuditReport:
    """Each table's verdict. Raises UsageError where no table is known to be captured."""
    if request.evidence is not None:
        request.evidence.require_usable()
    if request.state is not None:
        _make_state_file(request.state)
    reader = session.reader
    opened = reader.record_batches()
    if isinstance(opened, Skipped):
        raise UsageError(f"the topics cannot be read: {opened.reason}", hint="name the cluster with -b")
    config = _config_of(reader, request)
    with _open_source(request.source_dsn, session.timeout_s) as source:
        tables = _captured(source, config, request)
        handling = _handling(config)._replace(key_path=_key_path(request.key_path, tables))
        names = reader.topic_names()
        of = f"{source.name} and {request.connector or 'tables'} in cluster {reader.cluster_id}"
        with (
            _state_file(request.state) as file,
            TableComparison(file, of, handling) as kept,
            opened() as log,
            _read_apart(session, request.spark) as apart,
        ):
            comparer = Comparer(reader, log, apart, source, kept, request, config, session.options.console.progress)
            is_via_root = source.is_via_root(config.get(PUBLICATION, DEFAULT_PUBLICATION)) if config else None
            wanted = _without_twins(tables, names, is_via_root)
            with collecting_rarely():
                asked = [_compare_or_skip(comparer, each, names) for each in wanted]
    compared = tuple(each for each, _ in asked)
    report = SourceAuditReport(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        connector=request.connector,
        source=source.name,
        tables=compared,
        findings=tuple(finding for each in compared for finding in findings_about(each)),
        looked_for=tuple(KINDS.values()),
        coverage=sum((each for _, each in asked), reader.coverage),
    ).under(session.options.triage)
    if request.evidence is not None:
        command = _command_line(session, request, report)
        facts = (command, report.as_of, (_evidenced(reader, report, opened),), as_json(report))
        write_evidence(request.evidence, Evidence("audit source", *facts))
    if request.state is not None:
        request.state.unlink(missing_ok=True)
    return report


@contextmanager
def _read_apart(session: Session, spark: SparkOptions | None) -> Iterator[ReadApart | None]:
    if spark is None:
        yield None
        return
    archives = cache_directory() / "spark"
    with spark_engine(spark, session.wire.properties, session.timeout_s, find_java, archives) as engine:
        yield engine.source_records


def _evidenced(reader: ClusterReader, report: SourceAuditReport, opened: OpenSource) -> EvidencedCluster:
    """The topics, read once more for their digests: a comparison reads them in parts, and waits between."""
    ranges = [found for each in report.tables for found in each.ranges]
    described = reader.topics(sorted({each.topic for each in ranges}), RETENTION_SETTINGS)
    topics = tuple(with_settings(AuditedTopic(name, TopicRole.OUTPUT), described[name]) for name in sorted(described))
    plan = AuditPlan(report.as_of, report.cluster_id, None, topics, (), ())
    here = [each for each in ranges if each.topic in described]
    return evidenced_cluster(report.cluster_id, topics, list(digest_ranges(plan, here, opened)))


def _command_line(session: Session, request: SourceAuditRequest, report: SourceAuditReport) -> str:
    """The options that decide what was compared, without the password, and without values of client properties."""
    words = [*session.options.words]
    for name, values in (
        ("--connector", request.offsets.connectors),
        ("--source-dsn", (report.source,)),
        ("--table", request.tables),
        ("--key-path", () if request.key_path is None else (request.key_path,)),
        ("--sample", () if request.sample is None else (str(request.sample),)),
    ):
        words += (word for value in values for word in (name, value))
    return shlex.join(["eosctl", "audit", "source", *words, *(["--caught-up"] if request.caught_up else [])])


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
            hint="write postgresql://USER@HOST/DATABASE, mariadb://USER@HOST or mysql://USER@HOST",
        )
    store = postgresql_store(dsn, look_up, timeout_s, SOURCE._replace(is_short=False))
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
        raise ConfigError(f"cannot keep the comparison in {path}: {reason_of(error)}") from error


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
        config.get("bigint.unsigned.handling.mode", given.unsigned),
    )


def _key_path(text: str | None, tables: Sequence[CapturedTable]) -> tuple[tuple[str, ...], ...]:
    """Raises UsageError where it cannot be the place of one table's primary key."""
    if text is None:
        return ()
    paths = tuple(tuple(each.strip().split(".")) for each in text.split(","))
    [table] = tables if len(tables) == 1 else [None]
    if table is None:
        raise UsageError("--key-path is the place of one table's key", hint="name the table: --table SCHEMA.NAME=TOPIC")
    if len(paths) != len(table.key) or not all(map(all, paths)):
        names = first_few([each.name for each in table.key])
        raise UsageError(
            f"--key-path {text} has {len(paths)} paths, and the primary key of {table.label} is {names}",
            hint="write one path for each column, with commas between: data.id,data.part",
        )
    return paths


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
    return tuple(
        replace(each, columns=_columns(source, each, config), parts=source.parts(each.schema, each.name))
        for each in found
    )


def _without_twins(
    tables: Sequence[CapturedTable], topics: frozenset[str], is_via_root: bool | None
) -> Iterator[CapturedTable]:
    """Partitions have the rows of their table: those of both are left to which changes go, or which have topics.

    A snapshot may have copied the others, too: their topics have no changes.
    """
    of_root = {(each.schema, part): each for each in tables for part in each.parts}
    with_topic = {(each.schema, each.name) for each in tables if each.topic in topics}
    captured = {(each.schema, each.name) for each in tables}
    for each in tables:
        root, parts = of_root.get((each.schema, each.name)), {(each.schema, part) for part in each.parts}
        if is_via_root is not None:
            is_twin = root is not None if is_via_root else bool(parts & captured)
        else:
            has_other = bool(parts & with_topic) or (root is not None and root.topic in topics)
            is_twin = has_other and each.topic not in topics
        if not is_twin:
            yield each


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
    """The table's columns; those whose values the connector masks or cuts are not compared.

    In a row's key they are: the record's own key has the value, and its row another one, which is said.
    """
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


def _compare_or_skip(
    comparer: Comparer, table: CapturedTable, topics: frozenset[str]
) -> tuple[ComparedTable, Coverage]:
    """The table's verdict, and whether all was read for it: an error is both a reason and an unread fact."""
    what = f"table {table.label} or its topic"
    try:
        return _compare(comparer, table, topics), Coverage((what,))
    except EosctlError as error:
        reason = ": ".join(filter(None, (error.message, error.hint)))
        unread = tuple(unread_in(what, Skipped.of(error)))
        return ComparedTable(table=table, reasons=(reason,)), Coverage((what,), unread)


def _compare(comparer: Comparer, table: CapturedTable, topics: frozenset[str]) -> ComparedTable:
    blank, comparison = ComparedTable(table=table), comparer.comparison
    if not table.key:
        return replace(blank, reasons=("the table has no primary key",))
    if table.topic not in topics:
        return _without_topic(comparer, blank)
    if (ended := comparison.ended(table)) is not None:
        return ended
    described = _described(comparer, table)
    policy = "" if isinstance(described.settings, Skipped) else described.settings.get(CLEANUP_POLICY, "")
    comparison.begin(table, described.topic_id, is_compacted=COMPACT in policy or not policy)
    total = _read_rows(comparer, table)
    reasons = [*_compare_with_topic(comparer, table)]
    compared = _concluded(comparer, table, reasons, total)
    if compared.verdict is not AuditVerdict.CANNOT_TELL:
        comparison.end(compared)
    return compared


def _without_topic(comparer: Comparer, blank: ComparedTable) -> ComparedTable:
    """An empty table needs no topic. A topic that is named otherwise may have keys."""
    table, config = blank.table, comparer.config
    if not comparer.source.chunk(table, None, 1, None).rows and not {"transforms", "topic.naming.strategy"} & {*config}:
        return replace(blank, verdict=AuditVerdict.HELD)
    return replace(
        blank,
        reasons=(f"topic {table.topic} does not exist, or may not be read: name it with --table {table.label}=TOPIC",),
    )


def _described(comparer: Comparer, table: CapturedTable) -> TopicDescription:
    described = comparer.reader.topics([table.topic], (CLEANUP_POLICY,)).get(table.topic)
    if described is None:
        raise Undecodable(f"topic {table.topic} was deleted while it was read")
    return described


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
    """The keys that still differ, decided."""
    comparison, request, source = comparer.comparison, comparer.request, comparer.source
    comparison.compare_again(table)
    comparison.end_look()
    last = comparison.last_point()
    if not request.caught_up and last is not None and passed < last.high:
        comparison.doubt_behind(passed)
        if comparison.undecided():
            known = f"has only passed {source.words_of(passed)}" if passed else "does not show where it is"
            yield (
                f"the connector {known}; rows were read up to {source.words_of(last.high)}. Change a captured row, "
                "or set heartbeat.interval.ms and heartbeat.action.query. If you know that it has passed that "
                "point, give --caught-up"
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

    The slot confirms what the connector has committed. A partition with the record of a change also has the records of
    all transactions that were committed before that change: so the lowest position of all partitions counts too.
    """
    reader, comparison = comparer.reader, comparer.comparison
    slot = None if not comparer.config else comparer.config.get(SLOT, DEFAULT_SLOT)
    confirmed = comparer.source.confirmed(slot) or 0
    described = _described(comparer, table)
    if described.topic_id != comparison.topic_id:
        raise Undecodable(f"topic {table.topic} was deleted and created again while it was read")
    places = [TopicPartition(table.topic, number) for number in range(described.partitions)]
    bounds = reader.bounds(places)
    topic = AuditedTopic(table.topic, TopicRole.OUTPUT, described.topic_id)
    plan = AuditPlan(reader.now(), reader.cluster_id, None, (topic,), (), ())
    left = sum(
        max(0, each.last_stable_offset - comparison.next_offset(place.partition)) for place, each in bounds.items()
    )
    with comparer.progress(f"records of {table.topic}", left, unit="offsets") as advance:
        starts = {place: comparison.begin_at(place.partition, each.log_start_offset) for place, each in bounds.items()}
        ranges = [
            OffsetRange(table.topic, place.partition, starts[place], each.last_stable_offset)
            for place, each in bounds.items()
            if starts[place] < each.last_stable_offset
        ]
        if comparer.read_apart is not None and not comparison.is_comparing:
            comparison.fold_apart(comparer.read_apart, plan, ranges, advance)
        else:
            for offsets in ranges:
                for count in comparison.fold(comparer.log, plan, offsets):
                    advance(count)
    ends = {place.partition: each.high_watermark for place, each in bounds.items()}
    streamed = min((comparison.note_order(place.partition) for place in places), default=0)
    return max(confirmed, streamed), ends


def _doubts(comparer: Comparer, table: CapturedTable) -> Iterator[str]:
    """The settings of the connector and facts of the topic's log by which a difference is not a loss."""
    comparison, config = comparer.comparison, comparer.config
    if comparison.count(RowDifference.MISSING):
        for reason in _absences(comparer, table):
            comparison.doubt(RowDifference.MISSING)
            yield reason
    values, records = _changes(config)
    if comparison.count(RowDifference.DIFFERING) and values:
        comparison.doubt(RowDifference.DIFFERING)
        yield f"values may be changed on their way by {first_few(values)}"
    if any(map(comparison.count, RowDifference)):
        for reason in _omissions(comparer, records):
            for kind in RowDifference:
                comparison.doubt(kind)
            yield reason
    for reason, count in comparison.unusable().items():
        for kind in RowDifference:
            comparison.doubt(kind)
        yield f"{count:,} records of the topic are not compared: {reason}"
    yield from _other_server(comparer)


def _omissions(comparer: Comparer, transformations: Sequence[str]) -> Iterator[str]:
    """Why a record of any kind may be absent."""
    skipped = {"c", "u", "d"} & set(split_list(comparer.config.get("skipped.operations", "")))
    if skipped:
        yield f"skipped.operations leaves out {' and '.join(sorted(skipped))}"
    if transformations:
        yield f"records may be left out by {first_few(transformations)}"
    if (gap := comparer.comparison.gap()) is not None:
        yield gap


def _other_server(comparer: Comparer) -> Iterator[str]:
    """Positions are those of one server: behind its end there are none."""
    highest, end = comparer.comparison.highest(), comparer.source.position()
    if highest > end:
        for kind in RowDifference:
            comparer.comparison.doubt(kind)
        words = comparer.source.words_of
        yield (
            f"records of the topic are of {words(highest)}, and the log of {comparer.source.name} ends at {words(end)}"
            ": they were read from another server, or before it was restored"
        )


def _absences(comparer: Comparer, table: CapturedTable) -> Iterator[str]:
    """Why a row may be absent from the topic though nothing was lost."""
    reader, config = comparer.reader, comparer.config
    mode, copied = config.get("snapshot.mode", "").strip().lower(), config.get(COPIED, "")
    if mode not in COPYING:
        yield f"snapshot.mode={mode}: rows that did not change since the connector began need not be in the topic"
    if copied and not _matches(copied, table.label):
        yield f"{COPIED} leaves the table out of the snapshot"
    if table.label in split_list(config.get(SELECTED, "")):
        yield f"{SELECTED} may leave rows out of the snapshot"
    condition = comparer.source.row_filter(table, config.get(PUBLICATION, DEFAULT_PUBLICATION))
    if condition is not None:
        yield f"the publication has only rows with {condition}"
    partitions = reader.topics([table.topic], ())[table.topic].partitions
    bounds = reader.bounds([TopicPartition(table.topic, number) for number in range(partitions)])
    begun = [
        f"{place.partition} at {each.log_start_offset:,}" for place, each in bounds.items() if each.log_start_offset
    ]
    if begun:
        yield f"the log of partition {first_few(begun)} does not begin at 0: earlier records were deleted"


def _changes(config: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The settings that may change values, and the transformations among them that may omit records."""
    values, records = [f"converter {each}" for each in split_list(config.get("converters", ""))], []
    for alias in split_list(config.get("transforms", "")):
        kind = config.get(f"transforms.{alias}.type", "").rpartition(".")[2].partition("$")[0]
        words = f"transformation {alias} ({kind or 'of an unknown type'})"
        if kind not in SAME_VALUES:
            values.append(words)
        if kind not in SAME_VALUES | OTHER_VALUES:
            records.append(words)
    return values, records


def _concluded(comparer: Comparer, table: CapturedTable, reasons: Sequence[str], total: int | None) -> ComparedTable:
    comparison, source = comparer.comparison, comparer.source
    last = comparison.last_point()
    rows, undecided = comparison.rows(), comparison.undecided()
    counts = {each: comparison.count(each) for each in RowDifference}
    if undecided and not reasons:
        reasons = [f"{undecided:,} keys changed, or were copied by a snapshot, while they were compared: run it again"]
    if not comparison.has_positions:
        reasons_of = "records of the topic have no position in the source's log"
        reasons = [*reasons, reasons_of] if undecided else reasons
    compared = ComparedTable(
        table=table,
        rows=rows,
        keys=comparison.keys(),
        counts=counts,
        undecided=undecided,
        samples={each: comparison.samples(each) for each in RowDifference},
        uncompared=comparison.uncompared(table),
        ranges=comparison.ranges(table.topic),
        at=None if last is None else source.words_of(last.high),
        reasons=tuple(reasons),
        evidence=tuple(kind.id for each, kind in KINDS.items() if counts[each]),
        sample_of=total,
        unseen_at_most=None if total is None or any(counts.values()) else unseen_at_most(rows, total),
        queries=getattr(source, "queries", 0),
    )
    return replace(compared, verdict=verdict_of(compared))
