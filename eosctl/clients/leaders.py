"""Which broker leads which partition."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Final

from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, protocol_error
from eosctl.clients.messages import Response, topics_metadata
from eosctl.clients.wire import HeardTopic, Wire
from eosctl.errors import EosctlError, TimedOut, Unreachable, UsageError
from eosctl.model.names import TopicPartition, no_such_topic

LEADER_NOT_AVAILABLE: Final = 5
MOVED: Final = frozenset({LEADER_NOT_AVAILABLE, 6, 9, 13, 56, 74, 75, 78})
"""Answers after which the leader has to be looked up again: the leadership moved, or is moving."""
NO_LEADER: Final = -1
LEADERLESS_PATIENCE_S: Final = 2.0
"""How long a partition may be leaderless before it counts as lost: an election takes less."""


JUST_NOW_S: Final = 1.0
"""The age of a Metadata answer that will do for the next request to the leaders in it: they refuse if they lead no
longer. It is no answer for those that wait for a change, or that compare two answers."""


def topics_of(
    wire: Wire, topics: Iterable[str], *, heard_s: float = 0.0, timeout_s: float | None = None
) -> Sequence[Response]:
    """The topics in a broker's Metadata for these names, or in earlier ones that are at most heard_s old."""
    names = sorted(set(topics))
    now = monotonic()
    heard = [each.topic for name in names if (each := wire.heard.get(name)) is not None and now - each.at < heard_s]
    if len(heard) == len(names):
        return heard
    found: Sequence[Response] = wire.request_any(topics_metadata(names), timeout_s=timeout_s).topics
    for topic in found:
        if topic.error_code or any(each.leader_id == NO_LEADER for each in topic.partitions):
            wire.heard.pop(topic.name, None)
        else:
            wire.heard[topic.name] = HeardTopic(now, topic)
    return found


def partition_leaders(
    wire: Wire, topics: Iterable[str], *, heard_s: float = 0.0, timeout_s: float | None = None
) -> Mapping[TopicPartition, int]:
    """Node ID of the leader of every partition of `topics`, NO_LEADER where there is none just now.

    Raises UsageError for a topic that does not exist, NotAuthorized where Describe on it is missing.
    """
    answer = topics_of(wire, topics, heard_s=heard_s, timeout_s=timeout_s)
    known = {broker.node_id for broker in wire.brokers()}
    leaders = {
        TopicPartition(topic.name, partition.partition_index): partition.leader_id
        for topic in answer
        for partition in _partitions(wire, topic)
    }
    if not known.issuperset(leader for leader in leaders.values() if leader != NO_LEADER):
        wire.refresh()
    return leaders


def unknown_topic(wire: Wire, name: str) -> UsageError:
    """The error for a topic that does not exist, with the one that may be meant, as far as topics are shown."""
    try:
        known = [topic.name for topic in wire.request_any(topics_metadata(None)).topics]
    except EosctlError:  # the missing partitions are known all the same
        known = []
    return no_such_topic(name, known)


def _partitions(wire: Wire, topic: Response) -> list[Response]:
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        raise unknown_topic(wire, topic.name)
    if topic.error_code not in {0, LEADER_NOT_AVAILABLE}:
        resource = f"Topic {topic.name}"
        raise protocol_error(topic.error_code, principal=wire.principal, operation="Describe", resource=resource)
    return list(topic.partitions)


# Waiting until brokers know the controller's change.  A controller answers a change of topics or ACLs when it is in the
# metadata log (KIP-500, KIP-801). Each broker replays that log in its own time, and answers and decides by the replayed
# part. The next request may go to any of them.


POLL_S: Final = 0.05
ANSWER_S: Final = 3.0
"""The time in which one broker must answer; a silent one is not waited for longer."""
BEHIND: Final = "the broker has not caught up with its controller: wait, then `eosctl apply` the same plan again"


def await_brokers(wire: Wire, lacking: Callable[[int], str | None], *, timeout_s: float) -> None:
    """Returns once no answering broker misses the change; lacking(node ID) names the missing part. Raises TimedOut."""
    deadline = Deadline(timeout_s)
    for broker in wire.brokers():
        while (what := _lack_of(lacking, broker.node_id)) is not None:
            if not deadline.pause(POLL_S):
                raise TimedOut(f"{what}, after {timeout_s:g} s", hint=BEHIND)


def _lack_of(lacking: Callable[[int], str | None], node_id: int) -> str | None:
    """A broker that cannot be asked cannot mislead the next step either."""
    try:
        return lacking(node_id)
    except Unreachable:
        return None
