"""Hanging transactions made on purpose: transactional batches unknown to any coordinator.

The brokers must not verify partitions (KIP-890): `transaction.partition.verification.enable=false`. The batches are
sent in a Produce version below 12, because from there on (transaction.version 2) a broker adds the partition by itself.
"""

import time
from dataclasses import dataclass

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from eosctl.clients.messages import Request, describe_producers, init_producer_id
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from tests.integration.coordinators import coordinator_of

UNVERIFIED = {"transaction.partition.verification.enable": "false"}
PRODUCE_WITHOUT_ADDING = 11
NOT_LEADER = 6
SAFE_CODES = {14, 15, 16, 51}


@dataclass(frozen=True)
class Hung:
    """A transaction that hangs: where it begins and whose it is."""

    topic_partition: TopicPartition
    producer: ProducerIdAndEpoch
    start_offset: int
    transactional_id: str | None


def initialise(wire: Wire, transactional_id: str | None, timeout_ms: int = 60_000) -> ProducerIdAndEpoch:
    """A producer ID and epoch for the ID; without one those of an idempotent producer."""
    from kafka.protocol.producer.transaction import InitProducerIdRequest

    if transactional_id is None:
        fields = {"transactional_id": None, "transaction_timeout_ms": 1, "producer_id": -1, "producer_epoch": -1}
        answer = wire.request_any(Request(InitProducerIdRequest, fields, max_version=4))
        return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
    servers = wire.properties.bootstrap_servers[0]
    while True:
        answer = wire.request(coordinator_of(servers, transactional_id), init_producer_id(transactional_id, timeout_ms))
        if answer.error_code not in SAFE_CODES:
            assert answer.error_code == 0, answer
            return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
        time.sleep(0.05)


def transactional_batch(
    producer: ProducerIdAndEpoch, sequence: int = 0, value: bytes = b"lost", key: bytes = b"key", ahead_ms: int = 0
) -> bytes:
    """One record in a transactional batch of that producer, by a clock that is so far ahead."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=True,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        batch_size=1 << 20,
    )
    builder.append(0, timestamp=time.time_ns() // 1_000_000 + ahead_ms, key=key, value=value, headers=[])
    return bytes(builder.build())


def produce(wire: Wire, place: TopicPartition, transactional_id: str | None, batch: bytes) -> int:
    """The batch appended, unverified: its offset."""
    from kafka.protocol.producer import ProduceRequest

    from eosctl.clients.leaders import partition_leaders

    data = ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(index=place.partition, records=batch)
    fields = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": 30_000,
        "topic_data": [data(name=place.topic, partition_data=[part])],
    }
    request = Request(ProduceRequest, fields, min_version=3, max_version=PRODUCE_WITHOUT_ADDING)
    leader = partition_leaders(wire, [place.topic])[place]
    answer = wire.request(leader, request).responses[0].partition_responses[0]
    assert answer.error_code == 0, answer
    return int(answer.base_offset)


def hang(wire: Wire, place: TopicPartition, transactional_id: str | None, *, ahead_ms: int = 0) -> Hung:
    """A transaction that hangs in the partition; its ID is Empty at its coordinator, or None has the producer ID."""
    producer = initialise(wire, transactional_id)
    # A broker asks for a transactional ID, and without verification for no more of it.
    offset = produce(wire, place, transactional_id or "nobody", transactional_batch(producer, ahead_ms=ahead_ms))
    return Hung(place, producer, offset, transactional_id)


def repeat_commit_marker(servers: str, place: TopicPartition) -> int:
    """The last transaction's marker once more, as a coordinator that was restarted sends it: by how much the log grew.

    From WriteTxnMarkers v2 on the broker checks its epoch by the rule of transaction.version 2 (KIP-1228).
    """
    from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

    from eosctl.clients.leaders import partition_leaders

    with Wire(ClientProperties((servers,))) as wire:
        leader = partition_leaders(wire, [place.topic])[place]
        before = _end(servers, place)
        answer = wire.request(leader, describe_producers([place]))
        last = max(answer.topics[0].partitions[0].active_producers, key=lambda each: each.last_timestamp)
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        topic = marker.WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])
        sent = marker(
            producer_id=last.producer_id,
            producer_epoch=last.producer_epoch,
            transaction_result=True,
            topics=[topic],
            coordinator_epoch=last.coordinator_epoch,
            transaction_version=2,
        )
        written = wire.request(leader, Request(WriteTxnMarkersRequest, {"markers": [sent]}, min_version=1))
        assert written.markers[0].topics[0].partitions[0].error_code == 0, written
    return _end(servers, place) - before


def _end(servers: str, place: TopicPartition) -> int:
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as Place

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "ends"})
    try:
        return int(consumer.get_watermark_offsets(Place(place.topic, place.partition), 30)[1])
    finally:
        consumer.close()


def found(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Rows of `transactions hanging` as what tells one transaction from another."""
    return sorted((row["topic"], row["partition"], row["producer_id"], row["start_offset"]) for row in rows)


def expected(hung: list[Hung]) -> list[tuple[object, ...]]:
    """The same of transactions that were made."""
    return sorted(
        (each.topic_partition.topic, each.topic_partition.partition, each.producer.producer_id, each.start_offset)
        for each in hung
    )
