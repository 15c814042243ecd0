"""Share groups (KIP-932): by which isolation level they read, and from where, as brokers answer."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from eosctl.clients.errors import protocol_error
from eosctl.clients.group_messages import find_group_coordinators
from eosctl.clients.messages import GROUP_RESOURCE, Response, describe_configs
from eosctl.clients.wire import Wire
from eosctl.model.groups import SHARE_ISOLATION, ShareGroup
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources.kafka_topics import settings_of

NOT_REPORTED: Final = Skipped(f"the broker does not report {SHARE_ISOLATION}")


def read_share_groups(wire: Wire, group_ids: Collection[str]) -> Mapping[str, ShareGroup]:
    """Each of these groups; what may not be read of one is Skipped."""
    return {each: ShareGroup(_isolation(wire, each), or_skipped(partial(_starts, wire, each))) for each in group_ids}


def _isolation(wire: Wire, group_id: str) -> str | Skipped:
    settings = or_skipped(partial(_settings, wire, group_id))
    return settings if isinstance(settings, Skipped) else settings.get(SHARE_ISOLATION, NOT_REPORTED)


def _settings(wire: Wire, group_id: str) -> Mapping[str, str] | Skipped:
    response = wire.request_any(describe_configs(GROUP_RESOURCE, group_id, [SHARE_ISOLATION]))
    return settings_of(wire, response, f"Group {group_id}")


def _starts(wire: Wire, group_id: str) -> Mapping[TopicPartition, int]:
    """The start offset of each of its partitions, -1 where there is none yet. Raises what the coordinator refuses."""
    from eosctl.clients.share_group_messages import describe_share_group_offsets

    [coordinator] = wire.request_any(find_group_coordinators([group_id])).coordinators
    _require(wire, coordinator, group_id)
    [group] = wire.request(coordinator.node_id, describe_share_group_offsets([group_id])).groups
    _require(wire, group, group_id)
    parts = [(topic.topic_name, part) for topic in group.topics for part in topic.partitions]
    for _, part in parts:
        _require(wire, part, group_id)
    return {TopicPartition(topic, part.partition_index): part.start_offset for topic, part in parts}


def _require(wire: Wire, answer: Response, group_id: str) -> None:
    if answer.error_code:
        resource = f"Group {group_id}"
        raise protocol_error(answer.error_code, principal=wire.principal, operation="Describe", resource=resource)
