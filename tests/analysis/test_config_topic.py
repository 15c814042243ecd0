"""The config topic: what its records fold to, and when each was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis import config_topic
from eosctl.analysis.config_topic import (
    ConfigTopicReplay,
    connector_states,
    fold_config_topic,
    of_a_config_topic,
    timeline,
)
from eosctl.codecs.config_topic import decode_config_records
from eosctl.errors import UsageError
from eosctl.model.config_topic import SHOWN, Disposition, Effect, Interleaving, PrivilegedWrites
from eosctl.model.connectors import ConnectorState, Reader, SessionKey, TargetState
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.versions import KafkaVersion
from tests.analysis.config_records import LATEST, UNCOMMITTED, Log

OLD = Reader(KafkaVersion(3, 6, 2))
OLDEST = Reader(KafkaVersion(3, 3, 2))


def folded(log, reader=LATEST):
    return fold_config_topic(log.decoded(), reader)


def test_an_empty_topic_has_no_connectors_and_no_offset():
    state = folded(Log())
    assert (state.offset, state.connectors, state.session_key) == (-1, (), None)
    assert state.state("never-heard-of") == ConnectorState("never-heard-of")


class TestReplayedUpstreamCases:
    def test_restore_reads_the_last_config_and_only_the_committed_task_configs(self):
        log = Log().fencing("a", 4).config("a", topic="one").tasks("a", 0, 1).config("a", topic="two").commit("a", 2)
        log.fencing("b", 9).config("a", topic="three").tasks("a", 0, topic="later")
        state = folded(log)
        a = state.state("a")
        assert state.offset == 9
        assert state.connectors == ("a",)
        assert a.config == {"topic": "three"}
        assert a.target_state is TargetState.STARTED
        assert a.visible_tasks == (0, 1)
        assert a.task_configs == {0: {"topic": "t"}, 1: {"topic": "t"}}
        assert a.deferred == {0: {"topic": "later"}}
        assert (a.task_count_record, a.pending_fencing, a.inconsistent) == (4, True, False)
        assert (state.state("b").task_count_record, state.state("b").pending_fencing) == (9, False)

    def test_restore_of_a_deleted_connector_leaves_nothing_visible(self):
        log = Log().config("a").tasks("a", 0, 1).commit("a", 2).put("connector-a", None).put("target-state-a", None)
        a = folded(log).state("a")
        assert (a.known, a.target_state, a.task_count, a.task_configs, a.deferred) == (False, None, None, {}, None)
        assert (a.pending_fencing, a.generation) == (True, 0)

    def test_restore_of_zero_tasks_shows_none_though_task_configs_remain(self):
        log = Log().config("a").tasks("a", 0, 1).config("a", topic="x").commit("a", 2).config("a").commit("a", 0)
        a = folded(log).state("a")
        assert (a.task_count, a.visible_tasks, a.inconsistent) == (0, (), False)
        assert a.generation == 1

    def test_restore_of_target_states(self):
        log = Log().config("a").target("a", "PAUSED").config("b").target("b", "STOPPED").config("c")
        states = {name: state.target_state for name, state in folded(log).states.items()}
        assert states == {"a": TargetState.PAUSED, "b": TargetState.STOPPED, "c": TargetState.STARTED}

    def test_a_target_state_without_its_connector_is_kept(self):
        assert folded(Log().target("a", "PAUSED")).state("a").target_state is TargetState.PAUSED
        assert folded(Log().target("a", "PAUSED")).connectors == ()

    def test_an_unexpected_target_state_tombstone_means_started(self):
        log = Log().config("a").target("a", "PAUSED").put("target-state-a", None)
        assert folded(log).state("a").target_state is TargetState.STARTED

    def test_missing_task_configs_make_a_connector_inconsistent_until_a_complete_commit(self):
        log = Log().config("a").tasks("a", 0, 2).commit("a", 2)
        a = folded(log).state("a")
        assert (a.inconsistent, a.missing_tasks, a.visible_tasks, a.task_count) == (True, (1,), (), 2)
        assert (a.deferred, a.task_configs, a.generation, a.pending_fencing) == ({}, {}, None, True)
        a = folded(log.tasks("a", 0).commit("a", 1)).state("a")
        assert (a.inconsistent, a.missing_tasks, a.visible_tasks, a.generation) == (False, (), (0,), 0)

    def test_task_count_records_and_generations(self):
        log = Log().config("a").tasks("a", 0, 1).commit("a", 2)
        assert folded(log).state("a").pending_fencing
        a = folded(log.fencing("a", 4)).state("a")
        assert (a.pending_fencing, a.generation, a.task_count_record, a.task_count) == (False, 0, 4, 2)
        assert folded(log.tasks("a", 0).commit("a", 1)).state("a").generation == 1

    def test_restart_requests_are_not_replayed_and_logger_levels_neither(self):
        log = Log().put("restart-connector-a", {"include-tasks": 5}).put("logger-cluster-x", {"level": "INFO"})
        replay = ConfigTopicReplay(LATEST)
        assert [replay.apply(record) for record in log.decoded()] == [Effect.LIVE_ONLY, Effect.LIVE_ONLY]
        assert replay.state().states == {}


class TestVersions:
    def test_a_commit_of_an_unknown_connector_is_dropped_since_3_7_1(self):
        log = Log().tasks("a", 0).commit("a", 1).config("a")
        a = folded(log).state("a")
        assert (a.task_count, a.deferred, a.pending_fencing, a.unclaimed_commit_offset) == (None, None, False, 1)
        old = folded(log, OLD).state("a")
        assert (old.task_count, old.visible_tasks, old.pending_fencing) == (1, (0,), True)
        assert folded(log, Reader(KafkaVersion(3, 7, 0))).state("a").task_count == 1
        assert folded(log, Reader(KafkaVersion(3, 7, 1))).state("a").task_count is None

    def test_a_malformed_commit_of_an_unknown_connector_is_dropped_before_it_can_poison(self):
        log = Log().tasks("a", 0).put("commit-a", {"tasks": "x"})
        for reader, effect in ((LATEST, Effect.UNCLAIMED), (OLD, Effect.POISON)):
            replay = ConfigTopicReplay(reader)
            assert [replay.apply(record) for record in log.decoded()][-1] is effect
        assert folded(log).state("a").deferred is None
        assert folded(log, OLD).state("a").deferred == {0: {"topic": "t"}}

    def test_a_deleted_connectors_task_configs_wait_on_before_3_4(self):
        log = Log().config("a").tasks("a", 0).put("connector-a", None).config("a").commit("a", 1)
        assert folded(log, OLDEST).state("a").visible_tasks == (0,)
        assert folded(log, OLD).state("a").inconsistent

    def test_stopped_is_paused_before_3_5(self):
        log = Log().config("a").target("a", "STOPPED")
        assert folded(log).state("a").target_state is TargetState.STOPPED
        assert folded(log, OLDEST).state("a").target_state is TargetState.PAUSED
        assert folded(Log().put("target-state-a", {"state": "STOPPED"}), OLDEST).state("a").target_state is None


class TestTransactions:
    def test_a_committed_reader_does_not_see_aborted_records(self):
        log = Log().config("a").writer(1, 0, RecordState.ABORTED).config("b")
        assert folded(log).connectors == ("a",)
        assert folded(log, UNCOMMITTED).connectors == ("a", "b")

    def test_a_committed_reader_waits_at_the_first_open_record(self):
        log = Log().config("a").writer(1, 0, RecordState.OPEN).config("b").writer().config("c")
        state = folded(log)
        assert (state.connectors, state.offset, state.blocked_at, state.held_back) == (("a",), 1, 1, 2)
        state = folded(log, UNCOMMITTED)
        assert (state.connectors, state.offset, state.blocked_at, state.held_back) == (("a", "b", "c"), 3, None, 0)


def test_a_session_key_is_known_by_algorithm_age_and_place():
    log = Log(5).put("session-key", {"key": "YQ==", "algorithm": "HmacSHA256", "creation-timestamp": 9})
    assert folded(log).session_key == SessionKey("HmacSHA256", 9, 5)


def test_unreadable_values_do_not_move_the_offset_and_malformed_ones_do():
    assert folded(Log().config("a").put("connector-b", b"{")).offset == 1
    assert folded(Log().config("a").put("connector-b", [])).offset == 2
    assert folded(Log().config("a").put("nonsense", [])).offset == 2


def test_a_tombstone_cannot_clear_a_task_count_record():
    a = folded(Log().healthy("a", 2).put("tasks-fencing-a", None)).state("a")
    assert (a.task_count_record, a.task_count_offset) == (2, 4)


def test_offsets_are_those_of_the_last_applied_record_of_each_kind():
    a = folded(Log(10).healthy("a", 1).target("a", "PAUSED").put("commit-a", b"{")).state("a")
    assert (a.config_offset, a.commit_offset, a.task_count_offset, a.target_state_offset) == (10, 12, 13, 14)


def test_a_frozen_state_is_not_changed_by_later_records():
    replay = ConfigTopicReplay(LATEST)
    first, second = Log().config("a").tasks("a", 0), Log(2).tasks("a", 1).commit("a", 2)
    for record in first.decoded():
        replay.apply(record)
    before = replay.state()
    for record in second.decoded():
        replay.apply(record)
    assert before.state("a").deferred == {0: {"topic": "t"}}
    assert replay.state().state("a").task_count == 2


pieces = st.sampled_from(
    [b"connector-a", b"task-a-0", b"commit-a", b"tasks-fencing-a", b"target-state-a", b"session-key"]
)
values = st.sampled_from([b'{"properties":{}}', b'{"tasks":1}', b'{"task-count":-1}', b'{"state":"X"}', b"{", b"7"])
records = st.builds(
    Record,
    st.just(0),
    st.just(0),
    st.one_of(st.none(), st.binary(), pieces),
    st.one_of(st.none(), st.binary(), values),
    st.sampled_from(RecordState),
)


@given(st.lists(records), st.sampled_from(IsolationLevel), st.sampled_from(["3.3.2", "3.6.2", "4.3.1"]))
def test_any_log_has_a_state(log, level, version):
    numbered = [record._replace(offset=offset) for offset, record in enumerate(log)]
    state = fold_config_topic(decode_config_records(numbered), Reader(KafkaVersion.parse(version), level))
    assert -1 <= state.offset <= len(log)


@pytest.mark.parametrize("tasks", [2**31 - 1, -1])
def test_absurd_task_counts_cost_nothing(tasks):
    a = folded(Log().config("a").commit("a", tasks)).state("a")
    assert (a.inconsistent, a.visible_tasks) == (tasks > 0, ())
    assert len(a.missing_tasks) == (100 if tasks > 0 else 0)


def told(log, connectors=()):
    return [
        (entry.origin.offset, entry.connector, entry.words) for entry in timeline(log.decoded(), LATEST, connectors)
    ]


def test_each_record_is_reported_with_its_effect():
    log = Log().config("x", **{"connector.class": "FileStreamSource"}).tasks("x", 0).commit("x", 2).fencing("x", 2)
    log.target("x", "STOPPED").put("target-state-x", None).put("restart-connector-x", {}).put("connector-x", None)
    log.put("session-key", {"key": "YQ==", "algorithm": "A", "creation-timestamp": 1})
    log.put("logger-cluster-l", {"level": "DEBUG"}).put("what", 1).put("tasks-fencing-x", {}).put("commit-y", b"{")
    assert told(log) == [
        (0, "x", "connector config FileStreamSource"),
        (1, "x", "config of task 0, waiting for a commit"),
        (2, "x", "commit of 2 tasks; fencing pending; task configs missing: 1"),
        (3, "x", "fencing done, 2 tasks recorded"),
        (4, "x", "target state STOPPED"),
        (5, "x", "target state removed"),
        (6, "x", "restart of the connector"),
        (7, "x", "connector deleted"),
        (8, None, "session key (A)"),
        (9, None, "logger l at DEBUG"),
        (10, None, "invalid key what (ignored)"),
        (
            11,
            "x",
            "malformed task-count-record: `task-count` is not an integer "
            "(a worker throws here and loses the rest of that poll)",
        ),
        (12, "y", "malformed task-commit: the value is not JSON (ignored)"),
    ]


def test_unclaimed_aborted_and_held_back_records_say_so():
    log = Log().commit("x", 1).writer(1, 0, RecordState.ABORTED).config("x").writer(1, 0, RecordState.OPEN).config("x")
    effects = [entry.effect for entry in timeline(log.decoded(), LATEST)]
    assert effects == [Effect.UNCLAIMED, Effect.ABORTED, Effect.HELD_BACK]
    assert [words for _, _, words in told(log)] == [
        "commit of 1 task (ignored: the connector's config is unknown)",
        "connector config (aborted: not seen)",
        "connector config (not yet read: after the begin of an open transaction)",
    ]


def test_pending_fencing_is_shown_as_it_was_after_each_record():
    log = Log().healthy("x", 1).commit("x", 0)
    entries = list(timeline(log.decoded(), LATEST))
    assert [entry.pending_fencing for entry in entries] == [False, False, True, False, True]
    assert [entry.inconsistent for entry in entries] == [False] * 5


def test_only_the_connectors_asked_for_are_reported_and_the_others_still_count():
    log = Log().config("x").config("y").put("what", 1).config("x")
    assert [offset for offset, _, _ in told(log, {"x"})] == [0, 3]


def test_the_timeline_reads_as_it_goes():
    log = Log().config("x").decoded()

    def endless():
        yield from log
        raise AssertionError("read too far")

    assert next(timeline(endless(), LATEST)).words == "connector config"


@pytest.mark.parametrize(
    ("foreign", "more", "said"),
    [
        (0, (), None),
        (1, (), "none of its 1 records"),
        (2, (), "none of its 2 records"),
        (2, ("connector-a",), None),
        (3, (), "none of its 3 records"),
        (3, ("connector-a",), "none of its first 3 records"),
        (0, ("connector-a", "x", "x", "x"), None),
    ],
)
def test_a_topic_is_no_config_topic_if_none_of_its_first_records_has_such_a_key(monkeypatch, foreign, more, said):
    monkeypatch.setattr(config_topic, "MOST_FOREIGN", 3)
    log = Log()
    for key in (*["foreign"] * foreign, *more):
        log.put(key, {})
    records = list(log.decoded())
    if said is None:
        assert list(of_a_config_topic(records)) == records
        assert set(connector_states(records)) <= {"a"}
    else:
        with pytest.raises(UsageError, match=said):
            list(of_a_config_topic(records))


def written(*writers, start=0):
    """A config record by each of these producers (ID, epoch); None writes without a transaction."""
    log = Log(start)
    for each in writers:
        log.writer(*(() if each is None else each)).config("x")
    return log.survey().census


@pytest.mark.parametrize(
    ("writers", "writes"),
    [
        ((), PrivilegedWrites()),
        ((None,), PrivilegedWrites(plain=1, last_is_plain=True)),
        (((7, 0),), PrivilegedWrites(transactional=1, last_transactional=0)),
        ((None, (7, 0)), PrivilegedWrites(transactional=1, plain=1, last_transactional=1)),
        (((7, 0), None), PrivilegedWrites(1, 1, 1, 1, 1, 0, last_is_plain=True)),
        (((7, 0), None, None), PrivilegedWrites(1, 2, 2, 1, 2, 0, last_is_plain=True)),
        ((None, (7, 0), None, (7, 0)), PrivilegedWrites(2, 2, 1, 2, 2, 3)),
    ],
)
def test_plain_writes_of_a_leader_count_behind_the_first_transactional_one(writers, writes):
    assert written(*writers).privileged == writes


def test_only_records_that_a_leader_alone_writes_are_privileged():
    census = Log().target("x", "PAUSED").put("logger-cluster-x", {"level": "INFO"}).put("what", 1).survey().census
    assert (census.records, census.privileged) == (3, PrivilegedWrites())


@pytest.mark.parametrize(
    ("writers", "found"),
    [
        (((7, 0), (7, 0)), None),
        (((7, 0), (7, 1), (7, 2)), None),
        (((7, 0), (8, 0), (9, 0)), None),
        (((7, 0), (8, 0), None, (8, 1)), None),
        (((7, 0), None, (7, 0)), None),
        (((7, 2), (7, 1)), ((7, 1), (7, 2), 1, 0, 1, 1)),
        (((7, 0), (7, 0), (8, 0), (7, 0)), ((7, 0), (8, 0), 1, 2, 3, 1)),
        (((7, 0), (8, 0), (8, 0), (7, 0), (8, 0)), ((7, 0), (8, 0), 0, 2, 3, 2)),
        (((7, 0), (7, 1), (8, 0), (7, 1)), ((7, 1), (8, 0), 1, 2, 3, 1)),
    ],
)
def test_two_leaders_write_where_a_producer_comes_back_or_its_epoch_falls(writers, found):
    expected = None
    if found is not None:
        expected = Interleaving(ProducerIdAndEpoch(*found[0]), ProducerIdAndEpoch(*found[1]), *found[2:])
    assert written(*writers).interleaving == expected


def test_an_idempotent_producer_without_a_transaction_is_no_leader_with_a_turn():
    log = Log().writer(0, 0).config("x").writer(8, 0).config("x")
    log.records = [log.records[0], log.records[1]._replace(transactional=False), log.records[0]._replace(offset=2)]
    assert log.survey().census.interleaving is None
    assert written((0, 0), (8, 0), (0, 0)).interleaving is not None


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 1), (SHOWN, SHOWN), (SHOWN + 1, SHOWN)])
def test_of_invalid_keys_the_first_are_examples_and_all_are_counted(count, shown):
    log = Log()
    for number in range(count):
        log.put(f"what-{number}", 1)
    invalid = log.survey().census.invalid_keys
    assert (invalid.count, invalid.examples) == (count, tuple((at, f"what-{at}") for at in range(shown)))


def malformed(*keys, log=None):
    """The keys that are kept of malformed records: `h` is harmless, `p` stops a worker's poll."""
    log = log or Log()
    for each in keys:
        log.put(*((f"connector-{each}", b"{") if each.startswith("h") else (f"tasks-fencing-{each}", {})))
    return [each.connector for each in log.survey().census.malformed]


def names(kind, count):
    return [f"{kind}{number}" for number in range(count)]


def test_harmless_malformed_records_leave_room_for_the_others():
    harmless, harmful = names("h", SHOWN), names("p", SHOWN + 1)
    assert malformed(*harmless) == harmless
    assert malformed(*harmless, "h-more") == harmless
    assert malformed(*harmless, "p") == [*harmless, "p"]
    assert malformed(*harmless, *harmful[:-1]) == [*harmless, *harmful[:-1]]
    assert malformed(*harmless, *harmful) == [*harmless[1:], *harmful]
    assert malformed(*harmless, "p", harmless[0]) == [*harmless[1:], "p", harmless[0]], "a known key keeps its room"
    mixed = ["p", "h", *names("p", 2 * SHOWN - 1)]
    assert malformed(*mixed) == ["p", *mixed[2:]], "the harmless one goes first, though another is older"
    many = names("p", 2 * SHOWN + 1)
    assert malformed(*many[:-1]) == many[:-1]
    assert malformed(*many) == many[1:]


def test_malformed_records_of_one_key_are_counted_and_the_last_one_is_shown():
    keys = names("h", SHOWN)
    census = Log().put("connector-a", b"{").put("connector-b", b"{").put("connector-a", b"[").survey().census
    assert [(each.connector, each.count, each.last_offset) for each in census.malformed] == [("b", 1, 1), ("a", 2, 2)]
    assert malformed(*keys, keys[0]) == [*keys[1:], keys[0]], "a known key is counted where others have no room"


def test_an_aborted_malformed_record_is_none_and_an_unclaimed_commit_is_ignored():
    assert malformed("h", log=Log().writer(7, 0, RecordState.ABORTED)) == []
    log = Log().put("commit-a", {"tasks": "x"})
    assert [each.disposition for each in log.survey().census.malformed] == [Disposition.IGNORED]
    assert [each.disposition for each in log.survey(OLD).census.malformed] == [Disposition.POISON]


def test_the_first_record_of_an_open_transaction_is_shown_and_all_are_counted():
    log = Log().config("x").writer(7, 0, RecordState.ABORTED).config("x").writer(7, 1, RecordState.OPEN)
    census = log.config("x").config("x").survey().census
    assert (census.records, census.aborted, census.open) == (4, 1, 2)
    assert census.first_open is not None
    assert census.first_open.offset == 2
    assert Log().config("x").survey().census.first_open is None


@pytest.mark.parametrize(("version", "visible"), [("3.3.9", (0,)), ("3.4.0", ())])
def test_a_tombstone_takes_waiting_task_configs_along_from_3_4_on(version, visible):
    log = Log().config("a").tasks("a", 0).put("connector-a", None).config("a").commit("a", 1)
    assert folded(log, Reader(KafkaVersion.parse(version))).state("a").visible_tasks == visible


def test_behind_an_open_transaction_an_aborted_record_is_held_back_like_every_other_one():
    log = Log().writer(1, 0, RecordState.ABORTED).config("a").writer(1, 1, RecordState.OPEN).config("b")
    log.writer(1, 2, RecordState.ABORTED).config("c")
    replay = ConfigTopicReplay(LATEST)
    assert [replay.apply(each) for each in log.decoded()] == [Effect.ABORTED, Effect.HELD_BACK, Effect.HELD_BACK]
    assert (replay.state().blocked_at, replay.state().held_back) == (1, 2)


def test_a_target_state_survives_the_config_that_comes_behind_it():
    assert folded(Log().target("a", "PAUSED").config("a")).state("a").target_state is TargetState.PAUSED
    assert folded(Log().target("a", "PAUSED").put("target-state-a", None)).state("a").target_state is None


def test_a_target_state_that_a_worker_does_not_know_leaves_the_last_one():
    replay = ConfigTopicReplay(OLDEST)
    records = Log().config("a").target("a", "PAUSED").put("target-state-a", {"state": "STOPPED"}).decoded()
    assert [replay.apply(each) for each in records] == [Effect.APPLIED, Effect.APPLIED, Effect.IGNORED]
    assert replay.state().state("a").target_state is TargetState.PAUSED


def test_what_a_replay_says_of_a_connector_that_it_does_not_know():
    replay = ConfigTopicReplay(LATEST)
    assert (replay.is_pending_fencing("x"), replay.missing_tasks("x")) == (False, ())


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("restart-connector-x", {"include-tasks": True}, "restart of the connector with its tasks"),
        ("restart-connector-x", {"only-failed": True}, "restart of the connector, FAILED ones only"),
        ("restart-connector-x", {"include-tasks": True, "only-failed": True},
         "restart of the connector with its tasks, FAILED ones only"),
        ("connector-x", {"properties": {}}, "connector config"),
        ("target-state-x", {"state": "PAUSED"}, "target state PAUSED"),
        ("target-state-x", {"state": "PAUSED", "state.v2": "STOPPED"}, "target state STOPPED"),
        ("w" * 101, 1, f"invalid key {'w' * 100} (ignored)"),
    ],
)  # fmt: skip
def test_a_record_is_told_in_words(key, value, words):
    assert [each for *_, each in told(Log().put(key, value))] == [words]


def test_of_missing_task_configs_ten_are_named():
    *_, (_, _, words) = told(Log().config("x").commit("x", 11))
    assert words == "commit of 11 tasks; fencing pending; task configs missing: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
