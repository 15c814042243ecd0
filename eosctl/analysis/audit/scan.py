"""One range, read once: every fold that its topic's role needs, fed from the same batches.

1. A batch belongs to the range in which its last offset lies, so a batch is never cut; the source sees to that.
2. Of an output topic the headers are enough. Of an offsets topic the committed records are decoded; records below the
   offset where the audit begins are left out. Of the config topic the records are kept as they are.
3. A tail range, behind the last stable offset, is read for headers only: its transactions are still undecided.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.analysis.audit.batches import Decode, Entry, Header, Marker, first_time
from eosctl.analysis.audit.key_scan import KeyScan, Tracked, none_tracked
from eosctl.analysis.audit.sessions import SessionScan, merge_producers
from eosctl.model.audit import Gap, TopicRole
from eosctl.model.audit_states import (
    Damage,
    GrowthPoint,
    ItemKind,
    KeyState,
    LogState,
    ProducerItems,
    ProducerState,
    TransactionItem,
)
from eosctl.model.topics import OffsetRange

# Summary of a range's batches: counts, gaps, damages, growth. Merges with the next range of the partition.
#
# Gaps are classified where they are seen, by what the topic is:
# 1. A batch below the log start offset is gone by retention or DeleteRecords: no gap, the audit began behind it.
# 2. In a compacted topic offsets between batches were cleaned.
# 3. Anywhere else a log has none: they are lost.
# 4. Where the cleanup policy could not be read it is unclear which of the two it is.
# 5. A batch that begins before its range covers the end of the range before: the merge takes that for no gap.


HOUR_MS: Final = 3_600_000


class GapKind(StrEnum):
    """Reason why offsets have no batch."""

    COMPACTED = "compacted"
    LOST = "lost"
    EXPIRED = "expired"
    UNCLEAR = "unclear"


class LogScan:
    """Give it every batch in offset order, then ask for `state`."""

    def __init__(self, start: int, end: int, gap_kind: GapKind) -> None:
        self._start, self._end, self._gap_kind = start, end, gap_kind
        self._next = start
        self._first_base: int | None = None
        self._behind_gap = False
        self._records = self._control = self._aborted = self._plain = self._batches = self._bytes = 0
        self._cleaned: int | None = None
        self._first_batch: int | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._gaps: list[Gap] = []
        self._damages: list[Damage] = []
        self._hours: Counter[int] = Counter()
        self._tombstones: Counter[int] = Counter()

    def add_batch(self, header: Header) -> None:
        time = first_time(header)
        if self._first_batch is None:
            self._first_batch = time
        self._pass(header.base_offset, header.last_offset + 1)
        if self._gap_kind is GapKind.COMPACTED:
            holes = header.last_offset - header.base_offset >= header.record_count
            if self._behind_gap or holes:
                self._cleaned = _greatest(self._cleaned, header.max_timestamp if holes else time)
        self._behind_gap = False
        self._batches += 1
        self._bytes += header.batch_length

    def add_data(self, header: Header, *, aborted: bool) -> None:
        """Count the records of a data batch, after `add_batch`."""
        count, time, begun = header.record_count, header.max_timestamp, first_time(header)
        self._records += count
        if aborted:
            self._aborted += count
        if not header.is_transactional:
            self._plain += count
        if self._first is None or begun < self._first:
            self._first = begun
        if self._last is None or time > self._last:
            self._last = time
        self._hours[time // HOUR_MS] += count

    def add_control(self, header: Header) -> None:
        self._control += header.record_count

    def add_tombstones(self, header: Header, count: int) -> None:
        self._tombstones[header.max_timestamp // HOUR_MS] += count

    def add_damage(self, offset: int, next_offset: int, reason: str) -> None:
        self._pass(offset, next_offset)
        self._damages = list(_join_damages(tuple(self._damages), (Damage(offset, next_offset, reason),)))

    def _pass(self, first: int, behind: int) -> None:
        if self._first_base is None:
            self._first_base = first
        if first > self._next:
            self._gaps.append(Gap(self._next, first, self._gap_kind.value))
            self._behind_gap = True
        self._next = max(behind, self._next)

    def state(self, producers: tuple[ProducerState, ...]) -> LogState:
        """The state of the range."""
        at_end = (Gap(self._next, self._end, self._gap_kind.value),) if self._end > self._next else ()
        return LogState(
            start=self._start,
            end=self._end,
            first_base=self._first_base,
            behind_gap=self._behind_gap,
            records=self._records,
            control_records=self._control,
            aborted_records=self._aborted,
            plain_records=self._plain,
            batches=self._batches,
            size_bytes=self._bytes,
            first_timestamp=self._first,
            last_timestamp=self._last,
            first_batch=self._first_batch,
            cleaned_until=self._cleaned,
            gaps=(*self._gaps, *at_end),
            damages=tuple(self._damages),
            growth=tuple(
                GrowthPoint(hour, count, self._tombstones[hour]) for hour, count in sorted(self._hours.items())
            ),
            producers=producers,
        )


def merge_logs(left: LogState, right: LogState) -> LogState:
    """The state of both ranges together; `right` is the later one."""
    gaps = tuple(_until(right.first_base, left.gaps))
    reach = left.end if right.first_base is None else min(left.end, right.first_base)
    behind_gap = left.behind_gap or bool(gaps and gaps[-1].end == reach)
    compacted = behind_gap and bool(gaps) and gaps[-1].kind == GapKind.COMPACTED.value
    if right.first_batch is not None:
        still_behind = right.behind_gap
    else:
        still_behind = left.behind_gap if right.first_base is None else behind_gap or right.behind_gap
    return LogState(
        start=left.start,
        end=right.end,
        first_base=right.first_base if left.first_base is None else left.first_base,
        behind_gap=still_behind,
        records=left.records + right.records,
        control_records=left.control_records + right.control_records,
        aborted_records=left.aborted_records + right.aborted_records,
        plain_records=left.plain_records + right.plain_records,
        batches=left.batches + right.batches,
        size_bytes=left.size_bytes + right.size_bytes,
        first_timestamp=_least(left.first_timestamp, right.first_timestamp),
        last_timestamp=_greatest(left.last_timestamp, right.last_timestamp),
        first_batch=right.first_batch if left.first_batch is None else left.first_batch,
        cleaned_until=_greatest(
            _greatest(left.cleaned_until, right.cleaned_until), right.first_batch if compacted else None
        ),
        gaps=_join_gaps(gaps, right.gaps),
        damages=_join_damages(left.damages, right.damages),
        growth=_join_growth(left.growth, right.growth),
        producers=_join_producers(left.producers, right.producers),
    )


def _least(left: int | None, right: int | None) -> int | None:
    return min((each for each in (left, right) if each is not None), default=None)


def _greatest(left: int | None, right: int | None) -> int | None:
    return max((each for each in (left, right) if each is not None), default=None)


def _until(offset: int | None, gaps: tuple[Gap, ...]) -> Iterator[Gap]:
    """Gaps up to this offset, where a batch begins. Expired offsets count as expired, even within a batch."""
    for gap in gaps:
        if offset is None or gap.end <= offset or gap.kind == GapKind.EXPIRED.value:
            yield gap
        elif gap.start < offset:
            yield gap._replace(end=offset)


def _join_damages(left: tuple[Damage, ...], right: tuple[Damage, ...]) -> tuple[Damage, ...]:
    if left and right and left[-1].next_offset == right[0].offset and left[-1].reason == right[0].reason:
        left, right = left[:-1], (right[0]._replace(offset=left[-1].offset), *right[1:])
    return left + right


def _join_gaps(left: tuple[Gap, ...], right: tuple[Gap, ...]) -> tuple[Gap, ...]:
    if left and right and left[-1].end == right[0].start and left[-1].kind == right[0].kind:
        left, right = left[:-1], (right[0]._replace(start=left[-1].start), *right[1:])
    return left + right


def _join_growth(left: tuple[GrowthPoint, ...], right: tuple[GrowthPoint, ...]) -> tuple[GrowthPoint, ...]:
    records: Counter[int] = Counter()
    tombstones: Counter[int] = Counter()
    for point in (*left, *right):
        records[point.hour] += point.records
        tombstones[point.hour] += point.tombstones
    return tuple(GrowthPoint(hour, count, tombstones[hour]) for hour, count in sorted(records.items()))


def _join_producers(left: tuple[ProducerState, ...], right: tuple[ProducerState, ...]) -> tuple[ProducerState, ...]:
    known = {producer.producer_id: producer for producer in left}
    for producer in right:
        before = known.get(producer.producer_id)
        known[producer.producer_id] = producer if before is None else merge_producers(before, producer)
    return tuple(known[producer_id] for producer_id in sorted(known))


# Transactional batches and markers of each producer ID in one partition, in offset order.
#
# Data batches of one epoch without a marker between them become one item, so a range has about two items a
# transaction.


class TransactionScan:
    """Give it transactional batches and markers in offset order, then ask for `states`."""

    def __init__(self) -> None:
        self._items: dict[int, list[TransactionItem]] = {}

    def add_data(self, header: Header) -> None:
        items = self._items.setdefault(header.producer_id, [])
        batch = TransactionItem(
            ItemKind.DATA,
            header.base_offset,
            header.last_offset,
            header.producer_epoch,
            header.record_count,
            header.batch_length,
            first_time(header),
            header.max_timestamp,
        )
        if items and continues(items[-1], batch):
            items[-1] = join_data(items[-1], batch)
        else:
            items.append(batch)

    def add_marker(self, marker: Marker, *, committed: bool) -> None:
        kind = ItemKind.COMMIT if committed else ItemKind.ABORT
        at, time = marker.offset, marker.timestamp
        item = TransactionItem(kind, at, at, marker.producer_epoch, 0, 0, time, time)
        self._items.setdefault(marker.producer_id, []).append(item)

    def states(self) -> Iterator[ProducerItems]:
        """The items of each producer ID."""
        for producer_id, items in self._items.items():
            yield ProducerItems(producer_id, tuple(items))


def continues(before: TransactionItem, after: TransactionItem) -> bool:
    """True if `after` continues the data of the transaction of `before`."""
    return (
        before.kind is ItemKind.DATA and after.kind is ItemKind.DATA and before.producer_epoch == after.producer_epoch
    )


def join_data(before: TransactionItem, after: TransactionItem) -> TransactionItem:
    return before._replace(
        last_offset=after.last_offset,
        records=before.records + after.records,
        size_bytes=before.size_bytes + after.size_bytes,
        first_timestamp=min(before.first_timestamp, after.first_timestamp),
        last_timestamp=max(before.last_timestamp, after.last_timestamp),
    )


def extend_items(items: list[TransactionItem], later: Sequence[TransactionItem]) -> None:
    """Appends the items of a later range to the items of the earlier ranges."""
    if items and later and continues(items[-1], later[0]):
        items[-1] = join_data(items[-1], later[0])
        later = later[1:]
    items.extend(later)


def join_items(left: tuple[TransactionItem, ...], right: tuple[TransactionItem, ...]) -> tuple[TransactionItem, ...]:
    """The items of two neighbouring ranges as those of both."""
    items = list(left)
    extend_items(items, right)
    return tuple(items)


Open = Callable[[], Iterable[Entry]]
"""Decodes the records of a batch; called only where they are needed."""


class ScannedRange(NamedTuple):
    """The states of one range."""

    log: LogState
    keys: tuple[KeyState, ...]
    transactions: tuple[ProducerItems, ...]


class RangeScan:
    """Give it the batches, markers and damages of one range in offset order, then ask for `result`."""

    def __init__(
        self,
        offsets: OffsetRange,
        role: TopicRole,
        gap_kind: GapKind,
        decode: Decode,
        tracked: Tracked = none_tracked,
    ) -> None:
        self._log = LogScan(offsets.start, offsets.end, gap_kind)
        self._sessions = SessionScan()
        self._transactions = TransactionScan()
        self._keys = KeyScan(decode, tracked) if role is TopicRole.OFFSETS and offsets.settled else None

    def add_data(self, header: Header, entries: Open, *, aborted: bool) -> None:
        """Take in a data batch; `entries` may raise, before anything is taken in. Where its records do, start again."""
        keys = None if aborted else self._keys
        records = () if keys is None else entries()
        log, transactional = self._log, header.is_transactional
        log.add_batch(header)
        log.add_data(header, aborted=aborted)
        writer = self._sessions.writer(header)
        if transactional:
            self._transactions.add_data(header)
        if keys is not None:
            tombstones = keys.add_batch(records, writer)
            if tombstones:
                log.add_tombstones(header, tombstones)

    def add_marker(self, header: Header, marker: Marker | None, *, committed: bool) -> None:
        """Take in a control batch; marker None is a control record of another kind."""
        self._log.add_batch(header)
        self._log.add_control(header)
        if marker is not None:
            self._sessions.mark(marker.producer_id, marker.producer_epoch, committed=committed)
            self._transactions.add_marker(marker, committed=committed)

    def add_damage(self, offset: int, next_offset: int, reason: str) -> None:
        self._log.add_damage(offset, next_offset, reason)

    def result(self) -> ScannedRange:
        keys = () if self._keys is None else tuple(self._keys.states())
        return ScannedRange(self._log.state(self._sessions.states()), keys, tuple(self._transactions.states()))
