"""Requests about the producers that partitions remember (KIP-664), as values that can be sent to any broker."""

from collections.abc import Iterable
from typing import Final

from eosctl.clients.messages import Request, by_topic
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition

MARKERS_WITHOUT_TRANSACTION_VERSION: Final = 1
"""From WriteTxnMarkers v2 (KIP-1228) a marker may ask for the check of transaction.version 2, which wants an epoch
above that of the data. A marker that ends a hanging transaction carries the epoch of the data."""


def describe_producers(partitions: Iterable[TopicPartition]) -> Request:
    """DescribeProducers to the partitions' leader: topics[] of {name, partitions[] of {partition_index, error_code,
    active_producers[] of {producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch,
    current_txn_start_offset}}}; -1 stands for none. Needs Read on each topic.
    """
    from kafka.protocol.admin.transactions import DescribeProducersRequest

    topics = [
        DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=indexes)
        for topic, indexes in by_topic(partitions).items()
    ]
    return Request(DescribeProducersRequest, {"topics": topics}, since="2.8")


def write_abort_marker(
    topic_partition: TopicPartition, producer: ProducerIdAndEpoch, coordinator_epoch: int
) -> Request:
    """WriteTxnMarkers with one ABORT marker, to the partition's leader.

    Answers markers[0].topics[0].partitions[0] of {partition_index, error_code}. Needs ClusterAction on the cluster, or
    Alter from brokers 3.8 on (KAFKA-16513). Version 0 was removed in Kafka 4.0; brokers know version 1 since 2.8.
    """
    from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

    marker = WriteTxnMarkersRequest.WritableTxnMarker
    fields = {
        "markers": [
            marker(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transaction_result=False,
                topics=[
                    marker.WritableTxnMarkerTopic(
                        name=topic_partition.topic, partition_indexes=[topic_partition.partition]
                    )
                ],
                coordinator_epoch=coordinator_epoch,
            )
        ]
    }
    return Request(
        WriteTxnMarkersRequest,
        fields,
        min_version=1,
        max_version=MARKERS_WITHOUT_TRANSACTION_VERSION,
        since="2.8",
    )
