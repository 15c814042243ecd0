"""Where sessions of a producer begin, and how ranges of a partition are joined."""

import pytest

from eosctl.analysis.audit.sessions import (
    Sessions,
    beginnings,
    join_intervals,
    merge_producers,
    raised_epochs,
    without_raised,
)
from eosctl.model.audit_states import SessionStart
from tests.analysis.audit.summaries import (
    AS_OF,
    producer,
)

# Beginnings of sessions


@pytest.mark.parametrize(
    ("intervals", "joined"),
    [
        ([], ()),
        ([(1, 1), (2, 2)], ((1, 2),)),
        ([(1, 1), (3, 3)], ((1, 1), (3, 3))),
        ([(3, 4), (1, 5)], ((1, 5),)),
        ([(1, 2), (2, 3)], ((1, 3),)),
    ],
)
def test_intervals_that_touch_are_one(intervals, joined):
    assert join_intervals(intervals) == joined


@pytest.mark.parametrize(
    ("raised", "epochs"),
    [((), [3, 4, 6]), (((3, 3),), [4, 6]), (((4, 5),), [3, 6]), (((4, 6),), [3]), (((0, 2),), [3, 4, 6])],
)
def test_an_epoch_to_which_a_commit_raised_it_begins_no_session(raised, epochs):
    one = producer(first_epoch=3, starts=(SessionStart(7, AS_OF, 4), SessionStart(8, AS_OF, 6)))
    known = raised_epochs([producer(raised=raised), producer(8)])
    assert [each.producer_epoch for each in beginnings(one, known)] == epochs
    assert [each.producer_epoch for each in without_raised(one, known).starts] == [each for each in epochs if each > 3]
    assert list(beginnings(producer(first_epoch=None), {})) == []


@pytest.mark.parametrize(
    ("left", "right", "starts", "raised"),
    [
        ({"epoch": 1}, {"first_epoch": 2}, [2], ()),
        ({"epoch": 1}, {"first_epoch": 1}, [], ()),
        ({"epoch": 1}, {"first_epoch": 2, "marker_epoch": 2}, [], ()),
        ({"epoch": 1, "first_epoch": None}, {"first_epoch": 2}, [], ()),
        ({"epoch": 1}, {"first_epoch": None}, [], ()),
        ({"epoch": 1}, {"first_epoch": 1, "starts": (SessionStart(9, 0, 2),)}, [2], ()),
        ({"epoch": 2}, {"first_epoch": 1, "starts": (SessionStart(9, 0, 2),)}, [], ()),
        ({"epoch": 1, "open_epoch": 1}, {"leading_epoch": 2, "first_epoch": None}, [], ((2, 2),)),
        ({"epoch": 1, "open_epoch": 1}, {"leading_epoch": 1, "first_epoch": None}, [], ()),
        ({"epoch": 1, "open_epoch": -1}, {"leading_epoch": 0, "first_epoch": None}, [], ()),
    ],
)
def test_two_ranges_of_a_producer_begin_a_session_between_them_by_their_epochs(left, right, starts, raised):
    merged = merge_producers(producer(**left), producer(**right))
    assert ([each.producer_epoch for each in merged.starts], merged.raised) == (starts, raised)
    plain = merge_producers(producer(-1, **left), producer(-1, **right))
    assert [each.producer_epoch for each in plain.starts if each.offset == 5] == []


def test_two_ranges_of_a_producer_have_the_first_s_beginning_and_the_last_s_end():
    left = producer(first_offset=1, last_offset=2, plain_records=1, first_plain=1, last_plain=1)
    right = producer(first_offset=8, last_offset=9, plain_records=2, first_plain=8, last_plain=9)
    both = merge_producers(left, right)
    assert (both.first_offset, both.last_offset, both.first_plain, both.last_plain, both.plain_records) == (
        1,
        9,
        1,
        9,
        3,
    )
    markers = producer(first_epoch=None, first_offset=-1, last_offset=-1, marker_epoch=4)
    assert merge_producers(left, markers).last_offset == 2
    assert (merge_producers(markers, right).first_offset, merge_producers(markers, right).first_plain) == (8, 8)
    assert merge_producers(left, markers).last_plain == 1
    assert [merge_producers(*each).marker_epoch for each in ((markers, producer(marker_epoch=5)), (left, markers))] == [
        5,
        -1,
    ]


@pytest.mark.parametrize(
    ("after", "until", "began"), [(1, 2, False), (2, 3, True), (3, 9, False), (0, 3, True), (2, 2, False)]
)
def test_a_session_began_between_two_epochs(after, until, began):
    assert Sessions({7: [3]}).began(7, after, until) is began
    assert not Sessions({7: [3]}).began(8, 0, 9)
