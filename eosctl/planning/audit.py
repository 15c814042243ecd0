"""The ranges of an audit: from where each partition is resumed to its last stable offset, cut; and the tail behind it.

A range may begin and end inside a batch: the reader gives a batch to the range in which its last offset lies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from eosctl.model.audit import AuditPlan, OffsetRange, PartitionBounds
from eosctl.model.ledger import LedgerRange, LedgerRangeKind
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.planning.ledger import Resumption

SMALLEST_RANGE: Final = 250_000
LARGEST_RANGE: Final = 5_000_000
RANGES_A_PROCESS: Final = 3
"""Each range has a state for every key that was written in it, and merging one takes as long as reading ten records."""


def plan_ranges(
    plan: AuditPlan, resumptions: Sequence[Resumption], begins: Mapping[TopicPartition, int], processes: int
) -> AuditPlan:
    """The plan with its ranges; begins says where the audit of a partition began that goes on now."""
    starts = {each.topic_partition: each for each in resumptions if not each.ends}
    total = sum(max(0, bounds.last_stable_offset - starts[_place(bounds)].start) for bounds in plan.bounds)
    size = max(SMALLEST_RANGE, min(LARGEST_RANGE, total // (processes * RANGES_A_PROCESS)))
    gaps = [gap for each in resumptions for gap in each.gaps]
    expired = [gap for gap in gaps if gap.kind is LedgerRangeKind.EXPIRED]
    return replace(
        plan,
        bounds=tuple(_begun(bounds, starts[_place(bounds)], begins) for bounds in plan.bounds),
        ranges=tuple(each for bounds in plan.bounds for each in _ranges(bounds, starts[_place(bounds)].start, size)),
        expired=tuple(OffsetRange(gap.topic, gap.partition, gap.start, gap.end) for gap in expired),
        unread={**plan.unread, **_lost(gaps)},
    )


def _place(bounds: PartitionBounds) -> TopicPartition:
    return TopicPartition(bounds.topic, bounds.partition)


def _begun(bounds: PartitionBounds, resumption: Resumption, begins: Mapping[TopicPartition, int]) -> PartitionBounds:
    going_on = resumption.before is not None and not resumption.is_recreated
    begun = begins.get(_place(bounds)) if going_on else None
    return bounds if begun is None else bounds._replace(audited_from=begun)


def _ranges(bounds: PartitionBounds, start: int, size: int) -> Iterator[OffsetRange]:
    while start < bounds.last_stable_offset:
        end = min(start + size, bounds.last_stable_offset)
        yield OffsetRange(bounds.topic, bounds.partition, start, end)
        start = end
    if start < bounds.high_watermark:
        yield OffsetRange(bounds.topic, bounds.partition, start, bounds.high_watermark, settled=False)


def _lost(gaps: Iterable[LedgerRange]) -> dict[str, Skipped]:
    """What earlier runs read and is no longer so: verdicts can no longer rest on it."""
    words = {
        LedgerRangeKind.RECREATED: "was deleted and created again since the last run",
        LedgerRangeKind.TRUNCATED: "was cut at offset {start} after it had been read up to {end}",
    }
    return {
        f"{gap.topic}-{gap.partition}": Skipped(words[gap.kind].format(start=gap.start, end=gap.end))
        for gap in gaps
        if gap.kind in words
    }
