"""One connector from evidence made by hand: its description, its findings, and the next steps."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue import internal_topics
from eosctl.analysis.connect_requests import CommandLine
from eosctl.analysis.connector_description import describe_connector, explain_status, last_statuses, list_all
from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.analysis.rules.registry import diagnose
from eosctl.model.connectors import ConnectorType
from eosctl.model.evidence import Preflight
from eosctl.model.records import Record
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import ConnectorStatus, TaskStatus, WrittenStatus
from tests.analysis.evidence import NOW, A, B, but, commits, described, inspection, worker

LINE = CommandLine(("-b", "broker:9092"), "http://a:8083", None, "--bootstrap-server broker:9092")
NO_OUTPUT = not_asked("nothing")
FENCED = "org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer"
TRACE = f"org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception\nCaused by: {FENCED}"


def show(evidence, name="x", line=LINE, written=None):
    return describe_connector(diagnose(replace(evidence, about=frozenset({name}))), name, NO_OUTPUT, line, written)


def having(*states, connector="RUNNING", trace=None, kind="source"):
    tasks = tuple(
        TaskStatus(number, state, "a:8083", FENCED if state == "FAILED" else None, TRACE if state == "FAILED" else None)
        for number, state in enumerate(states)
    )
    return {"x": ConnectorStatus("x", kind, connector, tasks, "a:8083", trace)}


def commands(found):
    return [step.command for step in found.steps]


def test_nothing_is_to_be_done_about_a_healthy_connector():
    found = show(but())
    assert (found.state, found.findings, found.steps, found.complete) == ("RUNNING", (), (), True)
    assert found.words == "x is RUNNING; tasks: 2 RUNNING"


def test_a_failed_task_leads_to_its_trace_and_to_the_restart_of_that_task_alone():
    found = show(but(statuses=having("RUNNING", "FAILED")))
    assert found.state == "FAILED"
    assert found.words == f"x is FAILED; tasks: 1 RUNNING, 1 FAILED: task 1: {FENCED}"
    assert [each.id for each in found.findings] == ["EOS108"]
    assert commands(found) == [
        "eosctl explain --connector x -b broker:9092",
        "curl -sS -X POST http://a:8083/connectors/x/tasks/1/restart",
    ]


def test_several_failed_tasks_are_restarted_by_one_command():
    steps = commands(show(but(statuses=having("FAILED", "RUNNING", "FAILED"))))
    assert steps[-1] == "curl -sS -X POST 'http://a:8083/connectors/x/tasks/{0,2}/restart'"


def test_a_connector_that_failed_itself_is_restarted_without_its_tasks():
    found = show(but(statuses=having(connector="FAILED", trace=f"Caused by: {FENCED}")))
    assert found.words == f"x is FAILED; tasks: none: the connector failed on a:8083: {FENCED}"
    assert commands(found)[-1] == "curl -sS -X POST http://a:8083/connectors/x/restart"
    assert [each.id for each in found.findings] == ["EOS108"]


def test_a_failed_sink_is_a_finding_though_no_rule_of_doctor_asks_for_sinks():
    found = show(but(statuses=having("FAILED", kind="sink")))
    assert found.type is ConnectorType.SINK
    assert [each.id for each in found.findings if each.counts] == ["EOS108"]
    assert all(isinstance(each, Skipped) for each in (found.exactly_once, found.transactional_ids, found.offsets))


def test_without_an_answer_of_a_worker_the_status_topic_counts_and_is_named_and_the_answer_is_incomplete():
    silent, written = Skipped("a:8083 does not answer"), WrittenStatus(having("FAILED")["x"], NOW - 90_000)
    found = show(but(statuses=silent), written=written)
    assert (found.state, [each.state for each in found.tasks], found.written_ms) == ("FAILED", ["FAILED"], NOW - 90_000)
    assert found.words.startswith("by the status topic, last written 90 s ago, x is FAILED; tasks: 1 FAILED")
    assert found.words.endswith("whether this is so now is unknown: a:8083 does not answer")
    assert (found.complete, commands(found)[-1]) == (False, "eosctl timeline --connector x -b broker:9092")
    assert show(but(statuses=having("RUNNING")), written=written).state == "RUNNING", "a worker's answer is newer"


def test_a_worker_that_wrote_running_and_left_the_group_is_named():
    written = WrittenStatus(ConnectorStatus("x", "source", "RUNNING", (TaskStatus(0, "RUNNING", "gone:8083"),)), NOW)
    found = show(but(statuses=Skipped("no answer")), written=written)
    assert "; gone:8083 is not in the Connect group now; whether this is so now is unknown" in found.words


def test_the_last_status_of_each_key_counts_and_discarded_records_change_nothing():
    def status(offset, task, state, name="x", reason=None):
        kind = StatusKind.CONNECTOR if task is None else StatusKind.TASK
        return StatusRecord(Record(offset, NOW, b"", b""), kind, name, task, state=state, reason=reason)

    own, running = status(0, None, "RUNNING"), status(3, 1, "RUNNING")
    records = [own, status(1, 1, "FAILED"), status(2, 0, "RUNNING"), running, status(4, 0, None)]
    others = [status(5, None, "FAILED", name="y"), status(6, 1, None, reason="its value is no status")]
    assert last_statuses([*records, *others])["x"] == (own, running)
    assert "x" not in last_statuses([*records, status(7, None, None)])


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_a_connector_at_rest_can_be_resumed(state):
    found = show(but(statuses=having(*(["PAUSED"] if state == "PAUSED" else []), connector=state)))
    assert found.state == state
    assert commands(found)[-1] == "curl -sS -X PUT http://a:8083/connectors/x/resume"


def test_a_stopped_connector_with_an_error_is_not_to_be_resumed_before_that_is_fixed():
    shadowed = internal_topics.SHADOWED_OFFSET.finding("x", "it begins from nothing")
    found = show(but(statuses=having(connector="STOPPED"), offset_findings=(shadowed,)))
    assert commands(found)[0].startswith("eosctl explain EOS080")
    assert not any("resume" in each for each in commands(found))


def test_a_running_connector_without_tasks_is_reported_to_copy_nothing():
    assert show(but(statuses=having())).words == "x is RUNNING; tasks: none: it has no task that could copy anything"


def test_without_an_answer_of_the_workers_the_state_is_unknown_and_the_answer_incomplete():
    found = show(but(statuses=not_asked("no --connect-url was given")))
    assert isinstance(found.state, Skipped)
    assert not found.complete
    assert found.words == "x: whether it runs is unknown, and should be STARTED: no --connect-url was given"


def test_a_connector_that_only_the_config_topic_has_is_no_failure():
    found = show(but(statuses={}))
    assert (found.state, found.tasks) == (None, ())
    assert "the workers report no status of it" in found.words


@pytest.mark.parametrize(
    ("changes", "effective"),
    [
        ({}, "yes"),
        ({"workers": {A: worker(A), B: worker(B, enabled=False)}}, "partly"),
        ({"workers": {A: worker(A, enabled=False)}}, "no"),
        ({"workers": {A: worker(A, enabled=Skipped("denied"))}}, "unknown"),
        ({"preflight": {"x": Preflight({A: ("it does not support exactly-once",)})}}, "partly"),
        ({"preflight": Skipped("denied")}, "unknown"),
        ({"preflight": {"x": Preflight({A: (f"it {SAYS_NOTHING}",)})}}, "unknown"),
    ],
)  # fmt: skip
def test_exactly_once_is_in_effect_where_workers_and_connector_say_so(changes, effective):
    assert show(but(**changes)).exactly_once.effective == effective


def test_an_open_transaction_has_an_age_by_the_cluster_s_clock():
    opened = {"g-x-0": described("g-x-0", TransactionState.ONGOING, start_ms=NOW - 90_000)}
    [first, second] = show(but(transactions={**but().transactions, **opened})).transactional_ids
    assert (first.state, first.open_ms, second.open_ms) == ("Ongoing", 90_000, None)


def test_the_ids_of_a_connector_whose_name_begins_with_its_name_are_not_its_own():
    known = {**but().transactions, "g-x-1-0": described("g-x-1-0")}
    assert [each.transactional_id for each in show(but(transactions=known)).transactional_ids] == ["g-x-0", "g-x-1"]


def test_the_last_commit_is_that_of_the_task_that_committed_last():
    found = show(but(commits={"g-x-0": commits(silent_ms=50_000), "g-x-1": commits(silent_ms=7_000)}))
    assert (found.last_commit.ago_ms, found.last_commit.longest_ms) == (7_000, 60_000)


def test_an_error_of_the_cluster_concerns_each_source_and_a_warning_is_only_counted():
    silent = but(workers={A: worker(A), B: Skipped("it does not answer")})
    assert "EOS010" in [each.id for each in show(silent).findings]
    other = but(finalized_features={"metadata.version": 25, "transaction.version": 1})
    found = show(other)
    assert [each.id for each in found.findings if each.counts] == []
    assert [each.id for each in found.others] == ["EOS046"]


def test_the_fix_of_a_finding_is_given_as_commands_that_run_as_they_stand():
    found = show(but(inspection=inspection(**{"exactly.once.support": "required", "errors.tolerance": "all"})))
    assert [each.id for each in found.findings] == ["EOS170"]
    assert commands(found) == ["eosctl explain EOS170 -b broker:9092"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run `eosctl offsets show --connector x` first", ["eosctl offsets show --connector x -b broker:9092"]),
        ("POST /connectors/x/tasks/0/restart; and the same", ["curl -sS -X POST http://a:8083/connectors/x/tasks/0/restart"]),
        ("set it: PUT /connectors/x/config", []),
        ("`eosctl offsets export <file> --connector x`", []),
        ("PUT /connectors/x/stop, take it out (PUT /connectors/x/config), then `eosctl offsets show`", []),
        ("eosctl transactions describe ID --group-id g", []),
        (
            "`kafka-topics.sh --bootstrap-server <broker> --topic t`",
            ["kafka-topics.sh --bootstrap-server broker:9092 --topic t"],
        ),
    ],
)  # fmt: skip
def test_commands_are_taken_from_words_where_nothing_in_them_is_left_open(text, found):
    assert list(LINE.commands(text, "x")) == found


def test_a_worker_that_wants_a_user_is_asked_with_one_and_no_password_is_printed():
    line = CommandLine(rest="https://a:8083", rest_user="me")
    assert line.curl("PUT", "/connectors/x/resume") == "curl -sS -u me -X PUT https://a:8083/connectors/x/resume"
    assert CommandLine().curl("PUT", "/connectors/x/resume") is None


def test_a_status_is_explained_by_its_traces_and_ends_with_the_commands_to_run():
    found = explain_status(having("FAILED")["x"], "g", LINE)
    assert "producer-fenced" in [each.id for each in found.explanations]
    assert not found.found
    assert [step.command for step in found.steps] == [
        "eosctl transactions describe g-x-0 --group-id g -b broker:9092",
        "eosctl transactions log g-x-0 --history -b broker:9092",
        "curl -sS -X POST http://a:8083/connectors/x/tasks/0/restart",
    ]


def test_a_status_without_a_failure_has_nothing_to_explain_and_is_no_finding():
    found = explain_status(having("RUNNING")["x"], "g", LINE)
    assert (found.explanations, found.found, found.state) == ((), False, "x is RUNNING; tasks: 1 RUNNING")


def test_a_list_has_the_connectors_of_workers_and_of_the_config_topic():
    extra = ConnectorStatus("a", "sink", "RUNNING", (TaskStatus(0, "FAILED", "a:8083", FENCED),))
    listed = list_all({"a": extra}, inspection(), {})
    assert [(each.name, each.type, each.state) for each in listed] == [("a", "sink", "FAILED"), ("x", "source", None)]
    assert listed[0].cause == f"task 0: {FENCED}"
    [alone] = list_all(Skipped("unreachable"), inspection(), {})
    assert (alone.name, alone.state, alone.tasks) == ("x", Skipped("unreachable"), Skipped("unreachable"))


def test_a_list_without_a_worker_has_states_of_the_status_topic_for_connectors_that_the_config_topic_has():
    silent, x = Skipped("unreachable"), WrittenStatus(having("FAILED")["x"], NOW)
    gone = WrittenStatus(ConnectorStatus("gone", None, "RUNNING", ()), NOW)
    [listed] = list_all(silent, inspection(), {"gone": gone, "x": x})
    assert (listed.name, listed.state, listed.tasks, listed.written_ms) == ("x", "FAILED", (("FAILED", 1),), NOW)
    named = list_all(silent, silent, {"gone": gone, "x": x})
    assert [(each.name, each.state) for each in named] == [("gone", "RUNNING"), ("x", "FAILED")]


def test_an_error_of_the_cluster_does_not_keep_a_paused_connector_from_being_resumed():
    silent = {A: worker(A), B: Skipped("it does not answer")}
    found = show(but(statuses=having("PAUSED", connector="PAUSED"), workers=silent))
    assert "EOS010" in [each.id for each in found.findings]
    assert commands(found)[-1].endswith("/connectors/x/resume")
