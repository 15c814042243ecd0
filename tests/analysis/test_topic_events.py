"""Each decision about a record that becomes an event, or none: what makes it another one."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from eosctl.analysis.timeline import CLOCKS_MS, LONGEST_PAUSE_MS, Events, Leadership, in_order
from eosctl.analysis.topic_events import (
    MARKERS_MS,
    MOST_BOUNDS,
    SHOWN_KEYS,
    SHOWN_VALUE,
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
    session_of,
    status_events,
    trace_words,
)
from eosctl.analysis.transactions import KnownNames
from eosctl.model.config_topic import ConnectorConfigRecord, Origin
from eosctl.model.groups import ConnectGroup, GroupGeneration, GroupMember
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Record, RecordState, Writer
from eosctl.model.report import Severity
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.timeline import Actor, Event, EventKind, EventSource
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState
from tests.analysis.config_records import Log

PLACE = TopicPartition("t", 0)
ORDERS = ConnectorTaskId("orders", 0)


def words(events: Events) -> list[tuple[str, str]]:
    return [(each.kind.value, each.what) for each in in_order(events.collected())]


# The config topic


def config_story(log: Log) -> list[Event]:
    events = Events()
    list(config_events(log.decoded(), PLACE, events))
    return list(in_order(events.collected()))


def changed(*configs: Mapping[str, str]) -> str:
    events = Events()
    origins = (Origin(at, at, RecordState.COMMITTED) for at in range(9))
    records = [ConnectorConfigRecord(origin, "c", each) for origin, each in zip(origins, configs, strict=False)]
    list(config_events(records, PLACE, events))
    return in_order(events.collected())[-1].what


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        ({"a": "1"}, {"a": "1", "b": "2"}, "b=2"),
        ({"a": "1", "b": "2"}, {"a": "1"}, "b removed"),
        ({"a": "1"}, {"a": "2"}, "a 1 to 2"),
        ({"a": "1"}, {"a": "1"}, "written again without a change"),
        ({"a": "[hidden]"}, {"a": "[hidden]"}, "written again without a change (hidden values are not compared)"),
        ({"a": "x" * SHOWN_VALUE}, {"a": "1"}, f"a {'x' * SHOWN_VALUE} to 1"),
        ({"a": "x" * (SHOWN_VALUE + 1)}, {"a": "1"}, f"a {'x' * SHOWN_VALUE}… to 1"),
        ({}, {f"k{each}": "" for each in range(SHOWN_KEYS)}, ", ".join(f"k{each}=" for each in range(SHOWN_KEYS))),
    ],
)
def test_a_config_that_was_written_again_says_which_keys_changed(before, now, what):
    assert changed(before, now) == what


def test_a_config_with_more_changes_than_are_shown_says_how_many_more():
    assert changed({}, {f"k{each}": "" for each in range(SHOWN_KEYS + 1)}).endswith(" and 1 more")


def test_a_null_value_and_a_missing_class_are_named_so():
    found = config_story(Log().put("connector-c", {"properties": {"a": None}}))
    assert found[0].what == "connector created: null"


def test_a_target_state_that_is_removed_is_an_event_unless_the_connector_is_gone_too():
    created = Log().config("c")
    assert [each.kind for each in config_story(created.put("target-state-c", None))] == [
        EventKind.CONNECTOR_CREATED,
        EventKind.TARGET_STATE,
    ]
    deleted = Log().config("c").put("connector-c", None).put("target-state-c", None)
    assert [each.kind for each in config_story(deleted)] == [EventKind.CONNECTOR_CREATED, EventKind.CONNECTOR_DELETED]
    stopped = Log().config("c").put("connector-c", None).target("c", "STOPPED")
    assert [each.kind for each in config_story(stopped)][-1] is EventKind.TARGET_STATE


def test_a_commit_whose_task_configs_are_missing_is_a_warning():
    whole, part = Log().config("c").tasks("c", 0, 1).commit("c", 2), Log().config("c").tasks("c", 0).commit("c", 2)
    assert [config_story(each)[-1].severity for each in (whole, part)] == [Severity.INFO, Severity.WARNING]
    assert config_story(part)[-1].what == "commit of 2 tasks; fencing pending; task configs missing: 1"


def test_task_configs_wait_for_the_commit_of_their_own_connector():
    found = config_story(Log().config("a").config("b").tasks("a", 0).tasks("b", 0).commit("a", 1))
    assert [(each.connector, each.kind.value) for each in found] == [
        ("a", "connector-created"),
        ("b", "connector-created"),
        ("b", "config-record"),
        ("a", "tasks-committed"),
    ]
    assert found[2].task == 0


def test_task_configs_do_not_wait_for_a_count_of_tasks():
    assert [each.kind.value for each in config_story(Log().config("a").tasks("a", 0).fencing("a", 1))][1:] == [
        "config-record",
        "task-count-record",
    ]


@pytest.mark.parametrize(
    ("put", "severity"),
    [
        (lambda log: log.put("session-key", {"key": "AA==", "algorithm": "x", "creation-timestamp": 1}), Severity.INFO),
        (lambda log: log.put("connector-c", b"nonsense"), Severity.WARNING),
        (lambda log: log.target("d", "STOPPED"), Severity.INFO),
        (lambda log: log.writer(1, 0, RecordState.ABORTED).config("c"), Severity.WARNING),
    ],
)
def test_a_record_that_workers_stumble_over_is_a_warning(put, severity):
    assert config_story(put(Log().config("c")))[-1].severity is severity


def test_alike_records_of_no_connector_are_one_run_and_commits_are_not():
    keys = Log()
    for _ in range(3):
        keys.put("unknown", {})
    assert [each.run and each.run.events for each in config_story(keys)] == [3]
    states = Log().config("c").target("c", "PAUSED").target("c", "PAUSED")
    assert [each.run for each in config_story(states)] == [None] * 3


# The status topic


def status(kind: StatusKind = StatusKind.TASK, at: int = 0, **fields: Any) -> StatusRecord:
    given = {"connector": "orders", "task": 0 if kind is not StatusKind.CONNECTOR else None, **fields}
    return StatusRecord(Record(at, at * 1000, b"", b""), kind, **given)


def status_story(*records: StatusRecord, connectors: tuple[str, ...] = ()) -> list[Event]:
    events = Events()
    status_events(records, PLACE, events, connectors)
    return list(in_order(events.collected()))


@pytest.mark.parametrize(
    ("record", "kind", "what", "severity"),
    [
        (status(state="RUNNING", generation=3), EventKind.TASK_STATE, "RUNNING, generation 3", Severity.INFO),
        (status(state="FAILED", generation=3), EventKind.TASK_STATE, "FAILED, generation 3", Severity.ERROR),
        (
            status(state="FAILED", generation=3, trace="x"),
            EventKind.TASK_STATE,
            "FAILED, generation 3: x",
            Severity.ERROR,
        ),
        (
            status(StatusKind.CONNECTOR, state="RUNNING", generation=3),
            EventKind.CONNECTOR_STATE,
            "RUNNING, generation 3",
            Severity.INFO,
        ),
        (status(connector="", reason="no JSON"), EventKind.TASK_STATE, "discarded: no JSON", Severity.WARNING),
        (status(), EventKind.TASK_STATE, "status removed", Severity.INFO),
        (status(reason="no JSON"), EventKind.TASK_STATE, "discarded: no JSON", Severity.WARNING),
        (status(StatusKind.TOPIC, topic="t"), EventKind.TOPIC_USED, "topic t is used", Severity.INFO),
        (status(StatusKind.TOPIC, topic="t", task=None), EventKind.TOPIC_USED, "topic t is forgotten", Severity.INFO),
        (status(StatusKind.TOPIC, topic="t", reason="no"), EventKind.TOPIC_USED, "discarded: no", Severity.INFO),
    ],
)
def test_a_status_says_its_state_and_whether_it_is_bad(record, kind, what, severity):
    [found] = status_story(record)
    assert (found.kind, found.what, found.severity) == (kind, what, severity)
    assert found.connector == (record.connector or None)


@pytest.mark.parametrize(
    ("earlier", "later", "older"), [(5, 4, True), (5, 5, False), (5, None, True), (None, 0, False)]
)
def test_a_status_of_an_older_generation_than_the_one_before_was_written_late(earlier, later, older):
    records = [status(at=at, state="RUNNING", generation=each) for at, each in enumerate((earlier, later))]
    assert ("which is older" in status_story(*records)[-1].what) is older


def test_generations_of_another_task_and_of_the_connector_are_not_compared():
    records = [
        status(at=0, state="RUNNING", generation=9),
        status(at=1, state="RUNNING", generation=3, task=1),
        status(StatusKind.CONNECTOR, at=2, state="RUNNING", generation=3),
    ]
    assert not any("older" in each.what for each in status_story(*records))


def test_a_status_of_another_connector_is_left_out_where_some_are_named():
    records = [status(at=0, state="RUNNING"), status(at=1, state="RUNNING", connector="other")]
    assert [each.connector for each in status_story(*records, connectors=("other",))] == ["other"]
    assert [each.connector for each in status_story(*records)] == ["orders", "other"]


def test_equal_states_of_one_worker_are_a_run_and_those_of_two_are_none():
    records = [
        status(at=at, state="RUNNING", generation=1, worker_id=each) for at, each in enumerate(("w1", "w1", "w2"))
    ]
    assert [1 if each.run is None else each.run.events for each in status_story(*records)] == [2, 1]


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        ("", ""),
        ("\n  A: x\n\tat B", "A: x"),
        ("A: x\nCaused by: B: y\nCaused by: C: z", "A: x; Caused by: C: z"),
        ("Caused by: A: x", "Caused by: A: x"),
    ],
)
def test_a_stack_trace_is_its_first_line_and_its_last_cause(trace, said):
    assert trace_words(trace) == said


# The transaction log


EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, COMMITTED = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT
PREPARE_ABORT, ABORTED = TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT
NAMES = KnownNames.of({"g": ("orders", "other", "a-b"), "g-a": ("b",)})


def logged(at: int, state: TransactionState | None, name: str = "g-orders-0", **fields: Any) -> TransactionLogRecord:
    producer = ProducerIdAndEpoch(fields.pop("producer_id", 7), fields.pop("epoch", 0))
    value = None
    if state is not None:
        start = fields.pop("start", -1)
        partitions = fields.pop("partitions", (PLACE,))
        value = TransactionLogValue(
            0, producer, 60_000, state, partitions, at * 1000, start, client_transaction_version=fields.pop("tv", 0)
        )
    return TransactionLogRecord(3, at, at * 1000, name, value)


def transaction_story(
    *records: TransactionLogRecord, wanted: tuple[str, ...] = (), group: str | None = "g"
) -> tuple[TransactionEvents, list[tuple[str, str]]]:
    events = Events()
    story = TransactionEvents(events, NAMES, group, wanted)
    story.add_all(records)
    story.finish()
    return story, words(events)


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([logged(1, EMPTY)], "initialized; transaction timeout"),
        ([logged(1, EMPTY, epoch=1)], "initialized with epoch 1: a producer of a lower epoch is fenced"),
        ([logged(0, COMMITTED), logged(1, EMPTY, epoch=1)], "epoch 0 to 1: producer 7/0 is fenced"),
        ([logged(0, COMMITTED), logged(1, EMPTY, producer_id=8)], "initialized with another producer ID: producer 7/0"),
        ([logged(0, None), logged(1, EMPTY, epoch=3)], "initialized again after its coordinator had forgotten it"),
        ([logged(0, None), logged(1, COMMITTED), logged(2, EMPTY, epoch=1)], "epoch 0 to 1: producer 7/0 is fenced"),
    ],
)
def test_an_initialization_says_which_producer_it_fences(records, what):
    _, found = transaction_story(*records)
    assert found[-1][1].startswith(what)
    assert found[-1][0] == ("producer-fenced" if "is fenced" in found[-1][1] else "producer-initialized")


@pytest.mark.parametrize(
    ("next_state", "wrote"),
    [(ONGOING, True), (PREPARE_COMMIT, True), (COMMITTED, True), (EMPTY, False), (None, False)],
)
def test_a_producer_that_was_initialized_wrote_only_where_a_transaction_follows(next_state, wrote):
    _, found = transaction_story(logged(0, EMPTY), logged(1, next_state))
    assert found[0][1].endswith("it then began a transaction" if wrote else "it began no transaction")


@pytest.mark.parametrize(
    ("states", "last"),
    [
        ((ONGOING,), ("transaction-begun", "transaction begun in 1 partition; it has not ended")),
        ((ONGOING, PREPARE_COMMIT), ("transaction-begun", "PrepareCommit, and markers are not all written")),
        ((ONGOING, PREPARE_ABORT), ("transaction-begun", "PrepareAbort, and markers are not all written")),
        ((ONGOING, COMMITTED), ("transaction-committed", "committed")),
        ((PREPARE_COMMIT,), None),
        ((EMPTY,), ("producer-initialized", "initialized; transaction timeout 60000 ms; it began no transaction")),
        ((ONGOING, EMPTY), ("producer-fenced", None)),
    ],
)
def test_a_transaction_that_has_not_ended_is_reported_by_its_begin(states, last):
    _, found = transaction_story(*(logged(at, state) for at, state in enumerate(states)))
    if last is None:
        assert found == []
    else:
        assert found[-1][0] == last[0]
        assert last[1] in {None, found[-1][1]}


def test_a_record_without_partitions_has_none():
    story, found = transaction_story(logged(1, ONGOING, partitions=None))
    assert found == [("transaction-begun", "transaction begun in 0 partitions; it has not ended")]
    story, _ = transaction_story(logged(1, PREPARE_COMMIT, partitions=None))
    assert (story.owners, story.written) == ({7: ORDERS}, set())


def test_an_event_of_an_id_names_its_producer_until_it_is_forgotten():
    events = Events()
    story = TransactionEvents(events, NAMES, "g")
    story.add_all([logged(1, ONGOING, epoch=3), logged(2, ABORTED, epoch=3), logged(4, None)])
    found = {each.kind: each.actor for each in events.collected()}
    assert found[EventKind.TRANSACTION_ABORTED] == Actor(
        transactional_id="g-orders-0", producer=ProducerIdAndEpoch(7, 3)
    )
    assert found[EventKind.ID_FORGOTTEN] == Actor(transactional_id="g-orders-0")


def test_the_begin_of_a_transaction_is_its_first_record():
    events = Events()
    story = TransactionEvents(events, NAMES, "g")
    story.add_all([logged(1, ONGOING), logged(2, ONGOING, partitions=(PLACE, TopicPartition("u", 0)))])
    story.finish()
    assert [(each.at, each.what) for each in events.collected()] == [
        (1000, "transaction begun in 1 partition; it has not ended")
    ]


def test_an_end_has_the_time_of_its_decision():
    events = Events()
    story = TransactionEvents(events, NAMES, "g")
    story.add_all([logged(1, ONGOING), logged(2, PREPARE_COMMIT), logged(9, COMMITTED), logged(12, COMMITTED)])
    [found] = events.collected()
    assert found.run is not None
    assert (found.at, found.run.until) == (2_000, 12_000)
    assert list(story.ends[7]) == [9_000 * 2 + 1, 12_000 * 2 + 1]


@pytest.mark.parametrize(
    ("end", "by_coordinator", "lasted"),
    [
        ({"epoch": 1, "start": 1_000}, True, True),
        ({"epoch": 0, "start": 1_000}, False, True),
        ({"epoch": 1, "start": -1}, False, False),
        ({"epoch": 1, "start": 0}, True, True),
        ({"epoch": 1, "start": 1_000, "tv": 1}, True, True),
        ({"epoch": 1, "start": 1_000, "tv": 2}, False, True),
    ],
)
def test_an_abort_is_the_coordinator_s_where_the_epoch_is_another_before_transaction_version_2(
    end, by_coordinator, lasted
):
    _, found = transaction_story(logged(1, ONGOING), logged(50, ABORTED, **end))
    assert ("by its coordinator" in found[-1][1]) is by_coordinator
    assert ("after" in found[-1][1]) is lasted


@pytest.mark.parametrize(("decided", "completed", "by_coordinator"), [(0, 1, False), (1, 1, True), (1, 0, True)])
def test_the_epoch_of_the_decision_says_who_aborted(decided, completed, by_coordinator):
    """Completion may raise the epoch for the next transaction."""
    _, found = transaction_story(
        logged(1, ONGOING),
        logged(40, PREPARE_ABORT, epoch=decided, start=1_000),
        logged(50, ABORTED, epoch=completed, start=1_000),
    )
    assert ("by its coordinator" in found[-1][1]) is by_coordinator


@pytest.mark.parametrize(("at", "is_timeout"), [(60, False), (61, True), (62, True)])
def test_a_transaction_times_out_when_its_timeout_has_passed(at, is_timeout):
    _, found = transaction_story(logged(1, ONGOING), logged(at, ABORTED, epoch=1, start=1_000))
    assert ("its timeout of 60000 ms was over" in found[-1][1]) is is_timeout


def test_an_abort_whose_begin_is_not_in_the_log_is_one_event():
    assert transaction_story(logged(50, ABORTED, epoch=1, start=1_000))[1] == [
        ("transaction-aborted", "aborted after 49 s")
    ]


@pytest.mark.parametrize(
    ("name", "wanted", "group", "seen", "connector", "is_other"),
    [
        ("g-orders-0", (), "g", True, "orders", False),
        ("g-orders-0", ("orders",), "g", True, "orders", False),
        ("g-orders-0", ("other",), "g", False, None, False),
        ("g-a-b-0", (), "g", True, None, False),  # two readings
        ("g-a-b-0", ("b",), "g", True, "b", False),
        ("g-unknown-0", (), "g", True, None, False),  # of a connector that is gone, perhaps
        ("g-unknown-0", ("orders",), "g", False, None, False),
        ("streams-1", (), "g", False, None, True),
        ("streams-1", (), None, True, None, False),
        ("connect-cluster-g", (), "g", True, None, False),
        ("connect-cluster-g", ("orders",), "g", True, None, False),
    ],
)
def test_an_id_has_events_where_a_wanted_connector_or_the_leader_may_have_it(
    name, wanted, group, seen, connector, is_other
):
    events = Events()
    story = TransactionEvents(events, NAMES, group, wanted)
    story.add_all([logged(0, EMPTY, name)])
    story.finish()
    assert [each.connector for each in events.collected()] == ([connector] if seen else [])
    assert story.others == ({name} if is_other else set())
    assert story.holders == {7: name}


@pytest.mark.parametrize(("wanted", "kinds"), [((), ["committed", "aborted"]), (("orders",), ["aborted"])])
def test_the_leader_s_commits_are_no_events_of_a_connector(wanted, kinds):
    name = "connect-cluster-g"
    _, found = transaction_story(logged(1, COMMITTED, name), logged(2, ABORTED, name), wanted=wanted)
    assert [what for _, what in found] == kinds


def test_partitions_and_owners_are_known_from_decisions_of_wanted_ids():
    records = [logged(1, PREPARE_COMMIT), logged(2, PREPARE_ABORT, "g-other-0", producer_id=8)]
    story, _ = transaction_story(*records, logged(3, ONGOING, "g-other-0", producer_id=9), wanted=("orders",))
    assert (story.owners, story.written) == ({7: ORDERS}, {PLACE})
    everybody, _ = transaction_story(*records)
    assert everybody.owners == {7: ORDERS, 8: ConnectorTaskId("other", 0)}


def test_records_of_a_newer_kafka_are_counted():
    story = TransactionEvents(Events(), NAMES, "g")
    story.add_all([NewerLogRecord(3, 0, 9), logged(1, EMPTY)])
    assert (story.newer, story.sessions) == (1, {7: [1_000]})


@pytest.mark.parametrize(("version", "known"), [(0, False), (1, False), (2, True)])
def test_a_transaction_bounds_a_producer_without_initialization_where_each_has_an_epoch(version, known):
    story, _ = transaction_story(logged(1, ONGOING, epoch=5, tv=version), logged(3, COMMITTED, epoch=6))
    assert story.bounds == ({ProducerIdAndEpoch(7, 5): (1_000, 3_000)} if known else {})


@pytest.mark.parametrize(
    ("initialized", "begun", "ended", "bounds"),
    [
        (5, 7, 9, (5_000, 9_000)),
        (5, 3, 9, (3_000, 9_000)),
        (5, 7, 6, (5_000, 7_000)),
        (5, 4, 3, (3_000, 5_000)),
        (5, 5, 5, (5_000, 5_000)),
    ],
)
def test_a_producer_s_times_reach_from_the_earliest_to_the_latest_where_clocks_went_back(
    initialized, begun, ended, bounds
):
    story, _ = transaction_story(logged(initialized, EMPTY), logged(begun, ONGOING), logged(ended, COMMITTED))
    assert story.bounds == {ProducerIdAndEpoch(7, 0): bounds}


def test_a_producer_whose_transaction_is_open_has_no_last_time():
    story, _ = transaction_story(logged(5, EMPTY), logged(7, ONGOING))
    assert story.bounds == {}


def test_times_of_the_last_producers_are_kept():
    story = TransactionEvents(Events(), NAMES, "g")
    story.add_all(logged(number, EMPTY, producer_id=number) for number in range(MOST_BOUNDS + 1))
    assert len(story.bounds) == MOST_BOUNDS
    assert ProducerIdAndEpoch(0, 0) not in story.bounds
    assert ProducerIdAndEpoch(1, 0) in story.bounds


# The group


def generation(number: int, leader: str | None, state: str = "Stable", **tasks: tuple[int, ...]) -> GroupGeneration:
    members = tuple(
        GroupMember(name, f"http://{name}:8083/", tuple(ConnectorTaskId("orders", task) for task in numbers))
        for name, numbers in tasks.items()
    )
    group = ConnectGroup(state, "connect", "sessioned", members, f"http://{leader}:8083/" if leader else None)
    return GroupGeneration(number, leader, group)


def group_story(*generations: GroupGeneration | None) -> tuple[GroupEvents, list[Event]]:
    events = Events()
    group = GroupEvents(events, PLACE)
    for number, each in enumerate(generations):
        group.add(GroupRecord(number, number * 100_000, each))
    return group, list(in_order(events.collected()))


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (generation(1, "w1", w1=()), generation(1, "w1", w1=()), []),
        (generation(1, "w1", w1=()), generation(1, "w1", w1=(0,)), ["generation 1: 1 worker; orders-0 to w1:8083"]),
        (generation(1, "w1", w1=()), generation(2, "w1", w1=()), ["generation 2: 1 worker"]),
        (
            generation(1, "w1", w1=(), w2=()),
            generation(2, "w2", w1=(), w2=()),
            ["generation 2: 2 workers", "the leader is w2:8083, before it was w1:8083"],
        ),
        (generation(1, None), generation(2, "w1", w1=()), [
            "generation 2: 1 worker; joined: w1:8083", "the leader is w1:8083, before it was none"]),
        (generation(1, "w1", w1=()), generation(2, None), ["generation 2: 0 workers; left: w1:8083"]),
        (generation(1, "w1", w1=()), None, []),
    ],
)  # fmt: skip
def test_a_generation_is_compared_with_the_one_before(before, now, said):
    _, found = group_story(before, now)
    assert [each.what for each in found[1:]] == said


def test_the_first_generation_names_its_workers_and_no_change_of_leader():
    group, found = group_story(generation(1, "w1", w1=(0,)), None)
    assert [(each.what, each.severity) for each in found] == [("generation 1: 1 worker; w1:8083", Severity.INFO)]
    assert group.leadership == Leadership((0,), ("w1:8083",))


def test_a_generation_without_members_is_a_warning():
    [found] = group_story(generation(1, None))[1]
    assert (found.severity, found.what) == (Severity.WARNING, "generation 1: 0 workers")
    assert found.actor == Actor()


def test_a_member_without_an_assignment_or_an_address_has_no_tasks_and_its_id():
    members = GroupMember("w1", "http://w1:8083/", None), GroupMember("w2", None, (ORDERS,))
    now = GroupGeneration(2, "w1", ConnectGroup("Stable", "connect", "sessioned", members, "http://w1:8083/"))
    _, found = group_story(generation(1, "w1", w1=(0,)), now)
    assert found[1].what == "generation 2: 2 workers; joined: w2; orders-0 to w2"


def test_a_task_that_no_worker_has_any_more_is_named():
    _, found = group_story(generation(1, "w1", w1=(0, 1)), generation(2, "w1", w1=(1,)))
    assert found[1].what == "generation 2: 1 worker; orders-0 to no worker"


# Offsets


def halts(log: Log) -> Halts:
    found = Halts()
    for record in log.decoded():
        found.note(record)
    return found


T0 = 1_790_000_000_000


@pytest.mark.parametrize(
    ("log", "at", "since"),
    [
        (Log(), 5, 0),
        (Log().config("c"), -1, 0),
        (Log().config("c"), 0, None),
        (Log().config("c").target("c", "STOPPED"), 0, None),
        (Log().config("c").target("c", "STOPPED"), 1, T0 + 1),
        (Log().config("c").target("c", "PAUSED"), 1, None),
        (Log().config("c").target("c", "STOPPED").target("c", "STOPPED"), 2, T0 + 1),
        (Log().config("c").target("c", "STOPPED").target("c", "STARTED"), 2, None),
        (Log().config("c").put("connector-c", None), 1, T0 + 1),
        (Log().config("c").target("c", "STOPPED").put("connector-c", None), 2, T0 + 1),
        (Log().target("c", "STOPPED").config("c"), 1, T0),
        (Log().target("c", "PAUSED"), 0, T0),
        (Log().target("c", "PAUSED").config("c"), 1, None),
        (Log().config("c").put("connector-c", None).target("c", "PAUSED"), 2, T0 + 1),
        (Log().config("c").put("connector-c", None).config("c"), 2, None),
        (Log().config("c").writer(1, 0, RecordState.ABORTED).target("c", "STOPPED"), 1, None),
        (Log().config("c").put("session-key", {}).tasks("c", 0), 2, None),
    ],
)
def test_a_connector_is_halted_while_it_is_stopped_or_does_not_exist(log, at, since):
    assert halts(log).since("c", T0 + at) == since


def test_a_connector_that_is_not_in_a_config_topic_without_its_beginning_may_have_run():
    found = halts(Log())
    found.whole = False
    assert found.since("c", 5) is None


def write(at: int, producer_id: int = 7, connector: str = "c", tombstones: int = 0, offset: int = 0) -> OffsetsWrite:
    return OffsetsWrite(offset, at, connector, Writer(producer_id >= 0, producer_id, 0), 1, tombstones, "{} at 4")


@pytest.mark.parametrize(
    ("begun", "altered"),
    [
        ([], False),
        ([T0 + 50_000 + 1 - CLOCKS_MS - 1], False),
        ([T0 + 50_000 + 1 - CLOCKS_MS], True),
        ([T0 + 90_000 + CLOCKS_MS], True),
        ([T0 + 90_000 + CLOCKS_MS + 1], False),
        ([T0, T0 + 60_000], True),
        ([T0 + 60_000, T0 + 200_000], True),
    ],
)
def test_a_producer_that_was_initialized_while_the_connector_was_stopped_changed_its_offsets(begun, altered):
    log = Log().config("c")
    log._offset = 50_001
    known = halts(log.target("c", "STOPPED"))
    assert known.altered(write(T0 + 90_000), {7: begun}) is altered


@pytest.mark.parametrize(
    ("ends", "at", "altered"),
    [
        ([], 90_000, False),
        ([50_001 - CLOCKS_MS - 1], 90_000, False),
        ([50_001 - CLOCKS_MS], 90_000, True),
        ([90_000], 90_000, True),
        ([90_001], 90_000, False),
        ([60_000], 50_000, False),
    ],
)
def test_without_transactions_offsets_were_changed_where_a_task_had_ended_since_the_stop(ends, at, altered):
    log = Log().config("c")
    log._offset = 50_001
    known = halts(log.target("c", "STOPPED"))
    known.ends["c"] = [T0 + each for each in ends]
    assert known.altered(write(T0 + at, producer_id=-1), {}) is altered


def offsets_story(writes: Iterable[OffsetsWrite], owners: Mapping[int, ConnectorTaskId], log: Log) -> list[Event]:
    events = Events()
    offset_events(writes, PLACE, events, halts(log), {7: [T0 + 50_001]}, owners)
    return sorted(events.collected(), key=lambda each: each.at)


def test_a_commit_names_its_task_and_producer_as_far_as_they_are_known():
    log = Log().config("c")
    mine, another = {7: ConnectorTaskId("c", 3)}, {7: ConnectorTaskId("d", 3)}
    [own] = offsets_story([write(T0 + 5)], mine, log)
    assert (own.task, own.actor, own.severity) == (3, Actor(producer=ProducerIdAndEpoch(7, 0)), Severity.INFO)
    assert own.what == "1 offset committed, the last {} at 4"
    assert [offsets_story([write(T0 + 5)], each, log)[0].task for each in (another, {})] == [None, None]
    assert offsets_story([write(T0 + 5, producer_id=-1)], {}, log)[0].actor == Actor()
    assert offsets_story([write(T0 + 5, producer_id=0)], {}, log)[0].actor.producer == ProducerIdAndEpoch(0, 0)
    [deleting] = offsets_story([write(T0 + 5, tombstones=2)], {}, log)
    assert deleting.what == "1 offset committed, 2 of them deleted, the last {} at 4"


def test_a_change_of_offsets_is_a_warning_and_no_task_s():
    log = Log().config("c")
    log._offset = 50_001
    [found] = offsets_story([write(T0 + 60_000)], {7: ConnectorTaskId("c", 3)}, log.target("c", "STOPPED"))
    assert (found.kind, found.task, found.severity) == (EventKind.OFFSETS_ALTERED, None, Severity.WARNING)
    assert found.what == "1 offset changed while the connector was halted, the last {} at 4"


def committed(at: int, producer_id: int | None = 7, kind: EventKind = EventKind.OFFSETS_COMMITTED) -> Event:
    actor = Actor() if producer_id is None else Actor(producer=ProducerIdAndEpoch(producer_id, 0))
    return Event(at, EventSource.OFFSETS, kind, str(at), connector="c", actor=actor)


@pytest.mark.parametrize(
    ("events", "begun", "runs"),
    [
        ([committed(1), committed(2)], [], [2]),
        ([committed(1), committed(2, 8)], [], [1, 1]),
        ([committed(1), committed(2, None)], [], [1, 1]),
        ([committed(1, None), committed(2, None)], [], [2]),
        ([committed(1), committed(2, kind=EventKind.OFFSETS_ALTERED)], [], [1, 1]),
        ([committed(1), committed(1 + LONGEST_PAUSE_MS)], [], [2]),
        ([committed(1), committed(2 + LONGEST_PAUSE_MS)], [], [1, 1]),
        ([committed(1), committed(9_000)], [9_000 + CLOCKS_MS + 1], [2]),
        ([committed(1), committed(9_000)], [9_000 + CLOCKS_MS], [1, 1]),
        ([Event(at, EventSource.STATUS, EventKind.TASK_STATE, "") for at in (1, 2)], [], [1, 1]),
        ([committed(1), Event(2, EventSource.STATUS, EventKind.TASK_STATE, ""), committed(3)], [], [2, 1]),
    ],
)
def test_commits_of_one_session_are_one_run(events, begun, runs):
    found = sorted(merged_offsets(reversed(events), {7: begun}), key=lambda each: each.at)
    assert [1 if each.run is None else each.run.events for each in found] == runs


def test_commits_of_one_producer_with_an_epoch_for_each_transaction_are_one_run():
    """Under transaction.version 2 (KIP-890)."""
    later = committed(2)._replace(actor=Actor(producer=ProducerIdAndEpoch(7, 1)))
    [found] = merged_offsets([committed(1), later], {})
    assert found.run is not None
    assert found.run.events == 2


def test_the_session_of_a_producer_is_the_number_of_its_initializations_until_then():
    sessions = {7: [1_000, 9_000]}
    ats = (1_000 - CLOCKS_MS - 1, 1_000 - CLOCKS_MS, 9_000 - CLOCKS_MS)
    assert [session_of(committed(at), sessions) for at in ats] == [0, 1, 2]
    assert session_of(committed(9_000, None), sessions) == 0


# Markers


@pytest.mark.parametrize(
    ("at", "commits", "ends", "seen"),
    [
        (100_000, True, [], True),
        (100_000, True, [(100_000, True)], False),
        (100_000, True, [(100_000, False)], True),
        (100_000, False, [(100_000, False)], False),
        (100_000, False, [(100_000, True)], True),
        (100_000, True, [(100_000 - MARKERS_MS, True)], False),
        (100_000, True, [(100_000 - MARKERS_MS - 1, True)], True),
        (100_000, True, [(100_000 + MARKERS_MS, True)], False),
        (100_000, True, [(100_000 + MARKERS_MS + 1, True)], True),
        (100_000, True, [(99_000, False), (100_500, True)], False),
    ],
)
def test_a_marker_is_an_event_where_the_log_has_no_such_end_within_a_minute(at, commits, ends, seen):
    events = Events()
    marker = Marker(5, at, commits, ProducerIdAndEpoch(7, 0), 2)
    marker_events([marker], PLACE, events, {7: [time * 2 + each for time, each in ends]}, {7: ORDERS})
    kind = EventKind.TRANSACTION_COMMITTED if commits else EventKind.TRANSACTION_ABORTED
    severity = Severity.INFO if commits else Severity.WARNING
    found = [(each.kind, each.severity, each.connector, each.task) for each in events.collected()]
    assert found == ([(kind, severity, "orders", 0)] if seen else [])


def test_markers_that_commit_are_a_run_and_those_that_abort_are_not():
    events = Events()
    markers = [Marker(at, at, at < 2, ProducerIdAndEpoch(7, 0), 2) for at in range(4)]
    marker_events(markers, PLACE, events, {}, {})
    found = in_order(events.collected())
    assert [(1 if each.run is None else each.run.events, each.connector) for each in found] == [(2, None)] + [
        (1, None)
    ] * 2


# Plans


def plan(connectors: tuple[str, ...], done: int = 0, done_at: int | None = None) -> PlanRecord:
    return PlanRecord("p", "restore", connectors, 1_000, 2, done, done_at)


@pytest.mark.parametrize(
    ("record", "asked", "found"),
    [
        (plan(("a",)), (), [("a", Severity.INFO)]),
        (plan(("a", "b")), (), [(None, Severity.INFO)]),
        (plan(()), (), [(None, Severity.INFO)]),
        (plan(("a", "b")), ("b",), [(None, Severity.INFO)]),
        (plan(("a",)), ("b",), []),
        (plan(()), ("b",), []),
        (plan(("a",), 2, 0), (), [("a", Severity.INFO)] * 2),
        (plan(("a",), 1, 9), (), [("a", Severity.INFO), ("a", Severity.WARNING)]),
    ],
)
def test_a_plan_is_one_event_when_it_was_made_and_one_when_it_was_carried_out(record, asked, found):
    events = Events()
    plan_events([record], events, asked)
    assert sorted((each.connector or "", each.severity.value) for each in events.collected()) == sorted(
        (connector or "", severity.value) for connector, severity in found
    )
