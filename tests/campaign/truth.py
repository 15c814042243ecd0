"""The records that readers of a connector's outputs really have, counted by their own numbers without eosctl."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from tests.waiting import eventually

Number = tuple[int, int]
"""A source partition, and a number in it."""


class Truth(NamedTuple):
    """By source partition, numbers that no reader ever had, and numbers that readers had more than once."""

    lost: Mapping[int, Sequence[int]]
    doubled: Mapping[int, Sequence[int]]

    @property
    def lost_count(self) -> int:
        """How many numbers were lost."""
        return sum(map(len, self.lost.values()))

    @property
    def doubled_count(self) -> int:
        """How many numbers readers had more than once."""
        return sum(map(len, self.doubled.values()))


def compare(seen: Mapping[Number, int], expected: Iterable[Number]) -> Truth:
    """The truth from the number of sightings, where `expected` should have been seen once."""
    lost: dict[int, list[int]] = {}
    doubled: dict[int, list[int]] = {}
    for partition, number in sorted(expected):
        if not seen.get((partition, number)):
            lost.setdefault(partition, []).append(number)
    for (partition, number), times in sorted(seen.items()):
        if times > 1:
            doubled.setdefault(partition, []).append(number)
    return Truth(lost, doubled)


class Reader:
    """A read_committed reader of all partitions of some topics, from their beginning."""

    def __init__(self, servers: str, topics: Mapping[str, int]) -> None:
        settings = {"bootstrap.servers": servers, "group.id": "truth", "isolation.level": "read_committed"}
        quick = {"fetch.wait.max.ms": 200, "enable.partition.eof": True, "log_level": 0}
        self._settings = {**settings, **quick, "enable.auto.commit": False}
        self._places = [(topic, index) for topic, partitions in topics.items() for index in range(partitions)]
        self.seen: Counter[Number] = Counter()
        self._opened: Consumer | None = None

    @property
    def _consumer(self) -> Consumer:
        """Opened when it is used first: each costs its broker something all the time."""
        if self._opened is None:
            self._reached = dict.fromkeys(self._places, 0)
            self._opened = Consumer(self._settings)
            self._opened.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for topic, index in self._places])
        return self._opened

    def read(self) -> Mapping[Number, int]:
        """The numbers seen until now, with their counts."""
        while len(messages := self._consumer.consume(500, 0.25)) == 500:
            self._take(messages)
        self._take(messages)
        return self.seen

    def _take(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error, value = message.error(), message.value()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                continue
            place, offset = (message.topic(), message.partition()), message.offset()
            is_again = offset < self._reached[place]  # what a client fetches twice is in the log once
            # At the end, the offset is the next one; the value is words about it.
            self._reached[place] = max(self._reached[place], offset + (error is None))
            if error is None and value is not None and not is_again:
                self.seen[self.number_of(value)] += 1

    def number_of(self, value: bytes) -> Number:
        """Which source record this is, by its value."""
        partition, _, number = value.decode().partition(":")
        return int(partition), int(number)

    def read_to_the_ends(self) -> Mapping[Number, int]:
        """The same up to where the topics end now, transactions in progress included."""
        ends = {each: self._consumer.get_watermark_offsets(TopicPartition(*each), 30)[1] for each in self._places}

        def there() -> bool:
            self.read()
            return all(self._reached[each] >= end for each, end in ends.items())

        eventually(there, lambda: f"readers to come from {self._reached} to {ends}")
        return self.seen

    def close(self) -> None:
        """End it; it can be used again, and then begins at the beginnings."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
