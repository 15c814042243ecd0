"""One side of a mirrored pair of partitions as blocks of digests, decoded in runs of batches.

A run is as many batches as RUN_BYTES hold once they are unpacked. What is done for all their records at once costs
little for each.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from eosctl.analysis.mirror.blocks import ENDLESS, INTEGERS, Block
from eosctl.codecs.record_batches import BatchHeader, DamagedOffsets, decode_entries, plain_records
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.mirror import Compared, Damage
from eosctl.model.mirror_progress import NOTHING, Counts
from eosctl.model.records import first_time
from eosctl.model.sides import Side
from eosctl.sources.audit_log import DataBatch, LogSource

if HAS_COLUMNS := find_spec("numpy") is not None:
    from eosctl.codecs.record_columns import Parts, Records, columns

RUN_BYTES: Final = 1 << 22
HEADERLESS: Final = (Compared.WITHOUT_HEADERS, Compared.KEY_AND_VALUE)
TIMELESS: Final = (Compared.WITHOUT_TIMESTAMP, Compared.KEY_AND_VALUE)

DIGESTS: Final[dict[Compared, Callable[[Any], int]]] = {
    Compared.WHOLE: lambda each: hash((each.timestamp, each.key, each.value, *each.headers)),
    Compared.WITHOUT_TIMESTAMP: lambda each: hash((each.key, each.value, *each.headers)),
    Compared.WITHOUT_HEADERS: lambda each: hash((each.timestamp, each.key, each.value)),
    Compared.KEY_AND_VALUE: lambda each: hash((each.key, each.value)),
}
"""Python's keyed SipHash of 64 bits: the same within a process, and nobody can make two records with one digest."""


class NoColumns(Exception):  # a reason to decode in another way, not an error
    """The records of a batch do not add up, or no client encodes them so: each has to be decoded."""


class OpenBatch(NamedTuple):
    """A batch of a run, and its records without compression."""

    item: DataBatch
    records: memoryview

    @property
    def header(self) -> BatchHeader:
        """The batch's header."""
        return self.item.batch.header


class DecodedRun(NamedTuple):
    """Offsets and digests of all records of a run, and how many each batch has; batches that are damaged have none."""

    offsets: Sequence[int]
    digests: Sequence[int]
    counts: Sequence[int]
    damaged: Mapping[int, Undecodable] = MappingProxyType({})


Decode = Callable[[Sequence[OpenBatch], Compared], DecodedRun]


def columns_of(run: Sequence[OpenBatch], compared: Compared) -> DecodedRun:
    """All records of the run at once. Raises NoColumns."""
    parts = Parts(timestamp=compared not in TIMELESS, headers=compared not in HEADERLESS)
    heads = [each.header for each in run]
    found = columns(
        [
            Records(each.records, h.record_count, h.base_offset, h.base_timestamp, h.max_timestamp, h.attributes)
            for each, h in zip(run, heads, strict=True)
        ],
        parts,
    )
    if found is None:
        raise NoColumns
    offsets, digests = (array(INTEGERS, each.tobytes()) for each in found)
    return DecodedRun(offsets, digests, [each.record_count for each in heads])


def record_by_record(run: Sequence[OpenBatch], compared: Compared) -> DecodedRun:
    """Each record as an object, by the decoder of record_batches."""
    offsets, digests = array(INTEGERS), array(INTEGERS)
    counts, damaged = [], {}
    for number, each in enumerate(run):
        try:
            entries = decode_entries(each.item.batch)
        except Undecodable as error:
            damaged[number], entries = error, []
        offsets.extend(entry.offset for entry in entries)
        digests.extend(map(DIGESTS[compared], entries))
        counts.append(len(entries))
    return DecodedRun(offsets, digests, counts, damaged)


Apart = Sequence[tuple[int, int]]
"""Offsets [start, end) whose batches are counted elsewhere."""


@dataclass
class Seen:
    """What was read of one side: every batch is counted once, however often it is read."""

    counts: Counts = NOTHING
    damages: dict[Damage, None] = field(default_factory=dict)


class SideReading:
    """One side of a pair as blocks of digests, from any offset on.

    counted is what was counted of it already; batches that begin at or behind `end`, or are `apart`, are not counted.
    """

    def __init__(
        self,
        source: LogSource,
        plan: AuditPlan,
        side: Side,
        ranges: Sequence[OffsetRange],
        decode: Decode,
        counted: Counts = NOTHING,
        end: int = ENDLESS,
        apart: Apart = (),
    ) -> None:
        self._source, self._plan, self._side, self._ranges, self._decode = source, plan, side, ranges, decode
        self._end, self._apart = end, apart
        self.seen = Seen(counted)

    def blocks(self, start: int, compared: Compared) -> Iterator[Block]:
        """Everything from the offset on. Batches of a run that count alike are one block."""
        for offsets, run in self._runs(start):
            found = self._decode(run, compared)
            for number, error in found.damaged.items():
                self._damaged(run[number].item, error)
            kinds, end = [self._kind(each, offsets) for each in run], 0
            for kind, alike in groupby(zip(run, found.counts, kinds, strict=True), key=itemgetter(2)):
                batches, counts, _ = zip(*alike, strict=True)
                begin, end = end, end + sum(counts)
                first = bisect_left(found.offsets, offsets.start, begin, end)
                last = bisect_left(found.offsets, offsets.end, first, end)
                if kind.counts:
                    self._count(batches, last - first, kind)
                if first < last and (self._side is Side.SOURCE or not kind.optional):
                    times = _times(batches, counts)[first - begin : last - begin]
                    yield Block(found.offsets[first:last], found.digests[first:last], times, kind.optional)

    def _kind(self, each: OpenBatch, offsets: OffsetRange) -> "_Kind":
        base, aborted = each.header.base_offset, each.item.aborted
        optional = aborted or (each.header.is_transactional and not offsets.settled)
        counts = self.seen.counts.until <= base < self._end
        return _Kind(counts and not any(start <= base < end for start, end in self._apart), aborted, optional)

    def _runs(self, start: int) -> Iterator[tuple[OffsetRange, list[OpenBatch]]]:
        """Runs of batches, each within one range of offsets; a batch may begin before it or end behind it."""
        for each in self._ranges:
            offsets = each._replace(start=max(each.start, start))
            run: list[OpenBatch] = []
            size = 0
            for item in self._source.read(self._plan, offsets) if offsets.size > 0 else ():
                if isinstance(item, DamagedOffsets):
                    self.seen.damages[Damage(self._side, *item)] = None
                elif isinstance(item, DataBatch):
                    try:
                        records = plain_records(item.batch)
                    except Undecodable as error:
                        self._damaged(item, error)
                        continue
                    run.append(OpenBatch(item, records))
                    size += len(records)
                    if size >= RUN_BYTES:
                        yield offsets, run
                        run, size = [], 0
            if run:
                yield offsets, run

    def _damaged(self, item: DataBatch, error: Undecodable) -> None:
        header = item.batch.header
        self.seen.damages[Damage(self._side, header.base_offset, header.next_offset, error.reason)] = None

    def _count(self, batches: Sequence[OpenBatch], records: int, kind: "_Kind") -> None:
        counts = self.seen.counts
        self.seen.counts = Counts(
            until=batches[-1].header.next_offset,
            records=counts.records + (0 if kind.optional else records),
            size_bytes=counts.size_bytes + sum(len(each.item.batch.data) for each in batches),
            aborted=counts.aborted + (records if kind.aborted else 0),
        )


class _Kind(NamedTuple):
    """What the batches of a block have in common: whether they count, were aborted, may be left out by a mirror."""

    counts: bool
    aborted: bool
    optional: bool


def _times(batches: Sequence[OpenBatch], counts: Sequence[int]) -> "array[int]":
    times = array(INTEGERS)
    for each, count in zip(batches, counts, strict=True):
        times.extend(array(INTEGERS, (first_time(each.header),)) * count)
    return times
