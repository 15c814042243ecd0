"""Files that describe workers: properties, MirrorMaker 2's (dedicated mode), and Strimzi's resources.

A worker's properties are those of one worker; MirrorMaker 2's make a worker for each pair of clusters; a KafkaConnect
or KafkaMirrorMaker2 describes all workers of its Connect cluster.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from eosctl.codecs.connector_files import connector_of
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.strimzi_connect import certificate_subjects, connect_resource, connectors_beside, worker_settings
from eosctl.codecs.strimzi_resources import decode_resources, is_resource
from eosctl.errors import ConfigError
from eosctl.model.client_keys import MIRROR_CLIENT_KEYS
from eosctl.model.client_properties import REFERENCE, Property, listed
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.offset_stores import SOURCE_SUPPORT, SourceSupport
from eosctl.model.strimzi import KAFKA_MIRROR_MAKER_2

REQUIRED = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
MIRROR_CONNECTORS = ("MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector")
CLIENTS = ("producer.", "consumer.", "admin.")
OF_ALL_WORKERS = (
    *("offset.storage", "config.storage", "status.storage", "key.converter", "value.converter", "header.converter"),
    *("task", "worker", "replication.policy", "config.providers"),
)
"""What the settings of a worker begin with that are taken without a cluster before them."""
POLL_TIMEOUT = "consumer.poll.timeout.ms"
"""The one setting of a connector that looks like one of its consumer."""


def decode_worker_file(text: str, origin: str) -> tuple[ConnectCluster, ...]:
    """The Connect clusters of a file: one, or for MirrorMaker 2 in dedicated mode one for each flow.

    Raises ConfigError naming the file for a setting that is missing or cannot be used.
    """
    if is_resource(text):
        return (_operated(text, origin),)
    properties = decode_properties(text, origin=origin)
    if "clusters" in properties:
        return tuple(_flows(properties, origin))
    return (ConnectCluster((worker_of(properties, origin),), ()),)


def decode_worker_settings(text: str, origin: str) -> Mapping[str, str]:
    """The settings in a file of a worker, whatever its form; ConfigError where it cannot be read."""
    if is_resource(text):
        return worker_settings(connect_resource(decode_resources(text, origin), origin))
    return decode_properties(text, origin=origin)


def _operated(text: str, origin: str) -> ConnectCluster:
    """A Connect cluster that Strimzi's operator runs, with the connectors in the same file."""
    resources = decode_resources(text, origin)
    resource = connect_resource(resources, origin)
    worker = worker_of(worker_settings(resource), resource.place)
    return ConnectCluster(
        (worker,),
        tuple(connector_of(each, resource.place) for each in connectors_beside(resource, resources)),
        all_known=resource.kind == KAFKA_MIRROR_MAKER_2,
        certificates=certificate_subjects(resources),
        resource=resource.name,
    )


def require_value(key: str, value: str, origin: str) -> None:
    """ConfigError where a reference to a config provider stands in the place of the value."""
    if REFERENCE.search(value):
        raise ConfigError(
            f"{origin}: {key} is {value}, a reference that only the worker resolves",
            hint="give a copy of the file that has the value in its place",
        )


def worker_of(properties: Mapping[str, str], origin: str) -> WorkerConfig:
    """The worker with these properties, checked for what every distributed worker must have."""
    for key in REQUIRED:
        if not properties.get(key, "").strip():
            raise ConfigError(f"{origin} has no {key}", hint="give the properties file of a distributed worker")
        require_value(key, properties[key], origin)
    require_value(SOURCE_SUPPORT, properties.get(SOURCE_SUPPORT, ""), origin)
    worker = WorkerConfig({key: Property(value, f"{origin} {key}") for key, value in properties.items()})
    try:
        worker.phase  # noqa: B018  # its value is checked here
    except ValueError:
        given = worker.get(SOURCE_SUPPORT)
        raise ConfigError(
            f"{origin}: {SOURCE_SUPPORT} is {given!r}; it must be one of {', '.join(SourceSupport)}"
        ) from None
    return worker


def _flows(properties: Mapping[str, str], origin: str) -> Iterator[ConnectCluster]:
    """MirrorMakerConfig: clusterPairs, workerConfig and connectorBaseConfig.

    1. Every pair source->target with `enabled`, or whose heartbeats are not switched off, is a Connect cluster on the
       target: group `<source>-mm2`, topics `mm2-….<source>.internal`.
    2. Its worker has the target's settings (`<target>.…`) without their prefix. Client settings among them, and those
       without any prefix, count for producers, consumers and admin clients, too. Some settings of all workers are taken
       without that prefix, and win.
    3. Its connectors have the settings of both clusters behind `source.cluster.` and `target.cluster.`.
    """
    aliases = listed(properties["clusters"])
    for source in aliases:
        for target in aliases:
            if source != target and _runs(properties, source, target):
                yield _flow(properties, source, target, origin)


def _runs(properties: Mapping[str, str], source: str, target: str) -> bool:
    flow = f"{source}->{target}."
    heartbeats = properties.get(f"{flow}emit.heartbeats.enabled", properties.get("emit.heartbeats.enabled", "true"))
    return properties.get(f"{flow}enabled", "false").lower() == "true" or heartbeats.lower() == "true"


def _flow(properties: Mapping[str, str], source: str, target: str, origin: str) -> ConnectCluster:
    converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    settings = {
        "group.id": f"{source}-mm2",
        "config.storage.topic": f"mm2-configs.{source}.internal",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "status.storage.topic": f"mm2-status.{source}.internal",
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), converter),
        **_cluster_settings(properties, target),
        **{key: value for key, value in properties.items() if key.startswith(OF_ALL_WORKERS)},
    }
    worker = replace(worker_of(settings, f"{origin} ({source}->{target})"), dedicated=True)
    kinds = (
        MIRROR_CONNECTORS
        if properties.get(f"{source}->{target}.enabled", "").lower() == "true"
        else (MIRROR_CONNECTORS[-1],)
    )
    return ConnectCluster((worker,), tuple(_connector(properties, source, target, kind, origin) for kind in kinds))


def _cluster_settings(properties: Mapping[str, str], alias: str) -> dict[str, str]:
    own = {key[len(alias) + 1 :]: value for key, value in properties.items() if key.startswith(f"{alias}.")}
    for settings, names in ((dict(own), CLIENTS), (properties, ("", *CLIENTS))):
        for key in MIRROR_CLIENT_KEYS & settings.keys():
            for client in names:
                own.setdefault(client + key, settings[key])
    return own


def _connector(properties: Mapping[str, str], source: str, target: str, kind: str, origin: str) -> ConnectorConfig:
    """Its own settings: those without a cluster before them, both clusters' clients, and last those of the flow."""
    flow = f"{source}->{target}."
    config = {
        key: value
        for key, value in properties.items()
        if key == POLL_TIMEOUT or not ("->" in key or key == "bootstrap.servers" or key.startswith(CLIENTS))
    }
    for side, alias in (("source", source), ("target", target)):
        for key, value in _cluster_settings(properties, alias).items():
            is_client = key.startswith(("producer", "consumer", "admin"))
            config[f"{side}.{key}" if is_client else f"{side}.cluster.{key}"] = value
    config |= {"connector.class": kind, "source.cluster.alias": source, "target.cluster.alias": target}
    config |= {key[len(flow) :]: value for key, value in properties.items() if key.startswith(flow)}
    return connector_of(config, f"{origin} ({flow[:-1]})", name=kind)
