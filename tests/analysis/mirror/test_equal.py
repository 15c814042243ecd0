"""Pieces that are compared apart: with them the answer is that of one comparison, wherever they are cut."""

from collections.abc import Sequence
from itertools import pairwise
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.mirror import aligner, blocks
from eosctl.analysis.mirror.aligner import Aligner
from eosctl.analysis.mirror.blocks import Log, Piece, cut, equal_from, joined
from eosctl.model.mirror import Alignment, Counts, EqualPiece, EqualRun
from tests.analysis.mirror.copies import Source, align, assert_same, copy
from tests.analysis.mirror.test_going_on import COPIES, FARTHEST, SOON, WINDOWS


def pieces_of(source: Source, copied: Sequence[int], cuts: Sequence[Piece], window: int) -> list[EqualPiece]:
    """How far each piece is equal; those that are not from their beginning on are left out."""
    found = ((each, equal_from(Log(source.blocks), copy(copied), each, window)) for each in cuts)
    return [
        EqualPiece(each[:2], each[2:], run[0], run[1], Counts(), Counts()) for each, run in found if run is not None
    ]


def in_pieces(source: Source, copied: Sequence[int], cuts: Sequence[Piece], window: int) -> Alignment:
    runs = list(joined(pieces_of(source, copied, cuts, window), window))
    return Aligner(Log(source.blocks), copy(copied), None, window, equal=runs).align()


def between(places: list[tuple[int, int]]) -> list[Piece]:
    ordered = sorted(places)
    return [Piece(*one, *other) for one, other in pairwise(ordered) if one[0] < other[0] and one[1] < other[1]]


@given(COPIES, st.lists(st.integers(0, 300), max_size=4), st.lists(st.integers(0, 300), max_size=2), WINDOWS)
def test_pieces_give_the_answer_of_one_comparison_for_every_cut(
    made: tuple[Source, list[int]], places: list[int], wrong: list[int], window: int
):
    source, copied = made
    ends = (3 * source.count, len(copied))
    cuts = [(3 * copied[each], each) for each in places if each < len(copied) and copied[each] < source.count]
    arbitrary = [(3 * (each % (source.count + 1)), each // 2) for each in wrong if each // 2 < len(copied)]
    with patch.multiple(aligner, **SOON):
        found = in_pieces(source, copied, between([(0, 0), *cuts, *arbitrary, ends]), window)
        whole = align(source, copied, window=window)
    assert_same(found, whole, aborted_in_reach=window > FARTHEST or not source.optional)


def test_a_whole_copy_is_one_run_wherever_it_is_cut():
    cuts = between([(0, 0), (3 * 400, 400), (3 * 700, 700), (3 * 1000, 1000)])
    pieces = pieces_of(Source(1000), range(1000), cuts, 50)
    assert [each.whole for each in pieces] == [True, True, True]
    assert list(joined(pieces, 50)) == [EqualRun(0, 0, 3 * 999, 999, 1000, 3 * 949 + 1)]


def test_a_run_that_is_smaller_than_the_window_is_not_joined_because_it_holds_no_whole_context():
    cuts = between([(0, 0), (3 * 970, 970), (3 * 1000, 1000)])
    found = joined(pieces_of(Source(1000), range(1000), cuts, 50), 50)
    assert [(each.source_start, each.records) for each in found] == [(0, 970), (3 * 970, 30)]


def test_a_piece_is_equal_up_to_its_first_difference():
    [piece] = pieces_of(Source(1000), [*range(600), *range(601, 1000)], [Piece(0, 0, 3000, 999)], 50)
    assert (piece.run, piece.whole) == (EqualRun(0, 0, 3 * 599, 599, 600, 3 * 549 + 1), False)


def test_cuts_are_found_though_the_copy_began_late_and_lacks_records():
    source, copied = Source(6000), [*range(900, 2500), *range(2600, 5000)]
    with patch.multiple(blocks, NEAR=300, LOOKED_FOR=32):
        found = cut(Log(source.blocks), copy(copied), (18_000, len(copied)), 4)
    assert [(each.source_start, each.target_start) for each in found] == [
        (0, 0), (3 * 1900, 1000), (3 * 3000, 2000), (3 * 4000, 3000)
    ]  # fmt: skip
