"""What the principals of a source connector need: producer, offsets consumer and admin client.

1. The producer writes the connector's topics. With `topic.creation.*` settings the admin client describes them and
   creates those that do not exist (KIP-158); without, a broker with auto.create.topics.enable creates them.
2. The offsets topic: with exactly-once always, without it only for an offsets topic of the connector's own, the
   producer writes it, the consumer reads it, and the admin client describes it (its end offsets), checks it and creates
   it. The consumer assigns partitions itself, so it needs no group.
3. With exactly-once the producer of task i needs Write on <group.id>-<connector>-<i>, and so does the admin client,
   which fences (KIP-618). IDs go up to the most tasks that ran, run or may run: fencing covers the last task count
   record, which a smaller tasks.max does not shorten. Task 0's ID also serves to alter and reset offsets (KIP-875).
4. IdempotentWrite on the cluster: only for a producer that is idempotent and not transactional, on brokers before 2.8
   (KIP-679). With a transactional ID brokers never check it, though Kafka's manual asks for it.
"""

from collections.abc import Iterator

from eosctl.analysis.connector_stores import connector_offsets_topic
from eosctl.analysis.output_topics import output_topics
from eosctl.model.acl_plan import Need, same_cluster
from eosctl.model.acls import CLUSTER, Operation, PatternType, ResourcePattern, topic, transactional_id
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.planning.acl_clients import Client, Planner
from eosctl.planning.worker_acls import CREATE_SOURCE, creation, policy_check

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
                "a broker that does not know the new topic yet takes the producer for one who wants it created"
                if creates
                else "where a topic does not exist, a broker creates it for whoever may create it",
                source="auto.create.topics.enable; KafkaApis.handleTopicMetadataRequest",
                symptom=f"tasks FAILED: TopicAuthorizationException: Not authorized to access topics: [{pattern.name}]",
                loss="now and then a task is FAILED when Connect has just created a topic; restart it then"
                if creates
                else "the topic has to be created by somebody else beforehand",
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
    exists = pattern.pattern_type is PatternType.LITERAL and planner.exists(admin, pattern.name)
    if not exists:
        yield admin.needs(
            Operation.CREATE,
            pattern,
            f"connector {connector.name} creates its topics by its topic.creation settings",
            source=f"AbstractWorkerSourceTask.maybeCreateTopic, {CREATE_SOURCE} (KIP-158)",
            symptom="tasks FAILED: Task failed to create new topic",
            loss=None
            if planner.exists(admin, pattern.name) is False
            else "topics have to be created by somebody else beforehand",
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
