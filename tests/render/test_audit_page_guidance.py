"""What the audit's page says so that its reader can go on: how it was made, what verdicts mean, where to look."""

from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl import __version__
from eosctl.analysis.catalogue import audit as kinds
from eosctl.model.audit import AuditReport, EarlierAudit, Stall, TimelineEvent
from eosctl.model.report import Severity, Triage, Waiver
from eosctl.operations.audit import command_line
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.session_options import SessionOptions
from eosctl.render.audit_page import render_audit_page
from eosctl.render.audit_page.page import audit_figures, output_ranges
from tests.operations.quiet import Quiet
from tests.render.audit_reports import AS_OF, rich_report

PLAN = rich_report().plan
FAULT = kinds.OFFSET_SET_BACK


def test_it_says_with_what_it_was_made_and_which_time_it_is_about():
    page = render_audit_page(rich_report(), "eosctl audit --topic 'a <b>'")
    assert f"eosctl {__version__}: <code>eosctl audit --topic &#39;a &lt;b&gt;&#39;</code>" in page
    begin, end = rich_report().window
    assert begin < end <= AS_OF
    assert "batches of <time>2025-12-28T12:00:00.000Z</time> to <time>" in page


def test_it_says_what_each_verdict_means_and_what_held_does_not():
    page = render_audit_page(rich_report())
    assert page.count('<dl class="meanings">') == 1
    assert "consumers that do not read committed" in page
    assert "It is not a yes." in page


def test_the_command_has_what_decides_the_answer_and_no_value_of_a_property():
    options = SessionOptions(
        console=Quiet(),
        bootstrap_servers="broker:9092",
        properties={"ssl.key.password": "c4n4ry", "client.id": "c4n4ry"},
        connect_urls=("http://user:c4n4ry@worker:8083",),
        group_id="connect cluster",
    )
    request = AuditRequest(OffsetsRequest(("orders",)), topics=("t",), store="sqlite:///l.db", report=Path("x.html"))
    assert command_line(options, request) == (
        "eosctl audit --bootstrap-server broker:9092 -X 'ssl.key.password=…' -X 'client.id=…' "
        "--connect-url http://worker:8083 --group-id 'connect cluster' --connector orders --topic t "
        "--store sqlite:///l.db --job audit"
    )


@pytest.mark.parametrize(
    ("evidence", "ranges"),
    [
        (
            {"data": [{"committed_with": "after", "topic": "orders-cdc", "partition": 1, "first_offset": 7,
                       "last_offset": 9, "records": 3}]},
            ["orders-cdc-1: offsets 7 to 9, 3 records, committed with the source offset after"],
        ),
        ({"topic": "orders-cdc", "partition": 0, "start": 5, "end": 6}, ["orders-cdc-0: offset 5"]),
        ({"topic": "orders-cdc", "partition": 0, "start_offset": 5}, ["orders-cdc-0: from offset 5 on"]),
        ({"places": [{"topic": "orders-cdc", "partition": 2, "offset": 4}] * 2}, ["orders-cdc-2: offset 4"]),
        (
            {"connectors": ["orders-cdc"], "places": [{"topic": "connect-offsets", "partition": 2, "offset": 4}]},
            ["orders-cdc: all of it, the finding names no offsets there"],
        ),
        ({"connectors": ["nobody"]}, []),
    ],
)  # fmt: skip
def test_a_finding_comes_with_the_ranges_of_output_to_look_at(evidence, ranges):
    assert output_ranges(FAULT.finding("orders-cdc", "went back", evidence), PLAN) == ranges


def test_information_needs_no_look_unless_it_names_a_place():
    info = FAULT.finding("orders-cdc", "…", {"connectors": ["orders-cdc"]}, severity=Severity.INFO)
    assert output_ranges(info, PLAN) == []
    placed = replace(info, evidence={"topic": "orders-cdc", "partition": 0, "offset": 1})
    assert output_ranges(placed, PLAN) == ["orders-cdc-0: offset 1"]


def test_many_ranges_are_counted():
    places = [{"topic": "orders-cdc", "partition": 0, "offset": each} for each in range(30)]
    found = output_ranges(FAULT.finding("orders-cdc", "…", {"places": places}), PLAN)
    assert (len(found), found[-1]) == (21, "and 10 more")


def test_the_page_shows_them_as_text():
    finding = FAULT.finding(
        "orders-cdc", "…", {"topic": "orders-cdc", "partition": 0, "first_offset": 1, "last_offset": 2}
    )
    page = render_audit_page(replace(rich_report(), findings=(finding,)))
    assert "<b>Look at</b><ul><li><code>orders-cdc-0: offsets 1 to 2</code></li></ul>" in page


def event(connector: str, kind: str, tasks: int | None) -> TimelineEvent:
    return TimelineEvent(connector, AS_OF + (tasks or 0), kind, "connect-configs", 0, 7, tasks)


def test_stops_and_sinks_are_marked_as_such():
    events = (event("orders", "commit", 2), event("orders", "commit", 0), event("to-s3", "commit", 1))
    report = AuditReport(PLAN, (), (), (), timeline=events, sinks=("to-s3",))
    timeline = audit_figures(report)[0]
    assert {trace["name"]: len(trace["x"]) for trace in timeline.traces} == {"task commits": 2, "stopped (0 tasks)": 1}
    assert timeline.layout["yaxis"]["ticktext"] == ["orders", "to-s3 (sink)"]
    assert [row[:2] + row[5:6] for row in timeline.rows] == [("orders", "source", 1), ("to-s3", "sink", 0)]
    assert timeline.summary.startswith("2 connectors (1 sink among them): 2 task commits,")


def test_who_keeps_readers_back_is_named_by_connector_then_by_transactional_id():
    stalls = tuple(
        Stall("orders-cdc", 0, offset, AS_OF - 9_000 + offset, AS_OF, producer, connector)
        for offset, (producer, connector) in enumerate([(4020, "orders"), (4000, None), (9917, None)])
    )
    figure = audit_figures(AuditReport(PLAN, (), (), (), stalls=stalls))[1]
    assert [row[-1] for row in figure.rows] == [
        "orders, producer 4020",
        "transactional ID connect-cluster-customers-cdc-0, producer 4000",
        "producer 9917",
    ]


def test_new_known_and_waived_findings_are_marked():
    waiver = Waiver("EOS200", "*", "team-<data>", "legacy", date(2026, 12, 31))
    report = replace(rich_report(), earlier=EarlierAudit(1, "…", {}, frozenset()))
    page = render_audit_page(report.under(Triage(waivers=(waiver,), today=date(2026, 1, 1))))
    assert page.count('<span class="since">new</span>') == 6
    assert "Waived until 2026-12-31 (team-&lt;data&gt;: legacy)" in page
    assert '<span class="since">' not in render_audit_page(rich_report())
