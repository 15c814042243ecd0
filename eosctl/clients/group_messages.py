"""Requests about consumer groups, as values that can be sent to any broker."""

from collections.abc import Iterable
from typing import Final

from eosctl.clients.messages import Request, by_topic
from eosctl.model.names import TopicPartition

ONE_GROUP: Final = 7
"""OffsetFetch v8 (KIP-709) asks for several groups; up to 7 a request is about one group, which all brokers answer."""
GROUP_COORDINATOR: Final = 0
BATCHED_FIND_COORDINATOR: Final = 4


def list_groups() -> Request:
    """ListGroups to every broker: {error_code, groups[] of {group_id, protocol_type, group_state (from v4)}}.

    Groups without Describe are left out, unless the principal has Describe on the cluster.
    """
    from kafka.protocol.admin.groups import ListGroupsRequest

    return Request(ListGroupsRequest, {})


def find_group_coordinators(group_ids: Iterable[str]) -> Request:
    """FindCoordinator for consumer groups: coordinators[] of {key, node_id, error_code}. Needs v4 (KIP-699)."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    fields = {"key_type": GROUP_COORDINATOR, "coordinator_keys": list(group_ids)}
    return Request(FindCoordinatorRequest, fields, min_version=BATCHED_FIND_COORDINATOR, since="3.0")


def offset_fetch(group_id: str, partitions: Iterable[TopicPartition] | None) -> Request:
    """OffsetFetch to the group's coordinator: {error_code, topics[] of {name, partitions[] of {partition_index,
    committed_offset (-1: none), error_code}}}. Needs Describe on the group and on each topic.

    Without partitions it is about all that have one; the coordinator leaves out topics that may not be described.
    """
    from kafka.protocol.consumer.group import OffsetFetchRequest

    topics = partitions and [
        OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=indexes)
        for topic, indexes in by_topic(partitions).items()
    ]
    return Request(OffsetFetchRequest, {"group_id": group_id, "topics": topics}, min_version=2, max_version=ONE_GROUP)


def describe_groups(group_ids: Iterable[str]) -> Request:
    """DescribeGroups to the groups' coordinator: groups[] of {error_code, group_id, group_state, protocol_type,
    protocol_data, members[] of {member_id, member_metadata, member_assignment}}. Needs Describe on each group.

    What members sent and were assigned is shown in state Stable only.
    """
    from kafka.protocol.admin.groups import DescribeGroupsRequest

    return Request(DescribeGroupsRequest, {"groups": list(group_ids)})


def cluster_operations() -> Request:
    """DescribeCluster (KIP-700): authorized_operations, the codes of what the principal may."""
    from kafka.protocol.admin.cluster import DescribeClusterRequest

    return Request(DescribeClusterRequest, {"include_cluster_authorized_operations": True}, since="2.8")
