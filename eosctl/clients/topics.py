"""Creating a topic, with librdkafka's admin client."""

from collections.abc import Mapping
from typing import Final

from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import librdkafka_error
from eosctl.clients.librdkafka import admin_client
from eosctl.clients.messages import topics_metadata
from eosctl.clients.wire import Wire
from eosctl.errors import Unreachable
from eosctl.model.client_properties import ClientProperties

POLL_S: Final = 0.1


def create_topic(
    properties: ClientProperties,
    topic: str,
    *,
    partitions: int,
    replication_factor: int,
    settings: Mapping[str, str],
    timeout_s: float,
) -> bool:
    """CreateTopics; False where the topic exists already. replication_factor -1 is the broker's default (KIP-464).

    Raises NotAuthorized (Create on the topic), ConfigError for settings that the broker refuses.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # re-exported from its C module

    admin = admin_client(properties)
    wanted = NewTopic(topic, partitions, replication_factor, config=dict(settings))
    try:
        admin.create_topics([wanted], operation_timeout=timeout_s, request_timeout=timeout_s)[topic].result(timeout_s)
    except KafkaException as error:
        cause = error.args[0]
        if cause.name() == "TOPIC_ALREADY_EXISTS":
            return False
        resource = f"Topic {topic}"
        raise librdkafka_error(cause, principal=properties.principal, operation="Create", resource=resource) from error
    return True


def await_topic(wire: Wire, topic: str, *, timeout_s: float) -> None:
    """Waits until each broker that answers knows the topic, which exists; raises TimedOut where one does not.

    CreateTopics is answered when the controller has written the topic into the metadata log (KIP-500). A broker replays
    that log in its own time: until then it answers UNKNOWN_TOPIC_OR_PARTITION.
    """
    deadline = Deadline(timeout_s)
    for broker in wire.brokers():
        while not _knows(wire, broker.node_id, topic):
            deadline.pause_or_raise(POLL_S, f"broker {broker.node_id} does not know topic {topic}, which exists")


def _knows(wire: Wire, node_id: int, topic: str) -> bool:
    """Whether this broker does not deny it; one that cannot be asked cannot mislead either."""
    try:
        [found] = wire.request(node_id, topics_metadata([topic])).topics
    except Unreachable:
        return True
    return bool(found.error_code != UNKNOWN_TOPIC_OR_PARTITION)


def delete_topic(properties: ClientProperties, topic: str, *, timeout_s: float) -> bool:
    """DeleteTopics; False where there is no such topic. Raises NotAuthorized (Delete on the topic)."""
    from confluent_kafka import KafkaException

    admin = admin_client(properties)
    try:
        admin.delete_topics([topic], operation_timeout=timeout_s, request_timeout=timeout_s)[topic].result(timeout_s)
    except KafkaException as error:
        cause = error.args[0]
        if cause.name() == "UNKNOWN_TOPIC_OR_PART":
            return False
        resource = f"Topic {topic}"
        raise librdkafka_error(cause, principal=properties.principal, operation="Delete", resource=resource) from error
    return True
