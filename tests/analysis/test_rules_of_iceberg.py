"""The rules about Iceberg's sink, on evidence as a real one gave it, changed in one place."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.iceberg import RULES
from eosctl.analysis.rules.registry import ask
from eosctl.model.connectors import ICEBERG_START, iceberg_sink
from eosctl.model.evidence import Evidence, IcebergState
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import NOW, answer, described, inspection

CLASS = "org.apache.iceberg.connect.IcebergSinkConnector"
PLACE = TopicPartition("control-iceberg", 0)
HOUR_MS = 3_600_000
NO_ANSWER = Skipped("no answer")


def state(**changed):
    """A coordinator that has read all but the events of its own last commit."""
    sink = iceberg_sink("ice", {"connector.class": CLASS})
    assert sink is not None
    settings = {"cleanup.policy": "delete", "retention.ms": str(24 * HOUR_MS)}
    known = IcebergState(
        sink=sink,
        coordinators=1,
        committed={PLACE: 131},
        topic=TopicFacts("control-iceberg", 1, 1, settings),
        offsets={PLACE: PartitionOffsets(PLACE, 0, 136, 136)},
        unread_since={PLACE: NOW - 2_000},
    )
    return replace(known, **changed)


def evidence(known, *, tasks="RUNNING", files=None, **config):
    log = Log().writer(7).config("ice", **{"connector.class": CLASS, "topics": "orders", **config})
    status = ConnectorStatus("ice", "sink", "RUNNING", (TaskStatus(0, tasks, "w:8083", None),))
    return Evidence(
        as_of=NOW,
        inspection=inspection(log),
        statuses={"ice": status},
        iceberg={"ice": known},
        worker_files={"w": {"group.id": "g"}} if files is None else files,
    )


def found(known, **more):
    answers = [ask(rule, evidence(known, **more)) for rule in RULES]
    return [(each.kind.id, each.severity) for answer in answers for each in answer.findings]


def test_a_sink_with_one_coordinator_that_reads_is_fine():
    assert found(state()) == []


@pytest.mark.parametrize(
    ("count", "tasks", "severity"),
    [(2, "RUNNING", Severity.ERROR), (2, "PAUSED", Severity.ERROR), (0, "RUNNING", Severity.WARNING)],
)
def test_two_coordinators_are_an_error_and_none_beside_running_tasks_a_warning(count, tasks, severity):
    assert found(state(coordinators=count), tasks=tasks) == [("EOS173", severity)]


def test_a_sink_that_does_not_run_needs_no_coordinator():
    assert found(state(coordinators=0), tasks="PAUSED") == []
    [coordinators, *_] = RULES
    assert ask(coordinators, replace(evidence(state(coordinators=0)), statuses={})).outcome == "fine"
    assert ask(coordinators, replace(evidence(state(coordinators=0)), statuses=NO_ANSWER)).outcome == "fine"


def test_events_deleted_before_they_are_read_are_an_error_while_a_coordinator_is_at_work():
    moved = {PLACE: PartitionOffsets(PLACE, 132, 136, 136)}
    lost = [("EOS174", Severity.ERROR), ("EOS175", Severity.WARNING)]
    assert found(state(offsets=moved)) == lost
    assert found(state(offsets=moved, coordinators=0), tasks="PAUSED")[0] == ("EOS174", Severity.WARNING)
    assert found(state(offsets=moved, coordinators=NO_ANSWER))[0] == ("EOS174", Severity.WARNING)
    at_the_limit = {PLACE: PartitionOffsets(PLACE, 131, 136, 136)}
    assert found(state(offsets=at_the_limit)) == []


@pytest.mark.parametrize(("age_ms", "kinds"), [(12 * HOUR_MS, ["EOS174"]), (12 * HOUR_MS - 1, [])])
def test_an_unread_event_that_has_half_of_its_time_is_a_warning(age_ms, kinds):
    assert [kind for kind, _ in found(state(unread_since={PLACE: NOW - age_ms}))] == kinds


@pytest.mark.parametrize(
    ("settings", "severities"),
    [
        ({"cleanup.policy": "compact", "retention.ms": "1"}, [Severity.ERROR]),
        ({"cleanup.policy": "delete", "retention.ms": "-1"}, []),
        ({"cleanup.policy": "delete", "retention.ms": "3999"}, [Severity.WARNING]),
    ],
)
def test_a_control_topic_keeps_its_events_by_its_settings(settings, severities):
    known = state(topic=TopicFacts("control-iceberg", 1, 1, settings))
    assert found(known) == [("EOS174", severity) for severity in severities]


def test_a_coordinator_without_offset_begins_at_the_end_unless_it_is_told_otherwise():
    known = state(committed={})
    assert found(known) == [("EOS175", Severity.WARNING)]
    assert found(known, **{"iceberg.kafka.auto.offset.reset": "earliest"}) == []
    assert found(known, files={"w": {"group.id": "g", "auto.offset.reset": "earliest"}}) == []
    assert found(known, files={}) == [("EOS175", Severity.WARNING)], "a file that was not read"
    assert found(state(committed={}, offsets={PLACE: PartitionOffsets(PLACE, 5, 5, 5)})) == [], "it holds nothing"


@pytest.mark.parametrize(
    ("committed", "where"),
    [({}, "no offset in control-iceberg-0"), ({PLACE: 131}, "offset 131, which is deleted, in control-iceberg-0")],
)
def test_a_coordinator_that_passes_over_events_is_at_a_deleted_offset_or_at_none(committed, where):
    moved = {PLACE: PartitionOffsets(PLACE, 132, 136, 136)}
    answers = [ask(rule, evidence(state(committed=committed, offsets=moved))) for rule in RULES]
    [latest] = answers[-1].findings
    assert (where in latest.message, latest.evidence["committed"]) == (True, committed.get(PLACE))


def test_a_partition_without_an_unread_event_and_one_without_bounds_are_not_judged_by_age():
    assert found(state(unread_since={})) == []
    unread = state(topic=TopicFacts("control-iceberg", 1, 1, NO_ANSWER))
    deleted = ask(RULES[1], evidence(unread))
    assert (deleted.findings, deleted.cannot_tell) == ((), (NO_ANSWER.reason,))
    assert ask(RULES[1], evidence(state(offsets={PLACE: NO_ANSWER}))).cannot_tell == (NO_ANSWER.reason,)
    assert found(state(topic=None, unread_since={PLACE: 0})) == []


@pytest.mark.parametrize("field", ["coordinators", "committed", "topic", "offsets", "unread_since"])
def test_a_part_that_was_not_read_is_never_fine(field):
    answers = [ask(rule, evidence(state(**{field: NO_ANSWER}))) for rule in RULES]
    assert [answer.outcome for answer in answers].count("cannot tell") >= 1
    assert all(reason == NO_ANSWER.reason for answer in answers for reason in answer.cannot_tell)


PRESENT, EARLIER = "-txn-11111111-2222-4333-8444-555555555555-0", "-txn-99999999-2222-4333-8444-555555555555-0"


@pytest.mark.parametrize(
    ("name", "open_s", "stopped"),
    [
        (f"coordinator{EARLIER}", 10, True),
        (f"worker{EARLIER}", 10, True),
        (f"worker{EARLIER}", 9, False),  # a client that has just been replaced may still end it
        (f"worker{PRESENT}", 60, False),
        ("orders-writer-0", 60, False),
    ],
)
def test_a_sink_that_waits_for_the_transaction_of_an_earlier_start_is_named(name, open_s, stopped):
    log = Log().writer(7).config("ice", **{"connector.class": CLASS, "topics": "orders"})
    log.put("task-ice-0", {"properties": {ICEBERG_START: PRESENT}}).commit("ice", 1)
    open_one = described(name, TransactionState.ONGOING, NOW - open_s * 1000, (PLACE,))
    known = replace(evidence(state()), inspection=inspection(log), open_transactions=(open_one,))
    findings = answer("EOS122", known).findings
    assert [(each.severity, each.evidence["stopped_sinks"]) for each in findings] == (
        [(Severity.WARNING, ["ice"])] if stopped else []
    )
