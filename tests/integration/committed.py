"""The records that a reader of committed records gets."""

import json
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition


def committed_reader(servers: str, topic: str) -> Consumer:
    """A consumer of partition 0 that begins at offset 0."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"})
    reader.assign([TopicPartition(topic, 0, 0)])
    return reader


def committed_values(reader: Consumer, until: bytes | None) -> list[bytes]:
    """The values that the reader gets: up to `until`, or until nothing comes for a second."""
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


def committed_json(servers: str, topic: str) -> list[tuple[Any, Any]]:
    """Keys and values of all committed records of partition 0, each from its JSON; None: it has none."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"}
    reader = Consumer({**settings, "enable.partition.eof": True, "log_level": 0})
    reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found = []
    while (message := reader.poll(10)) is not None and not message.error():
        key, value = (None if each is None else json.loads(each) for each in (message.key(), message.value()))
        found.append((key, value))
    reader.close()
    return found
