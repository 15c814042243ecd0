"""Which broker leads which partition."""

from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.errors import protocol_error
from eosctl.clients.messages import Response, topics_metadata
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError, UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.near_names import no_such_topic

LEADER_NOT_AVAILABLE: Final = 5
MOVED: Final = frozenset({LEADER_NOT_AVAILABLE, 6, 9, 13, 56, 74, 75, 78})
"""Answers after which the leader has to be looked up again: the leadership moved, or is moving."""
NO_LEADER: Final = -1


def partition_leaders(
    wire: Wire, topics: Iterable[str], *, timeout_s: float | None = None
) -> Mapping[TopicPartition, int]:
    """Node ID of the leader of every partition of `topics`, NO_LEADER where there is none just now.

    Raises UsageError for a topic that does not exist, NotAuthorized where Describe on it is missing.
    """
    names = sorted(set(topics))
    response = wire.request_any(topics_metadata(names), timeout_s=timeout_s)
    known = {broker.node_id for broker in wire.brokers()}
    leaders = {
        TopicPartition(topic.name, partition.partition_index): partition.leader_id
        for topic in response.topics
        for partition in _partitions(wire, topic)
    }
    if not known.issuperset(leader for leader in leaders.values() if leader != NO_LEADER):
        wire.refresh()
    return leaders


def unknown_topic(wire: Wire, name: str) -> UsageError:
    """The error for a topic that does not exist, with the one that may be meant, as far as topics are shown."""
    try:
        known = [topic.name for topic in wire.request_any(topics_metadata(None)).topics]
    except EosctlError:  # what is missing is known all the same
        known = []
    return no_such_topic(name, known)


def _partitions(wire: Wire, topic: Response) -> list[Response]:
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        raise unknown_topic(wire, topic.name)
    if topic.error_code not in {0, LEADER_NOT_AVAILABLE}:
        resource = f"Topic {topic.name}"
        raise protocol_error(topic.error_code, principal=wire.principal, operation="Describe", resource=resource)
    return list(topic.partitions)
