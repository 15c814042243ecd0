"""Which rule of the leader's round of zombie fencing the next start falls under."""

import pytest

from eosctl.analysis.inspection import next_start
from eosctl.model.config_topic import NextStartRule
from eosctl.model.connectors import ConnectorType, TargetState
from tests.analysis.config_records import Log

SOURCE = ConnectorType.SOURCE


def next_start_of(log, name="x", connector_type=SOURCE, group_id="connect-cluster"):
    return next_start(log.survey().state.state(name), connector_type, group_id)


def test_a_commit_after_the_record_fences_as_many_producers_as_the_record_says():
    told = next_start_of(Log(12).healthy("x", 3).tasks("x", 0, 1).commit("x", 2))
    assert (told.rule, told.fences) == (NextStartRule.FENCE, 3)
    assert told.words == (
        "the next start will fence 3 producers (connect-cluster-x-0 … -2): the task commit at offset 20 is later than "
        "the task count record at offset 17"
    )


def test_a_record_after_the_commit_means_already_fenced():
    told = next_start_of(Log().healthy("x", 3))
    assert (told.rule, told.fences) == (NextStartRule.NONE, 0)
    assert told.words == "already fenced: the task count record at offset 5 is later than the task commit at offset 4"


def test_no_record_means_first_start():
    told = next_start_of(Log().config("x").tasks("x", 0, 1).commit("x", 2))
    assert (told.rule, told.fences) == (NextStartRule.FIRST_START, 0)
    assert told.words == "first exactly-once start: nothing to fence"


def test_one_task_after_one_task_fences_itself():
    told = next_start_of(Log().healthy("x", 1).tasks("x", 0).commit("x", 1))
    assert (told.rule, told.fences) == (NextStartRule.SINGLE_TASK, 0)
    assert told.words == "1 -> 1: no fencing, the same ID fences itself"


@pytest.mark.parametrize(("before", "after", "fences"), [(1, 2, 1), (2, 1, 2), (0, 3, 0), (5, 5, 5)])
def test_all_other_changes_fence_the_old_count(before, after, fences):
    log = Log().healthy("x", before).tasks("x", *range(after)).commit("x", after)
    told = next_start_of(log)
    assert (told.rule, told.fences) == (NextStartRule.FENCE, fences)


def test_a_stopped_connector_is_pending_since_stopping_commits_no_tasks():
    told = next_start_of(Log().healthy("x", 1).commit("x", 0).target("x", "STOPPED"))
    assert (told.rule, told.fences) == (NextStartRule.FENCE, 1)
    assert told.words.endswith("(none if it resumes with one task)")


def test_a_sink_is_always_pending_and_never_fenced():
    told = next_start_of(Log().config("x").tasks("x", 0).commit("x", 1), connector_type=ConnectorType.SINK)
    assert (told.rule, told.fences) == (NextStartRule.NONE, 0)
    assert told.words == "a sink: its tasks have no producers to fence"


def test_an_unknown_type_is_not_guessed():
    told = next_start_of(Log().config("x").tasks("x", 0).commit("x", 1), connector_type=None)
    assert told.rule is NextStartRule.FIRST_START
    assert told.words == "first exactly-once start: nothing to fence, if it is a source"


def test_a_deleted_connector_tells_what_a_new_one_would_fence():
    told = next_start_of(Log().healthy("x", 2).put("connector-x", None))
    assert told.rule is NextStartRule.NONE
    assert told.words == "no such connector; a new one of this name would fence 2 producers (connect-cluster-x-0 … -1)"


def test_without_a_group_the_ids_show_what_is_missing():
    told = next_start_of(Log().healthy("x", 1).tasks("x", 0, 1).commit("x", 2), group_id=None)
    assert "1 producer (<group.id>-x-0)" in told.words


def test_a_connector_without_commits_has_nothing_to_fence():
    log = Log().config("x")
    assert next_start_of(log).words == "no task commit yet: nothing to fence"
    assert log.survey().state.state("x").target_state is TargetState.STARTED
