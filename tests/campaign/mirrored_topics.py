"""A topic that MirrorMaker 2 mirrors between two clusters: random operations on it, and its copy.

Truth is counted from the records: each has another number, and is known from its producer and from a plain consumer.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from tests.integration.producers import transactional_producer
from tests.topics import make_topic
from tests.waiting import eventually

ALIAS = "eu"
EXPIRES_S = 4


@dataclass
class Written:
    """The records produced to one partition, in order: each record's text, and whether it was committed."""

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
        """True if the copy holds the committed records, once and in order."""
        return not (self.doubled or self.late or self.aborted or self.lost)


def truth(written: Written, copied: Sequence[str]) -> Truth:
    """Counted with everything in memory, from the first copied record, committed or not, to the last committed one."""
    order = {text: number for number, text in enumerate(written.texts)}
    committed = [text for text in copied if text not in written.aborted]
    first_ones = list(dict.fromkeys(committed))
    highest, late = -1, 0
    for text in first_ones:
        late += order[text] < highest
        highest = max(highest, order[text])
    there = set(first_ones)
    begin = min((order[text] for text in copied), default=0)
    inside = written.texts[begin:highest] if first_ones else []
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
        self.partitions = chance.choice([8, 10, 12])
        self.written: dict[int, Written] = {}
        self.operations: list[str] = []
        self.cut, self._is_cut = False, chance.random() < 0.4
        self._made = 0
        self._admin = AdminClient({"bootstrap.servers": source})
        self._producer = Producer({"bootstrap.servers": source, "linger.ms": 5, "log_level": 0})
        self._create()

    def _create(self) -> None:
        """With a segment for each write."""
        make_topic(self._admin, NewTopic(self.name, self.partitions, 1, config={"segment.ms": "100"}))

    def happen(self) -> None:
        """One random operation."""
        usual = (self.write, self.write, self.commit, self.abort)
        rare = (self.delete_records, self.expire, self.recreate) if self._is_cut else ()
        operation = self._chance.choice((*usual, self.add_partition, *rare))
        self.operations.append(operation.__name__)
        operation()

    def _records(self) -> list[tuple[int, str]]:
        count = self._chance.randint(3, 15) * self.partitions
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

    def finish(self) -> None:
        """One last record in most partitions; in others the last ones, or all, may be of aborted transactions."""
        for partition in [each for each in range(self.partitions) if self._chance.random() < 0.9]:
            text = f"{self.name} {self._made + partition}"
            self.written.setdefault(partition, Written()).texts.append(text)
            self._producer.produce(self.name, text.encode(), b"key", partition)
        assert self._producer.flush(30) == 0

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

    def expire(self) -> None:
        """The broker deletes old segments: all of them, or those older than some seconds."""
        self.cut = True
        before = self._log_starts()
        self._retain(self._chance.choice([1, 1500, 5000]))
        deadline = time.monotonic() + EXPIRES_S
        while self._log_starts() == before and time.monotonic() < deadline:
            time.sleep(0.2)
        self._retain(604_800_000)

    def _retain(self, age_ms: int) -> None:
        entry = ConfigEntry("retention.ms", str(age_ms), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.name, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(30)

    def _log_starts(self) -> list[int]:
        reader = Consumer({"bootstrap.servers": self.source, "group.id": "ends", "log_level": 0})
        places = [TopicPartition(self.name, each) for each in range(self.partitions)]
        found = [reader.get_watermark_offsets(place, 30)[0] for place in places]
        reader.close()
        return found

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
        self._create()

    def _known(self) -> int:
        found = self._admin.list_topics(timeout=30).topics.get(self.name)
        return 0 if found is None else len(found.partitions)

    @property
    def copy(self) -> str:
        """Its name in the target."""
        return f"{ALIAS}.{self.name}"


Copies = Mapping[str, Mapping[int, list[str]]]
"""The records of each partition, by topic."""


def copies(topics: Sequence[MirroredTopic]) -> Copies:
    """The copies' records, as a read_committed consumer has them."""
    reader = Consumer({"bootstrap.servers": topics[0].target, "group.id": "copies", "enable.partition.eof": True})
    there, wanted = reader.list_topics(timeout=30).topics, {topic.copy: topic.name for topic in topics}
    waiting = {(copy, each) for copy in wanted if copy in there for each in there[copy].partitions}
    found: dict[str, dict[int, list[str]]] = {topic.name: {} for topic in topics}
    reader.assign([TopicPartition(copy, each, OFFSET_BEGINNING) for copy, each in waiting])
    while waiting:
        for message in reader.consume(500, 5):
            place = (message.topic() or "", message.partition() or 0)
            if message.error() is not None:
                waiting.discard(place)
            else:
                found[wanted[place[0]]].setdefault(place[1], []).append((message.value() or b"").decode())
    reader.close()
    return found
