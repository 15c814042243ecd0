"""Sessions of producers, told by the epochs of data and markers."""

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.audit.sessions import (
    Sessions,
    SessionScan,
    beginnings,
    join_intervals,
    merge_producers,
    raised_epochs,
    without_raised,
)
from eosctl.model.audit_states import ProducerState
from tests.analysis.audit.test_log_scan import header

DATA, COMMIT, ABORT, PLAIN = "data", "commit", "abort", "plain"


class Step(NamedTuple):
    """A batch or marker with its epoch."""

    kind: str
    epoch: int


def scan(steps: list[Step], first: int = 0) -> ProducerState | None:
    found = SessionScan()
    for offset, (kind, epoch) in enumerate(steps, first):
        if kind in {DATA, PLAIN}:
            attributes = 0x10 if kind == DATA else 0
            found.writer(header(offset, offset, time=offset)._replace(producer_epoch=epoch, attributes=attributes))
        else:
            found.mark(1, epoch, committed=kind == COMMIT)
    return next(iter(found.states()), None)


def steps_of(text: str) -> list[Step]:
    """d5 c6: data of epoch 5, a marker that commits with epoch 6; a aborts, p is outside any transaction."""
    kinds = {"d": DATA, "c": COMMIT, "a": ABORT, "p": PLAIN}
    return [Step(kinds[each[0]], int(each[1:])) for each in text.split()]


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("d0 c0 d0 c0", [0]),
        ("d0 c0 d1 c1", [0, 1]),
        ("d0 c1 d1 c2 d2 c3", [0]),
        ("d0 c1 d1 c2 d4 c5", [0, 4]),
        ("d0 a1 d2 c2", [0, 2]),
        ("d0 a1 d1 c2", [0, 1]),
        ("c7 d7 c8", [7]),
        ("p0 p0", [0]),
        ("p0 c1 d1", [0]),
    ],
)
def test_a_session_begins_with_an_epoch_that_no_commit_raised_to(text, begun):
    state = scan(steps_of(text))
    assert state is not None
    assert [start.producer_epoch for start in beginnings(state, raised_epochs([state]))] == begun


def test_a_commit_in_another_partition_explains_an_epoch():
    here, there = scan(steps_of("d0 c1 d3 c4 d7 c8")), scan(steps_of("d1 c2 d2 c3 d5"))
    assert here is not None
    assert there is not None
    raised = raised_epochs([here, there])
    assert [start.producer_epoch for start in here.starts] == [3, 7]
    assert [start.producer_epoch for start in beginnings(here, raised)] == [0, 7]
    assert [start.producer_epoch for start in without_raised(here, raised).starts] == [7]
    assert [start.producer_epoch for start in beginnings(there, raised)] == [5]


TRANSACTIONS = st.sampled_from(
    ["d0 c0", "d0 c1", "d1 c2", "d1 a2", "d2 c3", "d3 d3 c3", "d4 c5", "p2", "c4", "a4", "d5"]
)
HISTORIES = st.lists(TRANSACTIONS, max_size=5).map(lambda found: steps_of(" ".join(found)))


@given(HISTORIES, st.integers(0, 14))
def test_any_ranges_give_the_same_state(steps, other):
    for cut in range(len(steps) + 1):
        merged: ProducerState | None = None
        for start, end in pairwise([0, *sorted((cut, other)), 20]):
            state = scan(steps[start:end], start)
            if state is not None:
                merged = state if merged is None else merge_producers(merged, state)
        assert merged == scan(steps)


@given(HISTORIES, HISTORIES, HISTORIES)
def test_merging_is_associative(first, second, third):
    a, b, c = scan(first), scan(second, 20), scan(third, 40)
    if a and b and c:
        assert merge_producers(merge_producers(a, b), c) == merge_producers(a, merge_producers(b, c))


def test_sessions_are_asked_by_epochs():
    sessions = Sessions({1: (7, 3)})
    asked = [(1, 3, 3), (1, 2, 3), (1, 3, 7), (1, 3, 6), (1, 7, 9), (2, 0, 9)]
    assert [sessions.began(*each) for each in asked] == [False, True, True, False, False, False]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_intervals_hold_the_same_numbers(one, other):
    joined = join_intervals([*((each, each) for each in one), *((each, each) for each in other)])
    assert {number for low, high in joined for number in range(low, high + 1)} == one | other
    assert all(before[1] + 1 < after[0] for before, after in pairwise(joined))
