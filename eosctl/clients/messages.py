"""Requests of the Kafka protocol, as values that can be sent to any broker in the version it speaks."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from eosctl.model.names import ProducerIdAndEpoch

Response = Any
"""A decoded answer: kafka-python's response class, whose attributes are the protocol's fields in snake_case."""

LATEST: Final = 1 << 15
TRANSACTION_COORDINATOR: Final = 1
"""KeyType of FindCoordinator for transactional IDs (0 is for groups)."""
INIT_PRODUCER_ID_STABLE: Final = 5
"""InitProducerId v6 belongs to KIP-939 and is not stable."""
END_TXN_WITHOUT_BUMP: Final = 4
"""EndTxn v5 (KIP-890) raises the epoch with every transaction."""
BATCHED_FIND_COORDINATOR: Final = 4
"""FindCoordinator v4 (KIP-699, broker 3.0) takes many keys; older versions take one."""


class Request(NamedTuple):
    """One request, not yet bound to a broker: kafka-python's request class, its fields, and the versions that will do.

    Fields that the chosen version lacks are not sent; min_version keeps a meaning from being lost that way.
    """

    api: Any
    fields: Mapping[str, object]
    min_version: int = 0
    max_version: int = LATEST

    @property
    def name(self) -> str:
        """The API's name in the protocol guide, such as `InitProducerId`."""
        return str(self.api.__name__).removesuffix("Request")

    def message(self, version: int) -> Response:
        """kafka-python's request object in `version`."""
        return self.api(version=version, **self.fields)


def find_coordinators(transactional_ids: Iterable[str]) -> Request:
    """FindCoordinator for transactional IDs: coordinators[] of {key, node_id, host, port, error_code, error_message}.

    Needs v4 (KIP-699). Use `find_coordinator` where `Wire.version` says less.
    """
    from kafka.protocol.metadata import FindCoordinatorRequest

    fields = {"key_type": TRANSACTION_COORDINATOR, "coordinator_keys": list(transactional_ids)}
    return Request(FindCoordinatorRequest, fields, min_version=BATCHED_FIND_COORDINATOR)


def find_coordinator(transactional_id: str) -> Request:
    """FindCoordinator v1-v3 for one transactional ID: the answer itself carries node_id, host, port, error_code."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    fields = {"key_type": TRANSACTION_COORDINATOR, "key": transactional_id}
    return Request(FindCoordinatorRequest, fields, min_version=1, max_version=BATCHED_FIND_COORDINATOR - 1)


def init_producer_id(transactional_id: str, timeout_ms: int) -> Request:
    """InitProducerId that fences: no producer ID and epoch are claimed, so the coordinator bumps what it has.

    Answers {error_code, producer_id, producer_epoch}. timeout_ms becomes the ID's stored transaction timeout.
    """
    from kafka.protocol.producer.transaction import InitProducerIdRequest

    fields = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": timeout_ms,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    return Request(InitProducerIdRequest, fields, max_version=INIT_PRODUCER_ID_STABLE)


def abort_transaction(transactional_id: str, producer: ProducerIdAndEpoch) -> Request:
    """EndTxn that aborts, in the name of `producer`: answers {error_code}.

    Version 4 at most: from version 5 (KIP-890) on an epoch one too low may pass for a repeated request.
    """
    from kafka.protocol.producer.transaction import EndTxnRequest

    fields = {
        "transactional_id": transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "committed": False,
    }
    return Request(EndTxnRequest, fields, max_version=END_TXN_WITHOUT_BUMP)


def brokers_metadata() -> Request:
    """Metadata without topics: cluster_id, controller_id, brokers[] of {node_id, host, port, rack}."""
    from kafka.protocol.metadata import MetadataRequest

    return Request(MetadataRequest, {"topics": [], "allow_auto_topic_creation": False}, min_version=2)
