"""The output of an audit for the terminal and for programs."""

import json
import unicodedata

import pytest
import yaml
from hypothesis import given, settings

from eosctl.model.audit import (
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EarlierAudit,
    EarlierFinding,
    Growth,
    RangeEvidence,
)
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.render.answers.audit import summary, time_of, view_audit, view_audit_plan
from eosctl.render.cells import Page, columns_across
from eosctl.render.formats import Output, text_of
from tests.render.audit_reports import HOSTILE_NAMES, plans, reports, rich_report

PIPED = Page(None, colour=False)


def lines_at(width: int) -> list[str]:
    return text_of(view_audit(rich_report()), Output.TABLE, Page(width, colour=False)).splitlines()


VERDICT = "Exactly-once, by connector: 2 broken, 1 cannot-tell, 3 held; 4,458,911 records of 23 partitions were read."


def test_the_answer_leads_in_a_pipe_and_comes_last_on_a_terminal():
    assert lines_at(200)[-1] == VERDICT
    assert text_of(view_audit(rich_report()), Output.TABLE, PIPED).splitlines()[0] == VERDICT


def test_the_worst_verdict_comes_first():
    lines = lines_at(200)
    assert lines[0].split() == ["CONNECTOR", "VERDICT", "EVIDENCE", "REASON"]
    assert [line.split()[:2] for line in lines[1:7]] == [
        ["invoices-cdc", "broken"],
        ["orders-cdc", "broken"],
        ["legacy-import", "cannot-tell"],
        ["customers-cdc", "held"],
        ["inventory-mirror", "held"],
        ["payments-cdc", "held"],
    ]


def test_a_finding_comes_with_its_evidence_and_its_cure():
    lines = lines_at(200)
    begin = lines.index("error EOS203 zombie-writer invoices-cdc")
    assert lines[begin + 1 : begin + 4] == [
        "  producers 4020/3 and 9917/0 wrote offsets of one task in turns, from offset 41,208 to 41,266",
        "  evidence: topic connect-offsets, partition 1, first_offset 41208, last_offset 41266, writers 4020/3,9917/0",
        "  fix: find the process that holds producer 9917, stop it, and read the connector's output again from 41,208",
    ]


def test_each_place_of_a_finding_has_its_line():
    lines = lines_at(200)
    begin = lines.index("error EOS200 offset-set-back orders-cdc")
    assert lines[begin + 2 : begin + 5] == [
        "  evidence: connectors orders-cdc",
        '  places: topic connect-offsets, partition 4, offset 60113, before {"id": 90114}, after {"id": 88102}',
        '  places: topic connect-offsets, partition 4, offset 60190, before {"id": 90380}, after {"id": 90114}',
    ]


def test_findings_are_ordered_by_severity_and_ranges_follow():
    lines = lines_at(200)
    severities = [
        line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in {"error", "warning", "info"}
    ]
    assert severities == ["error", "error", "error", "warning", "warning", "info"]
    titles = ("Findings", "Read", "Transactions", "The last stable offset did not move")
    order = [lines.index(title) for title in titles]
    assert order == sorted(order)
    assert lines[-3] == "not read: __transaction_state: User:auditor may not READ topic __transaction_state"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width):
    assert [line for line in lines_at(width) if columns_across(line) > width] == []


def test_tables_stay_tables_on_80_columns():
    lines = lines_at(80)
    assert "TOPIC            PARTITION  FROM      TO  RECORDS  ABORTED  PLAIN  GAPS" in lines
    assert "CONNECTOR         COMMITTED  ABORTED  RECORDS   P50    P99  P50-MS  P99-MS" in lines


def test_programs_get_the_same_connectors_as_people():
    data = json.loads(text_of(view_audit(rich_report()), Output.JSON, PIPED))["data"]
    assert data["verdict"] == "broken"
    assert data["connectors"][0] == {
        "name": "invoices-cdc",
        "verdict": "broken",
        "evidence": ["EOS220", "EOS203"],
        "reasons": ["its tasks started at 09:14 without a round of fencing, and two producers wrote at once"],
        "words": "its tasks started at 09:14 without a round of fencing, and two producers wrote at once",
        "repeated_by_change": {"at_least": 0, "at_most": 0},
        "left_out_by_change": {"at_least": 0, "at_most": 0},
        "covers": [],
        "not_covered": [],
    }
    fields = {"id", "name", "severity", "subject", "message", "cure", "evidence", "waiver", "new"}
    assert set(data["findings"][0]) == fields
    assert data["plan"]["topics"][0] == {
        "name": "connect-offsets",
        "role": "offsets",
        "topic_id": "Zm9vYmFyYmF6cXV4MTIzNA",
        "cleanup_policy": "compact",
        "connectors": [],
        "partitions": 5,
        "offsets": 776060,
    }
    assert len(data["plan"]["ranges"]) == 46


def test_gaps_are_summed_by_kind():
    [row] = [each for each in view_audit(rich_report()).data["ranges"] if each["gaps"]]
    assert (row["topic"], row["partition"], row["gap_words"]) == ("legacy-import", 2, "below-log-start 4011")
    assert row["gaps"] == [{"start": 14200, "end": 18211, "kind": "below-log-start"}]


def test_growth_is_one_object_a_partition():
    plan = rich_report().plan
    growth = (Growth("orders", 0, 7, 5, 1), Growth("orders", 1, 7, 2, 0), Growth("orders", 0, 8, 6, 0))
    assert view_audit(AuditReport(plan, (), (), (), growth=growth)).data["growth"] == [
        {"topic": "orders", "partition": 0, "hours": [7, 8], "records": [5, 6], "tombstones": [1, 0]},
        {"topic": "orders", "partition": 1, "hours": [7], "records": [2], "tombstones": [0]},
    ]


def test_an_open_transaction_has_held_until_the_audit():
    rows = view_audit(rich_report()).data["stalls"]
    assert [(each["by"], each["open"], each["held_s"]) for each in rows] == [
        ("invoices-cdc", False, 900.0),
        ("invoices-cdc", False, 10800.0),
        ("payments-cdc", False, 3600.0),
        ("producer 9917", True, 18000.0),
    ]


def test_no_timestamp_is_null():
    report = AuditReport(rich_report().plan, (), (), (RangeEvidence("t", 0, 0, 5, first_timestamp=-1),))
    [row] = view_audit(report).data["ranges"]
    assert (row["first_time"], row["last_time"]) == (None, None)


def test_without_connectors_the_view_reports_that_none_was_judged():
    assert summary(AuditReport(rich_report().plan, (), (), ())) == (
        "No connector was judged; 0 records of 0 partitions were read."
    )


def test_plain_prints_the_verdicts():
    lines = text_of(view_audit(rich_report()), Output.PLAIN, PIPED).splitlines()
    assert lines[3] == "customers-cdc\theld\t-\tevery transaction has its offsets, no offset went back"


def test_jsonl_has_a_line_for_each_row_of_each_table():
    lines = [json.loads(line) for line in text_of(view_audit(rich_report()), Output.JSONL, PIPED).splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds[0] == "audit"
    assert {kind: kinds.count(kind) for kind in kinds[1:]} == {
        "audit/connectors": 6,
        "audit/findings": 6,
        "audit/ranges": 23,
        "audit/transactions": 7,
        "audit/stalls": 4,
    }


@pytest.mark.parametrize("output", list(Output))
def test_names_cannot_command_the_terminal(output):
    verdicts = tuple(ConnectorVerdict(name, AuditVerdict.BROKEN, (name,), (name,)) for name in HOSTILE_NAMES)
    text = text_of(view_audit(AuditReport(rich_report().plan, verdicts, (), ())), output, PIPED)
    assert [char for char in text if unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t"] == []
    assert "clear\x1b" not in text


@settings(max_examples=50)
@given(reports)
def test_every_report_has_every_format(report):
    document = view_audit(report)
    as_json = json.loads(text_of(document, Output.JSON, PIPED))
    assert [each["name"] for each in as_json["data"]["connectors"]] == [
        each["name"] for each in document.data["connectors"]
    ]
    assert len(as_json["data"]["findings"]) == len(report.findings)
    assert yaml.safe_load(text_of(document, Output.YAML, PIPED))["kind"] == "audit"
    for width in (80, 200, None):
        assert text_of(document, Output.TABLE, Page(width, colour=True))


def test_the_plan_names_topics_roles_and_ranges():
    lines = text_of(view_audit_plan(rich_report().plan), Output.TABLE, Page(120, colour=False)).splitlines()
    assert lines[0] == "8 topics, 23 partitions: 4,519,013 offsets to read, and 920 behind the last stable offsets."
    assert lines[3].split() == ["connect-offsets", "offsets", "5", "776060", "compact", "-", "Zm9vYmFyYmF6cXV4MTIzNA"]
    assert ["connect-offsets", "0", "0", "338523", "338523", "yes"] in [line.split() for line in lines]
    assert ["connect-offsets", "0", "338523", "338563", "40", "no"] in [line.split() for line in lines]


@given(plans)
def test_an_unread_fact_of_a_plan_stays_unknown(plan):
    data = view_audit_plan(plan).data
    if isinstance(plan.connectors, Skipped):
        assert data["connectors"] == {"skipped": plan.connectors.reason}
    else:
        assert data["connectors"] == list(plan.connectors)
    assert data["unread"] == {name: each.reason for name, each in plan.unread.items()}


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [(None, None), (-1, None), (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z")],
)
def test_the_first_millisecond_of_the_epoch_is_a_time(timestamp, text):
    assert time_of(timestamp) == text


READ = tuple(RangeEvidence("t", at, 0, 5, records=5) for at in range(2))


@pytest.mark.parametrize(
    ("newly", "words"),
    [
        (None, "10 records of 2 partitions were read"),
        (0, "0 records of 2 partitions were read in this run, 10 in earlier ones"),
        (4, "4 records of 2 partitions were read in this run, 6 in earlier ones"),
        (11, "11 records of 2 partitions were read in this run, 0 in earlier ones"),
    ],
)
def test_a_continued_audit_tells_what_it_read_itself(newly, words):
    report = AuditReport(rich_report().plan, (), (), READ, newly_read=newly)
    assert summary(report) == f"No connector was judged; {words}."


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (None, ""),
        ((), " New since run 3 (yesterday): 2 of 2 errors and warnings."),
        (("a",), " New since run 3 (yesterday): 1 of 2 errors and warnings."),
        (("a", "b"), " New since run 3 (yesterday): 0 of 2 errors and warnings."),
    ],
)
def test_findings_that_count_are_new_where_the_run_before_did_not_have_them(known, words):
    kind = rich_report().findings[0].kind
    findings = tuple(Finding(kind, Severity.ERROR, subject, "m", "c", {"count": 1}) for subject in ("a", "b"))
    small = Finding(kind, Severity.INFO, "c", "m", "c", {})
    earlier = None
    if known is not None:
        before = {(each.id, each.subject): (EarlierFinding(Severity.ERROR, {"count": 1}),) for each in findings}
        kept = {place: found for place, found in before.items() if place[1] in known}
        earlier = EarlierAudit(3, "yesterday", kept, frozenset())
    held = ConnectorVerdict("a", AuditVerdict.HELD, (), ())
    said = summary(AuditReport(rich_report().plan, (held,), (*findings, small), READ, earlier=earlier))
    assert said == f"Exactly-once, by connector: 1 held; 10 records of 2 partitions were read.{words}"
