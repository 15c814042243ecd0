"""Requests of the Kafka protocol, as values that can be sent to any broker in the version it speaks."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from eosctl import __version__
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel

Response = Any
"""A decoded answer: kafka-python's response class, whose attributes are the protocol's fields in snake_case."""

ANY_VERSION: Final = 1 << 15
TRANSACTION_COORDINATOR: Final = 1
"""KeyType of FindCoordinator for transactional IDs (0 is for groups)."""
INIT_PRODUCER_ID_STABLE: Final = 5
"""InitProducerId v6 belongs to KIP-939 and is not stable."""
BATCHED_FIND_COORDINATOR: Final = 4
"""FindCoordinator v4 (KIP-699, broker 3.0) takes many keys; older versions take one."""
FETCH_BY_NAME: Final = 12
"""From Fetch v13 (KIP-516) topics are named by topic ID only."""
FINALIZED_FEATURES: Final = 3
"""From ApiVersions v3 on (KIP-511) the answer has tagged fields, and in these the features (KIP-584)."""
LIST_OFFSETS_PLAIN: Final = 7
"""Later versions of ListOffsets only add special timestamps."""
EARLIEST: Final = -2
LATEST: Final = -1
ISOLATION: Final = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}
TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
GROUP_RESOURCE: Final = 32


class Request(NamedTuple):
    """One request, not yet bound to a broker: kafka-python's request class, its fields, and the versions that will do.

    Fields that the chosen version lacks are not sent; min_version keeps a meaning from being lost that way. since is
    the Kafka release whose brokers answer min_version first, for the error where they are older.
    """

    api: Any
    fields: Mapping[str, object]
    min_version: int = 0
    max_version: int = ANY_VERSION
    since: str | None = None

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


def brokers_metadata() -> Request:
    """Metadata without topics: cluster_id, controller_id, brokers[] of {node_id, host, port, rack}."""
    from kafka.protocol.metadata import MetadataRequest

    return Request(MetadataRequest, {"topics": [], "allow_auto_topic_creation": False}, min_version=2)


def features() -> Request:
    """ApiVersions with the finalized features (v3, KIP-584): {finalized_features[] of {name, max_version_level},
    finalized_features_epoch}; the epoch is -1 where the broker does not know them.
    """
    from kafka.protocol.metadata import ApiVersionsRequest

    fields = {"client_software_name": "eosctl", "client_software_version": __version__}
    return Request(ApiVersionsRequest, fields, min_version=FINALIZED_FEATURES, since="2.4")


def topics_metadata(topics: Iterable[str] | None) -> Request:
    """Metadata of `topics` (None for all); never creates one.

    Answers topics[] of {error_code, name, is_internal, partitions[] of {partition_index, leader_id, replica_nodes}}.
    """
    from kafka.protocol.metadata import MetadataRequest

    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return Request(MetadataRequest, {"topics": wanted, "allow_auto_topic_creation": False}, min_version=4)


def list_offsets(partitions: Iterable[TopicPartition], timestamp: int, isolation: IsolationLevel) -> Request:
    """ListOffsets to the leader: topics[] of {name, partitions[] of {partition_index, error_code, offset}}.

    timestamp EARLIEST asks for the log start offset; LATEST for the high watermark, or with read_committed for the
    last stable offset.
    """
    from kafka.protocol.consumer.offsets import ListOffsetsRequest

    asked = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        asked(
            name=topic,
            partitions=[
                asked.ListOffsetsPartition(partition_index=index, current_leader_epoch=-1, timestamp=timestamp)
                for index in indexes
            ],
        )
        for topic, indexes in by_topic(partitions).items()
    ]
    fields = {"replica_id": -1, "isolation_level": ISOLATION[isolation], "topics": topics}
    return Request(ListOffsetsRequest, fields, min_version=2, max_version=LIST_OFFSETS_PLAIN)


def fetch(partition: TopicPartition, offset: int, max_bytes: int, isolation: IsolationLevel) -> Request:
    """Fetch of one partition, answered at once: responses[0].partitions[0] of {error_code, high_watermark, records...}.

    With read_committed the records end before the last stable offset and aborted_transactions[] of {producer_id,
    first_offset} names every aborted transaction in their range. A batch larger than max_bytes comes whole (KIP-74).
    """
    from kafka.protocol.consumer.fetch import FetchRequest

    part = FetchRequest.FetchTopic.FetchPartition(
        partition=partition.partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    fields = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": max_bytes,
        "isolation_level": ISOLATION[isolation],
        "session_id": 0,
        "session_epoch": -1,
        "topics": [FetchRequest.FetchTopic(topic=partition.topic, partitions=[part])],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return Request(FetchRequest, fields, min_version=4, max_version=FETCH_BY_NAME)


def describe_configs(resource_type: int, resource_name: str, keys: Iterable[str] | None = None) -> Request:
    """DescribeConfigs: results[0] of {error_code, error_message, configs[] of {name, value, is_sensitive}}.

    keys None asks for all. A broker's configs are answered by that broker only.
    """
    from kafka.protocol.admin.configs import DescribeConfigsRequest

    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configuration_keys=None if keys is None else list(keys),
    )
    return Request(DescribeConfigsRequest, {"resources": [resource], "include_synonyms": False}, min_version=1)


def describe_transactions(transactional_ids: Iterable[str]) -> Request:
    """DescribeTransactions (KIP-664) to the coordinator of the IDs: transaction_states[], one per ID."""
    from kafka.protocol.admin.transactions import DescribeTransactionsRequest

    return Request(DescribeTransactionsRequest, {"transactional_ids": list(transactional_ids)}, since="3.0")


def describe_quorum() -> Request:
    """DescribeQuorum of the metadata log, with the times of its replicas (v1, KIP-836): topics[0].partitions[0]."""
    from kafka.protocol.admin.cluster import DescribeQuorumRequest

    topic = DescribeQuorumRequest.TopicData
    part = topic.PartitionData(partition_index=0)
    fields = {"topics": [topic(topic_name="__cluster_metadata", partitions=[part])]}
    return Request(DescribeQuorumRequest, fields, min_version=1, since="3.3 with KRaft")


def list_transactions(
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int | None = None,
    pattern: str | None = None,
) -> Request:
    """ListTransactions (KIP-664) to every broker: transaction_states[] of {transactional_id, producer_id, ...}.

    longer_than_ms needs v1 (broker 3.8), pattern, a regular expression, v2 (broker 4.1, KIP-1152).
    """
    from kafka.protocol.admin.transactions import ListTransactionsRequest

    fields: dict[str, object] = {"state_filters": list(states), "producer_id_filters": list(producer_ids)}
    min_version, since = 0, "3.0"
    if longer_than_ms is not None:
        fields["duration_filter"], min_version, since = longer_than_ms, 1, "3.8"
    if pattern is not None:
        fields["transactional_id_pattern"], min_version, since = pattern, 2, "4.1"
    return Request(ListTransactionsRequest, fields, min_version=min_version, since=since)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Topic -> partition indexes, as requests list them."""
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics
