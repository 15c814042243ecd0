"""Which topics a source connector writes to, as far as its config tells.

1. Topics that somebody named count, and then only those.
2. FileStreamSource: `topic`. MirrorSource: its `topics`, renamed by its replication policy. MirrorCheckpoint and
   MirrorHeartbeat: the topic that the policy names.
3. Any other connector: `topic`, `kafka.topic` or `topics`, or the topics that begin with `topic.prefix`.
4. A RegexRouter, TimestampRouter or ExtractTopic transformation renames topics, so what the config tells is not it.
"""

import re
from collections.abc import Iterator
from typing import Final

from eosctl.model.acls import PatternType, ResourcePattern, topic
from eosctl.model.client_roles import ConnectorConfig

NAMING_SETTINGS: Final = ("topic", "kafka.topic", "topics")
ROUTERS: Final = ("RegexRouter", "TimestampRouter", "ExtractTopic", "EventRouter", "ByLogicalTableRouter")


def output_topics(connector: ConnectorConfig) -> tuple[ResourcePattern, ...]:
    """Patterns of the topics that the connector writes records to; empty where its config does not tell."""
    if connector.topics:
        return tuple(map(named_pattern, connector.topics))
    if renames_topics(connector):
        return ()
    return tuple(_told(connector))


def named_pattern(name: str) -> ResourcePattern:
    """The pattern that somebody means by `name`: a trailing `*` after something makes a prefix."""
    if name.endswith("*") and len(name) > 1:
        return topic(name[:-1], PatternType.PREFIXED)
    return topic(name)


def renames_topics(connector: ConnectorConfig) -> bool:
    """Whether a transformation of Kafka's, Confluent's or Debezium's that renames topics is configured."""
    kinds = [connector.get(f"transforms.{alias}.type") for alias in _listed(connector.get("transforms"))]
    return any(kind.rpartition(".")[2].partition("$")[0] in ROUTERS for kind in kinds)


def _told(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    match connector.class_name:
        case "MirrorSource":
            yield from mirrored_topics(connector)
        case "MirrorCheckpoint":
            yield topic(checkpoints_topic(connector))
        case "MirrorHeartbeat":
            yield topic("heartbeats")
        case _:
            for setting in NAMING_SETTINGS:
                yield from map(topic, _listed(connector.get(setting)))
            if connector.get("topic.prefix"):
                yield topic(connector.get("topic.prefix"), PatternType.PREFIXED)


def mirrored_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """What MirrorSource's `topics` are called in the target cluster (ReplicationPolicy.formatRemoteTopic)."""
    prefix = _alias_prefix(connector)
    for name in _listed(connector.get("topics", ".*")):
        start = _literal_start(name)
        if start == name:
            yield topic(prefix + name)
        elif prefix + start:
            yield topic(prefix + start, PatternType.PREFIXED)
        else:
            yield topic("*")


def source_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """The topics that MirrorSource reads in the source cluster."""
    for name in _listed(connector.get("topics", ".*")):
        start = _literal_start(name)
        yield topic(start) if start == name else topic(start, PatternType.PREFIXED) if start else topic("*")


def regex_pattern(regex: str) -> ResourcePattern:
    """The narrowest pattern that holds all topics of a regular expression: the literal text that it begins with."""
    start = _literal_start(regex)
    return topic(start) if start == regex else topic(start, PatternType.PREFIXED) if start else topic("*")


def checkpoints_topic(connector: ConnectorConfig) -> str:
    """Where MirrorCheckpoint writes (ReplicationPolicy.checkpointsTopic)."""
    separator = connector.get("replication.policy.separator", ".")
    return f"{connector.get('source.cluster.alias')}{separator}checkpoints{separator}internal"


def mirrored_heartbeats(connector: ConnectorConfig) -> str:
    """What the source cluster's heartbeats are called in the target cluster; IdentityReplicationPolicy renames them."""
    separator = connector.get("replication.policy.separator", ".")
    return f"{connector.get('source.cluster.alias')}{separator}heartbeats"


def offset_syncs_topic(connector: ConnectorConfig) -> str:
    """Where MirrorSource writes the offsets that belong together (ReplicationPolicy.offsetSyncsTopic)."""
    separator = connector.get("replication.policy.separator", ".")
    there = "source" if connector.get("offset-syncs.topic.location") == "target" else "target"
    return f"mm2-offset-syncs{separator}{connector.get(f'{there}.cluster.alias')}{separator}internal"


def _alias_prefix(connector: ConnectorConfig) -> str:
    if connector.get("replication.policy.class").rpartition(".")[2] == "IdentityReplicationPolicy":
        return ""
    return connector.get("source.cluster.alias") + connector.get("replication.policy.separator", ".")


def _literal_start(regex: str) -> str:
    """The text that everything matched by `regex` begins with; the whole of it where it is no pattern.

    A lone dot is taken as itself, as in `orders.eu`: nobody means any character, and topics are full of them.
    """
    if "|" in regex:
        return ""
    plain = regex.replace("\\.", ".")
    found = re.search(r"\.[*+?{]|[\\^$|?*+()\[\]{}]", plain)
    if found is None:
        return plain
    start = plain[: found.start()]
    # `ab*` matches a: the last character belongs to the quantifier.
    return start[:-1] if plain[found.start()] in "*?{" else start


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
