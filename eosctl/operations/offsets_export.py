"""What `offsets export` writes and `offsets diff` compares."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from eosctl.analysis.offsets_difference import as_renamed, compare_offsets, with_source
from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.kip875 import decode_kip875, encode_kip875
from eosctl.codecs.offsets_topic import canonical_partition
from eosctl.errors import ConfigError, UsageError
from eosctl.files import OFFSETS, read_text
from eosctl.model.coverage import Coverage, unread_in
from eosctl.model.exported_offsets import (
    ConnectorOffset,
    ExportedFile,
    OffsetId,
    OffsetsById,
    OffsetsDifference,
    OffsetsExport,
    Store,
)
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, StoredOffset
from eosctl.model.offsets import MalformedValue, SourceOffset
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.operations.offset_stores import OffsetsRequest, source_connectors
from eosctl.operations.offsets import read_offsets, report_of, show_offsets
from eosctl.operations.session import Session
from eosctl.operations.source_positions import read_source, source_read
from eosctl.operations.worker_version import worker_version
from eosctl.sources.cluster_reader import ClusterReader

LIVE: Final = "live"
SUFFIX: Final = ".json"
Compared = tuple[OffsetsById, Coverage]


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Offsets of one connector: those that can be exported, and why the others cannot."""

    offsets: tuple[ConnectorOffset, ...]
    left_out: tuple[str, ...]


def export_offsets(session: Session, request: OffsetsRequest, target: Path, store: Store) -> OffsetsExport:
    """Writes a file for each connector with offsets, and names what cannot be expressed there.

    target is the file where one connector is named, otherwise a directory. ConfigError where it cannot be written.
    """
    report = show_offsets(session, request)
    sorted_offsets = [(each.name, _sorted(each, store)) for each in report.connectors]
    chosen = [(name, found) for name, found in sorted_offsets if found.offsets or found.left_out]
    single = len(request.connectors) == 1 and not target.is_dir()
    if not single:
        _make_directory(target)
    files = []
    for name, found in chosen:
        path = target if single else target / f"{quote(name, safe='')}{SUFFIX}"
        write_atomic_file(path, encode_kip875(found.offsets))
        files.append(ExportedFile(name, str(path), len(found.offsets), found.left_out))
    return OffsetsExport(tuple(files), store, report.as_of, report.cluster_id, report.notes, coverage=report.coverage)


def _make_directory(target: Path) -> None:
    try:
        target.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write into directory {target}: {error.strerror or error}") from error


def _sorted(connector: ConnectorOffsets, store: Store) -> _Sorted:
    """A null partition and a JSON that stands there twice have no place in the file; null offsets are no offsets."""
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
    """Two sets of offsets compared: `live` is the cluster that is read; other names are files or directories.

    names are those in B of connectors in A, where they have others. source_dsn is a PostgreSQL that is asked what it
    still has of the positions.
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
    """Says for which connector a file is taken where only its name says so, and the other side does not have it."""
    taken = {each.connector for each in side}
    if name.endswith(SUFFIX) and not request.connectors and len(taken) == 1 and taken.isdisjoint(_connectors(other)):
        session.options.console.warn(
            f"{name} is taken for the offsets of connector {min(taken)}, after its name, and the other side has no "
            "offsets of it: --connector NAME says of which connector the file is"
        )


def _connectors(offsets: OffsetsById) -> set[str]:
    return {each.connector for each in offsets}


def _asking_the_source(
    session: Session, request: OffsetsRequest, difference: OffsetsDifference, source_dsn: str
) -> OffsetsDifference:
    server = read_source(source_dsn, session.options.timeout_s)
    connectors = or_skipped(
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
        raise UsageError(f"{file} does not say which connector it is of", hint="give --connector NAME")
    for entry in decode_kip875(read_text(file, OFFSETS), str(file)):
        yield OffsetId(connector, canonical_partition(entry.partition)), entry.offset
