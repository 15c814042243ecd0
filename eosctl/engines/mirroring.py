"""Pairs of partitions, compared in processes of this machine: a pair is the unit of parallel work.

The source's settled range gives what was committed and what was aborted. In the tail behind the last stable offset
records of transactions are not decided yet; those outside any transaction are committed. Of the target what
read_committed consumers see counts.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from eosctl.analysis.mirror.aligner import Aligner
from eosctl.analysis.mirror.blocks import Block
from eosctl.codecs.record_batches import DamagedOffsets, decode_entries
from eosctl.engines.local import SMALL
from eosctl.engines.scanning import collecting_rarely
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.mirror import Alignment, Compared, Damage, PartitionPair
from eosctl.model.records import first_time
from eosctl.model.sides import Side
from eosctl.sources.audit_log import DataBatch, LogSource, OpenSource

Advance = Callable[[int], None]
Digest = Callable[[Any], int]

DIGESTS: dict[Compared, Digest] = {
    Compared.WHOLE: lambda each: hash((each.timestamp, each.key, each.value, *each.headers)),
    Compared.WITHOUT_TIMESTAMP: lambda each: hash((each.key, each.value, *each.headers)),
    Compared.WITHOUT_HEADERS: lambda each: hash((each.timestamp, each.key, each.value)),
    Compared.KEY_AND_VALUE: lambda each: hash((each.key, each.value)),
}
"""Python's keyed SipHash of 64 bits: the same within a process, and nobody can make two records with one digest."""


class BothSides(NamedTuple):
    """How to read the sides, and the topics of each as the reader of ranges needs them."""

    open_source: OpenSource
    open_target: OpenSource
    source: AuditPlan
    target: AuditPlan


@dataclass
class _Seen:
    """What was read of one side, the first time."""

    records: int = 0
    size_bytes: int = 0
    aborted: int = 0
    transactional: int = 0
    damages: dict[Damage, None] = field(default_factory=dict)


class _Reading:
    """One side of a pair as blocks of digests, from any offset on."""

    def __init__(self, source: LogSource, plan: AuditPlan, side: Side, ranges: Sequence[OffsetRange]) -> None:
        self._source, self._plan, self._side, self._ranges = source, plan, side, ranges
        self.seen = _Seen()

    def blocks(self, start: int, digest: Digest) -> Iterator[Block]:
        """Everything from the offset on; what was read from the beginning is counted."""
        counting = start <= self._ranges[0].start
        seen = self.seen = _Seen() if counting else self.seen
        for each in self._ranges:
            offsets = each._replace(start=max(each.start, start))
            if offsets.size <= 0:
                continue
            for item in self._source.read(self._plan, offsets):
                if isinstance(item, DamagedOffsets):
                    seen.damages[Damage(self._side, *item)] = None
                elif isinstance(item, DataBatch):
                    block = self._block(item, offsets, digest)
                    if counting:
                        self._count(item, block)
                    if block.offsets and (self._side is Side.SOURCE or not block.optional):
                        yield block

    def _block(self, item: DataBatch, offsets: OffsetRange, digest: Digest) -> Block:
        header = item.batch.header
        try:
            entries = decode_entries(item.batch)
        except Undecodable as error:
            damage = Damage(self._side, header.base_offset, header.next_offset, error.reason)
            self.seen.damages[damage] = None
            return Block((), ())
        if header.base_offset < offsets.start or header.next_offset > offsets.end:
            entries = [each for each in entries if offsets.start <= each.offset < offsets.end]
        whole = len(entries) == header.last_offset_delta + 1
        places = range(header.base_offset, header.next_offset) if whole else [each.offset for each in entries]
        optional = item.aborted or (header.is_transactional and not offsets.settled)
        return Block(places, list(map(digest, entries)), first_time(header), optional)

    def _count(self, item: DataBatch, block: Block) -> None:
        seen = self.seen
        seen.size_bytes += len(item.batch.data)
        seen.transactional += item.batch.header.is_transactional
        if item.aborted:
            seen.aborted += len(block.offsets)
        elif not block.optional:
            seen.records += len(block.offsets)


def _ranges(topic: str, pair: PartitionPair, side: Side) -> list[OffsetRange]:
    bounds = pair.source if side is Side.SOURCE else pair.target
    place, start, stable = (topic, pair.partition), bounds.audited_from, bounds.last_stable_offset
    settled = OffsetRange(*place, start, stable)
    if side is Side.TARGET or bounds.high_watermark <= stable:
        return [settled]
    return [settled, OffsetRange(*place, max(start, stable), bounds.high_watermark, settled=False)]


def compare_pair(sides: BothSides, pair: PartitionPair) -> Alignment:
    """One pair, by the strictest digest by which any record of both sides is equal."""
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        source = _Reading(one, sides.source, Side.SOURCE, _ranges(pair.topics.source, pair, Side.SOURCE))
        target = _Reading(other, sides.target, Side.TARGET, _ranges(pair.topics.target, pair, Side.TARGET))
        found = Alignment()
        for compared in Compared:
            found = _aligned(source, target, pair, compared)
            if found.matched or not found.source_records or not found.target_records:
                return found
        return replace(found, compared=Compared.WHOLE)


def _aligned(source: _Reading, target: _Reading, pair: PartitionPair, compared: Compared) -> Alignment:
    digest = DIGESTS[compared]
    position = pair.position if isinstance(pair.position, int) else None
    start = pair.source.audited_from
    copied = target.blocks(pair.target.audited_from, digest)
    aligner = Aligner(
        lambda offset: source.blocks(offset, digest), start, copied, position, checkpoints=pair.checkpoints
    )
    aligned = aligner.align()
    return replace(
        aligned,
        compared=compared,
        damages=(*source.seen.damages, *target.seen.damages),
        source_records=source.seen.records,
        target_records=target.seen.records,
        source_bytes=source.seen.size_bytes,
        target_bytes=target.seen.size_bytes,
        aborted_in_target=target.seen.aborted,
        plain=not source.seen.transactional,
    )


def _size(pair: PartitionPair) -> int:
    bounds = (pair.source, pair.target)
    return sum(max(0, each.high_watermark - each.audited_from) for each in bounds)


def compare_pairs(
    sides: BothSides, pairs: Sequence[PartitionPair], processes: int | None, advance: Advance
) -> list[Alignment]:
    """All pairs, in their order; large plans in `processes` processes (None: one a CPU), the largest pair first."""
    count = processes or os.cpu_count() or 1
    if count == 1 or len(pairs) == 1 or sum(map(_size, pairs)) <= SMALL:
        found = []
        for pair in pairs:
            found.append(compare_pair(sides, pair))
            advance(_size(pair))
        return found
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        pending = {pair: pool.submit(compare_pair, sides, pair) for pair in sorted(pairs, key=_size, reverse=True)}
        results = {}
        for pair, future in pending.items():
            results[pair] = future.result()
            advance(_size(pair))
    return [results[pair] for pair in pairs]
