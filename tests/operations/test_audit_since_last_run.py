"""An audit that goes on: what the run before had found already does not fail again, and nothing else is kept quiet."""

import json
from types import MappingProxyType
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue import audit as kinds
from eosctl.engines.auditing import AuditResult
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import AuditPlan, AuditReport, AuditVerdict, ConnectorVerdict
from eosctl.model.report import Finding, Severity, exit_code
from eosctl.operations.audit import run_incrementally
from eosctl.render.answers.audit import summary, view_audit
from eosctl.render.audit_json import render_audit_json

PLAN = AuditPlan(as_of=1_767_182_400_000, cluster_id="K", group_id="g", topics=(), bounds=(), ranges=())


def set_back(*offsets: int, connector: str = "orders", count: int | None = None, severity=Severity.ERROR) -> Finding:
    places = [{"topic": "connect-offsets", "partition": 4, "offset": each, "before": {"id": 9}} for each in offsets]
    evidence = {"count": count or len(offsets), "connectors": [connector], "places": places}
    return kinds.OFFSET_SET_BACK.finding(connector, f"{len(offsets)} went back", evidence, severity=severity)


def report(*findings: Finding, broken: tuple[str, ...] = ("orders",)) -> AuditReport:
    names = ("orders", "payments")
    verdicts = (AuditVerdict.BROKEN if name in broken else AuditVerdict.HELD for name in names)
    return AuditReport(PLAN, tuple(map(ConnectorVerdict, names, verdicts)), findings, ())


class Auditor:
    """What reads nothing and reports this."""

    processes = 1

    def __init__(self, answer: AuditReport) -> None:
        self._answer = answer

    def bounds(self) -> AuditPlan:
        return PLAN

    def run(self, plan, carried) -> AuditResult:
        return AuditResult(replace(self._answer, plan=plan), ())


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/ledger.db")


def nightly(ledger: Ledger, answer: AuditReport) -> AuditReport:
    return run_incrementally(Auditor(answer), ledger, "nightly", render_audit_json)


def codes(ledger: Ledger, *nights: AuditReport) -> list[int]:
    return [exit_code(nightly(ledger, each)) for each in nights]


def test_a_night_that_found_nothing_new_does_not_fail_again(ledger: Ledger):
    assert codes(ledger, report(set_back(1)), report(set_back(1)), report(set_back(1))) == [1, 0, 0]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((set_back(1), set_back(7, connector="payments")), id="another connector"),
        pytest.param((set_back(1, 2),), id="another place"),
        pytest.param((set_back(1, count=30),), id="more places than are kept"),
        pytest.param((set_back(2),), id="one place gone and one come"),
        pytest.param(
            (set_back(1), kinds.ZOMBIE_WRITER.finding("orders", "a zombie", {"connectors": ["orders"]})),
            id="another kind",
        ),
    ],
)
def test_whatever_is_more_than_the_night_before_fails(ledger: Ledger, more: tuple[Finding, ...]):
    assert codes(ledger, report(set_back(1)), report(*more), report(*more)) == [1, 1, 0]


def test_what_became_worse_fails_and_what_became_less_does_not(ledger: Ledger):
    warning, error = report(set_back(1, 2, severity=Severity.WARNING)), report(set_back(1, 2))
    assert codes(ledger, warning, error, report(set_back(2))) == [1, 1, 0]


def test_what_was_gone_and_came_back_fails(ledger: Ledger):
    assert codes(ledger, report(set_back(1)), report(broken=()), report(set_back(1))) == [1, 0, 1]


def test_a_connector_that_is_broken_only_now_fails_by_findings_that_were_known(ledger: Ledger):
    found = (set_back(1),)
    assert codes(ledger, report(*found, broken=()), report(*found, broken=()), report(*found)) == [1, 0, 1]


def test_a_verdict_that_is_not_known_stays_incomplete_every_night(ledger: Ledger):
    lost = AuditReport(PLAN, (ConnectorVerdict("orders", AuditVerdict.CANNOT_TELL),), (), ())
    assert codes(ledger, lost, lost) == [3, 3]


class Written(NamedTuple):
    """A part of evidence as the audit has it, before it is JSON."""

    topic: str
    offsets: tuple[int, ...]


def test_evidence_of_every_form_is_known_again(ledger: Ledger):
    evidence = {
        "connectors": ("orders",),
        "writes": (Written("t", (1, 2)),),
        "value": MappingProxyType({"a": None, "b": 1.5}),
        "kinds": frozenset({"x", "y"}),
        "state": Severity.ERROR,
    }
    found = kinds.ZOMBIE_WRITER.finding("orders", "a zombie", evidence)
    assert codes(ledger, report(found), report(found)) == [1, 0]


def test_words_that_say_how_long_make_nothing_new(ledger: Ledger):
    nights = (
        kinds.HANGING_TRANSACTION.finding("t-0", words, {"topic": "t", "start_offset": 4, "reason": words})
        for words in ("open for 3 h", "open for 27 h")
    )
    assert codes(ledger, *(report(each, broken=()) for each in nights)) == [1, 0]


def test_jobs_do_not_know_of_each_other(ledger: Ledger):
    nightly(ledger, report(set_back(1)))
    assert exit_code(run_incrementally(Auditor(report(set_back(1))), ledger, "other", render_audit_json)) == 1


def test_the_answer_says_what_is_new_and_since_when(ledger: Ledger):
    nightly(ledger, report(set_back(1)))
    second = nightly(ledger, report(set_back(1), set_back(7, connector="payments")))
    data = view_audit(second).data
    assert data["compared_with"] == {"run_number": 1, "as_of": "2025-12-31T12:00:00.000Z"}
    assert {each["subject"]: each["new"] for each in data["findings"]} == {"orders": False, "payments": True}
    assert summary(second).endswith("New since run 1 (2025-12-31T12:00:00.000Z): 1 of 2 errors and warnings.")


def test_the_ledger_keeps_the_report_of_an_audit_of_everything(ledger: Ledger):
    for _ in range(2):
        nightly(ledger, report(set_back(1)))
    kept = json.loads(ledger.report("nightly"))["data"]
    assert (kept["compared_with"], [each["new"] for each in kept["findings"]]) == (None, [None])


def test_a_report_in_the_ledger_that_cannot_be_read_makes_nothing_known(ledger: Ledger):
    run_incrementally(Auditor(report(set_back(1))), ledger, "nightly", lambda _: '{"data": {"findings": 7}}')
    assert codes(ledger, report(set_back(1)), report(set_back(1))) == [1, 0]
