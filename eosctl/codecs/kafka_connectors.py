"""A KafkaConnector in a file, with another state, config or name, as a resource to apply."""

from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.codecs.kip875 import encode_kip875
from eosctl.codecs.strimzi_resources import decode_resources
from eosctl.codecs.yaml_edits import (
    Address,
    address_of,
    append_document,
    remove_value,
    resource_text,
    scalar_at,
    set_value,
)
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.operated import RUNNING
from eosctl.model.strimzi import KAFKA_CONNECTOR

HERE: Final = Address(0)
OFFSETS_ANNOTATION: Final = ("metadata", "annotations", "strimzi.io/connector-offsets")
OFFSETS_ENTRY: Final = "offsets.json"
"""The entry of a ConfigMap with the offsets of a KafkaConnector, as Connect's REST interface has them (KIP-875)."""
OF_THE_SERVER: Final[tuple[tuple[str, ...], ...]] = (
    *(("status",), ("metadata", "uid"), ("metadata", "resourceVersion"), ("metadata", "generation")),
    *(("metadata", "creationTimestamp"), ("metadata", "managedFields"), ("metadata", "selfLink")),
)
"""What `kubectl get` prints and `kubectl apply` does not take, or would compare."""


def resource_states(text: str, origin: str) -> dict[str, str]:
    """spec.state of each KafkaConnector in the text of file `origin`, by name; running where it is not set.

    The older `pause: true` is `paused`.
    """
    found = (each for each in decode_resources(text, origin) if each.kind == KAFKA_CONNECTOR)
    return {
        each.name: str(each.spec.get("state") or ("paused" if each.spec.get("pause") is True else RUNNING))
        for each in found
    }


def changed_connector(
    text: str, name: str, *, state: str, settings: Mapping[str, str | None], new_name: str | None = None
) -> str:
    """The KafkaConnector `name` of the text as a resource of its own, changed; its comments stay.

    A setting of None is taken away. Raises ConfigError where the text cannot be edited so.
    """
    own = resource_text(text, address_of(text, KAFKA_CONNECTOR, name))
    for path in OF_THE_SERVER:
        own = remove_value(own, HERE, path)
    own = set_value(own, HERE, ("spec", "state"), state)
    for key, value in settings.items():
        place = ("spec", "config", key)
        own = remove_value(own, HERE, place) if value is None else set_value(own, HERE, place, value)
    return own if new_name is None else set_value(own, HERE, ("metadata", "name"), new_name)


def altering_connector(text: str, offsets: Iterable[ConnectorOffset]) -> str:
    """The KafkaConnector of the text, which is STOPPED, with a ConfigMap of offsets that the operator alters them to.

    The operator has a worker alter them (PATCH /connectors/C/offsets) and removes the annotation.
    """
    name, namespace = (scalar_at(text, HERE, ("metadata", key)) for key in ("name", "namespace"))
    config_map = f"{name}-offsets"
    text = set_value(text, HERE, ("spec", "alterOffsets", "fromConfigMap", "name"), config_map)
    return append_document(
        set_value(text, HERE, OFFSETS_ANNOTATION, "alter"),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": config_map, **({"namespace": namespace} if namespace else {})},
            "data": {OFFSETS_ENTRY: encode_kip875(offsets)},
        },
    )


def listing_connector(text: str) -> str:
    """The KafkaConnector of the text, whose offsets the operator writes to a ConfigMap: a backup."""
    name = scalar_at(text, HERE, ("metadata", "name"))
    text = set_value(text, HERE, ("spec", "listOffsets", "toConfigMap", "name"), f"{name}-offsets-before")
    return set_value(text, HERE, OFFSETS_ANNOTATION, "list")
