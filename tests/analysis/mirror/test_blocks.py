"""The kept part of one side, the stretches that differ, and runs of equal records, at each limit and beside it."""

from collections.abc import Iterable, Iterator, Sequence
from unittest.mock import patch

import pytest

from eosctl.analysis.mirror import blocks
from eosctl.analysis.mirror.blocks import (
    Block,
    Buffer,
    DigestIndex,
    FoundRun,
    Log,
    Piece,
    Runs,
    Tally,
    before,
    cut,
    equal_from,
    equal_run,
    find_run,
    joined,
    pass_again,
)
from eosctl.model.mirror import NO_TIME, Counts, EqualPiece, EqualRun, KeptRuns, MissingRun, Stretch
from tests.analysis.mirror.test_mirror import KEPT, Source, copy


def block(*offsets: int, optional: bool = False) -> Block:
    """Records whose digest is a hundred times their offset, and whose time is their offset."""
    return Block(offsets, [100 * each for each in offsets], offsets, optional)


def read(made: Iterable[Block], taken: list[Block]) -> Iterator[Block]:
    for each in made:
        taken.append(each)
        yield each


def buffer(*made: Block, start: int = 0, place: int = 0, at_once: int = 1, load: int = 0) -> Buffer:
    found = Buffer(iter(made), start, place, at_once)
    found.load(load)
    return found


PAIRS = tuple(block(each, each + 1) for each in range(0, 20, 2))


@pytest.mark.parametrize(
    ("ahead", "at", "at_once", "blocks_read"),
    [
        (0, 0, 1, 0),
        (1, 0, 1, 1),
        (2, 0, 1, 1),
        (3, 0, 1, 2),
        (1, 0, 4, 2),
        (1, 0, 5, 3),
        (5, 0, 4, 3),
        (1, 1, 1, 1),
        (1, 2, 1, 2),
        (2, 1, 1, 2),
        (99, 0, 1, 10),
    ],
)
def test_as_many_blocks_are_read_as_lie_at_and_behind_the_cursor(ahead, at, at_once, blocks_read) -> None:
    taken: list[Block] = []
    found = Buffer(read(PAIRS, taken), at_once=at_once)
    found.at = at
    found.load(ahead)
    assert len(taken) == blocks_read
    assert found.end == 2 * blocks_read
    assert found.exhausted is (ahead == 99)


def test_a_buffer_that_holds_enough_reads_nothing_more() -> None:
    taken: list[Block] = []
    found = Buffer(read(PAIRS, taken), at_once=4)
    assert found.load(1)
    assert found.load(4)
    assert len(taken) == 2
    found.at = 4
    assert found.load(1)
    assert len(taken) == 4, "at least `at_once` where any is missing"


def test_there_is_a_record_at_the_cursor_up_to_the_last_one() -> None:
    found = buffer(Block((), (), ()), block(3))
    assert found.load(1)
    found.at = 1
    assert not found.load(1)
    assert not Buffer(iter(())).load(1)
    assert (found.offset(0), found.offset(1), found.time(0), found.time(1)) == (3, 4, 3, NO_TIME)


@pytest.mark.parametrize(
    ("offset", "before_it", "base", "kept"),
    [(0, 0, 10, 0), (1, 1, 9, 2), (2, 2, 8, 2), (3, 3, 7, 4), (5, 5, 5, 6), (99, 20, -10, 20)],
)
def test_going_to_an_offset_reads_up_to_it_and_gives_its_record_the_place(offset, before_it, base, kept) -> None:
    found = Buffer(iter(PAIRS))
    assert found.go_to(offset, 10) == before_it
    assert (found.base, found.at, len(found.offsets)) == (base, 10, kept)


@pytest.mark.parametrize(
    ("before_place", "kept", "base", "begin"),
    [(4, [4, 6], 5, 0), (5, [4, 6], 5, 0), (6, [6], 6, 5), (7, [], 7, 7)],
)
def test_what_is_dropped_is_all_before_the_place_and_nothing_else(before_place, kept, base, begin) -> None:
    found = buffer(block(4, 6), place=5, load=2)
    found.drop(before_place)
    assert (list(found.offsets), found.base, found.begin, found.end) == (kept, base, begin, 7)
    assert (len(found.digests), len(found.times)) == (len(kept), len(kept))


@pytest.mark.parametrize(("offset", "place"), [(3, 5), (4, 5), (5, 6), (6, 6), (7, 7)])
def test_the_place_of_an_offset_is_that_of_the_first_record_at_or_behind_it(offset, place) -> None:
    assert buffer(block(4, 6), place=5, load=2).position_of(offset) == place


@pytest.mark.parametrize(
    ("one", "other", "places", "most", "count"),
    [
        ([1, 2, 3], [1, 2, 3], (0, 0), 9, 3),
        ([1, 2, 3], [1, 2, 3], (0, 0), 2, 2),
        ([1, 2, 3], [1, 2], (0, 0), 9, 2),
        ([1, 2], [1, 2, 3], (0, 0), 9, 2),
        ([1, 2, 3], [1, 9, 3], (0, 0), 9, 1),
        ([1, 2, 3], [9, 2, 3], (0, 0), 9, 0),
        ([1, 2, 3], [2, 3], (1, 0), 9, 2),
        ([2, 3], [1, 2, 3], (0, 1), 9, 2),
        ([1], [1], (2, 0), 9, 0),
        ([1], [1], (0, 2), 9, 0),
        ([1], [1], (0, 0), 0, 0),
    ],
)
def test_records_are_equal_up_to_the_first_difference_the_end_or_the_most(one, other, places, most, count) -> None:
    mine, theirs = (copy(each).open(0) for each in (one, other))
    sides = Buffer(mine), Buffer(theirs)
    for each in sides:
        each.load(9)
    assert equal_run(*sides, *places, most) == count


def single(source: int, target: int) -> Stretch:
    return Stretch(source, source + 1, target, target + 1, 1, source)


def runs(most: int, *places: tuple[int, int], kept: KeptRuns | None = None) -> Runs:
    found = Runs(most) if kept is None else Runs(most, kept)
    for source, target in places:
        found.add((source, target), (source + 1, target + 1), single(source, target))
    return found


TWO = Stretch(0, 2, 0, 2, 2, 0)


@pytest.mark.parametrize(
    ("most", "places", "stretches", "more"),
    [
        (9, [], (), 0),
        (9, [(0, 0)], (single(0, 0),), 0),
        (9, [(0, 0), (1, 1)], (TWO,), 0),
        (9, [(0, 0), (1, 2)], (single(0, 0), single(1, 2)), 0),
        (9, [(0, 0), (2, 1)], (single(0, 0), single(2, 1)), 0),
        (2, [(0, 0), (5, 5)], (single(0, 0), single(5, 5)), 0),
        (1, [(0, 0), (5, 5)], (single(0, 0),), 1),
        (1, [(0, 0), (1, 1), (5, 5)], (TWO,), 1),
        (1, [(0, 0), (5, 5), (6, 6), (7, 7)], (single(0, 0),), 1),
        (1, [(0, 0), (5, 5), (6, 6), (8, 8)], (single(0, 0),), 2),
        (1, [(0, 0), (5, 5), (1, 1)], (single(0, 0),), 2),
        (0, [(0, 0), (1, 1)], (), 1),
    ],
)
def test_a_record_joins_the_stretch_that_ends_there_and_none_that_was_left_out(most, places, stretches, more) -> None:
    found = runs(most, *places)
    assert (tuple(found.stretches), found.more) == (stretches, more)
    assert found.records == sum(each.records for each in stretches)


def test_stretches_go_on_in_a_later_run_where_the_last_one_was_kept() -> None:
    kept = runs(9, (0, 0)).kept()
    assert kept == KeptRuns((single(0, 0),), 0, (1, 1))
    assert runs(9, (1, 1), kept=kept).stretches == [TWO]
    left_out = runs(1, (0, 0), (5, 5)).kept()
    assert left_out == KeptRuns((single(0, 0),), 1, None)
    assert runs(1, (6, 6), kept=left_out).stretches == [single(0, 0)]


def test_a_joined_stretch_reaches_as_far_as_each_of_its_records() -> None:
    found = Runs(9)
    found.add((0, 0), (1, 1), Stretch(5, 9, 5, 9, 2, 1))
    found.add((1, 1), (2, 2), Stretch(6, 7, 6, 7, 1, 2))
    assert found.stretches == [Stretch(5, 9, 5, 9, 3, 1)]


def test_all_stretches_as_one_begin_with_the_first_and_end_with_the_last() -> None:
    assert runs(9).joined is None
    assert runs(9, (0, 0), (5, 7)).joined == Stretch(0, 6, 0, 8, 2, 0)


THREE = Stretch(10, 16, 0, 0, 3, 0)
"""Three records at six offsets."""


@pytest.mark.parametrize(
    ("offset", "following", "left"),
    [
        (9, None, None),
        (10, None, [THREE._replace(source_start=11, records=2)]),
        (11, None, [THREE._replace(source_end=11, records=1), THREE._replace(source_start=12, records=1)]),
        (12, None, [THREE._replace(source_end=12, records=2)]),
        (15, None, [THREE._replace(source_end=15, records=2)]),
        (15, 10, [THREE._replace(source_start=16, records=2)]),
        (15, 9, [THREE._replace(source_end=15, records=2)]),
        (16, None, None),
    ],
)
def test_a_record_that_comes_late_is_taken_out_of_its_stretch(offset, following, left) -> None:
    found = Runs(9, KeptRuns((THREE,), 0, None))
    assert found.take(offset, following) is (left is not None)
    assert found.stretches == ([THREE] if left is None else left)


def test_a_stretch_of_one_record_is_gone_with_it_and_none_goes_on_there() -> None:
    found = runs(9, (0, 0))
    assert found.take(0, None)
    assert found.stretches == []
    found.add((1, 1), (2, 2), single(1, 1))
    assert found.stretches == [single(1, 1)]


def tally(first: tuple[int, int] | None = (0, 0), place: int = 5) -> Tally:
    found = Tally(None, 1 << 63)
    if first is not None:
        found.match(first, first, place, 1)
    return found


def stretches(found: Tally) -> dict[str, list[Stretch]]:
    return {kind: each.stretches for kind, each in found.runs.items() if each.stretches}


@pytest.mark.parametrize(("first", "place", "kind"), [((0, 0), 4, "head"), ((0, 0), 5, "gaps"), (None, 9, "head")])
def test_a_missing_record_before_the_first_equal_one_is_no_gap(first, place, kind) -> None:
    found, source = tally(first), buffer(block(*range(10)), load=10)
    found.missing[place] = 70
    found.flush_missing(source, place)
    assert stretches(found) == {}
    assert found.missing == {place: 70}
    found.flush_missing(source, place + 1)
    assert stretches(found) == {kind: [Stretch(place, place + 1, 70, 70, 1, place)]}
    assert found.missing == {}


def test_the_first_equal_pair_stays_and_the_last_one_moves() -> None:
    found = tally()
    found.match((3, 4), (5, 6), 9, 3)
    assert (found.first, found.last, found.matched) == ((0, 0), (5, 6), 4)
    found.missing[5] = 0
    found.flush_missing(buffer(block(*range(10)), load=10), 9)
    assert list(stretches(found)) == ["gaps"], "by the place of the first pair"


@pytest.mark.parametrize(("base", "may_come_late"), [(6, True), (7, True), (8, False)])
def test_a_record_that_an_earlier_run_lacked_may_come_late_while_the_source_holds_it(base, may_come_late) -> None:
    found, lacked = tally(), Stretch(20, 22, 50, 50, 2, 0)
    found.go_on_missing([MissingRun(7, 9, lacked)], base)
    assert found.missing == ({7: 50, 8: 50} if may_come_late else {})
    assert stretches(found) == ({} if may_come_late else {"gaps": [lacked]})


def test_records_that_come_again_were_missing_or_are_repeats() -> None:
    found, source, target = tally(), buffer(block(*range(6)), load=6), buffer(block(2, 3, 9), load=3)
    source.at, found.missing = 5, {3: 0}
    found.pass_again(source, target, 2)
    assert stretches(found) == {"repeats": [Stretch(2, 3, 2, 3, 1, 2)], "late": [Stretch(3, 4, 3, 4, 1, 3)]}
    assert (target.at, found.matched, found.missing) == (2, 2, {})


def test_records_come_again_up_to_the_cursor_at_most() -> None:
    found, source, target = tally(), buffer(block(*range(6)), load=6), buffer(block(2, 3, 4), load=3)
    source.at = 4
    found.pass_again(source, target, 2)
    assert target.at == 2


@pytest.mark.parametrize(("first", "kind"), [(None, "lead"), ((0, 0), "unknown")])
def test_records_that_equal_none_of_the_source_lead_where_no_pair_is_equal_yet(first, kind) -> None:
    found = tally(first)
    found.note_unknown(buffer(block(4, 5, 6), load=3), 1, 3, 77)
    assert stretches(found) == {kind: [Stretch(77, 77, 5, 7, 2, 5)]}


@pytest.mark.parametrize(
    ("first", "position", "gap", "rest"),
    [
        ((0, 0), None, [], [4, 5]),
        ((0, 0), 3, [], [4, 5]),
        ((0, 0), 4, [Stretch(4, 5, 9, 9, 1, 4)], [5]),
        ((0, 0), 5, [Stretch(4, 6, 9, 9, 2, 4)], []),
        (None, 5, [], [4, 5]),
    ],
)
def test_what_the_target_lacks_at_its_end_is_a_gap_up_to_the_mirror_s_position(first, position, gap, rest) -> None:
    found = tally(first)
    given = list(found.rest(buffer(block(4, 5), load=2), 9, position))
    assert [each.source_start for each in given] == rest
    assert stretches(found) == ({"gaps": gap} if gap else {})


@pytest.mark.parametrize(("first", "kind"), [(None, "head"), ((0, 0), "gaps")])
def test_a_leap_leaves_out_records_by_number(first, kind) -> None:
    found = tally(first)
    found.leap(10, 40, 7, (3, 9), 5)
    assert stretches(found) == {kind: [Stretch(10, 40, 7, 7, 6, 5)]}


@pytest.mark.parametrize(("settled", "following"), [(1, 1), (2, 2), (3, 2)])
def test_a_later_run_resumes_before_what_is_not_decided(settled, following) -> None:
    found = Tally(None, settled)
    source, target = buffer(block(0, 1, 2, 3), load=4), buffer(block(0, 1, 2, 3), load=4)
    source.at, target.at = 2, 3
    source.drop(1)
    found.missing = {1: 8, 2: 8}
    kept = found.kept(source, target, 1, {0, 1, 2}, (1, 2, 3))
    assert (kept.source_next, kept.source_place, kept.context, kept.context_records) == (following, 2, 1, 1)
    assert (kept.target_next, kept.target_place, kept.waiting) == (1, 1, 2)
    assert (kept.aborted_taken, kept.searches) == ((1, 2), (1, 2, 3))
    assert kept.missing == (MissingRun(1, 3, Stretch(1, 3, 8, 8, 2, 1)),)


def test_a_later_run_has_the_counts_of_the_one_before() -> None:
    assert (Tally(None, 9).matched, Tally(None, 9).first, Tally(None, 9).last) == (0, None, None)
    found = Tally(KEPT, 9)
    assert (found.matched, found.first, stretches(found)) == (0, None, {})


def test_stretches_that_were_left_out_are_counted_over_all_kinds() -> None:
    found = tally()
    with patch.object(found.runs["late"], "more", 2), patch.object(found.runs["gaps"], "more", 3):
        assert found.alignment(None, ()).more == 5


def index(window: int = 9) -> tuple[DigestIndex, Buffer]:
    made = [Block(range(10), [1, 2, 1, 1, 2, 1, 1, 1, 2, 1], [0] * 10)]
    source = Buffer(iter(made))
    source.load(10)
    return DigestIndex(window), source


@pytest.mark.parametrize(
    ("at", "window", "missing", "found"),
    [
        (4, 9, (), [4, 8, 1]),
        (5, 9, (), [8, 1, 4]),
        (5, 9, (1,), [8, 1, 1, 4]),
        (4, 4, (), [4, 1]),
        (4, 5, (), [4, 8, 1]),
        (5, 4, (), [8, 1, 4]),
        (5, 3, (), [4]),
        (8, 3, (), [8]),
        (8, 4, (), [8, 4]),
    ],
)
def test_the_places_of_a_digest_are_those_ahead_then_the_missing_ones_then_those_behind(at, window, missing, found):
    looked_in, source = index(window)
    source.at = at
    assert looked_in.candidates(source, 2, missing) == found
    assert looked_in.candidates(source, 7, missing) == []


def test_the_nearest_places_are_candidates() -> None:
    looked_in, source = index()
    source.at = 5
    with patch.object(blocks, "MOST_CANDIDATES", 2):
        assert looked_in.candidates(source, 1, (0, 2, 3)) == [5, 6, 0, 2, 2, 3]


def test_a_dropped_place_is_none_and_records_read_later_are_found() -> None:
    looked_in, source = index(100)
    assert looked_in.places(source, 2) == [1, 4, 8]
    source.drop(1)
    assert looked_in.places(source, 2) == [1, 4, 8]
    source.drop(2)
    assert looked_in.places(source, 2) == [4, 8]
    more = buffer(block(0, 1), block(2), load=1)
    later = DigestIndex(9)
    assert later.places(more, 200) == []
    more.load(3)
    assert later.places(more, 200) == [2]
    later.clear()
    assert later.places(more, 200) == [2]


def logged(*digests: Sequence[int], optional: tuple[int, ...] = ()) -> Iterator[Block]:
    """Blocks with these digests; an offset is ten times the number of its record."""
    at = 0
    for number, each in enumerate(digests):
        offsets = [10 * place for place in range(at, at + len(each))]
        yield Block(offsets, each, offsets, number in optional)
        at += len(each)


@pytest.mark.parametrize(
    ("digests", "optional", "wanted", "until", "found"),
    [
        ([[1, 2, 3]], (), [2, 3], None, FoundRun(10, 0, 1)),
        ([[1, 2, 3]], (), [], None, None),
        ([], (), [1], None, None),
        ([[1, 2, 3]], (), [9], None, None),
        ([[1, 2], [3, 4]], (), [2, 3, 4], None, FoundRun(10, 0, 1)),
        ([[1, 2], [3, 4]], (), [4], None, FoundRun(30, 0, 3)),
        ([[1, 2], [9, 4]], (), [2, 3], None, None),
        ([[1, 2], [9], [3, 4]], (1,), [2, 3], None, FoundRun(10, 0, 1)),
        ([[9], [9, 4]], (0,), [4], None, FoundRun(20, 0, 1)),
        ([[5, 3]], (), [2, 3], None, FoundRun(10, 1, 1)),
        ([[2, 9], [2, 3]], (), [2, 3], None, FoundRun(20, 0, 2)),
        ([[2, 2, 7]], (), [2, 2, 7], None, FoundRun(0, 0, 0)),
        ([[1, 2, 3]], (), [3], 21, FoundRun(20, 0, 2)),
        ([[1, 2, 3]], (), [3], 20, None),
        ([[1, 2], [3]], (), [3], 21, FoundRun(20, 0, 2)),
        ([[1, 2], [3]], (), [3], 20, None),
        ([[1]], (), [1], 0, None),
        ([range(1, 9)], (), range(1, 10), None, FoundRun(0, 0, 0)),
        ([[*range(1, 9), 99]], (), range(1, 10), None, FoundRun(0, 0, 0)),
        ([[*range(1, 8), 99]], (), range(1, 9), None, None),
    ],
)
def test_a_run_begins_where_eight_records_or_all_that_are_there_are_equal(digests, optional, wanted, until, found):
    assert find_run(logged(*digests, optional=optional), list(wanted), until) == found


def again(digests: Sequence[Sequence[int]], until: int, *gaps: Stretch, target: Sequence[int], optional=()) -> Tally:
    found = tally()
    found.runs["gaps"] = Runs(9, KeptRuns(gaps, 0, None))
    copied = Buffer(copy(target).open(0))
    pass_again(logged(*digests, optional=optional), copied, found, 0, until)
    found.missing = {-1: copied.at}
    return found


@pytest.mark.parametrize(
    ("digests", "until", "target", "optional", "passed"),
    [
        ([[1, 2, 3]], 99, [1, 2, 3], (), 3),
        ([[1, 2, 3]], 99, [1, 2], (), 2),
        ([[1, 2, 3]], 99, [1, 9, 3], (), 1),
        ([[1, 2, 3]], 20, [1, 2, 3], (), 2),
        ([[1, 2, 3]], 21, [1, 2, 3], (), 3),
        ([[1, 2], [7], [3]], 99, [1, 2, 3], (1,), 3),
        ([[1, 2], [7], [3]], 99, [1, 2, 3], (), 2),
        ([], 99, [1], (), 0),
    ],
)
def test_source_records_are_in_the_target_again_up_to_the_first_difference(digests, until, target, optional, passed):
    found = again(digests, until, target=target, optional=optional)
    assert found.missing == {-1: passed}
    assert found.runs["repeats"].records == passed
    assert (found.runs["repeats"].joined is None) is not bool(passed)
    assert len(found.runs["repeats"].stretches) == min(1, passed), "they follow each other"


def test_source_records_that_were_gaps_are_late_then_and_not_repeats() -> None:
    found = again([[1, 2, 3]], 99, Stretch(10, 31, 0, 0, 2, 0), target=[1, 2, 3])
    assert (found.runs["repeats"].records, found.runs["late"].records, found.matched) == (1, 2, 3)
    assert found.runs["gaps"].stretches == []


@pytest.mark.parametrize(
    ("end", "found"),
    [(0, []), (1, [[0]]), (5, [[0, 2, 4]]), (6, [[0, 2, 4]]), (7, [[0, 2, 4], [6]]), (11, [[0, 2, 4], [6, 8, 10]]),
     (99, [[0, 2, 4], [6, 8, 10]])],
)  # fmt: skip
def test_blocks_before_an_offset_are_cut_there(end: int, found: list[list[int]]) -> None:
    made = before(iter([block(0, 2, 4), block(6, 8, 10, optional=True)]), end)
    kept = [(list(each.offsets), len(each.digests), len(each.times), each.optional) for each in made]
    assert kept == [(each, len(each), len(each), number == 1) for number, each in enumerate(found)]


@pytest.mark.parametrize(
    ("copied", "piece", "run", "whole"),
    [
        (range(10), Piece(0, 0, 30, 10), EqualRun(0, 0, 27, 9, 10, 19), True),
        (range(9), Piece(0, 0, 30, 10), EqualRun(0, 0, 24, 8, 9, 16), False),
        (range(10), Piece(0, 0, 27, 10), EqualRun(0, 0, 24, 8, 9, 16), False),
        (range(10), Piece(0, 0, 30, 9), EqualRun(0, 0, 24, 8, 9, 16), False),
        ([0, 1, 2, 9], Piece(0, 0, 30, 10), EqualRun(0, 0, 6, 2, 3, 0), False),
        (range(10), Piece(6, 2, 30, 10), EqualRun(6, 2, 27, 9, 8, 19), True),
        ([5], Piece(0, 0, 30, 10), None, False),
        ([], Piece(0, 0, 30, 10), None, False),
    ],
)
def test_a_piece_is_equal_as_far_as_both_sides_go_and_whole_where_neither_goes_further(copied, piece, run, whole):
    found = equal_from(Log(Source(10).blocks), copy(copied), piece, 3)
    assert found == (None if run is None else (run, whole))


def test_aborted_records_are_none_of_a_piece() -> None:
    found = equal_from(Log(Source(4, frozenset({1})).blocks), copy([0, 2, 3]), Piece(0, 0, 12, 3), 9)
    assert found == (EqualRun(0, 0, 9, 2, 3, 0), True)


def piece(begin: int, end: int, records: int, *, whole: bool = True) -> EqualPiece:
    run = EqualRun(begin, begin, begin + records - 1, begin + records - 1, records, begin)
    return EqualPiece((begin, begin), (end, end), run, whole, Counts(), Counts())


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([], []),
        ([piece(0, 9, 9)], [(0, 9, 0)]),
        ([piece(0, 9, 9), piece(9, 20, 5)], [(0, 14, 9)]),
        ([piece(0, 9, 9, whole=False), piece(9, 20, 5)], [(0, 9, 0), (9, 5, 9)]),
        ([piece(0, 9, 9), piece(10, 20, 5)], [(0, 9, 0), (10, 5, 10)]),
        ([piece(0, 9, 9), piece(9, 20, 4)], [(0, 9, 0), (9, 4, 9)]),
        ([piece(0, 9, 9), piece(9, 14, 5), piece(14, 30, 6)], [(0, 20, 14)]),
        ([piece(0, 9, 9), piece(9, 14, 5), piece(15, 30, 6)], [(0, 14, 9), (15, 6, 15)]),
    ],
)
def test_neighbouring_pieces_are_joined_where_the_second_holds_a_whole_context(pieces, found) -> None:
    assert [(each.source_start, each.records, each.context) for each in joined(pieces, 5)] == found


@pytest.mark.parametrize(
    ("count", "ends", "found"),
    [
        (1, (300, 100), [(0, 0)]),
        (2, (300, 100), [(0, 0), (150, 50)]),
        (4, (300, 100), [(0, 0), (75, 25), (150, 50), (225, 75)]),
        (2, (150, 100), [(0, 0)]),
    ],
)
def test_a_side_is_cut_at_records_that_both_hold(count, ends, found) -> None:
    source, target = Log(Source(100).blocks), copy(range(100))
    pieces = cut(source, target, ends, count)
    assert [(each.source_start, each.target_start) for each in pieces] == found
    assert (pieces[-1].source_end, pieces[-1].target_end) == ends


def test_a_target_that_equals_nothing_or_has_no_record_there_is_not_cut() -> None:
    assert cut(Log(Source(100).blocks), copy(range(1000, 1100)), (300, 100), 4) == [Piece(0, 0, 300, 100)]
    assert cut(Log(Source(100).blocks), copy([]), (300, 100), 4) == [Piece(0, 0, 300, 100)]


@pytest.mark.parametrize(
    ("source", "copied", "count", "pieces"),
    [
        (100, [*range(50, 100), *range(50)], 2, [Piece(0, 50, 300, 100)]),
        (100, [*range(50, 100), *range(50)], 4, [Piece(0, 50, 75, 75), Piece(225, 25, 300, 100)]),
        (10, [5, 6], 4, [Piece(15, 0, 18, 1), Piece(18, 1, 30, 2)]),
    ],
)
def test_pieces_go_forward_on_both_sides(source, copied, count, pieces) -> None:
    with patch.multiple(blocks, LOOKED_FOR=8):
        assert cut(Log(Source(source).blocks), copy(copied), (3 * source, len(copied)), count) == pieces


def noting(log: Log, opened: list[int], taken: list[Block]) -> Log:
    def blocks(start: int) -> Iterator[Block]:
        opened.append(start)
        return read(log.open(start), taken)

    return log._replace(open=blocks)


@pytest.mark.parametrize(
    ("near", "opened"), [(3000, [0]), (2999, [1500, 0]), (750, [1500, 750, 0]), (749, [1500, 750, 375, 0])]
)
def test_the_place_of_a_time_is_halved_down_to_the_reach(near, opened) -> None:
    places: list[int] = []
    with patch.multiple(blocks, NEAR=near):
        found = cut(noting(Log(Source(1000).blocks), places, []), copy(range(200)), (3000, 200), 2)
    assert [(each.source_start, each.target_start) for each in found] == [(0, 0), (300, 100)]
    assert places == opened


@pytest.mark.parametrize(("looked_for", "blocks_read"), [(7, 1), (8, 2), (14, 2), (15, 3)])
def test_a_cut_reads_no_more_of_the_target_than_is_looked_for(looked_for, blocks_read) -> None:
    taken: list[Block] = []
    with patch.multiple(blocks, LOOKED_FOR=looked_for):
        cut(Log(Source(140).blocks), noting(copy(range(140)), [], taken), (420, 140), 2)
    assert len(taken) == blocks_read


class AtOnce(Source):
    """Records of one time, that of the target's first ones."""

    def blocks(self, start: int) -> Iterator[Block]:
        return (each._replace(times=[7] * len(each.times)) for each in super().blocks(start))


def test_a_cut_is_found_among_records_of_one_time_and_before_the_source_s_end() -> None:
    with patch.multiple(blocks, NEAR=30):
        same = cut(Log(AtOnce(1000).blocks), copy(range(20)), (3000, 20), 2)
        far = cut(Log(Source(1000).blocks), copy(range(1000)), (90_000, 1000), 2)
        nothing = cut(Log(Source(1000).blocks), copy([]), (3000, 100), 2)
    assert [[(each.source_start, each.target_start) for each in made] for made in (same, far, nothing)] == [
        [(0, 0), (30, 10)],
        [(0, 0), (1500, 500)],
        [(0, 0)],
    ]


def test_a_cut_is_looked_for_within_the_reach_of_its_time() -> None:
    """The records are there, but further from those of their age than clocks and order explain."""
    source, copied = Source(1000), range(1000)
    with patch.multiple(blocks, NEAR=30, LOOKED_FOR=8):
        near = cut(Log(source.blocks), copy(copied), (3000, 1000), 2)
    assert [(each.source_start, each.target_start) for each in near] == [(0, 0), (1500, 500)]
