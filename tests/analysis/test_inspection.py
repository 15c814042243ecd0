"""Findings about settings of connectors, workers and clients."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.client_configs import connector_client, refused_by_producer, refused_overrides
from eosctl.analysis.connect_requests import for_connector, put_config, restart_tasks
from eosctl.analysis.inspection import ReportedConnectors, inspect, why_impossible
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.connectors import ConnectorType, Reader
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS
from eosctl.model.workers import connector_path
from tests.analysis.config_records import LATEST, Log

COMPACT = TopicFacts("connect-configs", 1, 3, {"cleanup.policy": "compact"})


def inspected(log, reader=LATEST, **given):
    reported = ReportedConnectors(
        **{each: given.pop(each) for each in ("types", "running_tasks", "as_of") if each in given}
    )
    return inspect(log.survey(reader), topic="connect-configs", reported=reported, **{"topic_facts": COMPACT, **given})


def found(log, **given):
    return {finding.name: finding for finding in inspected(log, **given).findings}


def healthy():
    return Log().writer(7).healthy("x", 2).writer().target("x", "STARTED")


def test_a_healthy_topic_has_no_findings():
    inspection = inspected(healthy(), types={"x": "source"}, running_tasks={"x": 2})
    assert inspection.findings == ()
    assert [connector.state.name for connector in inspection.connectors] == ["x"]


class TestConnectors:
    def test_tasks_that_run_while_fencing_is_pending_are_an_error(self):
        log = healthy().writer(7).tasks("x", 0, 1).commit("x", 2)
        assert set(found(log, running_tasks={"x": 2})) == {"pending-fencing-with-running-tasks"}
        finding = found(log, running_tasks={"x": 2})["pending-fencing-with-running-tasks"]
        assert (finding.severity, finding.subject) == (Severity.ERROR, "x")
        assert finding.evidence["running_tasks"] == 2
        assert found(log, running_tasks={"x": 0}) == {}
        assert found(log, running_tasks={}) == {}
        assert found(log, running_tasks=Skipped("no Connect URL")) == {}
        assert found(log, running_tasks={"x": 2}, types={"x": "sink"}) == {}

    @pytest.mark.parametrize(
        ("age_ms", "severity", "words"),
        [
            (0, Severity.INFO, "a round of fencing may take until 2026-09-21T14:14:50.008Z"),
            (89_999, Severity.INFO, "a start may be in progress, with tasks from before it"),
            (90_000, Severity.ERROR, "they started without a round of fencing, so older tasks may still write"),
            (-89_999, Severity.INFO, "a start may be in progress"),
            (-90_000, Severity.WARNING, "the commit has a time in the future, 2026-09-21T14:13:20.008Z"),
        ],
    )
    def test_the_age_of_the_commit_distinguishes_a_start_in_progress_from_one_without_fencing(
        self, age_ms, severity, words
    ):
        log = healthy().writer(7).tasks("x", 0, 1).commit("x", 2)
        committed = log.records[-1].timestamp
        finding = found(log, running_tasks={"x": 2}, as_of=committed + age_ms)["pending-fencing-with-running-tasks"]
        assert finding.severity == severity
        assert words in finding.message
        assert ("/restart" in finding.cure) is (severity is Severity.ERROR)

    def test_tasks_that_a_stop_is_about_to_end_are_no_error(self):
        stopped = healthy().writer(7).commit("x", 0).target("x", "STOPPED")
        assert found(stopped, running_tasks={"x": 2}) == {}
        paused = healthy().writer(7).tasks("x", 0, 1).commit("x", 2).target("x", "PAUSED")
        assert found(paused, running_tasks={"x": 2}) == {}
        assert found(stopped.target("x", "STARTED"), running_tasks={"x": 2}) == {}
        again = stopped.target("x", "STARTED").tasks("x", 0, 1).commit("x", 2)
        assert set(found(again, running_tasks={"x": 2})) == {"pending-fencing-with-running-tasks"}

    def test_a_record_that_differs_from_the_commit_before_it(self):
        log = Log().config("x").tasks("x", 0, 1).commit("x", 2).fencing("x", 4)
        assert found(log)["task-count-mismatch"].evidence["task_count_record"] == 4
        assert "task-count-mismatch" not in found(log.commit("x", 0))

    @pytest.mark.parametrize(
        ("version", "action"), [("3.4.1", "DELETE /connectors/x;"), ("3.5.0", "PUT /connectors/x/stop)")]
    )
    def test_a_connector_that_workers_cannot_stop_is_deleted_and_created_again(self, version, action):
        log = Log().config("x").tasks("x", 0, 1).commit("x", 2).fencing("x", 4)
        finding = inspected(log, Reader(KafkaVersion.parse(version))).findings[0]
        assert action in finding.cure

    def test_a_source_without_a_record_on_a_cluster_that_has_records(self):
        log = Log().healthy("x", 1).config("y").tasks("y", 0).commit("y", 1)
        assert set(found(log, types={"x": "source", "y": "source"})) == {"commit-without-task-count-record"}
        assert found(log, types={"x": "source", "y": "sink"}) == {}
        assert found(log, types=Skipped("no Connect URL")) == {}
        alone = Log().config("y").tasks("y", 0).commit("y", 1)
        assert found(alone, types={"y": "source"}) == {}
        assert found(log.commit("y", 0).target("y", "STOPPED"), types={"y": "source"}) == {}

    def test_missing_task_configs_are_named(self):
        log = Log().config("x").tasks("x", 1).commit("x", 3)
        finding = found(log)["inconsistent-connector"]
        assert "removed the config of task 0, 2." in finding.message
        assert "POST /connectors/x/restart" in finding.cure
        assert "resume it (PUT /connectors/x/resume), which writes them all" in finding.cure
        [older] = inspected(log, Reader(KafkaVersion(3, 3, 2))).findings
        assert ("/resume" in older.cure, "create it again" in older.cure) == (False, True)

    def test_a_commit_that_compaction_left_before_its_config(self):
        log = Log().tasks("x", 0).commit("x", 1).config("x")
        assert set(found(log)) == {"commit-before-config"}
        old = {finding.name for finding in inspected(log, Reader(KafkaVersion(3, 6, 2))).findings}
        assert old == set()
        assert found(log.tasks("x", 0).commit("x", 1)) == {}

    def test_leftovers_are_reported_as_info(self):
        finding = found(Log().healthy("x", 2).put("connector-x", None), group_id="g")["orphan-records"]
        assert finding.severity is Severity.INFO
        assert not finding.counts
        assert finding.message.endswith("a new one of this name would fence 2 producers (g-x-0 … -1)")
        assert found(Log().config("x").put("connector-x", None)) == {}


class TestCommitsWithoutRecord:
    @pytest.mark.parametrize(
        ("log", "is_found"),
        [
            (Log().writer(7).healthy("y", 1).config("x").tasks("x", 0).commit("x", 1), True),
            (Log().writer(7).healthy("y", 1).config("x").commit("x", 0), False),
            (Log().writer(7).healthy("y", 1).config("x").tasks("x", 0).commit("x", 1).target("x", "PAUSED"), False),
            (Log().writer(7).healthy("y", 1).config("x").tasks("x", 0).commit("x", 1).put("connector-x", None), False),
            (Log().writer(7).config("x").tasks("x", 0).commit("x", 1), False),
        ],
    )
    def test_tasks_without_a_count_beside_connectors_with_one_were_never_fenced(self, log, is_found):
        shown = found(log, types={"x": "source", "y": "source"})
        assert ("commit-without-task-count-record" in shown) is is_found


class TestWriters:
    def test_plain_leader_records_after_transactional_ones(self):
        finding = found(healthy().config("y"))["mixed-writers"]
        assert finding.severity is Severity.ERROR
        assert finding.evidence["first_offset"] == 6
        back = found(healthy().config("y").writer(7, 1).config("y"))["mixed-writers"]
        assert back.severity is Severity.INFO, "a leader writes in transactions again: history"

    def test_target_states_and_logger_levels_are_plain_by_right(self):
        assert found(healthy().target("x", "PAUSED").put("logger-cluster-a", {"level": "INFO"})) == {}

    def test_plain_records_before_transactional_ones_are_an_upgrade(self):
        assert found(Log().healthy("x", 1).writer(7).config("x")) == {}

    def test_a_producer_that_comes_back_shares_the_topic_with_another_leader(self):
        finding = found(Log().writer(7).config("x").writer(8).config("x").writer(7).config("x"))["interleaved-leaders"]
        assert finding.evidence == {"producers": ["7/0", "8/0"], "offset": 2, "count": 1}
        again = Log().writer(7).config("x").writer(8).config("x").writer(7).config("x").writer(8).config("x")
        assert found(again)["interleaved-leaders"].evidence["count"] == 2

    def test_an_epoch_that_falls_is_two_writers_too(self):
        assert "interleaved-leaders" in found(Log().writer(7, 2).config("x").writer(7, 1).config("x"))

    def test_rising_epochs_and_new_producers_are_one_leader_after_another(self):
        assert found(Log().writer(7).config("x").writer(7, 1).config("x").writer(9).config("x")) == {}


class TestRecords:
    def test_a_poison_record_is_an_error_with_its_place(self):
        finding = found(Log().config("x").put("commit-x", {"tasks": "2"}).put("commit-x", {}))["poison-record"]
        assert (finding.severity, finding.subject) == (Severity.ERROR, "commit-x")
        assert finding.evidence == {"offset": 2, "count": 2, "kind": "task-commit"}

    def test_a_commit_of_an_unknown_connector_does_not_poison(self):
        assert found(Log().config("y").put("commit-x", {"tasks": "2"}))["malformed-record"].subject == "commit-x"

    def test_a_null_key_is_fatal(self):
        assert found(Log().config("x").put(None, {}))["fatal-record"].subject == "null"

    def test_malformed_values_are_warnings_and_stray_tombstones_info(self):
        assert found(Log().config("x").put("connector-y", b"{"))["malformed-record"].severity is Severity.WARNING
        assert found(Log().config("x").put("task-x-0", None))["malformed-record"].severity is Severity.INFO

    def test_an_aborted_poison_record_does_not_affect_read_committed_workers(self):
        log = Log().config("x").writer(7, 0, RecordState.ABORTED).put("commit-x", {})
        assert found(log) == {}

    def test_trouble_without_end_is_counted_and_examples_kept(self):
        log = Log().config("x")
        for n in range(500):
            log.put(f"connector-{n}", b"{").put(f"what-{n}", 1)
        log.put("commit-x", {})
        findings = inspected(log).findings
        assert findings[0].name == "poison-record"
        assert len(findings) < 50
        invalid = next(finding for finding in findings if finding.name == "invalid-keys")
        assert (invalid.evidence["count"], len(invalid.evidence["examples"])) == (500, 20)

    def test_a_topic_without_a_single_known_key_is_not_a_config_topic(self):
        assert set(found(Log().put('["c",{}]', {}).put("x", {}))) == {"not-a-config-topic"}
        data = TopicFacts("payments", 6, 3, {"cleanup.policy": "delete"})
        for log in (Log().put("x", {}), Log().put(None, {}), Log().writer(7, 3, RecordState.OPEN).put("x", {})):
            inspection = inspected(log, topic_facts=data)
            assert [each.name for each in inspection.findings] == ["not-a-config-topic"]
            assert not inspection.census.is_config_topic
        assert found(Log()) == {}

    def test_an_open_transaction_is_distinguished_from_the_records(self):
        log = Log().config("x").writer(7, 3, RecordState.OPEN).config("y")
        finding = found(log, group_id="g")["open-transaction"]
        assert finding.severity is Severity.WARNING
        assert finding.evidence == {"start_offset": 1, "producer": "7/3", "records": 1}
        assert "eosctl fence --transactional-id connect-cluster-g" in finding.cure

    def test_an_open_transaction_is_distinguished_from_the_last_stable_offset(self):
        offsets = PartitionOffsets(TopicPartition("connect-configs", 0), 0, 5, 9)
        assert found(Log().config("x"), offsets=offsets)["open-transaction"].evidence["start_offset"] == 5


class TestTopic:
    def test_more_than_one_partition(self):
        facts = TopicFacts("connect-configs", 3, 1, {"cleanup.policy": "compact"})
        assert found(healthy(), topic_facts=facts)["more-than-one-partition"].evidence == {"partitions": 3}

    @pytest.mark.parametrize("policy", ["delete", "compact,delete"])
    def test_another_cleanup_policy_than_compact(self, policy):
        facts = TopicFacts("connect-configs", 1, 1, {"cleanup.policy": policy})
        assert found(healthy(), topic_facts=facts)["wrong-cleanup-policy"].severity is Severity.ERROR

    def test_a_policy_that_could_not_be_read_is_skipped_not_fine(self):
        inspection = inspected(healthy(), topic_facts=TopicFacts("connect-configs", 1, 1))
        assert inspection.findings == ()
        assert "cleanup_policy" in inspection.skipped


class TestAnswer:
    def test_types_come_from_rest_else_from_the_task_count_record_else_from_nowhere(self):
        log = Log().healthy("a", 1).config("b").config("c")
        types = [connector.type for connector in inspected(log, types={"b": "sink", "c": "unknown"}).connectors]
        assert types == [ConnectorType.SOURCE, ConnectorType.SINK, None]

    def test_only_the_selected_connectors_are_reported_and_strangers_are_absent(self):
        log = Log().config("a").config("b").tasks("b", 1).commit("b", 2)
        inspection = inspected(log, selected=["a", "zz"])
        assert [connector.state.name for connector in inspection.connectors] == ["a"]
        assert inspection.absent == ("zz",)
        assert inspection.findings == ()

    def test_an_unread_fact_is_named(self):
        log = healthy()
        assert set(inspected(log).skipped) == {"offsets", "types", "running_tasks"}
        assert inspected(log, types=Skipped("no Connect URL")).skipped["types"] == Skipped("no Connect URL")
        assert inspected(log).connectors[0].running_tasks == Skipped("not asked")

    def test_errors_come_first(self):
        log = healthy().config("y").put("what", 1).put("connector-y", b"{")
        assert [finding.severity for finding in inspected(log).findings] == ["error", "warning", "info"]


TIMEOUT = "transaction.timeout.ms"
UNREAD = not_asked("no file was given")


def client(role=ClientRole.PRODUCER, worker=None, config=None, *, exactly_once=True, **more):
    given = WorkerConfig(as_properties({"group.id": "g"} | (worker or {})), **more)
    return connector_client(given, ConnectorConfig("c", as_properties(config or {})), role, exactly_once=exactly_once)


def test_the_connector_wins_over_the_worker_and_the_worker_over_connect_and_connect_over_the_default() -> None:
    worker = {"producer.acks": "1", "producer.linger.ms": "7", f"producer.{TIMEOUT}": "1000"}
    found = client(worker=worker, config={f"producer.override.{TIMEOUT}": " 2000 "})
    assert (found.number(TIMEOUT), found.setting("acks"), found.setting("linger.ms")) == (2000, "1", "7")
    assert (found.origin(TIMEOUT), found.origin("acks")) == (f"producer.override.{TIMEOUT}", "producer.acks")
    assert found.setting("max.in.flight.requests.per.connection") == "1"
    assert client().number(TIMEOUT) == 60_000


@pytest.mark.parametrize(("servers", "own"), [("b:9092, a:9092", False), ("c:9092", True)])
def test_the_workers_servers_given_again_in_another_place_are_the_workers(servers: str, own: bool) -> None:
    worker = {"bootstrap.servers": "a:9092,b:9092"}
    assert client(worker=worker | {"producer.bootstrap.servers": servers}).servers_of_its_own is own
    assert client(worker=worker, config={"producer.override.bootstrap.servers": servers}).servers_of_its_own is own


def test_exactly_once_replaces_settings_of_workers_and_connectors() -> None:
    config = {"producer.override.enable.idempotence": "false", "producer.override.transactional.id": "mine"}
    forced = client(config=config)
    assert (forced.get("enable.idempotence"), forced.get("transactional.id")) == ("true", "g-c-0")
    plain = client(config=config, exactly_once=False)
    assert (plain.get("enable.idempotence"), plain.get("transactional.id")) == ("false", "mine")
    uncommitted = {"consumer.isolation.level": "read_uncommitted"}
    assert client(ClientRole.CONSUMER, uncommitted).setting("isolation.level") == "read_committed"
    assert client(ClientRole.CONSUMER, uncommitted, exactly_once=False).get("isolation.level") == "read_uncommitted"


def test_of_a_worker_that_is_not_known_only_what_it_cannot_change_is_known() -> None:
    found = client(config={"producer.override.acks": "1"}, unread=UNREAD)
    assert (found.setting("acks"), found.setting(TIMEOUT), found.setting("enable.idempotence")) == ("1", UNREAD, "true")
    assert client(ClientRole.CONSUMER, unread=UNREAD, exactly_once=False).setting("isolation.level") == UNREAD


@pytest.mark.parametrize("value", ["${env:T}", "a${file:/x:y}b", "[hidden]"])
def test_a_reference_and_a_hidden_value_are_not_known(value) -> None:
    found = client(worker={f"producer.{TIMEOUT}": value})
    assert isinstance(found.setting(TIMEOUT), Skipped)
    assert [isinstance(each, Skipped) for each in refused_by_producer(found)] == [True]


def test_an_unknown_key_and_a_key_of_another_version_have_no_known_value() -> None:
    assert isinstance(client().setting("no.such.key"), Skipped)
    longest = {"admin.retry.backoff.max.ms": "5"}
    assert client(ClientRole.ADMIN, longest).number("retry.backoff.max.ms") == 5
    old = client(ClientRole.ADMIN, longest, version=KafkaVersion(3, 6, 2))
    assert isinstance(old.setting("retry.backoff.max.ms"), Skipped)


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        *(("acks", value, value not in {"all", " -1"}) for value in ("all", " -1", "ALL", "1", "2")),
        *(("retries", value, value != "+1") for value in ("+1", "0", "-1", "2147483648", "1.0")),
        *(("max.in.flight.requests.per.connection", value, value != "5") for value in ("5", "6", "0", "five")),
        *((TIMEOUT, value, value != "-5") for value in ("-5", "ten", "")),
    ],
)
def test_a_producer_with_exactly_once_refuses_what_is_not_idempotent_or_no_number(key, value, refused) -> None:
    assert list(refused_by_producer(client(config={f"producer.override.{key}": value}))) == [key] * refused


@pytest.mark.parametrize("policy", ["Allowlist", "None"])
def test_a_refused_override_is_named_and_left_out(policy) -> None:
    worker = {
        "connector.client.config.override.policy": policy,
        "connector.client.config.override.allowlist": "retries, linger.ms",
    }
    config = {"producer.override.acks": "1", "producer.override.linger.ms": "3"}
    found, given = client(worker=worker, config=config), ConnectorConfig("c", as_properties(config))
    named = refused_overrides(WorkerConfig(as_properties(worker)), given)
    assert named == tuple(config)[: 1 if policy == "Allowlist" else 2]
    assert (found.get("acks"), found.get("linger.ms")) == ("all", "3" if policy == "Allowlist" else None)
    assert client(worker=worker, config={"producer.override.acks": "1"}, dedicated=True).get("acks") == "1"


def test_a_mirror_s_setting_for_all_consumers_wins_over_its_setting_for_a_cluster() -> None:
    config = {
        "source.cluster.security.protocol": "SSL",
        "source.cluster.isolation.level": "read_committed",
        "consumer.security.protocol": "SASL_SSL",
    }
    found = client(ClientRole.MIRROR_SOURCE_CONSUMER, config=config)
    assert (found.get("security.protocol"), found.setting("isolation.level")) == ("SASL_SSL", "read_uncommitted")
    nearest = client(ClientRole.MIRROR_SOURCE_CONSUMER, config=config | {"source.consumer.security.protocol": "SSL"})
    assert nearest.get("security.protocol") == "SSL"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("orders", "/connectors/orders"),
        ("a b", "/connectors/a%20b"),
        ("a/b?c=%d", "/connectors/a%2Fb%3Fc%3D%25d"),
        ("ü-😀", "/connectors/%C3%BC-%F0%9F%98%80"),
    ],
)
def test_a_path_can_be_pasted_with_any_name(name: str, path: str) -> None:
    assert connector_path(name) == path


@given(st.text(st.characters(codec="utf-8")))
def test_the_name_can_be_read_from_the_path(name: str) -> None:
    path = connector_path(name)
    assert unquote(path.removeprefix("/connectors/")) == name
    assert path.count("/") == 2
    assert path == f"/connectors/{quote(name, safe='')}"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("orders", "PUT /connectors/orders/stop, then `eosctl offsets show --connector orders`"),
        ("it's a/b", "PUT /connectors/it%27s%20a%2Fb/stop, then `eosctl offsets show --connector 'it'\"'\"'s a/b'`"),
    ],
)
def test_a_cure_names_its_connector_so_that_it_can_be_pasted(name: str, fix: str) -> None:
    cure = "PUT /connectors/<connector>/stop, then `eosctl offsets show --connector <connector>`"
    assert for_connector(cure, name) == fix


def test_each_task_is_restarted_by_a_request_of_its_own() -> None:
    assert restart_tasks("c", [3, 0]) == "POST /connectors/c/tasks/0/restart; POST /connectors/c/tasks/3/restart"


def test_of_many_tasks_ten_are_reported_in_full_and_none_is_left_out() -> None:
    fix = restart_tasks("c", [*range(10), 10, 12, 13, 14, 99])
    assert fix.count("POST") == 10
    assert fix.endswith("/tasks/9/restart; and the same for tasks 10, 12-14, 99")


def test_workers_that_restart_no_task_for_a_change_are_asked_to() -> None:
    """The oldest worker decides: a task may be on any of them."""
    assert put_config("a b", ()) == "PUT /connectors/a%20b/config"
    assert put_config("c", (KafkaVersion(4, 3, 1), KafkaVersion(3, 7, 1))) == "PUT /connectors/c/config"
    assert put_config("c", (KafkaVersion(3, 7, 1), KafkaVersion(3, 7, 0))) == (
        "PUT /connectors/c/config; then POST /connectors/c/tasks/<task>/restart for each task, for workers before "
        "3.7.1 do not restart tasks whose task configs are unchanged (KAFKA-9228)"
    )


# Each finding at its limits


def only(log, name, **given):
    return found(log, **given)[name]


@pytest.mark.parametrize(
    ("count", "fenced", "running"), [(4, "4 producers", "1 producer"), (0, "0 producers", "1 producer")]
)
def test_a_count_that_differs_says_how_many_producers_are_fenced_and_how_many_run(count, fenced, running):
    log = Log().config("x").tasks("x", 0).commit("x", 1).fencing("x", count)
    assert only(log, "task-count-mismatch").message.endswith(f"the next round will fence {fenced}, not {running}")


def test_a_count_that_is_the_commit_s_is_no_mismatch_and_neither_is_one_without_a_connector():
    assert found(Log().config("x").tasks("x", 0).commit("x", 1).fencing("x", 1)) == {}
    gone = Log().config("x").tasks("x", 0).commit("x", 1).fencing("x", 4).put("connector-x", None)
    assert "task-count-mismatch" not in found(gone)
    assert found(Log().config("x").fencing("x", 4)) == {}


@pytest.mark.parametrize(("tasks", "were"), [(1, "1 task was"), (2, "2 tasks were")])
def test_a_commit_without_a_record_says_how_many_tasks_it_has(tasks, were):
    log = Log().healthy("x", 1).config("y").tasks("y", *range(tasks)).commit("y", tasks)
    finding = only(log, "commit-without-task-count-record", types={"y": "source"})
    assert finding.message.startswith(f"{were} committed at offset")
    assert finding.cure.count("POST") == tasks


@pytest.mark.parametrize(("tasks", "last"), [(999, 998), (1000, 999), (1001, 999)])
def test_a_cure_names_a_thousand_tasks_at_most(tasks, last):
    log = Log().healthy("x", 1).config("y").commit("y", tasks)
    cure = only(log, "commit-without-task-count-record", types={"y": "source"}).cure
    assert f"the same for tasks 10-{last};" in cure


def test_a_commit_of_a_deleted_connector_needs_no_record():
    log = Log().healthy("x", 1).config("y").tasks("y", 0).commit("y", 1).put("connector-y", None)
    assert set(found(log, types={"y": "source"})) == {"orphan-records"}


def test_tasks_of_a_sink_that_has_a_record_run_without_fencing():
    log = healthy().writer(7).tasks("x", 0, 1).commit("x", 2)
    assert found(log, running_tasks={"x": 2}, types={"x": "sink"}) == {}
    assert set(found(log, running_tasks={"x": 2}, types={})) == {"pending-fencing-with-running-tasks"}


def test_facts_that_were_not_read_are_skipped_and_no_finding():
    inspection = inspected(healthy(), topic_facts=Skipped("not authorized"))
    assert inspection.findings == ()
    assert inspection.skipped["topic"] == Skipped("not authorized")
    assert "cleanup_policy" not in inspection.skipped


@pytest.mark.parametrize(("partitions", "is_wrong"), [(1, False), (2, True)])
def test_one_partition_is_right(partitions, is_wrong):
    facts = TopicFacts("connect-configs", partitions, 1, {"cleanup.policy": "compact"})
    assert ("more-than-one-partition" in found(healthy(), topic_facts=facts)) is is_wrong


@pytest.mark.parametrize("state", ["STOPPED", "PAUSED"])
def test_a_connector_that_does_not_start_needs_no_record(state):
    log = Log().healthy("x", 1).config("y").tasks("y", 0).commit("y", 1).target("y", state)
    assert found(log, types={"y": "source"}) == {}


@pytest.mark.parametrize(("tasks", "cut"), [(11, False), (12, True)])
def test_ten_missing_task_configs_are_named(tasks, cut):
    message = only(Log().config("x").tasks("x", 0).commit("x", tasks), "inconsistent-connector").message
    assert ("10 …." in message) is cut
    assert ", 9, 10" in message


def test_an_inconsistent_connector_that_was_deleted_is_a_leftover_alone():
    log = Log().config("x").commit("x", 1).put("connector-x", None)
    assert set(found(log)) == {"orphan-records"}


def test_a_commit_before_its_config_matters_until_another_one_follows_and_while_the_connector_exists():
    assert set(found(Log().commit("x", 1))) == {"orphan-records"}
    assert found(Log().commit("x", 0).config("x").commit("x", 0)) == {}


@pytest.mark.parametrize(("tasks", "record"), [(0, 1), (1, None), (2, 1), (1, 2)])
def test_tasks_that_run_over_a_pending_round_are_an_error_where_they_need_one(tasks, record):
    log = Log().config("x")
    if record is not None:
        log.tasks("x", *range(record)).commit("x", record).fencing("x", record)
    log.tasks("x", *range(tasks)).commit("x", tasks)
    needs = record is not None and tasks > 0
    named = found(log, running_tasks={"x": 2}, types={"x": "source"})
    assert ("pending-fencing-with-running-tasks" in named) is needs


def test_one_task_after_one_needs_a_round_as_well():
    log = Log().healthy("x", 1).tasks("x", 0).commit("x", 1)
    finding = only(log, "pending-fencing-with-running-tasks", running_tasks={"x": 1})
    assert finding.message.startswith("1 task runs although the task commit at offset 5 was not followed")


@pytest.mark.parametrize("producer", [None, 7])
def test_an_open_transaction_names_its_producer_where_the_record_does(producer):
    finding = only(Log().config("x").writer(producer, 3, RecordState.OPEN).config("y"), "open-transaction")
    assert finding.evidence["producer"] == (None if producer is None else "7/3")
    assert finding.message.startswith(
        "a transaction is open from offset 1" if producer is None else "a transaction of producer 7/3 is open from"
    )
    assert "connect-cluster-<group.id>" in finding.cure


def test_the_first_open_record_wins_over_the_last_stable_offset():
    offsets = PartitionOffsets(TopicPartition("connect-configs", 0), 0, 5, 9)
    log = Log().config("x").writer(7, 3, RecordState.OPEN).config("y")
    assert only(log, "open-transaction", offsets=offsets).evidence["start_offset"] == 1
    settled = PartitionOffsets(TopicPartition("connect-configs", 0), 0, 9, 9)
    assert found(Log().config("x"), offsets=settled) == {}


@pytest.mark.parametrize(
    ("key", "value", "times", "severity", "cure"),
    [
        ("connector-y", b"{", 1, Severity.WARNING, "PUT /connectors/y/config; compaction"),
        ("connector-y", b"{", 2, Severity.WARNING, "PUT /connectors/y/config; compaction"),
        ("task-y-0", None, 1, Severity.INFO, "PUT /connectors/y/config; compaction"),
        ("commit-x", None, 1, Severity.INFO, "PUT /connectors/x/config; compaction"),
        ("tasks-fencing-y", {}, 1, Severity.ERROR, "restart the tasks of y on an exactly-once worker"),
        ("target-state-y", b"{", 1, Severity.WARNING, "PUT /connectors/y/pause or /resume"),
        ("session-key", {}, 1, Severity.WARNING, "inter.worker.key.ttl.ms; compaction"),
    ],
)
def test_a_malformed_record_says_how_often_it_is_there_and_what_writes_it_again(key, value, times, severity, cure):
    log = Log().config("x")
    for _ in range(times):
        log.put(key, value)
    [finding] = inspected(log).findings
    assert (finding.subject, finding.severity, finding.evidence["count"]) == (key, severity, times)
    assert (f"at offset {times}:" in finding.message) is (times == 1)
    assert (f"at offset {times} ({times} times):" in finding.message) is (times > 1)
    assert cure in finding.cure


def test_a_record_without_a_key_has_the_fix_of_its_kind():
    finding = only(Log().config("x").put(None, {}), "fatal-record")
    assert "compaction then removes" not in finding.cure


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"connector.class": None}, "it has no connector.class"),
        ({"connector.class": 5}, "its connector.class is no text"),
        ({"connector.class": ""}, None),
        ({}, None),
        ({"tasks.max": "0"}, "tasks.max is '0'"),
    ],
)
def test_a_connector_that_no_worker_can_run_says_why(config, reason):
    log = Log().put("connector-x", {"properties": config})
    named = found(log)
    if reason is None:
        assert "impossible-connector" not in named
    else:
        assert reason in named["impossible-connector"].message
    assert "impossible-connector" not in found(log.put("connector-x", None))


@pytest.mark.parametrize(("count", "is_too_many"), [(MOST_TASKS, False), (MOST_TASKS + 1, True)])
def test_a_record_of_more_tasks_than_are_checked_is_impossible(count, is_too_many):
    log = Log().config("x").tasks("x", 0).commit("x", 1).fencing("x", count)
    assert ("impossible-connector" in found(log)) is is_too_many


@pytest.mark.parametrize(
    ("types", "named"), [({"x": "sink"}, ConnectorType.SINK), ({"x": "odd"}, None), (Skipped("no"), None)]
)
def test_a_type_that_rest_does_not_say_is_a_source_s_only_where_a_record_shows_it(types, named):
    assert inspected(Log().config("x"), types=types).connectors[0].type is named
    proven = ConnectorType.SINK if named else ConnectorType.SOURCE
    assert inspected(Log().config("x").fencing("x", 1), types=types).connectors[0].type is proven


@pytest.mark.parametrize(
    ("log", "kept"),
    [
        (Log().config("x"), True),
        (Log().target("x", "PAUSED"), False),
        (Log().commit("x", 1), True),
        (Log().fencing("x", 1), True),
        (Log().tasks("x", 0), True),
        (Log().config("x").put("connector-x", None), False),
        (Log().config("x").commit("x", 0).put("connector-x", None), True),
    ],
)
def test_a_name_is_reported_where_it_exists_or_its_records_would_affect_a_new_one(log, kept):
    assert [each.state.name for each in inspected(log).connectors] == ["x"] * kept


@pytest.mark.parametrize(
    ("log", "kind", "rule", "fences", "words"),
    [
        (Log().config("x"), None, "none", 0, "no task commit yet: nothing to fence"),
        (Log().config("x").tasks("x", 0).commit("x", 1), "sink", "none", 0, "a sink: its tasks have no producers"),
        (Log().config("x").tasks("x", 0).commit("x", 1), "source", "first-start", 0, "nothing to fence"),
        (Log().config("x").tasks("x", 0).commit("x", 1), None, "first-start", 0, "nothing to fence, if it is a source"),
        (Log().healthy("x", 1), None, "none", 0, "record at offset 3 is later than the task commit at offset 2"),
        (Log().config("x").fencing("x", 1), None, "none", 0, "record at offset 1 is later than any task commit"),
        (Log().healthy("x", 1).tasks("x", 0).commit("x", 1), None, "single-task", 0, "the same ID fences itself"),
        (Log().healthy("x", 1).tasks("x", 0, 1).commit("x", 2), None, "fence", 1, "will fence 1 producer (g-x-0)"),
        (Log().healthy("x", 2).tasks("x", 0).commit("x", 1), None, "fence", 2, "2 producers (g-x-0 … -1)"),
        (Log().healthy("x", 1).commit("x", 0).target("x", "STOPPED"), None, "fence", 1,
         "at offset 3 (none if it resumes with one task)"),
        (Log().healthy("x", 2).commit("x", 0).target("x", "STOPPED"), None, "fence", 2, "record at offset 4"),
        (Log().healthy("x", 1).commit("x", 0).target("x", "PAUSED"), None, "fence", 1, "record at offset 3"),
        (Log().config("x").fencing("x", 0).commit("x", 0), None, "fence", 0, "will fence no producers"),
        (Log().config("x").fencing("x", -1).commit("x", 0), None, "fence", 0, "will fence no producers"),
        (Log().tasks("x", 0), None, "none", 0, "a new one of this name would have nothing to fence"),
        (Log().fencing("x", 0), None, "none", 0, "a new one of this name would have nothing to fence"),
        (Log().fencing("x", 1), None, "none", 0, "would fence 1 producer (g-x-0)"),
    ],
)  # fmt: skip
def test_the_next_start_follows_from_the_record_the_commit_and_the_type(log, kind, rule, fences, words):
    start = inspected(log, types={} if kind is None else {"x": kind}, group_id="g").connectors[0].next_start
    assert (start.rule.value, start.fences) == (rule, fences)
    assert start.words.endswith(words) or f"{words}" in start.words
    assert ("if it is a source" in start.words) is ("if it is a source" in words)
    assert ("resumes with one task" in start.words) is ("resumes with one task" in words)


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ("compact", None),
        (" Compact ,", None),
        ("compact,delete", Severity.ERROR),
        ("delete", Severity.ERROR),
        ("", Severity.WARNING),
        (" , ", Severity.WARNING),
    ],
)
def test_a_cleanup_policy_is_compact_alone(policy, severity):
    facts = TopicFacts("connect-configs", 1, 1, {"cleanup.policy": policy})
    named = found(healthy(), topic_facts=facts)
    assert (named["wrong-cleanup-policy"].severity if named else None) == severity


@pytest.mark.parametrize(
    ("name", "properties", "type_", "reasons"),
    [
        ("c" * 32_767, {}, "source", 0),
        ("c" * 32_768, {}, "source", 1),
        (" ", {}, "source", 1),
        ("c", {"topics": "a b", "connector.class": "X"}, "sink", 1),
        ("c", {"topics": "a b", "connector.class": "X"}, None, 0),
        ("c", {"topics": "a b", "connector.class": "FileStreamSink"}, None, 1),
        ("c", {"topics": "a b", "connector.class": "X"}, "source", 0),
        ("c", {"topics": "${a b}"}, "sink", 0),
        ("c", {"offsets.storage.topic": "a b"}, "source", 1),
        ("c", {"offsets.storage.topic": "a.b"}, "source", 0),
        ("c", {"offsets.storage.topic": "${a b}"}, "source", 0),
        ("c", {"topics": "a,b"}, "sink", 0),
        ("c", {"topics": "a b,c d"}, "sink", 2),
        ("c", {"topic": "a b", "connector.class": "FileStreamSource"}, "source", 1),
        ("c", {"topic": "a b", "connector.class": "X"}, "source", 0),
        ("c\n", {}, "source", 1),
        ("\n", {}, "source", 2),
        ("c", {"exactly.once.support": " Required "}, "source", 0),
        ("c", {"transaction.boundary": "never"}, "source", 1),
        ("c", {"transaction.boundary": "never"}, "sink", 0),
        ("c", {"offsets.storage.topic": "a b"}, "sink", 0),
        ("c", {"tasks.max": "0"}, "sink", 1),
        ("c", {"exactly.once.support": "x"}, "sink", 0),
        ("c", {"exactly.once.support": "x"}, "source", 1),
        *(("c", {"tasks.max": each}, "source", number) for each, number in
          (("0", 1), ("1", 0), (" 1 ", 0), ("2147483647", 0), ("2147483648", 1), ("x", 1), ("${x}", 0))),
        *(("c", {"transaction.boundary.interval.ms": each}, "source", number) for each, number in
          (("0", 1), ("1", 0), (str(2**63 - 1), 0), (str(2**63), 1))),
        *(("c", {"producer.override.bootstrap.servers": each}, "source", number) for each, number in
          (("a:1", 0), ("a:1,b", 1), ("", 1), (",", 1), ("[hidden]", 0), ("${a}", 0))),
        ("c", {"producer.bootstrap.servers": "a"}, "source", 0),
    ],
)  # fmt: skip
def test_a_connector_is_impossible_by_a_name_or_a_value_that_no_worker_takes(name, properties, type_, reasons):
    assert len(list(why_impossible(ConnectorConfig(name, as_properties(properties), type_)))) == reasons


@pytest.mark.parametrize(("length", "shown"), [(60, repr("b" * 60)), (61, f"{'b' * 60!r}… (61 characters)")])
def test_a_long_value_is_cut(length, shown):
    [reason] = why_impossible(ConnectorConfig("c", as_properties({"exactly.once.support": "b" * length}), "source"))
    assert reason == f"exactly.once.support is {shown}, not requested or required"


def test_a_value_that_is_hidden_is_not_shown():
    [reason] = why_impossible(ConnectorConfig("c", as_properties({"exactly.once.support": "[hidden]"}), "source"))
    assert reason == "exactly.once.support is no text, not requested or required"
