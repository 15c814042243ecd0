"""Ranges that an audit reads, and where a ledger lets it begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.errors import Bug
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, RangeEvidence, TopicRole
from eosctl.model.ledger import Advance, CommittedRange, Cursor, LedgerRange, LedgerRangeKind
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange
from eosctl.planning.audit import LARGEST_RANGE, SMALLEST_RANGE, Resumption, advance, newly_read, plan_ranges, resume

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


@pytest.mark.parametrize(
    ("sizes", "processes", "ranges"),
    [
        ((1_000_000,) * 4, 2, 4),
        ((1_000_000,) * 4, 3, 12),
        ((1_900_000, 1_000_000, 1_000_000), 2, 3),
        ((3_000_000, 1_000_000, 1_000_000), 2, 8),
        ((6_000_000, 6_000_000), 2, 4),
        ((0, 0), 2, 0),
    ],
)
def test_partitions_are_cut_only_where_whole_ones_would_leave_a_process_much_more_than_others(sizes, processes, ranges):
    topics = (AuditedTopic("orders", TopicRole.OUTPUT, "id"),)
    bounds = tuple(PartitionBounds("orders", number, 0, size, size, 0) for number, size in enumerate(sizes))
    plan = plan_ranges(AuditPlan(0, None, None, topics, bounds, ()), resume({}, topics, bounds), {}, processes)
    assert len(plan.ranges) == ranges


def test_a_partition_continues_at_its_cursor_and_keeps_where_it_began():
    plan = planned(0, 900, 950, Cursor("orders", 0, "id", 300), begun=7)
    assert plan.ranges == (OffsetRange("orders", 0, 300, 900), OffsetRange("orders", 0, 900, 950, settled=False))
    assert plan.bounds[0].audited_from == 7


def test_offsets_that_expired_unread_are_planned_as_expired():
    plan = planned(500, 900, 900, Cursor("orders", 0, "id", 300))
    assert (plan.expired, plan.ranges) == ((OffsetRange("orders", 0, 300, 500),), (OffsetRange("orders", 0, 500, 900),))


@pytest.mark.parametrize(
    ("cursor", "reason"),
    [
        (Cursor("orders", 0, "other", 300), "was deleted and created again since the last run"),
        (Cursor("orders", 0, "id", 1000), "was cut at offset 900 after it had been read up to 1000"),
    ],
)
def test_a_fact_that_changed_since_it_was_read_is_unread(cursor, reason):
    assert planned(0, 900, 900, cursor, begun=7).unread == {"orders-0": Skipped(reason)}


def test_a_topic_that_was_created_again_is_audited_from_its_own_beginning():
    assert planned(3, 900, 900, Cursor("orders", 0, "other", 300), begun=7).bounds[0].audited_from == 3


EXPIRED, RECREATED, TRUNCATED = LedgerRangeKind.EXPIRED, LedgerRangeKind.RECREATED, LedgerRangeKind.TRUNCATED


def resumed(cursor: Cursor | None, log: tuple[int, int], topic_id: str | None = "A") -> Resumption:
    """Partition 0 of topic t, whose log is [start, high watermark)."""
    cursors = {} if cursor is None else {cursor.topic_partition: cursor}
    bounds = PartitionBounds("t", 0, log[0], log[1], log[1], 0)
    [found] = resume(cursors, [AuditedTopic("t", TopicRole.OFFSETS, topic_id)], [bounds])
    return found


@pytest.mark.parametrize(
    ("cursor", "topic_id", "log", "start", "gap"),
    [
        (None, "A", (7, 90), 7, None),
        (("A", 50), "A", (7, 90), 50, None),
        (("A", 90), "A", (7, 90), 90, None),
        (("A", 50), "A", (60, 90), 60, (50, 60, EXPIRED)),
        (("A", 50), "A", (90, 90), 90, (50, 90, EXPIRED)),
        (("A", 95), "A", (7, 90), 90, (90, 95, TRUNCATED)),
        # the log start was read after the high watermark, and records were deleted between the two
        (("A", 95), "A", (92, 90), 92, (92, 95, TRUNCATED)),
        (("A", 50), "B", (0, 90), 0, (50, 50, RECREATED)),
        (("A", 50), "B", (60, 90), 60, (50, 50, RECREATED)),
        ((None, 50), "A", (7, 90), 50, None),
        (("A", 50), None, (7, 90), 50, None),
    ],
)
def test_where_a_partition_continues(cursor, topic_id, log, start, gap):
    before = None if cursor is None else Cursor("t", 0, *cursor)
    found = resumed(before, log, topic_id)
    assert (found.start, found.before) == (start, before)
    assert [(each.start, each.end, each.kind) for each in found.gaps] == ([] if gap is None else [gap])
    assert found.is_recreated == (gap is not None and gap[2] is RECREATED)


def test_a_known_topic_id_is_kept_where_the_broker_answers_none():
    assert resumed(Cursor("t", 0, "A", 50), (0, 90), None).topic_id == "A"
    assert resumed(Cursor("t", 0, None, 50), (0, 90), "A").topic_id == "A"


def test_partitions_that_are_missing_in_a_new_topic_end():
    cursors = {TopicPartition("t", number): Cursor("t", number, "A", 10) for number in range(3)}
    bounds = [PartitionBounds("t", 0, 0, 5, 5, 0)]
    found = resume(cursors, [AuditedTopic("t", TopicRole.OUTPUT, "B")], bounds)
    assert [(each.partition, each.ends) for each in found] == [(0, False), (1, True), (2, True)]
    assert advance(found[2], 0) == Advance(
        Cursor("t", 2, "A", 10), None, (LedgerRange("t", 2, "A", 10, 10, RECREATED),)
    )


def test_a_partition_that_could_not_be_read_and_a_topic_that_was_not_asked_for_stay():
    cursors = {TopicPartition(name, number): Cursor(name, number, "A", 10) for name in ("s", "t") for number in (0, 1)}
    found = resume(cursors, [AuditedTopic("t", TopicRole.OUTPUT, "A")], [PartitionBounds("t", 0, 0, 20, 20, 0)])
    assert [str(each.topic_partition) for each in found] == ["t-0"]


def test_the_read_records_are_counted():
    evidence = RangeEvidence("t", 0, 50, 90, records=30, control_records=4, aborted_records=2)
    step = advance(resumed(Cursor("t", 0, "A", 40), (50, 99)), 90, evidence)
    assert step.after == Cursor("t", 0, "A", 90)
    assert step.ranges == (
        LedgerRange("t", 0, "A", 40, 50, EXPIRED),
        LedgerRange("t", 0, "A", 50, 90, records=30, control_records=4, aborted_records=2),
    )


def test_nothing_to_read_moves_nothing():
    step = advance(resumed(Cursor("t", 0, "A", 50), (0, 50)), 50)
    assert step == Advance(Cursor("t", 0, "A", 50), Cursor("t", 0, "A", 50))


offsets = st.integers(0, 100)
ids = st.sampled_from(["A", "B", None])


@given(st.none() | st.tuples(ids, offsets), ids, st.tuples(offsets, offsets).map(sorted), offsets)
def test_every_step_accounts_for_every_offset(cursor, topic_id, log, more):
    """Advance raises where it does not, so that it was made is the proof."""
    before = None if cursor is None else Cursor("t", 0, *cursor)
    found = resumed(before, tuple(log), topic_id)
    step = advance(found, min(log[1], found.start + more))
    assert step.after is not None
    assert log[0] <= step.after.offset <= log[1]


A10 = Cursor("t", 0, "A", 10)


@pytest.mark.parametrize(
    ("before", "after", "ranges"),
    [
        (A10, Cursor("t", 0, "A", 20), ()),
        (A10, Cursor("t", 0, "A", 20), ((11, 20, LedgerRangeKind.READ),)),
        (A10, Cursor("t", 0, "A", 20), ((9, 20, LedgerRangeKind.READ),)),
        (A10, Cursor("t", 0, "A", 20), ((10, 15, LedgerRangeKind.READ),)),
        (A10, Cursor("t", 0, "A", 20), ((10, 15, EXPIRED), (16, 20, LedgerRangeKind.READ))),
        (A10, Cursor("t", 0, "A", 10), ((10, 10, LedgerRangeKind.READ),)),
        (A10, Cursor("t", 0, "A", 5), ((5, 9, TRUNCATED),)),
        (A10, Cursor("t", 0, "B", 5), ((9, 9, RECREATED), (0, 5, LedgerRangeKind.READ))),
        (A10, None, ()),
        (None, None, ()),
        (None, Cursor("t", 0, "A", 5), ((0, 4, LedgerRangeKind.READ),)),
    ],
)
def test_a_step_that_leaves_offsets_out_or_takes_them_twice_is_a_bug(before, after, ranges):
    with pytest.raises(Bug):
        Advance(before, after, tuple(LedgerRange("t", 0, "A", *each) for each in ranges))


def test_counts_of_one_run_are_those_of_all_less_the_earlier_ones():
    earlier = [
        CommittedRange(1, LedgerRange("t", 0, "A", 0, 9, records=9)),
        CommittedRange(2, LedgerRange("t", 0, "A", 9, 9, RECREATED)),
        CommittedRange(2, LedgerRange("t", 0, "B", 0, 50, records=30, control_records=4, aborted_records=2)),
        CommittedRange(3, LedgerRange("t", 0, "B", 50, 60, EXPIRED)),
        CommittedRange(3, LedgerRange("t", 1, "B", 0, 60, records=60)),
    ]
    all_runs = [
        RangeEvidence("t", number, 0, 90, records=70, control_records=9, aborted_records=2) for number in (0, 1)
    ]
    resumptions = [
        resumed(Cursor("t", 0, "B", 60), (0, 90), "B"),
        replace(resumed(Cursor("t", 0, "B", 60), (0, 90), "C"), partition=1),
    ]
    found = newly_read(all_runs, earlier, resumptions)
    assert [(each.records, each.control_records, each.aborted_records) for each in found.values()] == [
        (40, 5, 0),
        (70, 9, 2),
    ]


@pytest.mark.parametrize(
    "cursor", [Cursor("orders", 0, "other", 300), Cursor("orders", 0, "id", 1000)], ids=["created again", "cut"]
)
def test_only_offsets_that_expired_are_planned_as_expired(cursor):
    assert planned(0, 900, 900, cursor, begun=7).expired == ()
