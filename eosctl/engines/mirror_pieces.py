"""Pieces of large pairs of partitions, compared apart."""

from contextlib import suppress
from typing import Final, NamedTuple

from eosctl.analysis.mirror.blocks import Log
from eosctl.analysis.mirror.equal import Piece, cut, equal_from
from eosctl.engines.mirror_reading import HAS_COLUMNS, Decode, NoColumns, SideReading, columns_of, record_by_record
from eosctl.engines.mirror_sides import BothSides, Counting, open_sides
from eosctl.engines.scanning import collecting_rarely
from eosctl.model.mirror import Compared, PartitionPair
from eosctl.model.mirror_progress import Counts, EqualPiece, MirrorProgress

SMALLEST_PIECE: Final = 500_000
"""Offsets of the target from which on a piece is worth the looking for a cut, and the context that is read again."""
LARGEST_PIECE: Final = 5_000_000
DECODE: Final[Decode] = columns_of if HAS_COLUMNS else record_by_record


class PairPiece(NamedTuple):
    """A piece of a pair; batches before the offsets `counted` were counted by an earlier run."""

    pair: PartitionPair
    piece: Piece
    counted: tuple[int, int] = (0, 0)


def cut_pair(
    sides: BothSides, pair: PartitionPair, earlier: MirrorProgress | None, processes: int, least: int = 2
) -> list[PairPiece]:
    """The pieces of a pair behind what was compared earlier; none where it is too small for so many at least."""
    starts, counted = (pair.source.audited_from, pair.target.audited_from), (0, 0)
    if earlier is not None:
        starts = (earlier.kept.source_next, earlier.kept.target_next)
        counted = (earlier.source.until, earlier.target.until)
    ends = (pair.source.last_stable_offset, pair.target.last_stable_offset)
    size = ends[1] - starts[1]
    count = max(min(size // SMALLEST_PIECE, max(processes, size // LARGEST_PIECE)), 1 if size > 0 else 0)
    if count < least or pair.checkpoints:
        return []
    with sides.open_source() as one, sides.open_target() as other, suppress(NoColumns):
        source, target = open_sides(sides, pair, (one, other), DECODE)
        found = cut(_log(source, starts[0]), _log(target, starts[1]), ends, count)
        return [PairPiece(pair, each, counted) for each in found]
    return []


def _log(side: SideReading, start: int) -> Log:
    return Log(lambda offset: side.blocks(offset, Compared.WHOLE), start)


def compare_piece(sides: BothSides, asked: PairPiece) -> EqualPiece | None:
    """How far the piece is equal; None where it is not from its first record on, or something of it is damaged."""
    with suppress(NoColumns):
        return _compared(sides, asked, DECODE)
    return _compared(sides, asked, record_by_record)


def _compared(sides: BothSides, asked: PairPiece, decode: Decode) -> EqualPiece | None:
    pair, piece, counted = asked
    begins, ends = (piece.source_start, piece.target_start), (piece.source_end, piece.target_end)
    with sides.open_source() as one, sides.open_target() as other, collecting_rarely():
        counting = (
            Counting(Counts(max(begins[0], counted[0])), ends[0]),
            Counting(Counts(max(begins[1], counted[1])), ends[1]),
        )
        source, target = open_sides(sides, pair, (one, other), decode, counting)
        found = equal_from(_log(source, begins[0]), _log(target, begins[1]), piece, sides.window)
        if found is None or source.seen.damages or target.seen.damages:
            return None
        run, whole = found
        return EqualPiece(begins, ends, run, whole, source.seen.counts, target.seen.counts)
