"""What a reader of committed records is given."""

import time

from confluent_kafka import Consumer, TopicPartition


def committed_reader(servers: str, topic: str) -> Consumer:
    """A consumer of partition 0 that begins at offset 0."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, 0, 0)])
    return reader


def committed_values(reader: Consumer, until: bytes | None) -> list[bytes]:
    """Values that the reader is given: up to `until`, or all that come before nothing more does for a second."""
    values: list[bytes] = []
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        message = reader.poll(1.0)
        if message is None and until is None:
            break
        if message is not None and message.error() is None:
            values.append(message.value())
            if message.value() == until:
                break
    return values
