"""Strimzi's resources in a file: YAML of one or several documents, or what `kubectl get -o yaml|json` prints."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from eosctl.codecs.offsets_topic import encode_kip875
from eosctl.codecs.yaml_text import (
    Address,
    address_of,
    append_document,
    append_items,
    decode_kubernetes_yaml,
    remove_value,
    resource_text,
    scalar_at,
    set_value,
)
from eosctl.errors import ConfigError
from eosctl.late_pattern import late_pattern
from eosctl.model.acl_plan import SIMPLE, acl_rules, kafka_user, principal_of, says, user_name
from eosctl.model.acls import AclBinding
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.strimzi import (
    API_GROUP,
    API_VERSIONS,
    CLUSTER_LABEL,
    KAFKA_CONNECT,
    KAFKA_CONNECTOR,
    KAFKA_MIRROR_MAKER_2,
    KAFKA_USER,
    RUNNING,
    StrimziResource,
    in_file_name,
)

_YAML_KEYS: Final = (late_pattern(r"^apiVersion[ \t]*:", re.MULTILINE), late_pattern(r"^kind[ \t]*:", re.MULTILINE))
_JSON_KEYS: Final = (late_pattern(r'"apiVersion"\s*:\s*"'), late_pattern(r'"kind"\s*:\s*"'))
_TEMPLATE: Final = late_pattern(
    r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|\$|/\*"
    r"|(?:include|tpl|template|toYaml|if|else|range|with|define|block|end)\b)"
)
RENDER: Final = "render it first: helm template RELEASE CHART > resources.yaml"


def is_resource(text: str) -> bool:
    """True if the text holds Kubernetes resources, and neither properties nor a connector's config."""
    start = text.lstrip()
    keys = _JSON_KEYS if start.startswith("{") and not start.startswith("{{") else _YAML_KEYS
    return all(key.search(text) for key in keys)


def decode_resources(text: str, origin: str) -> tuple[StrimziResource, ...]:
    """Strimzi's resources in the text of file `origin`, in order; other API groups are left out.

    1. Documents are separated by `---`; a `List`, as kubectl prints several, stands for its items.
    2. Templates of Helm are no YAML, and their values are unknown here: they are refused.
    3. An API version of Strimzi's that is not known is refused: its fields may mean something else. So is a resource
       that is there twice.

    Raises ConfigError naming file and resource.
    """
    template = _TEMPLATE.search(text)
    if template is not None:
        line = text.count("\n", 0, template.start()) + 1
        raise ConfigError(f"{origin}: line {line}: this is a template of Helm, not a resource", hint=RENDER)
    documents = decode_kubernetes_yaml(text, origin)
    found = tuple(_resource(each, origin) for each in _items(documents, origin) if _is_strimzis(each))
    for (kind, _, name), count in Counter((each.kind, each.namespace, each.name) for each in found).items():
        if count > 1:
            raise ConfigError(f"{origin} holds {kind} {name} {count} times", hint="which one counts is not known here")
    return found


def _items(documents: Iterable[object], origin: str) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict):
            raise ConfigError(f"{origin} holds {type(document).__name__} where a resource is expected")
        if document.get("kind") == "List" or "items" in document:
            yield from _items(_list(document.get("items"), f"{origin}: items"), origin)
        else:
            yield document


def _is_strimzis(document: Mapping[str, Any]) -> bool:
    return str(document.get("apiVersion", "")).partition("/")[0] == API_GROUP


def _resource(document: Mapping[str, Any], origin: str) -> StrimziResource:
    kind, api_version = str(document.get("kind", "")), str(document["apiVersion"])
    metadata = mapping_in(document, "metadata", f"{origin} ({kind})")
    name = str(metadata.get("name") or "")
    place = f"{origin} ({kind} {name})"
    if api_version not in API_VERSIONS:
        raise ConfigError(
            f"{place} has apiVersion {api_version}; known are {', '.join(API_VERSIONS)}",
            hint="kubectl get prints resources in a version that the cluster serves",
        )
    if not name:
        raise ConfigError(f"{place} has no metadata.name")
    status = mapping_in(document, "status", place)
    return StrimziResource(
        kind=kind,
        name=name,
        api_version=api_version,
        origin=origin,
        namespace=text_in(metadata, "namespace", place),
        labels=_texts(mapping_in(metadata, "labels", place)),
        annotations=_texts(mapping_in(metadata, "annotations", place)),
        spec=mapping_in(document, "spec", place),
        generation=_number(metadata.get("generation")),
        observed_generation=_number(status.get("observedGeneration")),
    )


def mapping_in(values: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    """The mapping at `key`, empty where there is none; ConfigError where it is something else."""
    value = values.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: {key} is {type(value).__name__}, not a mapping")
    return value


def mappings_in(values: Mapping[str, Any], key: str, place: str) -> list[Mapping[str, Any]]:
    """The mappings in the list at `key`; ConfigError where it is something else."""
    found = _list(values.get(key), f"{place}: {key}")
    for each in found:
        if not isinstance(each, dict):
            raise ConfigError(f"{place}: {key} holds {type(each).__name__}, not a mapping")
    return found


def text_in(values: Mapping[str, Any], key: str, place: str) -> str | None:
    """The text at `key`; None if there is none; ConfigError for any other value."""
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{place}: {key} is {type(value).__name__}, not text", hint="put it in quotes")
    return value


def required_in(values: Mapping[str, Any], key: str, place: str) -> str:
    """The text at `key`; ConfigError where there is none."""
    value = text_in(values, key, place)
    if not value:
        raise ConfigError(f"{place} has no {key}")
    return value


def _list(value: object, place: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ConfigError(f"{place} is {type(value).__name__}, not a list")
    return value


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


# Client settings that Strimzi's operator makes of the `tls` and `authentication` of a resource.
#
# 1. `tls` makes SSL of PLAINTEXT, authentication with SASL adds it: SASL_SSL or SASL_PLAINTEXT.
# 2. A user name stands in the resource. Passwords, keys and tokens are in Secrets, and stay references to the
#    operator's config provider: `${strimzisecrets:NAMESPACE/SECRET:KEY}` (KubernetesSecretConfigProvider). Before
#    Strimzi 0.46 the operator mounts the same Secrets as files.
#
# By KafkaConnectConfigurationBuilder.withTls and withAuthentication and
# KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig.


PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
MECHANISMS: Final = {
    "plain": ("PLAIN", PLAIN),
    "scram-sha-256": ("SCRAM-SHA-256", SCRAM),
    "scram-sha-512": ("SCRAM-SHA-512", SCRAM),
}
OAUTH_OPTIONS: Final = {
    "clientId": "oauth.client.id",
    "username": "oauth.password.grant.username",
    "tokenEndpointUri": "oauth.token.endpoint.uri",
    "scope": "oauth.scope",
    "audience": "oauth.audience",
}
OAUTH_SECRETS: Final = {
    "clientSecret": ("oauth.client.secret", "key"),
    "refreshToken": ("oauth.refresh.token", "key"),
    "accessToken": ("oauth.access.token", "key"),
    "passwordSecret": ("oauth.password.grant.password", "password"),
    "clientAssertion": ("oauth.client.assertion", "key"),
}
CUSTOM_PREFIXES: Final = ("sasl.", "ssl.keystore.")
"""The settings that `type: custom` may have (KafkaClientAuthenticationCustom.ALLOWED_PREFIXES)."""
PROPERTIES: Final = "since Strimzi 0.46 the ConfigMap <name>-connect-config has the worker's properties: give these"
CHAIN: Final = "ssl.keystore.certificate.chain"


def client_settings(cluster: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    """The settings of a client of the Kafka cluster that this spec describes; ConfigError for missing fields."""
    settings: dict[str, str] = {}
    sasl = False
    if cluster.get("authentication") is not None:
        place = f"{place}: authentication"
        settings, sasl = _authentication(mapping_in(cluster, "authentication", place), namespace, place)
    tls = cluster.get("tls") is not None
    protocol = ("SASL_SSL" if tls else "SASL_PLAINTEXT") if sasl else "SSL" if tls else "PLAINTEXT"
    return {"security.protocol": protocol, **settings}


def secret_reference(namespace: str | None, secret: str, key: str) -> str:
    return f"${{strimzisecrets:{secret if namespace is None else f'{namespace}/{secret}'}:{key}}}"


def _authentication(given: Mapping[str, Any], namespace: str | None, place: str) -> tuple[dict[str, str], bool]:
    kind = required_in(given, "type", place)
    if kind == "tls":
        return _certificate(given, namespace, place), False
    if kind == "custom":
        return _custom(given, place), given.get("sasl") is True
    if kind == "oauth":
        return _login("OAUTHBEARER", OAUTH, _oauth(given, namespace, place)), True
    if kind not in MECHANISMS:
        known = ", ".join((*MECHANISMS, "tls", "oauth", "custom"))
        raise ConfigError(f"{place} is of type {kind}; known are {known}", hint=PROPERTIES)
    mechanism, module = MECHANISMS[kind]
    options = {
        "username": required_in(given, "username", place),
        "password": _secret(given, "passwordSecret", "password", namespace, place),
    }
    return _login(mechanism, module, options), True


def _certificate(given: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    return {
        CHAIN: _secret(given, "certificateAndKey", "certificate", namespace, place),
        "ssl.keystore.key": _secret(given, "certificateAndKey", "key", namespace, place),
        "ssl.keystore.type": "PEM",
    }


def _custom(given: Mapping[str, Any], place: str) -> dict[str, str]:
    config = mapping_in(given, "config", place)
    return {key: option_text(key, value, place) for key, value in config.items() if key.startswith(CUSTOM_PREFIXES)}


def _oauth(given: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    named = {option: text_in(given, key, place) for key, option in OAUTH_OPTIONS.items()}
    secrets = {
        option: _secret(given, key, part, namespace, place)
        for key, (option, part) in OAUTH_SECRETS.items()
        if given.get(key) is not None
    }
    return {option: value for option, value in named.items() if value} | secrets


def _secret(given: Mapping[str, Any], key: str, part: str, namespace: str | None, place: str) -> str:
    source = mapping_in(given, key, place)
    if not source:
        raise ConfigError(f"{place} has no {key}")
    place = f"{place}: {key}"
    return secret_reference(namespace, required_in(source, "secretName", place), required_in(source, part, place))


def _login(mechanism: str, module: str, options: Mapping[str, str]) -> dict[str, str]:
    quoted = "".join(f' {name}="{_quote(value)}"' for name, value in options.items())
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required{quoted};"}


def _quote(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def option_text(key: str, value: object, place: str) -> str:
    """A value of a `config` as the operator hands it on (OrderedProperties.addIterablePairs).

    Raises ConfigError for what the operator refuses, and for numbers that YAML, JSON and Java write differently.
    """
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() if -(1 << 63) <= value < 1 << 63:
            return str(value)
        case float() if 0.001 <= abs(value) < 1e7 and not value.is_integer():
            return repr(value)
        case int() | float():
            raise ConfigError(
                f"{place}: {key} is {value}, which may be written in another way", hint="put it in quotes"
            )
        case None:
            raise ConfigError(f"{place}: {key} has no value, which the operator refuses", hint="leave it out")
        case _:
            raise ConfigError(
                f"{place}: {key} is {type(value).__name__}, which the operator refuses", hint="write text"
            )


# KafkaConnect, KafkaMirrorMaker2 and KafkaConnector as the settings that Strimzi's operator makes of them.
#
# 1. A worker has the operator's defaults, then `spec.config` without forbidden options, then the settings for
#    `bootstrapServers`, `tls`, `authentication` and `rack`. The last also apply to the clients of connectors.
# 2. Group ID and topics are fields of their own in v1; in v1beta2 they are options of `config`, with defaults.
# 3. KafkaMirrorMaker2 is a Connect cluster on the target with connectors `SOURCE->TARGET.Mirror…Connector`, each with
#    both clusters' settings: no dedicated MirrorMaker. v1beta2 lists `clusters` and names them, v1 has them in place.
# 4. A KafkaConnector is called as its resource; `class` and `tasksMax` win over its config.
#
# By KafkaConnectCluster.fromSpec, KafkaMirrorMaker2Cluster.fromCrd, KafkaMirrorMaker2Connectors and
# AbstractConnectOperator.needsReconfiguring of Strimzi 0.45, 0.48 and 1.2.


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
    """The one KafkaConnect or KafkaMirrorMaker2 of a file; ConfigError if there is none, or several."""
    found = [each for each in resources if each.kind in DEFAULTS]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{each.kind} {each.name}" for each in found)
        raise ConfigError(f"{origin} holds {len(found)} Connect clusters: {names}", hint="give each its own file")
    kinds = ", ".join(sorted({each.kind for each in resources})) or "no resource of Strimzi's"
    raise ConfigError(
        f"{origin} holds neither KafkaConnect nor KafkaMirrorMaker2 ({kinds})",
        hint="KafkaConnectors are for --connector-config",
    )


def worker_settings(resource: StrimziResource) -> dict[str, str]:
    spec, place = _worker_spec(resource), resource.place
    group, converter, kinds = DEFAULTS[resource.kind]
    settings = {
        **{"group.id": group, **{f"{each}.storage.topic": f"{group}-{each}s" for each in ("config", "offset")}},
        "status.storage.topic": f"{group}-status",
        **{f"{each}.converter": f"{converter}" for each in kinds},
        **_allowed(_config(spec, place)),
        **dict(_named_fields(resource, spec)),
        "bootstrap.servers": required_in(spec, "bootstrapServers", place),
    }
    for key, value in client_settings(spec, resource.namespace, place).items():
        for client in CLIENTS:
            _require_agreed(settings, client + key, value, place)
            settings[client + key] = value
    if resource.spec.get("rack") is not None:
        settings[RACK] = "${strimzidir:/opt/kafka/init:rack.id}"
    return settings


def _named_fields(resource: StrimziResource, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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
    """The connectors of this Connect cluster in its own file: MirrorMaker 2's, or KafkaConnectors."""
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

    The User Operator issues the certificate of a KafkaUser that authenticates with tls: CN is the user's name. The
    Secret has the user's name, unless the operator was started with a prefix (KafkaUserModel.generateSecret).
    """
    users = (each for each in resources if each.kind == KAFKA_USER)
    return {
        secret_reference(each.namespace, each.name, "user.crt"): f"CN={each.name}"
        for each in users
        if mapping_in(each.spec, "authentication", each.place).get("type") == "tls"
    }


# A connector of Strimzi's in a file, with another state, config, name or cluster, as a resource to apply.
#
# 1. A KafkaConnector describes one connector. A KafkaMirrorMaker2 describes its own, at spec.mirrors[].sourceConnector
#    and so on, which have state, config, listOffsets and alterOffsets as KafkaConnectors have.
# 2. Of the connectors of a KafkaMirrorMaker2 an annotation names the one whose offsets are meant; the entry of its
#    ConfigMap is called as the connector, with `--` for `->`.
#
# By KafkaMirrorMaker2AssemblyOperator.getConnectorOffsetsOperation and getConnectorOffsetsConfigMapEntryKey.


HERE: Final = Address(0)
OFFSETS_ANNOTATION: Final = ("metadata", "annotations", "strimzi.io/connector-offsets")
CONNECTOR_ANNOTATION: Final = ("metadata", "annotations", "strimzi.io/mirrormaker-connector")
OFFSETS_ENTRY: Final = "offsets.json"
"""The entry of a ConfigMap with the offsets of a KafkaConnector, as Connect's REST interface has them (KIP-875)."""
OF_THE_SERVER: Final[tuple[tuple[str, ...], ...]] = (
    *(("status",), ("metadata", "uid"), ("metadata", "resourceVersion"), ("metadata", "generation")),
    *(("metadata", "creationTimestamp"), ("metadata", "managedFields"), ("metadata", "selfLink")),
)
"""Fields that `kubectl get` prints and `kubectl apply` refuses, or would compare."""


class Home(NamedTuple):
    """The description of a connector: the resource, the path to its part of it, and its state there."""

    kind: str
    resource: str
    path: tuple[str | int, ...]
    state: str


def connector_homes(text: str, origin: str) -> dict[str, Home]:
    """The description of each connector in the text of file `origin`, by name.

    Its state is running if it is not set. The older `pause: true` is `paused`.
    """
    return dict(_homes(text, origin))


def _homes(text: str, origin: str) -> Iterator[tuple[str, Home]]:
    for each in decode_resources(text, origin):
        if each.kind == KAFKA_CONNECTOR:
            if CLUSTER_LABEL not in each.labels:
                raise ConfigError(
                    f"{each.place} has no label {CLUSTER_LABEL}: no operator acts on it",
                    hint="it names the KafkaConnect that runs the connector",
                )
            yield each.name, Home(each.kind, each.name, ("spec",), _state(each.spec))
        elif each.kind == KAFKA_MIRROR_MAKER_2:
            for name, place, spec in mirror_connectors(each):
                yield name, Home(each.kind, each.name, ("spec", "mirrors", *place), _state(spec))


def _state(spec: Mapping[str, object]) -> str:
    return str(spec.get("state") or ("paused" if spec.get("pause") is True else RUNNING))


def changed_connector(
    text: str,
    name: str,
    *,
    state: str,
    settings: Mapping[str, str | None],
    new_name: str | None = None,
    new_cluster: str | None = None,
) -> str:
    """The changed resource of connector `name` as a separate text; its comments stay.

    A setting of None is removed; new_cluster is the KafkaConnect that its label names then. Raises ConfigError if the
    text cannot be edited so.
    """
    home = connector_homes(text, name)[name]
    own = resource_text(text, address_of(text, home.kind, home.resource))
    for path in OF_THE_SERVER:
        own = remove_value(own, HERE, path)
    own = set_value(own, HERE, (*home.path, "state"), state)
    for key, value in settings.items():
        place = (*home.path, "config", key)
        own = remove_value(own, HERE, place) if value is None else set_value(own, HERE, place, value)
    if new_cluster is not None:
        own = set_value(own, HERE, ("metadata", "labels", CLUSTER_LABEL), new_cluster)
    return own if new_name is None else set_value(own, HERE, ("metadata", "name"), new_name)


def altering_connector(text: str, name: str, offsets: Iterable[ConnectorOffset]) -> str:
    """The resource in the text, whose connector `name` is STOPPED, with a ConfigMap of offsets to alter them to.

    The operator has a worker alter them (PATCH /connectors/C/offsets) and removes the annotation.
    """
    home = connector_homes(text, name)[name]
    namespace, config_map = scalar_at(text, HERE, ("metadata", "namespace")), f"{home.resource}-offsets"
    entry = OFFSETS_ENTRY if home.kind == KAFKA_CONNECTOR else f"{in_file_name(name)}.json"
    return append_document(
        _annotated(
            set_value(text, HERE, (*home.path, "alterOffsets", "fromConfigMap", "name"), config_map),
            home,
            name,
            "alter",
        ),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": config_map, **({"namespace": namespace} if namespace else {})},
            "data": {entry: encode_kip875(offsets)},
        },
    )


def listing_connector(text: str, name: str) -> str:
    """The resource in the text; the operator writes the offsets of its connector `name` to a ConfigMap: a backup."""
    home = connector_homes(text, name)[name]
    config_map = f"{home.resource}-offsets-before"
    return _annotated(
        set_value(text, HERE, (*home.path, "listOffsets", "toConfigMap", "name"), config_map), home, name, "list"
    )


def _annotated(text: str, home: Home, name: str, operation: str) -> str:
    text = set_value(text, HERE, OFFSETS_ANNOTATION, operation)
    return text if home.kind == KAFKA_CONNECTOR else set_value(text, HERE, CONNECTOR_ANNOTATION, name)


AUTHORIZATION: Final = ("spec", "authorization")


def merge_kafka_users(text: str, origin: str, wanted: Mapping[str, Sequence[AclBinding]], cluster: str) -> str:
    """The text of file `origin` with these bindings, by principal; a missing KafkaUser is added at the end.

    1. Nothing is removed: neither an unnecessary rule, nor one that denies.
    2. A user is found by its name, and must have the principal: CN=NAME for a user with a certificate.

    Raises ConfigError for a user of another principal or another authorization, for a rule that denies a needed
    operation, and as `decode_resources`.
    """
    users = {each.name: each for each in decode_resources(text, origin) if each.kind == KAFKA_USER}
    added = []
    for principal, bindings in wanted.items():
        user = users.get(user_name(principal))
        if user is None:
            added.append(kafka_user(principal, bindings, cluster))
        else:
            text = _with_rules(text, user, principal, bindings)
    for document in added:
        document["apiVersion"] = next((each.api_version for each in users.values()), document["apiVersion"])
        text = append_document(text, document)
    return text


def _with_rules(text: str, user: StrimziResource, principal: str, bindings: Sequence[AclBinding]) -> str:
    authentication = mapping_in(user.spec, "authentication", user.place)
    actual = principal_of(user.name, text_in(authentication, "type", user.place))
    if actual != principal:
        raise ConfigError(
            f"{user.place} is {actual} by its authentication, and the ACLs are for {principal}",
            hint="correct its authentication, or name the principal with --principal",
        )
    authorization = mapping_in(user.spec, "authorization", user.place)
    if authorization.get("type", SIMPLE) != SIMPLE:
        raise ConfigError(f"{user.place} has authorization of type {authorization['type']}; known is {SIMPLE}")
    rules = mappings_in(authorization, "acls", user.place)
    for each in bindings:
        if any(rule.get("type") == "deny" and says(rule, each) for rule in rules):
            raise ConfigError(f"{user.place} denies {each.operation} on {each.pattern}", hint="remove that rule first")
    missing = [each for each in bindings if not any(says(rule, each) for rule in rules)]
    if not missing:
        return text
    address = address_of(text, user.kind, user.name)
    text = append_items(text, address, (*AUTHORIZATION, "acls"), acl_rules(missing))
    return text if "type" in authorization else set_value(text, address, (*AUTHORIZATION, "type"), SIMPLE)
