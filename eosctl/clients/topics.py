"""Creating a topic, with librdkafka's admin client."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.errors import librdkafka_error
from eosctl.clients.librdkafka import admin_client
from eosctl.clients.messages import topics_metadata
from eosctl.clients.replay import ANSWER_S, await_brokers
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


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

    Raises NotAuthorized (Create on the topic), ConfigError for settings that the broker refuses, OtherCluster.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # re-exported from its C module

    admin = _admin(properties, timeout_s)
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


def _admin(properties: ClientProperties, timeout_s: float) -> "AdminClient":
    """A client whose brokers are of the cluster that the properties name; raises OtherCluster where they are not."""
    from confluent_kafka import KafkaException

    admin, servers = admin_client(properties), ",".join(properties.bootstrap_servers)
    if properties.cluster_id is not None:
        try:
            found = admin.describe_cluster(request_timeout=timeout_s).result(timeout_s).cluster_id
        except KafkaException as error:
            what = {"operation": "DescribeCluster", "resource": servers}
            raise librdkafka_error(error.args[0], principal=properties.principal, **what) from error
        properties.require_cluster(str(found), servers)
    return admin


def await_topic(wire: Wire, topic: str, *, timeout_s: float) -> None:
    """Waits until each broker that answers knows the topic, which exists; raises TimedOut where one does not."""

    def lacking(node_id: int) -> str | None:
        [found] = wire.request(node_id, topics_metadata([topic]), timeout_s=ANSWER_S).topics
        if found.error_code != UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return f"topic {topic} exists, and broker {node_id} does not know it"

    await_brokers(wire, lacking, timeout_s=timeout_s)


def delete_topic(properties: ClientProperties, topic: str, *, timeout_s: float) -> bool:
    """DeleteTopics; False where there is no such topic. Raises NotAuthorized (Delete on the topic)."""
    from confluent_kafka import KafkaException

    admin = _admin(properties, timeout_s)
    try:
        admin.delete_topics([topic], operation_timeout=timeout_s, request_timeout=timeout_s)[topic].result(timeout_s)
    except KafkaException as error:
        cause = error.args[0]
        if cause.name() == "UNKNOWN_TOPIC_OR_PART":
            return False
        resource = f"Topic {topic}"
        raise librdkafka_error(cause, principal=properties.principal, operation="Delete", resource=resource) from error
    return True
