"""Pairs of partitions, compared in processes of this machine: a pair is the unit of parallel work.

The source's settled range gives what was committed and what was aborted. In the tail behind the last stable offset
records of transactions are not decided yet; those outside any transaction are committed. Of the target what
read_committed consumers see counts.
"""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from eosctl.analysis.mirror.aligner import Aligner
from eosctl.engines.local import SMALL
from eosctl.engines.mirror_reading import HAS_COLUMNS, Decode, NoColumns, SideReading, columns_of, record_by_record
from eosctl.engines.scanning import collecting_rarely
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.mirror import Alignment, Compared, PartitionPair
from eosctl.model.sides import Side
from eosctl.sources.audit_log import OpenSource

Advance = Callable[[int], None]


class BothSides(NamedTuple):
    """How to read the sides, and the topics of each as the reader of ranges needs them."""

    open_source: OpenSource
    open_target: OpenSource
    source: AuditPlan
    target: AuditPlan


def _ranges(topic: str, pair: PartitionPair, side: Side) -> list[OffsetRange]:
    bounds = pair.source if side is Side.SOURCE else pair.target
    place, start, stable = (topic, pair.partition), bounds.audited_from, bounds.last_stable_offset
    settled = OffsetRange(*place, start, stable)
    if side is Side.TARGET or bounds.high_watermark <= stable:
        return [settled]
    return [settled, OffsetRange(*place, max(start, stable), bounds.high_watermark, settled=False)]


def compare_pair(sides: BothSides, pair: PartitionPair) -> Alignment:
    """One pair, by the strictest digest by which any record of both sides is equal.

    With numpy batches are decoded as columns; where one cannot be, all is read again and decoded record by record.
    """
    if HAS_COLUMNS:
        with suppress(NoColumns):
            return _compared(sides, pair, columns_of)
    return _compared(sides, pair, record_by_record)


def _compared(sides: BothSides, pair: PartitionPair, decode: Decode) -> Alignment:
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        source = SideReading(one, sides.source, Side.SOURCE, _ranges(pair.topics.source, pair, Side.SOURCE), decode)
        target = SideReading(other, sides.target, Side.TARGET, _ranges(pair.topics.target, pair, Side.TARGET), decode)
        found = Alignment()
        for compared in Compared:
            found = _aligned(source, target, pair, compared)
            if found.matched or found.aborted or not found.source_records or not found.target_records:
                return found
        return replace(found, compared=Compared.WHOLE)


def _aligned(source: SideReading, target: SideReading, pair: PartitionPair, compared: Compared) -> Alignment:
    position = pair.position if isinstance(pair.position, int) else None
    start = pair.source.audited_from
    copied = target.blocks(pair.target.audited_from, compared)
    aligner = Aligner(
        lambda offset: source.blocks(offset, compared), start, copied, position, checkpoints=pair.checkpoints
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
