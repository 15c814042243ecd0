"""Strimzi's resources in a file: YAML of one or several documents, or what `kubectl get -o yaml|json` prints."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from eosctl.codecs.strict_yaml import decode_kubernetes_yaml
from eosctl.errors import ConfigError
from eosctl.model.strimzi import API_GROUP, API_VERSIONS, StrimziResource

_YAML_KEYS: Final = (re.compile(r"^apiVersion[ \t]*:", re.MULTILINE), re.compile(r"^kind[ \t]*:", re.MULTILINE))
_JSON_KEYS: Final = (re.compile(r'"apiVersion"\s*:\s*"'), re.compile(r'"kind"\s*:\s*"'))
_TEMPLATE: Final = re.compile(
    r"\{\{-?\s*(?:\.(?:Values|Release|Chart|Capabilities|Files|Template)\b|\$|/\*"
    r"|(?:include|tpl|template|toYaml|if|else|range|with|define|block|end)\b)"
)
RENDER: Final = "render it first: helm template RELEASE CHART > resources.yaml"


def is_resource(text: str) -> bool:
    """Whether the text is that of Kubernetes' resources, and neither properties nor a connector's config."""
    start = text.lstrip()
    keys = _JSON_KEYS if start.startswith("{") and not start.startswith("{{") else _YAML_KEYS
    return all(key.search(text) for key in keys)


def decode_resources(text: str, origin: str) -> tuple[StrimziResource, ...]:
    """Strimzi's resources in the text of file `origin`, in order; those of other API groups are left out.

    1. Documents are separated by `---`; a `List`, as kubectl prints several, stands for its items.
    2. Templates of Helm are no YAML, and which values they get nobody knows here: they are refused.
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
    """The text at `key`; None where there is none; ConfigError where it is something else."""
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
