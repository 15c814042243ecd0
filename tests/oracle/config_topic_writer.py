"""Writes config topics to a real broker as leaders and others do: plain, and in transactions of two producers."""

from dataclasses import dataclass, replace
from enum import StrEnum

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from eosctl.model.records import Record, RecordState
from tests.topics import make_topic


class Writer(StrEnum):
    """Who writes a segment of the log."""

    PLAIN = "plain"
    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Segment:
    """Records written together; a transactional writer ends them as `state` says, or leaves them open."""

    writer: Writer
    state: RecordState
    pairs: tuple[tuple[bytes | None, bytes | None], ...]


class ConfigTopicWriter:
    """One plain producer and two transactional ones on one broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        servers = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(servers)
        self._producers = {Writer.PLAIN: Producer({**servers, "linger.ms": 0})}
        for writer in (Writer.FIRST, Writer.SECOND):
            producer = Producer({**servers, "transactional.id": f"config-writer-{writer}", "linger.ms": 0})
            producer.init_transactions()
            self._producers[writer] = producer

    def create_topic(self, topic: str, cleanup_policy: str = "compact") -> None:
        """A topic with one partition."""
        new = NewTopic(topic, 1, 1, config={"cleanup.policy": cleanup_policy})
        make_topic(self._admin, new)

    def set_cleanup_policy(self, topic: str, policy: str) -> None:
        """Alter the topic."""
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(30)

    def write(self, topic: str, segment: Segment) -> list[Record]:
        """The records as they lie in the topic now, with their offsets."""
        producer = self._producers[segment.writer]
        transactional = segment.writer is not Writer.PLAIN
        if transactional:
            producer.begin_transaction()
        written = self._produce(producer, topic, segment)
        if transactional and segment.state is RecordState.COMMITTED:
            producer.commit_transaction(30)
        elif transactional and segment.state is RecordState.ABORTED:
            producer.abort_transaction(30)
        state = segment.state if transactional else RecordState.COMMITTED
        return [
            record._replace(state=state, transactional=transactional, producer_id=1 if transactional else -1)
            for record in written
        ]

    def _produce(self, producer: Producer, topic: str, segment: Segment) -> list[Record]:
        offsets: list[int] = []
        errors: list[object] = []

        def delivered(error: object, message: object) -> None:
            errors.append(error) if error else offsets.append(message.offset())

        for key, value in segment.pairs:
            producer.produce(topic, value=value, key=key, on_delivery=delivered)
        assert producer.flush(30) == 0
        assert not errors
        return [
            Record(offset, 0, key, value) for offset, (key, value) in zip(sorted(offsets), segment.pairs, strict=True)
        ]

    def end(self, open_segment: Segment, records: list[Record], state: RecordState) -> list[Record]:
        """End the transaction that `open_segment` left open; the records with what became of it."""
        producer = self._producers[open_segment.writer]
        if state is RecordState.COMMITTED:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        return [record._replace(state=state) if record.state is RecordState.OPEN else record for record in records]


def left_open(segment: Segment) -> Segment:
    """The same segment by the first transactional writer, without an end."""
    return replace(segment, writer=Writer.FIRST, state=RecordState.OPEN)
