"""One side of a mirrored pair of partitions as blocks of digests, decoded in runs of batches.

A run is as many batches as RUN_BYTES hold once they are unpacked. What is done for all their records at once costs
little for each.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import accumulate, pairwise
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
    """A batch of a run: where the range begins and ends in it, and its records without compression."""

    item: DataBatch
    offsets: OffsetRange
    records: memoryview

    @property
    def header(self) -> BatchHeader:
        """The batch's header."""
        return self.item.batch.header


Decoded = tuple[Sequence[int], Sequence[int]]
"""Offsets and digests of a batch's records."""
Decode = Callable[[Sequence[OpenBatch], Compared], Iterator[Decoded | Undecodable]]
"""Of each batch of a run, in order; Undecodable where it is damaged."""


def columns_of(run: Sequence[OpenBatch], compared: Compared) -> Iterator[Decoded | Undecodable]:
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
    offsets, digests = found
    for begin, end in pairwise(accumulate((each.record_count for each in heads), initial=0)):
        yield array(INTEGERS, offsets[begin:end].tobytes()), array(INTEGERS, digests[begin:end].tobytes())


def record_by_record(run: Sequence[OpenBatch], compared: Compared) -> Iterator[Decoded | Undecodable]:
    """Each record as an object, by the decoder of record_batches."""
    for each in run:
        try:
            entries = decode_entries(each.item.batch)
        except Undecodable as error:
            yield error
        else:
            yield [entry.offset for entry in entries], list(map(DIGESTS[compared], entries))


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
        """Everything from the offset on."""
        for run in self._runs(start):
            for each, found in zip(run, self._decode(run, compared), strict=True):
                if isinstance(found, Undecodable):
                    self._damaged(each.item, found)
                    continue
                block = _block(each, *found)
                if self._counts(each.header.base_offset):
                    self._count(each.item, block)
                if block.offsets and (self._side is Side.SOURCE or not block.optional):
                    yield block

    def _counts(self, offset: int) -> bool:
        if not self.seen.counts.until <= offset < self._end:
            return False
        return not any(start <= offset < end for start, end in self._apart)

    def _runs(self, start: int) -> Iterator[list[OpenBatch]]:
        run: list[OpenBatch] = []
        size = 0
        for each in self._ranges:
            offsets = each._replace(start=max(each.start, start))
            for item in self._source.read(self._plan, offsets) if offsets.size > 0 else ():
                if isinstance(item, DamagedOffsets):
                    self.seen.damages[Damage(self._side, *item)] = None
                elif isinstance(item, DataBatch):
                    try:
                        records = plain_records(item.batch)
                    except Undecodable as error:
                        self._damaged(item, error)
                        continue
                    run.append(OpenBatch(item, offsets, records))
                    size += len(records)
                    if size >= RUN_BYTES:
                        yield run
                        run, size = [], 0
        if run:
            yield run

    def _damaged(self, item: DataBatch, error: Undecodable) -> None:
        header = item.batch.header
        self.seen.damages[Damage(self._side, header.base_offset, header.next_offset, error.reason)] = None

    def _count(self, item: DataBatch, block: Block) -> None:
        header, counts = item.batch.header, self.seen.counts
        self.seen.counts = Counts(
            until=header.next_offset,
            records=counts.records + (0 if block.optional else len(block.offsets)),
            size_bytes=counts.size_bytes + len(item.batch.data),
            aborted=counts.aborted + (len(block.offsets) if item.aborted else 0),
        )


def _block(each: OpenBatch, offsets: Sequence[int], digests: Sequence[int]) -> Block:
    """The records of the batch that lie in the range."""
    header, wanted = each.header, each.offsets
    if header.base_offset < wanted.start or header.next_offset > wanted.end:
        kept = [number for number, offset in enumerate(offsets) if wanted.start <= offset < wanted.end]
        offsets, digests = [offsets[number] for number in kept], [digests[number] for number in kept]
    optional = each.item.aborted or (header.is_transactional and not wanted.settled)
    return Block(offsets, digests, first_time(header), optional)
