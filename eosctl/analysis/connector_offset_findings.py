"""What is worth telling about one connector's offsets, each finding with a cure."""

import shlex
from collections.abc import Iterator
from typing import Final

from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.merged_offsets import LOST_NULL_PARTITION
from eosctl.analysis.offset_findings import EXAMPLES, base64_of
from eosctl.model.counts import counted
from eosctl.model.merged_offsets import ConnectorOffsets, MergedOffset, StoredOffset
from eosctl.model.offset_stores import OffsetStores
from eosctl.model.offsets import MalformedValue
from eosctl.model.report import Evidence, Finding, Severity
from eosctl.model.skipped import Skipped

SHADOWED_OFFSET: Final = "shadowed-offset"
STORES_DISAGREE: Final = "stores-disagree"
MALFORMED_OFFSET: Final = "malformed-offset"
OFFSETS_WRITTEN_ELSEWHERE: Final = "offsets-written-elsewhere"
LOST_NULL: Final = "null-partition-lost"
ORPHAN_OFFSETS: Final = "orphan-offsets"


def connector_findings(connector: ConnectorOffsets) -> Iterator[Finding]:
    """All that is found about one connector."""
    stores = () if isinstance(connector.stores, Skipped) else connector.stores
    if connector.known is False:
        yield from _orphan(connector)
        return
    yield from _shadowed(connector, stores)
    yield from _disagreeing(connector)
    yield from _malformed(connector)
    yield from _null_partition(connector)
    for each in stores[:1] if len(stores) == 1 else ():
        yield from _written_elsewhere(connector.name, each)


def _evidence(offsets: list[MergedOffset]) -> Evidence:
    return {"offsets": len(offsets), "keys_base64": [base64_of(each.key.raw) for each in offsets[:EXAMPLES]]}


def _shadowed(connector: ConnectorOffsets, stores: tuple[OffsetStores, ...]) -> Iterator[Finding]:
    found = [each for each in connector.offsets if each.shadowed]
    if found:
        yield Finding(
            SHADOWED_OFFSET,
            Severity.ERROR,
            connector.name,
            f"{len(found)} source partitions have an offset in the worker's topic and none in the connector's own: the "
            "next start of this connector begins from nothing there and copies everything again",
            _out_of_the_shadow(connector.name, stores),
            _evidence(found),
        )


def _out_of_the_shadow(name: str, stores: tuple[OffsetStores, ...]) -> str:
    """What brings the worker's offsets where the connector looks for them."""
    own = stores[0].connector_specific if stores else None
    topic = "<topic>" if own is None else own.place.topic
    stop = "stop it (PUT /connectors/<connector>/stop)"
    if own is not None and own.place.bootstrap_servers is not None:
        servers = ",".join(sorted(own.place.bootstrap_servers))
        cure = (
            f"{stop}, then copy its offsets to the cluster that it produces to: `eosctl migrate-offsets --connector "
            f"<connector> --to-bootstrap-server {servers} --to-topic {topic}`, and resume it"
        )
    else:
        cure = (
            f"{stop}, take offsets.storage.topic out of its config (PUT /connectors/<connector>/config), then move: "
            f"`eosctl migrate-offsets --connector <connector> --to-topic {topic} --stop --set-config --resume`"
        )
    return for_connector(cure, name)


def _disagreeing(connector: ConnectorOffsets) -> Iterator[Finding]:
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
        yield Finding(
            STORES_DISAGREE,
            Severity.WARNING,
            connector.name,
            f"{len(stale)} source partitions have a newer and different offset in the worker's topic than in the "
            "connector's own, which is the one that is used: either the connector ran without its own topic meanwhile, "
            "or a transaction was aborted after the worker's copy was written",
            "see which of the two the connector reached; if it is the worker's, stop the connector and copy it: "
            "`eosctl migrate-offsets`",
            _evidence(stale),
        )
    if behind:
        yield Finding(
            STORES_DISAGREE,
            Severity.INFO,
            connector.name,
            f"{len(behind)} source partitions have an older offset in the worker's topic than in the connector's own: "
            "the copy there is written afterwards and may be missed",
            "nothing while the connector keeps its own topic; going back to the worker's topic needs a copy first",
            _evidence(behind),
        )


def _malformed(connector: ConnectorOffsets) -> Iterator[Finding]:
    found = [
        (each, store, store.value)
        for each in connector.offsets
        for store in (each.worker_global, each.connector_specific)
        if isinstance(store, StoredOffset) and isinstance(store.value, MalformedValue)
    ]
    if found:
        _, store, value = found[0]
        yield Finding(
            MALFORMED_OFFSET,
            Severity.ERROR,
            connector.name,
            f"{counted(len(found), 'offset')} cannot be used (the first: {store.topic_partition} offset "
            f"{store.record.offset}, {value.reason}): the connector is answered as if there were none",
            "set these offsets anew: `eosctl offsets restore FILE --connector "
            f"{shlex.quote(connector.name)} --stop --resume`",
            _evidence([each for each, _, _ in found]),
        )


def _null_partition(connector: ConnectorOffsets) -> Iterator[Finding]:
    found = [each for each in connector.offsets if each.provenance == LOST_NULL_PARTITION and each.live]
    if found:
        yield Finding(
            LOST_NULL,
            Severity.ERROR,
            connector.name,
            "its null source partition has an offset that workers from 4.2 on write and cannot look up: every start "
            "of its task begins from nothing there",
            "the connector has to name its source partition, or to run on workers of 4.1",
            _evidence(found),
        )


def _written_elsewhere(name: str, stores: OffsetStores) -> Iterator[Finding]:
    store = stores.connector_specific
    if store is None or store.place == stores.written_to:
        return
    yield Finding(
        OFFSETS_WRITTEN_ELSEWHERE,
        Severity.ERROR,
        name,
        f"its producer writes offsets to {stores.written_to} and its consumer reads them from {store.place}: what is "
        "written is never read again",
        "override bootstrap.servers of the connector's producer, consumer and admin alike "
        "(producer.override.…, consumer.override.…, admin.override.bootstrap.servers)",
        {"written_to": str(stores.written_to), "read_from": str(store.place)},
    )


def _orphan(connector: ConnectorOffsets) -> Iterator[Finding]:
    live = [each for each in connector.offsets if each.live]
    if live:
        yield Finding(
            ORPHAN_OFFSETS,
            Severity.INFO,
            connector.name,
            f"{counted(len(live), 'offset remains', 'offsets remain')} of a connector that does not "
            "exist: one of this name would begin there",
            "nothing; or, before a new connector of this name is to begin anew, delete them: `eosctl offsets restore "
            f"FILE --connector {shlex.quote(connector.name)}` with an offset of null for each",
            _evidence(live),
        )
