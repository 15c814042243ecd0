"""Requests about share groups (KIP-932) and streams groups (KIP-1071), which kafka-python does not know. Imported
where one is sent.

The messages are schemas beside this file in the form of Kafka's own.
"""

import sys
from collections.abc import Collection
from types import new_class
from typing import Any, Final

from kafka.protocol.api_message import ApiMessage

from eosctl.clients.messages import Request

SCHEMA: Final = {"load_json": sys.modules[__name__]}
DescribeShareGroupOffsetsRequest: Final[Any] = new_class("DescribeShareGroupOffsetsRequest", (ApiMessage,), SCHEMA)
DescribeShareGroupOffsetsResponse: Final[Any] = new_class("DescribeShareGroupOffsetsResponse", (ApiMessage,), SCHEMA)
StreamsGroupDescribeRequest: Final[Any] = new_class("StreamsGroupDescribeRequest", (ApiMessage,), SCHEMA)
StreamsGroupDescribeResponse: Final[Any] = new_class("StreamsGroupDescribeResponse", (ApiMessage,), SCHEMA)


def describe_share_group_offsets(group_ids: Collection[str]) -> Request:
    """DescribeShareGroupOffsets to the groups' coordinator: groups[] of {group_id, error_code, topics[] of {topic_name,
    partitions[] of {partition_index, start_offset (-1: none yet), error_code}}}, of all their topics.

    Needs Describe on each group; topics without Describe are left out.
    """
    asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    groups = [asked(group_id=each, topics=None) for each in group_ids]
    return Request(DescribeShareGroupOffsetsRequest, {"groups": groups}, since="4.1")


def describe_streams_groups(group_ids: Collection[str]) -> Request:
    """StreamsGroupDescribe to the groups' coordinator: groups[] of {group_id, error_code, topology (subtopologies[] of
    {subtopology_id, source_topics[], repartition_source_topics[]}), members[] of {client_id, client_host, process_id,
    assignment (active_tasks[] of {subtopology_id, partitions[]})}}.

    Needs Describe on each group and on the topics that it reads. The operations are requested because -2147483648,
    which stands for none, is no bit field.
    """
    fields = {"group_ids": list(group_ids), "include_authorized_operations": True}
    return Request(StreamsGroupDescribeRequest, fields, since="4.1")
