"""Requests of the Kafka protocol, as values that can be sent to any broker in the version it speaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from msgspec import Struct

from eosctl.model import acls
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.version import __version__

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


class Request(Struct, frozen=True):
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
        return str(self.api.__name__).removesuffix("Request")

    def message(self, version: int) -> Response:
        return self.api(version=version, **self.fields)


@cache
def _plain(name: str) -> Any:  # noqa: ANN401  # untyped library
    """kafka-python's request of this name, and its response, where both are nothing but the protocol's schema.

    Its own modules make all messages of a subject, at half a millisecond each.
    """
    from kafka.protocol.schemas import BaseField

    if not hasattr(BaseField.parse_versions, "cache_info"):  # a schema has the same versions and names many times
        BaseField.parse_versions = staticmethod(cache(BaseField.parse_versions))
        BaseField.underscore_name = staticmethod(cache(BaseField.underscore_name))
    from kafka.protocol.api_header import ResponseClassRegistry
    from kafka.protocol.api_message import ApiMessage

    make, content = type(ApiMessage), {"__module__": __name__, "json_patch": classmethod(_with_sets_of_operations)}
    ResponseClassRegistry.register_response_class(make(f"{name}Response", (ApiMessage,), dict(content)))
    return make(f"{name}Request", (ApiMessage,), dict(content))


def _with_sets_of_operations(_: type, part: Any) -> Any:  # noqa: ANN401  # JSON
    """The schema with authorized operations, one bit each, as kafka-python names and decodes them."""
    name = "AuthorizedOperations"
    for field in part["fields"]:
        if field["name"].endswith(name) and field["type"] == "int32":
            field |= {"name": name, "type": "bitfield"}
        elif "fields" in field:
            _with_sets_of_operations(_, field)
    return part


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
    fields = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": timeout_ms,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    return Request(_plain("InitProducerId"), fields, max_version=INIT_PRODUCER_ID_STABLE)


def brokers_metadata() -> Request:
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
    api = _plain("ListOffsets")
    asked = api.ListOffsetsTopic
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
    return Request(api, fields, min_version=2, max_version=LIST_OFFSETS_PLAIN)


def fetch(partition: TopicPartition, offset: int, max_bytes: int, isolation: IsolationLevel) -> Request:
    """Fetch of one partition, answered at once: responses[0].partitions[0] of {error_code, high_watermark, records...}.

    With read_committed the records end before the last stable offset and aborted_transactions[] of {producer_id,
    first_offset} names every aborted transaction in their range. A batch larger than max_bytes comes whole (KIP-74).
    """
    api = _plain("Fetch")
    part = api.FetchTopic.FetchPartition(
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
        "topics": [api.FetchTopic(topic=partition.topic, partitions=[part])],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return Request(api, fields, min_version=4, max_version=FETCH_BY_NAME)


def describe_configs(resource_type: int, resource_name: str, keys: Iterable[str] | None = None) -> Request:
    """DescribeConfigs: results[0] of {error_code, error_message, configs[] of {name, value, is_sensitive}}.

    keys None asks for all. A broker's configs are answered by that broker only.
    """
    api = _plain("DescribeConfigs")
    resource = api.DescribeConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configuration_keys=None if keys is None else list(keys),
    )
    return Request(api, {"resources": [resource], "include_synonyms": False}, min_version=1)


def describe_transactions(transactional_ids: Iterable[str]) -> Request:
    """DescribeTransactions (KIP-664) to the coordinator of the IDs: transaction_states[], one per ID."""
    return Request(_plain("DescribeTransactions"), {"transactional_ids": list(transactional_ids)}, since="3.0")


def describe_quorum() -> Request:
    """DescribeQuorum of the metadata log, with the times of its replicas (v1, KIP-836): topics[0].partitions[0]."""
    api = _plain("DescribeQuorum")
    topic = api.TopicData
    part = topic.PartitionData(partition_index=0)
    fields = {"topics": [topic(topic_name="__cluster_metadata", partitions=[part])]}
    return Request(api, fields, min_version=1, since="3.3 with KRaft")


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
    fields: dict[str, object] = {"state_filters": list(states), "producer_id_filters": list(producer_ids)}
    min_version, since = 0, "3.0"
    if longer_than_ms is not None:
        fields["duration_filter"], min_version, since = longer_than_ms, 1, "3.8"
    if pattern is not None:
        fields["transactional_id_pattern"], min_version, since = pattern, 2, "4.1"
    return Request(_plain("ListTransactions"), fields, min_version=min_version, since=since)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics


ANY = 1
"""In a filter: any resource type, pattern type, operation or permission."""
WITH_USERS = 3
"""From version 3 on resource type User exists."""


def describe_acls() -> Request:
    """DescribeAcls for all bindings: {error_code, resources[] of {resource_type, resource_name, pattern_type, acls[]}}.

    acls[] are {principal, host, operation, permission_type}. Needs Describe on the cluster.
    """
    fields = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    return Request(_plain("DescribeAcls"), fields, min_version=1)


def create_acls(bindings: Iterable[acls.AclBinding]) -> Request:
    """CreateAcls: results[] of {error_code, error_message}, one for each binding in their order.

    A binding that exists already is created again without effect. Needs Alter on the cluster.
    """
    api = _plain("CreateAcls")
    wanted = list(bindings)
    creations = [
        api.AclCreation(
            resource_type=acls.RESOURCE_CODES[each.pattern.resource_type],
            resource_name=each.pattern.name,
            resource_pattern_type=acls.PATTERN_CODES[each.pattern.pattern_type],
            principal=each.principal,
            host=each.host,
            operation=acls.OPERATION_CODES[each.operation],
            permission_type=acls.PERMISSION_CODES[each.permission],
        )
        for each in wanted
    ]
    return Request(api, {"creations": creations}, min_version=_version_for(wanted))


def delete_acls(bindings: Iterable[acls.AclBinding]) -> Request:
    """DeleteAcls of exactly these: filter_results[] of {error_code, error_message, matching_acls[]}, in their order.

    matching_acls is empty for a binding that does not exist. Needs Alter on the cluster.
    """
    api = _plain("DeleteAcls")
    doomed = list(bindings)
    filters = [
        api.DeleteAclsFilter(
            resource_type_filter=acls.RESOURCE_CODES[each.pattern.resource_type],
            resource_name_filter=each.pattern.name,
            pattern_type_filter=acls.PATTERN_CODES[each.pattern.pattern_type],
            principal_filter=each.principal,
            host_filter=each.host,
            operation=acls.OPERATION_CODES[each.operation],
            permission_type=acls.PERMISSION_CODES[each.permission],
        )
        for each in doomed
    ]
    return Request(api, {"filters": filters}, min_version=_version_for(doomed))


def _version_for(bindings: list[acls.AclBinding]) -> int:
    return WITH_USERS if any(each.pattern.resource_type is acls.ResourceType.USER for each in bindings) else 1


GROUPS_BY_NAME: Final = 8
"""OffsetFetch v8 (KIP-709) asks for several groups; from 10 on topics have IDs and no names."""
GROUP_COORDINATOR: Final = 0


def list_groups() -> Request:
    """ListGroups to every broker: {error_code, groups[] of {group_id, protocol_type, group_state (from v4)}}.

    Groups without Describe are left out, unless the principal has Describe on the cluster.
    """
    return Request(_plain("ListGroups"), {})


def find_group_coordinators(group_ids: Iterable[str]) -> Request:
    """FindCoordinator for consumer groups: coordinators[] of {key, node_id, error_code}. Needs v4 (KIP-699)."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    fields = {"key_type": GROUP_COORDINATOR, "coordinator_keys": list(group_ids)}
    return Request(FindCoordinatorRequest, fields, min_version=BATCHED_FIND_COORDINATOR, since="3.0")


def offset_fetch(group_ids: Iterable[str], partitions: Iterable[TopicPartition] | None) -> Request:
    """OffsetFetch to the groups' coordinator (KIP-709): groups[] of {group_id, error_code, topics[] of {name,
    partitions[] of {partition_index, committed_offset (-1: none), error_code}}}. Needs Describe on groups and topics.

    Without partitions it covers all that have an offset; the coordinator omits topics that may not be described.
    """
    api = _plain("OffsetFetch")
    group = api.OffsetFetchRequestGroup
    topics = partitions and [
        group.OffsetFetchRequestTopics(name=topic, partition_indexes=indexes)
        for topic, indexes in by_topic(partitions).items()
    ]
    fields = {"groups": [group(group_id=each, topics=topics) for each in group_ids], "require_stable": False}
    return Request(api, fields, min_version=GROUPS_BY_NAME, max_version=GROUPS_BY_NAME, since="3.0")


def describe_groups(group_ids: Iterable[str]) -> Request:
    """DescribeGroups to the groups' coordinator: groups[] of {error_code, group_id, group_state, protocol_type,
    protocol_data, members[] of {member_id, client_id, client_host, member_metadata, member_assignment}}. Needs Describe
    on each group.

    Metadata and assignments of members are shown in state Stable only.
    """
    return Request(_plain("DescribeGroups"), {"groups": list(group_ids)})


def cluster_operations() -> Request:
    """DescribeCluster (KIP-700): authorized_operations, the codes of the principal's operations."""
    return Request(_plain("DescribeCluster"), {"include_cluster_authorized_operations": True}, since="2.8")


MARKERS_WITHOUT_TRANSACTION_VERSION: Final = 1
"""From WriteTxnMarkers v2 (KIP-1228) a marker may ask for the check of transaction.version 2, which wants an epoch
above the data's. A marker that ends a hanging transaction carries the epoch of the data."""


def describe_producers(partitions: Iterable[TopicPartition]) -> Request:
    """DescribeProducers to the partitions' leader: topics[] of {name, partitions[] of {partition_index, error_code,
    active_producers[] of {producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch,
    current_txn_start_offset}}}; -1 stands for none. Needs Read on each topic.
    """
    api = _plain("DescribeProducers")
    topics = [
        api.TopicRequest(name=topic, partition_indexes=indexes) for topic, indexes in by_topic(partitions).items()
    ]
    return Request(api, {"topics": topics}, since="2.8")


def write_marker(
    topic_partition: TopicPartition, producer: ProducerIdAndEpoch, coordinator_epoch: int, *, commit: bool = False
) -> Request:
    """WriteTxnMarkers with one ABORT or COMMIT marker, to the partition's leader.

    Answers markers[0].topics[0].partitions[0] of {partition_index, error_code}. Needs ClusterAction on the cluster, or
    Alter from brokers 3.8 on (KAFKA-16513). Version 0 was removed in Kafka 4.0; brokers know version 1 since 2.8.
    """
    api = _plain("WriteTxnMarkers")
    marker = api.WritableTxnMarker
    fields = {
        "markers": [
            marker(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transaction_result=commit,
                topics=[
                    marker.WritableTxnMarkerTopic(
                        name=topic_partition.topic, partition_indexes=[topic_partition.partition]
                    )
                ],
                coordinator_epoch=coordinator_epoch,
            )
        ]
    }
    return Request(
        api,
        fields,
        min_version=1,
        max_version=MARKERS_WITHOUT_TRANSACTION_VERSION,
        since="2.8",
    )


FOR_CLIENTS: Final = 3
"""AddPartitionsToTxn v4 (KIP-890) is for brokers."""
TRANSACTIONAL_PRODUCE: Final = 3
"""Produce v3 (KIP-98) is the first that takes batches of transactions."""
PRODUCE_AFTER_ADDING: Final = 11
PRODUCE_ADDS: Final = 12
"""From Produce v12 (KIP-890) on the broker adds the partition to the transaction; v13 names topics by ID."""
END_TXN_WITHOUT_BUMP: Final = 4
END_TXN_RAISES_EPOCH: Final = 5
"""EndTxn v5 (KIP-890) raises the producer epoch and answers with the new one."""


def add_partition(transactional_id: str, producer: ProducerIdAndEpoch, place: TopicPartition) -> Request:
    """AddPartitionsToTxn of one partition, to the coordinator of the ID.

    Answers results_by_topic_v3_and_below[0].results_by_partition[0] of {partition_error_code}. Needs Write on the
    TransactionalId and the topic.
    """
    api = _plain("AddPartitionsToTxn")
    topic = api.AddPartitionsToTxnTopic(name=place.topic, partitions=[place.partition])
    fields = {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": producer.producer_id,
        "v3_and_below_producer_epoch": producer.producer_epoch,
        "v3_and_below_topics": [topic],
    }
    return Request(api, fields, max_version=FOR_CLIENTS)


def produce(transactional_id: str, place: TopicPartition, batch: bytes, *, adds: bool, timeout_ms: int) -> Request:
    """Produce of one batch with acks=all, to the partition's leader.

    adds: in the version with which the broker itself adds the partition to the transaction, otherwise in one before.
    Answers responses[0].partition_responses[0] of {error_code, base_offset}.
    """
    from kafka.protocol.producer.produce import ProduceRequest

    data = ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(index=place.partition, records=batch)
    fields = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": timeout_ms,
        "topic_data": [data(name=place.topic, partition_data=[part])],
    }
    if adds:
        return Request(ProduceRequest, fields, PRODUCE_ADDS, PRODUCE_ADDS, since="4.0")
    return Request(ProduceRequest, fields, TRANSACTIONAL_PRODUCE, PRODUCE_AFTER_ADDING)


def end_transaction(
    transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool, raises_epoch: bool = False
) -> Request:
    """EndTxn in the name of `producer`, to the coordinator of the ID: answers {error_code}.

    raises_epoch: in version 5, which answers {producer_id, producer_epoch} to go on with. Version 4 otherwise: from
    version 5 (KIP-890) on an epoch one too low may pass for a repeated request.
    """
    api = _plain("EndTxn")
    fields = {
        "transactional_id": transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "committed": commit,
    }
    if raises_epoch:
        return Request(api, fields, END_TXN_RAISES_EPOCH, END_TXN_RAISES_EPOCH, since="4.0")
    return Request(api, fields, max_version=END_TXN_WITHOUT_BUMP)


T = TypeVar("T")


def in_pieces(names: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    """The names in their order, in pieces of at most `most`."""
    return (tuple(names[start : start + most]) for start in range(0, len(names), most))
