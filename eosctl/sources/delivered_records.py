"""The records that a read_committed consumer of a connector's topics gets, from the beginning on."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self

from eosctl.clients.librdkafka import consumer
from eosctl.codecs.record_identity import selected
from eosctl.errors import TimedOut
from eosctl.model.certification import Delivered, Place, Selector
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from confluent_kafka import Message

AT_A_TIME: Final = 500
WAIT_S: Final = 0.2
METADATA_S: Final = 10.0

Selectors = tuple[Selector, Selector | None, Selector | None]
"""The identity of a record, its source partition, and its place in that partition."""


class DeliveredRecords:
    """All records of some topics; `records` grows with each `read`."""

    def __init__(self, properties: ClientProperties, selectors: Selectors) -> None:
        self._identity, self._lane, self._order = selectors
        self._consumer = consumer(
            properties, isolation_level="read_committed", enable_partition_eof=True, fetch_wait_max_ms=200
        )
        self._reached: dict[tuple[str, int], int] = {}
        self.records: list[Delivered] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def follow(self, topics: Iterable[str]) -> None:
        """Takes in further topics, and partitions that they have got."""
        from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

        try:
            found = self._consumer.list_topics(timeout=METADATA_S).topics
        except KafkaException:
            return  # no broker answers now; it is asked again
        places = [(name, number) for name in topics if name in found for number in found[name].partitions]
        new = [place for place in places if place not in self._reached]
        if new:
            self._reached |= dict.fromkeys(new, 0)
            self._consumer.incremental_assign([TopicPartition(*place, OFFSET_BEGINNING) for place in new])

    @property
    def ends(self) -> dict[tuple[str, int], int]:
        """The offset behind what was read, of each partition."""
        return dict(self._reached)

    def read(self) -> int:
        """Takes what has come, and returns how many records that were."""
        before = len(self.records)
        while len(messages := self._consumer.consume(AT_A_TIME, WAIT_S)) == AT_A_TIME:
            self._take(messages)
        self._take(messages)
        return len(self.records) - before

    def read_to_the_ends(self, timeout_s: float, pause: Callable[[], object] = lambda: None) -> None:
        """Reads up to where each partition ends now, open transactions included. Raises TimedOut."""
        from confluent_kafka import KafkaException, TopicPartition

        end, wanted = monotonic() + timeout_s, dict[tuple[str, int], int]()
        while monotonic() < end:
            try:
                wanted = wanted or {
                    place: self._consumer.get_watermark_offsets(TopicPartition(*place), METADATA_S)[1]
                    for place in self._reached
                }
            except KafkaException:
                pause()
                continue
            self.read()
            if all(self._reached[place] >= offset for place, offset in wanted.items()):
                return
        behind = [f"{topic}:{number}" for (topic, number), end in wanted.items() if self._reached[topic, number] < end]
        raise TimedOut(f"read_committed consumers do not reach the end of {', '.join(behind) or 'any topic'}")

    def _take(self, messages: "Iterable[Message]") -> None:
        from confluent_kafka import KafkaError

        for message in messages:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                continue
            place = str(message.topic()), int(message.partition() or 0)
            offset = int(message.offset() or 0)
            is_again = offset < self._reached[place]  # a client may fetch twice what the log has once
            self._reached[place] = max(self._reached[place], offset + (error is None))
            if error is None and not is_again:
                self.records.append(self._delivered(message, Place(*place, offset)))

    def _delivered(self, message: Any, place: Place) -> Delivered:  # noqa: ANN401  # its stubs have no types
        parts = message.key(), message.value(), message.headers() or (), place.partition
        lane = None if self._lane is None else selected(self._lane, *parts)
        order = None if self._order is None else selected(self._order, *parts)
        return Delivered(
            place,
            message.timestamp()[1],
            selected(self._identity, *parts),
            lane or "",
            int(order) if order is not None and order.lstrip("-").isdecimal() else None,
        )
