"""Source offsets: where connectors are, and where they will begin."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.offsets import as_renamed, compare_offsets, with_source
from eosctl.analysis.offsets_report import (
    Clusters,
    Connectors,
    OffsetsReading,
    Topics,
    as_what_if,
    places_to_read,
    producer_servers,
    report_offsets,
)
from eosctl.atomic_write import require_new, write_atomic_file
from eosctl.codecs.offsets_topic import (
    canonical,
    canonical_partition,
    decode_kip875,
    decode_offsets_value,
    encode_kip875,
)
from eosctl.errors import ConfigError, EosctlError, UsageError, reason_of
from eosctl.files import OFFSETS, read_text
from eosctl.model.client_properties import HIDDEN
from eosctl.model.names import did_you_mean
from eosctl.model.offsets import (
    ConnectorOffset,
    ConnectorOffsets,
    ExportedFile,
    MalformedValue,
    MergedOffset,
    OffsetId,
    OffsetsById,
    OffsetsDifference,
    OffsetsExport,
    OffsetsFacts,
    OffsetsReport,
    OffsetsTopic,
    SourceOffset,
    SourceRead,
    SourceServer,
    Store,
    StoredOffset,
    StorePlace,
    WorkerSettings,
)
from eosctl.model.skipped import Coverage, Skipped, read_or_skip, unread_in
from eosctl.operations.offset_stores import OffsetsRequest, source_connectors, worker_settings
from eosctl.operations.session import Session
from eosctl.operations.workers import require_workers_group, worker_version
from eosctl.sources import config_providers, replication_slots
from eosctl.sources.cluster_reader import ClusterReader, Servers, read_task_states, require_sources

if TYPE_CHECKING:
    from eosctl.ledger.postgresql import PostgresqlStore


def read_offsets_topics(
    reader: ClusterReader,
    places: Iterable[StorePlace],
    cluster_ids: Mapping[Servers, str | Skipped],
    *,
    required: bool,
) -> Topics:
    """The topic at each place, or None.

    cluster_ids are those behind other bootstrap.servers. Raises the error of the first place, or of any if they are
    required; an optional topic is Skipped if it cannot be read.
    """
    read: dict[tuple[object, str], OffsetsTopic | Skipped | None] = {}
    found: dict[StorePlace, OffsetsTopic | Skipped | None] = {}
    for place in places:
        servers = place.bootstrap_servers
        cluster_id = reader.cluster_id if servers is None else cluster_ids[servers]
        name = (servers if isinstance(cluster_id, Skipped) else cluster_id, place.topic)
        if name not in read:
            read[name] = _read(reader, place, required=required or not read)
        found[place] = read[name]
    return found


def _read(reader: ClusterReader, place: StorePlace, *, required: bool) -> OffsetsTopic | Skipped | None:
    try:
        return reader.offsets_topic(place)
    except EosctlError as error:
        if required:
            raise
        return Skipped.of(error)


READING: Final = OffsetsReading(decode_offsets_value, canonical)


class OffsetsRead(Struct, frozen=True):
    """The facts, at as_of (ms since the epoch), and notes for the user on them."""

    as_of: int
    clusters: Clusters
    worker: WorkerSettings
    connectors: Connectors
    topics: Topics
    notes: tuple[str, ...] = field(default=())


def show_offsets(session: Session, request: OffsetsRequest) -> OffsetsReport:
    """All offsets merged, with findings. Raises as read_offsets, report_of and require_workers_group do."""
    reader = session.reader
    require_workers_group(reader)
    require_sources(read_task_states(reader), request.connectors)
    return report_of(read_offsets(reader, request), request).covering(reader.coverage)


def read_offsets(reader: ClusterReader, request: OffsetsRequest) -> OffsetsRead:
    """Worker settings, connectors, and their offsets topics.

    Raises UsageError if the workers' offsets topic does not exist, and the error of an unreadable topic if it is theirs
    or the request is about its connector; other topics are Skipped then.
    """
    version = worker_version(reader, request.worker_version)
    worker = worker_settings(reader, request, version.version)
    connectors = source_connectors(reader, request, worker.version)
    places = places_to_read(worker, connectors, request.connectors)
    servers = [place.bootstrap_servers for place in places]
    cluster_ids = reader.cluster_ids([*servers, *producer_servers(worker, connectors, request.connectors)])
    topics = read_offsets_topics(reader, places, cluster_ids, required=bool(request.connectors))
    if topics[places[0]] is None:
        raise UsageError(
            f"topic {places[0]} does not exist",
            hint=_like(reader, worker.offsets_topic)
            or "name the workers' offset.storage.topic: --worker-offsets-topic TOPIC",
        )
    clusters = Clusters(reader.cluster_id, cluster_ids)
    notes = (*version.notes, *_notes_on_absent(reader, request.offsets_topic, topics))
    return OffsetsRead(reader.now(), clusters, worker, connectors, topics, notes)


def _notes_on_absent(reader: ClusterReader, what_if: str | None, topics: Topics) -> Iterator[str]:
    if what_if is not None and any(place.topic == what_if and found is None for place, found in topics.items()):
        meant = _like(reader, what_if)
        begins = f"topic {what_if} does not exist: a connector that names it begins with an empty topic"
        yield begins if meant is None else f"{begins}; {meant}"


def _like(reader: ClusterReader, topic: str) -> str | None:
    """A question with the most similar topic, as far as topics are shown."""
    known = read_or_skip(reader.topic_names)
    return None if isinstance(known, Skipped) else did_you_mean(topic, known)


def read_offsets_facts(reader: ClusterReader, request: OffsetsRequest) -> OffsetsFacts:
    read = read_offsets(reader, request)
    return OffsetsFacts(read.worker, read.topics)


def report_of(read: OffsetsRead, request: OffsetsRequest) -> OffsetsReport:
    """The report; UsageError for a connector that neither exists nor left offsets."""
    report = _report(read, request.connectors)
    if report.absent:
        names = [each.name for each in _report(read).connectors]
        raise UsageError(
            f"no connector {', '.join(report.absent)} exists, and there are no offsets of that name",
            hint=did_you_mean(report.absent[0], names, "`eosctl offsets show` lists all"),
        )
    report = replace(report, notes=read.notes)
    return report if request.offsets_topic is None else as_what_if(report, request.offsets_topic)


def _report(read: OffsetsRead, selected: tuple[str, ...] = ()) -> OffsetsReport:
    return report_offsets(
        read.topics,
        read.worker,
        read.connectors,
        READING,
        as_of=read.as_of,
        selected=selected,
        clusters=read.clusters,
    )


SLOT: Final = "slot.name"
DEFAULT_SLOT: Final = "debezium"


def read_source(dsn: str, timeout_s: float) -> SourceServer | Skipped:
    """The slots of the database at a libpq URL; Skipped where it does not answer. UsageError for a password in it."""
    from eosctl.ledger.postgresql import SOURCE, postgresql_store

    store = postgresql_store(dsn, config_providers.look_up, timeout_s, SOURCE)
    return read_or_skip(lambda: _read_position(store))


def _read_position(store: PostgresqlStore) -> SourceServer:
    with store.connect() as connection:
        connection.begin_reading()
        return replication_slots.read_slots(connection.rows)


def source_read(server: SourceServer | Skipped, connector: str, config: Mapping[str, object] | None) -> SourceRead:
    """The slot read for this connector, by its config or Debezium's default name."""
    if not config:
        return SourceRead(
            server, Skipped(f"the config of connector {connector} is not known, and so its {SLOT} is not")
        )
    name = str(config.get(SLOT) or DEFAULT_SLOT)
    if "${" in name or name == HIDDEN:
        return SourceRead(server, Skipped(f"{SLOT} of connector {connector} is {name}, which cannot be resolved here"))
    return SourceRead(server, name)


LIVE: Final = "live"
SUFFIX: Final = ".json"
Compared = tuple[OffsetsById, Coverage]


class _Sorted(Struct, frozen=True):
    """Offsets of one connector: exportable ones, and the others with reasons."""

    offsets: tuple[ConnectorOffset, ...]
    left_out: tuple[str, ...]


def export_offsets(
    session: Session, request: OffsetsRequest, name: str, store: Store, *, overwrite: bool = False
) -> OffsetsExport:
    """Writes a file for each connector with offsets, and names offsets that the format cannot express.

    name is the file's if one connector is named and there is no such directory, otherwise a directory's; with a slash
    at its end it is always a directory's. ConfigError if it cannot be written; UsageError, before anything is written,
    if a file is there already and may not be overwritten.
    """
    target = Path(name)
    single = len(request.connectors) == 1 and not target.is_dir() and not _names_directory(name)
    if single:
        require_new(target, overwrite=overwrite)
    report = show_offsets(session, request)
    sorted_offsets = [(each.name, _sorted(each, store)) for each in report.connectors]
    chosen = [(connector, found) for connector, found in sorted_offsets if found.offsets or found.left_out]
    paths = {name: target if single else target / f"{quote(name, safe='')}{SUFFIX}" for name, _ in chosen}
    if not single:
        _make_directory(target)
        for path in paths.values():
            require_new(path, overwrite=overwrite)
    files = []
    for connector, found in chosen:
        path = paths[connector]
        write_atomic_file(path, encode_kip875(found.offsets))
        files.append(ExportedFile(connector, str(path), len(found.offsets), found.left_out))
    return OffsetsExport(tuple(files), store, report.as_of, report.cluster_id, report.notes, coverage=report.coverage)


def _names_directory(name: str) -> bool:
    return name.endswith("/")


def _make_directory(target: Path) -> None:
    try:
        target.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write into directory {target}: {reason_of(error)}") from error


def _sorted(connector: ConnectorOffsets, store: Store) -> _Sorted:
    """Leaves out null partitions, JSON that occurs twice, and null offsets."""
    offsets: dict[str, ConnectorOffset] = {}
    left_out = []
    for merged in connector.offsets:
        value = _value(merged, store)
        if value is None and (merged.key.partition is not None or not merged.live):
            continue
        if value is None or isinstance(value, Skipped) or merged.key.partition is None:
            reason = value.reason if isinstance(value, Skipped) else "its source partition is null"
            left_out.append(f"{merged.key.raw.decode(errors='replace')}: {reason}")
            continue
        identity = canonical_partition(merged.key.partition)
        if identity in offsets and offsets[identity].offset != value:
            left_out.append(f"{merged.key.raw.decode(errors='replace')}: the same JSON has another offset already")
        else:
            offsets[identity] = ConnectorOffset(merged.key.partition, value)
    return _Sorted(tuple(offsets.values()), tuple(left_out))


def _value(merged: MergedOffset, store: Store) -> SourceOffset | Skipped | None:
    stored = {
        Store.KAFKA_EFFECTIVE: merged.kafka_effective,
        Store.KIP618_EFFECTIVE: merged.kip618_effective,
        Store.WORKER_GLOBAL: merged.worker_global,
        Store.CONNECTOR_SPECIFIC: merged.connector_specific,
    }[store]
    if not isinstance(stored, StoredOffset):
        return stored
    return Skipped(stored.value.reason) if isinstance(stored.value, MalformedValue) else stored.value


def diff_offsets(
    session: Session,
    request: OffsetsRequest,
    a: str,
    b: str,
    store: Store,
    names: Mapping[str, str],
    source_dsn: str | None = None,
) -> OffsetsDifference:
    """Two sets of offsets compared: `live` is the cluster; other names are files or directories.

    names maps connectors in A to other names in B. source_dsn is a PostgreSQL that reports whether it still has the
    positions.
    """
    there = replace(request, connectors=tuple(names.get(each, each) for each in request.connectors))
    offsets_a, read_a = _side(session, request, a, store)
    offsets_b, read_b = _side(session, there, b, store)
    sides = as_renamed(_only(request.connectors, offsets_a), _only(there.connectors, offsets_b), names)
    for name, side, other in ((a, offsets_a, offsets_b), (b, offsets_b, offsets_a)):
        _warn_of_a_name(session, request, name, side, other)
    difference = compare_offsets(a, sides[0], b, sides[1])
    if source_dsn is None:
        return difference.covering(read_a + read_b)
    difference = _asking_the_source(session, request, difference, source_dsn)
    answers = [fact for each in difference.changes for fact in (each.source_a, each.source_b)]
    asked = Coverage(("the source",), tuple(gap for each in answers for gap in unread_in("the source", each)))
    return difference.covering(read_a + read_b + asked)


def _warn_of_a_name(
    session: Session, request: OffsetsRequest, name: str, side: OffsetsById, other: OffsetsById
) -> None:
    """Names the connector that a file is applied to by name only, if the other side lacks it."""
    taken = {each.connector for each in side}
    if name.endswith(SUFFIX) and not request.connectors and len(taken) == 1 and taken.isdisjoint(_connectors(other)):
        session.options.console.warn(
            f"{name} is taken for the offsets of connector {min(taken)} because of its name. The other side has no "
            "offsets of that connector: name the right connector with --connector NAME"
        )


def _connectors(offsets: OffsetsById) -> set[str]:
    return {each.connector for each in offsets}


def _asking_the_source(
    session: Session, request: OffsetsRequest, difference: OffsetsDifference, source_dsn: str
) -> OffsetsDifference:
    server = read_source(source_dsn, session.options.timeout_s)
    connectors = read_or_skip(
        lambda: (
            source_connectors(
                session.reader, request, worker_version(session.reader, request.worker_version).version
            ).configs
        )
    )
    configs = {} if isinstance(connectors, Skipped) else connectors
    return with_source(difference, lambda name: source_read(server, name, configs.get(name)))


def _only(connectors: Collection[str], offsets: OffsetsById) -> OffsetsById:
    return {each: value for each, value in offsets.items() if not connectors or each.connector in connectors}


def _side(session: Session, request: OffsetsRequest, name: str, store: Store) -> Compared:
    if name == LIVE:
        return _offsets_of(session.reader, request, store)
    path = Path(name)
    if path.is_dir():
        files = sorted(path.glob(f"*{SUFFIX}"))
        return {key: value for file in files for key, value in _exported(file, unquote(file.stem))}, Coverage()
    if _names_directory(name):
        raise ConfigError(f"there is no directory {name}", hint="name a directory that `eosctl offsets export` wrote")
    if '"eosctl.snapshot"' in read_text(path, OFFSETS).partition("\n")[0]:
        return _offsets_of(session.saved(path), request, store)
    connector = request.connectors[0] if len(request.connectors) == 1 else unquote(path.stem)
    return dict(_exported(path, connector)), Coverage()


def _offsets_of(reader: ClusterReader, request: OffsetsRequest, store: Store) -> Compared:
    everything = replace(request, connectors=())
    report = report_of(read_offsets(reader, everything), everything)
    values = {
        OffsetId(connector.name, canonical_partition(merged.key.partition)): _value(merged, store)
        for connector in report.connectors
        for merged in connector.offsets
    }
    return {key: value for key, value in values.items() if value is not None}, reader.coverage


def _exported(file: Path, connector: str) -> Iterator[tuple[OffsetId, SourceOffset | None]]:
    if not connector:
        raise UsageError(f"{file} does not name its connector", hint="give --connector NAME")
    for entry in decode_kip875(read_text(file, OFFSETS), str(file)):
        yield OffsetId(connector, canonical_partition(entry.partition)), entry.offset
