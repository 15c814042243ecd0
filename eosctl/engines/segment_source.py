"""Segment files of a broker's log directory as what an engine reads from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from eosctl.engines.local import LogSource
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.sources.audit_log import LogItem
from eosctl.sources.audit_segments import PartitionSegments, read_segments


@dataclass(frozen=True)
class SegmentSource(LogSource):
    """Reads the segments of the partitions that it was given."""

    segments: tuple[PartitionSegments, ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        mine = next(each for each in self.segments if each.topic_partition == offsets.topic_partition)
        return read_segments(mine, offsets)


@dataclass(frozen=True, slots=True)
class OpenSegments:
    """Opens a SegmentSource."""

    segments: tuple[PartitionSegments, ...]

    def __call__(self) -> SegmentSource:
        """A source of its own."""
        return SegmentSource(self.segments)
