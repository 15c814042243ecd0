"""The topics that a source connector writes to, as far as its config shows.

1. Topics that the user named count, and then only those.
2. FileStreamSource: `topic`. MirrorSource: its `topics`, renamed by its replication policy. MirrorCheckpoint and
   MirrorHeartbeat: the topic that the policy names.
3. Debezium's connectors: see `debezium`.
4. Any other connector: `topic`, `kafka.topic` or `topics`, or the topics that begin with `topic.prefix`.
   Only the class of another replication policy knows its names.
5. A RegexRouter, TimestampRouter or ExtractTopic transformation renames topics, so what the config names is not it.
6. Where the config names none, those that Connect saw the connector use (KIP-558).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from eosctl.analysis.client_configs import worker_client
from eosctl.late_pattern import late_pattern
from eosctl.model import acls
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, server_set
from eosctl.model.connectors import HISTORY_KEEPERS, iceberg_sink

# Topics and clients of a Debezium connector, by its config.
#
# 1. Change events go to topics that begin with `topic.prefix` and the delimiter, and so do transaction metadata
#    (AbstractTopicNamingStrategy). The future tables are unknown: it is a prefix.
# 2. Connectors that keep a schema history write schema changes to the topic `topic.prefix` itself, unless
#    include.schema.changes is false.
# 3. With heartbeat.interval.ms the heartbeats go to `topic.heartbeat.prefix`, the delimiter and `topic.prefix`.
# 4. Notifications go to notification.sink.topic.name, where `sink` is among notification.enabled.channels.
# 5. Only the class of another topic.naming.strategy knows its names of the topics of 1 to 3.
# 6. With `kafka` among signal.enabled.channels a consumer of its own reads signals: from partition 0 of
#    signal.kafka.topic, assigned; when it is closed it commits offsets for signal.kafka.groupId (KafkaSignalChannel).


PACKAGE: Final = "io.debezium."
STRATEGIES: Final = "io.debezium.schema."
RENAMING_STRATEGY: Final = "DefaultRegexTopicNamingStrategy"


def is_debezium_source(connector: ConnectorConfig) -> bool:
    return connector.get("connector.class").startswith(PACKAGE) and not connector.is_sink


def debezium_topics(connector: ConnectorConfig) -> Iterator[acls.ResourcePattern]:
    """The topics that the connector writes to, as far as its config shows (rules 1 to 5)."""
    prefix, delimiter = connector.get("topic.prefix"), connector.get("topic.delimiter") or "."
    if prefix and not _names_otherwise(connector):
        yield acls.topic(prefix + delimiter, acls.PatternType.PREFIXED)
        if connector.class_name in HISTORY_KEEPERS and _is_true(connector, "include.schema.changes", "true"):
            yield acls.topic(prefix)
        if connector.get("heartbeat.interval.ms", "0").strip() not in {"", "0"}:
            beginning = connector.get("topic.heartbeat.prefix") or "__debezium-heartbeat"
            yield acls.topic(f"{beginning}{delimiter}{prefix}")
    if "sink" in split_list(connector.get("notification.enabled.channels")) and connector.get(
        "notification.sink.topic.name"
    ):
        yield acls.topic(connector.get("notification.sink.topic.name"))


def signals_topic(connector: ConnectorConfig) -> str | None:
    if not is_debezium_source(connector) or "kafka" not in split_list(connector.get("signal.enabled.channels")):
        return None
    return connector.get("signal.kafka.topic") or f"{connector.get('topic.prefix')}-signal"


def signals_group(connector: ConnectorConfig) -> str:
    """The consumer group under which the connector commits its position in the signals topic."""
    return connector.get("signal.consumer.group.id") or connector.get("signal.kafka.groupId") or "kafka-signal"


def _names_otherwise(connector: ConnectorConfig) -> bool:
    strategy = connector.get("topic.naming.strategy").strip()
    own = bool(strategy) and not strategy.startswith(STRATEGIES)
    return own or strategy.endswith(RENAMING_STRATEGY)


def _is_true(connector: ConnectorConfig, key: str, default: str) -> bool:
    return connector.get(key, default).strip().lower() == "true"


HEARTBEATS: Final = "heartbeats"
NAMING_SETTINGS: Final = ("topic", "kafka.topic", "topics")
DEFAULT_POLICY: Final = "DefaultReplicationPolicy"
IDENTITY_POLICY: Final = "IdentityReplicationPolicy"
POLICIES: Final = (DEFAULT_POLICY, IDENTITY_POLICY)
_GROUPING: Final = late_pattern(r"[(\[]|\\[|Q]")
_SPECIAL: Final = late_pattern(r"\.[*+?{]|[\\^$|?*+()\[\]{}]")
ROUTERS: Final = ("RegexRouter", "TimestampRouter", "ExtractTopic", "EventRouter", "ByLogicalTableRouter")


def output_topics(connector: ConnectorConfig) -> tuple[acls.ResourcePattern, ...]:
    """Patterns of the topics that the connector writes records to; empty where they are not known."""
    return named_or_configured(connector) or tuple(map(acls.topic, connector.active_topics))


def named_or_configured(connector: ConnectorConfig) -> tuple[acls.ResourcePattern, ...]:
    """Patterns that the user named, otherwise those in the config; empty if it shows none."""
    if connector.topics:
        return tuple(map(named_pattern, connector.topics))
    if renames_topics(connector) or has_own_policy(connector):
        return ()
    return tuple(_configured(connector))


def named_pattern(name: str) -> acls.ResourcePattern:
    """The pattern of `name` on a command line: a trailing `*` makes a prefix."""
    if name.endswith("*") and len(name) > 1:
        return acls.topic(name[:-1], acls.PatternType.PREFIXED)
    return acls.topic(name)


def renames_topics(connector: ConnectorConfig) -> bool:
    """Whether a transformation of Kafka's, Confluent's or Debezium's that renames topics is configured."""
    kinds = [connector.get(f"transforms.{alias}.type") for alias in split_list(connector.get("transforms"))]
    return any(kind.rpartition(".")[2].partition("$")[0] in ROUTERS for kind in kinds)


def has_own_policy(connector: ConnectorConfig) -> bool:
    """True for a MirrorSource whose replication policy is not one of Kafka's, by class name."""
    return connector.class_name == "MirrorSource" and _policy(connector) not in POLICIES


def _policy(connector: ConnectorConfig) -> str:
    return connector.get("replication.policy.class").rpartition(".")[2] or DEFAULT_POLICY


def _configured(connector: ConnectorConfig) -> Iterator[acls.ResourcePattern]:
    match connector.class_name:
        case "MirrorSource":
            yield from mirrored_topics(connector)
        case "MirrorCheckpoint":
            yield acls.topic(checkpoints_topic(connector))
        case "MirrorHeartbeat":
            yield acls.topic(HEARTBEATS)
        case _ if is_debezium_source(connector):
            yield from debezium_topics(connector)
        case _:
            for setting in NAMING_SETTINGS:
                yield from map(acls.topic, split_list(connector.get(setting)))
            if connector.get("topic.prefix"):
                yield acls.topic(connector.get("topic.prefix"), acls.PatternType.PREFIXED)


def mirrored_topics(connector: ConnectorConfig) -> Iterator[acls.ResourcePattern]:
    """The target cluster's names of MirrorSource's `topics` (ReplicationPolicy.formatRemoteTopic).

    Where the policy is unknown, the names that the user gave.
    """
    if _policy(connector) not in POLICIES:
        yield from map(named_pattern, connector.topics)
        return
    prefix = _alias_prefix(connector)
    for pattern in source_topics(connector):
        if pattern.is_wildcard:
            yield acls.topic(prefix, acls.PatternType.PREFIXED) if prefix else pattern
        else:
            yield acls.topic(prefix + pattern.name, pattern.pattern_type)


def source_topics(connector: ConnectorConfig) -> Iterator[acls.ResourcePattern]:
    """The topics that MirrorSource reads in the source cluster."""
    for regex in split_list(connector.get("topics", ".*")):
        yield from regex_patterns(regex)


def regex_patterns(regex: str) -> Iterator[acls.ResourcePattern]:
    """The narrowest patterns that hold all topics of a regular expression: the literal start of each branch.

    It has to match whole names, so `^` at its beginning and `$` at its end say nothing.
    """
    branches = [regex] if _GROUPING.search(regex) else regex.split("|")
    for branch in branches:
        start, is_whole = _literal_start(branch.removeprefix("^").removesuffix("$"))
        if is_whole:
            yield acls.topic(start)
        else:
            yield acls.topic(start, acls.PatternType.PREFIXED) if start else acls.topic(acls.WILDCARD)


def checkpoints_topic(connector: ConnectorConfig) -> str:
    """The topic of MirrorCheckpoint (ReplicationPolicy.checkpointsTopic)."""
    separator = _internal_separator(connector)
    return f"{connector.get('source.cluster.alias')}{separator}checkpoints{separator}internal"


def mirrored_heartbeats(connector: ConnectorConfig, name: str) -> str:
    """The target cluster's name of the source cluster's heartbeats topic `name`; every policy renames it."""
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
    return not is_off or any(each.covers(acls.topic(name)) for each in source_topics(connector))


def offset_syncs_topic(connector: ConnectorConfig) -> str:
    """The topic of MirrorSource's offset syncs (ReplicationPolicy.offsetSyncsTopic)."""
    separator = _internal_separator(connector)
    there = "source" if connector.get("offset-syncs.topic.location") == "target" else "target"
    return f"mm2-offset-syncs{separator}{connector.get(f'{there}.cluster.alias')}{separator}internal"


def _internal_separator(connector: ConnectorConfig) -> str:
    """The separator in internal topics' names; since Kafka 3.6 it can stay a dot."""
    kept = connector.get("replication.policy.internal.topic.separator.enabled", "true").strip().lower()
    return connector.get("replication.policy.separator", ".") if kept == "true" else "."


def _alias_prefix(connector: ConnectorConfig) -> str:
    if _policy(connector) == IDENTITY_POLICY:
        return ""
    return connector.get("source.cluster.alias") + connector.get("replication.policy.separator", ".")


def _literal_start(regex: str) -> tuple[str, bool]:
    """The text that everything matched by `regex` begins with, and whether that is all there is to it.

    A lone dot is taken literally, as in `orders.eu`, because dots in topic names are common.
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


def bootstrap_addresses(
    clusters: Sequence[ConnectCluster], addresses: frozenset[str], given: str | None = None
) -> frozenset[str]:
    """The cluster with these addresses, by the bootstrap servers that configs give it.

    1. The value of --cluster.
    2. The first worker's bootstrap.servers of which one is an address of the cluster.
    3. The first worker's: configs may name another listener, or another name of the host, than -b does.
    """
    if given is not None:
        return server_set(given)
    workers = [worker_client(each).bootstrap_servers for cluster in clusters for each in cluster.workers]
    return next((each for each in workers if not each.isdisjoint(addresses)), workers[0])


def topics_of(clusters: Sequence[ConnectCluster]) -> frozenset[str]:
    """Every topic that a plan of these clusters' ACLs may name."""
    names = {name for cluster in clusters for worker in cluster.workers for name in worker.internal_topics}
    for connector in (each for cluster in clusters for each in cluster.connectors):
        own = (connector.offsets_topic, connector.get("errors.deadletterqueue.topic.name").strip())
        names |= {name for name in own if name}
        if (iceberg := iceberg_sink(connector.name, connector.values)) is not None:
            names.add(iceberg.control_topic)
        if not connector.is_sink:
            patterns = output_topics(connector)
            names |= {
                each.name for each in patterns if each.pattern_type is acls.PatternType.LITERAL and each.name != "*"
            }
    return frozenset(names)
