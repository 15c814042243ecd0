"""Parts of events put together, and deletions with their tombstones across ranges."""

import pytest

from eosctl.analysis.audit.events import MOST_FOLLOWED, add_events, join_writers, judge_events, merge_writers
from eosctl.model.events import (
    KEPT_OPEN,
    Deletion,
    EventItem,
    EventRole,
    EventSummary,
    EventWriter,
    FirstRecord,
    FollowedDeletion,
    TopicEvents,
)
from eosctl.model.names import TopicPartition

HERE, THERE, ELSEWHERE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NOTHING = EventSummary()
ROLES = {"o": EventRole.OPENS, "+": EventRole.CONTINUES, "c": EventRole.CLOSES, "r": EventRole.RETURNS}


def items(text: str) -> list[EventItem]:
    """o1 opens the event from a to b at offset and time 1; o1/3>x with epoch 3 to x; o1@9 at time 9."""
    found = []
    for each in text.split():
        rest, _, time = each.partition("@")
        rest, _, goal = rest.partition(">")
        rest, _, epoch = rest.partition("/")
        offset = int(rest[1:])
        found.append(
            EventItem(ROLES[rest[0]], "a", goal or "b", offset, offset, int(time or offset), 7, int(epoch or 0))
        )
    return found


def judged(settled: dict[TopicPartition, str], tails: dict[TopicPartition, str], before: EventSummary = NOTHING):
    return judge_events(
        {place: items(text) for place, text in settled.items()},
        {place: items(text) for place, text in tails.items()},
        before,
    )


@pytest.mark.parametrize(
    ("settled", "tail", "counts", "left"),
    [
        ("o1 c2", "", (1, 0, 0), ""),
        ("o1", "", (0, 1, 0), "o1"),
        ("c2", "", (0, 0, 1), ""),
        ("o1", "c2", None, "o1"),
        ("o1 o2", "c3", (0, 1, 0), "o1 o2"),
        ("c2", "o1", (0, 0, 1), "c2"),
        ("c2", "+1", (0, 0, 1), "c2"),
        ("c2", "o1>x", (0, 0, 1), ""),
        ("c2", "c1", (0, 0, 1), ""),
        ("o2 c3@1", "", (1, 0, 0), ""),
        ("o1 o2 c3", "", (1, 1, 0), "o1"),
        ("o1 o4 c3", "", (1, 1, 0), "o4"),
        ("o1 +2 c3", "", (1, 0, 0), ""),
        ("o1 +2 +3 c4", "", (1, 1, 0), None),
        ("+1 +2 c3", "", (1, 1, 0), "+1"),
        ("o1 o2/1 c3", "", (1, 0, 0), ""),
        ("o1 r2 o3/1 c4", "", (1, 1, 0), "o1 r2"),
        ("o1 o2>x o3/1 c4", "", (1, 2, 0), None),
        ("o1 o2/1>x c3 c4>x", "", (2, 0, 0), ""),
        ("o1 r2 r3", "", (0, 1, 0), "o1 r3"),
        ("r1", "", None, ""),
        ("o1>x c2", "", (0, 1, 1), "o1>x"),
    ],
)
def test_an_event_is_whole_with_a_closing_record_of_its_name(settled, tail, counts, left):
    done = judged({HERE: settled}, {HERE: tail} if tail else {})
    assert done.summary.topics == (() if counts is None else (TopicEvents("t", *counts),))
    assert len(done.summary.events) == (counts or (0, 0))[1]
    if left is not None:
        assert done.left == ({HERE: tuple(items(left))} if left else {})


def test_a_key_that_came_back_is_kept_with_its_own_event_only():
    opened, back = EventItem(ROLES["o"], "a", "b", 1, 1, 1, 7, 0), EventItem(ROLES["r"], "a", "", 3, 3, 3, 7, 0)
    others = EventItem(ROLES["r"], "z", "", 2, 2, 2, 7, 0)
    assert judge_events({HERE: [opened, others, back]}, {}, NOTHING).left == {HERE: (opened, back)}
    closed, later = (EventItem(ROLES[role], "z", "y", 5, 5, 5, 7, 0) for role in "co")
    assert judge_events({HERE: [closed, others]}, {HERE: [later]}, NOTHING).left == {HERE: (closed,)}


def test_an_event_that_is_written_again_ends_with_its_last_record():
    done = judged({HERE: "o1 o5/1"}, {})
    [event] = done.summary.events
    assert (event.offset, event.last) == (1, 5)


def test_an_event_is_closed_in_its_own_topic_first_and_else_in_another():
    assert judged({HERE: "o1", THERE: "c2"}, {}).summary.topics == (TopicEvents("t", 1, 0, 0),)
    assert judged({HERE: "o1", ELSEWHERE: "c2"}, {}).summary.topics == (TopicEvents("t", 1, 0, 0),)
    both = judged({HERE: "o1", ELSEWHERE: "c2@2", THERE: "c3@3"}, {}).summary
    assert both.topics == (TopicEvents("t", 1, 0, 0), TopicEvents("u", 0, 0, 1))
    two = judged({HERE: "o1", ELSEWHERE: "o2 c3"}, {}).summary
    assert two.topics == (TopicEvents("t", 0, 1, 0), TopicEvents("u", 1, 0, 0))


def test_whole_events_of_earlier_runs_count():
    before = EventSummary((TopicEvents("t", 4, 9, 9), TopicEvents("u", 1, 0, 0)))
    found = judged({HERE: "o1 c2"}, {}, before).summary
    assert found.topics == (TopicEvents("t", 5, 0, 0), TopicEvents("u", 1, 0, 0))


@pytest.mark.parametrize("count", [KEPT_OPEN, KEPT_OPEN + 1])
def test_the_earliest_open_events_of_each_topic_are_kept(count):
    text = " ".join(f"o{at}" for at in range(count))
    done = judged({HERE: text, ELSEWHERE: "o1"}, {})
    assert [each.open for each in done.summary.topics] == [KEPT_OPEN, 1]
    assert max(each.offset for each in done.summary.events) == KEPT_OPEN - 1


def test_summaries_are_added_by_topic():
    one = judged({HERE: "o1 c2 o3"}, {}).summary
    found = add_events([one, EventSummary(), judged({ELSEWHERE: "c1"}, {}).summary, one])
    assert found.topics == (TopicEvents("t", 2, 2, 0), TopicEvents("u", 0, 0, 1))
    assert [each.offset for each in found.events] == [3, 3]


def first(
    epoch: int = 0, tombstone_of: bytes | None = None, deletion_of: bytes | None = None, offset: int = 6
) -> FirstRecord:
    return FirstRecord(offset, epoch, tombstone_of, deletion_of)


FIRST = first()


def writer(begin: FirstRecord = FIRST, unfinished: Deletion | None = None, **more: object) -> EventWriter:
    given = {"producer_id": 7, "tombstones": 0, "bare": 0, "followed": (), "unreadable": 0, "time": 5, **more}
    return EventWriter(
        given["producer_id"],  # type: ignore[arg-type]
        begin,
        9,
        begin.producer_epoch,
        given["time"],  # type: ignore[arg-type]
        unfinished,
        given["tombstones"],  # type: ignore[arg-type]
        given["bare"],  # type: ignore[arg-type]
        given["followed"],  # type: ignore[arg-type]
        given["unreadable"],  # type: ignore[arg-type]
    )


DELETED = Deletion(5, 50, 0, b"k")
FOLLOWED = FollowedDeletion(5, 50, 0, 6, 1)


@pytest.mark.parametrize(
    ("following", "tombstones", "bare", "followed"),
    [
        (first(tombstone_of=b"k"), 1, 0, ()),
        (first(1, tombstone_of=b"k"), 1, 0, ()),
        (first(deletion_of=b"k"), 0, 0, ()),
        (first(1, deletion_of=b"k"), 0, 0, ()),
        (first(tombstone_of=b"x"), 0, 1, ()),
        (first(deletion_of=b"x"), 0, 1, ()),
        (first(), 0, 1, ()),
        (first(1), 0, 0, (FOLLOWED,)),
        (first(1, tombstone_of=b"x"), 0, 0, (FOLLOWED,)),
    ],
)
def test_the_first_record_of_the_next_range_decides_about_a_deletion_at_the_end(following, tombstones, bare, followed):
    for open_ in (DELETED, None):
        both = merge_writers(writer(unfinished=open_, tombstones=2), writer(following, bare=3, time=4))
        counts = (tombstones, bare, followed) if open_ else (0, 0, ())
        assert (both.tombstones - 2, both.bare_deletions - 3, both.followed) == counts
        assert (both.first, both.unfinished, both.last_timestamp) == (first(), None, 5)


def test_a_deletion_at_the_end_of_both_ranges_is_unfinished():
    both = merge_writers(writer(unfinished=DELETED, unreadable=1), writer(first(), DELETED, unreadable=2, time=8))
    assert (both.unfinished, both.bare_deletions, both.unreadable, both.last_timestamp) == (DELETED, 1, 3, 8)


@pytest.mark.parametrize(
    ("count", "tombstones", "bare", "kept"),
    [
        (MOST_FOLLOWED, 0, 0, MOST_FOLLOWED),
        (MOST_FOLLOWED + 1, 0, MOST_FOLLOWED + 1, 0),
        (MOST_FOLLOWED + 1, 1, 0, MOST_FOLLOWED + 1),
        (10 * MOST_FOLLOWED + 1, 1, 0, 10 * MOST_FOLLOWED),
    ],
)
def test_many_deletions_without_a_tombstone_are_intended_where_the_topic_has_none(count, tombstones, bare, kept):
    both = merge_writers(writer(followed=(FOLLOWED,) * count), writer(tombstones=tombstones))
    assert (both.bare_deletions, len(both.followed)) == (bare, kept)


def test_producers_of_two_ranges_are_joined_each_once():
    left, right = writer(producer_id=9), writer(producer_id=8)
    assert join_writers([left], [right]) == (right, left)
    [both] = join_writers([writer(tombstones=1)], [writer(tombstones=2)])
    assert both.tombstones == 3
