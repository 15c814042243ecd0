"""Whose clients read and write the offsets of a source connector: analysis.source_stores, asked by role."""

from eosctl.analysis.source_stores import stores_of
from eosctl.model.client_configs import server_set
from eosctl.model.client_roles import ConnectorConfig, WorkerConfig
from eosctl.model.offset_stores import OffsetStores, SourceSupport, WorkerSettings
from eosctl.model.skipped import Skipped


def connector_offsets_topic(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> str | None:
    """The topic that the connector's own clients read and write offsets in; None where only the worker's do."""
    if connector.offsets_topic is not None:
        return connector.offsets_topic
    return worker.offsets_topic if exactly_once else None


def uses_worker_store(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> bool:
    """Whether the worker's own clients write offsets of this connector; so they do where that is not known."""
    stores = _stores(worker, connector, exactly_once=exactly_once)
    return isinstance(stores, Skipped) or stores.worker_global is not None


def _stores(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> OffsetStores | Skipped:
    settings = WorkerSettings(
        worker.offsets_topic,
        SourceSupport.ENABLED if exactly_once else SourceSupport.DISABLED,
        server_set(worker.get("bootstrap.servers")),
        clients={key: each.value for key, each in worker.properties.items()},
    )
    found = stores_of(settings, {key: each.value for key, each in connector.properties.items()})
    return found if isinstance(found, Skipped) else found[0]
