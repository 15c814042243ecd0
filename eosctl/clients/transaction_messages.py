"""Requests of a transactional producer (KIP-98), as values that can be sent to any broker in the version it speaks."""

from typing import Final

from eosctl.clients.messages import Request
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition

FOR_CLIENTS: Final = 3
"""AddPartitionsToTxn v4 (KIP-890) is for brokers."""
TRANSACTIONAL_PRODUCE: Final = 3
"""Produce v3 (KIP-98) is the first that takes batches of transactions."""
PRODUCE_AFTER_ADDING: Final = 11
PRODUCE_ADDS: Final = 12
"""From Produce v12 (KIP-890) on the broker adds the partition to the transaction; v13 names topics by ID."""
END_TXN_WITHOUT_BUMP: Final = 4
END_TXN_RAISES_EPOCH: Final = 5
"""EndTxn v5 (KIP-890) raises the producer epoch and answers with the new one."""


def add_partition(transactional_id: str, producer: ProducerIdAndEpoch, place: TopicPartition) -> Request:
    """AddPartitionsToTxn of one partition, to the coordinator of the ID.

    Answers results_by_topic_v3_and_below[0].results_by_partition[0] of {partition_error_code}. Needs Write on the
    TransactionalId and the topic.
    """
    from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=place.topic, partitions=[place.partition])
    fields = {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": producer.producer_id,
        "v3_and_below_producer_epoch": producer.producer_epoch,
        "v3_and_below_topics": [topic],
    }
    return Request(AddPartitionsToTxnRequest, fields, max_version=FOR_CLIENTS)


def produce(transactional_id: str, place: TopicPartition, batch: bytes, *, adds: bool, timeout_ms: int) -> Request:
    """Produce of one batch with acks=all, to the partition's leader.

    adds: in the version with which the broker itself adds the partition to the transaction, otherwise in one before.
    Answers responses[0].partition_responses[0] of {error_code, base_offset}.
    """
    from kafka.protocol.producer.produce import ProduceRequest

    data = ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(index=place.partition, records=batch)
    fields = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout_ms": timeout_ms,
        "topic_data": [data(name=place.topic, partition_data=[part])],
    }
    if adds:
        return Request(ProduceRequest, fields, PRODUCE_ADDS, PRODUCE_ADDS, since="4.0")
    return Request(ProduceRequest, fields, TRANSACTIONAL_PRODUCE, PRODUCE_AFTER_ADDING)


def end_transaction(
    transactional_id: str, producer: ProducerIdAndEpoch, *, commit: bool, raises_epoch: bool = False
) -> Request:
    """EndTxn in the name of `producer`, to the coordinator of the ID: answers {error_code}.

    raises_epoch: in version 5, which answers {producer_id, producer_epoch} to go on with. Version 4 otherwise: from
    version 5 (KIP-890) on an epoch one too low may pass for a repeated request.
    """
    from kafka.protocol.producer.transaction import EndTxnRequest

    fields = {
        "transactional_id": transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "committed": commit,
    }
    if raises_epoch:
        return Request(EndTxnRequest, fields, END_TXN_RAISES_EPOCH, END_TXN_RAISES_EPOCH, since="4.0")
    return Request(EndTxnRequest, fields, max_version=END_TXN_WITHOUT_BUMP)
