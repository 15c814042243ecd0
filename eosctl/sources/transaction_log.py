"""The transaction log of a live cluster, read as its bytes lie in `__transaction_state`."""

from collections.abc import Collection, Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from eosctl.clients.messages import topics_metadata
from eosctl.clients.wire import Wire
from eosctl.codecs.transaction_log import KEY_VERSION, decode_log_record, encode_transaction_log_key
from eosctl.errors import Unreachable
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.records import Record
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import LogEnd, LogRecord, TransactionLogRecord
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_offsets import offsets_or_skipped
from eosctl.sources.transaction_log_leaders import transaction_log_leaders

KEY_OF_ANY_ID: Final = KEY_VERSION.to_bytes(2, "big")


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


def read_transaction_log(
    wire: Wire, offsets: Collection[PartitionOffsets], wanted: Collection[str] = ()
) -> Iterator[LogRecord]:
    """The records of these IDs (none: all) in these partitions, partition by partition in offset order.

    Raises NotAuthorized where Read on the topic is missing, Undecodable naming partition and offset.
    """
    keys = frozenset(map(encode_transaction_log_key, wanted))
    for bounds in offsets:
        for record in read_log(wire, bounds.topic_partition, offsets=bounds):
            if _is_wanted(record, keys):
                yield decode_log_record(bounds.topic_partition.partition, record)


def _is_wanted(record: Record, keys: Collection[bytes]) -> bool:
    """Whether it has one of these keys (none: any), or one of a version that a newer Kafka wrote."""
    key = record.key or b""
    return not keys or key in keys or key[: len(KEY_OF_ANY_ID)] != KEY_OF_ANY_ID


def log_ends(offsets: Collection[PartitionOffsets], epochs: Mapping[int, int]) -> Mapping[int, LogEnd]:
    """The end of each of these partitions. The epochs of their leaders were read before the offsets."""
    places = ((each.topic_partition.partition, each.high_watermark) for each in offsets)
    return {partition: LogEnd(epochs[partition], end) for partition, end in places if partition in epochs}


def leader_epochs(wire: Wire) -> Mapping[int, int]:
    """The epoch of the leader of each partition of the log; it changes with every election (KIP-320)."""
    [topic] = wire.request_any(topics_metadata([TRANSACTION_LOG])).topics
    return {each.partition_index: each.leader_epoch for each in topic.partitions}


def read_following(
    wire: Wire,
    offsets: Collection[PartitionOffsets],
    ends: Mapping[int, LogEnd],
    after: Mapping[int, LogEnd],
    wanted: Collection[str],
) -> tuple[LogRecord, ...] | None:
    """The records of these IDs after the ends of an earlier reading; None where the log must be read as a whole.

    1. A partition that has no earlier end was not read, or was empty.
    2. After an election the log may have been truncated (unclean.leader.election.enable), and written again.
    3. A gap in the offsets is what the cleaner removed: a coordinator writes no markers into the log, so every offset
       is that of a record.
    """
    found: list[LogRecord] = []
    keys = frozenset(map(encode_transaction_log_key, wanted))
    for bounds in offsets:
        partition = bounds.topic_partition.partition
        end, start = ends.get(partition), after.get(partition)
        if end is None or start is None or end.leader_epoch != start.leader_epoch:
            return None
        if not bounds.log_start_offset <= start.offset <= bounds.high_watermark:
            return None
        expected = start.offset
        for record in read_log(wire, bounds.topic_partition, start=expected, offsets=bounds):
            if record.offset != expected:
                return None
            expected += 1
            if _is_wanted(record, keys):
                found.append(decode_log_record(partition, record))
        if expected != bounds.high_watermark:
            return None
    return tuple(found)


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
