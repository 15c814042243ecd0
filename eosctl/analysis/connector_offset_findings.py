"""Findings about one connector's offsets, each with what to do."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from eosctl.analysis.catalogue import offsets as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.merged_offsets import LOST_NULL_PARTITION
from eosctl.analysis.offset_findings import EXAMPLES, base64_of
from eosctl.model.counts import counted
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, StoredOffset
from eosctl.model.offset_stores import OffsetStores
from eosctl.model.offsets import MalformedValue
from eosctl.model.report import Evidence, Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import STOPPED_STATE, KafkaVersion


def connector_findings(connector: ConnectorOffsets, version: KafkaVersion) -> Iterator[Finding]:
    """All that is found about one connector, with the fixes for workers of this version."""
    stores = () if isinstance(connector.stores, Skipped) else connector.stores
    if connector.known is False:
        yield from _orphan(connector)
        return
    yield from _shadowed(connector, stores, version)
    yield from _disagreeing(connector, stores, version)
    yield from _malformed(connector, version)
    yield from _null_partition(connector)
    for each in stores[:1] if len(stores) == 1 else ():
        yield from _written_elsewhere(connector.name, each)


def _evidence(offsets: list[MergedOffset]) -> Evidence:
    return {"offsets": len(offsets), "keys_base64": [base64_of(each.key.raw) for each in offsets[:EXAMPLES]]}


def _shadowed(
    connector: ConnectorOffsets, stores: tuple[OffsetStores, ...], version: KafkaVersion
) -> Iterator[Finding]:
    found = [each for each in connector.offsets if each.shadowed]
    if found:
        yield kinds.SHADOWED_OFFSET.finding(
            connector.name,
            f"{_have(found)} an offset in the worker's topic and none in the connector's own: the next start of "
            "this connector begins from nothing there and copies everything again",
            _evidence(found),
            cure=_out_of_the_shadow(connector.name, stores, version),
        )


def _have(found: Sequence[MergedOffset]) -> str:
    return counted(len(found), "source partition has", "source partitions have")


def _out_of_the_shadow(name: str, stores: tuple[OffsetStores, ...], version: KafkaVersion) -> str:
    """What brings the worker's offsets where the connector looks for them."""
    own = stores[0].connector_specific if stores else None
    cure = kinds.SHADOWED_OFFSET.fix_for(version)
    if own is not None and own.place.bootstrap_servers is not None:
        servers = ",".join(sorted(own.place.bootstrap_servers))
        stops = version >= STOPPED_STATE
        cure = (
            f"{'stop it (PUT /connectors/<connector>/stop)' if stops else kinds.DELETED}, then copy its offsets to the "
            "cluster that it produces to: "
            f"`eosctl migrate-offsets --connector <connector> --to-bootstrap-server {servers} --to-topic <topic>`, and "
            f"{'resume it' if stops else kinds.CREATED_AGAIN}"
        )
    return _with_topics(for_connector(cure, name), stores)


def _with_topics(cure: str, stores: tuple[OffsetStores, ...]) -> str:
    """The same with the names of the connector's two topics, as far as they are known."""
    own = stores[0].connector_specific if stores else None
    general = stores[0].worker_global if stores else None
    for placeholder in ("<topic>", "<its own topic>"):
        cure = cure if own is None else cure.replace(placeholder, own.place.topic)
    return cure if general is None else cure.replace("<the workers' topic>", general.place.topic)


def if_it_were(finding: Finding, topic: str) -> Finding:
    """The same of a connector that would name this topic: its fix undoes nothing that was not done."""
    cure = finding.cure
    if finding.kind == kinds.SHADOWED_OFFSET:
        move = f"eosctl migrate-offsets --connector <connector> --to-topic {shlex.quote(topic)}"
        cure = "leave its config as it is, and let eosctl move the offsets and change it: "
        cure = for_connector(f"{cure}`{move} --stop --set-config --resume`", finding.subject)
    return replace(finding, message=f"if {topic} were its offsets topic: {finding.message}", cure=cure)


def _disagreeing(
    connector: ConnectorOffsets, stores: tuple[OffsetStores, ...], version: KafkaVersion
) -> Iterator[Finding]:
    both = [
        (each, each.worker_global, each.connector_specific)
        for each in connector.offsets
        if isinstance(each.worker_global, StoredOffset)
        and isinstance(each.connector_specific, StoredOffset)
        and each.worker_global.usable
        and each.connector_specific.usable
    ]
    differing = [(row, general, own) for row, general, own in both if general.value != own.value]
    stale = [row for row, general, own in differing if general.record.timestamp > own.record.timestamp]
    behind = [row for row, general, own in differing if general.record.timestamp <= own.record.timestamp]
    if stale:
        yield kinds.STORES_DISAGREE.finding(
            connector.name,
            f"{_have(stale)} a newer and different offset in the worker's topic than in the "
            "connector's own, which is the one that is used: either the connector ran without its own topic meanwhile, "
            "or a transaction was aborted after the worker's copy was written",
            _evidence(stale),
            cure=_with_topics(for_connector(kinds.STORES_DISAGREE.fix_for(version), connector.name), stores),
        )
    if behind:
        yield kinds.STORES_DISAGREE.finding(
            connector.name,
            f"{_have(behind)} an older offset in the worker's topic than in the connector's own: "
            "the copy there is written afterwards and may be missed",
            _evidence(behind),
            cure="nothing while the connector keeps its own topic; going back to the worker's topic needs a copy first",
            severity=Severity.INFO,
        )


def _malformed(connector: ConnectorOffsets, version: KafkaVersion) -> Iterator[Finding]:
    found = [
        (each, store, store.value)
        for each in connector.offsets
        for store in (each.worker_global, each.connector_specific)
        if isinstance(store, StoredOffset) and isinstance(store.value, MalformedValue)
    ]
    if found:
        _, store, value = found[0]
        yield kinds.MALFORMED_OFFSET.finding(
            connector.name,
            f"{counted(len(found), 'offset')} cannot be used (the first: {store.topic_partition} offset "
            f"{store.record.offset}, {value.reason}): the connector is answered as if there were none",
            _evidence([each for each, _, _ in found]),
            cure=for_connector(kinds.MALFORMED_OFFSET.fix_for(version), connector.name),
        )


def _null_partition(connector: ConnectorOffsets) -> Iterator[Finding]:
    found = [each for each in connector.offsets if each.provenance == LOST_NULL_PARTITION and each.live]
    if found:
        yield kinds.NULL_PARTITION_LOST.finding(
            connector.name,
            "its null source partition has an offset that workers from 4.2 on write and cannot look up: every start "
            "of its task begins from nothing there",
            _evidence(found),
        )


def _written_elsewhere(name: str, stores: OffsetStores) -> Iterator[Finding]:
    store = stores.connector_specific
    if store is None or store.place == stores.written_to:
        return
    yield kinds.OFFSETS_WRITTEN_ELSEWHERE.finding(
        name,
        f"its producer writes offsets to {stores.written_to} and its consumer reads them from {store.place}: what is "
        "written is never read again",
        {"written_to": str(stores.written_to), "read_from": str(store.place)},
    )


def _orphan(connector: ConnectorOffsets) -> Iterator[Finding]:
    live = [each for each in connector.offsets if each.live]
    if live:
        yield kinds.ORPHAN_OFFSETS.finding(
            connector.name,
            f"{counted(len(live), 'offset remains', 'offsets remain')} of a connector that does not "
            "exist: one of this name would begin there",
            _evidence(live),
            cure=for_connector(kinds.ORPHAN_OFFSETS.fix, connector.name),
        )
