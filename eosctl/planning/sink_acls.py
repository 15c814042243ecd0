"""What the principals of a sink connector need; exactly-once adds nothing.

1. The consumer: Read on each topic and on its group, `connect-<connector>` unless consumer.override.group.id says.
2. The dead letter queue, where one is named: the producer writes it; the admin client must see it, or create it: what
   it does not see it creates, and one that exists by then is fine.
3. The REST interface's offsets (KIP-875), through the admin client: listing needs Describe on group and topics,
   altering Read on both, removing single offsets Read on topics and Delete on the group, resetting Delete on the group.
"""

from collections.abc import Iterator

from eosctl.analysis.output_topics import named_pattern, regex_patterns
from eosctl.model.acl_plan import Need
from eosctl.model.acls import Operation, ResourcePattern, topic
from eosctl.model.acls import group as group_pattern
from eosctl.model.client_properties import listed
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.model.connectors import connector_path
from eosctl.planning.acl_clients import Client, Planner
from eosctl.planning.worker_acls import creation

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
    """Patterns of the topics that a sink reads: those that somebody named, otherwise those of its config."""
    if connector.topics:
        yield from map(named_pattern, connector.topics)
        return
    yield from map(topic, listed(connector.get("topics")))
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
        loss="nothing but an error in the log: whoever may create the topic tries to, again at each start"
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
