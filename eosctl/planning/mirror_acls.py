"""What the clients need that MirrorMaker 2's connectors make themselves (KIP-382), beside those Connect makes for them.

1. MirrorSource, source cluster: its admin client describes the topics and their configs, its consumer reads them
   (assigned, no group). It creates the offset syncs topic and writes it, in the source cluster unless
   offset-syncs.topic.location says target. Target cluster: its admin client creates topics, adds partitions, and
   alters configs and ACLs where sync.topic.configs.enabled and sync.topic.acls.enabled are not false. Heartbeats
   topics of the source cluster are mirrored too, its own and those that other planned flows bring there, unless
   heartbeats.replication.enabled is false (Kafka 4.0).
2. MirrorCheckpoint, source cluster: its admin client lists groups and their offsets in the topics that its `topics`
   mean and, with its consumer, reads the offset syncs. Target cluster: it creates its checkpoints topic, reads it back,
   and with sync.group.offsets.enabled commits offsets of idle groups in the mirrored topics.
3. MirrorHeartbeat creates the heartbeats topic in the target cluster.
"""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.output_topics import (
    HEARTBEATS,
    checkpoints_topic,
    heartbeats_topics,
    mirrored_heartbeats,
    mirrored_topics,
    mirrors_heartbeats,
    offset_syncs_topic,
    regex_patterns,
    source_topics,
)
from eosctl.model.acl_plan import Need
from eosctl.model.acls import CLUSTER, WILDCARD, Operation, PatternType, ResourcePattern, ResourceType, topic
from eosctl.model.client_properties import listed
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.planning.acl_clients import Client, Planner
from eosctl.planning.worker_acls import creation

MIRRORS: Final = ("MirrorSource", "MirrorCheckpoint", "MirrorHeartbeat")


def plan_mirror(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of one MirrorMaker 2 connector's own clients; none of any other connector."""
    match connector.class_name:
        case "MirrorSource":
            yield from _mirror_source(planner, connector)
        case "MirrorCheckpoint":
            yield from _mirror_checkpoint(planner, connector)
        case "MirrorHeartbeat":
            target = planner.client(connector, ClientRole.MIRROR_TARGET_ADMIN)
            yield from creation(planner, target, HEARTBEATS, "heartbeats topic")


def _mirror_source(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    source = planner.client(connector, ClientRole.MIRROR_SOURCE_ADMIN)
    consumer = planner.client(connector, ClientRole.MIRROR_SOURCE_CONSUMER)
    target = planner.client(connector, ClientRole.MIRROR_TARGET_ADMIN)
    all_exist = all(_exists(planner, target, pattern) for pattern in mirrored_topics(connector))
    for pattern in source_topics(connector):
        yield consumer.needs(
            Operation.READ,
            pattern,
            "the mirrored topics are read in the source cluster",
            source="MirrorSourceTask.poll (KIP-382)",
            symptom="nothing arrives; 'Not authorized to access topics' in the log of the task",
        )
        yield source.needs(
            Operation.DESCRIBE,
            pattern,
            "the topics to mirror are looked for in the source cluster",
            source="MirrorSourceConnector.findSourceTopicPartitions (KIP-382)",
            symptom="the connector finds no topics, and so has no tasks",
        )
        yield source.needs(
            Operation.DESCRIBE_CONFIGS,
            pattern,
            "mirrored topics are created with the configs of the source cluster's",
            source="MirrorSourceConnector.describeTopicConfigs (KIP-382)",
            symptom="'TopicAuthorizationException' while creating partitions; new topics are not mirrored",
            loss="topics that are not mirrored yet, and the copying of topic configs" if all_exist else None,
        )
    yield from _heartbeats(planner, connector)
    yield from _offset_syncs(planner, connector)
    yield from _mirrored(planner, connector, source)


def _heartbeats(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """MirrorSource mirrors heartbeats topics whatever `topics` says (MirrorSourceConnector.shouldReplicateTopic)."""
    flows = [each for cluster in planner.request.clusters for each in cluster.connectors if _is_flow(each)]
    target = frozenset({connector.get("target.cluster.alias")})
    for name in dict.fromkeys(heartbeats_topics(connector.get("source.cluster.alias"), flows, target)):
        if mirrors_heartbeats(connector, name):
            yield from _heartbeats_topic(planner, connector, name)


def _is_flow(connector: ConnectorConfig) -> bool:
    return connector.class_name == "MirrorSource"


def _heartbeats_topic(planner: Planner, connector: ConnectorConfig, name: str) -> Iterator[Need]:
    here, there = topic(name), topic(mirrored_heartbeats(connector, name))
    reads = any(each.covers(here) for each in source_topics(connector))
    writes = any(each.covers(there) for each in mirrored_topics(connector))
    describe, create = (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS), (Operation.DESCRIBE, Operation.CREATE)
    needed = (
        (ClientRole.MIRROR_SOURCE_ADMIN, here, () if reads else describe),
        (ClientRole.MIRROR_SOURCE_CONSUMER, here, () if reads else (Operation.READ,)),
        (ClientRole.PRODUCER, there, () if writes else (Operation.WRITE,)),
        (ClientRole.MIRROR_TARGET_ADMIN, there, () if writes else (*create, Operation.ALTER_CONFIGS)),
    )
    for role, pattern, operations in needed:
        for operation in operations:
            yield planner.client(connector, role).needs(
                operation,
                pattern,
                "heartbeats that another flow wrote into the source cluster are mirrored, whatever `topics` says",
                source="MirrorSourceConnector.shouldReplicateTopic (KIP-382, KIP-1074)",
                symptom="'TopicAuthorizationException' while refreshing topics: no new topic at all is mirrored",
                loss="nothing, unless the source cluster has a heartbeats topic that may be described: then new topics "
                "are not mirrored",
            )


def _offset_syncs(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    if _is_off(connector, "emit.offset-syncs.enabled"):
        return
    name = offset_syncs_topic(connector)
    on_target = connector.get("offset-syncs.topic.location") == "target"
    role = ClientRole.MIRROR_TARGET_ADMIN if on_target else ClientRole.MIRROR_SOURCE_ADMIN
    yield from creation(planner, planner.client(connector, role), name, "offset syncs topic")
    yield planner.client(connector, ClientRole.MIRROR_OFFSET_SYNCS).needs(
        Operation.WRITE,
        topic(name),
        "offsets of both clusters that belong together are written down",
        source="MirrorSourceTask, OffsetSyncWriter (KIP-382, KIP-716)",
        symptom="'Failure sending offset sync' in the log",
        loss="checkpoints: consumer groups cannot be moved to the target cluster",
    )


def _mirrored(planner: Planner, connector: ConnectorConfig, source: Client) -> Iterator[Need]:
    target = planner.client(connector, ClientRole.MIRROR_TARGET_ADMIN)
    for pattern in mirrored_topics(connector):
        yield from _target_topics(planner, connector, target, pattern)
    if _is_off(connector, "sync.topic.acls.enabled"):
        return
    for client, operation in ((source, Operation.DESCRIBE), (target, Operation.ALTER)):
        yield client.needs(
            operation,
            CLUSTER,
            "read ACLs of the source cluster's topics are copied to the target cluster",
            source="MirrorSourceConnector.syncTopicAcls (KIP-382)",
            symptom="'ClusterAuthorizationException' while syncing topic ACLs, again and again",
            loss="the copying of ACLs; set sync.topic.acls.enabled=false to have none tried",
        )


def _exists(planner: Planner, client: Client, pattern: ResourcePattern) -> bool:
    return pattern.pattern_type is PatternType.LITERAL and planner.exists(client, pattern.name) is True


def _target_topics(
    planner: Planner, connector: ConnectorConfig, target: Client, pattern: ResourcePattern
) -> Iterator[Need]:
    yield target.needs(
        Operation.DESCRIBE,
        pattern,
        "the mirrored topics are looked for in the target cluster",
        source="MirrorSourceConnector.findTargetTopicPartitions (KIP-382)",
        symptom="topics that exist are taken for missing: 'Could not create topic' in the log",
        loss="knowing which topics exist: their creation is tried again and again, and partitions are not added",
    )
    if not _exists(planner, target, pattern):
        yield target.needs(
            Operation.CREATE,
            pattern,
            "mirrored topics are created in the target cluster",
            source="MirrorSourceConnector.createNewTopics (KIP-382)",
            symptom="'Could not create topic' in the log; its records are not mirrored",
            loss="topics have to be created by somebody else beforehand",
        )
    yield target.needs(
        Operation.ALTER,
        pattern,
        "partitions are added where the source cluster's topic has more",
        source="MirrorSourceConnector.createNewPartitions (KIP-382)",
        symptom="'Could not create topic-partitions' in the log",
        loss="partitions added to a source topic later",
    )
    if not _is_off(connector, "sync.topic.configs.enabled"):
        yield target.needs(
            Operation.ALTER_CONFIGS,
            pattern,
            "changes of topic configs are copied to the target cluster",
            source="MirrorSourceConnector.syncTopicConfigs (KIP-382)",
            symptom="'Could not alter configuration of topic' in the log",
            loss="the copying of topic configs; set sync.topic.configs.enabled=false to have none tried",
        )


def _mirror_checkpoint(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    source = planner.client(connector, ClientRole.MIRROR_SOURCE_ADMIN)
    target = planner.client(connector, ClientRole.MIRROR_TARGET_ADMIN)
    for pattern in group_patterns(connector):
        yield source.needs(
            Operation.DESCRIBE,
            pattern,
            "the groups' committed offsets are read in the source cluster",
            source="MirrorCheckpointConnector.findConsumerGroups (KIP-382)",
            symptom="the connector finds no groups, and so has no tasks",
        )
    for pattern in source_topics(connector):
        yield source.needs(
            Operation.DESCRIBE,
            pattern,
            "a broker returns a group's offsets only for topics that may be described",
            source="KafkaApis.handleOffsetFetchRequest; MirrorCheckpointTask.shouldCheckpointTopic",
            symptom="groups have no offsets, so no checkpoint is written",
        )
    yield from _offset_syncs_read_back(planner, connector)
    name = checkpoints_topic(connector)
    yield from creation(planner, target, name, "checkpoints topic")
    yield planner.client(connector, ClientRole.MIRROR_TARGET_CONSUMER).needs(
        Operation.READ,
        topic(name),
        "former checkpoints are read back when a task starts",
        source="CheckpointStore.readCheckpoints (KAFKA-15906)",
        symptom="'Not authorized to access' the checkpoints topic in the log; older offsets may be translated again",
        loss="former checkpoints after a restart",
    )
    if connector.get("sync.group.offsets.enabled") == "true":
        yield from _group_offsets(connector, target)


def _offset_syncs_read_back(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    on_target = connector.get("offset-syncs.topic.location") == "target"
    consumer = ClientRole.MIRROR_TARGET_CONSUMER if on_target else ClientRole.MIRROR_SOURCE_CONSUMER
    admin = ClientRole.MIRROR_TARGET_ADMIN if on_target else ClientRole.MIRROR_SOURCE_ADMIN
    name = offset_syncs_topic(connector)
    for role, operation in ((consumer, Operation.READ), (admin, Operation.DESCRIBE)):
        yield planner.client(connector, role).needs(
            operation,
            topic(name),
            "offsets are translated by the offset syncs",
            source="OffsetSyncStore (KIP-382, KIP-716)",
            symptom="tasks FAILED: Not authorized to access topics",
        )


def _group_offsets(connector: ConnectorConfig, target: Client) -> Iterator[Need]:
    mirrored = tuple(mirrored_topics(connector)) or (topic(WILDCARD),)
    for pattern in (*group_patterns(connector), *mirrored):
        yield target.needs(
            Operation.READ,
            pattern,
            "offsets of idle groups are committed in the target cluster",
            source="MirrorCheckpointTask.syncGroupOffset (KIP-545)",
            symptom="'GroupAuthorizationException' or 'TopicAuthorizationException' while syncing offsets",
        )


def group_patterns(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """The groups that MirrorCheckpoint follows, by its `groups`."""
    for each in listed(connector.get("groups", ".*")):
        for found in regex_patterns(each):
            yield ResourcePattern(ResourceType.GROUP, found.name, found.pattern_type)


def _is_off(connector: ConnectorConfig, key: str) -> bool:
    return connector.get(key, "true").strip().lower() == "false"
