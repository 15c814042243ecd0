"""Strimzi's custom resources, as far as they decide about Kafka Connect."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

API_GROUP: Final = "kafka.strimzi.io"
API_VERSIONS: Final = (f"{API_GROUP}/v1beta2", f"{API_GROUP}/v1")
"""v1beta2 up to Strimzi 0.51, v1 since 0.49."""
KAFKA_CONNECT: Final = "KafkaConnect"
KAFKA_MIRROR_MAKER_2: Final = "KafkaMirrorMaker2"
KAFKA_CONNECTOR: Final = "KafkaConnector"
KAFKA_USER: Final = "KafkaUser"
CLUSTER_LABEL: Final = "strimzi.io/cluster"
"""On a KafkaConnector the name of its KafkaConnect, on a KafkaUser that of its Kafka."""
USE_CONNECTOR_RESOURCES: Final = "strimzi.io/use-connector-resources"
"""Annotation of a KafkaConnect: without it the operator leaves connectors alone, and REST is the way."""
DEFAULT_REPLICAS: Final = 3


@dataclass(frozen=True, slots=True)
class StrimziResource:
    """One custom resource and where it stands; its repr does not show the spec, which may hold passwords.

    generation is that of the spec, observed_generation the one that the operator has carried out; None where the
    resource does not come from a Kubernetes API server.
    """

    kind: str
    name: str
    api_version: str
    origin: str
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, object] = field(default_factory=dict, repr=False)
    generation: int | None = None
    observed_generation: int | None = None

    @property
    def place(self) -> str:
        """File, kind and name, for messages."""
        return f"{self.origin} ({self.kind} {self.name})"

    @property
    def replicas(self) -> int:
        """How many workers a KafkaConnect or KafkaMirrorMaker2 has."""
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
        """Whether the operator has carried out this very spec, as far as the resource says."""
        return self.observed_generation is None or self.generation in {None, self.observed_generation}
