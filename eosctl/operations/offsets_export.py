"""What `offsets export` writes and `offsets diff` compares."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from eosctl.analysis.offsets_difference import compare_offsets
from eosctl.codecs.kip875 import decode_kip875, encode_kip875
from eosctl.codecs.offsets_topic import canonical_partition
from eosctl.errors import EXIT_FINE, EXIT_FOUND, ConfigError, UsageError
from eosctl.executors.snapshot_file import write_snapshot_file
from eosctl.model.exported_offsets import ConnectorOffset, OffsetId, OffsetsById, Store
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, StoredOffset
from eosctl.model.offsets import MalformedValue, SourceOffset
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.operations.offsets import Answer, report_of
from eosctl.operations.offsets_reading import OffsetsRead, OffsetsRequest, offsets_in, read_offsets
from eosctl.operations.session import Session
from eosctl.render.views.exported_offsets import ExportedFile, view_difference, view_export
from eosctl.sources.files import read_text

LIVE: Final = "live"
SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Offsets of one connector: those that can be exported, and why the others cannot."""

    offsets: tuple[ConnectorOffset, ...]
    left_out: tuple[str, ...]


def export_offsets(session: Session, request: OffsetsRequest, target: Path, store: Store) -> Answer:
    """Writes a file for each connector with offsets, and says what could not be expressed."""
    read = read_offsets(session, request)
    chosen = [(each.name, _sorted(each, store)) for each in report_of(read, request).connectors]
    chosen = [(name, found) for name, found in chosen if found.offsets or found.left_out]
    single = len(request.connectors) == 1 and not target.is_dir()
    if not single:
        _make_directory(target)
    files = []
    for name, found in chosen:
        path = target if single else target / f"{quote(name, safe='')}{SUFFIX}"
        write_snapshot_file(path, [encode_kip875(found.offsets).rstrip("\n")])
        files.append(ExportedFile(name, str(path), len(found.offsets), found.left_out))
    document = view_export(tuple(files), store.value, rfc3339(read.as_of), read.cluster_id)
    return Answer(document, EXIT_FOUND if any(each.left_out for each in files) else EXIT_FINE)


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


def diff_offsets(session: Session, request: OffsetsRequest, a: str, b: str, store: Store) -> Answer:
    """Two sets of offsets compared; exit code 1 where they differ."""
    sides = [_side(session, request, name, store) for name in (a, b)]
    if request.connectors:
        wanted = set(request.connectors)
        sides = [{each: value for each, value in side.items() if each.connector in wanted} for side in sides]
    difference = compare_offsets(a, sides[0], b, sides[1])
    return Answer(view_difference(difference), EXIT_FOUND if difference.changes else EXIT_FINE)


def _side(session: Session, request: OffsetsRequest, name: str, store: Store) -> OffsetsById:
    everything = replace(request, connectors=())
    if name == LIVE:
        return dict(_by_id(read_offsets(session, everything), everything, store))
    path = Path(name)
    if path.is_dir():
        files = sorted(path.glob(f"*{SUFFIX}"))
        return {key: value for file in files for key, value in _exported(file, unquote(file.stem))}
    text = read_text(path, "offsets")
    if '"eosctl.snapshot"' in text.partition("\n")[0]:
        from eosctl.sources.snapshot_file import read_snapshot_file

        return dict(_by_id(offsets_in(read_snapshot_file(path), everything), everything, store))
    connector = request.connectors[0] if len(request.connectors) == 1 else unquote(path.stem)
    return dict(_exported(path, connector))


def _by_id(
    read: OffsetsRead, request: OffsetsRequest, store: Store
) -> Iterator[tuple[OffsetId, SourceOffset | Skipped | None]]:
    for connector in report_of(read, request).connectors:
        for merged in connector.offsets:
            value = _value(merged, store)
            if value is not None:
                yield OffsetId(connector.name, canonical_partition(merged.key.partition)), value


def _exported(file: Path, connector: str) -> Iterator[tuple[OffsetId, SourceOffset | None]]:
    if not connector:
        raise UsageError(f"{file} does not say which connector it is of", hint="give --connector NAME")
    for entry in decode_kip875(read_text(file, "offsets"), str(file)):
        yield OffsetId(connector, canonical_partition(entry.partition)), entry.offset
