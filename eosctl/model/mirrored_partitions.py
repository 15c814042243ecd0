"""Partitions of a source cluster, how far they are mirrored, and how long the source keeps the rest."""

from typing import NamedTuple

from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets


class MirroredPartition(NamedTuple):
    """A source partition of a MirrorSource connector.

    position is the offset of the last record that was mirrored, committed_ms (since the epoch) when the worker wrote it
    to its offsets topic. bounds are those of the source. written_ms is when the batch at position was written, None: it
    is gone, or may be another one (compaction); next_ms when the first batch behind it was, None: there is none.
    retention_ms and retention_bytes are the topic's, below 0 where they delete nothing.
    """

    connector: str
    position: int
    committed_ms: int
    bounds: PartitionOffsets
    written_ms: int | Skipped | None
    next_ms: int | Skipped | None
    retention_ms: int | Skipped
    retention_bytes: int | Skipped

    @property
    def unread(self) -> int:
        """Offsets of the source behind the position: records, and markers of transactions."""
        return max(0, self.bounds.high_watermark - max(self.position + 1, self.bounds.log_start_offset))

    @property
    def kept(self) -> int:
        """Offsets that the source still has."""
        return self.bounds.high_watermark - self.bounds.log_start_offset
