"""Answers `transactions trace`: the transaction of one record, its partitions, and its commits."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, Self

from msgspec import Struct

from eosctl.analysis.tracing import Piece, is_of, logged_transaction, nearest, pieces
from eosctl.analysis.transactions import KnownNames, ownership
from eosctl.codecs.groups import decode_committed_offset, decode_offset_commit_key
from eosctl.codecs.offsets_topic import canonical_partition, decode_offsets_key, decode_offsets_value
from eosctl.codecs.record_batches import Batch, DamagedOffsets, MarkerType, decode_records, most_batch_bytes
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import MalformedValue, OffsetKey
from eosctl.model.records import Record, RecordState
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, read_or_skip
from eosctl.model.text import first_few
from eosctl.model.times import CLOCKS_MS
from eosctl.model.topics import OffsetRange, PartitionOffsets
from eosctl.model.tracing import (
    Absence,
    CommittedOffset,
    Ending,
    Extent,
    Found,
    LoggedTransaction,
    NoRecord,
    ProducerState,
    Trace,
    TracedRecord,
    Written,
)
from eosctl.model.transaction_log import LogRecord
from eosctl.model.transactions import NO_OWNER, transactional_ids_by_producer
from eosctl.operations.decisions import read_former_holders
from eosctl.operations.session import Session
from eosctl.operations.transactions import ConnectNames, read_connect_names
from eosctl.sources.audit_log import ControlBatch, DataBatch, LiveLog, LogItem, RecordLog
from eosctl.sources.log_directories import SegmentLog

FIRST_WINDOW: Final = 1_000
"""Offsets of the first step back; each further one is twice as long."""


class Back(Struct, frozen=True):
    """The batches of a transaction before an offset: first and last, or None.

    how is WHOLE if no earlier batch belongs to it, otherwise why that is unknown.
    """

    first: int | None
    last: int | None
    how: Found

    @property
    def found(self) -> Found:
        """How the extent is known, if it is complete."""
        return Found.NONE if self.first is None and self.how is not Found.FIRST_UNKNOWN else self.how


@dataclass(slots=True)
class Extents:
    """Finds transactions of one producer. limit is how many offsets are read in each direction.

    damages are offsets that could not be read, each with its partition and the reason.
    """

    log: RecordLog
    producer: ProducerIdAndEpoch
    limit: int
    damages: list[str] = field(default_factory=list)

    def around(self, place: TopicPartition, batch: Written, bounds: PartitionOffsets) -> Extent:
        """The transaction of this batch, in its own partition."""
        last, marker = batch.last_offset, None
        end = min(bounds.high_watermark, batch.first_offset + self.limit)
        for item in self._read(place, batch.first_offset, end):
            if isinstance(item, Ending):
                if item.producer_id == self.producer.producer_id:
                    marker = item if is_of(item, self.producer) else None
                    break
            elif item.producer_id == self.producer.producer_id:
                if item.producer_epoch != self.producer.producer_epoch:
                    break
                last = item.last_offset
        back = Back(None, None, Found.WHOLE)
        if batch.base_sequence != 0:
            back = self._back(place, batch.first_offset, bounds.log_start_offset)
        first = batch.first_offset if back.first is None else back.first
        return Extent(place, first, last, back.how, marker)

    def before(self, place: TopicPartition, ending: Ending, bounds: PartitionOffsets) -> Extent:
        """The transaction that this marker ended, in the marker's own partition."""
        back = self._back(place, ending.offset, bounds.log_start_offset)
        return Extent(place, back.first, back.last, back.found, ending)

    def alike(self, place: TopicPartition, ending: Ending | None, logged: LoggedTransaction | None) -> Extent:
        """The same transaction in another partition, by its end there; ending None: it is in progress."""
        bounds = self.log.bounds([place])[place]
        if ending is None:
            back = self._back(place, bounds.high_watermark, bounds.log_start_offset)
            return Extent(place, back.first, back.last, back.found)
        begun_ms = ending.timestamp if logged is None or logged.started_ms is None else logged.started_ms
        at = self.log.offsets_at([place], begun_ms - CLOCKS_MS)[place]
        start = bounds.high_watermark if at is None else max(at[0], bounds.log_start_offset)
        items = self._until(place, start, min(bounds.high_watermark, start + self.limit), ending.timestamp + CLOCKS_MS)
        match = nearest(pieces(items, self.producer.producer_id), self.producer, ending, logged)
        if match is None:
            return Extent(place, None, None, Found.NONE)
        piece, certain = match
        return self._whole(place, piece, bounds.log_start_offset, certain=certain)

    def _whole(self, place: TopicPartition, piece: Piece, log_start: int, *, certain: bool) -> Extent:
        """The piece with its batches before the range that it was found in."""
        assert piece.marker is not None
        first = piece.first_offset if piece.first_offset >= 0 else None
        last = piece.last_offset if piece.first_offset >= 0 else None
        how = Found.WHOLE
        if not piece.begins:
            back = self._back(place, piece.marker.offset if first is None else first, log_start)
            first, last = first if back.first is None else back.first, back.last if last is None else last
            how = back.found if first is None else back.how
        return Extent(place, first, last, how if certain or first is None else Found.BY_TIME, piece.marker)

    def _back(self, place: TopicPartition, before: int, log_start: int) -> Back:
        """The batches before `before` of the transaction that is still open there."""
        first, last, end, size = None, None, before, FIRST_WINDOW
        while end > log_start:
            start = max(log_start, end - size)
            found = list(pieces(self._read(place, start, end), self.producer.producer_id))
            if found:
                piece = found[-1]
                if piece.marker is not None or piece.producer_epoch != self.producer.producer_epoch:
                    return Back(first, last, Found.WHOLE)
                first, last = piece.first_offset, piece.last_offset if last is None else last
                if piece.begins:
                    return Back(first, last, Found.WHOLE)
            end, size = start, size * 2
            if before - end >= self.limit and end > log_start:
                return Back(first, last, Found.FIRST_UNKNOWN)
        return Back(first, last, Found.WHOLE if log_start == 0 else Found.FIRST_DELETED)

    def _until(self, place: TopicPartition, start: int, end: int, time_ms: int) -> Iterator[Written | Ending]:
        """The batches in the range, up to the first marker that was written later than `time_ms`."""
        for item in self._read(place, start, end):
            yield item
            if isinstance(item, Ending) and item.timestamp > time_ms:
                return

    def _read(self, place: TopicPartition, start: int, end: int) -> Iterator[Written | Ending]:
        if start < end:
            wanted = OffsetRange(place.topic, place.partition, start, end, settled=False)
            yield from self._of(place, self.log.read(wanted))

    def _of(self, place: TopicPartition, items: Iterable[LogItem]) -> Iterator[Written | Ending]:
        for item in items:
            if isinstance(item, DamagedOffsets):
                self.damages.append(f"offsets {item.offset} to {item.next_offset - 1} of {place}: {item.reason}")
            elif isinstance(item, ControlBatch):
                if item.marker is not None:
                    yield ending_of(item)
            elif item.batch.header.is_transactional:
                header = item.batch.header
                yield Written(
                    header.base_offset,
                    header.last_offset,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                )


def ending_of(item: ControlBatch) -> Ending:
    """The marker in a control batch that has one."""
    marker = item.marker
    assert marker is not None
    return Ending(
        marker.offset,
        marker.timestamp,
        marker.type is MarkerType.COMMIT,
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
    )


MOST_OFFSETS: Final = 1_000
"""How many offsets of one partition are shown."""


def committed_offsets(log: RecordLog, extent: Extent, producer: ProducerIdAndEpoch) -> tuple[CommittedOffset, ...]:
    """The commits of the transaction in this partition; empty if its first record is no offset.

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


INTERNAL = frozenset({TRANSACTION_LOG, "__cluster_metadata", "__share_group_state"})


class Places(Protocol):
    """Facts that a trace needs beside batches."""

    @property
    def as_of(self) -> int:
        """The time of the request, in ms since the epoch."""

    @property
    def cluster_id(self) -> str | None:
        """The cluster's ID, where it is known."""

    @property
    def log(self) -> RecordLog:
        """The batches."""

    @property
    def names(self) -> KnownNames:
        """The known Connect clusters and connectors."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Reasons why owners are less certain."""

    @property
    def coverage(self) -> Coverage:
        """The requests, and those that failed."""

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """Records of the transaction log, at least of the ID that holds or held the producer ID."""

    def holder(self, producer_id: int) -> str | Skipped | None:
        """The transactional ID that holds the producer ID now, or None."""

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        """Partitions in which the producer may have written."""

    def producer_state(self, place: TopicPartition) -> ProducerState | None:
        """The broker's files beside the partition's segments; None if a cluster is read."""


class LivePlaces:
    """A cluster."""

    def __init__(self, session: Session, config_topic: str) -> None:
        self._reader, self._config_topic = session.reader, config_topic
        self.as_of, self.cluster_id = session.reader.now(), session.reader.cluster_id
        self.log = LiveLog(session.wire)

    @cached_property
    def _connect(self) -> ConnectNames:
        return read_connect_names(self._reader, self._config_topic)

    @property
    def names(self) -> KnownNames:
        return self._connect.names

    @property
    def notes(self) -> tuple[str, ...]:
        return self._connect.notes if "_connect" in vars(self) else ()

    @property
    def coverage(self) -> Coverage:
        return self._reader.coverage

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """The log's partitions of the ID that holds it, or of those that held it. Raises NotAuthorized."""
        holder = self.holder(producer_id)
        names = {holder} if isinstance(holder, str) else read_former_holders(self._reader, {producer_id})
        if not names:
            return ()
        log = self._reader.transaction_log(sorted(names))
        for reason in log.unread.values():
            raise Unreachable(f"the transaction log was not read as a whole: {reason.reason}")
        return log.records

    def holder(self, producer_id: int) -> str | Skipped | None:
        """As coordinators list it."""
        listed = self._listed(producer_id)
        name = listed.names.get(producer_id)
        return Skipped("; ".join(listed.unlisted), Cause.UNREACHABLE) if name is None and listed.unlisted else name

    def _listed(self, producer_id: int) -> "_Listed":
        if producer_id not in self._by_producer:
            listed = self._reader.transactional_ids(producer_ids=[producer_id])
            names = transactional_ids_by_producer(listed.transactions)
            self._by_producer[producer_id] = _Listed(names, listed.unlisted)
        return self._by_producer[producer_id]

    @cached_property
    def _by_producer(self) -> "dict[int, _Listed]":
        return {}

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        """Partitions whose leaders remember it (producer.id.expiration.ms)."""
        found = self._reader.producers(self._reader.partitions({}), quiet=True)
        return [each.topic_partition for each in found.producers if each.producer.producer_id == producer_id]

    def producer_state(self, place: TopicPartition) -> None:
        """No request asks for it."""


class _Listed(Struct, frozen=True):
    names: Mapping[int, str]
    unlisted: tuple[str, ...]


class DirectoryPlaces:
    """Log directories of brokers. Owners are known by --group-id only."""

    def __init__(self, session: Session, directories: Sequence[Path], config_topic: str) -> None:
        group_id = session.options.group_id
        self.as_of = session.now()
        self.cluster_id: str | None = None
        self.segments = SegmentLog(directories, most_batch_bytes(session.client_properties))
        self.names = KnownNames.of({} if group_id is None else {group_id: ()})
        self.notes = ("read from files: what another broker has is not here",)
        self.coverage = Coverage()

    @property
    def log(self) -> RecordLog:
        return self.segments

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """The whole log in the directory."""
        return self.segments.transaction_log()

    def holder(self, producer_id: int) -> str | Skipped | None:
        """None: a log directory cannot show the holder."""
        return None

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        return [each for each in self.segments.all if each.topic not in INTERNAL]

    def producer_state(self, place: TopicPartition) -> ProducerState:
        return self.segments.producer_state(place)


PLACE: Final = late_pattern(
    r"(?P<topic>[^:@]+?)(?:[:-](?P<partition>\d+)@(?P<offset>\d+)|:(?P<searched>\d+)|@(?P<alone>\d+))?", re.ASCII
)


class Wish(Struct, frozen=True):
    """The requested record: an offset, the first one from a time (ms since the epoch), or one with a key."""

    topic: str
    partition: int | None
    offset: int | None
    key: bytes | None
    time_ms: int | None


class Located(Struct, frozen=True):
    """A place and offset that holds the record, or may hold it."""

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
        raise UsageError("an offset needs its partition; omit --key and --timestamp", hint="orders-0@1042")
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
    """The place of the record.

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
    longer = [each for each in log.bounds(places).values() if each.high_watermark - each.log_start_offset > limit]
    cut = wish.key is not None and bool(longer)
    within = f" within {limit} offsets (--within)" if cut else ""
    reason = f"no record{what}{when} was found{within} in {first_few(places)}"
    return NoRecord(places[0], -1, Absence.NOT_FOUND if cut else Absence.NOT_WRITTEN, reason)


def _candidates(log: RecordLog, place: TopicPartition, wish: Wish, limit: int) -> Iterator[tuple[int, Located]]:
    bounds = log.bounds([place])[place]
    start = bounds.log_start_offset
    if wish.time_ms is not None:
        at = log.offsets_at([place], wish.time_ms)[place]
        if at is None:
            return
        start = max(start, at[0])
        for record in _found_records(log, place, start, min(bounds.high_watermark, start + limit)):
            if record.timestamp >= wish.time_ms and wish.key in {None, record.key}:
                yield record.timestamp, Located(place, record.offset)
                return
        return
    end, size = bounds.high_watermark, FIRST_WINDOW
    floor = max(start, end - limit)
    while end > floor:
        begin = max(floor, end - size)
        last = [record for record in _found_records(log, place, begin, end) if record.key == wish.key]
        if last:
            yield last[-1].timestamp, Located(place, last[-1].offset)
            return
        end, size = begin, size * 2


def _found_records(log: RecordLog, place: TopicPartition, start: int, end: int) -> Iterator[Record]:
    for item in log.read(OffsetRange(place.topic, place.partition, start, end, settled=False)) if start < end else ():
        if isinstance(item, DataBatch):
            yield from decode_records(item.batch, topic_partition=place)


def first_item(log: RecordLog, located: Located) -> LogItem | NoRecord:
    """The batch that holds the record, or the reason without: deleted, not written yet, compacted away, damaged."""
    place, offset = located.topic_partition, located.offset
    bounds = log.bounds([place])[place]
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
    return f": the next remaining batch begins at offset {item.batch.header.base_offset}"


class TraceRequest(Struct, frozen=True):
    """The record, the most offsets to read in each direction, and the source: log directories, or the cluster."""

    wish: Wish
    limit: int
    log_directories: tuple[Path, ...]
    config_topic: str

    @classmethod
    def of(
        cls,
        place: str,
        key: str | None,
        time_ms: int | None,
        limit: int,
        log_directories: tuple[Path, ...],
        config_topic: str,
    ) -> Self:
        """The wish on the command line. Raises UsageError where it names no record."""
        return cls(parse_place(place, key, time_ms), limit, log_directories, config_topic)


def trace(session: Session, request: TraceRequest) -> Trace:
    """The record and its transaction. Raises UsageError for a partition that does not exist."""
    places: Places = (
        DirectoryPlaces(session, request.log_directories, request.config_topic)
        if request.log_directories
        else LivePlaces(session, request.config_topic)
    )
    located = locate(places.log, request.wish, request.limit)
    if isinstance(located, NoRecord):
        return _answer(places, located)
    item = first_item(places.log, located)
    match item:
        case NoRecord():
            return _answer(places, item)
        case ControlBatch():
            return _Tracing(places, request, located).by_marker(item)
        case DataBatch():
            return _Tracing(places, request, located).by_batch(item)
    raise AssertionError(item)


def _answer(places: Places, record: TracedRecord | NoRecord) -> Trace:
    state = places.producer_state(record.topic_partition)
    coverage = places.coverage + _gaps(record, (), {}) + _unknown(state)
    return Trace(
        as_of=places.as_of, cluster_id=places.cluster_id, record=record, producer_state=state, coverage=coverage
    )


class _Tracing:
    """One record's transaction, found from the record outward."""

    def __init__(self, places: Places, request: TraceRequest, located: Located) -> None:
        self._places, self._limit, self._located = places, request.limit, located
        self._bounds = places.log.bounds([located.topic_partition])[located.topic_partition]

    def by_marker(self, item: ControlBatch) -> Trace:
        """The record is a marker: the transaction that it ended."""
        place, offset = self._located.topic_partition, self._located.offset
        if item.marker is None:
            reason = "a control record that ends no transaction"
            return _answer(self._places, NoRecord(place, offset, Absence.MARKER, reason))
        ending = ending_of(item)
        what = "commit" if ending.committed else "abort"
        writer = ProducerIdAndEpoch(ending.producer_id, ending.producer_epoch)
        record = NoRecord(
            place, offset, Absence.MARKER, f"the {what} marker of producer {writer}, which no consumer sees"
        )
        for epoch in (ending.producer_epoch, ending.producer_epoch - 1):
            producer = ProducerIdAndEpoch(ending.producer_id, epoch)
            own = Extents(self._places.log, producer, self._limit).before(place, ending, self._bounds)
            if own.found is not Found.NONE:
                break
        return self._whole(record, producer, own)

    def by_batch(self, item: DataBatch) -> Trace:
        """The record in the batch, or that it was compacted away."""
        place, offset = self._located.topic_partition, self._located.offset
        records = {each.offset: each for each in decode_records(item.batch, topic_partition=place)}
        record = records.get(offset)
        if record is None:
            reason = "compacted away: its batch remains, with other records or without records"
            return _answer(self._places, NoRecord(place, offset, Absence.COMPACTED, reason))
        visible = offset < self._bounds.last_stable_offset
        if record.producer is None or not record.transactional:
            return _answer(self._places, _traced(place, record, RecordState.COMMITTED, visible=visible))
        own = Extents(self._places.log, record.producer, self._limit)
        extent = own.around(place, _written(item.batch), self._bounds)
        state = _state(item, extent, self._bounds, self._limit)
        return self._whole(_traced(place, record, state, visible=visible), record.producer, extent, own.damages)

    def _whole(
        self,
        record: TracedRecord | NoRecord,
        producer: ProducerIdAndEpoch,
        own: Extent,
        damages: Sequence[str] = (),
    ) -> Trace:
        place, ending = own.topic_partition, own.marker
        is_open = isinstance(record, TracedRecord) and record.state is RecordState.OPEN
        holder, logged = self._logged(producer, place, ending, is_open=is_open)
        touched, unread = self._touched(producer, place, logged)
        extents: dict[TopicPartition, Extent] = {place: own}
        others = Extents(self._places.log, producer, self._limit, list(damages))
        for other in touched:
            if other != place and (ending is not None or is_open):
                known = logged if isinstance(logged, LoggedTransaction) else None
                found = read_or_skip(partial(others.alike, other, ending, known))
                if isinstance(found, Skipped):
                    unread[other] = found
                elif found.found is not Found.NONE or isinstance(logged, LoggedTransaction):
                    extents[other] = found
        offsets, lost = self._offsets(producer, extents.values())
        unread |= lost
        name = holder if holder is not None else self._places.holder(producer.producer_id)
        state = self._places.producer_state(place)
        return Trace(
            as_of=self._places.as_of,
            cluster_id=self._places.cluster_id,
            record=record,
            transactional_id=name,
            ownership=ownership(name, self._places.names) if isinstance(name, str) else NO_OWNER,
            logged=logged,
            extents=tuple(extents[each] for each in sorted(extents)),
            offsets=offsets,
            producer_state=state,
            unread=unread,
            notes=(*(f"not read: {each}" for each in others.damages), *self._places.notes),
            coverage=self._places.coverage + _gaps(record, extents.values(), unread) + _unknown(state),
        )

    def _logged(
        self, producer: ProducerIdAndEpoch, place: TopicPartition, ending: Ending | None, *, is_open: bool
    ) -> tuple[str | None, LoggedTransaction | Skipped]:
        if ending is None and not is_open:
            why = f"its marker was not found within {self._limit} offsets (--within), so it is not looked up in the log"
            return None, Skipped(why)
        try:
            return logged_transaction(self._places.transaction_log(producer.producer_id), producer, place, ending)
        except EosctlError as error:
            return None, Skipped.of(error)

    def _touched(
        self, producer: ProducerIdAndEpoch, place: TopicPartition, logged: LoggedTransaction | Skipped
    ) -> tuple[Sequence[TopicPartition], dict[TopicPartition, Skipped]]:
        if isinstance(logged, LoggedTransaction):
            return logged.partitions, {}
        touched = read_or_skip(partial(self._places.known_to, producer.producer_id))
        if isinstance(touched, Skipped):
            return (), {
                place: Skipped(f"in which other partitions it wrote is not known: {touched.reason}", touched.cause)
            }
        return touched, {}

    def _offsets(
        self, producer: ProducerIdAndEpoch, extents: Iterable[Extent]
    ) -> tuple[tuple[CommittedOffset, ...], dict[TopicPartition, Skipped]]:
        found: list[CommittedOffset] = []
        lost: dict[TopicPartition, Skipped] = {}
        for each in extents:
            read = read_or_skip(partial(committed_offsets, self._places.log, each, producer))
            if isinstance(read, Skipped):
                lost[each.topic_partition] = read
            else:
                found += read
        return tuple(found), lost


def _traced(place: TopicPartition, record: Record, state: RecordState | Skipped, *, visible: bool) -> TracedRecord:
    return TracedRecord(place, record.offset, record.timestamp, record.producer, record.transactional, state, visible)


def _written(batch: Batch) -> Written:
    header = batch.header
    return Written(
        header.base_offset, header.last_offset, header.producer_id, header.producer_epoch, header.base_sequence
    )


def _state(item: DataBatch, extent: Extent, bounds: PartitionOffsets, limit: int) -> RecordState | Skipped:
    """Below the last stable offset the log's own list of aborted transactions decides, behind it the marker."""
    if item.batch.header.last_offset < bounds.last_stable_offset:
        return RecordState.ABORTED if item.aborted else RecordState.COMMITTED
    if extent.marker is not None:
        return RecordState.COMMITTED if extent.marker.committed else RecordState.ABORTED
    if item.batch.header.base_offset + limit >= bounds.high_watermark:
        return RecordState.OPEN
    return Skipped(f"its transaction has no marker within {limit} offsets (--within)")


def _gaps(
    record: TracedRecord | NoRecord, extents: Iterable[Extent], unread: Mapping[TopicPartition, Skipped]
) -> Coverage:
    """Missing facts of the answer: the record's state, ends of extents, partitions."""
    found = [Unread(f"the transaction in {place}", each.reason, each.cause) for place, each in unread.items()]
    if isinstance(record, TracedRecord) and isinstance(record.state, Skipped):
        found.append(Unread("the state of the record", record.state.reason, record.state.cause))
    if isinstance(record, NoRecord) and record.absence is Absence.NOT_FOUND:
        found.append(Unread("the record", record.reason, Cause.UNKNOWN))
    for each in extents:
        what = f"the first offset of the transaction in {each.topic_partition}"
        if each.found is Found.FIRST_UNKNOWN:
            found.append(Unread(what, "it is beyond the limit (--within)", Cause.UNKNOWN))
        elif each.found is Found.NONE and each.marker is None:
            found.append(Unread(what, "within the limit there is no record and no marker of it", Cause.UNKNOWN))
    return Coverage((), tuple(found))


def _unknown(state: ProducerState | None) -> Coverage:
    """Facts beside the record's own: its answer is whole without them."""
    if state is None:
        return Coverage()
    facts = {"aborted transactions": state.aborted, "open transactions": state.opened}
    return Coverage(
        (),
        tuple(
            Unread(f"the {what} of {state.topic_partition}", fact.reason, fact.cause, needed=False)
            for what, fact in facts.items()
            if isinstance(fact, Skipped)
        ),
    )
