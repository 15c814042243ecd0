"""The clients of one worker and its connectors, with their principals: where every planned binding starts."""

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from eosctl.analysis.client_configs import connector_client, worker_client
from eosctl.analysis.output_topics import named_pattern, output_topics, regex_patterns, signals_group, signals_topic
from eosctl.analysis.source_stores import connector_offsets_topic, uses_worker_store
from eosctl.codecs.client_properties import SubjectOf, Unresolved, resolve_principal
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclRequest, Need, Reason, same_cluster
from eosctl.model.acls import (
    CLUSTER,
    AclBinding,
    Operation,
    PatternType,
    ResourcePattern,
    group,
    topic,
    transactional_id,
)
from eosctl.model.acls import group as group_pattern
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import CONNECTOR, OTHER, ClientConfig, ClientRole, ConnectorConfig, WorkerConfig
from eosctl.model.connectors import IcebergSink, iceberg_sink
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.text import first_few
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.model.workers import SourceSupport, connector_path

Principals = Callable[[ClientConfig], str]


class Client(Struct, frozen=True):
    """A client that is known by principal; its needs are made here. cluster is its bootstrap servers."""

    config: ClientConfig
    principal: str
    cluster: frozenset[str]

    def needs(
        self,
        operation: Operation,
        pattern: ResourcePattern,
        why: str,
        *,
        source: str,
        symptom: str,
        loss: str | None = None,
    ) -> Need:
        """That this client needs `operation` on `pattern`, and why."""
        reason = Reason(self.config.role, self.config.connector, why, source, symptom, loss)
        return Need(AclBinding(self.principal, operation, pattern), self.cluster, reason)


class PrincipalResolver:
    """Principals of clients: named ones first, then those in their properties. Collects clients without either."""

    def __init__(self, request: AclRequest, subject_of: SubjectOf) -> None:
        self._request = request
        self._subject_of = subject_of
        self._unresolved: dict[tuple[ClientRole, str | None], Unresolved] = {}

    def client(self, config: ClientConfig) -> Client:
        """The client with its principal; an unresolved one is remembered for `require`."""
        named = self._request.principals
        principal = named.get((config.role, config.connector)) or named.get((config.role, None))
        if principal is None:
            found = self._resolve(config)
            if isinstance(found, Unresolved):
                self._unresolved[config.role, config.connector] = found
                found = "User:?"
            principal = found
        return Client(config, principal, config.bootstrap_servers)

    def _resolve(self, config: ClientConfig) -> str | Unresolved:
        try:
            return resolve_principal(config.properties, self._subject_of, self._request.mapping_rules)
        except ConfigError as error:
            raise ConfigError(
                f"no principal is known for {_who(config.role, config.connector)}: {error.message}",
                hint=f"fix it, or name the principal: --principal {config.role}=User:NAME",
            ) from error

    def require(self) -> None:
        """Raise ConfigError where principals stayed unknown: which role, which property, and how to name them."""
        if not self._unresolved:
            return
        parts = [
            f"{_who(role, connector)} ({found.property}: {found.reason})"
            for (role, connector), found in self._unresolved.items()
        ]
        raise ConfigError(f"no principal is known for {first_few(parts, '; ', 3)}", hint=self._how_to_name())

    def _how_to_name(self) -> str:
        """Of several clients of connectors one option names all, and a second one the worker."""
        roles = list(dict.fromkeys(role for role, _ in self._unresolved))
        if len(roles) == 1:
            return f"name it: --principal {roles[0]}=User:NAME"
        names = dict.fromkeys(str(role) if role in OTHER else CONNECTOR for role in roles)
        options = " ".join(f"--principal {name}=User:NAME" for name in names)
        return f"name them: {options} ({CONNECTOR}: all clients of all connectors)"


def _who(role: ClientRole, connector: str | None) -> str:
    return str(role) if connector is None else f"{role} of connector {connector}"


class Planner(Struct, frozen=True):
    """The inputs of one worker's rules."""

    request: AclRequest
    worker: WorkerConfig
    book: PrincipalResolver
    phase: SourceSupport
    connectors: tuple[ConnectorConfig, ...] = field(default=())

    @property
    def group_id(self) -> str:
        """The Connect cluster."""
        return self.worker.group_id

    @property
    def sources(self) -> tuple[ConnectorConfig, ...]:
        """The source connectors."""
        return tuple(each for each in self.connectors if not each.is_sink)

    @property
    def exactly_once(self) -> bool:
        """Whether source tasks are transactional."""
        return self.phase is SourceSupport.ENABLED

    def own_client(self) -> Client:
        """The worker's own clients."""
        return self.book.client(worker_client(self.worker))

    def client(self, connector: ConnectorConfig, role: ClientRole) -> Client:
        """The client of this role of the connector."""
        return self.book.client(connector_client(self.worker, connector, role, exactly_once=self.exactly_once))

    def exists(self, client: Client, topic: str) -> bool | None:
        """True if the topic exists in this client's cluster; None if unknown."""
        here = self.request.here
        return self.request.topics_known.get(topic) if here is None or same_cluster(client.cluster, here) else None

    def is_there(self, client: Client, pattern: ResourcePattern) -> bool:
        """True if the pattern is of one topic, and that is known to exist in this client's cluster."""
        return pattern.pattern_type is PatternType.LITERAL and self.exists(client, pattern.name) is True


# ACLs for the worker's principal.
#
# 1. Read on Group <group.id>: every worker joins it.
# 2. Read and Write on each internal topic. The worker writes offsets itself for connectors without exactly-once, and a
#    second copy for those with an offsets topic of their own; with exactly-once and without such topics it writes
#    none.
# 3. Create on an internal topic that does not exist; DescribeConfigs to have its cleanup.policy checked.
# 4. From phase preparing on: Write on TransactionalId connect-cluster-<group.id>, for any worker may become leader.


CREATE_SOURCE = "TopicAdmin.createOrFindTopics"
CHECK_SOURCE = "TopicAdmin.verifyTopicCleanupPolicyOnlyCompact"


def plan_worker(planner: Planner) -> Iterator[Need]:
    """The needs of one worker."""
    worker, client = planner.worker, planner.own_client()
    yield client.needs(
        Operation.READ,
        group_pattern(worker.group_id),
        "every worker joins the group of its Connect cluster",
        source="WorkerCoordinator (JoinGroup, SyncGroup, Heartbeat)",
        symptom=f"GroupAuthorizationException: Not authorized to access group: {worker.group_id}; the worker stops",
    )
    yield from _config_topic(planner, client)
    yield from _offsets_topic(planner, client)
    yield from _status_topic(planner, client)
    for name in worker.internal_topics:
        yield from creation(planner, client, name, "internal topic")
        yield policy_check(client, name)
    if planner.phase is not SourceSupport.DISABLED:
        yield client.needs(
            Operation.WRITE,
            transactional_id(leader_transactional_id(worker.group_id)),
            "the leader writes the config topic in transactions, and any worker may become leader",
            source="DistributedConfig.transactionalProducerId, KafkaConfigBackingStore.claimWritePrivileges",
            symptom="TransactionalIdAuthorizationException at the leader; creating or changing a connector answers 500",
        )


def _config_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.config_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the connectors' configs from the config topic",
        source="KafkaConfigBackingStore, KafkaBasedLog.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "the leader writes configs, and any worker writes target states",
        source="KafkaConfigBackingStore.sendPrivileged, putTargetState",
        symptom="creating, changing, pausing or stopping a connector answers 500; session keys cannot be written",
    )


def _offsets_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.offsets_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the worker-global offsets topic when it starts",
        source="Worker.start, KafkaOffsetBackingStore.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "the worker writes the offsets of source tasks without exactly-once, and a copy of offsets in other topics",
        source="Worker.offsetStoreForRegularSourceTask, ConnectorOffsetBackingStore.set",
        symptom="offsets are not committed: 'Failed to commit offsets' in the log, records twice after a restart",
        loss=_offsets_copy(planner) if planner.exactly_once else None,
    )


def _offsets_copy(planner: Planner) -> str:
    copied = [each.name for each in planner.sources if uses_worker_store(planner.worker, each, exactly_once=True)]
    if copied:
        return f"the copy of the offsets of {', '.join(copied[:3])} that tasks without exactly-once would start from"
    return "the way back to exactly-once off: with it on, the worker writes no offsets of these connectors"


def _status_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.status_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the states of connectors and tasks",
        source="KafkaStatusBackingStore.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "workers publish the states of their connectors and tasks",
        source="KafkaStatusBackingStore.put",
        symptom="'Failed to write status update' in the log; GET /connectors/…/status has no tasks, or old states",
    )


def creation(planner: Planner, client: Client, name: str, what: str) -> Iterator[Need]:
    """Create on a topic that does not exist, or may not exist."""
    exists = planner.exists(client, name)
    if exists:
        return
    yield client.needs(
        Operation.CREATE,
        topic(name),
        f"the {what} does not exist yet" if exists is False else f"the {what} is created if it does not exist",
        source=CREATE_SOURCE,
        symptom=f"the topic stays missing: UnknownTopicOrPartitionException or a timeout over {name}",
        loss=None if exists is False else "another principal has to create the topic beforehand",
    )


def policy_check(client: Client, name: str) -> Need:
    """DescribeConfigs on a topic that must be compacted."""
    return client.needs(
        Operation.DESCRIBE_CONFIGS,
        topic(name),
        "cleanup.policy is checked before the topic is used",
        source=CHECK_SOURCE,
        symptom="an INFO line in the log: the cleanup policy could not be verified",
        loss="the check that the topic is compacted; a topic with cleanup.policy=delete loses its records silently",
    )


# ACLs for the principals of a source connector: producer, offsets consumer and admin client.
#
# 1. The producer writes the connector's topics. With `topic.creation.*` settings the admin client describes them and
#    creates those that do not exist (KIP-158); without, a broker with auto.create.topics.enable creates them.
# 2. The offsets topic: with exactly-once always, without it only for an offsets topic of the connector's own, the
#    producer writes it, the consumer reads it, and the admin client describes it (its end offsets), checks it and
#    creates it. The consumer assigns partitions itself, so it needs no group.
# 3. With exactly-once the producer of task i needs Write on <group.id>-<connector>-<i>, and so does the admin client,
#    which fences (KIP-618). IDs go up to the most tasks that ran, run or may run: fencing covers the last task count
#    record, which a smaller tasks.max does not shorten. Task 0's ID also serves to alter and reset offsets (KIP-875).
# 4. IdempotentWrite on the cluster: only for a producer that is idempotent and not transactional, on brokers before
#    2.8 (KIP-679). With a transactional ID brokers never check it, though Kafka's manual asks for it.


WRITE_IMPLIES_IDEMPOTENT_WRITE = KafkaVersion(2, 8)


def plan_source(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of one source connector."""
    producer = planner.client(connector, ClientRole.PRODUCER)
    yield from _records(planner, connector, producer)
    yield from _idempotence(planner, connector, producer)
    offsets_topic = connector_offsets_topic(planner.worker, connector, exactly_once=planner.exactly_once)
    if offsets_topic is not None:
        yield from _offsets(planner, connector, producer, offsets_topic)
    if planner.exactly_once:
        yield from _transactional_ids(planner, connector, producer)


def _records(planner: Planner, connector: ConnectorConfig, producer: Client) -> Iterator[Need]:
    creates = planner.worker.creates_topics and any(key.startswith("topic.creation.") for key in connector.properties)
    for pattern in output_topics(connector):
        yield producer.needs(
            Operation.WRITE,
            pattern,
            f"connector {connector.name} writes its records there",
            source="AbstractWorkerSourceTask.sendRecords",
            symptom=f"tasks FAILED: TopicAuthorizationException: Not authorized to access topics: [{pattern.name}]",
        )
        if creates:
            yield from _topic_creation(planner, connector, pattern)
        if pattern.pattern_type is PatternType.PREFIXED or planner.exists(producer, pattern.name) is False:
            yield producer.needs(
                Operation.CREATE,
                pattern,
                "a broker that does not know the new topic yet treats the producer as its creator"
                if creates
                else "if a topic does not exist, a broker creates it for any principal with Create",
                source="auto.create.topics.enable; KafkaApis.handleTopicMetadataRequest",
                symptom=f"tasks FAILED: TopicAuthorizationException: Not authorized to access topics: [{pattern.name}]",
                loss="now and then a task is FAILED when Connect has just created a topic; restart it then"
                if creates
                else "another principal has to create the topic beforehand",
            )


def _topic_creation(planner: Planner, connector: ConnectorConfig, pattern: ResourcePattern) -> Iterator[Need]:
    admin = planner.client(connector, ClientRole.ADMIN)
    yield admin.needs(
        Operation.DESCRIBE,
        pattern,
        f"connector {connector.name} has topic.creation settings, so each new topic is looked up first",
        source="AbstractWorkerSourceTask.maybeCreateTopic, TopicAdmin.describeTopics (KIP-158)",
        symptom="tasks FAILED: Not authorized to describe topic(s)",
    )
    if not planner.is_there(admin, pattern):
        yield admin.needs(
            Operation.CREATE,
            pattern,
            f"connector {connector.name} creates its topics by its topic.creation settings",
            source=f"AbstractWorkerSourceTask.maybeCreateTopic, {CREATE_SOURCE} (KIP-158)",
            symptom="tasks FAILED: Task failed to create new topic",
            loss=None
            if planner.exists(admin, pattern.name) is False
            else "another principal has to create topics beforehand",
        )


def _idempotence(planner: Planner, connector: ConnectorConfig, producer: Client) -> Iterator[Need]:
    idempotent = (producer.config.get("enable.idempotence") or "false").strip().lower() == "true"
    if planner.request.broker_version >= WRITE_IMPLIES_IDEMPOTENT_WRITE or not (idempotent or planner.exactly_once):
        return
    yield producer.needs(
        Operation.IDEMPOTENT_WRITE,
        CLUSTER,
        f"the producer of connector {connector.name} is idempotent, and brokers before 2.8 ask for this",
        source="KafkaApis.handleInitProducerIdRequest; KIP-679",
        symptom="tasks FAILED: ClusterAuthorizationException: Cluster authorization failed",
        loss="nothing: a broker checks it only without a transactional ID, though Kafka's manual asks for it"
        if planner.exactly_once
        else None,
    )


def _offsets(planner: Planner, connector: ConnectorConfig, producer: Client, name: str) -> Iterator[Need]:
    consumer = planner.client(connector, ClientRole.CONSUMER)
    admin = planner.client(connector, ClientRole.ADMIN)
    yield producer.needs(
        Operation.WRITE,
        topic(name),
        f"connector {connector.name} commits its source offsets with its own producer",
        source="Worker.offsetStoreForExactlyOnceSourceTask, ConnectorOffsetBackingStore.set (KIP-618)",
        symptom=f"tasks FAILED at the first commit: TopicAuthorizationException: [{name}]",
    )
    yield consumer.needs(
        Operation.READ,
        topic(name),
        f"connector {connector.name} reads its source offsets with its own consumer when it starts",
        source="KafkaOffsetBackingStore.start, KafkaBasedLog.readToLogEnd (KIP-618)",
        symptom=f"connector or tasks FAILED: TopicAuthorizationException: [{name}]; offsets cannot be listed or reset",
    )
    yield admin.needs(
        Operation.DESCRIBE,
        topic(name),
        f"connector {connector.name} asks for the end offsets of its offsets topic with its own admin client",
        source="TopicAdmin.endOffsets (KIP-618)",
        symptom="tasks FAILED: Not authorized to get the end offsets for topic",
    )
    if name != planner.worker.offsets_topic or not same_cluster(admin.cluster, planner.own_client().cluster):
        yield from creation(planner, admin, name, f"offsets topic of connector {connector.name}")
    yield policy_check(admin, name)


def _transactional_ids(planner: Planner, connector: ConnectorConfig, producer: Client) -> Iterator[Need]:
    admin = planner.client(connector, ClientRole.ADMIN)
    for pattern in task_id_patterns(planner, connector):
        yield producer.needs(
            Operation.WRITE,
            pattern,
            f"tasks of connector {connector.name} write in transactions under these IDs; task 0's also alters and "
            "resets offsets",
            source="Worker.taskTransactionalId, Worker.modifySourceConnectorOffsets (KIP-618, KIP-875)",
            symptom=f"tasks FAILED: TransactionalIdAuthorizationException ({pattern.name})",
        )
        yield admin.needs(
            Operation.WRITE,
            pattern,
            f"the leader fences the former tasks of connector {connector.name} with its admin client",
            source="Worker.fenceZombies, Admin.fenceProducers (KIP-618)",
            symptom="all tasks FAILED at the first reconfiguration, not before: Failed to perform round of zombie "
            "fencing; PATCH and DELETE on the connector's offsets answer 500",
        )


def task_id_patterns(planner: Planner, connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """Patterns of the transactional IDs of the connector's tasks: one for each, or one prefix with its last dash.

    One that is said to have more tasks than any cluster runs has the prefix, too.
    """
    tasks = connector.most_tasks + planner.request.headroom
    if planner.request.pattern_type is PatternType.PREFIXED or tasks > MOST_TASKS:
        yield transactional_id(f"{planner.group_id}-{connector.name}-", PatternType.PREFIXED)
        return
    for task in range(tasks):
        yield transactional_id(task_transactional_id(planner.group_id, ConnectorTaskId(connector.name, task)))


# ACLs for the principals of a sink connector; exactly-once adds none.
#
# 1. The consumer: Read on each topic and on its group, `connect-<connector>` unless consumer.override.group.id says.
# 2. The dead letter queue, where one is named: the producer writes it; the admin client must see it, or create it:
#    what it does not see it creates, and one that exists by then is fine.
# 3. The REST interface's offsets (KIP-875), through the admin client: listing needs Describe on group and topics,
#    altering Read on both, removing single offsets Read on topics and Delete on the group, resetting Delete on the
#    group.


OFFSETS_API = "Worker.alterSinkConnectorOffsets, resetSinkConnectorOffsets (KIP-875)"


def plan_sink(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of one sink connector."""
    consumer = planner.client(connector, ClientRole.SINK_CONSUMER)
    group_id = consumer.config.get("group.id") or f"connect-{connector.name}"
    for pattern in input_topics(connector):
        yield consumer.needs(
            Operation.READ,
            pattern,
            f"connector {connector.name} reads its records there",
            source="WorkerSinkTask.poll",
            symptom=f"tasks FAILED: TopicAuthorizationException: Not authorized to access topics: [{pattern.name}]",
        )
    yield consumer.needs(
        Operation.READ,
        group_pattern(group_id),
        f"the tasks of connector {connector.name} are a consumer group",
        source="Worker.baseConsumerConfigs, SinkUtils.consumerGroupId",
        symptom=f"tasks FAILED: GroupAuthorizationException: Not authorized to access group: {group_id}",
    )
    dead_letters = connector.get("errors.deadletterqueue.topic.name").strip()
    if dead_letters:
        yield from _dead_letter_queue(planner, connector, dead_letters)
    yield from _offsets_api(planner.client(connector, ClientRole.SINK_ADMIN), connector, group_id)


def input_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """Patterns of the topics that a sink reads: the named ones, otherwise the config's."""
    if connector.topics:
        yield from map(named_pattern, connector.topics)
        return
    yield from map(topic, split_list(connector.get("topics")))
    regex = connector.get("topics.regex").strip()
    if regex:
        yield from regex_patterns(regex)


def _dead_letter_queue(planner: Planner, connector: ConnectorConfig, name: str) -> Iterator[Need]:
    producer = planner.client(connector, ClientRole.DEAD_LETTER_QUEUE)
    admin = planner.client(connector, ClientRole.SINK_ADMIN)
    yield producer.needs(
        Operation.WRITE,
        topic(name),
        f"connector {connector.name} reports records that it could not handle there",
        source="DeadLetterQueueReporter.report (KIP-298)",
        symptom="'Could not produce message to dead letter queue' in the log: the failed records are lost",
    )
    yield admin.needs(
        Operation.DESCRIBE,
        topic(name),
        f"connector {connector.name} looks for its dead letter queue when a task starts",
        source="DeadLetterQueueReporter.createAndSetup (KIP-298)",
        symptom=f"tasks FAILED: Could not initialize dead letter queue with topic={name}",
        loss="nothing but an error in the log: a principal with Create tries to create the topic at each start"
        if planner.exists(admin, name) is False
        else None,
    )
    yield from creation(planner, admin, name, f"dead letter queue of connector {connector.name}")


def _offsets_api(admin: Client, connector: ConnectorConfig, group_id: str) -> Iterator[Need]:
    group, name = group_pattern(group_id), connector.name
    why = f"the offsets of connector {name} can be listed and altered over REST"
    symptom = f"GET and PATCH {connector_path(name)}/offsets answer 500: Not authorized to access group: {group_id}"
    loss = "listing and altering the connector's offsets over REST (KIP-875)"
    yield admin.needs(Operation.READ, group, why, source=OFFSETS_API, symptom=symptom, loss=loss)
    for pattern in input_topics(connector):
        yield admin.needs(Operation.READ, pattern, why, source=OFFSETS_API, symptom=symptom, loss=loss)
    yield admin.needs(
        Operation.DELETE,
        group,
        f"the offsets of connector {name} can be reset over REST",
        source=OFFSETS_API,
        symptom=f"DELETE {connector_path(name)}/offsets answers 500: Not authorized to access group: {group_id}",
        loss="resetting the connector's offsets over REST (KIP-875)",
    )


# ACLs for the clients that Iceberg's sink creates itself, in addition to the clients of Connect.
#
# 1. They have one principal: the worker's own, or that of `iceberg.kafka.`.
# 2. Each task and the coordinator write the control topic in transactions, under IDs with a new UUID for each start, so
#    they are granted by prefix. A task's transaction commits the offsets of the sink's own group.
# 3. Each task reads the control topic in a group of its own with a new UUID, the coordinator in the second group.
# 4. Which task is the coordinator is read from the description of the sink's group.


def plan_iceberg(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of the clients that Iceberg's sink makes; empty for another connector."""
    sink = iceberg_sink(connector.name, connector.values)
    if sink is None:
        return
    client = planner.client(connector, ClientRole.ICEBERG)
    for prefix, who in zip(sink.id_prefixes, ("tasks announce their files", "the coordinator writes"), strict=True):
        yield client.needs(
            Operation.WRITE,
            transactional_id(prefix, PatternType.PREFIXED),
            f"{who} in transactions, under an ID with a new UUID for each start",
            source="Channel (Iceberg), KafkaClientFactory.createProducer",
            symptom="tasks FAILED: TransactionalIdAuthorizationException: Transactional Id authorization failed",
        )
    yield from _control_topic(planner, client, connector, sink.control_topic)
    yield from _iceberg_groups(client, connector, sink)


def _control_topic(planner: Planner, client: Client, connector: ConnectorConfig, name: str) -> Iterator[Need]:
    for operation in (Operation.WRITE, Operation.READ):
        yield client.needs(
            operation,
            topic(name),
            f"tasks and coordinator of connector {connector.name} exchange there which files were written",
            source="Channel.send, Channel.consumeAvailable (Iceberg)",
            symptom=f"tasks FAILED, or no commit to the table: TopicAuthorizationException: [{name}]",
        )
    yield from creation(planner, client, name, f"control topic of connector {connector.name}")


def _iceberg_groups(client: Client, connector: ConnectorConfig, sink: IcebergSink) -> Iterator[Need]:
    yield client.needs(
        Operation.READ,
        group_pattern(sink.source_group),
        "a task commits the offsets of the records in its files together with their announcement",
        source="Channel.send (Iceberg), KafkaProducer.sendOffsetsToTransaction",
        symptom=f"tasks FAILED: GroupAuthorizationException: Not authorized to access group: {sink.source_group}",
    )
    for pattern in input_topics(connector):
        yield client.needs(
            Operation.READ,
            pattern,
            "offsets of these topics are committed in transactions",
            source="KafkaApis.handleTxnOffsetCommitRequest",
            symptom=f"tasks FAILED: TopicAuthorizationException: Not authorized to access topics: [{pattern.name}]",
        )
    yield client.needs(
        Operation.DESCRIBE,
        group_pattern(sink.described_group),
        "each task looks for the first partition of the group: its owner is the coordinator",
        source="CommitterImpl.hasLeaderPartition (Iceberg)",
        symptom=f"tasks FAILED: Cannot retrieve members for consumer group: {sink.described_group}",
    )
    for pattern, who in (
        (group_pattern(sink.coordinator_group), "the coordinator reads the control topic in this group"),
        (group_pattern(sink.workers_prefix, PatternType.PREFIXED), "each task reads it in a group with a new UUID"),
    ):
        yield client.needs(
            Operation.READ,
            pattern,
            who,
            source="Coordinator, Worker (Iceberg), KafkaClientFactory.createConsumer",
            symptom=f"tasks FAILED, or no commit to the table: GroupAuthorizationException ({pattern.name})",
        )


# ACLs for the clients that Debezium's source connectors create themselves, in addition to the clients of Connect.
#
# The consumer of signals is assigned its partition, and commits when it is closed: Read on the topic and on the group.


def plan_debezium(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of one Debezium connector's consumer of signals; empty if it has none."""
    name = signals_topic(connector)
    if name is None:
        return
    consumer = planner.client(connector, ClientRole.DEBEZIUM_SIGNALS)
    yield consumer.needs(
        Operation.READ,
        topic(name),
        f"connector {connector.name} reads signals there",
        source="KafkaSignalChannel.read (Debezium)",
        symptom=f"tasks FAILED: TopicAuthorizationException: [{name}]",
    )
    yield consumer.needs(
        Operation.READ,
        group(signals_group(connector)),
        f"connector {connector.name} commits how far it has read signals when it stops",
        source="KafkaSignalChannel.close, KafkaConsumer.commitSync (Debezium)",
        symptom="GroupAuthorizationException in the worker's log when a task starts or stops",
    )
