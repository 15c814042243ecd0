"""Transaction log values as bytes, made from the layout alone, and Kafka's own reading of them."""

import struct
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_broker_jars, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import Oracle, java_with, sized

SOURCE = Path(__file__).with_name("TransactionLogOracle.java")
STATES = [state for state in TransactionState if state is not TransactionState.UNKNOWN]


class TransactionLogOracle(Oracle):
    """One JVM with the classes of one Kafka version."""

    def __init__(self, kafka_version: str) -> None:
        jars = resolve_broker_jars(kafka_version, lambda _: None)
        compiler = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None).compiler
        classes = compile_java(compiler, SOURCE, jars.classpath)
        super().__init__([*java_with(jars, classes), "TransactionLogOracle"])

    def key(self, data: bytes) -> dict[str, Any]:
        """Kafka's reading of a key."""
        return self.answer_to(b"k" + sized(data))

    def value(self, data: bytes) -> dict[str, Any]:
        """Kafka's reading of a value."""
        return self.answer_to(b"v" + sized(data))


def read_by_kafka(answer: dict[str, Any]) -> TransactionLogValue:
    """The oracle's answer as our noun."""
    data = answer["data"]
    topics = data["transactionPartitions"]
    return TransactionLogValue(
        version=answer["version"],
        producer=ProducerIdAndEpoch(data["producerId"], data["producerEpoch"]),
        timeout_ms=data["transactionTimeoutMs"],
        state=STATES[data["transactionStatus"]],
        partitions=None
        if topics is None
        else tuple(TopicPartition(each["topic"], index) for each in topics for index in each["partitionIds"]),
        last_update_ms=data["transactionLastUpdateTimestampMs"],
        start_ms=data["transactionStartTimestampMs"],
        previous_producer_id=data.get("previousProducerId", -1),
        next_producer_id=data.get("nextProducerId", -1),
        client_transaction_version=data.get("clientTransactionVersion", 0),
        next_producer_epoch=data.get("nextProducerEpoch", -1),
    )


def varint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def encode(value: TransactionLogValue, unknown_tags: dict[int, bytes] | None = None) -> bytes:
    """The bytes of a value, topics in the order of its partitions; unknown_tags are those of a newer Kafka."""
    flexible = value.version >= 1
    head = struct.pack(
        ">hqhib",
        value.version,
        value.producer.producer_id,
        value.producer.producer_epoch,
        value.timeout_ms,
        STATES.index(value.state),
    )
    topics = _topics(value)
    if not flexible:
        body = struct.pack(">i", -1 if topics is None else len(topics))
        for topic, indexes in topics or ():
            name = topic.encode()
            body += struct.pack(">h", len(name)) + name
            body += struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)
        return head + body + struct.pack(">qq", value.last_update_ms, value.start_ms)
    body = varint(0 if topics is None else len(topics) + 1)
    for topic, indexes in topics or ():
        name = topic.encode()
        body += varint(len(name) + 1) + name + varint(len(indexes) + 1)
        body += struct.pack(f">{len(indexes)}i", *indexes) + varint(0)
    tags = dict(unknown_tags or {})
    for tag, form, number, default in (
        (0, ">q", value.previous_producer_id, -1),
        (1, ">q", value.next_producer_id, -1),
        (2, ">h", value.client_transaction_version, 0),
        (3, ">h", value.next_producer_epoch, -1),
    ):
        if number != default:
            tags[tag] = struct.pack(form, number)
    tagged = varint(len(tags)) + b"".join(varint(tag) + varint(len(data)) + data for tag, data in sorted(tags.items()))
    return head + body + struct.pack(">qq", value.last_update_ms, value.start_ms) + tagged


def _topics(value: TransactionLogValue) -> list[tuple[str, list[int]]] | None:
    if value.partitions is None:
        return None
    topics: dict[str, list[int]] = {}
    for each in value.partitions:
        topics.setdefault(each.topic, []).append(each.partition)
    return list(topics.items())


INT16, INT32, INT64 = (st.integers(-(1 << bits), (1 << bits) - 1) for bits in (15, 31, 63))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.text("ü😀-_.a", min_size=60, max_size=90)


@st.composite
def values(draw: st.DrawFn) -> TransactionLogValue:
    """Any value of version 0 or 1."""
    version = draw(st.integers(0, 1))
    topics = draw(st.none() | st.dictionaries(NAMES, st.lists(INT32, min_size=1, max_size=4), max_size=4))
    partitions = (
        None if topics is None else tuple(TopicPartition(topic, each) for topic in topics for each in topics[topic])
    )
    return TransactionLogValue(
        version=version,
        producer=ProducerIdAndEpoch(draw(INT64), draw(INT16)),
        timeout_ms=draw(INT32),
        state=draw(st.sampled_from(STATES)),
        partitions=partitions,
        last_update_ms=draw(INT64),
        start_ms=draw(INT64),
        previous_producer_id=draw(INT64) if version else -1,
        next_producer_id=draw(INT64) if version else -1,
        client_transaction_version=draw(INT16) if version else 0,
        next_producer_epoch=draw(INT16) if version else -1,
    )


UNKNOWN_TAGS = st.dictionaries(st.integers(4, 40), st.binary(max_size=9), max_size=3)
