"""What each Kafka client of a Connect cluster is reported, layer by layer.

1. Producers and consumers (Worker.baseProducerConfigs, baseConsumerConfigs): the worker's bootstrap.servers, then its
   `producer.` or `consumer.` settings, then the connector's `producer.override.` or `consumer.override.` ones. The
   worker's own security settings do not reach them.
2. Admin clients (Worker.adminConfigs): all worker settings but those that begin `producer.`, `consumer.` or `admin.`;
   then `admin.`; then the connector's `admin.override.`.
3. The worker's own clients: all its settings.
4. Clients that MirrorMaker 2's connectors make (MirrorConnectorConfig): the connector's `source.cluster.` settings,
   then `source.consumer.` and so on; the same for `target.`; then for both `consumer.`, `producer.`, `admin.`.
5. connector.client.config.override.policy decides which overrides are accepted (KIP-458): All; Principal, which takes
   sasl.jaas.config, sasl.mechanism and security.protocol; None; Allowlist, those of
   connector.client.config.override.allowlist. A connector with others is refused when it is created.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ClientConfig, ClientRole, ConnectorConfig, WorkerConfig

Properties = Mapping[str, Property]

CLIENT_PREFIXES: Final = ("producer.", "consumer.", "admin.")
_PREFIX: Final = {
    ClientRole.PRODUCER: "producer.",
    ClientRole.CONSUMER: "consumer.",
    ClientRole.ADMIN: "admin.",
    ClientRole.SINK_CONSUMER: "consumer.",
    ClientRole.DEAD_LETTER_QUEUE: "producer.",
    ClientRole.SINK_ADMIN: "admin.",
}
_MIRROR: Final = {
    ClientRole.MIRROR_SOURCE_ADMIN: ("source.", "admin."),
    ClientRole.MIRROR_SOURCE_CONSUMER: ("source.", "consumer."),
    ClientRole.MIRROR_OFFSET_SYNCS: ("source.", "producer."),
    ClientRole.MIRROR_TARGET_ADMIN: ("target.", "admin."),
    ClientRole.MIRROR_TARGET_CONSUMER: ("target.", "consumer."),
}
POLICIES: Final = ("All", "Principal", "None", "Allowlist")
KAFKAS_POLICIES: Final = "org.apache.kafka.connect.connector.policy"
PRINCIPAL_ONLY: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


def worker_client(worker: WorkerConfig) -> ClientConfig:
    """The worker's own clients."""
    return ClientConfig(ClientRole.WORKER, None, worker.properties)


def connector_client(worker: WorkerConfig, connector: ConnectorConfig, role: ClientRole) -> ClientConfig:
    """The client that this worker makes for `role` of the connector."""
    if role in _MIRROR:
        return ClientConfig(role, connector.name, _mirror_layers(connector, role))
    prefix = _PREFIX[role]
    bootstrap = {key: found for key, found in worker.properties.items() if key == "bootstrap.servers"}
    basis: Properties = bootstrap
    if prefix == "admin.":
        basis = {key: each for key, each in worker.properties.items() if not key.startswith(CLIENT_PREFIXES)}
    reported = _stripped(connector.properties, f"{prefix}override.")
    allowed = {key: each for key, each in reported.items() if may_override(worker, key)}
    return ClientConfig(role, connector.name, {**basis, **_stripped(worker.properties, prefix), **allowed})


def _mirror_layers(connector: ConnectorConfig, role: ClientRole) -> Properties:
    side, kind = _MIRROR[role]
    if role is ClientRole.MIRROR_OFFSET_SYNCS and connector.get("offset-syncs.topic.location") == "target":
        side = "target."
    prefixes = (kind, f"{side}cluster.", f"{side}{kind}")
    return _merged(_stripped(connector.properties, prefix) for prefix in prefixes)


def _merged(layers: Iterable[Properties]) -> Properties:
    merged: dict[str, Property] = {}
    for layer in layers:
        merged |= layer
    return merged


def _stripped(properties: Properties, prefix: str) -> Properties:
    return {key[len(prefix) :]: each for key, each in properties.items() if key.startswith(prefix)}


def override_policy(worker: WorkerConfig) -> str | None:
    """The worker's policy by the name that Kafka gives it; None for one of somebody else's class."""
    package, _, name = worker.override_policy.rpartition(".")
    policy = name.removesuffix("ConnectorClientConfigOverridePolicy")
    return policy if package in ("", KAFKAS_POLICIES) and policy in POLICIES else None


def may_override(worker: WorkerConfig, key: str) -> bool:
    """Whether the worker's policy lets a connector override client property `key`.

    A policy of somebody else's class is taken to allow everything: only that class knows.
    """
    policy = override_policy(worker)
    if policy == "Principal":
        return key in PRINCIPAL_ONLY
    if policy == "Allowlist":
        allowlist = worker.get("connector.client.config.override.allowlist")
        return key in {each.strip() for each in allowlist.split(",")}
    return policy != "None"


def overrides(connector: ConnectorConfig) -> tuple[str, ...]:
    """The settings in the connector's config that override those of its clients, in order of their names."""
    prefixes = tuple(f"{prefix}override." for prefix in CLIENT_PREFIXES)
    return tuple(sorted(key for key in connector.properties if key.startswith(prefixes)))


def refused_overrides(worker: WorkerConfig, connector: ConnectorConfig) -> tuple[str, ...]:
    """Those of the overrides that the worker's policy refuses."""
    return tuple(key for key in overrides(connector) if not may_override(worker, key.partition(".override.")[2]))
