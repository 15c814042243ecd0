"""The transaction log of a live cluster, read as its bytes lie in `__transaction_state`."""

from collections.abc import Collection, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from eosctl.clients.leaders import NO_LEADER, partition_leaders
from eosctl.clients.wire import Wire
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import NotAuthorized, Unreachable
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import TRANSACTION_LOG, LogRecord, TransactionLogRecord
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_offsets import offsets_or_skipped
from eosctl.sources.kafka_topics import topic_facts


def transaction_log_leaders(wire: Wire) -> Mapping[int, int]:
    """Partition of the transaction log to the node ID of its leader, which coordinates the IDs in it (-1: none).

    Empty where no transaction was ever begun in this cluster: the topic does not exist then.
    """
    if topic_facts(wire, [TRANSACTION_LOG])[TRANSACTION_LOG] is None:
        return {}
    return {each.partition: leader for each, leader in partition_leaders(wire, [TRANSACTION_LOG]).items()}


def leaderless_log_partitions(wire: Wire) -> tuple[int, ...] | Skipped:
    """Partitions of the transaction log without a leader: no broker coordinates, lists or describes their IDs.

    Skipped where Describe on the topic is missing.
    """
    try:
        leaders = transaction_log_leaders(wire)
    except NotAuthorized as error:
        return Skipped.of(error)
    return tuple(sorted(partition for partition, leader in leaders.items() if leader == NO_LEADER))


class LogOffsets(NamedTuple):
    """Offsets of partitions of the log, those without records left out; unread: why others could not be asked."""

    offsets: tuple[PartitionOffsets, ...]
    unread: Mapping[int, Skipped]


def transaction_log_offsets(wire: Wire, partitions: Collection[int]) -> LogOffsets:
    """Offsets of these partitions of the log, as far as there is somebody who answers for them."""
    places = [TopicPartition(TRANSACTION_LOG, partition) for partition in partitions]
    found = sorted((offsets_or_skipped(wire, places) if places else {}).items(), key=itemgetter(0))
    known = (each for _, each in found if not isinstance(each, Skipped))
    return LogOffsets(
        tuple(each for each in known if each.high_watermark > each.log_start_offset),
        {place.partition: each for place, each in found if isinstance(each, Skipped)},
    )


def read_transaction_log(wire: Wire, offsets: Collection[PartitionOffsets]) -> Iterator[LogRecord]:
    """The records of these partitions, partition by partition in offset order.

    Raises NotAuthorized where Read on the topic is missing, Undecodable naming partition and offset.
    """
    for bounds in offsets:
        for record in read_log(wire, bounds.topic_partition, offsets=bounds):
            yield decode_log_record(bounds.topic_partition.partition, record)


def count_transactional_ids(wire: Wire) -> int:
    """How many IDs the log holds now, whoever may see them. Needs Read on the topic.

    Raises Unreachable where nobody answers for a partition of it.
    """
    offsets, unread = transaction_log_offsets(wire, transaction_log_leaders(wire))
    for skipped in unread.values():
        raise Unreachable(skipped.reason)
    live: set[str] = set()
    for record in read_transaction_log(wire, offsets):
        if isinstance(record, TransactionLogRecord):
            (live.discard if record.value is None else live.add)(record.transactional_id)
    return len(live)
