"""KafkaConnect, KafkaMirrorMaker2 and KafkaConnector as the settings that Strimzi's operator makes of them.

1. A worker has the operator's defaults, then `spec.config` without the options that are not allowed there, then what
   follows from `bootstrapServers`, `tls`, `authentication` and `rack`, for the clients of connectors, too.
2. Group ID and topics are fields of their own in v1; in v1beta2 they are options of `config`, with defaults.
3. KafkaMirrorMaker2 is a Connect cluster on the target with connectors `SOURCE->TARGET.Mirror…Connector`, each with
   both clusters' settings: no dedicated MirrorMaker. v1beta2 lists `clusters` and names them, v1 has them in place.
4. A KafkaConnector is called as its resource; `class` and `tasksMax` win over its config.

By KafkaConnectCluster.fromSpec, KafkaMirrorMaker2Cluster.fromCrd, KafkaMirrorMaker2Connectors and
AbstractConnectOperator.needsReconfiguring of Strimzi 0.45, 0.48 and 1.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.codecs.strimzi_clients import client_settings, option_text, secret_reference
from eosctl.codecs.strimzi_resources import mapping_in, mappings_in, required_in, text_in
from eosctl.errors import ConfigError
from eosctl.model.strimzi import (
    API_VERSIONS,
    CLUSTER_LABEL,
    KAFKA_CONNECT,
    KAFKA_CONNECTOR,
    KAFKA_MIRROR_MAKER_2,
    KAFKA_USER,
    StrimziResource,
)

DEFAULTS: Final = {
    KAFKA_CONNECT: ("connect-cluster", "org.apache.kafka.connect.json.JsonConverter", ("key", "value")),
    KAFKA_MIRROR_MAKER_2: (
        "mirrormaker2-cluster",
        "org.apache.kafka.connect.converters.ByteArrayConverter",
        ("key", "value", "header"),
    ),
}
"""Group ID, with which the topics begin, and the converter that is set for these."""
FIELDS: Final = {
    "groupId": "group.id",
    "configStorageTopic": "config.storage.topic",
    "offsetStorageTopic": "offset.storage.topic",
    "statusStorageTopic": "status.storage.topic",
}
FORBIDDEN: Final = (
    *("ssl.", "sasl.", "security.", "listeners", "plugin.path", "rest.", "bootstrap.servers"),
    *("consumer.interceptor.classes", "producer.interceptor.classes", "prometheus.metrics.reporter."),
)
ALLOWED: Final = ("ssl.endpoint.identification.algorithm", "ssl.cipher.suites", "ssl.protocol", "ssl.enabled.protocols")
"""KafkaConnectSpec.FORBIDDEN_PREFIXES, and FORBIDDEN_PREFIX_EXCEPTIONS."""
OF_CONNECTORS: Final = frozenset({"name", "connector.class", "tasks.max"})
"""AbstractConnectorSpec.FORBIDDEN_PARAMETERS."""
CLIENTS: Final = ("", "producer.", "consumer.", "admin.")
RACK: Final = "consumer.client.rack"
MIRRORS: Final = {
    "sourceConnector": "MirrorSourceConnector",
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
PATTERNS: Final = {
    "topicsPattern": "topics",
    "topicsBlacklistPattern": "topics.exclude",
    "topicsExcludePattern": "topics.exclude",
    "groupsPattern": "groups",
    "groupsBlacklistPattern": "groups.exclude",
    "groupsExcludePattern": "groups.exclude",
}


def connect_resource(resources: Sequence[StrimziResource], origin: str) -> StrimziResource:
    """The one KafkaConnect or KafkaMirrorMaker2 of a file; ConfigError where there is none, or there are several."""
    found = [each for each in resources if each.kind in DEFAULTS]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{each.kind} {each.name}" for each in found)
        raise ConfigError(f"{origin} holds {len(found)} Connect clusters: {names}", hint="give each a file of its own")
    kinds = ", ".join(sorted({each.kind for each in resources})) or "no resource of Strimzi's"
    raise ConfigError(
        f"{origin} holds neither KafkaConnect nor KafkaMirrorMaker2 ({kinds})",
        hint="KafkaConnectors are for --connector-config",
    )


def worker_settings(resource: StrimziResource) -> dict[str, str]:
    """The settings of every worker of a KafkaConnect or KafkaMirrorMaker2 that decide about Kafka."""
    spec, place = _worker_spec(resource), resource.place
    group, converter, kinds = DEFAULTS[resource.kind]
    settings = {
        **{"group.id": group, **{f"{each}.storage.topic": f"{group}-{each}s" for each in ("config", "offset")}},
        "status.storage.topic": f"{group}-status",
        **{f"{each}.converter": f"{converter}" for each in kinds},
        **_allowed(_config(spec, place)),
        **dict(_named(resource, spec)),
        "bootstrap.servers": required_in(spec, "bootstrapServers", place),
    }
    for key, value in client_settings(spec, resource.namespace, place).items():
        for client in CLIENTS:
            _require_agreed(settings, client + key, value, place)
            settings[client + key] = value
    if resource.spec.get("rack") is not None:
        settings[RACK] = "${strimzidir:/opt/kafka/init:rack.id}"
    return settings


def _named(resource: StrimziResource, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Group ID and topics by their own fields, which v1 requires."""
    for field, key in FIELDS.items():
        if resource.api_version == API_VERSIONS[-1]:
            yield key, required_in(spec, field, resource.place)
        elif value := text_in(spec, field, resource.place):
            yield key, value


def _require_agreed(settings: Mapping[str, str], key: str, value: str, place: str) -> None:
    if settings.get(key, value) != value:
        raise ConfigError(
            f"{place}: config sets {key}, as tls and authentication do: which one wins depends on Strimzi's version",
            hint=f"take {key} out of config, or set it for each connector",
        )


def _worker_spec(resource: StrimziResource) -> Mapping[str, Any]:
    """The part of the spec that describes the Kafka cluster of the workers."""
    if resource.kind == KAFKA_CONNECT:
        return resource.spec
    if "target" in resource.spec:
        return mapping_in(resource.spec, "target", resource.place)
    alias = text_in(resource.spec, "connectCluster", resource.place)
    if alias is None:
        raise ConfigError(f"{resource.place} has neither target nor connectCluster")
    return _cluster(resource, alias)


def _cluster(resource: StrimziResource, alias: str) -> Mapping[str, Any]:
    for each in mappings_in(resource.spec, "clusters", resource.place):
        if each.get("alias") == alias:
            return each
    raise ConfigError(f"{resource.place} names cluster {alias}, which is not among its clusters")


def _config(spec: Mapping[str, Any], place: str) -> dict[str, str]:
    config = mapping_in(spec, "config", place)
    return {str(key): option_text(str(key), value, f"{place}: config") for key, value in config.items()}


def _allowed(config: Mapping[str, str]) -> dict[str, str]:
    """Without the options that the operator leaves out (AbstractConfiguration.filterForbidden)."""
    return {key: value for key, value in config.items() if key in ALLOWED or not key.lower().startswith(FORBIDDEN)}


def kafka_connectors(resources: Sequence[StrimziResource]) -> Iterator[tuple[StrimziResource, dict[str, str]]]:
    """Each KafkaConnector with its config, `name` and `connector.class` included."""
    for each in resources:
        if each.kind == KAFKA_CONNECTOR:
            yield each, _connector(each.spec, each.name, text_in(each.spec, "class", each.place), each.place)


def _connector(spec: Mapping[str, Any], name: str, class_name: str | None, place: str) -> dict[str, str]:
    config = {key: value for key, value in _config(spec, place).items() if key.lower() not in OF_CONNECTORS}
    tasks_max, version = spec.get("tasksMax"), text_in(spec, "version", place)
    return {
        **config,
        "name": name,
        **({} if class_name is None else {"connector.class": class_name}),
        **({} if tasks_max is None else {"tasks.max": str(tasks_max)}),
        **({} if version is None else {"connector.plugin.version": version}),
    }


def connectors_beside(resource: StrimziResource, resources: Sequence[StrimziResource]) -> Iterator[dict[str, str]]:
    """The connectors of this Connect cluster in its own file: those of MirrorMaker 2, or KafkaConnectors."""
    if resource.kind == KAFKA_MIRROR_MAKER_2:
        yield from _mirrors(resource)
        return
    for connector, config in kafka_connectors(resources):
        if connector.labels.get(CLUSTER_LABEL) == resource.name:
            yield config


def _mirrors(resource: StrimziResource) -> Iterator[dict[str, str]]:
    mirrors = mappings_in(resource.spec, "mirrors", resource.place)
    for name, (at, field), spec in mirror_connectors(resource):
        place = f"{resource.place}: {name}: {field}"
        own = _connector(spec, name, f"org.apache.kafka.connect.mirror.{MIRRORS[field]}", place)
        yield _mirror(resource, mirrors[at], _sides(resource, mirrors[at]), own)


def mirror_connectors(resource: StrimziResource) -> Iterator[tuple[str, tuple[int, str], Mapping[str, Any]]]:
    """Name, place among spec.mirrors and spec of each connector of a KafkaMirrorMaker2."""
    for at, mirror in enumerate(mappings_in(resource.spec, "mirrors", resource.place)):
        source, target = _sides(resource, mirror)
        names = f"{required_in(source, 'alias', resource.place)}->{required_in(target, 'alias', resource.place)}"
        for field, class_name in MIRRORS.items():
            if mirror.get(field) is not None:
                yield f"{names}.{class_name}", (at, field), mapping_in(mirror, field, f"{resource.place}: {names}")


def _sides(resource: StrimziResource, mirror: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if "target" in resource.spec:
        return mapping_in(mirror, "source", resource.place), _worker_spec(resource)
    source, target = (required_in(mirror, f"{side}Cluster", resource.place) for side in ("source", "target"))
    return _cluster(resource, source), _cluster(resource, target)


def _mirror(
    resource: StrimziResource,
    mirror: Mapping[str, Any],
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    own: Mapping[str, str],
) -> dict[str, str]:
    place = f"{resource.place}: {own['name']}"
    clusters: dict[str, str] = {}
    for side, spec in zip(("source", "target"), sides, strict=True):
        settings = {
            "alias": required_in(spec, "alias", place),
            "bootstrap.servers": required_in(spec, "bootstrapServers", place),
            **client_settings(spec, resource.namespace, place),
            **_config(spec, place),
        }
        clusters |= {f"{side}.cluster.{key}": value for key, value in settings.items()}
    different = [key for key, value in own.items() if clusters.get(key, value) != value]
    if different and "target" not in resource.spec:
        raise ConfigError(
            f"{place}: {different[0]} is set for the connector and by its cluster: which one wins depends on Strimzi's "
            "version",
            hint="set it in one place",
        )
    patterns = {option: value for field, option in PATTERNS.items() if (value := text_in(mirror, field, place))}
    rack = (
        {} if resource.spec.get("rack") is None else {RACK: f"${{strimzifile:/tmp/strimzi-connect.properties:{RACK}}}"}
    )
    return {**clusters, **own, **patterns, **rack}


def certificate_subjects(resources: Sequence[StrimziResource]) -> dict[str, str]:
    """The subjects of certificates in Secrets, by the reference to the certificate.

    The User Operator issues the certificate of a KafkaUser that authenticates with tls: CN is the user's name, and the
    Secret is called as the user, unless the operator was started with a prefix (KafkaUserModel.generateSecret).
    """
    users = (each for each in resources if each.kind == KAFKA_USER)
    return {
        secret_reference(each.namespace, each.name, "user.crt"): f"CN={each.name}"
        for each in users
        if mapping_in(each.spec, "authentication", each.place).get("type") == "tls"
    }
