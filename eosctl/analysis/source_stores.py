"""The offset stores of a source connector: Worker.offsetStoreFor… of Kafka 3.3 to 4.3.

"The same topic" below means: the offsets topic's name is the worker's, and the producer's bootstrap.servers are the
same set of strings as the worker's. Two names of one broker are two strings, so "different" may be wrong.

    exactly-once  offsets.storage.topic            stores
    not enabled   unset                            worker-global
    not enabled   set, the same topic              connector-specific
    not enabled   set, different                   connector-specific first, worker-global second
    enabled       unset or set, the same topic     connector-specific, in the worker's topic
    enabled       different (by name or servers)   connector-specific first, worker-global second

1. A connector-specific store is read by the connector's consumer (consumer.override.bootstrap.servers) and written by
   its producer (producer.override.bootstrap.servers). Where only one of the two is overridden, written offsets are
   never read again.
2. The worker-global store is read committed if exactly-once is enabled; if not, as isolation.level of the worker's file
   says, by default uncommitted (KafkaOffsetBackingStore.configure, 3.3.2 and 4.3.1 read). The connector-specific one
   is read committed, unless exactly-once is not enabled and consumer.override.isolation.level says otherwise.
3. Workers before 3.3 know the worker-global store only.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.client_configs import connector_client
from eosctl.model.client_roles import (
    CONSUMER,
    PRODUCER,
    SERVERS,
    ClientConfig,
    ClientRole,
    ConnectorConfig,
    WorkerConfig,
    as_properties,
    server_set,
)
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.names import is_topic_name
from eosctl.model.offsets import OffsetStore, OffsetStores, StorePlace, WorkerSettings
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.versions import EXACTLY_ONCE_SOURCES
from eosctl.model.workers import KnownPhase

ISOLATION_LEVEL: Final = "isolation.level"

OVERRIDES: Final = (f"{PRODUCER}.override.", f"{CONSUMER}.override.")

Servers = frozenset[str] | Skipped


def deciding_settings(config: Mapping[str, object]) -> dict[str, object]:
    """The settings of a connector on which its stores depend, in the order of their names."""
    return {key: config[key] for key in sorted(config) if key == OFFSETS_TOPIC or key.startswith(OVERRIDES)}


def stores_of(worker: WorkerSettings, config: Mapping[str, object]) -> tuple[OffsetStores, ...] | Skipped:
    """The stores of a connector with this config; two answers where exactly_once is unknown and makes a difference.

    Skipped where a setting that decides is unknown: masked, a reference to a config provider, or not given.
    """
    own = config.get(OFFSETS_TOPIC)
    if own is not None and (not isinstance(own, str) or not is_topic_name(own)):
        return Skipped(f"{OFFSETS_TOPIC} of the connector is {own!r}, which is not a topic's name")
    if worker.version < EXACTLY_ONCE_SOURCES:
        return (_worker_only(worker, "workers before 3.3 know no other store"),)
    if not isinstance(worker.exactly_once, Skipped):
        return _stores(worker, config, own, worker.exactly_once is KnownPhase.ENABLED)
    answers = [_stores(worker, config, own, enabled) for enabled in (False, True)]
    found: list[OffsetStores] = []
    for answer in answers:
        if isinstance(answer, Skipped):
            return answer
        found += answer
    return tuple(found)


def _stores(
    worker: WorkerSettings, config: Mapping[str, object], own: str | None, enabled: bool
) -> tuple[OffsetStores] | Skipped:
    writing, reading = (_client(worker, config, role, enabled) for role in (ClientRole.PRODUCER, ClientRole.CONSUMER))
    producer, consumer = _servers(worker, writing), _servers(worker, reading)
    if not enabled and own is None:
        words = "exactly-once is not enabled and the connector names no offsets topic"
        only = _worker_only(worker, words)
        return (replace(only, sent_to=producer if isinstance(producer, Skipped) else _place(producer)),)
    for servers in (producer, consumer):
        if isinstance(servers, Skipped):
            return servers
    topic = worker.offsets_topic if own is None else own
    written = StorePlace(topic, _place(producer))
    isolation = _isolation_level(reading)
    if isinstance(isolation, Skipped):
        return isolation
    specific = OffsetStore(StorePlace(topic, _place(consumer)), isolation)
    mode = "exactly-once is enabled" if enabled else "exactly-once is not enabled"
    naming = "names no offsets topic" if own is None else f"names the offsets topic {own}"
    if written == StorePlace(worker.offsets_topic):
        return (OffsetStores(None, specific, written, f"{mode} and the connector {naming}: the worker-global topic"),)
    general = OffsetStore(StorePlace(worker.offsets_topic), _worker_level(worker, enabled=enabled))
    where = "" if written.bootstrap_servers is None else " and produces to other bootstrap.servers"
    words = f"{mode} and the connector {naming}{where}"
    return (OffsetStores(general, specific, written, words, written.bootstrap_servers),)


def _client(worker: WorkerSettings, config: Mapping[str, object], role: ClientRole, enabled: bool) -> ClientConfig:
    known = WorkerConfig(as_properties(worker.known_clients), worker.version)
    return connector_client(known, ConnectorConfig("", as_properties(config)), role, exactly_once=enabled)


def _worker_only(worker: WorkerSettings, words: str) -> OffsetStores:
    place = StorePlace(worker.offsets_topic)
    return OffsetStores(OffsetStore(place, _worker_level(worker, enabled=False)), None, place, words)


def _worker_level(worker: WorkerSettings, *, enabled: bool) -> IsolationLevel:
    committed = enabled or worker.known_clients.get(ISOLATION_LEVEL) == IsolationLevel.READ_COMMITTED.value
    return IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED


_SAME: Final[frozenset[str]] = frozenset()
"""Stands for the worker's own servers, so that they need not be known where nothing overrides them."""


def _servers(worker: WorkerSettings, client: ClientConfig) -> Servers:
    """The servers that the connector's client connects to: `_SAME` where they are the worker's."""
    if not client.servers_of_its_own:
        return _SAME
    servers = client.setting(SERVERS)
    if isinstance(servers, Skipped):
        return Skipped(f"{servers.reason}: where it leads is not known")
    if isinstance(worker.bootstrap_servers, Skipped):
        return Skipped(
            f"{client.origin(SERVERS)} is set, and the worker's are not known ({worker.bootstrap_servers.reason})"
        )
    return _SAME if server_set(servers) == worker.bootstrap_servers else server_set(servers)


def _place(servers: Servers) -> frozenset[str] | None:
    return None if isinstance(servers, Skipped) or servers is _SAME else servers


def _isolation_level(client: ClientConfig) -> IsolationLevel | Skipped:
    level = client.setting(ISOLATION_LEVEL)
    if isinstance(level, Skipped):
        return level
    uncommitted = level.lower() == IsolationLevel.READ_UNCOMMITTED.value
    return IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED


def connector_offsets_topic(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> str | None:
    """The topic that the connector's own clients read and write offsets in; None where only the worker's do."""
    if connector.offsets_topic is not None:
        return connector.offsets_topic
    return worker.offsets_topic if exactly_once else None


def uses_worker_store(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> bool:
    """True if the worker's own clients write offsets of this connector, or if that is unknown."""
    stores = _stores_for(worker, connector, exactly_once=exactly_once)
    return isinstance(stores, Skipped) or stores.worker_global is not None


def _stores_for(worker: WorkerConfig, connector: ConnectorConfig, *, exactly_once: bool) -> OffsetStores | Skipped:
    settings = WorkerSettings(
        worker.offsets_topic,
        KnownPhase.ENABLED if exactly_once else KnownPhase.NOT_ENABLED,
        server_set(worker.get("bootstrap.servers")),
        clients={key: each.value for key, each in worker.properties.items()},
    )
    found = stores_of(settings, {key: each.value for key, each in connector.properties.items()})
    return found if isinstance(found, Skipped) else found[0]
