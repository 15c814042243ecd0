"""What a transaction commits beside its records: source offsets in an offsets topic, offsets of consumer groups."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Final

from eosctl.codecs.offset_commits import decode_committed_offset, decode_offset_commit_key
from eosctl.codecs.offsets_topic import canonical_partition, decode_offsets_key, decode_offsets_value
from eosctl.codecs.record_batches import decode_records
from eosctl.model.audit import OffsetRange
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import MalformedValue, OffsetKey
from eosctl.model.records import Record
from eosctl.model.tracing import CommittedOffset, Extent
from eosctl.sources.audit_log import DataBatch
from eosctl.sources.record_log import RecordLog

MOST_OFFSETS: Final = 1_000
"""How many offsets of one partition are shown."""


def committed_offsets(log: RecordLog, extent: Extent, producer: ProducerIdAndEpoch) -> tuple[CommittedOffset, ...]:
    """Those that the transaction wrote in this partition; none where its first record is no offset.

    Raises Undecodable for a batch that cannot be decoded.
    """
    if extent.first_offset is None or extent.last_offset is None:
        return ()
    place = extent.topic_partition
    wanted = OffsetRange(place.topic, place.partition, extent.first_offset, extent.last_offset + 1, settled=False)
    return tuple(islice(_offsets(place, _records(log, wanted, producer)), MOST_OFFSETS))


def _records(log: RecordLog, wanted: OffsetRange, producer: ProducerIdAndEpoch) -> Iterator[Record]:
    for item in log.read(wanted):
        if isinstance(item, DataBatch):
            header = item.batch.header
            if (header.producer_id, header.producer_epoch) == (producer.producer_id, producer.producer_epoch):
                yield from decode_records(item.batch, topic_partition=wanted.topic_partition)


def _offsets(place: TopicPartition, records: Iterator[Record]) -> Iterator[CommittedOffset]:
    for record in records:
        found = _group_offset(place, record) if place.topic == CONSUMER_OFFSETS else _source_offset(place, record)
        if found is None and place.topic != CONSUMER_OFFSETS:
            return
        if found is not None:
            yield found


def _group_offset(place: TopicPartition, record: Record) -> CommittedOffset | None:
    key = decode_offset_commit_key(record.key or b"")
    if key is None:
        return None
    offset = decode_committed_offset(record.value)
    value = None if offset is None else str(offset)
    return CommittedOffset(place, record.offset, True, key.group_id, str(key.topic_partition), value)


def _source_offset(place: TopicPartition, record: Record) -> CommittedOffset | None:
    key = decode_offsets_key(record.key)
    if not isinstance(key, OffsetKey):
        return None
    value = decode_offsets_value(record.value)
    shown = value.reason if isinstance(value, MalformedValue) else json.dumps(value, ensure_ascii=False)
    return CommittedOffset(
        place,
        record.offset,
        False,
        key.connector,
        canonical_partition(key.partition),
        None if value is None else shown,
    )
