"""Where one transaction lies in a partition: its batches and its marker, found by reading outward within a limit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from eosctl.analysis.tracing import CLOCKS_MS, Piece, is_of, nearest, pieces
from eosctl.codecs.record_batches import DamagedOffsets, MarkerType
from eosctl.model.audit import OffsetRange
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.topics import PartitionOffsets
from eosctl.model.tracing import Ending, Extent, Found, LoggedTransaction, Written
from eosctl.sources.audit_log import ControlBatch, LogItem
from eosctl.sources.record_log import RecordLog

FIRST_WINDOW: Final = 1_000
"""Offsets of the first step back; each further one is twice as long."""


@dataclass(frozen=True, slots=True)
class Back:
    """The batches of a transaction before an offset: first and last, None where there are none.

    how is WHOLE where nothing of it lies before them, otherwise why that is not known.
    """

    first: int | None
    last: int | None
    how: Found

    @property
    def found(self) -> Found:
        """How the extent is known, if it is all that there is of it."""
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
        """The transaction that this batch belongs to, in its own partition."""
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
        bounds = self.log.bounds(place)
        if ending is None:
            back = self._back(place, bounds.high_watermark, bounds.log_start_offset)
            return Extent(place, back.first, back.last, back.found)
        begun_ms = ending.timestamp if logged is None or logged.started_ms is None else logged.started_ms
        at = self.log.offset_at(place, begun_ms - CLOCKS_MS)
        start = bounds.high_watermark if at is None else max(at[0], bounds.log_start_offset)
        items = self._until(place, start, min(bounds.high_watermark, start + self.limit), ending.timestamp + CLOCKS_MS)
        match = nearest(pieces(items, self.producer.producer_id), self.producer, ending, logged)
        if match is None:
            return Extent(place, None, None, Found.NONE)
        piece, certain = match
        return self._whole(place, piece, bounds.log_start_offset, certain=certain)

    def _whole(self, place: TopicPartition, piece: Piece, log_start: int, *, certain: bool) -> Extent:
        """The piece with what lies before the range that it was found in."""
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
        """What lies in the range, up to the first marker that was written later than `time_ms`."""
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
