"""Events out of records, folded and in order, on histories made by hand."""

from collections.abc import Iterable
from typing import Any

import pytest

from eosctl.analysis.timeline import (
    CLOCKS_MS,
    LONGEST_PAUSE_MS,
    Events,
    Leadership,
    in_order,
    with_actors,
    within_bounds,
)
from eosctl.analysis.topic_events import (
    GroupEvents,
    GroupRecord,
    Halts,
    Marker,
    OffsetsWrite,
    PlanRecord,
    TransactionEvents,
    config_events,
    marker_events,
    merged_offsets,
    offset_events,
    plan_events,
    status_events,
)
from eosctl.analysis.transactions import KnownNames
from eosctl.model.config_topic import (
    ConfigRecord,
    ConnectorConfigRecord,
    Origin,
    TargetStateRecord,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.groups import ConnectGroup, GroupGeneration, GroupMember
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Record, RecordState, Writer
from eosctl.model.report import Severity
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.timeline import Actor, Event, EventKind, EventSource
from eosctl.model.transaction_log import TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState

PLACE = TopicPartition("t", 0)
NAMES = KnownNames.of({"g": ("orders", "other")})


def event(at: int, what: str = "", offset: int = 0, place: TopicPartition | None = PLACE) -> Event:
    return Event(at, EventSource.STATUS, EventKind.TASK_STATE, what, place=place, offset=offset)


def told(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(each.kind.value, each.what) for each in events]


# Folding


def test_alike_events_that_follow_each_other_are_one_run() -> None:
    events = Events()
    for number in range(1204):
        events.add(event(number * 2_100, "committed", number), "lane", "committed")
    (found,) = events.collected()
    assert found.run is not None
    assert (found.at, found.run.events, found.run.until, found.run.last_offset) == (0, 1204, 1203 * 2100, 1203)


def test_another_event_of_the_lane_ends_a_run_and_one_of_another_lane_does_not() -> None:
    events = Events()
    for number, (lane, alike) in enumerate([("a", "x"), ("b", "x"), ("a", "x"), ("a", None), ("a", "x")]):
        events.add(event(number, lane, number), lane, alike)
    counted = sorted((each.at, 1 if each.run is None else each.run.events) for each in events.collected())
    assert counted == [(0, 2), (1, 1), (3, 1), (4, 1)]


def test_a_long_pause_ends_a_run() -> None:
    events = Events()
    for at in (0, 1_000, 2_000, 602_001, 603_001):
        events.add(event(at), "lane", "x")
    assert sorted(each.at for each in events.collected()) == [0, 602_001]


def test_a_run_of_rare_events_is_a_run() -> None:
    events = Events()
    for number in range(10):
        events.add(event(number * 500_000), "lane", "x")
    events.add(event(9 * 500_000 + 4_000_000), "lane", "x")
    (found,) = events.collected()
    assert found.run is not None
    assert (found.run.events, found.run.longest_ms) == (11, 4_000_000)


def test_events_outside_of_the_period_are_left_out_and_a_run_that_reaches_into_it_is_not() -> None:
    events = Events(since=5_000, until=9_000)
    for at in (1_000, 4_000, 6_000):
        events.add(event(at), "lane", "x")
    for at in (2_000, 5_000, 9_000, 9_001):
        events.add(event(at))
    assert sorted(each.at for each in events.collected()) == [1_000, 5_000, 9_000]


def test_very_many_events_become_as_many_as_the_memory_may_hold() -> None:
    events = Events(most=1_000)
    for number in range(20_000):
        events.add(event(number * 10, f"state {number}", number))
    found = events.collected()
    assert len(found) <= 1_000
    assert sum(1 if each.run is None else each.run.events for each in found) == 20_000
    assert events.coarse_ms > 0


# Order


def test_between_partitions_times_decide_and_within_one_offsets() -> None:
    other = TopicPartition("u", 0)
    found = in_order([event(30, "c", 2), event(10, "a", 1), event(20, "b", 9, other)])
    assert [each.what for each in found] == ["a", "b", "c"]


def test_a_clock_that_is_ahead_moves_its_own_events_alone() -> None:
    """The third record says one o'clock, the ones around it noon."""
    times = [10, 20, 3_600_030, 40, 50]
    elsewhere = event(45, "between", 0, TopicPartition("u", 0))
    found = in_order([*(event(at, str(at), number) for number, at in enumerate(times)), elsewhere])
    assert [each.what for each in found] == ["10", "20", "3600030", "40", "between", "50"]
    assert [each.what for each in found if each.order is not None] == ["3600030"]


def test_a_clock_that_is_behind_moves_its_own_events_alone() -> None:
    times = [3_600_000, 3_600_010, 3_600_020, 30, 40, 3_600_050, 3_600_060]
    found = in_order(event(at, str(at), number) for number, at in enumerate(times))
    assert [each.at for each in found] == times
    assert [each.at for each in found if each.order is not None] == [30, 40]


def test_records_without_a_time_stand_where_their_offset_puts_them() -> None:
    found = in_order([event(10, "a", 0), event(-1, "b", 1), event(20, "c", 2)])
    assert [each.what for each in found] == ["a", "b", "c"]


# The config topic


def origin(offset: int, state: RecordState = RecordState.COMMITTED) -> Origin:
    return Origin(offset, offset * 1000, state, transactional=True, producer_id=9, producer_epoch=offset)


def config_story(records: Iterable[ConfigRecord]) -> list[Event]:
    events = Events()
    assert list(config_events(records, PLACE, events)) == list(records)
    return list(in_order(events.collected()))


def test_the_life_of_a_connector() -> None:
    found = config_story(
        (
            ConnectorConfigRecord(origin(0), "orders", {"connector.class": "Source", "tasks.max": "1"}),
            TaskConfigRecord(origin(1), "orders", 0, {}),
            TaskCommitRecord(origin(2), "orders", 1),
            TaskCountRecord(origin(3), "orders", 1),
            ConnectorConfigRecord(origin(4), "orders", {"connector.class": "Source", "tasks.max": "2", "a": "b"}),
            ConnectorConfigRecord(origin(5), "orders", {"connector.class": "Source", "tasks.max": "2", "a": "b"}),
            TargetStateRecord(origin(6), "orders", "PAUSED", "STOPPED"),
            ConnectorConfigRecord(origin(7), "orders", None),
            TargetStateRecord(origin(8), "orders", None, None, removed=True),
            ConnectorConfigRecord(origin(9), "orders", {"connector.class": "Source"}),
        )
    )
    assert told(found) == [
        ("connector-created", "connector created: Source"),
        ("tasks-committed", "commit of 1 task; fencing pending"),
        ("task-count-record", "fencing done, 1 task recorded"),
        ("config-changed", "a=b, tasks.max 1 to 2"),
        ("config-changed", "written again without a change"),
        ("target-state", "target state STOPPED"),
        ("connector-deleted", "connector deleted"),
        ("connector-created", "connector created: Source"),
    ]
    assert {each.connector for each in found} == {"orders"}
    assert found[0].actor == Actor(producer=ProducerIdAndEpoch(9, 0))


def test_hidden_values_are_not_reported_as_equal() -> None:
    same = {"connector.class": "Source", "password": "[hidden]"}
    found = config_story([ConnectorConfigRecord(origin(each), "orders", same) for each in (0, 1)])
    assert told(found)[1] == ("config-changed", "written again without a change (hidden values are not compared)")


def test_task_configs_without_a_commit_are_reported() -> None:
    found = config_story([TaskConfigRecord(origin(each), "orders", each, {}) for each in (0, 1)])
    assert told(found) == [
        ("config-record", "2 task configs of orders, and no commit follows: workers do not use them")
    ]
    assert found[0].severity is Severity.WARNING


def test_an_aborted_record_changes_nothing() -> None:
    created = ConnectorConfigRecord(origin(0), "orders", {"connector.class": "Source"})
    aborted = ConnectorConfigRecord(origin(1, RecordState.ABORTED), "orders", None)
    assert told(config_story([created, aborted]))[1] == ("config-changed", "connector deleted (aborted: not seen)")


# The status topic


def state(offset: int, name: str | None, worker: str, generation: int, trace: str | None = None) -> StatusRecord:
    record = Record(offset, offset * 1000, b"", b"")
    if name is None:
        return StatusRecord(record, StatusKind.TASK, "orders", 0)
    return StatusRecord(record, StatusKind.TASK, "orders", 0, None, name, trace, worker, generation)


def test_states_of_a_task_with_the_worker_that_wrote_them() -> None:
    trace = "org.apache.kafka.connect.errors.ConnectException: gone\n\tat A\nCaused by: X: 1\n\tat B\nCaused by: Y: 2"
    events = Events()
    story = (
        state(0, "RUNNING", "w1:8083", 3),
        state(1, "RUNNING", "w2:8083", 5),
        state(2, "UNASSIGNED", "w1:8083", 3),
        state(3, "FAILED", "w2:8083", 5, trace),
        state(4, None, "", 0),
    )
    status_events(story, PLACE, events)
    found = in_order(events.collected())
    assert [each.what for each in found] == [
        "RUNNING, generation 3",
        "RUNNING, generation 5",
        "UNASSIGNED, generation 3, which is older than 5: the worker wrote it after another one had taken over",
        "FAILED, generation 5: org.apache.kafka.connect.errors.ConnectException: gone; Caused by: Y: 2",
        "status removed",
    ]
    assert [each.actor.worker for each in found] == ["w1:8083", "w2:8083", "w1:8083", "w2:8083", None]
    assert [each.severity for each in found if each.severity is not Severity.INFO] == [Severity.ERROR]


# The transaction log


def logged(
    offset: int, name: str, state: TransactionState | None, epoch: int = 0, timeout_ms: int = 60_000, start: int = -1
) -> TransactionLogRecord:
    at = offset * 1000
    value = (
        TransactionLogValue(0, ProducerIdAndEpoch(7, epoch), timeout_ms, state, (PLACE,), at, start) if state else None
    )
    return TransactionLogRecord(3, offset, at, name, value)


def transaction_story(*records: TransactionLogRecord, wanted: tuple[str, ...] = ()) -> list[Event]:
    events = Events()
    story = TransactionEvents(events, NAMES, "g", wanted)
    story.add_all(records)
    story.finish()
    return list(in_order(events.collected()))


EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, COMMITTED = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT
PREPARE_ABORT, ABORTED = TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT


def test_commits_are_a_run_until_a_new_producer_fences_the_one_before() -> None:
    commits = [
        logged(1 + 3 * number + step, "g-orders-0", state)
        for number in range(5)
        for step, state in enumerate((ONGOING, PREPARE_COMMIT, COMMITTED))
    ]
    found = transaction_story(
        logged(0, "g-orders-0", EMPTY),
        *commits,
        logged(16, "g-orders-0", EMPTY, 1, 90_000),
        logged(17, "g-orders-0", EMPTY, 2),
        logged(18, "g-orders-0", ONGOING, 2),
    )
    assert told(found) == [
        ("producer-initialized", "initialized; transaction timeout 60000 ms; it then began a transaction"),
        ("transaction-committed", "committed"),
        (
            "producer-fenced",
            "epoch 0 to 1: producer 7/0 is fenced; transaction timeout 90000 ms; it began no transaction",
        ),
        (
            "producer-fenced",
            "epoch 1 to 2: producer 7/1 is fenced; transaction timeout 60000 ms; it then began a transaction",
        ),
        ("transaction-begun", "transaction begun in 1 partition; it has not ended"),
    ]
    assert found[1].run is not None
    assert found[1].run.events == 5
    assert {(each.connector, each.task) for each in found} == {("orders", 0)}


def test_an_abort_names_its_author_if_the_log_shows_it() -> None:
    def aborted(epoch: int, end: int) -> str:
        start = 1000
        story = transaction_story(
            logged(1, "g-orders-0", ONGOING, 0, start=start),
            logged(end, "g-orders-0", PREPARE_ABORT, epoch, start=start),
            logged(end, "g-orders-0", ABORTED, epoch, start=start),
        )
        assert [each.kind for each in story] == [EventKind.TRANSACTION_BEGUN, EventKind.TRANSACTION_ABORTED]
        return story[1].what

    assert aborted(0, 11) == "aborted after 10 s"
    assert aborted(1, 71) == "aborted after 70 s: its timeout of 60000 ms was over"
    assert aborted(1, 11) == "aborted after 10 s by its coordinator: the ID was initialized by another producer"


def test_an_id_that_was_forgotten_and_comes_back() -> None:
    found = transaction_story(
        logged(0, "g-orders-0", COMMITTED), logged(1, "g-orders-0", None), logged(2, "g-orders-0", EMPTY)
    )
    assert [each.kind.value for each in found] == ["transaction-committed", "id-forgotten", "producer-initialized"]


def test_ids_of_other_applications_are_left_out_and_of_other_connectors_where_one_is_named() -> None:
    story = [logged(number, name, EMPTY) for number, name in enumerate(("g-orders-0", "g-other-0", "streams-1"))]
    assert [each.actor.transactional_id for each in transaction_story(*story)] == ["g-orders-0", "g-other-0"]
    assert [each.connector for each in transaction_story(*story, wanted=("other",))] == ["other"]


# Who led


def test_the_leader_is_named_where_there_was_one_around_the_time() -> None:
    led = Leadership((10_000, 60_000), ("w1:8083", "w2:8083"))
    assert [led.at(time) for time in (5_000, 30_000, 59_000, 61_000, 90_000)] == [
        None,
        "w1:8083",
        None,
        None,
        "w2:8083",
    ]


# The group


def generation(number: int, leader: str | None, **tasks: tuple[int, ...]) -> GroupGeneration:
    """Workers by name, each with the numbers of the tasks of connector orders that it has."""
    members = tuple(
        GroupMember(name, f"http://{name}:8083/", tuple(ConnectorTaskId("orders", task) for task in numbers))
        for name, numbers in tasks.items()
    )
    group = ConnectGroup("Stable", "connect", "sessioned", members, f"http://{leader}:8083/" if leader else None)
    return GroupGeneration(number, leader, group)


def test_generations_say_who_came_who_left_where_tasks_went_and_who_leads() -> None:
    events = Events()
    group = GroupEvents(events, PLACE)
    story = (
        generation(1, "w1", w1=(0,), w2=(1,)),
        generation(1, "w1", w1=(0,), w2=(1,)),
        generation(2, "w2", w2=(0, 1)),
        generation(3, "w2", w2=(0,), w3=()),
        generation(4, None),
        None,
    )
    for offset, each in enumerate(story):
        group.add(GroupRecord(offset, offset * 100_000, each))
    found = in_order(events.collected())
    assert told(found) == [
        ("rebalance", "generation 1: 2 workers; w1:8083, w2:8083"),
        ("rebalance", "generation 2: 1 worker; left: w1:8083; orders-0 to w2:8083"),
        ("leader-changed", "the leader is w2:8083, before it was w1:8083"),
        ("rebalance", "generation 3: 2 workers; joined: w3:8083; orders-1 to no worker"),
        ("rebalance", "generation 4: 0 workers; left: w2:8083, w3:8083; orders-0 to no worker"),
    ]
    assert [each.actor.worker for each in found] == ["w1:8083", "w2:8083", "w2:8083", "w2:8083", None]
    assert [group.leadership.at(at) for at in (50_000, 250_000, 450_000)] == ["w1:8083", "w2:8083", None]


# Offsets


def write(offset: int, at: int, epoch: int = 0, tombstones: int = 0, producer_id: int = 7) -> OffsetsWrite:
    return OffsetsWrite(offset, at, "orders", Writer(producer_id >= 0, producer_id, epoch), 1, tombstones, "{} at 4")


def halts(*records: ConfigRecord, ends: tuple[int, ...] = ()) -> Halts:
    found = Halts()
    for record in records:
        found.note(record)
    found.ends["orders"] = list(ends)
    return found


CREATED = ConnectorConfigRecord(origin(10), "orders", {"connector.class": "Source"})
STOPPED = TargetStateRecord(origin(20), "orders", "PAUSED", "STOPPED")
RESUMED = TargetStateRecord(origin(40), "orders", "STARTED", None)


def offsets_story(*writes: OffsetsWrite, known: Halts, sessions: dict[int, list[int]]) -> list[tuple[str, int, int]]:
    events = Events()
    offset_events(writes, PLACE, events, known, sessions, {7: ConnectorTaskId("orders", 0)})
    found = merged_offsets(events.collected(), sessions)
    return sorted((each.kind.value, each.at, 1 if each.run is None else each.run.events) for each in found)


def test_offsets_that_a_producer_of_its_own_writes_while_the_connector_is_stopped_were_altered() -> None:
    known = halts(CREATED, STOPPED, RESUMED)
    writes = [write(0, 12_000), write(1, 15_000), write(2, 21_000), write(3, 30_000, 1), write(4, 45_000, 2)]
    assert offsets_story(*writes, known=known, sessions={7: [11_000, 29_000, 44_000]}) == [
        ("offsets-altered", 30_000, 1),
        ("offsets-committed", 12_000, 3),
        ("offsets-committed", 45_000, 1),
    ]


def test_without_transactions_offsets_were_altered_where_the_tasks_had_ended() -> None:
    known = halts(CREATED, STOPPED, RESUMED, ends=(22_000,))
    writes = [write(0, 21_000, producer_id=-1), write(1, 30_000, producer_id=-1), write(2, 50_000, producer_id=-1)]
    assert offsets_story(*writes, known=known, sessions={}) == [
        ("offsets-altered", 30_000, 1),
        ("offsets-committed", 21_000, 1),
        ("offsets-committed", 50_000, 1),
    ]


def test_offsets_before_the_connector_exists_were_written_by_another_client_if_the_topic_has_its_whole_history() -> (
    None
):
    known = halts(CREATED)
    assert offsets_story(write(0, 5_000), known=known, sessions={7: [4_000]}) == [("offsets-altered", 5_000, 1)]
    known.whole = False
    assert offsets_story(write(0, 5_000), known=known, sessions={7: [4_000]}) == [("offsets-committed", 5_000, 1)]


def test_commits_of_one_session_in_several_partitions_are_one_run() -> None:
    events = Events()
    for partition, ats in enumerate(((1_000, 3_000, 5_000), (2_000, 4_000))):
        place = TopicPartition("offsets", partition)
        offset_events(map(write, range(3), ats), place, events, halts(), {7: [500]}, {})
    (found,) = merged_offsets(events.collected(), {7: [500]})
    assert found.run is not None
    assert (found.at, found.run.events, found.run.until) == (1_000, 5, 5_000)


# Markers


def test_only_ends_that_the_transaction_log_does_not_have_are_events() -> None:
    events = Events()
    story = TransactionEvents(events, NAMES, "g")
    story.add_all(
        [logged(0, "g-orders-0", EMPTY), logged(1, "g-orders-0", ONGOING), logged(2, "g-orders-0", COMMITTED)]
    )
    producer = ProducerIdAndEpoch(7, 0)
    markers = (
        Marker(5, 2_100, True, producer, 0),
        Marker(9, 2_200, False, producer, 0),
        Marker(12, 900_000, True, producer, 0),
    )
    marker_events(markers, TopicPartition("out", 0), events, story.ends, story.owners)
    found = [each for each in events.collected() if each.source is EventSource.OUTPUT]
    assert [(each.kind.value, each.offset) for each in in_order(found)] == [
        ("transaction-aborted", 9),
        ("transaction-committed", 12),
    ]


# Clocks


def test_a_record_outside_of_the_times_of_its_producer_stands_where_they_allow_it() -> None:
    producer = ProducerIdAndEpoch(7, 0)

    def config(at: int) -> Event:
        return Event(at, EventSource.CONFIG, EventKind.CONFIG_CHANGED, str(at), actor=Actor(producer=producer))

    found = within_bounds(map(config, (100_000, 150_000, 3_800_000)), {producer: (90_000, 200_000)})
    assert [(each.at, each.order) for each in found] == [(100_000, None), (150_000, None), (3_800_000, 200_000)]


def test_when_a_producer_may_have_written_is_known_from_its_initialization_to_its_last_transaction() -> None:
    story = TransactionEvents(Events(), NAMES, "g")
    story.add_all(
        [
            logged(0, "g-orders-0", EMPTY, 0),
            logged(1, "g-orders-0", ONGOING, 0),
            logged(3, "g-orders-0", COMMITTED, 0),
            logged(9, "g-orders-0", EMPTY, 1),
            logged(10, "g-orders-0", ONGOING, 1),
            logged(0, "g-other-0", ONGOING, 5),
            logged(1, "g-other-0", COMMITTED, 5),
        ]
    )
    story.finish()
    assert story.bounds == {ProducerIdAndEpoch(7, 0): (0, 3_000)}


# Plans


def test_a_plan_is_made_and_carried_out_and_one_that_stopped_half_way_is_a_warning() -> None:
    plans = (
        PlanRecord("a.plan", "migrate-offsets", ("orders",), 1_000, 4, 4, 9_000),
        PlanRecord("b.plan", "acl-plan", (), 2_000, 3, 1, 8_000),
        PlanRecord("c.plan", "restore", ("other",), 3_000, 2, 0, None),
    )
    events = Events()
    plan_events(plans, events)
    found = in_order(events.collected())
    assert [(each.at, each.connector, each.severity.value, each.what) for each in found] == [
        (1_000, "orders", "info", "plan migrate-offsets of 4 steps made: a.plan"),
        (2_000, None, "info", "plan acl-plan of 3 steps made: b.plan"),
        (3_000, "other", "info", "plan restore of 2 steps made: c.plan"),
        (8_000, None, "warning", "plan acl-plan: 1 of 3 steps done by then: b.plan"),
        (9_000, "orders", "info", "plan migrate-offsets: 4 of 4 steps done by then: a.plan"),
    ]
    events = Events()
    plan_events(plans, events, ("other",))
    assert [each.connector for each in events.collected()] == ["other"]


LEADERSHIP = Leadership((0, 100_000), ("w1:8083", "w2:8083"))


@pytest.mark.parametrize(
    ("source", "kind", "at", "worker"),
    [
        (EventSource.CONFIG, EventKind.TASKS_COMMITTED, 97_999, "w1:8083"),
        (EventSource.CONFIG, EventKind.TASKS_COMMITTED, 98_000, None),
        (EventSource.CONFIG, EventKind.TASKS_COMMITTED, 101_999, None),
        (EventSource.CONFIG, EventKind.TASKS_COMMITTED, 102_001, "w2:8083"),
        (EventSource.CONFIG, EventKind.TARGET_STATE, 50_000, "w0:8083"),
        (EventSource.STATUS, EventKind.TASKS_COMMITTED, 50_000, "w0:8083"),
    ],
)
def test_a_record_that_only_a_leader_writes_names_the_worker_that_led_from_two_seconds_before_to_two_after(
    source, kind, at, worker
) -> None:
    written = Event(at, source, kind, "", actor=Actor(worker="w0:8083"))
    assert [each.actor.worker for each in with_actors([written], {}, LEADERSHIP)] == [worker]


@pytest.mark.parametrize(
    ("actor", "expected"),
    [
        (Actor(producer=ProducerIdAndEpoch(7, 1)), "g-orders-0"),
        (Actor(producer=ProducerIdAndEpoch(8, 1)), None),
        (Actor(producer=ProducerIdAndEpoch(7, 1), transactional_id="said"), "said"),
        (Actor(), None),
    ],
)
def test_a_producer_gets_its_holder_as_transactional_id_unless_the_record_names_one(actor, expected) -> None:
    written = Event(5, EventSource.OFFSETS, EventKind.OFFSETS_COMMITTED, "", actor=actor)
    [found] = with_actors([written], {7: "g-orders-0"}, LEADERSHIP)
    assert found.actor.transactional_id == expected
    assert found.actor.producer == actor.producer


# Folding and order, at their limits


def dated(at: int, offset: int = 0, place: TopicPartition | None = PLACE, **fields: Any) -> Event:
    return Event(at, EventSource.STATUS, EventKind.TASK_STATE, str(at), place=place, offset=offset, **fields)


@pytest.mark.parametrize(("pause", "runs"), [(0, 1), (LONGEST_PAUSE_MS, 1), (LONGEST_PAUSE_MS + 1, 2), (-1, 2)])
def test_an_event_follows_another_one_within_the_longest_pause_and_not_before_it(pause, runs):
    events = Events()
    for at in (1_000, 1_000 + pause):
        events.add(dated(at), "lane", "x")
    assert len(events.collected()) == runs


@pytest.mark.parametrize(("pause", "runs"), [(10 * 500_000, 1), (10 * 500_000 + 1, 2)])
def test_the_longest_pause_of_a_run_is_ten_times_its_mean_interval(pause, runs):
    events = Events()
    for at in (0, 500_000, 1_000_000, 1_000_000 + pause):
        events.add(dated(at), "lane", "x")
    assert len(events.collected()) == runs


@pytest.mark.parametrize(
    ("since", "until", "kept"),
    [(None, None, [-1, 5, 6, 7]), (6, None, [-1, 6, 7]), (None, 6, [-1, 5, 6]), (6, 6, [-1, 6]), (8, None, [-1])],
)
def test_the_period_has_both_of_its_ends_and_events_without_a_time(since, until, kept):
    events = Events(since, until)
    for at in (-1, 5, 6, 7):
        events.add(dated(at))
    assert sorted(each.at for each in events.collected()) == kept


@pytest.mark.parametrize(("count", "kept", "coarse"), [(10, 10, 0), (11, 1, 1_000)])
def test_events_are_merged_only_where_there_are_more_than_memory_may_hold(count, kept, coarse):
    events = Events(most=10)
    for at in range(count):
        events.add(dated(at))
    assert (len(events.collected()), events.coarse_ms) == (kept, coarse)


@pytest.mark.parametrize(
    "other",
    [
        {"connector": "c"},
        {"task": 1},
        {"actor": Actor(worker="w")},
        {"actor": Actor(transactional_id="i")},
    ],
)
def test_events_of_others_are_not_merged(other):
    events = Events(most=4)
    for each in ({}, {}, other, other, other):
        events.add(dated(5, **each))
    assert sorted(each.run.events for each in events.collected() if each.run) == [2, 3]


def test_of_more_actors_than_events_may_be_kept_each_has_one():
    events = Events(most=4)
    for number in range(30):
        events.add(dated(number * 1_000, task=number % 10))
    found = events.collected()
    assert sorted(each.task or 0 for each in found if each.run) == [*range(10)]
    assert sum(1 if each.run is None else each.run.events for each in found) == 30


PRODUCER = ProducerIdAndEpoch(7, 0)
OFFSETS, CONFIG, STATUS = EventSource.OFFSETS, EventSource.CONFIG, EventSource.STATUS


@pytest.mark.parametrize(
    ("at", "source", "producer", "order"),
    [
        (100_000 - CLOCKS_MS, CONFIG, PRODUCER, None),
        (100_000 - CLOCKS_MS - 1, CONFIG, PRODUCER, 100_000),
        (200_000 + CLOCKS_MS, OFFSETS, PRODUCER, None),
        (200_000 + CLOCKS_MS + 1, OFFSETS, PRODUCER, 200_000),
        (0, OFFSETS, PRODUCER, 100_000),
        (-1, OFFSETS, PRODUCER, None),
        (5, STATUS, PRODUCER, None),
        (5, CONFIG, None, None),
        (5, CONFIG, ProducerIdAndEpoch(7, 1), None),
    ],
)
def test_a_record_stands_where_the_times_of_its_producer_allow_it(at, source, producer, order):
    written = Event(at, source, EventKind.CONFIG_CHANGED, "", actor=Actor(producer=producer))
    assert [each.order for each in within_bounds([written], {PRODUCER: (100_000, 200_000)})] == [order]


@pytest.mark.parametrize(
    ("times", "worker"),
    [
        ((), None),
        ((7_999,), "w0"),
        ((8_000,), "w0"),
        ((8_001,), None),
        ((0, 12_000), None),
        ((0, 12_001), "w0"),
        ((0, 7_999), "w1"),
    ],
)
def test_a_leader_is_named_that_led_from_two_seconds_before_to_two_after(times, worker):
    assert Leadership(times, ("w0", "w1")[: len(times)]).at(10_000) == worker


@pytest.mark.parametrize(
    ("times", "misdated"),
    [
        ([], []),
        ([5], []),
        ([5, 5, 5], []),
        ([-1], [0]),
        ([9, -1, 10], [1]),
        ([9, 1, 10], [0]),
        ([1, 9, 2, 3], [1]),
        ([3, 2, 1], [0, 1]),
    ],
)
def test_as_few_events_as_possible_are_misdated(times, misdated):
    found = in_order(dated(at, number) for number, at in enumerate(times))
    assert sorted(each.offset or 0 for each in found if each.order is not None) == misdated


def test_events_at_one_time_stand_by_source_and_place_and_those_of_no_place_are_not_moved():
    nowhere = [Event(at, EventSource.PLAN, EventKind.PLAN_MADE, str(at)) for at in (9, 1)]
    found = in_order([*nowhere, dated(1, 4, TopicPartition("u", 0)), dated(1, 7), dated(1, 7)])
    assert [(each.source.value, each.place and each.place.topic, each.at) for each in found] == [
        ("status", "t", 1), ("status", "t", 1), ("status", "u", 1), ("plan", None, 1), ("plan", None, 9)
    ]  # fmt: skip
    assert not any(each.order for each in found)


@pytest.mark.parametrize(("lane", "alike", "count"), [("l", "x", 1), ("l", None, 2), (None, "x", 2), (None, None, 2)])
def test_events_join_only_in_a_lane_and_where_they_are_alike(lane: str | None, alike: str | None, count: int):
    events = Events(None, None, 10)
    for at in (1, 2):
        events.add(event(at), lane, alike)
    assert len(events.collected()) == count


def test_an_event_without_a_partition_comes_before_one_of_the_same_time_with_one():
    placed, unplaced = event(5, offset=7), event(5, place=None)
    assert in_order([placed, unplaced]) == (unplaced, placed)
    later = event(5, offset=8)
    assert in_order([later, placed]) == (placed, later)
