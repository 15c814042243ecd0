"""Offsets merged, exported and compared."""

import base64
import math
from collections.abc import Mapping

from eosctl.model.counts import counted
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, OffsetsReport, StoredOffset
from eosctl.model.offset_stores import OffsetStores, StorePlace, WorkerSettings
from eosctl.model.offsets import MalformedValue, OffsetsTopic
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.brief import brief_of
from eosctl.render.document import MOST, Column, Document, Findings, Rows, Table, figure
from eosctl.render.documents.offsets import (
    OffsetRow,
    OffsetsConnectorRow,
    OffsetsData,
    OffsetsTopicRow,
    OffsetsWorkerRow,
    StoredOffsetRow,
    StoresRow,
)
from eosctl.render.documents.skipped import SkippedRow
from eosctl.render.views.report import findings_of

STORES = ("worker_global", "connector_specific", "kafka_effective", "kip618_effective")


def _offset(header: str, store: str, meaning: str) -> Column:
    others = (f"{each}.value" for each in STORES if each != store)
    return Column(header, f"{store}.value", meaning, brief=brief_of(f"{store}.value", *others))


OFFSETS = Table(
    "offsets",
    (
        Column("CONNECTOR", "connector", "the connector's name, as the key has it"),
        Column("PARTITION", "partition", "the source partition", brief=brief_of("partition")),
        _offset("WORKER-GLOBAL", "worker_global", "the offset in the worker's topic"),
        _offset("OWN", "connector_specific", "the offset in the connector's own topic"),
        _offset("KAFKA-USES", "kafka_effective", "the offset that the connector's next start begins from"),
        _offset("KIP-618", "kip618_effective", "the offset that KIP-618 promises"),
        Column("PROVENANCE", "provenance", "where the one that Kafka uses comes from, or why there is none"),
        Column("POSITION", "position", "what it says in the connector's own terms, where those are known"),
    ),
    empty="no offsets",
)

CONNECTORS = Table(
    "connectors",
    (
        Column("CONNECTOR", "name", "the connector's name"),
        Column("EXISTS", "known", "no: only its offsets remain"),
        figure("OFFSETS", "offsets", "source partitions with an offset"),
        Column("STORES", "stores.words", "which of Kafka's rules decides where its offsets are"),
    ),
    title="Connectors",
    empty="no connectors",
    most=MOST,
)


def view_offsets(report: OffsetsReport, *, tombstones: bool = False) -> Document:
    """Every offset in every store, connectors and findings; keys that hold nothing but tombstones on request."""
    rows = [(each.name, merged) for each in report.connectors for merged in each.offsets]
    shown = [(name, merged) for name, merged in rows if tombstones or merged.live]
    hidden = len(rows) - len(shown)
    notes = [f"not checked: {name}: {each.reason}" for name, each in sorted(report.skipped.items())]
    if hidden:
        notes.append(f"{counted(hidden, 'key holds', 'keys hold')} nothing but tombstones: --tombstones shows them")
    summary = _summary(report, len(shown))
    data: OffsetsData = {
        "worker": _worker(report.worker),
        "topics": [_topic(place, topic) for place, topic in report.topics.items()],
        "offsets": Rows(offset_row(merged) for _, merged in shown),
        "connectors": [_connector(each) for each in report.connectors],
        **findings_of(report),
        "tombstones_left_out": hidden,
        "skipped": {name: each.reason for name, each in report.skipped.items()},
    }
    return Document(
        kind="offsets.show",
        as_of=rfc3339(report.as_of),
        cluster_id=report.cluster_id,
        data=data,
        blocks=(OFFSETS, CONNECTORS, Findings(most=MOST)),
        prose=(*(() if report.what_if is None else (f"If {report.what_if} were its offsets topic:",)), summary),
        notes=(*notes, *report.notes),
    )


def offset_row(merged: MergedOffset) -> OffsetRow:
    """One of `data.offsets[]`, in JSON's own types; each store null where it holds nothing."""
    key, *stores, words, shadowed, phases, position = merged
    different = {id(each): each for each in stores}
    rows = {number: _stored(each) for number, each in different.items()}
    general, specific, kafka, promised = [rows[id(each)] for each in stores]
    return {
        "connector": key.connector,
        "partition": None if key.partition is None else dict(key.partition),
        "key_base64": base64.b64encode(key.raw).decode("ascii"),
        "worker_global": general,
        "connector_specific": specific,
        "kafka_effective": kafka,
        "kip618_effective": promised,
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
    if isinstance(stored, Skipped):
        return {"skipped": stored.reason}
    (topic_partition, record, value) = stored
    offset, timestamp, _, _, state, _, producer_id, producer_epoch = record
    return {
        "topic": topic_partition.topic,
        "topic_partition": topic_partition.partition,
        "offset": offset,
        "timestamp": timestamp,
        "value": None if value is None or isinstance(value, MalformedValue) else finite(value),
        "malformed": value.reason if isinstance(value, MalformedValue) else None,
        "state": state.value,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
    }


def finite(value: Mapping[str, object]) -> dict[str, object]:
    """A copy of the map, with doubles that JSON cannot write (1e400 reads as infinite) as text."""
    return {
        name: str(item) if type(item) is float and not math.isfinite(item) else item for name, item in value.items()
    }


def _worker(worker: WorkerSettings) -> OffsetsWorkerRow:
    servers = worker.bootstrap_servers
    return {
        "offsets_topic": worker.offsets_topic,
        "exactly_once": worker.exactly_once,
        "kafka_version": str(worker.version),
        "bootstrap_servers": servers if isinstance(servers, Skipped) else sorted(servers),
    }


def _topic(place: StorePlace, topic: OffsetsTopic | Skipped | None) -> OffsetsTopicRow:
    servers = place.bootstrap_servers
    row: OffsetsTopicRow = {
        "topic": place.topic,
        "bootstrap_servers": None if servers is None else sorted(servers),
        "exists": topic if isinstance(topic, Skipped) else topic is not None,
    }
    if topic is None or isinstance(topic, Skipped):
        return row
    keys = sum(len(part.keys) for part in topic.partitions)
    return {**row, "partitions": len(topic.partitions), "records": topic.records, "keys": keys}


def _connector(connector: ConnectorOffsets) -> OffsetsConnectorRow:
    stores = connector.stores
    return {
        "name": connector.name,
        "known": connector.known,
        "offsets": sum(1 for each in connector.offsets if each.live),
        "stores": stores if isinstance(stores, Skipped) else _stores(stores),
    }


def _stores(candidates: tuple[OffsetStores, ...]) -> StoresRow:
    [first, *others] = candidates
    general, own = first.worker_global, first.connector_specific
    return {
        "worker_global": None if general is None else str(general.place),
        "connector_specific": None if own is None else str(own.place),
        "written_to": str(first.written_to),
        "words": " or: ".join(each.words for each in (first, *others)),
    }


def _summary(report: OffsetsReport, shown: int) -> str:
    topics = ", ".join(
        f"{place} ({counted(topic.records, 'record')})"
        for place, topic in report.topics.items()
        if isinstance(topic, OffsetsTopic)
    )
    shadowed = sum(1 for each in report.connectors for merged in each.offsets if merged.shadowed)
    hidden = "is hidden from its connector" if shadowed == 1 else "are hidden from their connectors"
    start = f"; {shadowed} of them {hidden}" if shadowed else ""
    return f"{topics}: {counted(shown, 'offset')} of {counted(len(report.connectors), 'connector')}{start}."
