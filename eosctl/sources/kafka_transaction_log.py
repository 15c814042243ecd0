"""The transaction log as its leaders have it: records, ends of partitions, who held a producer ID, how many IDs."""

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from eosctl.clients.messages import topics_metadata
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import Batch, decode_entries_with
from eosctl.codecs.transaction_log import KEY_VERSION, decode_log_record, encode_transaction_log_key, may_begin_with
from eosctl.errors import Refused, Unreachable
from eosctl.model.names import TRANSACTION_LOG, TopicPartition, coordinator_partition
from eosctl.model.records import Entry, IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transaction_log import (
    NEWER,
    LogEnd,
    LoggedHolders,
    LogRecord,
    TransactionLogRecord,
    TransactionLogRecords,
)
from eosctl.sources.kafka_log import Allowance, LogReader, offsets_or_skipped, read_batches, read_log
from eosctl.sources.kafka_topics import id_expiration_ms
from eosctl.sources.kafka_transactions import transaction_log_leaders

KEY_OF_ANY_ID: Final = KEY_VERSION.to_bytes(2, "big")


class LogOffsets(NamedTuple):
    """Offsets of partitions of the log, without empty ones; unread: why others could not be read."""

    offsets: tuple[PartitionOffsets, ...]
    unread: Mapping[int, Skipped]


def transaction_log_offsets(wire: Wire, partitions: Collection[int]) -> LogOffsets:
    """Offsets of the log's partitions whose leaders answer."""
    places = [TopicPartition(TRANSACTION_LOG, partition) for partition in partitions]
    found = sorted((offsets_or_skipped(wire, places) if places else {}).items(), key=itemgetter(0))
    known = (each for _, each in found if not isinstance(each, Skipped))
    return LogOffsets(
        tuple(each for each in known if each.high_watermark > each.log_start_offset),
        {place.partition: each for place, each in found if isinstance(each, Skipped)},
    )


def transaction_log(
    wire: Wire,
    transactional_ids: Collection[str],
    after: Mapping[int, LogEnd] | None,
    prefix: str,
    most_bytes: int | None,
) -> TransactionLogRecords:
    """The partitions of these IDs (none: all); with `after` only what follows the ends of an earlier reading, if that
    can be known."""
    names = () if after is None else transactional_ids
    leaders = transaction_log_leaders(wire)
    wanted = {coordinator_partition(name, len(leaders)) for name in transactional_ids} if leaders else ()
    epochs = leader_epochs(wire) if names and leaders else {}
    offsets, unread = transaction_log_offsets(wire, sorted(wanted or leaders))
    ends = log_ends(offsets, epochs)
    following = read_following(wire, offsets, ends, after, names) if after else None
    whole = read_transaction_log(wire, offsets, names, prefix, most_bytes)
    return TransactionLogRecords(
        leaders=dict(leaders),
        expiration_ms=id_expiration_ms(wire),
        records=whole if following is None else following,
        unread=unread,
        ends=ends,
        continues=following is not None,
    )


def read_transaction_log(
    wire: Wire,
    offsets: Collection[PartitionOffsets],
    wanted: Collection[str] = (),
    prefix: str = "",
    most_bytes: int | None = None,
) -> Iterator[LogRecord]:
    """The records of these IDs (none: all with this prefix) in these partitions, one after the other, by offsets.

    Raises NotAuthorized where Read on the topic is missing, Undecodable naming partition and offset, Refused after
    most_bytes.
    """
    keys, stem = frozenset(map(encode_transaction_log_key, wanted)), prefix.encode(errors="surrogateescape")
    allowance = Allowance(most_bytes)
    for bounds in offsets:
        place = bounds.topic_partition
        for part in read_batches(wire, place, offsets=bounds):
            if allowance.is_spent:
                raise Refused(
                    f"{pluralize(most_bytes or 0, 'byte')} of {TRANSACTION_LOG} may be read, and {place} has more"
                )
            allowance.take(len(part.batch.data))
            for record in part.entries(place):
                if _is_wanted(record, keys) and may_begin_with(record.key or b"", stem):
                    yield decode_log_record(place.partition, record)


def find_holders(
    wire: Wire,
    epochs: Mapping[int, int],
    before: LoggedHolders,
    most_bytes: int | None = None,
    on_read: Callable[[int], None] = lambda _: None,
) -> LoggedHolders:
    """The IDs that held the producer IDs of an earlier reading, which this one continues.

    epochs are those of the log's leaders. on_read gets how many more offsets are read. A partition whose leader changed
    is read again: it may have been truncated. The bytes of a producer ID are looked for in a batch before its records
    are decoded.
    """
    offsets, unanswered = transaction_log_offsets(wire, epochs)
    unread, words = dict(unanswered), [PRODUCER_ID.pack(each) for each in before.producer_ids]
    allowance, found, left, size = Allowance(most_bytes), set(before.holders), 0, 0
    ends: dict[int, LogEnd] = {}
    for bounds in offsets:
        place, reached = bounds.topic_partition, bounds.log_start_offset
        epoch = epochs[place.partition]
        end = before.ends.get(place.partition)
        if end is not None and end.leader_epoch == epoch and end.offset <= bounds.high_watermark:
            reached = max(reached, end.offset)
        for batch in () if allowance.is_spent else _batches(wire, bounds, reached):
            for entry in decode_entries_with(batch, words) or ():
                record = decode_log_record(place.partition, entry)
                if isinstance(record, TransactionLogRecord):
                    found |= set(record.holders(before.producer_ids))
                elif any(word in (entry.key or b"") + (entry.value or b"") for word in words):
                    unread[place.partition] = NEWER
            passed, size = min(batch.header.next_offset, bounds.high_watermark), size + len(batch.data)
            on_read(passed - reached)
            reached = passed
            allowance.take(len(batch.data))
            if allowance.is_spent:
                break
        else:
            reached = reached if allowance.is_spent else bounds.high_watermark
        ends[place.partition], left = LogEnd(epoch, reached), left + bounds.high_watermark - reached
    return LoggedHolders(before.producer_ids, frozenset(found), ends, left, size, unread)


PRODUCER_ID: Final = struct.Struct(">q")


def _batches(wire: Wire, bounds: PartitionOffsets, start: int) -> Iterator[Batch]:
    place, limit = bounds.topic_partition, bounds.high_watermark
    for batches, _ in LogReader(wire, place, start, limit, IsolationLevel.READ_UNCOMMITTED):
        yield from (each for each in batches if not each.header.is_control)


def _is_wanted(record: Entry, keys: Collection[bytes]) -> bool:
    """True for one of these keys (none: any), or for a key version of a newer Kafka."""
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
       belongs to a record.
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
    """How many IDs the log holds now, visible to the principal or not. Needs Read on the topic.

    Raises Unreachable if no leader answers for a partition of it.
    """
    offsets, unread = transaction_log_offsets(wire, transaction_log_leaders(wire))
    for skipped in unread.values():
        raise Unreachable(skipped.reason)
    count = 0
    for bounds in offsets:
        is_held: dict[bytes, bool] = {}
        for part in read_batches(wire, bounds.topic_partition, offsets=bounds):
            is_held.update(
                (entry.key or b"", entry.value is not None) for entry in part.entries(bounds.topic_partition)
            )
        count += sum(held and key.startswith(KEY_OF_ANY_ID) for key, held in is_held.items())
    return count
