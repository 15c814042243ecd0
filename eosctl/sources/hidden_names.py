"""Does this principal see every topic and every group? Brokers leave those without Describe out of their lists."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Final

from eosctl.clients.group_messages import describe_groups
from eosctl.clients.messages import topics_metadata
from eosctl.model.acls import ResourceType
from eosctl.model.counts import some
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.sources.authorization_probes import Probes, probes_of
from eosctl.sources.kafka_groups import may_list_all, without_coordinator

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire

OF_TOPICS: Final = string.digits + string.ascii_letters + "._-"
"""A topic's name has no other characters."""
OF_GROUPS: Final = string.digits + string.ascii_letters + string.punctuation.replace("*", "")
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
SHOWN: Final = 3


def hidden_topics(wire: Wire) -> Skipped | None:
    """Why topics may be missing from the metadata of all; None where none can be."""
    return or_skipped(lambda: _hidden_topics(wire))


def _hidden_topics(wire: Wire) -> Skipped | None:
    probes = probes_of(wire, ResourceType.TOPIC, OF_TOPICS, "topics")
    # Metadata answers UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist, and creates none.
    topics = wire.request_any(topics_metadata(probes.names)).topics
    return _hidden(wire, probes, [each.name for each in topics if each.error_code == TOPIC_AUTHORIZATION_FAILED])


def hidden_groups(wire: Wire) -> Skipped | None:
    """Why groups may be missing from ListGroups; None where none can be."""
    return or_skipped(lambda: _hidden_groups(wire))


def _hidden_groups(wire: Wire) -> Skipped | None:
    if may_list_all(wire):
        return without_coordinator(wire)
    probes = probes_of(wire, ResourceType.GROUP, OF_GROUPS, "groups")
    # A broker that does not coordinate a group says so only to those who may describe it.
    groups = wire.request_any(describe_groups(probes.names)).groups
    denied = [each.group_id for each in groups if each.error_code == GROUP_AUTHORIZATION_FAILED]
    return _hidden(wire, probes, denied) or without_coordinator(wire)


def _hidden(wire: Wire, probes: Probes, denied: list[str]) -> Skipped | None:
    if denied:
        names = sorted(probes.names[each] for each in denied)
        what = f"{wire.principal} lacks Describe on some of them, and brokers leave the others out"
        return Skipped(f"{what}; refused: {some(names, most=SHOWN)}", Cause.DENIED)
    return None if probes.unknown is None else Skipped(probes.unknown, Cause.DENIED)
