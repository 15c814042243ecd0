"""Both sides of a mirrored pair of partitions, opened to be read.

The source's settled range gives what was committed and what was aborted. In the tail behind the last stable offset
records of transactions are not decided yet; those outside any transaction are committed. Of the target what
read_committed consumers see counts.
"""

from typing import Final, NamedTuple

from eosctl.analysis.mirror.aligner import WINDOW
from eosctl.analysis.mirror.blocks import ENDLESS
from eosctl.engines.mirror_reading import Apart, Decode, SideReading
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.mirror import PartitionPair, TopicPair
from eosctl.model.mirror_progress import NOTHING, Counts
from eosctl.model.sides import Side
from eosctl.sources.audit_log import LogSource, OpenSource


class BothSides(NamedTuple):
    """How to read the sides, and the topics of each as the reader of ranges needs them.

    window is how many records on either side of a difference are looked at.
    """

    open_source: OpenSource
    open_target: OpenSource
    source: AuditPlan
    target: AuditPlan
    window: int = WINDOW

    def ids(self, topics: TopicPair) -> tuple[str | None, str | None]:
        """The topic IDs of a pair."""
        return self.source.topic(topics.source).topic_id, self.target.topic(topics.target).topic_id


class Counting(NamedTuple):
    """Which batches of a side count: those that begin before `end` and behind what is counted, and are not `apart`."""

    counted: Counts = NOTHING
    end: int = ENDLESS
    apart: Apart = ()


ALL: Final = Counting()


class OpenSides(NamedTuple):
    """Both sides of a pair, of which any offset can be read."""

    source: SideReading
    target: SideReading


def open_sides(
    sides: BothSides,
    pair: PartitionPair,
    sources: tuple[LogSource, LogSource],
    decode: Decode,
    counting: tuple[Counting, Counting] = (ALL, ALL),
) -> OpenSides:
    """Readers of both sides; what they count is `counting`, of the source and of the target."""
    (one, other), (mine, theirs) = sources, counting
    return OpenSides(
        SideReading(one, sides.source, Side.SOURCE, _ranges(pair, Side.SOURCE), decode, *mine),
        SideReading(other, sides.target, Side.TARGET, _ranges(pair, Side.TARGET), decode, *theirs),
    )


def _ranges(pair: PartitionPair, side: Side) -> list[OffsetRange]:
    topics = pair.topics
    topic, bounds = (topics.source, pair.source) if side is Side.SOURCE else (topics.target, pair.target)
    place, start, stable = (topic, pair.partition), bounds.audited_from, bounds.last_stable_offset
    settled = OffsetRange(*place, start, stable)
    if side is Side.TARGET or bounds.high_watermark <= stable:
        return [settled]
    return [settled, OffsetRange(*place, max(start, stable), bounds.high_watermark, settled=False)]
