"""Which topics a source connector writes to, as far as its config shows.

1. Topics that somebody named count, and then only those.
2. FileStreamSource: `topic`. MirrorSource: its `topics`, renamed by its replication policy. MirrorCheckpoint and
   MirrorHeartbeat: the topic that the policy names.
3. Debezium's connectors: see `debezium`.
4. Any other connector: `topic`, `kafka.topic` or `topics`, or the topics that begin with `topic.prefix`.
   A replication policy of somebody else's class names them as only that class knows.
5. A RegexRouter, TimestampRouter or ExtractTopic transformation renames topics, so what the config names is not it.
6. Where the config names none, those that Connect saw the connector use (KIP-558).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from eosctl.analysis.debezium import debezium_topics, is_debezium_source
from eosctl.model.acls import WILDCARD, PatternType, ResourcePattern, topic
from eosctl.model.client_properties import listed
from eosctl.model.client_roles import ConnectorConfig

HEARTBEATS: Final = "heartbeats"
NAMING_SETTINGS: Final = ("topic", "kafka.topic", "topics")
DEFAULT_POLICY: Final = "DefaultReplicationPolicy"
IDENTITY_POLICY: Final = "IdentityReplicationPolicy"
POLICIES: Final = (DEFAULT_POLICY, IDENTITY_POLICY)
_GROUPING: Final = re.compile(r"[(\[]|\\[|Q]")
_SPECIAL: Final = re.compile(r"\.[*+?{]|[\\^$|?*+()\[\]{}]")
ROUTERS: Final = ("RegexRouter", "TimestampRouter", "ExtractTopic", "EventRouter", "ByLogicalTableRouter")


def output_topics(connector: ConnectorConfig) -> tuple[ResourcePattern, ...]:
    """Patterns of the topics that the connector writes records to; empty where they are not known."""
    return named_or_told(connector) or tuple(map(topic, connector.active_topics))


def named_or_told(connector: ConnectorConfig) -> tuple[ResourcePattern, ...]:
    """Those of them that somebody named, otherwise those that its config shows; empty where it does not."""
    if connector.topics:
        return tuple(map(named_pattern, connector.topics))
    if renames_topics(connector) or has_own_policy(connector):
        return ()
    return tuple(_told(connector))


def named_pattern(name: str) -> ResourcePattern:
    """The pattern that somebody means by `name`: a trailing `*` after something makes a prefix."""
    if name.endswith("*") and len(name) > 1:
        return topic(name[:-1], PatternType.PREFIXED)
    return topic(name)


def renames_topics(connector: ConnectorConfig) -> bool:
    """Whether a transformation of Kafka's, Confluent's or Debezium's that renames topics is configured."""
    kinds = [connector.get(f"transforms.{alias}.type") for alias in listed(connector.get("transforms"))]
    return any(kind.rpartition(".")[2].partition("$")[0] in ROUTERS for kind in kinds)


def has_own_policy(connector: ConnectorConfig) -> bool:
    """Whether it is a MirrorSource with a replication policy that is none of Kafka's, nor of such a name."""
    return connector.class_name == "MirrorSource" and _policy(connector) not in POLICIES


def _policy(connector: ConnectorConfig) -> str:
    return connector.get("replication.policy.class").rpartition(".")[2] or DEFAULT_POLICY


def _told(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    match connector.class_name:
        case "MirrorSource":
            yield from mirrored_topics(connector)
        case "MirrorCheckpoint":
            yield topic(checkpoints_topic(connector))
        case "MirrorHeartbeat":
            yield topic(HEARTBEATS)
        case _ if is_debezium_source(connector):
            yield from debezium_topics(connector)
        case _:
            for setting in NAMING_SETTINGS:
                yield from map(topic, listed(connector.get(setting)))
            if connector.get("topic.prefix"):
                yield topic(connector.get("topic.prefix"), PatternType.PREFIXED)


def mirrored_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """What MirrorSource's `topics` are called in the target cluster (ReplicationPolicy.formatRemoteTopic).

    Where the policy is not known, those that somebody named.
    """
    if _policy(connector) not in POLICIES:
        yield from map(named_pattern, connector.topics)
        return
    prefix = _alias_prefix(connector)
    for pattern in source_topics(connector):
        if pattern.is_wildcard:
            yield topic(prefix, PatternType.PREFIXED) if prefix else pattern
        else:
            yield topic(prefix + pattern.name, pattern.pattern_type)


def source_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """The topics that MirrorSource reads in the source cluster."""
    for regex in listed(connector.get("topics", ".*")):
        yield from regex_patterns(regex)


def regex_patterns(regex: str) -> Iterator[ResourcePattern]:
    """The narrowest patterns that hold all topics of a regular expression: what each branch begins with.

    It has to match whole names, so `^` at its beginning and `$` at its end say nothing.
    """
    branches = [regex] if _GROUPING.search(regex) else regex.split("|")
    for branch in branches:
        start, is_whole = _literal_start(branch.removeprefix("^").removesuffix("$"))
        if is_whole:
            yield topic(start)
        else:
            yield topic(start, PatternType.PREFIXED) if start else topic(WILDCARD)


def checkpoints_topic(connector: ConnectorConfig) -> str:
    """Where MirrorCheckpoint writes (ReplicationPolicy.checkpointsTopic)."""
    separator = _internal_separator(connector)
    return f"{connector.get('source.cluster.alias')}{separator}checkpoints{separator}internal"


def mirrored_heartbeats(connector: ConnectorConfig, name: str) -> str:
    """What the source cluster's heartbeats topic `name` is called in the target cluster; every policy renames it."""
    return connector.get("source.cluster.alias") + connector.get("replication.policy.separator", ".") + name


def heartbeats_topics(alias: str, flows: Sequence[ConnectorConfig], passed: frozenset[str]) -> Iterator[str]:
    """The heartbeats topics of the cluster `alias`: its own, and those that MirrorSource connectors (`flows`) bring.

    Those that come through a cluster of `passed` are not mirrored any further (MirrorSourceConnector.isCycle).
    """
    yield HEARTBEATS
    for flow in flows:
        source = flow.get("source.cluster.alias")
        if flow.get("target.cluster.alias") == alias and source not in passed:
            for name in heartbeats_topics(source, flows, passed | {alias}):
                if mirrors_heartbeats(flow, name):
                    yield mirrored_heartbeats(flow, name)


def mirrors_heartbeats(connector: ConnectorConfig, name: str) -> bool:
    """Whether MirrorSource mirrors this heartbeats topic (MirrorSourceConnector.shouldReplicateTopic, KIP-1074)."""
    is_off = connector.get("heartbeats.replication.enabled", "true").strip().lower() == "false"
    return not is_off or any(each.covers(topic(name)) for each in source_topics(connector))


def offset_syncs_topic(connector: ConnectorConfig) -> str:
    """Where MirrorSource writes the offsets that belong together (ReplicationPolicy.offsetSyncsTopic)."""
    separator = _internal_separator(connector)
    there = "source" if connector.get("offset-syncs.topic.location") == "target" else "target"
    return f"mm2-offset-syncs{separator}{connector.get(f'{there}.cluster.alias')}{separator}internal"


def _internal_separator(connector: ConnectorConfig) -> str:
    """What stands between the parts of an internal topic's name (since 3.6 it can be kept a dot)."""
    kept = connector.get("replication.policy.internal.topic.separator.enabled", "true").strip().lower()
    return connector.get("replication.policy.separator", ".") if kept == "true" else "."


def _alias_prefix(connector: ConnectorConfig) -> str:
    if _policy(connector) == IDENTITY_POLICY:
        return ""
    return connector.get("source.cluster.alias") + connector.get("replication.policy.separator", ".")


def _literal_start(regex: str) -> tuple[str, bool]:
    """The text that everything matched by `regex` begins with, and whether that is all there is to it.

    A lone dot is taken as itself, as in `orders.eu`: nobody means any character, and topics are full of them.
    """
    if "|" in regex:
        return "", False
    plain = regex.replace("\\.", ".")
    found = _SPECIAL.search(plain)
    if found is None:
        return plain, True
    start = plain[: found.start()]
    # `ab*` matches a: the last character belongs to the quantifier.
    return (start[:-1] if plain[found.start()] in "*?{" else start), False
