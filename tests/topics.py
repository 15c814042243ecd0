"""Topics that are there once they were made."""

from confluent_kafka.admin import AdminClient, NewTopic

from tests.waiting import eventually


def make_topic(admin: AdminClient, topic: NewTopic) -> None:
    """Creates the topic and returns when every partition has a leader.

    The controller answers before the brokers know: asked at once, they may say that there is no such topic.
    """
    admin.create_topics([topic])[topic.topic].result(30)
    eventually(lambda: leaders(admin, topic.topic) == topic.num_partitions)


def leaders(admin: AdminClient, topic: str) -> int:
    """How many partitions of the topic have a leader, as a broker knows it."""
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    return sum(each.leader >= 0 for each in partitions.values())
