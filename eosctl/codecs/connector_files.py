"""Connector configs in files: for connectors that do not exist yet, or that nobody may ask for over REST.

JSON: an object of settings as `PUT /connectors/C/config` takes it, or `{"name": …, "config": {…}}` as
`POST /connectors` takes it, or a list of these. YAML or JSON of Kubernetes: Strimzi's KafkaConnectors. Anything else is
a Java properties file with a `name`, as standalone workers take it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256

from eosctl.codecs.json_limits import load_json
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.strimzi_connect import kafka_connectors
from eosctl.codecs.strimzi_resources import decode_resources, is_resource
from eosctl.errors import ConfigError
from eosctl.model.client_properties import REFERENCE, Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.strimzi import CLUSTER_LABEL


def decode_connectors(text: str, origin: str) -> tuple[ConnectorConfig, ...]:
    """The connectors in the text of file `origin`. Raises ConfigError for anything else."""
    if is_resource(text):
        return tuple(_operated(text, origin))
    if not text.lstrip().startswith(("{", "[")):
        return (connector_of(decode_properties(text, origin=origin), origin),)
    try:
        value = load_json(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise ConfigError(f"{origin} is not JSON at {where}: {error.msg}", hint="is the file cut?") from error
    entries = value if isinstance(value, list) else [value]
    return tuple(_entry(entry, origin) for entry in entries)


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
            hint="give the connectors of each a file of their own",
        )
    for resource, config in found:
        yield replace(connector_of(config, resource.place), connect_cluster=resource.labels.get(CLUSTER_LABEL))


def decode_connector(text: str, origin: str) -> dict[str, str]:
    """The settings of the one connector in the text of file `origin`, `name` among them; ConfigError for several."""
    connectors = decode_connectors(text, origin)
    if len(connectors) != 1:
        raise ConfigError(f"{origin} holds {len(connectors)} connectors, not one", hint="give each a file of its own")
    return {key: each.value for key, each in connectors[0].properties.items()}


def config_digest(settings: Mapping[str, str | None]) -> str:
    """What distinguishes this config from others; order and settings of null do not count."""
    given = {key: value for key, value in settings.items() if value is not None}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _entry(value: object, origin: str) -> ConnectorConfig:
    if not isinstance(value, dict):
        raise ConfigError(f"{origin} holds {type(value).__name__} where a connector's settings are expected")
    config = value.get("config", value)
    if not isinstance(config, dict):
        raise ConfigError(f"{origin}: config is {type(config).__name__}, not an object of settings")
    return connector_of({"name": value.get("name"), **config}, origin)


def connector_of(config: Mapping[str, object], origin: str, *, name: str | None = None) -> ConnectorConfig:
    """The connector with these settings; `name` where they do not have to have one.

    Raises ConfigError for a setting that is an object or a list, and where there is neither name nor connector.class.
    """
    settings = dict(_settings(config, origin))
    name = name if name is not None else _required(settings, "name", origin)
    _required(settings, "connector.class", f"{origin} (connector {name})")
    tasks_max = settings.get("tasks.max", "1").strip()
    if not (tasks_max.isascii() and tasks_max.isdigit()) and REFERENCE.fullmatch(tasks_max) is None:
        raise ConfigError(f"{origin}: tasks.max of connector {name} is {tasks_max!r}, not a whole number")
    return ConnectorConfig(name, {key: Property(value, f"{origin} {key}") for key, value in settings.items()})


def known_connector(config: Mapping[str, object], origin: str, name: str) -> ConnectorConfig:
    """A connector that a Connect cluster has, whatever its config holds: what is no text counts as not set."""
    told = {key: value for key, value in config.items() if isinstance(value, str | int | float)}
    return ConnectorConfig(name, {key: Property(value, f"{origin} {key}") for key, value in _settings(told, origin)})


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
                raise ConfigError(f"{origin}: setting {key} is {type(value).__name__}, not text")


def _required(settings: Mapping[str, str], key: str, origin: str) -> str:
    value = settings.get(key, "")
    if not value:
        raise ConfigError(f"{origin} has no {key}", hint="give the connector's config, as the REST interface takes it")
    return value
