"""The ranges of an audit: they tile what is to be read, whatever their size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.model.audit import AuditedTopic, AuditPlan, OffsetRange, PartitionBounds, TopicRole
from eosctl.model.ledger import Cursor
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.planning.audit import LARGEST_RANGE, SMALLEST_RANGE, plan_ranges, resume

PLACE = TopicPartition("orders", 0)


def planned(
    start: int, stable: int, end: int, cursor: Cursor | None = None, *, begun: int = 0, processes: int = 2
) -> AuditPlan:
    topics = (AuditedTopic("orders", TopicRole.OUTPUT, "id"),)
    bounds = (PartitionBounds("orders", 0, start, stable, end, start),)
    plan = AuditPlan(0, None, None, topics, bounds, ())
    cursors = {} if cursor is None else {PLACE: cursor}
    return plan_ranges(plan, resume(cursors, topics, bounds), {PLACE: begun} if cursor else {}, processes)


@given(st.integers(0, 10**7), st.integers(0, 10**8), st.integers(0, 10**6), st.integers(1, 64))
def test_settled_ranges_tile_up_to_the_last_stable_offset_and_one_tail_follows(start, settled, tail, processes):
    ranges = planned(start, start + settled, start + settled + tail, processes=processes).ranges
    edge = start
    for each in ranges:
        assert each.start == edge
        edge = each.end
    assert edge == start + settled + tail
    assert [each.settled for each in ranges] == [True] * (len(ranges) - (tail > 0)) + [False] * (tail > 0)
    assert all(0 < each.size <= LARGEST_RANGE for each in ranges if each.settled)
    assert all(each.size >= SMALLEST_RANGE for each in ranges[:-2])


def test_a_partition_goes_on_at_its_cursor_and_keeps_where_it_began():
    plan = planned(0, 900, 950, Cursor("orders", 0, "id", 300), begun=7)
    assert plan.ranges == (OffsetRange("orders", 0, 300, 900), OffsetRange("orders", 0, 900, 950, settled=False))
    assert plan.bounds[0].audited_from == 7


def test_what_expired_before_it_was_read_is_planned_as_expired():
    plan = planned(500, 900, 900, Cursor("orders", 0, "id", 300))
    assert (plan.expired, plan.ranges) == ((OffsetRange("orders", 0, 300, 500),), (OffsetRange("orders", 0, 500, 900),))


@pytest.mark.parametrize(
    ("cursor", "reason"),
    [
        (Cursor("orders", 0, "other", 300), "was deleted and created again since the last run"),
        (Cursor("orders", 0, "id", 1000), "was cut at offset 900 after it had been read up to 1000"),
    ],
)
def test_what_was_read_and_is_no_longer_so_is_unread(cursor, reason):
    assert planned(0, 900, 900, cursor, begun=7).unread == {"orders-0": Skipped(reason)}


def test_a_topic_that_was_created_again_is_audited_from_its_own_beginning():
    assert planned(3, 900, 900, Cursor("orders", 0, "other", 300), begun=7).bounds[0].audited_from == 3
