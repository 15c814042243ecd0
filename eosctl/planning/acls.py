"""The ACLs of whole Connect clusters: the needs of all clients, each binding once, and the findings.

1. Every worker's own needs, then those of its connectors: sources, sinks, Iceberg's, MirrorMaker 2's, Debezium's, then
   eosctl's own.
2. One binding for equal needs of one principal in one cluster; its reasons are kept. Clients whose bootstrap.servers
   share an address are clients of one cluster.
3. A need is dropped where the same principal has a binding on the same pattern that implies it (Write implies Describe)
   and that is at least as much required. Its reasons move there.
4. Names that are references to a config provider are findings: only a worker knows what they stand for. So are those
   that no topic can have.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.acl_findings import find_in_acls
from eosctl.analysis.authorizer import allows
from eosctl.analysis.catalogue.plans import REFERENCE_UNRESOLVED
from eosctl.analysis.output_topics import (
    HEARTBEATS,
    checkpoints_topic,
    heartbeats_topics,
    mirrored_heartbeats,
    mirrored_topics,
    mirrors_heartbeats,
    offset_syncs_topic,
    output_topics,
    regex_patterns,
    source_topics,
)
from eosctl.analysis.source_stores import connector_offsets_topic
from eosctl.codecs.client_properties import SubjectOf
from eosctl.model.acl_plan import AclPlan, AclRequest, Need, PlannedBinding, Reason
from eosctl.model.acls import (
    CLUSTER,
    IMPLIED_BY,
    WILDCARD,
    AclBinding,
    Operation,
    PatternType,
    ResourcePattern,
    ResourceType,
    topic,
    transactional_id,
)
from eosctl.model.acls import group as group_pattern
from eosctl.model.client_properties import REFERENCE, split_list
from eosctl.model.client_roles import ClientConfig, ClientRole, ConnectCluster, ConnectorConfig, StreamsApplication
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import is_topic_name, leader_transactional_id
from eosctl.model.report import Finding
from eosctl.model.versions import KafkaVersion
from eosctl.planning.client_acls import (
    Client,
    Planner,
    PrincipalResolver,
    creation,
    plan_debezium,
    plan_iceberg,
    plan_sink,
    plan_source,
    plan_worker,
    task_id_patterns,
)

# ACLs for the clients that MirrorMaker 2's connectors create themselves (KIP-382), in addition to the clients of
# Connect.
#
# 1. MirrorSource, source cluster: its admin client describes the topics and their configs, its consumer reads them
#    (assigned, no group). It creates the offset syncs topic and writes it, in the source cluster unless
#    offset-syncs.topic.location says target. Target cluster: its admin client creates topics, adds partitions, and
#    alters configs and ACLs where sync.topic.configs.enabled and sync.topic.acls.enabled are not false. Heartbeats
#    topics of the source cluster are mirrored too, its own and those that other planned flows bring there, unless
#    heartbeats.replication.enabled is false (Kafka 4.0).
# 2. MirrorCheckpoint, source cluster: its admin client lists groups and their offsets in the topics that its `topics`
#    mean and, with its consumer, reads the offset syncs. Target cluster: it creates its checkpoints topic, reads it
#    back, and with sync.group.offsets.enabled commits offsets of idle groups in the mirrored topics.
# 3. MirrorHeartbeat creates the heartbeats topic in the target cluster.


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
    all_exist = all(planner.is_there(target, pattern) for pattern in mirrored_topics(connector))
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
                "heartbeats of another flow into the source cluster are mirrored, regardless of `topics`",
                source="MirrorSourceConnector.shouldReplicateTopic (KIP-382, KIP-1074)",
                symptom="'TopicAuthorizationException' while refreshing topics: no new topic is mirrored",
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
    if not planner.is_there(target, pattern):
        yield target.needs(
            Operation.CREATE,
            pattern,
            "mirrored topics are created in the target cluster",
            source="MirrorSourceConnector.createNewTopics (KIP-382)",
            symptom="'Could not create topic' in the log; its records are not mirrored",
            loss="another principal has to create topics beforehand",
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
    for each in split_list(connector.get("groups", ".*")):
        for found in regex_patterns(each):
            yield ResourcePattern(ResourceType.GROUP, found.name, found.pattern_type)


def _is_off(connector: ConnectorConfig, key: str) -> bool:
    return connector.get(key, "true").strip().lower() == "false"


# ACLs for a Kafka Streams application with exactly_once_v2 (KIP-447).
#
# 1. Its group is its application.id. Its threads are members, and commit their offsets in transactions.
# 2. A thread's transactional ID is `<application.id>-<UUID of the process>-<number of the thread>`. The UUID is new
#    with each state directory, so the IDs are granted by their prefix.
# 3. Its repartition and changelog topics begin with `<application.id>-`, too. It creates them, writes and reads them,
#    and deletes the records of repartition topics that it has processed. Its topology is not known, so all of it is
#    granted.
# 4. Its clients write in transactions only: no ACL on the cluster is needed.


def plan_streams(application: StreamsApplication, client: Client) -> Iterator[Need]:
    """The needs of the application's clients, which have one principal."""
    name = application.application_id
    own = ResourcePattern(ResourceType.TRANSACTIONAL_ID, f"{name}-", PatternType.PREFIXED)
    yield client.needs(
        Operation.READ,
        group_pattern(name),
        "the threads join the application's group, and commit its offsets",
        source="StreamThread.pollPhase; KafkaApis.handleJoinGroupRequest, handleTxnOffsetCommitRequest",
        symptom=f"the application ends: GroupAuthorizationException: Not authorized to access group: {name}",
    )
    yield client.needs(
        Operation.WRITE,
        own,
        "each thread writes in transactions under an ID of its own",
        source="StreamsProducer.initTransaction (KIP-447)",
        symptom="the application ends: TransactionalIdAuthorizationException",
    )
    for each in application.reads:
        yield client.needs(
            Operation.READ,
            topic(each),
            "the application reads this topic",
            source="StreamThread.pollRequests; KafkaApis.handleFetchRequest",
            symptom=f"the application ends: TopicAuthorizationException: Not authorized to access topics: [{each}]",
        )
    for each in application.writes:
        yield client.needs(
            Operation.WRITE,
            topic(each),
            "the application writes its results there",
            source="StreamsProducer.send; KafkaApis.handleProduceRequest",
            symptom=f"the application ends: TopicAuthorizationException: Not authorized to access topics: [{each}]",
        )
    yield from _internal_topics(ResourcePattern(ResourceType.TOPIC, f"{name}-", PatternType.PREFIXED), client)


def _internal_topics(own: ResourcePattern, client: Client) -> Iterator[Need]:
    yield client.needs(
        Operation.CREATE,
        own,
        "the application creates its repartition and changelog topics",
        source="InternalTopicManager.makeReady",
        symptom="the application ends: Could not create topic",
    )
    yield client.needs(
        Operation.READ,
        own,
        "repartition topics are processed, and changelog topics are restored",
        source="StoreChangelogReader.restore; KafkaApis.handleFetchRequest",
        symptom="the application ends: TopicAuthorizationException",
    )
    yield client.needs(
        Operation.WRITE,
        own,
        "records are repartitioned, and state stores log their changes",
        source="RecordCollectorImpl.send; KafkaApis.handleProduceRequest",
        symptom="the application ends: TopicAuthorizationException",
    )
    yield client.needs(
        Operation.DELETE,
        own,
        "processed records of repartition topics, which have no retention, are deleted",
        source="TaskManager.maybePurgeCommittedRecords; KafkaApis.handleDeleteRecordsRequest",
        symptom="'Previous delete-records request has failed' in the log; repartition topics grow without end",
        loss="repartition topics grow without end",
    )


# The ACLs of eosctl's own principal: to read, and if planned, to fence, to move offsets and to change ACLs.


ABORT_WITH_ALTER: Final = KafkaVersion(3, 8)


def plan_eosctl(planner: Planner) -> Iterator[Need]:
    """The needs of eosctl besides one worker; empty if its principal was not named."""
    if (ClientRole.EOSCTL, None) not in planner.request.principals:
        return
    client = planner.book.client(ClientConfig(ClientRole.EOSCTL, None, planner.worker.properties))
    for name in planner.worker.internal_topics:
        yield from _reading(client, name)
    yield from _moving(planner, client, planner.worker.offsets_topic)
    yield from _transactional_ids(client, [transactional_id(leader_transactional_id(planner.group_id))])
    for connector in planner.sources:
        yield from _beside(planner, client, connector)
    yield client.needs(
        Operation.DESCRIBE,
        group_pattern(planner.group_id),
        "the members of the Connect cluster are described",
        source="KafkaApis.handleDescribeGroupsRequest",
        symptom="eosctl upgrade-check cannot tell whether all workers were asked",
    )
    yield client.needs(
        Operation.DESCRIBE,
        CLUSTER,
        "the cluster's ACLs are read",
        source="AclApis.handleDescribeAcls",
        symptom="eosctl acl-plan ends with exit code 5",
    )
    yield client.needs(
        Operation.DESCRIBE,
        topic(CONSUMER_OFFSETS),
        "to check that every group has a coordinator: groups without one are in no list",
        source="KafkaApis.handleTopicMetadataRequest",
        symptom="eosctl fence refuses an ID that a group may have which it may not describe",
        loss="knowing that a Connect group does not exist",
    )
    yield from _writing(planner, client)


def _beside(planner: Planner, client: Client, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of eosctl for one source connector, in the cluster that the connector writes to."""
    there = replace(client, cluster=planner.client(connector, ClientRole.PRODUCER).cluster)
    name = connector_offsets_topic(planner.worker, connector, exactly_once=planner.exactly_once)
    if name is not None:
        yield from _reading(there, name)
        yield from _moving(planner, there, name)
    yield from _auditing(there, connector)
    yield from _transactional_ids(there, task_id_patterns(planner, connector))


def _auditing(client: Client, connector: ConnectorConfig) -> Iterator[Need]:
    """The connector's output, as far as its config names the topics."""
    for pattern in output_topics(connector):
        yield client.needs(
            Operation.READ,
            pattern,
            "what connectors wrote there is audited, and looked through for hanging transactions",
            source="KafkaApis.handleFetchRequest, handleDescribeProducersRequest",
            symptom="eosctl audit and eosctl transactions hanging end with exit code 5",
            loss="auditing this topic, and finding hanging transactions in it",
        )
        yield client.needs(
            Operation.DESCRIBE_CONFIGS,
            pattern,
            "whether what connectors commit there survives the loss of a broker is checked",
            source="KafkaApis.handleDescribeConfigsRequest",
            symptom="eosctl doctor cannot tell of EOS150 and EOS151",
            loss="findings about the topic's settings",
        )


def _writing(planner: Planner, client: Client) -> Iterator[Need]:
    markers = (
        (Operation.CLUSTER_ACTION, "KafkaApis.handleWriteTxnMarkersRequest")
        if planner.request.broker_version < ABORT_WITH_ALTER
        else (Operation.ALTER, "KafkaApis.handleWriteTxnMarkersRequest (KAFKA-16513)")
    )
    aborting = "aborting hanging transactions"
    for operation, source, what, command, loss in (
        (Operation.ALTER, "AclApis.handleCreateAcls", "ACLs are created and removed", "apply", "applying ACL plans"),
        (*markers, "hanging transactions are aborted", "transactions abort", aborting),
    ):
        yield client.needs(
            operation,
            CLUSTER,
            what,
            source=source,
            symptom=f"eosctl {command} ends with exit code 5",
            loss=loss,
        )


def _reading(client: Client, name: str) -> Iterator[Need]:
    yield client.needs(
        Operation.READ,
        topic(name),
        "the topic is read record by record",
        source="KafkaApis.handleFetchRequest, handleDescribeProducersRequest",
        symptom="eosctl inspect-config and eosctl offsets end with exit code 5",
    )
    yield client.needs(
        Operation.DESCRIBE_CONFIGS,
        topic(name),
        "cleanup.policy of the topic is checked",
        source="KafkaApis.handleDescribeConfigsRequest",
        symptom="findings about the topic's settings are reported as not checked",
        loss="findings about the topic's settings",
    )


def _moving(planner: Planner, client: Client, name: str) -> Iterator[Need]:
    """Write and, where the topic may not exist, Create on an offsets topic: optional, for eosctl may only read."""
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "offsets are moved there, or restored",
        source="KafkaApis.handleProduceRequest",
        symptom="eosctl migrate-offsets and eosctl offsets restore end with exit code 5",
        loss="moving offsets into this topic, and restoring them",
    )
    if not planner.is_there(client, topic(name)):
        yield client.needs(
            Operation.CREATE,
            topic(name),
            "offsets are moved there, and the topic may not exist",
            source="ControllerApis.handleCreateTopics",
            symptom="eosctl migrate-offsets ends with exit code 5",
            loss="moving offsets into this topic before it exists",
        )


def _transactional_ids(client: Client, patterns: Iterable[ResourcePattern]) -> Iterator[Need]:
    for pattern in patterns:
        yield client.needs(
            Operation.DESCRIBE,
            pattern,
            "its transaction is described",
            source="KafkaApis.handleDescribeTransactionsRequest (KIP-664)",
            symptom="eosctl fence and eosctl transactions end with exit code 5; listings leave the ID out",
        )
        yield client.needs(
            Operation.WRITE,
            pattern,
            "its producer is fenced; offsets are moved in a transaction of task 0's",
            source="KafkaApis.handleInitProducerIdRequest",
            symptom="eosctl fence and eosctl migrate-offsets end with exit code 5",
            loss="fencing, and moving offsets",
        )


_Place = tuple[frozenset[str], AclBinding]
_Reasons = tuple[Reason] | dict[Reason, None]
"""Different reasons in the order in which they came: nearly every binding has one, and some have thousands."""
_CAN_BE_IMPLIED: Final = frozenset(IMPLIED_BY)


def plan_acls(request: AclRequest, subject_of: SubjectOf) -> AclPlan:
    """The bindings that the clusters of `request` need; raises ConfigError where a principal is not known."""
    book = PrincipalResolver(request, subject_of)
    needs = [need for cluster in request.clusters for need in _needs_of(request, book, cluster)]
    if request.streams is not None:
        client = book.client(ClientConfig(ClientRole.STREAMS, None, {}))
        needs += plan_streams(request.streams, replace(client, cluster=request.here or frozenset()))
    book.require()
    named = [each for each in needs if not _is_reference(each) and _is_possible(each)]
    findings = (*find_in_acls(request), *_references(each for each in needs if _is_reference(each)))
    return AclPlan(tuple(merge_needs(named, request.here or frozenset())), findings)


def _is_reference(need: Need) -> bool:
    """Rule 4; a connector may itself be called like a reference."""
    name = need.binding.pattern.name
    if "${" not in name:
        return False
    connector = need.reason.connector
    return REFERENCE.search(name if connector is None else name.replace(connector, "")) is not None


def _is_possible(need: Need) -> bool:
    """True if a connector's topic has a legal name (Topic.validate); findings name connectors that cannot run."""
    pattern = need.binding.pattern
    if pattern.resource_type is not ResourceType.TOPIC or pattern.is_wildcard or need.reason.connector is None:
        return True
    return is_topic_name(f"{pattern.name}-" if pattern.pattern_type is PatternType.PREFIXED else pattern.name)


def _references(needs: Iterable[Need]) -> Iterator[Finding]:
    places = dict.fromkeys((each.reason.connector or "a worker", each.binding.pattern) for each in needs)
    for connector, pattern in places:
        yield REFERENCE_UNRESOLVED.finding(
            connector,
            f"it names {pattern}, a reference that only a worker resolves: no ACL on it is planned",
            {"resource": str(pattern)},
        )


def _needs_of(request: AclRequest, book: PrincipalResolver, cluster: ConnectCluster) -> Iterator[Need]:
    for worker in cluster.workers:
        phase = request.phase or worker.phase
        assert phase is not None, "AclRequest asks for workers whose phase is known"
        planner = Planner(request, worker, book, phase, cluster.connectors)
        yield from plan_worker(planner)
        for connector in cluster.connectors:
            yield from _connector_needs(planner, connector)
        yield from plan_eosctl(planner)


def _connector_needs(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    if connector.is_sink:
        yield from plan_sink(planner, connector)
        yield from plan_iceberg(planner, connector)
    else:
        yield from plan_source(planner, connector)
        yield from plan_mirror(planner, connector)
        yield from plan_debezium(planner, connector)


def merge_needs(needs: Sequence[Need], here: frozenset[str] = frozenset()) -> Iterator[PlannedBinding]:
    """Each needed binding once, by principal, resource and operation; `here` are addresses of one cluster."""
    reasons: dict[_Place, _Reasons] = {}
    clusters = merge_overlapping([here, *{cluster for _, cluster, _ in needs}])
    for binding, addresses, reason in needs:
        place = (clusters[addresses], binding)
        found = reasons.get(place)
        if found is None:
            reasons[place] = (reason,)
        elif isinstance(found, dict):
            found[reason] = None
        elif reason not in found:
            reasons[place] = dict.fromkeys((*found, reason))
    _drop_implied(reasons)
    for cluster in sorted({cluster for cluster, _ in reasons}, key=sorted):
        for place in sorted((each for each in reasons if each[0] == cluster), key=itemgetter(1)):
            yield _planned(place, reasons[place])


def merge_overlapping(clusters: Iterable[frozenset[str]]) -> dict[frozenset[str], frozenset[str]]:
    """For each set of bootstrap servers all addresses of its cluster, as far as the sets overlap."""
    given = tuple(clusters)
    known: dict[str, frozenset[str]] = {}
    for addresses in given:
        joined = addresses.union(*(known.get(each, addresses) for each in addresses))
        known |= dict.fromkeys(joined, joined)
    return {addresses: known[next(iter(addresses))] if addresses else addresses for addresses in given}


def _drop_implied(reasons: dict[_Place, _Reasons]) -> None:
    """Rule 3: needs that another binding of the same principal on the same pattern implies go, their reasons stay."""
    implied = [each for each in reasons if each[1].operation in _CAN_BE_IMPLIED]
    beside: dict[tuple[frozenset[str], str, ResourcePattern], list[_Place]] = {
        (cluster, binding.principal, binding.pattern): [] for cluster, binding in implied
    }
    for place in reasons if beside else ():
        cluster, binding = place
        there = beside.get((cluster, binding.principal, binding.pattern))
        if there is not None:
            there.append(place)
    for place in implied:
        cluster, binding = place
        for other in beside[cluster, binding.principal, binding.pattern]:
            if other is not place and _takes_over(reasons, other, place):
                reasons[other] = dict.fromkeys((*reasons[other], *reasons.pop(place)))
                break


def _takes_over(reasons: dict[_Place, _Reasons], implying: _Place, implied: _Place) -> bool:
    if not allows(implying[1].operation, implied[1].operation):
        return False
    return any(each.loss is None for each in reasons[implying]) or all(
        each.loss is not None for each in reasons[implied]
    )


def _planned(place: _Place, reasons: _Reasons) -> PlannedBinding:
    cluster, binding = place
    return PlannedBinding(binding, cluster, tuple(sorted(reasons, key=_is_optional)))


def _is_optional(reason: Reason) -> bool:
    return reason.loss is not None
