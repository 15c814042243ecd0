"""Requests about share groups (KIP-932), which kafka-python does not know. Imported where one is sent."""

from collections.abc import Collection

from kafka.protocol.api_message import ApiMessage

from eosctl.clients import schemas
from eosctl.clients.messages import Request


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]  # kafka-python is untyped
    """API 90."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=schemas):  # type: ignore[misc, call-arg]  # kafka-python is untyped
    """API 90."""


def describe_share_group_offsets(group_ids: Collection[str]) -> Request:
    """DescribeShareGroupOffsets to the groups' coordinator: groups[] of {group_id, error_code, topics[] of {topic_name,
    partitions[] of {partition_index, start_offset (-1: none yet), error_code}}}, of all their topics.

    Needs Describe on each group; topics without Describe are left out.
    """
    asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    groups = [asked(group_id=each, topics=None) for each in group_ids]
    return Request(DescribeShareGroupOffsetsRequest, {"groups": groups}, since="4.1")
