"""What the Kafka clients need that Debezium's source connectors make themselves, beside those Connect makes for them.

The consumer of signals is assigned its partition, and commits when it is closed: Read on the topic and on the group.
"""

from collections.abc import Iterator

from eosctl.analysis.debezium import signals_group, signals_topic
from eosctl.model.acl_plan import Need
from eosctl.model.acls import Operation, group, topic
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.planning.acl_clients import Planner


def plan_debezium(planner: Planner, connector: ConnectorConfig) -> Iterator[Need]:
    """The needs of one Debezium connector's consumer of signals; none where it has none."""
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
