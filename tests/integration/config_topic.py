"""The config topic read with a plain consumer, without the code that is under test."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

CONFIG_TOPIC = "connect-configs"


class Raw(NamedTuple):
    """One record as it lies in the topic."""

    offset: int
    timestamp: int
    key: str
    value: str | None


def read_topic(servers: str, isolation: str = "read_committed", topic: str = CONFIG_TOPIC) -> list[Raw]:
    """Every record of partition 0 that such a consumer sees."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "raw", "isolation.level": isolation})
    place = TopicPartition(topic, 0, OFFSET_BEGINNING)
    _, end = consumer.get_watermark_offsets(place)
    consumer.assign([place])
    found: list[Raw] = []
    while consumer.position([place])[0].offset < end and (messages := consumer.consume(1000, 2.0)):
        for message in messages:
            key, value = message.key() or b"", message.value()
            text = None if value is None else value.decode()
            found.append(Raw(message.offset() or 0, message.timestamp()[1], key.decode(), text))
    consumer.close()
    return found


def last_offset(records: Iterable[Raw], key: str) -> int | None:
    """The offset of the last record of that key."""
    return max((record.offset for record in records if record.key == key), default=None)


def write_lines(path: Path, records: Sequence[Raw]) -> Path:
    """The records as `--records` takes them."""
    lines = [
        {**record._asdict(), "value": None if record.value is None else json.loads(record.value)} for record in records
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path
