"""Which parts of Connect wait behind an open transaction in a topic.

1. Config topic: a worker with exactly-once enabled reads it committed and to its high watermark at start and before
   each round of fencing, so it does not start, and tasks that are started turn FAILED.
2. Offsets topic (of the workers, or a connector's own): a source task with exactly-once reads it committed and to the
   end before it starts, so connectors whose offsets are there do not start.
3. A sink connector reads as the group `connect-<name>`, unless `consumer.override.group.id` says otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from eosctl.model.connectors import ConnectorState

OWN_OFFSETS_TOPIC: Final = "offsets.storage.topic"
SINK_GROUP: Final = "consumer.override.group.id"


@dataclass(frozen=True, slots=True)
class ConnectTopics:
    """The internal topics of one Connect cluster, and its connectors as its config topic has them."""

    group_id: str
    config_topic: str
    offsets_topic: str
    connectors: Mapping[str, ConnectorState]


def waiting_parts(topic: str, groups: Iterable[str], cluster: ConnectTopics | None) -> tuple[str, ...]:
    """What of the Connect cluster waits behind this topic, in words; none where no cluster is known."""
    if cluster is None:
        return ()
    found = []
    if topic == cluster.config_topic:
        found.append(f"workers of Connect cluster {cluster.group_id}: config topic; none with exactly-once starts")
    own = [name for name, state in cluster.connectors.items() if _config(state, OWN_OFFSETS_TOPIC) == topic]
    if topic == cluster.offsets_topic:
        found.append(f"source connectors of Connect cluster {cluster.group_id}: offsets topic; none starts its tasks")
    found += [f"connector {name}: its offsets topic; it does not start its tasks" for name in sorted(own)]
    sinks = {_config(state, SINK_GROUP) or f"connect-{name}": name for name, state in cluster.connectors.items()}
    found += [f"sink connector {sinks[group]}: it reads this topic" for group in sorted(set(groups) & sinks.keys())]
    return tuple(found)


def _config(state: ConnectorState, key: str) -> str | None:
    value = None if state.config is None else state.config.get(key)
    return value if isinstance(value, str) else None
