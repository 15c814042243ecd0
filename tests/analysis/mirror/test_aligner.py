"""Aborted records that a mirror copied, and the places at which checkpoints point: each limit alone."""

from collections.abc import Sequence

import pytest

from eosctl.analysis.mirror.aligner import AbortedRecords, Aligner, Changed, Marks
from eosctl.analysis.mirror.blocks import Block, Buffer, Log, Runs
from eosctl.model.groups import Checkpoint
from eosctl.model.mirror import EqualRun, Stretch, Translated
from tests.analysis.mirror.test_blocks import block, buffer
from tests.analysis.mirror.test_mirror import Source, align, copy, counted


def aborted(*digests: int, most: int = 9, taken: Sequence[int] = (), start: int = 0) -> AbortedRecords:
    """Aborted records of these digests, at offsets from `start` on, whose times are their offsets."""
    found, offsets = AbortedRecords(most, taken), range(start, start + len(digests))
    assert list(found.committed(iter([Block(offsets, digests, offsets, optional=True)]))) == []
    return found


def target(*digests: int) -> Buffer:
    found = Buffer(copy(digests).open(0))
    found.load(1)
    return found


def test_committed_records_are_passed_on_and_aborted_ones_kept() -> None:
    made = [block(0, 1), block(2, optional=True), block(3)]
    found = AbortedRecords(9)
    assert list(found.committed(iter(made))) == [made[0], made[2]]
    assert found.run(target(200), again=False) == 1
    assert found.run(target(0), again=False) == 0


@pytest.mark.parametrize(
    ("most", "copied", "run"),
    [
        (9, (1, 2, 3), 3),
        (3, (1, 2, 3), 3),
        (2, (1, 2, 3), 0),
        (2, (2, 3), 2),
        (9, (1, 9, 3), 1),
        (9, (9, 1), 0),
        (9, (1, 2, 3, 4), 3),
    ],
)
def test_a_run_of_aborted_records_ends_with_the_first_that_is_none_of_those_kept(most, copied, run) -> None:
    assert aborted(1, 2, 3, most=most).run(target(*copied), again=True) == run


def test_a_record_that_was_taken_counts_only_where_records_may_come_again() -> None:
    found, copied, passed = aborted(5), target(5, 5, 5), Runs(9)
    found.pass_run(copied, 1, passed)
    assert found.taken_offsets == {0}
    assert (found.run(copied, again=False), found.run(copied, again=True)) == (0, 2)
    found.pass_run(copied, 2, passed)
    assert copied.at == 3
    assert passed.records == 3
    assert passed.stretches[0][:2] == (0, 1)


def test_no_more_records_are_passed_than_asked_for() -> None:
    found, copied, passed = aborted(1, 2, 3), target(1, 2, 3), Runs(9)
    found.pass_run(copied, 2, passed)
    assert (copied.at, passed.stretches) == (2, [Stretch(0, 2, 0, 2, 2, 0)])
    found.pass_run(copied, 0, passed)
    assert copied.at == 2


def test_of_equal_records_the_oldest_is_taken_first() -> None:
    found, copied, passed = aborted(5, 5), target(5, 5), Runs(9)
    found.pass_run(copied, 1, passed)
    assert found.taken_offsets == {0}
    assert found.run(copied, again=False) == 1
    found.pass_run(copied, 1, passed)
    assert found.taken_offsets == {0, 1}


def test_records_that_an_earlier_run_saw_in_the_target_are_not_there_for_the_first_time() -> None:
    found = aborted(5, 6, taken=[0])
    assert (found.run(target(5), again=False), found.run(target(5), again=True)) == (0, 1)
    assert found.run(target(6), again=False) == 1


def test_a_record_is_forgotten_with_all_that_is_known_of_it() -> None:
    found = aborted(5, 6, most=1, taken=[0])
    assert found.taken_offsets == set()
    assert found.run(target(5), again=True) == 0
    equal = aborted(5, 5, most=1)
    copied = target(5, 5)
    equal.pass_run(copied, 2, Runs(9))
    assert copied.at == 2, "the later one of two equal ones is still kept"
    assert equal.taken_offsets == {1}


def test_a_record_is_not_forgotten_with_an_equal_one_that_was_taken_before() -> None:
    assert aborted(5, 5, most=1, taken=[0]).run(target(5), again=False) == 1


def test_a_taken_record_is_not_forgotten_with_an_earlier_equal_one() -> None:
    found = aborted(5, 5, 6, most=2, taken=[1])
    assert found.taken_offsets == {1}
    assert (found.run(target(5), again=False), found.run(target(5), again=True)) == (0, 1)


def test_a_record_that_is_read_twice_is_kept_once() -> None:
    found = aborted(5, 6)
    assert list(found.committed(iter([Block([1, 2], [6, 7], [0, 0], optional=True)]))) == []
    copied = target(6, 6, 7)
    found.pass_run(copied, 3, Runs(9))
    assert copied.at == 3
    assert found.taken_offsets == {1, 2}


def marks(*checkpoints: tuple[int, int]) -> Marks:
    return Marks([checkpoint(*each) for each in checkpoints])


def checkpoint(upstream: int, downstream: int) -> Checkpoint:
    return Checkpoint("g", "t", 0, upstream, downstream)


@pytest.mark.parametrize(("downstream", "behind"), [(3, 1), (4, 1), (5, 0), (6, 0), (7, -1)])
def test_a_target_offset_points_at_the_source_record_that_equals_it_or_the_next_one(downstream, behind) -> None:
    """Source and target hold three records, the target's at 4, 6 and 8; the group had read one."""
    found = marks((12, downstream))
    source, copied = buffer(block(10, 12, 14), load=3), buffer(block(4, 6, 8), load=3)
    found.match(source, copied, 3)
    source.at = copied.at = 3
    found.pass_source(source)
    found.end_target(3)
    assert found.translated(3) == (Translated(checkpoint(12, downstream), behind),)


@pytest.mark.parametrize(("count", "known"), [(1, False), (2, True)])
def test_a_target_offset_is_known_when_the_record_there_is_passed(count: int, known: bool) -> None:
    found = marks((10, 6))
    source, copied = buffer(block(10, 12, 14), load=3), buffer(block(4, 6, 8), load=3)
    found.match(source, copied, count)
    found.pass_source(source)
    assert bool(found.translated(3)) is known


def test_an_offset_behind_the_end_of_a_side_points_at_the_next_record() -> None:
    found = marks((99, 99))
    found.end_target(3)
    assert found.translated(5) == (Translated(checkpoint(99, 99), 2),)


def test_a_checkpoint_without_an_offset_in_the_target_is_not_compared() -> None:
    found = marks((10, -1), (10, 0))
    found.end_target(0)
    assert [each.checkpoint.downstream for each in found.translated(3)] == [0]


@pytest.mark.parametrize(("upstream", "known"), [(9, False), (10, True), (11, True)])
def test_source_offsets_that_were_leapt_over_have_no_place(upstream: int, known: bool) -> None:
    found, source = marks((upstream, 0)), buffer(block(10, 12), place=5, load=2)
    source.at = 7
    found.pass_source(source)
    found.end_target(5)
    assert bool(found.translated(9)) is known


@pytest.mark.parametrize(("upstream", "behind"), [(9, 0), (10, 0), (11, 1), (12, 1)])
def test_source_offsets_before_the_first_record_point_at_it(upstream: int, behind: int) -> None:
    found, source = marks((upstream, 0)), buffer(block(10, 12), load=2)
    source.at = 2
    found.pass_source(source)
    found.end_target(0)
    assert [each.behind for each in found.translated(9)] == [behind]


def test_the_offset_of_the_cursor_itself_has_its_place() -> None:
    found, source = marks((10, 0), (11, 0)), buffer(block(10, 12), load=2)
    found.pass_source(source)
    found.end_target(0)
    assert [each.behind for each in found.translated(9)] == [0, 9]


TEN = Source(10)


@pytest.mark.parametrize("records", [9, 10])
def test_a_known_run_is_passed_where_it_is_as_large_as_the_window(records: int) -> None:
    wrong = EqualRun(0, 0, 27, 9, records, 0)
    found = Aligner(Log(TEN.blocks), copy([0, 1, 99, *range(3, 10)]), None, 10, equal=[wrong]).align()
    assert counted(found).unknown == (records == 9), "what is passed is not compared again"


@pytest.mark.parametrize(("position", "gaps", "lag"), [(None, 0, 5), (3 * 5 - 1, 0, 5), (3 * 5, 1, 4), (3 * 9, 5, 0)])
def test_the_mirror_s_position_parts_gaps_from_what_is_not_mirrored_yet(position, gaps, lag) -> None:
    found = counted(align(TEN, range(5), position=position))
    assert (found.gaps, found.lag) == (gaps, lag)


def test_a_state_of_another_source_is_refused() -> None:
    first = Aligner(Log(TEN.blocks), copy(range(10)))
    first.align()
    assert first.kept is not None
    Aligner(Log(TEN.blocks), copy(range(10)), earlier=first.kept)
    with pytest.raises(Changed):
        Aligner(Log(Source(9).blocks), copy(range(10)), earlier=first.kept)
    moved = Log(Source(10).blocks, 3)
    assert Aligner(moved, copy(range(10)), earlier=first.kept).align().matched == 10, "the source was cut meanwhile"
