"""Strimzi's custom resources, as far as they decide about Kafka Connect."""

from collections.abc import Mapping
from typing import ClassVar, Final

from msgspec import Struct, field

from eosctl.model.hidden_fields import HiddenFields

API_GROUP: Final = "kafka.strimzi.io"
API_VERSIONS: Final = (f"{API_GROUP}/v1beta2", f"{API_GROUP}/v1")
"""v1beta2 up to Strimzi 0.51, v1 since 0.49."""
KAFKA_CONNECT: Final = "KafkaConnect"
KAFKA_MIRROR_MAKER_2: Final = "KafkaMirrorMaker2"
KAFKA_CONNECTOR: Final = "KafkaConnector"
KAFKA_USER: Final = "KafkaUser"
CLUSTER_LABEL: Final = "strimzi.io/cluster"
"""On a KafkaConnector the name of its KafkaConnect, on a KafkaUser the name of its Kafka."""
USE_CONNECTOR_RESOURCES: Final = "strimzi.io/use-connector-resources"
"""Annotation of a KafkaConnect: without it the operator leaves connectors alone, and REST is the way."""
DEFAULT_REPLICAS: Final = 3


class StrimziResource(HiddenFields, frozen=True):
    """One custom resource and its file; its repr does not show the spec, which may hold passwords.

    generation is the spec's, observed_generation the one that the operator has carried out; None if the resource does
    not come from a Kubernetes API server.
    """

    hidden: ClassVar = ("spec",)

    kind: str
    name: str
    api_version: str
    origin: str
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, object] = field(default_factory=dict)
    generation: int | None = None
    observed_generation: int | None = None

    @property
    def place(self) -> str:
        return f"{self.origin} ({self.kind} {self.name})"

    @property
    def replicas(self) -> int:
        given = self.spec.get("replicas")
        return given if isinstance(given, int) else DEFAULT_REPLICAS

    @property
    def manages_connectors(self) -> bool:
        """Whether the operator reverts changes made over REST to the connectors of this Connect cluster."""
        if self.kind == KAFKA_MIRROR_MAKER_2:
            return True
        return self.annotations.get(USE_CONNECTOR_RESOURCES, "").lower() == "true"

    @property
    def is_carried_out(self) -> bool:
        """True if the resource reports that the operator has carried out this version of the spec."""
        return self.observed_generation is None or self.generation in {None, self.observed_generation}


# Connectors that Strimzi's operator manages by their resources: it reverts other changes.


STOPPED = "stopped"
RUNNING = "running"
"""Values of spec.state; a connector whose resource has none runs."""
STOP_BY_RESOURCE: Final = "set state: stopped in its resource; --stop with --emit strimzi writes that, and waits for it"


class OperatedConnectors(Struct, frozen=True):
    """The connectors under an operator: all of them, or those whose resources were given (by name, with their state).

    mirrors are those of a KafkaMirrorMaker2, with its name. directory is the absolute path for changed resources; None:
    not requested. to_cluster is the KafkaConnect that the resources name after a move to another Connect cluster.
    """

    every: bool = False
    states: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    to_cluster: str | None = None

    def has(self, connector: str) -> bool:
        return self.every or connector in self.states

    def resource(self, connector: str) -> str:
        mirror = self.mirrors.get(connector)
        return "its KafkaConnector" if mirror is None else f"KafkaMirrorMaker2 {mirror}"

    def file(self, connector: str, change: str) -> str:
        return f"{self.directory}/{in_file_name(connector)}.{change}.yaml"


def in_file_name(connector: str) -> str:
    """The connector's name without `->`, as Strimzi writes MirrorMaker 2's connectors in file names."""
    return connector.replace("->", "--")
