"""Which source record each target record is: held against counting with everything in memory."""

from hypothesis import example, given
from hypothesis import strategies as st

from eosctl.analysis.mirror.aligner import Aligner
from eosctl.analysis.mirror.blocks import Log
from eosctl.model.mirror import Checkpoint, Stretch
from tests.analysis.mirror.copies import Counted, Source, align, copy, counted, truth

TEN = Source(10)


def test_a_whole_copy_is_equal_from_the_first_record_to_the_last():
    found = align(TEN, range(10))
    assert counted(found) == Counted(matched=10)
    assert (found.first, found.last) == ((0, 0), (27, 9))


def test_a_record_that_is_missing_is_a_gap_with_its_offset_and_its_place_in_the_target():
    found = align(TEN, [0, 1, 2, 4, 5, 6, 7, 8, 9])
    assert found.gaps == (Stretch(9, 10, 3, 3, 1, 0),)
    assert counted(found) == Counted(matched=9, gaps=1)


def test_a_mirror_that_goes_back_repeats_records():
    found = align(TEN, [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 9])
    assert found.repeats == (Stretch(6, 13, 5, 8, 3, 0),)
    assert counted(found) == Counted(matched=10, repeats=3)


def test_a_record_behind_its_follower_is_late():
    found = align(TEN, [0, 1, 3, 2, 4, 5, 6, 7, 8, 9])
    assert found.late == (Stretch(6, 7, 3, 4, 1, 0),)
    assert counted(found) == Counted(matched=10, late=1)


def test_aborted_records_may_be_there_and_need_not():
    source = Source(10, frozenset({3, 4}))
    assert counted(align(source, [0, 1, 2, 5, 6, 7, 8, 9])) == Counted(matched=8)
    assert counted(align(source, range(10))) == Counted(matched=8, aborted=2)


def test_aborted_records_that_are_copied_again_are_aborted_ones_again():
    source = Source(10, frozenset({3, 4}))
    found = align(source, [*range(6), *range(2, 10)])
    assert counted(found) == Counted(matched=8, repeats=2, aborted=4)
    assert [(each.source_start, each.target_start) for each in found.aborted] == [(9, 3), (9, 7)]


def test_records_before_the_first_equal_one_and_behind_the_last_are_no_gaps():
    assert counted(align(TEN, [70, 71, 3, 4, 5])) == Counted(matched=3, head=3, lead=2, lag=4)


def test_what_the_mirror_says_it_copied_is_a_gap_where_it_is_not_there():
    found = align(TEN, [0, 1, 2, 3, 4], position=3 * 6)
    assert found.gaps == (Stretch(15, 19, 5, 5, 2, 0),)
    assert found.lag == Stretch(21, 28, 5, 5, 3, 7)


def test_of_equal_records_that_one_counts_that_is_followed_by_the_same():
    numbers = [1, 2, 1, 3, 1, 2, 1, 4]
    blocks = Source(len(numbers))

    class Texts(Source):
        def blocks(self, start: int):
            return (each._replace(digests=[numbers[at] for at in each.digests]) for each in blocks.blocks(start))

    assert counted(align(Texts(8), [1, 2, 1, 3, 2, 1, 4])) == Counted(matched=7, gaps=1)
    assert counted(align(Texts(8), [1, 2, 1, 3, 1, 2, 1, 3, 1, 2, 1, 4])) == Counted(matched=8, repeats=4)


def test_a_gap_and_a_repeat_larger_than_the_window_are_found_in_the_whole_source():
    source = Source(3000)
    gap = align(source, [*range(100), *range(2900, 3000)], window=50)
    assert gap.gaps == (Stretch(300, 8700, 100, 100, 2800, 98),)
    again = align(source, [*range(2900), *range(3000)], window=50)
    assert again.repeats == (Stretch(0, 8698, 2900, 5800, 2900, 0),)
    assert counted(again) == Counted(matched=3000, repeats=2900)


def test_what_comes_late_by_more_than_the_window_is_no_gap():
    found = align(Source(3000), [*range(100), *range(2000, 3000), *range(100, 2000)], window=50)
    assert counted(found) == Counted(matched=3000, late=1900)


KINDS = ["go on", "back", "skip", "foreign", "end"]
STEPS = st.lists(st.tuples(st.integers(1, 15), st.sampled_from(KINDS), st.integers(0, 12)), max_size=8)


def mirrored(source: Source, begin: int, committed: bool, steps: list[tuple[int, str, int]]) -> list[int]:
    """What a mirror makes of it that goes back, skips, and has another writer beside it."""
    copied, at = list[int](), begin
    for length, kind, by in steps:
        upto = min(source.count, at + length)
        copied += [each for each in range(at, upto) if not committed or each not in source.optional]
        copied += [1000 + len(copied)] if kind == "foreign" else []
        at = max(0, upto + {"back": -by, "skip": by}.get(kind, 0))
        if kind == "end":
            break
    return copied


COPIES = st.builds(
    lambda source, *rest: (source, mirrored(source, *rest)),
    st.builds(Source, st.integers(1, 60), st.frozensets(st.integers(0, 60), max_size=12)),
    st.integers(0, 5),
    st.booleans(),
    STEPS,
)


@given(COPIES)
@example((Source(6, frozenset({2})), [0, 1, 2, 3, 0, 1, 2, 3, 4]))
def test_every_record_is_counted_as_if_all_were_in_memory(made: tuple[Source, list[int]]):
    source, copied = made
    assert counted(align(source, copied)) == truth(source, copied)


@given(COPIES, st.integers(1, 12))
@example((Source(2, frozenset({1})), [1]), 1)
def test_a_small_window_never_calls_a_copy_whole_that_is_not(made: tuple[Source, list[int]], window: int):
    source, copied = made
    expected, found = truth(source, copied), counted(align(source, copied, window=window))
    fault, seen = (
        any((each.gaps, each.late, each.repeats, each.unknown, each.aborted, each.lead)) for each in (expected, found)
    )
    assert seen == fault
    assert found.matched <= expected.matched


@given(st.integers(8, 60), st.integers(0, 4), st.integers(0, 3), st.integers(0, 200), st.integers(0, 70))
def test_a_checkpoint_is_behind_by_the_records_between_both_offsets(
    count: int, head: int, lag: int, upstream: int, downstream: int
):
    copied = range(head, count - lag)
    checkpoint = Checkpoint("group", "topic", 0, upstream, downstream)
    [found] = Aligner(Log(Source(count).blocks), copy(copied), checkpoints=[checkpoint]).align().translated
    goes_on_at = copied[downstream] if downstream < len(copied) else copied[-1] + 1
    first_unread = min(count, -(-upstream // 3))
    assert found.behind == first_unread - goes_on_at
