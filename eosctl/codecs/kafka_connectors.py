"""A KafkaConnector in a file, with another state, config or name, as a resource to apply."""

from collections.abc import Mapping
from typing import Final

from eosctl.codecs.strimzi_resources import decode_resources
from eosctl.codecs.yaml_edits import Address, address_of, remove_value, resource_text, set_value
from eosctl.model.operated import RUNNING
from eosctl.model.strimzi import KAFKA_CONNECTOR

HERE: Final = Address(0)
OF_THE_SERVER: Final[tuple[tuple[str, ...], ...]] = (
    *(("status",), ("metadata", "uid"), ("metadata", "resourceVersion"), ("metadata", "generation")),
    *(("metadata", "creationTimestamp"), ("metadata", "managedFields"), ("metadata", "selfLink")),
)
"""What `kubectl get` prints and `kubectl apply` does not take, or would compare."""


def connector_states(text: str, origin: str) -> dict[str, str]:
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
