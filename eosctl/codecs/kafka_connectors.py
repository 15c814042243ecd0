"""A connector of Strimzi's in a file, with another state, config, name or cluster, as a resource to apply.

1. A KafkaConnector describes one connector. A KafkaMirrorMaker2 describes its own, at spec.mirrors[].sourceConnector
   and so on, which have state, config, listOffsets and alterOffsets as KafkaConnectors have.
2. Of the connectors of a KafkaMirrorMaker2 an annotation names the one whose offsets are meant; the entry of its
   ConfigMap is called as the connector, with `--` for `->`.

By KafkaMirrorMaker2AssemblyOperator.getConnectorOffsetsOperation and getConnectorOffsetsConfigMapEntryKey.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from eosctl.codecs.kip875 import encode_kip875
from eosctl.codecs.strimzi_connect import mirror_connectors
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
from eosctl.errors import ConfigError
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.operated import RUNNING, in_file_name
from eosctl.model.strimzi import CLUSTER_LABEL, KAFKA_CONNECTOR, KAFKA_MIRROR_MAKER_2

HERE: Final = Address(0)
OFFSETS_ANNOTATION: Final = ("metadata", "annotations", "strimzi.io/connector-offsets")
CONNECTOR_ANNOTATION: Final = ("metadata", "annotations", "strimzi.io/mirrormaker-connector")
OFFSETS_ENTRY: Final = "offsets.json"
"""The entry of a ConfigMap with the offsets of a KafkaConnector, as Connect's REST interface has them (KIP-875)."""
OF_THE_SERVER: Final[tuple[tuple[str, ...], ...]] = (
    *(("status",), ("metadata", "uid"), ("metadata", "resourceVersion"), ("metadata", "generation")),
    *(("metadata", "creationTimestamp"), ("metadata", "managedFields"), ("metadata", "selfLink")),
)
"""What `kubectl get` prints and `kubectl apply` does not take, or would compare."""


class Home(NamedTuple):
    """Where a connector is described: the resource, the path to its part of it, and its state there."""

    kind: str
    resource: str
    path: tuple[str | int, ...]
    state: str


def connector_homes(text: str, origin: str) -> dict[str, Home]:
    """Where each connector in the text of file `origin` is described, by name.

    Its state is running where it is not set. The older `pause: true` is `paused`.
    """
    return dict(_homes(text, origin))


def _homes(text: str, origin: str) -> Iterator[tuple[str, Home]]:
    for each in decode_resources(text, origin):
        if each.kind == KAFKA_CONNECTOR:
            if CLUSTER_LABEL not in each.labels:
                raise ConfigError(
                    f"{each.place} lacks the label {CLUSTER_LABEL}: no operator carries it out",
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
    """The resource of connector `name` as a text of its own, changed; its comments stay.

    A setting of None is taken away; new_cluster is the KafkaConnect that its label names then. Raises ConfigError where
    the text cannot be edited so.
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
