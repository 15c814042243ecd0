"""Sentences of the views of connectors: how many there are, what they write, and since when it is known."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.model.connector_description import ListedConnector, ListedConnectors, TaskStates
from eosctl.model.connectors import ConnectorType, IcebergSink
from eosctl.model.evidence import IcebergState
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import GroupLag, GroupReading, LastStableOffsets, PartitionStability
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, RecordCounts
from eosctl.model.workers import TaskStatus
from eosctl.render.answers.connector_description import PARTITIONS as PARTITIONS_HELD
from eosctl.render.answers.connector_description import TASKS, view_connector, view_connectors
from eosctl.render.answers.hanging import BEHIND, OF_A_GROUP, PARTITIONS, stability_row, view_stability
from eosctl.render.document import MOST, Table
from tests.analysis.evidence import but
from tests.analysis.test_connector_description import show

NOW = 1_790_000_000_000
UNREAD = Skipped("no worker answered")


def listed(name: str, state: Any = "RUNNING", tasks: object = (TaskStates("RUNNING", 2),), **more: Any):
    return ListedConnector(name, ConnectorType.SOURCE, "C", state, None, tasks, None, **more)


def connectors(*found: ListedConnector, unanswered: Skipped | None = None):
    document = view_connectors(
        ListedConnectors(as_of=NOW, cluster_id="k", group_id="g", connectors=found, unanswered=unanswered)
    )
    return document.prose[0], document.data["connectors"]


@pytest.mark.parametrize(
    ("states", "words", "order"),
    [
        ([], "0 connectors.", []),
        (["RUNNING"], "1 connector: 1 RUNNING.", ["0"]),
        (["RUNNING", "FAILED", "RUNNING"], "3 connectors: 2 RUNNING, 1 FAILED.", ["1", "0", "2"]),
        ([UNREAD, None], "2 connectors: 2 unknown.", ["0", "1"]),
        (["RUNNING", "PAUSED", UNREAD], "3 connectors: 1 PAUSED, 1 unknown, 1 RUNNING.", ["1", "2", "0"]),
    ],
)
def test_connectors_that_do_not_run_are_listed_first_and_all_are_counted_by_state(states, words, order) -> None:
    said, rows = connectors(*(listed(str(number), state) for number, state in enumerate(states)))
    assert said == words
    assert [each["name"] for each in rows] == order


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ((TaskStates("RUNNING", 2), TaskStates("FAILED", 1)), "2 RUNNING, 1 FAILED"),
        ((), "none"),
        (UNREAD, {"skipped": "no worker answered"}),
    ],
)
def test_tasks_are_counted_by_state_and_unknown_ones_are_not_none(tasks, words) -> None:
    [row] = connectors(listed("c", tasks=tasks))[1]
    assert row["task_words"] == words


def test_states_of_the_status_topic_are_shown_with_the_time_of_its_newest_record() -> None:
    both = listed("a", written_ms=NOW - 1), listed("b", written_ms=NOW), listed("c")
    said, rows = connectors(*both, unanswered=UNREAD)
    assert "by the status topic, last written 2026-09-21T14:13:20.000Z; whether they are so now is unknown: no" in said
    assert [each["state_written"] for each in rows] == ["2026-09-21T14:13:19.999Z", "2026-09-21T14:13:20.000Z", None]
    assert "status topic" not in connectors(*both)[0]
    assert "status topic" not in connectors(listed("c"), unanswered=UNREAD)[0]


def stability(topic: str, partition: int, held: int = 0, stable: int = 10) -> PartitionStability:
    return PartitionStability(PartitionOffsets(TopicPartition(topic, partition), 0, stable, stable + held), (), None)


def outputs(*partitions: PartitionStability) -> LastStableOffsets:
    return LastStableOffsets(
        as_of=NOW, cluster_id="k", partitions=partitions, free=0, owners={}, not_searched=(), notes=()
    )


@pytest.mark.parametrize(
    ("partitions", "words"),
    [
        ([stability("a", 0)], "a (1 partition): nothing is held back (last stable offset)"),
        (
            [stability("a", 0, held=1), stability("a", 1), stability("b", 0, held=2)],
            "a (2 partitions), b (1 partition): 2 partitions are held back (last stable offset)",
        ),
        ([stability("a", 0, held=1)], "a (1 partition): 1 partition is held back (last stable offset)"),
    ],
)
def test_topics_that_a_connector_writes_to_are_named_with_their_held_back_partitions(partitions, words) -> None:
    found = replace(show(but()), outputs=outputs(*partitions))
    assert view_connector(found).data["connector"]["output_words"] == words


def test_of_many_topics_only_the_first_are_named() -> None:
    found = replace(show(but()), outputs=outputs(*(stability(f"t{number:02}", 0) for number in range(30))))
    words = view_connector(found).data["connector"]["output_words"]
    shown = words.count("(1 partition)")
    assert 0 < shown < 30
    assert f" and {30 - shown} more: nothing is held back" in words


def test_as_many_topics_as_are_shown_leave_none_out() -> None:
    found = replace(show(but()), outputs=outputs(*(stability(f"t{number:02}", 0) for number in range(MOST))))
    words = view_connector(found).data["connector"]["output_words"]
    assert (words.count("(1 partition)"), " more" in words) == (MOST, False)


def blocks(found: Any) -> list[str]:
    return [each.rows for each in view_connector(found).blocks if isinstance(each, Table)]


def test_tasks_and_partitions_have_a_table_only_where_there_are_some() -> None:
    found = replace(
        show(but()), tasks=(TaskStatus(0, "RUNNING", "w:8083"),), outputs=outputs(stability("a", 0, held=1))
    )
    assert {TASKS.rows, PARTITIONS_HELD.rows} <= set(blocks(found))
    without = replace(found, tasks=(), outputs=outputs(stability("a", 0)))
    assert {TASKS.rows, PARTITIONS_HELD.rows}.isdisjoint(blocks(without))
    unread = replace(found, tasks=UNREAD, outputs=UNREAD)
    assert {TASKS.rows, PARTITIONS_HELD.rows}.isdisjoint(blocks(unread))


def test_a_task_shows_the_first_line_of_its_trace() -> None:
    task = TaskStatus(0, "FAILED", "w:8083", "cause", "first\nsecond")
    found = replace(show(but()), tasks=(task, TaskStatus(1, "RUNNING", "w:8083")))
    rows = view_connector(found).data["connector"]["tasks"]
    assert [(each["trace"], each["cause"]) for each in rows] == [("first", "cause"), (None, None)]


PLACES = [TopicPartition("control", number) for number in range(3)]


def at(number: int, start: int = 0, stable: int = 10) -> PartitionOffsets:
    return PartitionOffsets(PLACES[number], start, stable, stable)


def control_group(*, coordinators: object = 1, committed: object = None, offsets: object = None) -> Any:
    sink = IcebergSink("connect-c", "connect-c", "control", "cg-control-", ("w-", "c-"))
    state = IcebergState(sink, coordinators, committed or {}, None, offsets or {}, {})  # type: ignore[arg-type]
    return view_connector(replace(show(but()), iceberg=state)).data["connector"]["control_group"]


@pytest.mark.parametrize(
    ("given", "lag", "words"),
    [
        ({}, 0, "lag 0; 1 coordinator"),
        ({"coordinators": 2}, 0, "lag 0; 2 coordinators"),
        ({"coordinators": UNREAD}, 0, "lag 0; coordinators unknown: no worker answered"),
        (
            {"committed": {PLACES[0]: 4, PLACES[1]: 12}, "offsets": {PLACES[0]: at(0), PLACES[1]: at(1)}},
            6,
            "lag 6; 1 coordinator",
        ),
        ({"offsets": {PLACES[0]: at(0, start=3), PLACES[1]: at(1, stable=1_200)}}, 1_207, "lag 1,207; 1 coordinator"),
        ({"committed": UNREAD, "offsets": {PLACES[0]: at(0)}}, None, "lag unknown: no worker answered; 1 coordinator"),
        ({"offsets": UNREAD}, None, "lag unknown: no worker answered; 1 coordinator"),
        ({"offsets": {PLACES[0]: at(0), PLACES[1]: UNREAD}}, None, "lag unknown: no worker answered; 1 coordinator"),
    ],
)
def test_a_control_group_is_behind_by_what_it_has_not_read_or_by_an_unknown_lag(given, lag, words: str) -> None:
    row = control_group(**given)
    assert row["words"] == f"group connect-c-coord reads control: {words}"
    assert row["lag"] == (lag if lag is not None else {"skipped": "no worker answered"})


def lag(name: str, partitions: int, uncounted: int) -> GroupLag:
    return GroupLag(ListedGroup(name, "consumer", "Stable"), partitions, RecordCounts(3, 0, 0, 0), uncounted, 0)


def test_groups_that_are_behind_nowhere_are_not_shown_and_the_worst_uncounted_one_is_advised_on() -> None:
    lags = (lag("a", 1, 5), lag("b", 0, 0), lag("c c", 2, 9), lag("d", 1, 0))
    document = view_stability(replace(outputs(stability("t", 0, held=1), stability("t", 1)), lags=lags, free=3))
    assert [each["group_id"] for each in document.data["groups"]] == ["a", "c c", "d"]
    assert document.prose == ("1 of 4 partitions blocked",)
    advice = (
        "not all offsets before 2 groups were counted; to count them: eosctl transactions lso --group 'c c' --within 9"
    )
    assert advice in document.notes
    counted = view_stability(replace(outputs(stability("t", 0)), lags=(lag("d", 1, 0),)))
    assert not [each for each in counted.notes if "were counted" in each]
    unread = view_stability(replace(outputs(stability("t", 0)), lags=UNREAD))
    assert unread.data["groups"] == {"skipped": "no worker answered"}
    assert len(unread.blocks) == len(counted.blocks) - 1


def group(**more: Any) -> GroupReading:
    return GroupReading(ListedGroup("g", "consumer", "Stable"), **{"committed": {}, **more})


@pytest.mark.parametrize(
    ("since", "held_ms", "held_s"),
    [
        (None, None, None),
        (NOW, 0, 0.0),
        (NOW - 1, 1, 0.0),
        (NOW - 1_550, 1_550, 1.6),
        (NOW + 5, 0, 0.0),
        (0, NOW, NOW / 1000),
    ],
)
def test_a_partition_is_held_back_since_a_time_or_not_at_all(since, held_ms, held_s) -> None:
    row = stability_row(replace(stability("t", 0, held=1), since_ms=since), outputs())
    assert (row.held_ms, row.held_s, row.state, row.by, row.holders) == (held_ms, held_s, None, None, [])


@pytest.mark.parametrize(
    ("found", "committed", "lag", "waits"),
    [
        (None, None, None, None),
        (group(), None, None, False),
        (group(committed=UNREAD), None, None, False),
        (group(committed={TopicPartition("t", 1): 4}), None, None, False),
        (group(committed={TopicPartition("t", 0): 0}), 0, 10, True),
        (group(committed={TopicPartition("t", 0): 9}), 9, 1, True),
        (group(committed={TopicPartition("t", 0): 10}), 10, 0, True),
        (group(committed={TopicPartition("t", 0): 11}), 11, 0, False),
    ],
)
def test_a_group_lags_up_to_the_last_stable_offset_and_waits_unless_it_is_beyond(found, committed, lag, waits) -> None:
    row = stability_row(stability("t", 0, held=1), replace(outputs(), group=found))
    assert (row.committed_offset, row.lag, row.group_held_back) == (committed, lag, waits)
    assert not stability_row(stability("t", 0), replace(outputs(), group=found)).group_held_back


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({}, None),
        ({TopicPartition("t", 1): UNREAD}, None),
        ({TopicPartition("t", 0): UNREAD}, {"skipped": "no worker answered"}),
        ({TopicPartition("t", 0): RecordCounts(3, 0, 1, 0)}, {"readable": 3, "aborted": 0, "markers": 1, "removed": 0}),
    ],
)
def test_records_that_were_not_counted_are_not_none(counts, shown) -> None:
    [row] = view_stability(replace(outputs(stability("t", 0)), counts=counts)).data["partitions"]
    assert row["lag_records"] == shown


WHERE = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("found", "prose", "pending"),
    [
        (
            group(),
            ["has committed no offsets, so which partitions it reads is not known: name them with --topic."],
            [],
        ),
        (group(committed=UNREAD), [": the offsets that it committed were not read."], []),
        (
            group(committed={WHERE: 10, TopicPartition("u", 0): 1}),
            ["may wait for a transaction in 1 of the 2 partitions that it reads."],
            [],
        ),
        (
            group(committed={WHERE: 10}, pending=UNREAD),
            [
                "may wait for a transaction in 1 of the 1 partition that it reads.",
                "It is not known whether a transaction commits offsets of the group: no worker answered.",
            ],
            {"skipped": "no worker answered"},
        ),
        (
            group(committed={WHERE: 11}, pending=(WHERE,)),
            [
                "may wait for a transaction in 0 of the 1 partition that it reads.",
                "Its offsets in t-0 are in an open transaction (in __consumer_offsets). A member starts there only "
                "after it ends: of Java clients any, of librdkafka one with read_committed.",
            ],
            ["t-0"],
        ),
    ],
)
def test_of_a_group_the_answer_says_what_is_known_of_its_offsets(found, prose, pending) -> None:
    document = view_stability(replace(outputs(stability("t", 0, held=1), stability("u", 0)), group=found))
    assert len(document.prose) == len(prose)
    assert all(said.endswith(end) for said, end in zip(document.prose, prose, strict=True))
    assert document.data["group"]["pending_offset_commits"] == pending
    assert document.blocks == (OF_A_GROUP,)


def test_without_a_group_partitions_are_followed_by_the_groups_where_these_are_known() -> None:
    found = outputs(stability("t", 0))
    assert view_stability(found).blocks == (PARTITIONS, BEHIND)
    assert view_stability(found).data["group"] is None
    assert view_stability(replace(found, lags=UNREAD)).blocks == (PARTITIONS,)
