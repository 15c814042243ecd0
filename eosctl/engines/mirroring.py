"""Pairs of partitions, compared in processes of this machine: a pair is the unit of work, or a piece of a large one."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from eosctl.analysis.mirror.aligner import Aligner, Changed
from eosctl.analysis.mirror.blocks import ENDLESS, Block, Log
from eosctl.analysis.mirror.equal import joined
from eosctl.analysis.mirror.going_on import ANOTHER, counts_at, why_again, with_pieces
from eosctl.engines.local import SMALL
from eosctl.engines.mirror_pieces import PairPiece, compare_piece, cut_pair
from eosctl.engines.mirror_reading import HAS_COLUMNS, Decode, NoColumns, columns_of, record_by_record
from eosctl.engines.mirror_sides import BothSides, Counting, open_sides
from eosctl.engines.scanning import collecting_rarely
from eosctl.model.mirror import Alignment, Compared, PartitionPair
from eosctl.model.mirror_progress import ComparedPair, Counts, EqualPiece, Kept, MirrorProgress
from eosctl.sources.audit_log import LogSource

Advance = Callable[[int], None]
ComparePieces = Callable[[BothSides, Sequence[PairPiece]], Sequence[EqualPiece | None]]
"""Gives how far each piece is equal, in their order."""


class PairJob(NamedTuple):
    """A pair, how far an earlier run has come (None: all is compared), and pieces of it that are known to be equal."""

    pair: PartitionPair
    earlier: MirrorProgress | None = None
    pieces: tuple[EqualPiece, ...] = ()

    @property
    def size(self) -> int:
        """Offsets on both sides that are to be compared."""
        pair, earlier = self.pair, self.earlier
        starts = (pair.source.audited_from, pair.target.audited_from)
        if earlier is not None:
            starts = (earlier.kept.source_next, earlier.kept.target_next)
        ends = (pair.source.high_watermark, pair.target.high_watermark)
        return sum(max(0, end - start) for start, end in zip(starts, ends, strict=True))


def compare_pair(sides: BothSides, job: PairJob) -> ComparedPair:
    """One pair, by the strictest digest by which records of both sides are equal.

    Where an earlier run's progress is given and nothing it rests on has changed, only what is behind is compared. With
    numpy batches are decoded as columns; where one cannot be, all is read again and decoded record by record.
    """
    if HAS_COLUMNS:
        with suppress(NoColumns):
            return _compared(sides, job, columns_of)
    return _compared(sides, job, record_by_record)


def _compared(sides: BothSides, job: PairJob, decode: Decode) -> ComparedPair:
    again = None if job.earlier is None else why_again(job.pair, sides.ids(job.pair.topics), job.earlier)
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        if job.earlier is not None and again is None:
            try:
                return _Comparison(sides, job, (one, other), decode).result()
            except Changed:
                again = ANOTHER
        nothing: ComparedPair | None = None
        for compared in Compared:
            whole = PairJob(job.pair, None, job.pieces if compared is Compared.WHOLE else ())
            found = _Comparison(sides, whole, (one, other), decode, compared).result()._replace(again=again)
            if _explains(found.alignment):
                return found
            nothing = nothing or found
        assert nothing is not None
        return nothing


def _explains(found: Alignment) -> bool:
    """Whether records are equal by its digest, or none ever will be.

    By a weaker digest as many as half of the smaller side: some are equal to others by chance, as tombstones of a key.
    """
    smaller = min(found.source_records, found.target_records)
    equal = found.matched + sum(each.records for each in found.aborted)
    return not smaller or equal >= (1 if found.compared is Compared.WHOLE else smaller / 2)


class _Comparison:
    """A pair, compared by one digest, from the beginning or from where an earlier run ended."""

    def __init__(
        self,
        sides: BothSides,
        job: PairJob,
        opened: tuple[LogSource, LogSource],
        decode: Decode,
        compared: Compared = Compared.WHOLE,
    ) -> None:
        self._sides, self._job, self._compared = sides, job, compared
        earlier, pieces = job.earlier, job.pieces
        self._counts = (Counts(), Counts()) if earlier is None else (earlier.source, earlier.target)
        counting = (
            Counting(self._counts[0], apart=[(each.begins[0], each.source.until) for each in pieces]),
            Counting(self._counts[1], apart=[(each.begins[1], each.target.until) for each in pieces]),
        )
        self._source, self._target = open_sides(sides, job.pair, opened, decode, counting)

    def result(self) -> ComparedPair:
        """Raises Changed where the earlier run cannot be gone on from."""
        pair, earlier = self._job.pair, None if self._job.earlier is None else self._job.earlier.kept
        if earlier is not None and earlier.last is not None:
            self._require_equal(*earlier.last)
        stable, end = pair.source.last_stable_offset, pair.source.high_watermark
        settled = stable if stable < end else ENDLESS
        aligner = Aligner(
            Log(self._read_source, pair.source.audited_from, settled),
            Log(self._read_target, pair.target.audited_from),
            pair.position if isinstance(pair.position, int) else None,
            self._sides.window,
            pair.checkpoints,
            earlier=earlier,
            equal=joined(self._job.pieces, self._sides.window),
            on_keep=self._remember_counts,
        )
        aligned = aligner.align()
        source, target = with_pieces((self._source.seen.counts, self._target.seen.counts), self._job.pieces)
        aligned = replace(
            aligned,
            compared=self._compared,
            damages=(*self._source.seen.damages, *self._target.seen.damages),
            source_records=source.records,
            target_records=target.records,
            source_bytes=source.size_bytes,
            target_bytes=target.size_bytes,
            aborted_in_target=target.aborted,
            continued=None if earlier is None else (earlier.source_next, earlier.target_next),
        )
        return ComparedPair(aligned, self._progress(aligned, aligner.kept))

    def _read_source(self, offset: int) -> Iterator[Block]:
        return self._source.blocks(offset, self._compared)

    def _read_target(self, offset: int) -> Iterator[Block]:
        return self._target.blocks(offset, self._compared)

    def _require_equal(self, offset: int, there: int) -> None:
        """The last pair of records that were equal still is, unless one of them was deleted since."""
        if offset < self._job.pair.source.audited_from or there < self._job.pair.target.audited_from:
            return
        mine, theirs = next(self._read_source(offset), None), next(self._read_target(there), None)
        if mine is None or theirs is None or (mine.offsets[0], theirs.offsets[0]) != (offset, there):
            raise Changed
        if mine.digests[0] != theirs.digests[0]:
            raise Changed

    def _remember_counts(self) -> None:
        self._counts = (self._source.seen.counts, self._target.seen.counts)

    def _progress(self, aligned: Alignment, kept: Kept | None) -> MirrorProgress | None:
        """None where what was found may be judged otherwise when more is read, or is not what it seems.

        What is damaged may be read another time, and by weaker digests more may be equal than by stronger ones later.
        """
        ids = self._sides.ids(self._job.pair.topics)
        whole = aligned.compared is Compared.WHOLE and not aligned.damages
        if kept is None or kept.first is None or not whole or ids[0] is None or ids[1] is None:
            return None
        counts = counts_at(self._counts, kept, self._job.pieces)
        return (
            None
            if counts is None
            else MirrorProgress(self._job.pair.topics, self._job.pair.partition, ids[0], ids[1], kept, *counts)
        )


def compare_pairs(
    sides: BothSides,
    jobs: Sequence[PairJob],
    processes: int | None,
    advance: Advance,
    apart: ComparePieces | None = None,
) -> list[ComparedPair]:
    """All pairs, in their order, in `processes` processes (None: one a CPU).

    A large pair is cut: its pieces are compared first, and what they do not explain is compared by one process then.
    Where `apart` is given, pieces of all pairs are compared by it.
    """
    count = processes or os.cpu_count() or 1
    if apart is not None:
        return list(_one_by_one(sides, _compared_apart(sides, jobs, apart, count), advance))
    if count == 1 or sum(each.size for each in jobs) <= SMALL:
        return list(_one_by_one(sides, jobs, advance))
    pieces = [cut_pair(sides, each.pair, each.earlier, count) for each in jobs]
    if len(jobs) == 1 and not pieces[0]:
        return list(_one_by_one(sides, jobs, advance))
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        compared = [[pool.submit(compare_piece, sides, each) for each in mine] for mine in pieces]
        order = sorted(range(len(jobs)), key=lambda number: (len(pieces[number]), -jobs[number].size))
        pending: dict[int, Future[ComparedPair]] = {}
        for number in order:
            found = tuple(each for future in compared[number] if (each := future.result()) is not None)
            pending[number] = pool.submit(compare_pair, sides, jobs[number]._replace(pieces=found))
        results = {}
        for number in order:
            results[number] = pending[number].result()
            advance(jobs[number].size)
    return [results[number] for number in range(len(jobs))]


def _compared_apart(sides: BothSides, jobs: Sequence[PairJob], apart: ComparePieces, processes: int) -> list[PairJob]:
    asked = [cut_pair(sides, each.pair, each.earlier, processes, least=1) for each in jobs]
    found = iter(apart(sides, list(chain.from_iterable(asked))))
    return [
        job._replace(pieces=tuple(each for each in islice(found, len(mine)) if each is not None))
        for job, mine in zip(jobs, asked, strict=True)
    ]


def _one_by_one(sides: BothSides, jobs: Sequence[PairJob], advance: Advance) -> Iterator[ComparedPair]:
    for each in jobs:
        yield compare_pair(sides, each)
        advance(each.size)
