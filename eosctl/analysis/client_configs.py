"""The settings of each Kafka client of a Connect cluster: KIP-458, KIP-618, Kafka 3.3 to 4.3.

1. Producers and consumers (Worker.baseProducerConfigs, baseConsumerConfigs): what Connect sets itself, with the
   worker's bootstrap.servers; then the worker's `producer.` or `consumer.` settings, its metrics.context, and the
   connector's `producer.override.` or `consumer.override.` ones. The worker's own security settings do not reach them.
2. With exactly-once, a source task's producer is idempotent and has the task's transactional ID, and the consumer of
   its offsets reads committed, whatever is configured (exactlyOnceSourceTaskProducerConfigs,
   exactlyOnceSourceOffsetsConsumerConfigs). Without, that consumer reads committed by default.
3. Admin clients (Worker.adminConfigs): all worker settings but those that begin `producer.`, `consumer.` or `admin.`;
   then `admin.`; then the connector's `admin.override.`; then metrics.context.
4. The worker's own clients: all its settings.
5. Clients that MirrorMaker 2's connectors make (MirrorConnectorConfig): addresses and security of the connector's
   `source.cluster.`, then all of its `consumer.`, then of `source.consumer.`; the same for `target.` and the others.
   Debezium's consumer of signals (KafkaSignalChannel) has `signal.kafka.bootstrap.servers`, then `signal.consumer.`.
   All clients of Iceberg's sink (IcebergSinkConfig.loadWorkerProps) have the properties file of the worker, which the
   sink finds by the command line of the JVM, then the connector's `iceberg.kafka.`. No override policy applies.
6. connector.client.config.override.policy decides which overrides are accepted (KIP-458): All; Principal, which takes
   sasl.jaas.config, sasl.mechanism and security.protocol; None; Allowlist, those of
   connector.client.config.override.allowlist. A connector with others is refused when it is created.

Settings that the worker learns while it runs are not included: metrics.context.connect.kafka.cluster.id, and the
client.id that MirrorMaker's connectors make of their roles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from eosctl.model.client_properties import MIRROR_CLIENT_KEYS, Property, split_list
from eosctl.model.client_roles import (
    ADMIN,
    CONSUMER,
    KINDS,
    PRODUCER,
    SERVERS,
    ClientConfig,
    ClientRole,
    ConnectorConfig,
    WorkerConfig,
    as_properties,
    merged,
    server_set,
    stripped,
)
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import whole

if TYPE_CHECKING:
    from eosctl.model.evidence import Evidence

Properties = Mapping[str, Property]

CLIENT_PREFIXES: Final = ("producer.", "consumer.", "admin.")
_MIRROR: Final = {
    ClientRole.MIRROR_SOURCE_ADMIN: "source.",
    ClientRole.MIRROR_SOURCE_CONSUMER: "source.",
    ClientRole.MIRROR_OFFSET_SYNCS: "source.",
    ClientRole.MIRROR_TARGET_ADMIN: "target.",
    ClientRole.MIRROR_TARGET_CONSUMER: "target.",
}
_SERIALIZATION: Final = "org.apache.kafka.common.serialization.ByteArray"
_OF_CONNECT: Final[Mapping[str, Mapping[str, str]]] = {
    ADMIN: {},
    PRODUCER: {
        "key.serializer": f"{_SERIALIZATION}Serializer",
        "value.serializer": f"{_SERIALIZATION}Serializer",
        "max.block.ms": str(2**63 - 1),
        "enable.idempotence": "false",
        "acks": "all",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": str(2**31 - 1),
    },
    CONSUMER: {
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "key.deserializer": f"{_SERIALIZATION}Deserializer",
        "value.deserializer": f"{_SERIALIZATION}Deserializer",
    },
}
"""Connect's own defaults, which all others override: Worker.baseProducerConfigs, baseConsumerConfigs."""
_CLIENT_ID: Final = {
    ClientRole.PRODUCER: "connector-producer-",
    ClientRole.CONSUMER: "connector-consumer-",
    ClientRole.ADMIN: "connector-adminclient-",
    ClientRole.SINK_CONSUMER: "connector-consumer-",
    ClientRole.DEAD_LETTER_QUEUE: "connector-dlq-producer-",
    ClientRole.SINK_ADMIN: "connector-dlq-adminclient-",
}
DEFAULT_SERVERS: Final = "localhost:9092"
"""The default of Kafka 3 workers; those of 4.3 do not start without bootstrap.servers."""
METRICS: Final = "metrics.context."
_NUMBERS: Final = {
    "max.in.flight.requests.per.connection": (1, 5),
    "retries": (1, 2**31 - 1),
    "transaction.timeout.ms": (-(2**31), 2**31 - 1),
}
"""The numbers that an idempotent producer accepts."""
OVERRIDE_POLICY: Final = "connector.client.config.override.policy"
POLICIES: Final = ("All", "Principal", "None", "Allowlist")
KAFKAS_POLICIES: Final = "org.apache.kafka.connect.connector.policy"
PRINCIPAL_ONLY: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


def worker_client(worker: WorkerConfig) -> ClientConfig:
    servers = {} if worker.unread else {"bootstrap.servers": Property(DEFAULT_SERVERS, "bootstrap.servers by default")}
    return ClientConfig(ClientRole.WORKER, None, {**servers, **worker.properties}, worker.version, unread=worker.unread)


def connector_client(
    worker: WorkerConfig, connector: ConnectorConfig, role: ClientRole, *, exactly_once: bool, task: int = 0
) -> ClientConfig:
    """The client that this worker makes for `role` of the connector, or of its task.

    exactly_once is whether source tasks are transactional. Overrides that the worker's policy refuses are left out.
    """
    if role in _MIRROR:
        return ClientConfig(role, connector.name, _mirror_layers(connector, role), worker.version)
    if role is ClientRole.DEBEZIUM_SIGNALS:
        signals = merged(stripped(connector.properties, prefix) for prefix in ("signal.kafka.", "signal.consumer."))
        return ClientConfig(role, connector.name, signals, worker.version)
    if role is ClientRole.ICEBERG:
        own = stripped(connector.properties, "iceberg.kafka.")
        return ClientConfig(role, connector.name, {**worker.properties, **own}, worker.version, worker.unread)
    kind = KINDS[role]
    own = stripped(connector.properties, f"{kind}.override.")
    accepted = {key: each for key, each in own.items() if may_override(worker, key)}
    last = (accepted, _metrics_context(worker)) if kind == ADMIN else (_metrics_context(worker), accepted)
    found = merged((*_worker_layers(worker, ConnectorTaskId(connector.name, task), role), *last))
    found |= _workers_servers(found, worker)
    if exactly_once or worker.unread is None:
        found |= _set_by_role(found, worker, ConnectorTaskId(connector.name, task), role, exactly_once)
    return ClientConfig(role, connector.name, found, worker.version, worker.unread)


def _worker_layers(worker: WorkerConfig, task: ConnectorTaskId, role: ClientRole) -> tuple[Properties, ...]:
    """Connect's settings, then the worker's; without Connect's where the worker may have changed them unseen."""
    kind = KINDS[role]
    own = stripped(worker.properties, f"{kind}.")
    servers = worker.properties.get("bootstrap.servers")
    named = {} if servers is None else {"bootstrap.servers": Property(_listed(servers.value), servers.origin)}
    # AbstractConfig resolves the references, and from Kafka 3.8 on forgets whose they were.
    forgotten = "config.providers" if worker.version >= KafkaVersion(3, 8) else None
    passed_on = {key: each for key, each in worker.properties.items() if key != forgotten}
    general = {key: each for key, each in passed_on.items() if not key.startswith(CLIENT_PREFIXES)}
    layers = (named, general if kind == ADMIN else {}, own)
    if worker.unread is not None:
        return layers
    group = {"group.id": f"connect-{task.connector}"} if kind == CONSUMER else {}
    client_id = f"{_CLIENT_ID[role]}{task.connector}-{task.task}"
    first = {"bootstrap.servers": DEFAULT_SERVERS, **_OF_CONNECT[kind], **group, "client.id": client_id}
    return ({key: Property(value, f"{key} by Connect") for key, value in first.items()}, *layers)


def _workers_servers(found: Properties, worker: WorkerConfig) -> Properties:
    """bootstrap.servers with the worker as origin, if they name the worker's own addresses; empty otherwise."""
    servers, own = found.get(SERVERS), worker.properties.get(SERVERS)
    if servers is None or own is None or server_set(servers.value) != server_set(own.value):
        return {}
    return {SERVERS: Property(servers.value, own.origin)}


def _listed(text: str) -> str:
    """A list as Kafka splits and joins it: without blanks around its parts (WorkerConfig.bootstrapServers)."""
    return ",".join(part.strip() for part in text.split(","))


def _metrics_context(worker: WorkerConfig) -> Properties:
    """ConnectUtils.addMetricsContextProperties."""
    found = {key: each for key, each in worker.properties.items() if key.startswith(METRICS)}
    group = worker.properties.get("group.id")
    return found if group is None else {**found, f"{METRICS}connect.group.id": group}


def _set_by_role(
    found: Properties, worker: WorkerConfig, task: ConnectorTaskId, role: ClientRole, exactly_once: bool
) -> dict[str, Property]:
    """Settings that Connect forces on a source task's clients, and its defaults for them."""
    if role is ClientRole.PRODUCER and exactly_once:
        name = task_transactional_id(worker.group_id, task)
        ids = {"transactional.id": Property(name, "transactional.id by Connect")} if worker.group_id else {}
        return {**ids, "enable.idempotence": _ensured(found, "enable.idempotence", "true")}
    if role is ClientRole.CONSUMER and (exactly_once or "isolation.level" not in found):
        return {"isolation.level": _ensured(found, "isolation.level", "read_committed")}
    return {}


def _ensured(found: Properties, key: str, value: str) -> Property:
    """As given where that is `value` in upper or lower case (ConnectUtils.ensureProperty)."""
    given = found.get(key)
    return given if given is not None and given.value.lower() == value else Property(value, f"{key} by Connect")


def _mirror_layers(connector: ConnectorConfig, role: ClientRole) -> Properties:
    side, kind = _MIRROR[role], f"{KINDS[role]}."
    if role is ClientRole.MIRROR_OFFSET_SYNCS and connector.get("offset-syncs.topic.location") == "target":
        side = "target."
    cluster = stripped(connector.properties, f"{side}cluster.")
    common = {key: each for key, each in cluster.items() if key in MIRROR_CLIENT_KEYS}
    own = stripped(connector.properties, kind)
    found = merged((common, own, stripped(connector.properties, side + kind)))
    if KINDS[role] == CONSUMER:
        found.setdefault("auto.offset.reset", Property("earliest", "auto.offset.reset by MirrorMaker"))
        found["enable.auto.commit"] = Property("false", "enable.auto.commit by MirrorMaker")
    return found


def refused_by_producer(client: ClientConfig) -> Iterator[str | Skipped]:
    """Settings that keep an idempotent producer from starting (ProducerConfig); Skipped for unknown ones."""
    for key in ("acks", *_NUMBERS):
        value = client.setting(key)
        if isinstance(value, Skipped):
            yield value
        elif not (value in {"all", "-1"} if key == "acks" else _accepted(key, whole(value))):
            yield key


def _accepted(key: str, number: int | None) -> bool:
    least, most = _NUMBERS[key]
    return number is not None and least <= number <= most


def override_policy(worker: WorkerConfig) -> str | None:
    """The worker's policy by Kafka's name for it; None for another class."""
    package, _, name = worker.override_policy.rpartition(".")
    policy = name.removesuffix("ConnectorClientConfigOverridePolicy")
    return policy if package in ("", KAFKAS_POLICIES) and policy in POLICIES else None


def may_override(worker: WorkerConfig, key: str) -> bool:
    """Whether the worker's policy lets a connector override client property `key`.

    A policy of another class is assumed to allow everything.
    """
    policy = override_policy(worker)
    if policy == "Principal":
        return key in PRINCIPAL_ONLY
    if policy == "Allowlist":
        return key in split_list(worker.get("connector.client.config.override.allowlist"))
    return policy != "None"


def overrides(connector: ConnectorConfig) -> tuple[str, ...]:
    """The settings in the connector's config that override those of its clients, in order of their names."""
    prefixes = tuple(f"{prefix}override." for prefix in CLIENT_PREFIXES)
    return tuple(sorted(key for key in connector.properties if key.startswith(prefixes)))


def refused_overrides(worker: WorkerConfig, connector: ConnectorConfig) -> tuple[str, ...]:
    return tuple(key for key in overrides(connector) if not may_override(worker, key.partition(".override.")[2]))


def override_refusal(workers: Iterable[WorkerConfig], keys: Collection[str]) -> str | None:
    """In words, that a worker's policy refuses these client properties in a connector's config; None if none does."""
    for worker in workers:
        if not all(may_override(worker, key) for key in keys):
            return f"{OVERRIDE_POLICY}={worker.override_policy} refuses {' and '.join(keys)} in a connector's config"
    return None


UNREAD: Final = not_asked("the workers' settings for connectors' clients are not known: give --worker-config")
FLOWS: Final = not_asked("a dedicated MirrorMaker's settings for the clients of each flow are not read from its file")


def workers_of(evidence: Evidence) -> tuple[WorkerConfig, ...]:
    """The worker of each file; one whose settings are unread where no file was given."""
    version = max(evidence.versions, default=NEWEST)
    group = {} if isinstance(evidence.group_id, Skipped) else {"group.id": evidence.group_id}
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    if not files:
        return (WorkerConfig(as_properties(group), version, unread=UNREAD),)
    return tuple(
        WorkerConfig(as_properties(group), version, dedicated=True, unread=FLOWS)
        if "clusters" in properties
        else WorkerConfig(as_properties({**group, **properties}, name), version)
        for name, properties in files.items()
    )


def clients_of(evidence: Evidence, connector: str, role: ClientRole, *, exactly_once: bool) -> Iterator[ClientConfig]:
    """The client of this role that each worker would make for the connector."""
    config = connector_config(evidence, connector)
    for worker in workers_of(evidence):
        yield connector_client(worker, config, role, exactly_once=exactly_once)


def connector_config(evidence: Evidence, connector: str) -> ConnectorConfig:
    """The connector's masked config; one without settings where it is not known."""
    return ConnectorConfig(connector, as_properties(evidence.config(connector)))


def servers_elsewhere(evidence: Evidence, connector: str) -> frozenset[str] | Skipped | None:
    """The bootstrap.servers that the connector's producers have instead of their workers'.

    None where they have the workers'; Skipped where they have others and these are not known.
    """
    clients = clients_of(evidence, connector, ClientRole.PRODUCER, exactly_once=True)
    servers = next((each.setting(SERVERS) for each in clients if each.servers_of_its_own), None)
    return server_set(servers) if isinstance(servers, str) else servers
