"""One connector from evidence made by hand: its description, its findings, and the next steps."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue import internal_topics
from eosctl.analysis.connect_requests import CommandLine
from eosctl.analysis.connector_description import (
    MIXED,
    NOT_ENABLED,
    describe_connector,
    explain_status,
    is_about,
    last_statuses,
    list_all,
    state_of,
)
from eosctl.analysis.errors import explain_error
from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.analysis.rules.registry import diagnose
from eosctl.model.connectors import ConnectorType
from eosctl.model.evidence import Preflight
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.records import Record
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.status_topic import StatusKind, StatusRecord
from eosctl.model.times import ClusterClock
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import ConnectorStatus, TaskStatus, WrittenStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import FILE, NOW, A, B, but, commits, described, inspection, worker
from tests.analysis.offset_records import record as offset
from tests.analysis.offset_records import report as offsets_report
from tests.analysis.offset_records import topic as offsets_topic

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


# Each decision at its limit. No rule is asked: only the description counts.


def facts(evidence, name="x", line=LINE, written=None):
    about = diagnose(replace(evidence, about=frozenset({name})), ())
    return describe_connector(about, name, NO_OUTPUT, line, written)


C = "http://c:8083"
UNREAD = Skipped("denied")
SETTINGS = {A: FILE, B: FILE}
BOUNDARY = "transaction.boundary"


@pytest.mark.parametrize(
    ("enabled", "answer"),
    [
        ((True, True), "enabled"),
        ((True, False), "mixed"),
        ((False, False), "not enabled"),
        ((True, UNREAD), f"{B}: denied"),
        ((False, UNREAD), f"{B}: denied"),
        ((UNREAD, UNREAD), f"{A}: denied; {B}: denied"),
        ((True, UNREAD, False), "mixed"),
    ],
)
def test_what_one_worker_does_not_tell_matters_unless_others_differ_already(enabled, answer):
    workers = {url: worker(url, enabled=each) for url, each in zip((A, B, C), enabled, strict=False)}
    found = facts(but(workers=workers)).exactly_once.worker
    assert (found.reason if isinstance(found, Skipped) else found) == answer
    assert facts(but(workers=UNREAD)).exactly_once.worker == Skipped("the workers: denied")


@pytest.mark.parametrize(
    ("config", "connector", "boundary", "interval"),
    [
        ({}, "requested", "poll", None),
        ({"exactly.once.support": "Required"}, "required", "poll", None),
        ({BOUNDARY: "INTERVAL", f"{BOUNDARY}.interval.ms": "5000"}, "requested", "interval", 5000),
        ({BOUNDARY: "connector", f"{BOUNDARY}.interval.ms": "5"}, "requested", "connector", None),
        ({f"{BOUNDARY}.interval.ms": "5000"}, "requested", "poll", None),
        ({BOUNDARY: "interval", f"{BOUNDARY}.interval.ms": "x"}, "requested", "interval", None),
        ({BOUNDARY: "interval"}, "requested", "interval", 60_000),
    ],
)  # fmt: skip
def test_the_boundary_and_interval_of_transactions_are_the_connector_s_or_kafka_s_defaults(
    config, connector, boundary, interval
):
    found = facts(but(inspection=inspection(**config))).exactly_once
    assert (found.connector, found.boundary, found.interval_ms) == (connector, boundary, interval)


TIMEOUT = "producer.override.transaction.timeout.ms"


@pytest.mark.parametrize(
    ("transactions", "files", "config", "timeout"),
    [
        ({"g-x-0": replace(described("g-x-0"), timeout_ms=7)}, SETTINGS, {TIMEOUT: "5"}, 7),
        ({"g-x-0": UNREAD, "g-x-1": replace(described("g-x-1"), timeout_ms=7)}, SETTINGS, {}, 7),
        ({"g-y-0": replace(described("g-y-0"), timeout_ms=7)}, SETTINGS, {TIMEOUT: "5"}, 5),
        ({"h-x-0": replace(described("h-x-0"), timeout_ms=7)}, SETTINGS, {TIMEOUT: "5"}, 5),
        ({"other": replace(described("other"), timeout_ms=7)}, SETTINGS, {TIMEOUT: "5"}, 5),
        ({"g-x-0": UNREAD}, SETTINGS, {TIMEOUT: "5"}, 5),
        (UNREAD, SETTINGS, {TIMEOUT: "5"}, 5),
        (UNREAD, SETTINGS, {}, 60_000),
        (UNREAD, SETTINGS, {TIMEOUT: "x"}, None),
        (UNREAD, {A: FILE | {"producer.transaction.timeout.ms": "9"}, B: FILE}, {}, 60_000),
        (UNREAD, {A: FILE, B: {"clusters": "K"}}, {}, None),
        (UNREAD, {}, {}, None),
    ],
)
def test_the_transaction_timeout_is_the_coordinator_s_or_the_longest_of_the_config_or_unknown(
    transactions, files, config, timeout
):
    evidence = but(transactions=transactions, worker_files=files, inspection=inspection(**config))
    assert facts(evidence).exactly_once.timeout_ms == timeout


@pytest.mark.parametrize(
    ("changes", "effective", "why"),
    [
        ({"workers": UNREAD}, "unknown", "whether the workers have it enabled is not known: the workers: denied"),
        ({"workers": {A: worker(A, enabled=False)}}, "no", NOT_ENABLED),
        ({"workers": {A: worker(A), B: worker(B, enabled=False)}}, "partly", MIXED),
        ({"preflight": UNREAD}, "unknown", "whether the connector supports it: denied"),
        ({"preflight": {}}, "unknown", "whether the connector supports it was not answered"),
        ({"preflight": {"x": Preflight({A: UNREAD})}}, "unknown", "whether the connector supports it was not answered"),
        ({"preflight": {"x": Preflight({A: UNREAD, B: ()})}}, "yes", "and the connector declares support"),
        ({"preflight": {"x": Preflight({A: ("no", f"it {SAYS_NOTHING}")})}}, "unknown", "does not declare whether"),
        ({"preflight": {"x": Preflight({A: ("no",), B: ("never",)})}}, "partly", "the connector reports: no; never"),
        ({"preflight": {"y": Preflight({A: ()})}}, "unknown", "was not answered"),
    ],
)  # fmt: skip
def test_the_effect_of_exactly_once_has_its_reason(changes, effective, why):
    found = facts(but(**changes)).exactly_once
    assert (found.effective, why in found.why) == (effective, True)


ELSEWHERE = {"producer.override.bootstrap.servers": "there:9092"}
OPENED = described("g-x-0", TransactionState.ONGOING, start_ms=NOW - 90_000)


@pytest.mark.parametrize(
    ("known", "ahead", "state", "open_ms"),
    [
        (OPENED, None, "Ongoing", 90_000),
        (OPENED, 5_000, "Ongoing", 95_000),
        (OPENED, -100_000, "Ongoing", 0),
        (replace(OPENED, start_ms=None), None, "Ongoing", None),
        (replace(OPENED, state=TransactionState.PREPARE_COMMIT), None, "PrepareCommit", 90_000),
        (replace(OPENED, state=TransactionState.COMPLETE_COMMIT), None, "CompleteCommit", None),
        (UNREAD, None, UNREAD, None),
    ],
)
def test_a_transactional_id_has_the_age_of_its_open_transaction(known, ahead, state, open_ms):
    clock = UNREAD if ahead is None else ClusterClock(1, ahead, 1)
    [found] = facts(but(transactions={"g-x-0": known}, commits={"g-x-0": commits()}, clock=clock)).transactional_ids
    assert (found.state, found.open_ms, found.last_commit_ms) == (state, open_ms, NOW)
    assert (found.producer_id, found.producer_epoch) == ((None, None) if known is UNREAD else (1, 0))


def test_the_ids_of_a_connector_are_those_of_coordinators_and_of_the_log_in_the_order_of_their_tasks():
    known = {name: described(name) for name in ("g-x-10", "g-x-2", "other", "g-y-0")}
    found = facts(but(transactions=known, commits={"g-x-3": commits(), "g-y-1": commits()})).transactional_ids
    assert [(each.transactional_id, each.state, each.last_commit_ms) for each in found] == [
        ("g-x-2", "Empty", None),
        ("g-x-3", None, NOW),
        ("g-x-10", "Empty", None),
    ]
    [alone] = facts(but(transactions={"g-x-0": described("g-x-0")}, commits=UNREAD)).transactional_ids
    assert alone.last_commit_ms == UNREAD
    assert facts(but(transactions=UNREAD)).transactional_ids == UNREAD
    elsewhere = facts(but(inspection=inspection(**ELSEWHERE)))
    assert "another Kafka cluster" in elsewhere.transactional_ids.reason
    assert elsewhere.last_commit == elsewhere.transactional_ids


@pytest.mark.parametrize(
    ("histories", "ahead", "expected"),
    [
        ({"g-x-0": commits(silent_ms=9), "g-x-1": UNREAD}, 0, (NOW - 9, 9, 60_000, 1000)),
        ({"g-x-0": commits(silent_ms=9, longest_ms=5), "g-x-1": commits(silent_ms=8)}, 0, (NOW - 8, 8, 60_000, 1000)),
        ({"g-x-0": commits(silent_ms=9), "g-y-0": commits()}, 0, (NOW - 9, 9, 60_000, 1000)),
        ({"g-x-0": commits(silent_ms=9)}, 5, (NOW - 9, 14, 60_000, 1000)),
        ({"g-x-0": commits(silent_ms=9)}, -10, (NOW - 9, 0, 60_000, 1000)),
        ({"g-x-0": UNREAD}, 0, UNREAD),
        ({"g-y-0": UNREAD}, 0, None),
        ({}, 0, None),
        (UNREAD, 0, UNREAD),
    ],
)
def test_the_last_commit_is_known_from_one_history_and_unknown_where_none_could_be_read(histories, ahead, expected):
    assert facts(but(commits=histories, clock=ClusterClock(1, ahead, 1))).last_commit == expected


def test_the_offsets_of_a_connector_are_its_own_that_are_more_than_tombstones():
    records = [
        offset(0, '["x",{"f":1}]', '{"p":1}'),
        offset(1, '["x",{"f":2}]', None),
        offset(2, '["y",{"f":1}]', '{"p":1}'),
    ]
    read = offsets_report(offsets_topic("global", records), configs={"x": {}, "y": {}})
    assert [str(each.key.raw, "utf-8") for each in facts(but(offsets=read)).offsets] == ['["x",{"f":1}]']
    assert facts(but(offsets=UNREAD)).offsets == UNREAD


def test_missing_acls_the_next_start_and_the_cluster_are_those_that_were_read():
    found = facts(but(acl_in_force=UNREAD, cluster_id=UNREAD, inspection=UNREAD, iceberg=UNREAD))
    assert (found.acls_missing, found.cluster_id, found.next_start, found.iceberg) == (UNREAD, None, UNREAD, None)
    assert (found.target_state, found.connector_class) == (UNREAD, None)
    known = facts(but(inspection=inspection(**{"connector.class": "org.example.OwnSourceConnector"})))
    assert (known.acls_missing, known.cluster_id, known.connector_class) == ((), "K", "OwnSource")
    assert facts(but()).connector_class is None
    absent = facts(but(), name="y")
    assert (absent.next_start, absent.target_state) == (Skipped("the config topic does not mention it"), None)
    deleted = inspection(Log().writer(7).healthy("x", 1).put("connector-x", None))
    assert facts(but(inspection=deleted)).target_state is None


X = having("RUNNING")["x"]


@pytest.mark.parametrize(
    ("status", "read", "type_"),
    [
        (X, UNREAD, "source"),
        (replace(X, type="sink"), inspection(), "sink"),
        (replace(X, type=None), inspection(), "source"),
        (replace(X, type=None), UNREAD, None),
        (UNREAD, inspection(), "source"),
        (None, inspection(), "source"),
        (None, UNREAD, None),
    ],
)
def test_the_type_of_a_connector_is_the_workers_or_the_config_topic_s(status, read, type_):
    statuses = status if isinstance(status, Skipped) else {} if status is None else {"x": status}
    assert facts(but(statuses=statuses, inspection=read)).type == type_


@pytest.mark.parametrize(
    ("own", "tasks", "state"),
    [
        ("RUNNING", ("RUNNING", "FAILED", "UNASSIGNED"), "FAILED"),
        ("FAILED", ("RUNNING",), "FAILED"),
        ("RUNNING", ("UNASSIGNED", "RESTARTING"), "UNASSIGNED"),
        ("RUNNING", ("RESTARTING", "DESTROYED"), "RESTARTING"),
        ("RUNNING", ("DESTROYED", "STOPPED"), "DESTROYED"),
        ("RUNNING", ("STOPPED", "PAUSED"), "STOPPED"),
        ("RUNNING", ("PAUSED", "RUNNING"), "PAUSED"),
        ("RUNNING", ("NEW",), "RUNNING"),
        ("NEW", ("NEW",), "NEW"),
        ("PAUSED", ("UNASSIGNED", "RUNNING"), "PAUSED"),
        ("STOPPED", ("UNASSIGNED",), "STOPPED"),
        ("PAUSED", ("RUNNING", "FAILED"), "FAILED"),
        ("STOPPED", ("FAILED",), "FAILED"),
    ],
)
def test_the_worst_state_counts_and_one_at_rest_is_its_own_unless_a_part_failed(own, tasks, state):
    assert state_of(having(*tasks, connector=own)["x"]) == state


def test_failed_tasks_come_first_and_running_ones_last():
    found = facts(but(statuses=having("RUNNING", "PAUSED", "FAILED", "RUNNING", "UNASSIGNED", "FAILED"))).tasks
    assert [each.task for each in found] == [2, 5, 1, 4, 0, 3]


@pytest.mark.parametrize(
    ("causes", "trace", "words"),
    [
        (["a"], None, "the connector failed on a:8083: no trace is reported; task 0: a"),
        ([None], "", "the connector failed on a:8083: no trace is reported; task 0: no trace is reported"),
        (["a", "a"], "X\nCaused by: Y", "the connector failed on a:8083: Y; tasks 0, 1: a"),
        (["a", "b"], "X", "the connector failed on a:8083: X; task 0: a (and 1 other causes)"),
        (["a", "b", "c"], "X", "the connector failed on a:8083: X; task 0: a (and 2 other causes)"),
    ],
)
def test_the_causes_of_failed_parts_are_named_up_to_two(causes, trace, words):
    tasks = tuple(TaskStatus(number, "FAILED", "a:8083", cause) for number, cause in enumerate(causes))
    failed = ConnectorStatus("x", "source", "FAILED", tasks, "a:8083", trace or None)
    found = facts(but(statuses={"x": failed})).words
    assert found == f"x is FAILED; tasks: {len(tasks)} FAILED: {words}"


@pytest.mark.parametrize(
    ("states", "own", "words"),
    [
        ((), "RUNNING", "x is RUNNING; tasks: none: it has no task that could copy anything"),
        ((), "STOPPED", "x is STOPPED; tasks: none"),
        (("RUNNING",), "RUNNING", "x is RUNNING; tasks: 1 RUNNING"),
        (("UNASSIGNED",), "RUNNING", "x is UNASSIGNED; tasks: 1 UNASSIGNED"),
    ],
)
def test_a_connector_without_failures_has_no_cause(states, own, words):
    assert facts(but(statuses=having(*states, connector=own))).words == words


@pytest.mark.parametrize(
    ("statuses", "read", "words"),
    [
        (UNREAD, UNREAD, "x: whether it runs is unknown: denied"),
        (UNREAD, inspection(Log()), "x: whether it runs is unknown: denied"),
        (UNREAD, inspection(), "x: whether it runs is unknown, and should be STARTED: denied"),
        ({}, UNREAD, "x: the workers report no status of it (the config topic has it)"),
        ({}, inspection(), "x: the workers report no status of it (the config topic has it, and should be STARTED)"),
    ],
)
def test_a_connector_without_a_status_is_described_by_the_config_topic(statuses, read, words):
    assert facts(but(statuses=statuses, inspection=read)).words == words


@pytest.mark.parametrize(("written_ms", "ahead", "ago"), [(NOW, 0, "0 ms"), (NOW + 5, 0, "0 ms"), (NOW, 7, "7 ms")])
def test_the_age_of_a_written_status_is_by_the_cluster_s_clock_and_never_negative(written_ms, ahead, ago):
    evidence = but(statuses=UNREAD, clock=ClusterClock(1, ahead, 1))
    assert f"last written {ago} ago" in facts(evidence, written=WrittenStatus(X, written_ms)).words


@pytest.mark.parametrize(
    ("members", "own", "where", "absent"),
    [
        ((A,), "RUNNING", ("a:8083",), ""),
        ((A, None), "RUNNING", ("a:8083",), ""),
        ((A,), "RUNNING", ("a:8083", "b:8083"), "; b:8083 is not in the Connect group now"),
        ((B,), "RUNNING", ("a:8083", "a:8083"), "; a:8083 is not in the Connect group now"),
        ((C,), "RUNNING", ("a:8083", "b:8083"), "; a:8083, b:8083 are not in the Connect group now"),
        ((B,), "PAUSED", ("b:8083",), ""),
        ((B,), "RUNNING", ("b:8083",), "; a:8083 is not in the Connect group now"),
        ((None,), "PAUSED", (), ""),
        (UNREAD, "RUNNING", ("a:8083",), ""),
    ],
)
def test_workers_that_wrote_running_are_compared_with_the_members_of_the_group(members, own, where, absent):
    tasks = tuple(TaskStatus(number, "RUNNING", each) for number, each in enumerate(where))
    status = ConnectorStatus("x", "source", own, (*tasks, TaskStatus(9, "FAILED", "gone:8083")), "a:8083")
    group = UNREAD
    if not isinstance(members, Skipped):
        group = ConnectGroup("Stable", "connect", "sessioned", tuple(GroupMember(str(url), url) for url in members))
    found = facts(but(statuses=UNREAD, group=group), written=WrittenStatus(status, NOW)).words
    assert f"{absent}; whether this is so now is unknown: denied" in found
    assert found.count(" in the Connect group") == bool(absent)


def status_record(number, kind, task=None, state="RUNNING", reason=None):
    return StatusRecord(Record(number, NOW, b"", b""), kind, "x", task, state=state, reason=reason)


def test_records_about_topics_are_no_status_and_tasks_come_in_their_order():
    own = status_record(0, StatusKind.CONNECTOR)
    second, first, zeroth = (status_record(3 - task, StatusKind.TASK, task) for task in (2, 1, 0))
    of_topic = status_record(9, StatusKind.TOPIC, state="FAILED")
    invalid = status_record(10, StatusKind.INVALID, state="FAILED")
    assert last_statuses([own, second, first, zeroth, of_topic, invalid]) == {"x": (own, zeroth, first, second)}
    assert last_statuses([zeroth]) == {}


def finding(subject="other", severity=Severity.ERROR, **evidence):
    return internal_topics.SHADOWED_OFFSET.finding(subject, "it begins from nothing", evidence, severity=severity)


@pytest.mark.parametrize(
    ("found", "changes", "mine"),
    [
        (finding("x"), {}, True),
        (finding("y"), {}, False),
        (finding("g-x-0"), {}, True),
        (finding("g-x-a"), {}, False),
        (finding("out"), {}, True),
        (finding("out"), {"outputs": UNREAD}, False),
        (finding("out"), {"outputs": {"x": UNREAD}}, False),
        (finding("out"), {"outputs": {"y": ("out",)}}, False),
        (finding("own"), {"inspection": inspection(**{"offsets.storage.topic": "own"})}, True),
        (finding("own"), {}, False),
        (finding(""), {}, False),
        (finding(connector="x"), {}, True),
        (finding(connector="y"), {}, False),
        (finding(connectors=["y", "x"]), {}, True),
        (finding(connectors=["y"]), {}, False),
        (finding(connectors={"x": 1}), {}, False),
    ],
)
def test_a_finding_is_about_a_connector_that_it_names_or_whose_ids_or_topics_it_names(found, changes, mine):
    assert is_about(found, but(**changes), "x") is mine


@pytest.mark.parametrize(
    ("kind", "severity", "mine"),
    [
        ("source", Severity.ERROR, True),
        ("source", Severity.WARNING, False),
        ("sink", Severity.ERROR, False),
    ],
)
def test_an_error_of_something_else_concerns_each_source_and_no_sink(kind, severity, mine):
    other = finding("connect-offsets", severity)
    read = inspection() if kind == "source" else UNREAD
    shown = show(but(statuses=having("RUNNING", kind=kind), offset_findings=(other,), inspection=read))
    assert (other in shown.findings, other in shown.others) == (mine, not mine)


@pytest.mark.parametrize(
    ("kind", "own", "states", "cure"),
    [
        ("sink", "RUNNING", ("FAILED", "RUNNING", "FAILED"), "then POST /connectors/x/tasks/0/restart; POST"),
        ("sink", "FAILED", ("FAILED",), "then POST /connectors/x/restart"),
        ("sink", "RUNNING", ("RUNNING",), None),
        ("sink", "RUNNING", ("UNASSIGNED",), None),
        ("source", "FAILED", (), "then POST /connectors/x/restart"),
    ],
)
def test_a_failure_that_no_rule_found_is_a_finding(kind, own, states, cure):
    found = facts(but(statuses=having(*states, connector=own, kind=kind))).findings
    assert [each.id for each in found] == (["EOS108"] if cure else [])
    assert all(str(cure) in each.cure for each in found)
    assert all(
        each.evidence == {"tasks": [at for at, state in enumerate(states) if state == "FAILED"]} for each in found
    )


SHOWS_OFFSETS = "eosctl offsets show --connector x -b broker:9092"
RESUMES = "curl -sS -X PUT http://a:8083/connectors/x/resume"
RESTARTS = "curl -sS -X POST http://a:8083/connectors/x/restart"
EXPLAINS = "eosctl explain --connector x -b broker:9092"


@pytest.mark.parametrize(
    ("statuses", "line", "steps"),
    [
        (having("RUNNING"), LINE, []),
        (having("UNASSIGNED"), LINE, []),
        (having("PAUSED", connector="PAUSED"), LINE, [SHOWS_OFFSETS, RESUMES]),
        (having(connector="STOPPED"), LINE, [SHOWS_OFFSETS, RESUMES]),
        (having(connector="STOPPED", kind="sink"), LINE, [RESUMES]),
        (having(connector="STOPPED"), CommandLine(("-b", "broker:9092")), [SHOWS_OFFSETS]),
        (having(connector="FAILED", trace="X"), LINE, [EXPLAINS, RESTARTS]),
        (having("FAILED", connector="FAILED"), LINE,
         [EXPLAINS, "curl -sS -X POST http://a:8083/connectors/x/tasks/0/restart"]),
    ],
)  # fmt: skip
def test_each_state_has_its_next_steps(statuses, line, steps):
    assert commands(facts(but(statuses=statuses), line=line)) == steps


@pytest.mark.parametrize(
    ("severity", "subject", "resumed"),
    [
        (Severity.ERROR, "x", False),
        (Severity.WARNING, "x", True),
        (Severity.ERROR, "connect-offsets", True),
    ],
)
def test_a_connector_at_rest_is_resumed_unless_an_error_is_its_own(severity, subject, resumed):
    found = show(but(statuses=having(connector="STOPPED"), offset_findings=(finding(subject, severity),)))
    assert (RESUMES in commands(found)) is resumed
    assert commands(found)[0].startswith("eosctl explain EOS080"), "the fix comes first"


def test_the_fix_of_a_finding_that_only_informs_is_no_next_step_and_one_without_commands_is_explained():
    informing, warning = finding("x", Severity.INFO), finding("x", Severity.WARNING)
    assert commands(show(but(offset_findings=(informing,)))) == []
    running = replace(warning, cure="run `eosctl doctor` first")
    [step] = show(but(offset_findings=(running,))).steps
    assert step == ("to fix EOS080 shadowed-offset", "eosctl doctor -b broker:9092")
    [step] = show(but(offset_findings=(replace(warning, cure="ask somebody"),))).steps
    assert step == (
        "EOS080 shadowed-offset: follow the fix below, step by step",
        "eosctl explain EOS080 -b broker:9092",
    )


def test_the_steps_of_restarts_say_how_many_tasks_they_concern():
    one, two = having("FAILED")["x"], having("FAILED", "FAILED")["x"]
    said = [explain_status(each, "g", LINE).steps[-1].why for each in (one, two)]
    assert said == [
        "after you fixed the cause, restart the failed task",
        "after you fixed the cause, restart the 2 failed tasks",
    ]


@pytest.mark.parametrize(
    ("own", "trace", "cause", "text", "failed"),
    [
        (None, TRACE, FENCED, TRACE, True),
        (None, None, FENCED, FENCED, True),
        (None, None, None, "x", True),
        ("own trace", TRACE, FENCED, f"own trace\n{TRACE}", True),
        (TRACE, TRACE, FENCED, TRACE, True),
    ],
)
def test_the_text_of_a_status_has_each_trace_once_or_the_connector_s_name(own, trace, cause, text, failed):
    status = ConnectorStatus(
        "x", "source", "RUNNING" if own is None else "FAILED", (TaskStatus(0, "FAILED", "a:8083", cause, trace),),
        "a:8083", own,
    )  # fmt: skip
    found = explain_status(status, "g", LINE)
    assert (found.text, found.has_failed) == (text, failed)


def test_a_failure_without_a_known_error_is_shown_with_all_facts_and_restarted():
    unknown = ConnectorStatus("a b", "source", "FAILED", (), "a:8083", "what is this")
    found = explain_status(unknown, "g", LINE)
    assert (found.found, [each.command for each in found.steps]) == (
        True,
        [
            "eosctl connector show 'a b' -b broker:9092",
            "curl -sS -X POST http://a:8083/connectors/a%20b/restart",
        ],
    )
    own = explain_status(replace(unknown, name="x", trace=TRACE), "g", LINE)
    assert [each.why for each in own.steps][-1] == "after you fixed the cause, start the connector again"


def test_the_commands_of_an_explanation_have_their_purpose_and_are_at_most_two():
    found = explain_status(having("FAILED")["x"], "g", LINE)
    assert [each.why for each in found.steps][:2] == [
        "ask the coordinator about the transactional ID",
        "show the history of the transactional ID",
    ]
    asked = [each for one in found.explanations for each in one.commands if each.startswith("eosctl ")]
    assert len(set(asked)) >= 2


def test_each_connector_is_listed_with_the_states_of_its_tasks():
    tasks = having("RUNNING", "FAILED", "RUNNING")["x"]
    [found] = list_all({"x": tasks}, UNREAD, UNREAD)
    assert (found.type, found.target_state, found.connector_class) == ("source", UNREAD, None)
    assert (found.tasks, found.written_ms) == ((("RUNNING", 2), ("FAILED", 1)), None)
    deleted = inspection(Log().writer(7).healthy("x", 1).put("connector-x", None))
    assert list_all({}, deleted, {}) == ()
    assert list_all(UNREAD, deleted, {"x": WrittenStatus(tasks, NOW)}) == ()
    assert list_all(UNREAD, UNREAD, UNREAD) == ()
    [alone] = list_all(UNREAD, inspection(), UNREAD)
    assert (alone.state, alone.written_ms, alone.cause) == (UNREAD, None, None)


def test_a_connector_may_have_the_name_of_a_placeholder():
    cure = "run `eosctl offsets show --connector TOPIC` first"
    assert LINE.commands(cure, "TOPIC") == ("eosctl offsets show --connector TOPIC -b broker:9092",)
    assert LINE.commands(cure, "x") == ()


def test_advice_in_words_stays_with_its_explanation_and_is_no_step():
    status = having(connector="FAILED", trace="org.apache.kafka.common.errors.InvalidFetchSizeException: x")["x"]
    found = explain_status(status, "g", LINE)
    [explained] = found.explanations
    assert explained.commands == (
        "remove the cause in the message, then restart the task; read the first exception of a trace first",
    )
    assert [each.command for each in found.steps] == [
        "eosctl connector show x -b broker:9092",
        RESTARTS,
    ]


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (("--group-id", "h"), "eosctl doctor --group-id h"),
        (("--snapshot", "s.zip"), "eosctl doctor --snapshot s.zip"),
        (("-b", "h:9092"), "eosctl doctor --group-id g -b h:9092"),
        ((), "eosctl doctor --group-id g"),
    ],
)
def test_the_group_id_of_a_command_gives_way_to_that_of_the_options(options, given):
    assert CommandLine(options).eosctl("eosctl doctor --group-id g") == given


@pytest.mark.parametrize(
    ("method", "path", "is_told"),
    [
        ("GET", "/connectors/x/config", True),
        ("PUT", "/connectors/x/config", False),
        ("PUT", "/connectors/x/offsets", False),
        ("PUT", "/connectors/x/stop", True),
        ("POST", "/connectors/x/tasks/<task>/restart", False),
    ],
)
def test_a_request_is_a_command_where_it_has_no_body_and_no_placeholder(method, path, is_told):
    assert (LINE.curl(method, path) is not None) is is_told
    assert CommandLine().curl(method, path) is None


def test_the_profile_is_added_to_eosctl_s_own_commands_only():
    texts = [explain_error(text, "g", "prod") for text in (TRACE, "NotLeaderOrFollowerException", "CoordinatorEpoch")]
    commands = [command for found in texts for each in found for command in each.commands]
    assert {each.endswith(" --profile prod") for each in commands if each.startswith("eosctl ")} == {True}
    assert not any("--profile" in each for each in commands if not each.startswith("eosctl "))
