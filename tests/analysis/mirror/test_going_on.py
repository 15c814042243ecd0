"""A comparison in parts says what one of everything says, wherever the parts end."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.mirror import aligner
from eosctl.analysis.mirror.aligner import Aligner, Changed
from eosctl.analysis.mirror.blocks import Log
from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.model.mirror import Alignment, Kept
from tests.analysis.mirror.copies import Source, align, assert_same, copy, counted
from tests.analysis.mirror.test_aligner import mirrored

SOON = {"SEARCHED_FOR": 4, "LOOKED_AT": 2}
"""Fewer records than in earnest decide between places, so that small logs decide something."""
WINDOWS = st.integers(5, 60)
"""Larger than what is searched for, as in earnest."""


def in_parts(
    source: Source, copied: Sequence[int], ends: Sequence[int], window: int, lag: int, undecided: tuple[int, int]
) -> Alignment:
    """Run by run: each sees so much of the copy, and of the source what was copied and `lag` records more.

    From so many records before these on, every second or third one is in a transaction that is open.
    """
    kept: Kept | None = None
    for end in [*sorted(ends), len(copied)]:
        there = max((each + 1 for each in copied[:end] if each < source.count), default=0)
        whole = end == len(copied)
        count = source.count if whole else min(source.count, there + lag)
        settled = count if whole else max(0, there - undecided[0])
        now = Source(count, source.optional | frozenset(range(settled, count, undecided[1])))
        run = Aligner(Log(now.blocks, 0, 3 * settled), copy(copied[:end]), None, window, earlier=kept)
        found = run.align()
        kept = None if run.kept is None else decode_audit_state(encode_audit_state(run.kept), Kept)
    return found


FARTHEST = 30
"""How far a mirror goes back."""
STEPS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from(["go on", "back", "skip", "foreign"]), st.integers(0, FARTHEST)),
    max_size=8,
)
COPIES = st.builds(
    lambda source, *rest: (source, mirrored(source, *rest)),
    st.builds(Source, st.integers(1, 200), st.frozensets(st.integers(0, 200), max_size=12)),
    st.integers(0, 5),
    st.booleans(),
    STEPS,
)


ENDS = st.lists(st.integers(0, 300), max_size=3)


@given(COPIES, ENDS, WINDOWS, st.integers(0, 20), st.tuples(st.integers(0, 30), st.integers(1, 3)))
def test_parts_give_the_answer_of_the_whole(
    made: tuple[Source, list[int]], ends: list[int], window: int, lag: int, undecided: tuple[int, int]
):
    source, copied = made
    with patch.multiple(aligner, **SOON):
        whole = align(source, copied, window=window)
        parts = in_parts(source, copied, [min(each, len(copied)) for each in ends], window, lag, undecided)
    assert_same(parts, whole, aborted_in_reach=window > FARTHEST or not source.optional)


def test_an_aborted_record_that_was_copied_before_is_not_copied_for_the_first_time_again():
    """A task that fails writes its records again: they are equal to those of the transaction that was aborted."""

    class Retried(Source):
        def blocks(self, start: int):
            found = super().blocks(start)
            return (each._replace(digests=[at - 10 if 20 <= at < 30 else at for at in each.digests]) for each in found)

    source = Retried(60, frozenset(range(10, 20)))
    copied = [*range(20), *range(10, 20), *range(30, 45), *range(10, 20), *range(45, 60)]
    with patch.multiple(aligner, **SOON):
        whole = align(source, copied, window=25)
        first = Aligner(Log(source.blocks), copy(copied[:45]), None, 25)
        first.align()
        found = Aligner(Log(source.blocks), copy(copied), None, 25, earlier=first.kept).align()
    assert (found, counted(found).aborted, counted(found).repeats) == (whole, 10, 10)
    assert first.kept is not None
    assert len(first.kept.aborted_taken) == 10


def test_records_of_an_open_transaction_are_decided_by_the_run_that_comes_when_it_has_ended():
    source, whole, skipping = Source(60), list(range(60)), [*range(30), *range(40, 60)]
    late = [*range(36), *range(37, 55, 2), *range(36, 54, 2), *range(54, 60)]
    with patch.multiple(aligner, **SOON):
        for copied in (whole, skipping, late):
            assert in_parts(source, copied, [45], 10, 5, (18, 2)) == align(source, copied, window=10)


def test_a_run_goes_on_at_the_end_of_the_last_and_reads_no_more_than_the_window_before_it():
    kept = Aligner(Log(Source(5000).blocks), copy(range(4000)), None, 100)
    kept.align()
    opened = list[int]()
    source = Source(9000)

    def blocks(start: int):
        opened.append(start)
        return source.blocks(start)

    run = Aligner(Log(blocks), copy(range(8000)), None, 100, earlier=kept.kept)
    assert counted(run.align()) == counted(align(source, range(8000)))
    assert min(opened) >= 3 * (4000 - 2 * 100)


def test_a_source_that_lacks_records_before_the_end_of_the_last_run_is_not_gone_on_with():
    kept = Aligner(Log(Source(500).blocks), copy(range(500)), None, 100)
    kept.align()
    compacted = Source(600, frozenset({480}))
    with pytest.raises(Changed):
        Aligner(Log(compacted.blocks), copy(range(600)), None, 100, earlier=kept.kept)
