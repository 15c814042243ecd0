"""Connector configs in files: for connectors that do not exist yet, or whose REST interface is closed.

JSON: an object of settings as `PUT /connectors/C/config` takes it, or `{"name": …, "config": {…}}` as
`POST /connectors` takes it, or a list of these. YAML or JSON of Kubernetes: Strimzi's KafkaConnectors. Anything else is
a Java properties file with a `name`, as standalone workers take it.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from eosctl.codecs.json_text import load_json
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.secrets import mask_properties
from eosctl.codecs.strimzi import (
    certificate_subjects,
    connect_resource,
    connectors_beside,
    decode_resources,
    is_resource,
    kafka_connectors,
    worker_settings,
)
from eosctl.errors import ConfigError
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import HIDDEN, MIRROR_CLIENT_KEYS, REFERENCE, Property, split_list
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.strimzi import CLUSTER_LABEL, KAFKA_MIRROR_MAKER_2
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport


def decode_connectors(text: str, origin: str, *, name: str | None = None) -> tuple[ConnectorConfig, ...]:
    """The connectors in the text of file `origin`; `name` where they do not have to have one.

    Raises ConfigError for anything else.
    """
    if is_resource(text):
        return tuple(_operated(text, origin))
    if not text.lstrip().startswith(("{", "[")):
        return (connector_of(decode_properties(text, origin=origin), origin, name=name),)
    try:
        value = load_json(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise ConfigError(
            f"{origin} is not JSON at {where}: {error.msg}",
            hint="give the whole file as it was written: this one may be truncated",
        ) from error
    entries = value if isinstance(value, list) else [value]
    return tuple(_entry(entry, origin, name) for entry in entries)


def _operated(text: str, origin: str) -> Iterator[ConnectorConfig]:
    found = list(kafka_connectors(decode_resources(text, origin)))
    if not found:
        raise ConfigError(
            f"{origin} holds no KafkaConnector", hint="KafkaConnect and KafkaMirrorMaker2 are for --worker-config"
        )
    clusters = sorted({each.labels.get(CLUSTER_LABEL, "") for each, _ in found})
    if len(clusters) > 1:
        named = ", ".join(each or "none" for each in clusters)
        raise ConfigError(
            f"{origin} holds connectors of {len(clusters)} Connect clusters (label {CLUSTER_LABEL}: {named})",
            hint="give the connectors of each cluster their own file",
        )
    for resource, config in found:
        yield replace(connector_of(config, resource.place), connect_cluster=resource.labels.get(CLUSTER_LABEL))


def decode_connector(text: str, origin: str, *, name: str | None = None) -> dict[str, str]:
    """The settings of the one connector in the text of file `origin`, with its name; ConfigError for several.

    `name`: it does not have to have one, as in the body of `PUT /connectors/…/config`.
    """
    connectors = decode_connectors(text, origin, name=name)
    if len(connectors) != 1:
        raise ConfigError(f"{origin} holds {len(connectors)} connectors, not one", hint="give each its own file")
    return {key: each.value for key, each in connectors[0].properties.items()}


def config_digest(settings: Mapping[str, str | None]) -> str:
    """The digest of a config; order and settings of null do not count."""
    given = {key: value for key, value in settings.items() if value is not None}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _entry(value: object, origin: str, name: str | None) -> ConnectorConfig:
    if not isinstance(value, dict):
        raise ConfigError(f"{origin} holds {type(value).__name__} where a connector's settings are expected")
    config = value.get("config", value)
    if not isinstance(config, dict):
        raise ConfigError(f"{origin}: config is {type(config).__name__}, not an object of settings")
    return connector_of({"name": value.get("name"), **config}, origin, name=name)


def connector_of(config: Mapping[str, object], origin: str, *, name: str | None = None) -> ConnectorConfig:
    """The connector with these settings; `name` if they need not have one.

    Raises ConfigError for a setting that is an object or a list, and if there is neither name nor connector.class.
    """
    settings = dict(_settings(config, origin))
    name = name if name is not None else _required(settings, "name", origin)
    _required(settings, "connector.class", f"{origin} (connector {name})")
    tasks_max = settings.get("tasks.max", "1").strip()
    if not (tasks_max.isascii() and tasks_max.isdigit()) and REFERENCE.fullmatch(tasks_max) is None:
        raise ConfigError(
            f"{origin}: tasks.max of connector {name} is {tasks_max!r}, not a whole number",
            hint="give the number of tasks, such as 1",
        )
    return ConnectorConfig(name, {key: Property(value, f"{origin} {key}") for key, value in settings.items()})


def known_connector(config: Mapping[str, object], origin: str, name: str) -> ConnectorConfig:
    """A connector of a Connect cluster; config values that are no text count as not set."""
    scalars = {key: value for key, value in config.items() if isinstance(value, str | int | float)}
    return ConnectorConfig(name, {key: Property(value, f"{origin} {key}") for key, value in _settings(scalars, origin)})


def _settings(config: Mapping[str, object], origin: str) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        match value:
            case None:
                continue
            case bool():
                yield key, str(value).lower()
            case str() | int() | float():
                yield key, str(value)
            case _:
                raise ConfigError(
                    f"{origin}: setting {key} is {type(value).__name__}, not text",
                    hint="the file is a connector's config, as PUT /connectors/NAME/config takes it",
                )


def _required(settings: Mapping[str, str], key: str, origin: str) -> str:
    value = settings.get(key, "")
    if not value:
        raise ConfigError(f"{origin} has no {key}", hint="give the connector's config, as the REST interface takes it")
    return value


# Files that describe workers: properties, MirrorMaker 2's (dedicated mode), and Strimzi's resources.
#
# A worker's properties describe one worker; MirrorMaker 2's make a worker for each pair of clusters; a
# KafkaConnect or KafkaMirrorMaker2 describes all workers of its Connect cluster.


REQUIRED = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
MIRROR_CONNECTORS = ("MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector")
CLIENTS = ("producer.", "consumer.", "admin.")
OF_ALL_WORKERS = (
    *("offset.storage", "config.storage", "status.storage", "key.converter", "value.converter", "header.converter"),
    *("task", "worker", "replication.policy", "config.providers"),
)
"""Prefixes of worker settings that also count without a cluster's prefix."""
POLL_TIMEOUT = "consumer.poll.timeout.ms"
"""The one setting of a connector that looks like one of its consumer."""


def decode_worker_file(text: str, origin: str) -> tuple[ConnectCluster, ...]:
    """The Connect clusters of a file: one, or for MirrorMaker 2 in dedicated mode one for each flow.

    Raises ConfigError naming the file for a setting that is missing or cannot be used.
    """
    if is_resource(text):
        return (_operated_workers(text, origin),)
    properties = decode_properties(text, origin=origin)
    if "clusters" in properties:
        return tuple(_flows(properties, origin))
    return (ConnectCluster((worker_of(properties, origin),), ()),)


def decode_worker_settings(text: str, origin: str) -> Mapping[str, str]:
    """The settings in a worker's file of any form; ConfigError if it cannot be read."""
    if is_resource(text):
        return worker_settings(connect_resource(decode_resources(text, origin), origin))
    return decode_properties(text, origin=origin)


def _operated_workers(text: str, origin: str) -> ConnectCluster:
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
    """ConfigError if the value is a reference to a config provider."""
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
    aliases = split_list(properties["clusters"])
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
    """Its settings: the ones without a cluster prefix, then both clusters' clients, then the flow's own."""
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


_KEPT: Final = late_pattern(
    r"group\.id|(?:config|offset|status)\.storage\.topic|bootstrap\.servers|connect\.protocol|clusters"
    r"|(?:.+->.+\.|.+\.)?exactly\.once\.source\.support|exactly\.once\.source\.enabled|offset\.flush\.interval\.ms"
    r"|(?:admin\.)?retry\.backoff(?:\.max)?\.ms|dedicated\.mode\.enable\.internal\.rest"
    r"|offset\.storage\.file\.filename|listeners|rest\.advertised\.(?:host\.name|port|listener)"
    r"|connector\.client\.config\.override\.(?:policy|allowlist)"
    r"|inter\.worker\.(?:signature\.algorithm|verification\.algorithms)"
    r"|task\.shutdown\.graceful\.timeout\.ms|rebalance\.timeout\.ms|worker\.sync\.timeout\.ms"
    r"|config\.providers|metric\.reporters|plugin\.path|rest\.extension\.classes|ssl\.(?:cipher\.suites|enabled\.protocols)"
)
_OF_CLIENTS: Final = ("producer.", "consumer.", "admin.")
_DEFAULT_PORT: Final = "8083"


def decode_worker_properties(text: str, origin: str) -> Mapping[str, str]:
    """The settings that decide about exactly-once, the worker's address, and those that its connectors' clients
    inherit.

    All others are left out, and so are client settings that may be secrets. Raises ConfigError where none is left.
    """
    found = decode_worker_settings(text, origin)
    shown = mask_properties(found)
    kept = {
        key: value
        for key, value in found.items()
        if _KEPT.fullmatch(key) or (key.startswith(_OF_CLIENTS) and shown[key] != HIDDEN)
    }
    if not kept:  # another file, whose worker would seem to have all defaults
        raise ConfigError(
            f"{origin} has no setting of a Connect worker", hint="give the properties file that the worker starts with"
        )
    return kept


def advertised_address(properties: Mapping[str, str]) -> str | None:
    """`host:port` under which the worker says that others reach it; None where the file does not name the host."""
    listener = properties.get("listeners", "").split(",")[0].partition("://")[2].rstrip("/")
    host, _, port = listener.rpartition(":")
    host = properties.get("rest.advertised.host.name", host)
    return f"{host}:{properties.get('rest.advertised.port', port) or _DEFAULT_PORT}" if host else None
