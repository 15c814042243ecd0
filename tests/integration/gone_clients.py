"""Transactions whose client is gone: made request by request, so that no client is left running.

A client of transaction.version 2 (KIP-890) sends Produce v12, by which the leader adds the partition, and EndTxn v5; an
older one AddPartitionsToTxn, Produce v11 and EndTxn v4.
"""

import time
from dataclasses import dataclass, field

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.messages import Request
from eosctl.clients.wire import Wire
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from tests.integration.coordinators import coordinator_of
from tests.integration.hanging import initialise, transactional_batch

AGAIN = {6, 14, 15, 16, 19, 51}
ADDS_BY_ITSELF = 12
NONE, INVALID_TXN_STATE, PRODUCER_FENCED = 0, 48, 90


@dataclass
class GoneClient:
    """The actions of a client before it was killed; version is its transaction.version."""

    wire: Wire
    transactional_id: str
    version: int = 1
    timeout_ms: int = 900_000
    producer: ProducerIdAndEpoch = field(default=ProducerIdAndEpoch(-1, -1))
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    added: set[TopicPartition] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.producer.producer_id < 0:
            self.producer = initialise(self.wire, self.transactional_id, self.timeout_ms)

    @property
    def _servers(self) -> str:
        return self.wire.properties.bootstrap_servers[0]

    def write(self, place: TopicPartition, *values: bytes, key: bytes = b"key") -> list[int]:
        """Each value in a batch of its own, in the transaction: their offsets."""
        if self.version < 2 and place not in self.added:
            self.add(place)
        offsets = []
        for value in values:
            sequence = self.sequences.get(place, 0)
            offsets.append(self._produce(place, transactional_batch(self.producer, sequence, value, key)))
            self.sequences[place] = sequence + 1
        return offsets

    def add(self, place: TopicPartition) -> None:
        """AddPartitionsToTxn for one partition."""
        from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        fields = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer.producer_id,
            "v3_and_below_producer_epoch": self.producer.producer_epoch,
            "v3_and_below_topics": [topic(name=place.topic, partitions=[place.partition])],
        }
        request = Request(AddPartitionsToTxnRequest, fields, max_version=3)
        while True:
            answer = self.wire.request(coordinator_of(self._servers, self.transactional_id), request)
            (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            if result.partition_error_code not in AGAIN:
                assert result.partition_error_code == 0, answer
                self.added.add(place)
                return
            time.sleep(0.02)

    def _produce(self, place: TopicPartition, batch: bytes) -> int:
        from kafka.protocol.producer import ProduceRequest

        data = ProduceRequest.TopicProduceData
        part = data.PartitionProduceData(index=place.partition, records=batch)
        fields = {
            "transactional_id": self.transactional_id,
            "acks": -1,
            "timeout_ms": 30_000,
            "topic_data": [data(name=place.topic, partition_data=[part])],
        }
        newest = ADDS_BY_ITSELF if self.version >= 2 else ADDS_BY_ITSELF - 1
        request = Request(ProduceRequest, fields, min_version=3, max_version=newest)
        while True:
            leader = partition_leaders(self.wire, [place.topic])[place]
            answer = self.wire.request(leader, request).responses[0].partition_responses[0]
            if answer.error_code not in AGAIN:
                assert answer.error_code == 0, answer
                return int(answer.base_offset)
            time.sleep(0.02)

    def end(self, *, commit: bool) -> int:
        """EndTxn as this client would send it: the error code; the producer that follows is taken over."""
        from kafka.protocol.producer.transaction import EndTxnRequest

        fields = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer.producer_id,
            "producer_epoch": self.producer.producer_epoch,
            "committed": commit,
        }
        request = Request(EndTxnRequest, fields, max_version=5 if self.version >= 2 else 4)
        while True:
            answer = self.wire.request(coordinator_of(self._servers, self.transactional_id), request)
            if answer.error_code not in AGAIN:
                break
            time.sleep(0.02)
        self.added.clear()
        if answer.error_code == 0 and self.version >= 2:
            self.producer = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
            self.sequences = {}
        return int(answer.error_code)
