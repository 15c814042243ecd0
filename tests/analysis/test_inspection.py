"""Findings and answers of inspect-config."""

import pytest

from eosctl.analysis.inspection import inspect
from eosctl.model.connectors import ConnectorType, Reader
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.versions import KafkaVersion
from tests.analysis.config_records import LATEST, Log

COMPACT = TopicFacts("connect-configs", 1, 3, {"cleanup.policy": "compact"})


def inspected(log, reader=LATEST, **given):
    return inspect(log.survey(reader), topic="connect-configs", **{"topic_facts": COMPACT, **given})


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
    def test_what_workers_cannot_stop_is_deleted_and_created_again(self, version, action):
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
        assert "left none for task 0, 2:" in finding.message
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

    def test_leftovers_are_told_as_info(self):
        finding = found(Log().healthy("x", 2).put("connector-x", None), group_id="g")["orphan-records"]
        assert finding.severity is Severity.INFO
        assert not finding.counts
        assert finding.message.endswith("a new one of this name would fence 2 producers (g-x-0 … -1)")
        assert found(Log().config("x").put("connector-x", None)) == {}


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

    def test_an_aborted_poison_record_hurts_nobody_who_reads_committed(self):
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

    def test_an_open_transaction_is_told_from_the_records(self):
        log = Log().config("x").writer(7, 3, RecordState.OPEN).config("y")
        finding = found(log, group_id="g")["open-transaction"]
        assert finding.severity is Severity.WARNING
        assert finding.evidence == {"start_offset": 1, "producer": "7/3", "records": 1}
        assert "eosctl fence --transactional-id connect-cluster-g" in finding.cure

    def test_an_open_transaction_is_told_from_the_last_stable_offset(self):
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

    def test_only_the_selected_connectors_are_told_and_strangers_are_absent(self):
        log = Log().config("a").config("b").tasks("b", 1).commit("b", 2)
        inspection = inspected(log, selected=["a", "zz"])
        assert [connector.state.name for connector in inspection.connectors] == ["a"]
        assert inspection.absent == ("zz",)
        assert inspection.findings == ()

    def test_what_was_not_read_is_named(self):
        log = healthy()
        assert set(inspected(log).skipped) == {"offsets", "types", "running_tasks"}
        assert inspected(log, types=Skipped("no Connect URL")).skipped["types"] == Skipped("no Connect URL")
        assert inspected(log).connectors[0].running_tasks == Skipped("not asked")

    def test_errors_come_first(self):
        log = healthy().config("y").put("what", 1).put("connector-y", b"{")
        assert [finding.severity for finding in inspected(log).findings] == ["error", "warning", "info"]
