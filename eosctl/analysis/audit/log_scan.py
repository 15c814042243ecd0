"""What the batches of a range say together: counts, gaps, damages, growth. Merges with the next range of the partition.

Gaps are classified where they are seen, by what the topic is:
1. A batch below the log start offset is gone by retention or DeleteRecords: no gap, the audit began behind it.
2. In a compacted topic offsets between batches were cleaned.
3. Anywhere else a log has none: they are lost.
4. Where the cleanup policy could not be read it is unclear which of the two it is.
"""

from collections import Counter
from enum import StrEnum
from typing import Final

from eosctl.analysis.audit.batches import Header
from eosctl.analysis.audit.sessions import merge_producers
from eosctl.model.audit_report import Gap
from eosctl.model.audit_states import Damage, GrowthPoint, LogState, ProducerState

HOUR_MS: Final = 3_600_000
KEPT_GAPS: Final = 1000


class GapKind(StrEnum):
    """Why there is no batch."""

    COMPACTED = "compacted"
    LOST = "lost"
    EXPIRED = "expired"
    UNCLEAR = "unclear"


class LogScan:
    """Give it every batch in offset order, then ask for `state`."""

    def __init__(self, start: int, end: int, gap_kind: GapKind) -> None:
        self._start, self._end, self._gap_kind = start, end, gap_kind
        self._next = start
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
        """Take in a batch of any kind."""
        time = header.base_timestamp
        if self._first_batch is None:
            self._first_batch = time
        if self._gap_kind is GapKind.COMPACTED:
            gap = header.base_offset > self._next
            holes = header.last_offset - header.base_offset >= header.record_count
            if gap or holes:
                self._cleaned = _greatest(self._cleaned, header.max_timestamp if holes else time)
        self._pass(header.base_offset, header.last_offset + 1)
        self._batches += 1
        self._bytes += header.batch_length

    def add_data(self, header: Header, *, aborted: bool) -> None:
        """Count the records of a data batch, after `add_batch`."""
        count, time = header.record_count, header.max_timestamp
        self._records += count
        if aborted:
            self._aborted += count
        if not header.is_transactional:
            self._plain += count
        if self._first is None or header.base_timestamp < self._first:
            self._first = header.base_timestamp
        if self._last is None or time > self._last:
            self._last = time
        self._hours[time // HOUR_MS] += count

    def add_control(self, header: Header) -> None:
        """Count a control batch, after `add_batch`."""
        self._control += header.record_count

    def add_tombstones(self, header: Header, count: int) -> None:
        """Count tombstones among the records of a batch."""
        self._tombstones[header.max_timestamp // HOUR_MS] += count

    def add_damage(self, offset: int, next_offset: int, reason: str) -> None:
        """Take in offsets that could not be read."""
        self._pass(offset, next_offset)
        self._damages.append(Damage(offset, reason))

    def _pass(self, first: int, behind: int) -> None:
        if first > self._next:
            self._gaps.append(Gap(self._next, first, self._gap_kind.value))
        self._next = max(behind, self._next)

    def state(self, producers: tuple[ProducerState, ...]) -> LogState:
        """The state of the range."""
        self._pass(self._end, self._end)
        return LogState(
            start=self._start,
            end=self._end,
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
            gaps=tuple(self._gaps),
            damages=tuple(self._damages),
            growth=tuple(
                GrowthPoint(hour, count, self._tombstones[hour]) for hour, count in sorted(self._hours.items())
            ),
            producers=producers,
        )


def merge_logs(left: LogState, right: LogState) -> LogState:
    """The state of both ranges together, `right` being the later one."""
    behind_gap = right.first_batch if left.gaps and left.gaps[-1].end == left.end else None
    cleaned = behind_gap if behind_gap is not None and left.gaps[-1].kind == GapKind.COMPACTED.value else None
    return LogState(
        start=left.start,
        end=right.end,
        records=left.records + right.records,
        control_records=left.control_records + right.control_records,
        aborted_records=left.aborted_records + right.aborted_records,
        plain_records=left.plain_records + right.plain_records,
        batches=left.batches + right.batches,
        size_bytes=left.size_bytes + right.size_bytes,
        first_timestamp=_least(left.first_timestamp, right.first_timestamp),
        last_timestamp=_greatest(left.last_timestamp, right.last_timestamp),
        first_batch=right.first_batch if left.first_batch is None else left.first_batch,
        cleaned_until=_greatest(_greatest(left.cleaned_until, right.cleaned_until), cleaned),
        gaps=_join_gaps(left.gaps, right.gaps),
        damages=left.damages + right.damages,
        growth=_join_growth(left.growth, right.growth),
        producers=_join_producers(left.producers, right.producers),
    )


def _least(left: int | None, right: int | None) -> int | None:
    return min((each for each in (left, right) if each is not None), default=None)


def _greatest(left: int | None, right: int | None) -> int | None:
    return max((each for each in (left, right) if each is not None), default=None)


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
