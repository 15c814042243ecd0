"""The ranges of an audit, cut: from the resume point of each partition to its last stable offset; and the tail behind
it.

A range may begin and end inside a batch: the reader gives a batch to the range in which its last offset lies.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, RangeEvidence
from eosctl.model.ledger import Advance, CommittedRange, Cursor, LedgerRange, LedgerRangeKind
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange

# The first offset to read in each partition, by the cursor of the job, and the gap between the two.
#
# 1. No cursor: from the log start.
# 2. The cursor is the same topic's and inside the log: from the cursor.
# 3. The log start has passed the cursor: an expired gap, then from the log start.
# 4. The cursor lies beyond the high watermark: the log was cut after it had been read (an unclean leader election).
#    The offsets between are given to other records: a truncated gap, and from the high watermark.
# 5. Another topic ID (KIP-516): the topic was deleted and created again. A recreated gap, and from the new log start;
#    a partition that the new topic lacks ends.
# 6. A topic ID that was not known on one of the two occasions decides nothing: the topic counts as the same.


class Resumption(Struct, frozen=True):
    """The resume point of one partition: `start`, after the gaps, which must be recorded.

    before is the cursor's present state; ends: the partition no longer exists.
    """

    topic: str
    partition: int
    topic_id: str | None
    before: Cursor | None
    start: int
    gaps: tuple[LedgerRange, ...] = ()
    ends: bool = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_recreated(self) -> bool:
        """True if the topic is another one now: state carried from the old one does not apply."""
        return any(gap.kind is LedgerRangeKind.RECREATED for gap in self.gaps)


def resume(
    cursors: Mapping[TopicPartition, Cursor], topics: Iterable[AuditedTopic], bounds: Iterable[PartitionBounds]
) -> tuple[Resumption, ...]:
    """One for each partition of `bounds`, and one for each ended partition, in order of topic and partition.

    Only log start and high watermark of bounds count. Cursors of other topics stay, and so do those of unread
    partitions.
    """
    ids = {topic.name: topic.topic_id for topic in topics}
    found = {TopicPartition(each.topic, each.partition): each for each in bounds}
    resumed = [_resumption(each, ids.get(each.topic), cursors.get(place)) for place, each in found.items()]
    recreated = {each.topic for each in resumed if each.is_recreated}
    ended = [
        Resumption(*cursor[:3], cursor, cursor.offset, (_recreated(cursor),), ends=True)
        for place, cursor in cursors.items()
        if place not in found and place.topic in recreated and not _same(cursor.topic_id, ids[place.topic])
    ]
    return tuple(sorted((*resumed, *ended), key=lambda each: each.topic_partition))


def _resumption(bounds: PartitionBounds, topic_id: str | None, cursor: Cursor | None) -> Resumption:
    first = Resumption(bounds.topic, bounds.partition, topic_id, cursor, bounds.log_start_offset)
    if cursor is None:
        return first
    if not _same(cursor.topic_id, topic_id):
        return replace(first, gaps=(_recreated(cursor),))
    known = replace(first, topic_id=topic_id or cursor.topic_id)
    if cursor.offset > bounds.high_watermark:
        start = max(bounds.high_watermark, bounds.log_start_offset)
        return replace(known, start=start, gaps=(_gap(cursor, start, cursor.offset, LedgerRangeKind.TRUNCATED),))
    if cursor.offset < bounds.log_start_offset:
        gap = _gap(cursor, cursor.offset, bounds.log_start_offset, LedgerRangeKind.EXPIRED)
        return replace(known, gaps=(gap,))
    return replace(known, start=cursor.offset)


def _same(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _gap(cursor: Cursor, start: int, end: int, kind: LedgerRangeKind) -> LedgerRange:
    return LedgerRange(cursor.topic, cursor.partition, cursor.topic_id, start, end, kind)


def _recreated(cursor: Cursor) -> LedgerRange:
    return _gap(cursor, cursor.offset, cursor.offset, LedgerRangeKind.RECREATED)


def advance(resumption: Resumption, end: int, evidence: RangeEvidence | None = None) -> Advance:
    """The run's effect on this cursor: its gaps, and [start, end), which must be settled and read by the run.

    `evidence` counts the records of that range; end is start if there was nothing to read.
    """
    if resumption.ends:
        return Advance(resumption.before, None, resumption.gaps)
    topic, partition, topic_id = resumption.topic, resumption.partition, resumption.topic_id
    read = LedgerRange(topic, partition, topic_id, resumption.start, end)
    if evidence is not None:
        read = read._replace(
            records=evidence.records,
            control_records=evidence.control_records,
            aborted_records=evidence.aborted_records,
        )
    ranges = (*resumption.gaps, read) if end > resumption.start else resumption.gaps
    return Advance(resumption.before, Cursor(topic, partition, topic_id, max(end, resumption.start)), ranges)


def newly_read(
    evidence: Iterable[RangeEvidence], earlier: Iterable[CommittedRange], resumptions: Iterable[Resumption]
) -> dict[TopicPartition, RangeEvidence]:
    """The part of each partition that this run read: the evidence of all runs, minus the counts of `earlier` ones.

    Only the counts that a ledger keeps are given. A topic that was created again has no earlier counts.
    """
    recreated = {each.topic_partition for each in resumptions if each.is_recreated}
    counted: dict[TopicPartition, tuple[int, int, int]] = {}
    for _, each in earlier:
        place = TopicPartition(each.topic, each.partition)
        before = (0, 0, 0) if each.kind is LedgerRangeKind.RECREATED else counted.get(place, (0, 0, 0))
        more = (each.records, each.control_records, each.aborted_records)
        counted[place] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
    found = {}
    for all_runs in evidence:
        place = TopicPartition(all_runs.topic, all_runs.partition)
        records, control, aborted = (0, 0, 0) if place in recreated else counted.get(place, (0, 0, 0))
        found[place] = RangeEvidence(
            *(all_runs.topic, all_runs.partition, all_runs.start, all_runs.end),
            records=all_runs.records - records,
            control_records=all_runs.control_records - control,
            aborted_records=all_runs.aborted_records - aborted,
        )
    return found


def advances(
    resumptions: Sequence[Resumption],
    ends: Mapping[TopicPartition, int],
    evidence: Iterable[RangeEvidence],
    earlier: Iterable[CommittedRange],
) -> Iterator[Advance]:
    """The run's effect on each cursor: its partition was read completely up to its end, if it has one.

    evidence is all runs' together; `earlier` is the committed part of earlier ones.
    """
    read = newly_read(evidence, earlier, resumptions)
    for each in resumptions:
        place = each.topic_partition
        yield advance(each, max(each.start, ends.get(place, each.start)), read.get(place))


SMALLEST_RANGE: Final = 250_000
LARGEST_RANGE: Final = 5_000_000
RANGES_A_PROCESS: Final = 3
"""Each range has a state for every key that was written in it, and merging one takes as long as reading ten records."""
UNEVEN: Final = 1.1
"""Partitions stay whole where the process with the most offsets then has at most so many times its share."""


def plan_ranges(
    plan: AuditPlan, resumptions: Sequence[Resumption], begins: Mapping[TopicPartition, int], processes: int
) -> AuditPlan:
    """The plan with its ranges; begins says where the audit of a partition began that goes on now."""
    starts = {each.topic_partition: each for each in resumptions if not each.ends}
    unread = [max(0, bounds.last_stable_offset - starts[_place(bounds)].start) for bounds in plan.bounds]
    size = LARGEST_RANGE if _are_even(unread, processes) else sum(unread) // (processes * RANGES_A_PROCESS)
    size = max(SMALLEST_RANGE, min(LARGEST_RANGE, size))
    gaps = [gap for each in resumptions for gap in each.gaps]
    expired = [gap for gap in gaps if gap.kind is LedgerRangeKind.EXPIRED]
    return replace(
        plan,
        bounds=tuple(_begun(bounds, starts[_place(bounds)], begins) for bounds in plan.bounds),
        ranges=tuple(each for bounds in plan.bounds for each in _ranges(bounds, starts[_place(bounds)].start, size)),
        expired=tuple(OffsetRange(gap.topic, gap.partition, gap.start, gap.end) for gap in expired),
        unread={**plan.unread, **_lost(gaps)},
    )


def _are_even(sizes: Iterable[int], processes: int) -> bool:
    """True if whole partitions, the largest first, each to the process with the least, leave no process much more."""
    loads = [0] * processes
    for size in sorted(sizes, reverse=True):
        heapq.heapreplace(loads, loads[0] + size)
    return max(loads) * processes <= UNEVEN * sum(loads)


def _place(bounds: PartitionBounds) -> TopicPartition:
    return TopicPartition(bounds.topic, bounds.partition)


def _begun(bounds: PartitionBounds, resumption: Resumption, begins: Mapping[TopicPartition, int]) -> PartitionBounds:
    resumed = resumption.before is not None and not resumption.is_recreated
    begun = begins.get(_place(bounds)) if resumed else None
    return bounds if begun is None else bounds._replace(audited_from=begun)


def _ranges(bounds: PartitionBounds, start: int, size: int) -> Iterator[OffsetRange]:
    while start < bounds.last_stable_offset:
        end = min(start + size, bounds.last_stable_offset)
        yield OffsetRange(bounds.topic, bounds.partition, start, end)
        start = end
    if start < bounds.high_watermark:
        yield OffsetRange(bounds.topic, bounds.partition, start, bounds.high_watermark, settled=False)


def _lost(gaps: Iterable[LedgerRange]) -> dict[str, Skipped]:
    """Ranges that earlier runs read and that have changed since: verdicts can no longer rest on them."""
    words = {
        LedgerRangeKind.RECREATED: "was deleted and created again since the last run",
        LedgerRangeKind.TRUNCATED: "was cut at offset {start} after it had been read up to {end}",
    }
    return {
        f"{gap.topic}-{gap.partition}": Skipped(words[gap.kind].format(start=gap.start, end=gap.end))
        for gap in gaps
        if gap.kind in words
    }
