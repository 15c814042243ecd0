"""The moves of a cursor: every offset on the way is accounted for once, and in order."""

import pytest

from eosctl.errors import Bug
from eosctl.model.ledger import Advance, Cursor, LedgerRange, LedgerRangeKind

READ, EXPIRED, RECREATED, TRUNCATED = LedgerRangeKind


def at(offset: int | None) -> Cursor | None:
    return None if offset is None else Cursor("t", 0, "A", offset)


@pytest.mark.parametrize(
    ("before", "after", "ranges"),
    [
        (0, 9, [(0, 9, READ)]),
        (0, 9, [(0, 4, EXPIRED), (4, 9, READ)]),
        (None, 9, [(3, 9, READ)]),
        (9, 9, []),
        (None, 9, []),
        (9, 4, [(4, 9, TRUNCATED)]),
        (9, 6, [(4, 9, TRUNCATED), (4, 6, READ)]),
        (9, None, [(9, 9, RECREATED)]),
        (9, 5, [(9, 9, RECREATED), (2, 5, READ)]),
        (9, 2, [(9, 9, RECREATED)]),
    ],
)
def test_a_cursor_moves_by_ranges_that_follow_each_other(before, after, ranges):
    move = Advance(at(before), at(after), tuple(LedgerRange("t", 0, "A", *each) for each in ranges))
    assert str(move.topic_partition) == "t-0"


@pytest.mark.parametrize(
    ("before", "after", "ranges", "words"),
    [
        (0, 8, [(0, 9, READ)], "t-0: the ranges end at 9, the cursor at 8"),
        (0, 9, [(1, 9, READ)], "does not continue from 0"),
        (0, 9, [(0, 4, READ), (5, 9, READ)], "does not continue from 4"),
        (0, 0, [(0, 0, READ)], "does not continue from 0"),
        (9, 9, [(9, 9, TRUNCATED)], "the cursor is at 9"),
        (9, 10, [(10, 9, TRUNCATED)], "the cursor is at 9"),
        (9, 4, [(4, 8, TRUNCATED)], "the cursor is at 9"),
        (9, None, [(8, 9, RECREATED)], "the cursor is at 9"),
        (9, None, [(9, 10, RECREATED)], "the cursor is at 9"),
        (9, None, [(8, 8, RECREATED)], "the cursor is at 9"),
        (None, None, [], "a step from no cursor to no cursor"),
        (9, None, [], "t-0: the cursor ends and no range says why"),
        (9, None, [(9, 9, RECREATED), (2, 5, READ)], "t-0: the cursor ends and no range says why"),
    ],
)
def test_a_move_that_leaves_an_offset_out_is_a_bug(before, after, ranges, words: str):
    with pytest.raises(Bug) as raised:
        Advance(at(before), at(after), tuple(LedgerRange("t", 0, "A", *each) for each in ranges))
    assert raised.value.message.endswith(words)
