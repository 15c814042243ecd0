"""Where sessions of a producer begin, and how ranges of a partition are joined."""

import pytest

from eosctl.analysis.audit.sessions import (
    Sessions,
    SessionScan,
    beginnings,
    join_intervals,
    merge_producers,
    raised_epochs,
    without_raised,
)
from eosctl.model.audit_states import ProducerState, SessionStart
from tests.analysis.audit.summaries import (
    AS_OF,
    producer,
)
from tests.analysis.audit.test_scan import header

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


def scanned(*texts: str, producer_id: int = 1) -> ProducerState:
    """data 3: a transactional batch with epoch 3; plain 3: one outside transactions; commit 3, abort 3: markers."""
    scan, offset = SessionScan(), 0
    for text in texts:
        kind, epoch = text.split()
        if kind in {"data", "plain"}:
            made = header(offset, offset + 1, time=offset + 5, begun=offset)
            scan.writer(
                made._replace(
                    producer_id=producer_id, producer_epoch=int(epoch), attributes=0x10 if kind == "data" else 0
                )
            )
        else:
            scan.mark(producer_id, int(epoch), committed=kind == "commit")
        offset += 10
    [state] = scan.states()
    return state


@pytest.mark.parametrize(
    ("texts", "first", "starts", "raised", "leading", "marker", "still_open"),
    [
        (("data 3",), 3, [], (), None, -1, 3),
        (("data 3", "data 3"), 3, [], (), None, -1, 3),
        (("data 3", "data 4"), 3, [4], (), None, -1, 4),
        (("data 4", "data 3"), 4, [], (), None, -1, 3),
        (("data 4", "data 3", "data 4"), 4, [], (), None, -1, 4),
        (("data 3", "commit 3"), 3, [], (), None, -1, -1),
        (("data 3", "commit 3", "data 4"), 3, [4], (), None, -1, 4),
        (("data 3", "commit 4", "data 4"), 3, [], ((4, 4),), None, -1, 4),
        (("data 3", "commit 5", "data 5"), 3, [], (), None, -1, 5),
        (("data 3", "abort 4", "data 4"), 3, [4], (), None, -1, 4),
        (("plain 3", "commit 4"), 3, [], (), None, -1, -1),
        (("commit 3", "data 3"), 3, [], (), 3, 3, 3),
        (("commit 3", "data 4"), 4, [], (), 3, 3, 4),
        (("commit 4", "commit 3"), None, [], (), 4, 4, -1),
        (("abort 3", "commit 4"), None, [], (), -1, 4, -1),
        (("commit 3", "abort 4"), None, [], (), 3, 3, -1),
        (("data 0", "commit 0"), 0, [], (), None, -1, -1),
    ],
)
def test_a_range_shows_where_a_producer_began_and_how_far_commits_raised_its_epoch(
    texts, first, starts, raised, leading, marker, still_open
):
    state = scanned(*texts)
    assert (state.first_epoch, [each.producer_epoch for each in state.starts], state.raised) == (first, starts, raised)
    assert (state.leading_epoch, state.marker_epoch, state.open_epoch) == (leading, marker, still_open)
    assert scanned(*texts, producer_id=-1).starts == ()
    assert [each.producer_epoch for each in scanned(*texts, producer_id=0).starts] == starts


def test_a_producer_s_first_and_last_records_are_known_and_the_plain_ones_apart():
    state = scanned("data 1", "plain 1", "data 1", "plain 2", "commit 2")
    assert (state.first_offset, state.first_timestamp, state.last_offset, state.last_timestamp) == (0, 0, 31, 35)
    assert (state.records, state.plain_records, state.first_plain, state.last_plain) == (8, 4, 10, 31)
    assert (state.first_plain_timestamp, state.last_plain_timestamp) == (10, 35)
    [start] = state.starts
    assert (start.offset, start.timestamp, start.producer_epoch) == (30, 30, 2)
    assert scanned("data 1").first_plain == -1


def test_batches_of_one_writer_have_one_object_for_it():
    scan, one = SessionScan(), header(0, 0)
    first = scan.writer(one)
    assert scan.writer(one) is first
    other = scan.writer(one._replace(producer_epoch=1))
    assert (other.producer_epoch, scan.writer(one)) == (1, first)


@pytest.mark.parametrize(
    ("after", "until", "began"), [(1, 2, False), (2, 3, True), (3, 9, False), (0, 3, True), (2, 2, False)]
)
def test_a_session_began_between_two_epochs(after, until, began):
    assert Sessions({7: [3]}).began(7, after, until) is began
    assert not Sessions({7: [3]}).began(8, 0, 9)
