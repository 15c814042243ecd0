"""Which brokers lead the partitions of a cluster that tests share."""

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import AdminClient

from tests.waiting import eventually


def share_out_leaders(servers: str) -> None:
    """Returns when every partition is led by its first replica, as after its creation.

    A restarted broker leads nothing until then: Kafka itself looks only every five minutes.
    """
    admin = AdminClient({"bootstrap.servers": servers})
    eventually(lambda: _nothing_is_left_to_elect(admin))


def _nothing_is_left_to_elect(admin: AdminClient) -> bool:
    """Kafka answers with the partitions that it elected a leader for, or could not: a replica is not in sync yet."""
    try:
        return not admin.elect_leaders(ElectionType.PREFERRED, None).result(60)
    except KafkaException:
        return False
