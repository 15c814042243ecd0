"""What workers that are not enabled begin from, where the last offset was not committed."""

import pytest

from eosctl.model.offsets import MergedOffset, SourceSupport, StoredOffset
from eosctl.model.records import RecordState
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from tests.analysis.offset_records import record, report, topic, worker

KEY = '["c",{"f":1}]'
OPEN, ABORTED, COMMITTED = RecordState.OPEN, RecordState.ABORTED, RecordState.COMMITTED
ONE = {"c": {}}


def log(*states: RecordState, name: str = "global"):
    return topic(name, [record(n, KEY, f'{{"p":{n}}}', state) for n, state in enumerate(states)])


def row(*topics, **more) -> MergedOffset:
    [connector] = report(*topics, **more).connectors
    [found] = connector.offsets
    return found


def values(merged: MergedOffset) -> object:
    phases = merged.by_phase
    return phases and tuple(each.value if isinstance(each, StoredOffset) else each for each in phases[:2])


@pytest.mark.parametrize(
    ("states", "by_phase"),
    [
        ((COMMITTED,), None),
        ((COMMITTED, ABORTED), ({"p": 0}, {"p": 1})),
        ((COMMITTED, OPEN), ({"p": 0}, {"p": 1})),
        ((COMMITTED, ABORTED, COMMITTED), None),
        ((ABORTED,), (None, {"p": 0})),
    ],
)
@pytest.mark.parametrize("support", list(SourceSupport))
def test_each_phase_begins_from_the_last_record_that_it_sees(states, by_phase, support) -> None:
    assert values(row(log(*states), configs=ONE, settings=worker(support))) == by_phase


def test_an_own_topic_is_read_committed_in_every_phase() -> None:
    own = {"c": {"offsets.storage.topic": "own"}}
    assert row(log(COMMITTED), log(COMMITTED, ABORTED, name="own"), configs=own).by_phase is None


def test_a_connector_that_produces_elsewhere_has_another_store_in_each_phase_and_nothing_uncommitted() -> None:
    servers = "producer.override.bootstrap.servers", "consumer.override.bootstrap.servers"
    elsewhere = row(log(COMMITTED), configs={"c": dict.fromkeys(servers, "x:9092")})
    assert elsewhere.by_phase is not None
    assert not elsewhere.by_phase.uncommitted


def test_workers_before_3_3_have_no_phases() -> None:
    assert row(log(COMMITTED, ABORTED), configs=ONE, settings=worker(version=KafkaVersion(3, 2))).by_phase is None


@pytest.mark.parametrize(
    ("support", "severity"),
    [
        (SourceSupport.ENABLED, Severity.INFO),
        (SourceSupport.PREPARING, Severity.ERROR),
        (SourceSupport.DISABLED, Severity.ERROR),
        (Skipped("not asked"), Severity.WARNING),
    ],
)
def test_it_is_an_error_where_workers_read_it_and_an_info_where_they_may_later(support, severity) -> None:
    findings = report(log(COMMITTED, ABORTED), configs=ONE, settings=worker(support)).findings
    [found] = [each for each in findings if each.id == "EOS092"]
    assert (found.severity, found.subject, found.evidence["offsets"]) == (severity, "c", 1)
    assert "in the first {'p': 1} (global-0@1) instead of {'p': 0} (global-0@0)" in found.message
    assert "eosctl offsets export c.json --connector c --exactly-once enabled" in found.cure


@pytest.mark.parametrize(
    ("support", "severity"), [(SourceSupport.ENABLED, "info"), (SourceSupport.DISABLED, "warning")]
)
def test_a_deleted_connector_is_named_for_one_of_its_name_begins_there(support, severity) -> None:
    findings = report(log(COMMITTED, ABORTED), configs={}, settings=worker(support)).findings
    [found] = [each for each in findings if each.id == "EOS092"]
    assert (found.severity, found.subject) == (severity, "c")
    assert "The connector does not exist, and one of its name would begin there" in found.message
    assert found.cure.startswith("before a connector of this name is created, write the committed offset again: ")
    assert "--stop" not in found.cure


def test_nothing_is_found_where_all_is_committed() -> None:
    assert [each for each in report(log(COMMITTED), configs=ONE).findings if each.id == "EOS092"] == []
    assert [each for each in report(log(COMMITTED), configs={}).findings if each.id == "EOS092"] == []
