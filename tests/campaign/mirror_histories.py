"""Random histories of topics that MirrorMaker 2 mirrors between two clusters, and what readers of the copies have.

Truth is counted from the records: each has another number, and is known from its producer and from a plain consumer.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from eosctl.sandbox.sandbox import Sandbox
from tests.integration.connect import BYTES, Worker
from tests.integration.producers import create_topic, transactional_producer
from tests.waiting import eventually

ALIAS = "eu"
SETTLED_S = 90


@dataclass
class Written:
    """What was produced to one partition, in order: each record's text, and whether it was committed."""

    texts: list[str] = field(default_factory=list)
    aborted: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Truth:
    """How many records of a copy are not as in the original."""

    doubled: int
    late: int
    aborted: int
    lost: int

    @property
    def whole(self) -> bool:
        """Whether the copy holds what was committed, once and in order."""
        return not (self.doubled or self.late or self.aborted or self.lost)


def truth(written: Written, copied: Sequence[str]) -> Truth:
    """Counted with everything in memory, from the first copied record to the last one."""
    order = {text: number for number, text in enumerate(written.texts)}
    committed = [text for text in copied if text not in written.aborted]
    first_ones = list(dict.fromkeys(committed))
    highest, late = -1, 0
    for text in first_ones:
        late += order[text] < highest
        highest = max(highest, order[text])
    there = set(first_ones)
    inside = [text for text in written.texts if first_ones and order[first_ones[0]] < order[text] < highest]
    return Truth(
        doubled=len(committed) - len(first_ones),
        late=late,
        aborted=len(copied) - len(committed),
        lost=sum(text not in there and text not in written.aborted for text in inside),
    )


class MirroredTopic:
    """One topic of the source, what happens to it, and its copy."""

    def __init__(self, source: str, target: str, name: str, chance: random.Random) -> None:
        self.source, self.target, self.name, self._chance = source, target, name, chance
        self.partitions = chance.choice([1, 1, 2])
        self.written: dict[int, Written] = {}
        self.operations: list[str] = []
        self.cut = False
        self._made = 0
        self._admin = AdminClient({"bootstrap.servers": source})
        self._producer = Producer({"bootstrap.servers": source, "linger.ms": 5, "log_level": 0})
        create_topic(source, name, self.partitions)

    def happen(self) -> None:
        """One random operation."""
        usual = (self.write, self.write, self.commit, self.abort)
        operation = self._chance.choice((*usual, self.delete_records, self.add_partition, self.recreate))
        self.operations.append(operation.__name__)
        operation()

    def _records(self) -> list[tuple[int, str]]:
        count = self._chance.randint(3, 40)
        numbers = range(self._made, self._made + count)
        self._made += count
        return [(self._chance.randrange(self.partitions), f"{self.name} {number}") for number in numbers]

    def _produce(self, producer: Producer, *, committed: bool) -> None:
        for partition, text in self._records():
            mine = self.written.setdefault(partition, Written())
            mine.texts.append(text)
            if not committed:
                mine.aborted.add(text)
            producer.produce(self.name, text.encode(), b"key", partition)
        assert producer.flush(30) == 0

    def write(self) -> None:
        """Records outside any transaction."""
        self._produce(self._producer, committed=True)

    def commit(self) -> None:
        """A transaction."""
        self._transact(committed=True)

    def abort(self) -> None:
        """A transaction that is aborted."""
        self._transact(committed=False)

    def _transact(self, *, committed: bool) -> None:
        producer = transactional_producer(self.source, self.name)
        producer.begin_transaction()
        self._produce(producer, committed=committed)
        (producer.commit_transaction if committed else producer.abort_transaction)(30)

    def delete_records(self) -> None:
        """DeleteRecords up to some offset, mirrored or not."""
        self.cut = True
        reader = Consumer({"bootstrap.servers": self.source, "group.id": "ends", "log_level": 0})
        for partition in range(self.partitions):
            low, high = reader.get_watermark_offsets(TopicPartition(self.name, partition), 30)
            place = TopicPartition(self.name, partition, self._chance.randint(low, high))
            self._admin.delete_records([place])[place].result(30)
        reader.close()

    def add_partition(self) -> None:
        """One partition more."""
        self.partitions += 1
        self._admin.create_partitions([NewPartitions(self.name, self.partitions)])[self.name].result(30)
        eventually(lambda: self._known() == self.partitions, "the new partition")
        self._producer = Producer({"bootstrap.servers": self.source, "linger.ms": 5, "log_level": 0})

    def recreate(self) -> None:
        """The topic is deleted, and one of the same name created."""
        self.cut = True
        self._admin.delete_topics([self.name])[self.name].result(30)
        eventually(lambda: self._known() == 0, f"{self.name} to be gone")
        self._producer = Producer({"bootstrap.servers": self.source, "linger.ms": 5, "log_level": 0})
        create_topic(self.source, self.name, self.partitions)

    def _known(self) -> int:
        found = self._admin.list_topics(timeout=30).topics.get(self.name)
        return 0 if found is None else len(found.partitions)

    def copies(self) -> Mapping[int, list[str]]:
        """The records of each partition of the copy, as a read_committed consumer has them."""
        reader = Consumer({"bootstrap.servers": self.target, "group.id": "copies", "enable.partition.eof": True})
        topic = f"{ALIAS}.{self.name}"
        found: dict[int, list[str]] = {}
        there = reader.list_topics(timeout=30).topics.get(topic)
        waiting = set() if there is None else set(there.partitions)
        reader.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in waiting])
        while waiting:
            for message in reader.consume(500, 5):
                if message.error() is not None:
                    waiting.discard(message.partition())
                else:
                    found.setdefault(message.partition() or 0, []).append((message.value() or b"").decode())
        reader.close()
        return found


class MirrorConnector:
    """A MirrorSource connector of some topics, and what happens to it."""

    def __init__(self, worker: Worker, name: str, topics: Sequence[MirroredTopic], isolation: str) -> None:
        self._worker, self.name, self.topics, self._isolation = worker, name, topics, isolation
        self.offsets_topics = ["connect-offsets"]
        self.operations: list[str] = []
        self.configure()

    def configure(self, **more: str) -> None:
        """Created, or its config replaced."""
        config = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": "2",
            "source.cluster.alias": ALIAS,
            "target.cluster.alias": "us",
            "source.cluster.bootstrap.servers": self.topics[0].source,
            "target.cluster.bootstrap.servers": self.topics[0].target,
            "topics": ",".join(each.name for each in self.topics),
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "sync.topic.configs.enabled": "false",
            "refresh.topics.interval.seconds": "2",
            "source.consumer.isolation.level": self._isolation,
            "source.consumer.metadata.max.age.ms": "1000",
            "key.converter": BYTES,
            "value.converter": BYTES,
            "header.converter": BYTES,
            **more,
        }
        self._worker.ask("PUT", f"/connectors/{self.name}/config", config)

    def happen(self, chance: random.Random) -> None:
        """One random operation."""
        choices: tuple[Callable[[], None], ...] = (self.pause, self.restart, self.stop, self.forget, self.move_offsets)
        operation = chance.choice(choices)
        self.operations.append(operation.__name__)
        operation()

    def pause(self) -> None:
        """Until `resume`."""
        self._worker.ask("PUT", f"/connectors/{self.name}/pause")

    def stop(self) -> None:
        """Until `resume`, without tasks."""
        self._worker.stop(self.name)

    def restart(self) -> None:
        """All of its tasks."""
        self._worker.ask("POST", f"/connectors/{self.name}/restart?includeTasks=true")

    def forget(self) -> None:
        """Its offsets are deleted: it begins again."""
        self.stop()
        self._worker.ask("DELETE", f"/connectors/{self.name}/offsets")
        self.resume()

    def move_offsets(self) -> None:
        """It gets an offsets topic of its own, and nobody copies its offsets."""
        own = f"{self.name}-offsets"
        self.offsets_topics = ["connect-offsets", own]
        self.configure(**{"offsets.storage.topic": own})

    def resume(self) -> None:
        """It runs."""
        self._worker.ask("PUT", f"/connectors/{self.name}/resume")


def play(connectors: Sequence[MirrorConnector], worker: Worker, chance: random.Random, steps: int) -> None:
    """Topics and connectors have their operations; the worker is killed; at the end all that is left is copied."""
    for _ in range(steps):
        for connector in connectors:
            if chance.random() < 0.4:
                with suppress(AssertionError, KafkaException):  # refused, as stopped connectors refuse a restart
                    connector.happen(chance)
            for topic in connector.topics:
                topic.happen()
            if chance.random() < 0.7:
                connector.resume()
        if chance.random() < 0.5:
            worker.sandbox.kill_worker(1)
            worker.sandbox.start_worker(1)
    for connector in connectors:
        connector.resume()
    topics = [topic for connector in connectors for topic in connector.topics]
    for topic in topics:
        topic.write()
    _await_copies(topics)


def _await_copies(topics: Sequence[MirroredTopic]) -> None:
    """Until the last record of each partition is there, or nothing has been copied for a while."""
    sizes: list[int] = []

    def quiet() -> bool:
        found = [topic.copies() for topic in topics]
        last = all(
            each.texts[-1] in found[number].get(partition, ())
            for number, topic in enumerate(topics)
            for partition, each in topic.written.items()
        )
        sizes.append(sum(len(texts) for copies in found for texts in copies.values()))
        return last or (len(sizes) > 6 and len(set(sizes[-6:])) == 1)

    eventually(quiet, "copies to be complete", deadline_s=SETTLED_S)


def open_connectors(
    source: Sandbox, target: Sandbox, worker: Worker, chance: random.Random, count: int, prefix: str
) -> Iterator[MirrorConnector]:
    """Connectors of four topics each; every other one reads committed."""
    for number in range(count):
        names = [f"{prefix}{number}-{each}" for each in range(4)]
        topics = [MirroredTopic(source.bootstrap_servers, target.bootstrap_servers, each, chance) for each in names]
        isolation = ("read_committed", "read_uncommitted")[number % 2]
        yield MirrorConnector(worker, f"{prefix}{number}", topics, isolation)
