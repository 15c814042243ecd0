"""The history of a config topic in words."""

from eosctl.analysis.config_topic import timeline
from eosctl.model.config_topic import Effect
from eosctl.model.records import RecordState
from tests.analysis.config_records import LATEST, Log


def told(log, connectors=()):
    return [
        (entry.origin.offset, entry.connector, entry.words) for entry in timeline(log.decoded(), LATEST, connectors)
    ]


def test_each_record_is_told_with_its_effect():
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
        (6, "x", "restart, tasks included: False, only failed: False"),
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
        "connector config (not yet seen: behind an open transaction)",
    ]


def test_pending_fencing_is_told_as_it_was_after_each_record():
    log = Log().healthy("x", 1).commit("x", 0)
    entries = list(timeline(log.decoded(), LATEST))
    assert [entry.pending_fencing for entry in entries] == [False, False, True, False, True]
    assert [entry.inconsistent for entry in entries] == [False] * 5


def test_only_the_connectors_asked_for_are_told_and_the_others_still_count():
    log = Log().config("x").config("y").put("what", 1).config("x")
    assert [offset for offset, _, _ in told(log, {"x"})] == [0, 3]


def test_the_timeline_reads_as_it_goes():
    log = Log().config("x").decoded()

    def endless():
        yield from log
        raise AssertionError("read too far")

    assert next(timeline(endless(), LATEST)).words == "connector config"
