"""Offsets merged, exported and compared."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Annotated, TypedDict

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from eosctl.model.offsets import (
    AtSource,
    Change,
    ConnectorOffsets,
    MalformedValue,
    MergedOffset,
    OffsetChange,
    OffsetsDifference,
    OffsetsExport,
    OffsetsReport,
    OffsetsTopic,
    OffsetStores,
    Order,
    SourceOffset,
    Store,
    StoredOffset,
    StorePlace,
    WorkerSettings,
    finite,
)
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.workers import KnownPhase
from eosctl.render.answers.findings import ShownFindings, SkippedRow, findings_of
from eosctl.render.cells import brief_of
from eosctl.render.document import MOST, Column, Document, Findings, RowStream, Table, Tone, col, columns, row_of

# The answers of `offsets show`, `export` and `diff`.


class StoredOffsetRow(TypedDict):
    """An offset as a topic holds it; value is the source's own map, null for a tombstone or where it is malformed."""

    topic: str
    topic_partition: int
    offset: int
    timestamp: int
    value: Annotated[Mapping[str, object] | None, col("the offset in the worker-global offsets topic", "WORKER-GLOBAL")]
    malformed: str | None
    state: str
    producer_id: int
    producer_epoch: int


class OffsetPhasesRow(TypedDict):
    """The start offset with exactly-once enabled, and the one without."""

    enabled: StoredOffsetRow | SkippedRow | None
    not_enabled: StoredOffsetRow | SkippedRow | None


class OffsetRow(TypedDict):
    """The offsets of one source partition in each store, null where it has none; by_phase where the phases differ."""

    connector: Annotated[str | None, "the connector's name, as the key has it"]
    partition: Annotated[Mapping[str, object] | None, col("the source partition", brief=brief_of("partition"))]
    key_base64: str
    worker_global: StoredOffsetRow | SkippedRow | None
    connector_specific: StoredOffsetRow | SkippedRow | None
    kafka_effective: StoredOffsetRow | SkippedRow | None
    kip618_effective: StoredOffsetRow | SkippedRow | None
    provenance: Annotated[str, "the origin of the offset that Kafka uses, or why it has none"]
    position: Annotated[str | None, "its meaning in the connector's own terms, if eosctl knows them"]
    shadowed: bool
    by_phase: OffsetPhasesRow | None


class OffsetsWorkerRow(Struct, frozen=True):
    """The assumed settings of the workers."""

    offsets_topic: str | Skipped | None
    exactly_once: KnownPhase | Skipped
    kafka_version: str
    bootstrap_servers: list[str] | Skipped


class OffsetsTopicRow(Struct, frozen=True, kw_only=True):
    """An offsets topic; counts are there where it exists and was read."""

    topic: str
    bootstrap_servers: list[str] | None
    exists: bool | Skipped
    partitions: int | UnsetType = UNSET
    records: int | UnsetType = UNSET
    keys: int | UnsetType = UNSET


class StoresRow(Struct, frozen=True):
    """The stores that a connector reads and writes, and Kafka's rule that applies."""

    worker_global: str | None
    connector_specific: str | None
    written_to: str
    words: Annotated[str, col("the rule of Kafka that decides where its offsets are", "STORES")]


class OffsetsConnectorRow(Struct, frozen=True):
    """A connector with offsets; known: it exists."""

    name: Annotated[str, col("the connector's name, as the key has it", "CONNECTOR")]
    known: Annotated[bool | Skipped, col("no if the connector has only offsets", "EXISTS")]
    offsets: Annotated[int, "source partitions with an offset"]
    stores: StoresRow | Skipped


class OffsetsData(ShownFindings, frozen=True):
    """Every offset in every store; skipped names the unchecked facts, with the reason."""

    worker: OffsetsWorkerRow
    topics: list[OffsetsTopicRow]
    offsets: list[OffsetRow]
    connectors: list[OffsetsConnectorRow]
    tombstones_left_out: int
    skipped: dict[str, str]


class ExportedFileRow(Struct, frozen=True):
    """A file that was written (KIP-875), with so many source partitions."""

    connector: Annotated[str, "the connector's name"]
    offsets: Annotated[int, "source partitions written"]
    file: Annotated[str, "the file"]


class LeftOutRow(Struct, frozen=True):
    """A key that is in no file, and why."""

    connector: Annotated[str, "the connector's name"]
    what: Annotated[str, col("the key, and why it is not in the file", "LEFT-OUT")]


class OffsetsExportData(Struct, frozen=True):
    """The files that were written, from which store."""

    store: Store
    files: list[ExportedFileRow]
    left_out: list[LeftOutRow]


class OffsetChangeRow(Struct, frozen=True):
    """A source partition whose offset differs; order is B relative to A, null if unknown."""

    connector: Annotated[str, "the connector's name"]
    partition: Annotated[str, col("the source partition", brief=brief_of("partition"))]
    change: Annotated[
        Change,
        col(
            "only-in-a, only-in-b, different, or unknown if one offset cannot be determined",
            tones={"unknown": Tone.WARN},
        ),
    ]
    a: Annotated[Mapping[str, object] | Skipped | None, col("its offset in A", brief=brief_of("a", "b"))]
    b: Annotated[Mapping[str, object] | Skipped | None, col("its offset in B", brief=brief_of("b", "a"))]
    order: Annotated[Order | None, col("B relative to A: before, after, or not comparable; empty: not known", "B-IS")]
    position_a: Annotated[str | None, "A in the connector's own terms, where those are known"]
    position_b: Annotated[str | None, "B in the connector's own terms"]
    rewind: str | None
    source_a: AtSource | Skipped | None
    source_b: AtSource | Skipped | None


class OffsetsDifferenceData(Struct, frozen=True):
    """The differences between two sets of offsets, and the number of equal offsets."""

    a: str
    b: str
    same: int
    changes: list[OffsetChangeRow]


STORES = ("worker_global", "connector_specific", "kafka_effective", "kip618_effective")


def _offset(header: str, store: str, meaning: str) -> Column:
    every = (f"{each}.value" for each in STORES)
    return Column(header, f"{store}.value", meaning, brief=brief_of(f"{store}.value", *every))


OFFSETS = Table(
    "offsets",
    columns(
        OffsetRow,
        "connector partition",
        _offset("WORKER-GLOBAL", "worker_global", "the offset in the worker-global offsets topic"),
        _offset("OWN", "connector_specific", "the offset in the connector-specific offsets topic"),
        _offset(
            "KAFKA-USES",
            "kafka_effective",
            "the offset that the next start begins from; - from nothing; unknown if that cannot be determined",
        ),
        _offset("KIP-618", "kip618_effective", "the offset that KIP-618 promises"),
        "provenance position",
    ),
    empty="no offsets",
)

CONNECTORS = Table(
    "connectors",
    columns(OffsetsConnectorRow, "name known offsets stores.words"),
    title="Connectors",
    empty="no connectors",
    most=MOST,
)


def view_offsets(report: OffsetsReport, *, tombstones: bool = False) -> Document:
    """Every offset in every store, connectors and findings; keys that hold nothing but tombstones on request."""
    every = sum(len(each.offsets) for each in report.connectors)
    shown = every if tombstones else sum(each.live for each in report.connectors)
    hidden = every - shown
    notes = [f"not checked: {name}: {each.reason}" for name, each in sorted(report.skipped.items())]
    if hidden:
        notes.append(f"{pluralize(hidden, 'key holds', 'keys hold')} nothing but tombstones: --tombstones shows them")
    summary = _summary(report, shown)
    data = OffsetsData(
        worker=_worker(report.worker),
        topics=[_topic(place, topic) for place, topic in report.topics.items()],
        offsets=_stream(report, shown, tombstones=tombstones),
        connectors=[_connector(each) for each in report.connectors],
        **findings_of(report),
        tombstones_left_out=hidden,
        skipped={name: each.reason for name, each in report.skipped.items()},
    )
    return Document(
        kind="offsets.show",
        as_of=rfc3339(report.as_of),
        cluster_id=report.cluster_id,
        data=data,
        blocks=(OFFSETS, CONNECTORS, Findings(most=MOST)),
        prose=(*(() if report.what_if is None else (f"If {report.what_if} were its offsets topic:",)), summary),
        notes=(*notes, *report.notes),
    )


def _stream(report: OffsetsReport, count: int, *, tombstones: bool) -> RowStream:
    """A plain offset is known in every store that there is."""

    def rows(offsets: Callable[[ConnectorOffsets], Iterable[MergedOffset]]) -> Iterator[OffsetRow]:
        every = chain.from_iterable(map(offsets, report.connectors))
        return map(offset_row, every if tombstones else (each for each in every if each.live))

    return RowStream(count, lambda: rows(attrgetter("offsets")), lambda: rows(attrgetter("others")))


def offset_row(merged: MergedOffset) -> OffsetRow:
    """One of `data.offsets[]`, in JSON's own types; each store null where it holds nothing."""
    key, general, specific, kafka, promised, words, shadowed, phases, position = merged
    worker_global = _stored(general)
    kafka_effective = worker_global if kafka is general else _stored(kafka)
    return {
        "connector": key.connector,
        "partition": None if key.partition is None else finite(key.partition),
        "key_base64": base64.b64encode(key.raw).decode("ascii"),
        "worker_global": worker_global,
        "connector_specific": kafka_effective if specific is kafka else _stored(specific),
        "kafka_effective": kafka_effective,
        "kip618_effective": kafka_effective if promised is kafka else _stored(promised),
        "provenance": words,
        "position": position,
        "shadowed": shadowed,
        "by_phase": None
        if phases is None
        else {"enabled": _stored(phases.enabled), "not_enabled": _stored(phases.not_enabled)},
    }


def _stored(stored: StoredOffset | Skipped | None) -> StoredOffsetRow | SkippedRow | None:
    if stored is None:
        return None
    if not isinstance(stored, StoredOffset):
        return {"skipped": stored.reason}
    (topic_partition, record, value) = stored
    offset, timestamp, _, _, state, _, producer_id, producer_epoch = record
    return {
        "topic": topic_partition.topic,
        "topic_partition": topic_partition.partition,
        "offset": offset,
        "timestamp": timestamp,
        "value": None if value is None or isinstance(value, MalformedValue) else finite(value),
        "malformed": value.reason if type(value) is MalformedValue else None,
        "state": state.value,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
    }


def _worker(worker: WorkerSettings) -> OffsetsWorkerRow:
    servers = worker.bootstrap_servers
    return OffsetsWorkerRow(
        offsets_topic=worker.offsets_topic,
        exactly_once=worker.exactly_once,
        kafka_version=str(worker.version),
        bootstrap_servers=servers if isinstance(servers, Skipped) else sorted(servers),
    )


def _topic(place: StorePlace, topic: OffsetsTopic | Skipped | None) -> OffsetsTopicRow:
    servers = place.bootstrap_servers
    row = OffsetsTopicRow(
        topic=place.topic,
        bootstrap_servers=None if servers is None else sorted(servers),
        exists=topic if isinstance(topic, Skipped) else topic is not None,
    )
    if topic is None or isinstance(topic, Skipped):
        return row
    keys = sum(len(part.keys) for part in topic.partitions)
    return replace(row, partitions=len(topic.partitions), records=topic.records, keys=keys)


def _connector(connector: ConnectorOffsets) -> OffsetsConnectorRow:
    stores = connector.stores
    return OffsetsConnectorRow(
        name=connector.name,
        known=connector.known,
        offsets=connector.live,
        stores=stores if isinstance(stores, Skipped) else _stores(stores),
    )


def _stores(candidates: tuple[OffsetStores, ...]) -> StoresRow:
    [first, *others] = candidates
    general, own = first.worker_global, first.connector_specific
    return StoresRow(
        worker_global=None if general is None else str(general.place),
        connector_specific=None if own is None else str(own.place),
        written_to=str(first.written_to),
        words=f"not known whether exactly-once is enabled: either {first.words}, or {others[0].words}"
        if others
        else first.words,
    )


def _summary(report: OffsetsReport, shown: int) -> str:
    topics = ", ".join(
        f"{place} ({pluralize(topic.records, 'record')})"
        for place, topic in report.topics.items()
        if isinstance(topic, OffsetsTopic)
    )
    shadowed = sum(1 for each in report.connectors for merged in each.others if merged.shadowed)
    hidden = "is hidden from its connector" if shadowed == 1 else "are hidden from their connectors"
    start = f"; {shadowed} of them {hidden}" if shadowed else ""
    return f"{topics}: {pluralize(shown, 'offset')} of {pluralize(len(report.connectors), 'connector')}{start}."


# Offsets exported, and two sets of them compared.


FILES = Table(
    "files",
    columns(ExportedFileRow, "connector offsets file"),
    empty="no offsets to export",
)

LEFT_OUT = Table(
    "left_out",
    columns(LeftOutRow, "connector what"),
    title="Left out",
    empty="nothing was left out",
)

CHANGES = Table(
    "changes",
    columns(OffsetChangeRow, "connector partition change a b order position_a position_b"),
    empty="no difference",
)


def view_export(export: OffsetsExport) -> Document:
    files = export.files
    data = OffsetsExportData(
        store=export.store,
        files=[row_of(ExportedFileRow, each) for each in files],
        left_out=[LeftOutRow(connector=each.connector, what=what) for each in files for what in each.left_out],
    )
    return Document(
        kind="offsets.export",
        as_of=rfc3339(export.as_of),
        cluster_id=export.cluster_id,
        data=data,
        blocks=(FILES, LEFT_OUT) if export.found else (FILES,),
        notes=export.notes,
    )


def view_difference(difference: OffsetsDifference) -> Document:
    data = row_of(
        OffsetsDifferenceData,
        difference,
        changes=[_change(each) for each in difference.changes],
    )
    return Document(
        kind="offsets.diff",
        data=data,
        blocks=(CHANGES,),
        prose=(
            f"{pluralize(len(difference.changes), 'offset differs', 'offsets differ')} between {difference.a} and "
            f"{difference.b}; {pluralize(difference.same, 'is', 'are')} the same.",
        ),
        notes=(*_rewinds(difference), *_sources(difference)),
    )


def _rewinds(difference: OffsetsDifference) -> Iterator[str]:
    """The meaning of a step back, once for each kind of source with different positions."""
    for rewind in dict.fromkeys(each.rewind for each in difference.changes if each.rewind is not None):
        kinds = {(each.position_a or "").partition(":")[0] for each in difference.changes if each.rewind == rewind}
        yield f"going back with {', '.join(sorted(kinds))}: {rewind}"


def _sources(difference: OffsetsDifference) -> Iterator[str]:
    """The source's answer about each position."""
    for each in difference.changes:
        for side, found in (("A", each.source_a), ("B", each.source_b)):
            if found is not None:
                words = f"not known: {found.reason}" if isinstance(found, Skipped) else found.words
                yield f"{each.id.connector} {each.id.partition} in {side}, at its source: {words}"


def _change(change: OffsetChange) -> OffsetChangeRow:
    return row_of(
        OffsetChangeRow,
        change,
        connector=change.id.connector,
        partition=change.id.partition,
        a=_side(change.a),
        b=_side(change.b),
    )


def _side(offset: SourceOffset | Skipped | None) -> Mapping[str, object] | Skipped | None:
    return offset if offset is None or isinstance(offset, Skipped) else finite(offset)
