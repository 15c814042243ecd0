"""What `transactions trace` answers: the transaction of one record, all that it touched, and what it committed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from eosctl.analysis.owners import ownership
from eosctl.analysis.tracing import logged_transaction
from eosctl.codecs.record_batches import Batch, decode_records
from eosctl.errors import EosctlError
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Record, RecordState
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.tracing import (
    Absence,
    CommittedOffset,
    Ending,
    Extent,
    Found,
    LoggedTransaction,
    NoRecord,
    Trace,
    TracedRecord,
    Written,
)
from eosctl.model.transactions import NO_OWNER
from eosctl.operations.session import Session
from eosctl.operations.trace_extent import Extents, ending_of
from eosctl.operations.trace_offsets import committed_offsets
from eosctl.operations.trace_places import DirectoryPlaces, LivePlaces, Places
from eosctl.operations.trace_search import Located, Wish, first_item, locate, parse_place
from eosctl.sources.audit_log import ControlBatch, DataBatch


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """Which record, how many offsets may be read in each direction, and where: log directories, or the cluster."""

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
        """As the command line has it. Raises UsageError where it names no record."""
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
    coverage = places.coverage + _gaps(record, (), {})
    return Trace(as_of=places.as_of, cluster_id=places.cluster_id, record=record, coverage=coverage)


class _Tracing:
    """One record's transaction, found from the record outward."""

    def __init__(self, places: Places, request: TraceRequest, located: Located) -> None:
        self._places, self._limit, self._located = places, request.limit, located
        self._bounds = places.log.bounds(located.topic_partition)

    def by_marker(self, item: ControlBatch) -> Trace:
        """There is no record but a marker: the transaction that it ended."""
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
            reason = "compacted away: its batch is left, with other records or none"
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
                found = or_skipped(partial(others.alike, other, ending, known))
                if isinstance(found, Skipped):
                    unread[other] = found
                elif found.found is not Found.NONE or isinstance(logged, LoggedTransaction):
                    extents[other] = found
        offsets, lost = self._offsets(producer, extents.values())
        unread |= lost
        name = holder if holder is not None else self._places.holder(producer.producer_id)
        return Trace(
            as_of=self._places.as_of,
            cluster_id=self._places.cluster_id,
            record=record,
            transactional_id=name,
            ownership=ownership(name, self._places.names) if isinstance(name, str) else NO_OWNER,
            logged=logged,
            extents=tuple(extents[each] for each in sorted(extents)),
            offsets=offsets,
            unread=unread,
            notes=(*(f"not read: {each}" for each in others.damages), *self._places.notes),
            coverage=self._places.coverage + _gaps(record, extents.values(), unread),
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
        touched = or_skipped(partial(self._places.known_to, producer.producer_id))
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
            read = or_skipped(partial(committed_offsets, self._places.log, each, producer))
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
    """What the answer lacks: the record's state, ends of extents, partitions."""
    found = [Unread(f"the transaction in {place}", each.reason, each.cause) for place, each in unread.items()]
    if isinstance(record, TracedRecord) and isinstance(record.state, Skipped):
        found.append(Unread("the state of the record", record.state.reason, record.state.cause))
    if isinstance(record, NoRecord) and record.absence is Absence.NOT_FOUND:
        found.append(Unread("the record", record.reason, Cause.UNKNOWN))
    for each in extents:
        what = f"the first offset of the transaction in {each.topic_partition}"
        if each.found is Found.FIRST_UNKNOWN:
            found.append(Unread(what, "it lies beyond the limit (--within)", Cause.UNKNOWN))
        elif each.found is Found.NONE and each.marker is None:
            found.append(Unread(what, "neither a record nor a marker of it was found within the limit", Cause.UNKNOWN))
    return Coverage((), tuple(found))
