"""Which record a trace is about: by partition and offset, by timestamp, or by its key."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from eosctl.codecs.record_batches import DamagedOffsets, decode_records
from eosctl.errors import UsageError
from eosctl.model.audit import OffsetRange
from eosctl.model.counts import some
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record
from eosctl.model.tracing import Absence, NoRecord
from eosctl.operations.trace_extent import FIRST_WINDOW
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem
from eosctl.sources.record_log import RecordLog

PLACE: Final = re.compile(
    r"(?P<topic>[^:@]+?)(?:[:-](?P<partition>\d+)@(?P<offset>\d+)|:(?P<searched>\d+)|@(?P<alone>\d+))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Wish:
    """The record that is asked for: an offset, the first one from a time (ms since the epoch) on, one with a key."""

    topic: str
    partition: int | None
    offset: int | None
    key: bytes | None
    time_ms: int | None


@dataclass(frozen=True, slots=True)
class Located:
    """A place and offset, where there is a record or may be one."""

    topic_partition: TopicPartition
    offset: int


def parse_place(text: str, key: str | None, time_ms: int | None) -> Wish:
    """TOPIC-PARTITION@OFFSET (or with a colon), or TOPIC[:PARTITION] with a key or a time; otherwise UsageError.

    Without an offset a topic may be called orders-0.
    """
    match = PLACE.fullmatch(text)
    if match is None:
        raise UsageError(f"invalid record {text!r}: expected TOPIC-PARTITION@OFFSET", hint="for example orders-0@1042")
    partition, offset = match["partition"] or match["searched"], match["offset"] or match["alone"]
    if offset is not None and (partition is None or key is not None or time_ms is not None):
        raise UsageError("an offset needs its partition, and neither --key nor --timestamp", hint="orders-0@1042")
    if offset is None and key is None and time_ms is None:
        raise UsageError(f"{text} names no record", hint=f"give {text}@OFFSET, --key or --timestamp")
    return Wish(
        match["topic"],
        None if partition is None else int(partition),
        None if offset is None else int(offset),
        None if key is None else key.encode(),
        time_ms,
    )


def locate(log: RecordLog, wish: Wish, limit: int) -> Located | NoRecord:
    """Where the record is.

    With a key and without a time the last one with this key, otherwise the first one from the time on. Of several
    partitions the one whose record has the earliest timestamp, or without a time the latest.
    """
    if wish.offset is not None and wish.partition is not None:
        return Located(TopicPartition(wish.topic, wish.partition), wish.offset)
    places = [each for each in log.partitions(wish.topic) if wish.partition in {None, each.partition}]
    if not places:
        raise UsageError(f"topic {wish.topic} has no partition {wish.partition}")
    found = [each for place in places for each in _candidates(log, place, wish, limit)]
    if not found:
        return _nothing(log, places, wish, limit)
    pick = max if wish.time_ms is None else min
    _, located = pick(found, key=lambda each: each[0])
    return located


def _nothing(log: RecordLog, places: Sequence[TopicPartition], wish: Wish, limit: int) -> NoRecord:
    what = "" if wish.key is None else f" with the key {wish.key.decode('utf-8', 'replace')}"
    when = "" if wish.time_ms is None else " from that time on"
    longer = [each for each in map(log.bounds, places) if each.high_watermark - each.log_start_offset > limit]
    cut = wish.key is not None and bool(longer)
    within = f" within {limit} offsets (--within)" if cut else ""
    reason = f"no record{what}{when} was found{within} in {some(places)}"
    return NoRecord(places[0], -1, Absence.NOT_FOUND if cut else Absence.NOT_WRITTEN, reason)


def _candidates(log: RecordLog, place: TopicPartition, wish: Wish, limit: int) -> Iterator[tuple[int, Located]]:
    bounds = log.bounds(place)
    start = bounds.log_start_offset
    if wish.time_ms is not None:
        at = log.offset_at(place, wish.time_ms)
        if at is None:
            return
        start = max(start, at[0])
        for record in _records(log, place, start, min(bounds.high_watermark, start + limit)):
            if record.timestamp >= wish.time_ms and wish.key in {None, record.key}:
                yield record.timestamp, Located(place, record.offset)
                return
        return
    end, size = bounds.high_watermark, FIRST_WINDOW
    floor = max(start, end - limit)
    while end > floor:
        begin = max(floor, end - size)
        last = [record for record in _records(log, place, begin, end) if record.key == wish.key]
        if last:
            yield last[-1].timestamp, Located(place, last[-1].offset)
            return
        end, size = begin, size * 2


def _records(log: RecordLog, place: TopicPartition, start: int, end: int) -> Iterator[Record]:
    for item in log.read(OffsetRange(place.topic, place.partition, start, end, settled=False)) if start < end else ():
        if isinstance(item, DataBatch):
            yield from decode_records(item.batch, topic_partition=place)


def first_item(log: RecordLog, located: Located) -> LogItem | NoRecord:
    """The batch that holds the record, or why there is none: deleted, not written yet, compacted away, damaged."""
    place, offset = located.topic_partition, located.offset
    bounds = log.bounds(place)
    if offset < bounds.log_start_offset:
        reason = f"deleted: the log starts at offset {bounds.log_start_offset} (retention, or DeleteRecords)"
        return NoRecord(place, offset, Absence.DELETED, reason)
    if offset >= bounds.high_watermark and (cut := log.cut_bytes(place)):
        reason = f"{cut} bytes at the end of the log, from offset {bounds.high_watermark} on, are no whole batch"
        return NoRecord(place, offset, Absence.DAMAGED, f"the log is damaged there: {reason}")
    if offset >= bounds.high_watermark:
        return NoRecord(place, offset, Absence.NOT_WRITTEN, f"the log ends before offset {bounds.high_watermark}")
    settled = offset < bounds.last_stable_offset
    end = bounds.last_stable_offset if settled else bounds.high_watermark
    item = next(log.read(OffsetRange(place.topic, place.partition, offset, end, settled=settled)), None)
    match item:
        case DamagedOffsets() if item.offset <= offset:
            return NoRecord(place, offset, Absence.DAMAGED, f"the log is damaged there: {item.reason}")
        case DataBatch() | ControlBatch() if item.batch.header.base_offset <= offset:
            return item
    return NoRecord(place, offset, Absence.COMPACTED, f"compacted away{_behind(item)}")


def _behind(item: LogItem | None) -> str:
    if item is None or isinstance(item, DamagedOffsets):
        return ""
    return f": the next batch that is left begins at offset {item.batch.header.base_offset}"
