"""A topic with every kind of record that a reader has to tell apart, and what librdkafka's consumer sees of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Producer, TopicPartition

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass
class MixedTopic:
    """Writes to partition 0 of `name`: each call sends a few records and waits until the broker has them."""

    bootstrap: str
    name: str
    _open: list[Producer] = field(default_factory=list)
    _written: int = 0

    def producer(self, codec: str = "none", transactional_id: str | None = None) -> Producer:
        """A producer, inside a transaction where it has a transactional ID."""
        config = {"bootstrap.servers": self.bootstrap, "compression.type": codec, "linger.ms": 20}
        if transactional_id is not None:
            config["transactional.id"] = transactional_id
        producer = Producer(config)
        if transactional_id is not None:
            producer.init_transactions(30)
            producer.begin_transaction()
        return producer

    def write(self, producer: Producer, records: int = 5) -> None:
        """Send `records` records, among them a tombstone and one without key, as one batch."""
        for place in range(records):
            self._written += 1
            key = None if place == 1 else f"key-{self._written}".encode()
            value = None if place == 2 else f"value-{self._written} ".encode() * 20
            headers = [("h", b"x")] if place == 3 else None
            producer.produce(self.name, key=key, value=value, partition=0, headers=headers)
        assert producer.flush(30) == 0

    def fill(self) -> None:
        """Plain, committed, aborted, interleaved and open transactions in every codec."""
        for codec in CODECS:
            plain = self.producer(codec)
            self.write(plain)
            first = self.producer(codec, f"{self.name}-{codec}-first")
            second = self.producer(codec, f"{self.name}-{codec}-second")
            for _ in range(3):
                self.write(first)
                self.write(plain)
                self.write(second)
            first.commit_transaction(30)
            self.write(plain)
            self.write(second)
            second.abort_transaction(30)
            second.begin_transaction()
            self.write(second)
            second.commit_transaction(30)

    def leave_open(self) -> None:
        """An open transaction, and behind it decided ones and plain records."""
        for number, codec in enumerate(CODECS):
            left = self.producer(codec, f"{self.name}-left-{number}")
            self.write(left)
            self._open.append(left)
            decided = self.producer(codec, f"{self.name}-decided-{number}")
            self.write(decided)
            self.write(self.producer(codec))
            self.write(left)
            (decided.commit_transaction if number % 2 else decided.abort_transaction)(30)

    def consumed(self, isolation_level: str, limit: int) -> list[tuple[int, int, bytes | None, bytes | None]]:
        """The records of librdkafka's consumer below offset `limit`: (offset, timestamp, key, value)."""
        return list(consumed(self.bootstrap, self.name, isolation_level, limit))


def consumed(
    bootstrap: str, topic: str, isolation_level: str, limit: int
) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "peer",
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        while True:
            message = consumer.poll(30)
            assert message is not None, "the consumer neither got a record nor reached the end within 30 s"
            if message.error() is not None or message.offset() >= limit:
                return
            yield message.offset(), message.timestamp()[1], message.key(), message.value()
    finally:
        consumer.close()
