"""The transaction log of a live cluster, read as its bytes lie in `__transaction_state`."""

from collections.abc import Collection, Iterator, Mapping

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.wire import Wire
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.model.names import TopicPartition
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import TRANSACTION_LOG, LogRecord, TransactionLogRecord
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_offsets import partition_offsets
from eosctl.sources.kafka_topics import topic_facts


def transaction_log_leaders(wire: Wire) -> Mapping[int, int]:
    """Partition of the transaction log to the node ID of its leader, which coordinates the IDs in it (-1: none).

    Empty where no transaction was ever begun in this cluster: the topic does not exist then.
    """
    if topic_facts(wire, [TRANSACTION_LOG])[TRANSACTION_LOG] is None:
        return {}
    return {each.partition: leader for each, leader in partition_leaders(wire, [TRANSACTION_LOG]).items()}


def transaction_log_offsets(wire: Wire, partitions: Collection[int]) -> tuple[PartitionOffsets, ...]:
    """Offsets of these partitions of the log, those without records left out."""
    places = [TopicPartition(TRANSACTION_LOG, partition) for partition in partitions]
    found = partition_offsets(wire, places) if places else {}
    return tuple(each for _, each in sorted(found.items()) if each.high_watermark > each.log_start_offset)


def read_transaction_log(wire: Wire, offsets: Collection[PartitionOffsets]) -> Iterator[LogRecord]:
    """The records of these partitions, partition by partition in offset order.

    Raises NotAuthorized where Read on the topic is missing, Undecodable naming partition and offset.
    """
    for bounds in offsets:
        for record in read_log(wire, bounds.topic_partition, offsets=bounds):
            yield decode_log_record(bounds.topic_partition.partition, record)


def count_transactional_ids(wire: Wire) -> int:
    """How many IDs the log holds now, whoever may see them. Needs Read on the topic."""
    offsets = transaction_log_offsets(wire, transaction_log_leaders(wire))
    live: set[str] = set()
    for record in read_transaction_log(wire, offsets):
        if isinstance(record, TransactionLogRecord):
            (live.discard if record.value is None else live.add)(record.transactional_id)
    return len(live)
