"""The audit's page: figures, findings and guidance."""

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from plotly import graph_objects
from plotly.offline import get_plotlyjs

from eosctl.analysis.catalogue import audit as kinds
from eosctl.errors import install_command
from eosctl.model.audit import (
    AuditReport,
    EarlierAudit,
    EpochPoint,
    Stall,
    TimelineEvent,
    TransactionStatistics,
    Witness,
    WitnessRecord,
)
from eosctl.model.report import Severity, Triage, Waiver
from eosctl.operations.audit import command_line
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.session_options import SessionOptions
from eosctl.render.audit_page import audit_figures, output_ranges, render_audit_page
from eosctl.render.audit_page.plots import duration_words, in_plot, label, named_words, shown, size_words, words
from eosctl.version import __version__
from tests.operations.quiet import Quiet
from tests.render.audit_reports import AS_OF, HOSTILE_NAMES, build_report, large_report, reports, rich_report

CONNECTORS = 500
MOST_PAGE_BYTES = 8_000_000
MOST_POINTS = 12_000


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.raw[self._inside].append(data)


@pytest.fixture(scope="module")
def rich() -> str:
    return render_audit_page(rich_report())


def test_nothing_in_the_page_is_loaded_from_elsewhere(rich):
    elements = Elements(rich)
    addresses = [
        value
        for _, attributes in elements.tags
        for name, value in attributes.items()
        if name in {"src", "href", "srcset", "action", "data", "poster"} and not (value or "").startswith("#")
    ]
    assert addresses == ["data:,"]
    assert not re.search(r"@import|url\(", "".join(elements.raw["style"]))


def test_the_policy_allows_two_scripts_by_their_hash_and_no_request(rich):
    elements = Elements(rich)
    [policy] = [at["content"] for tag, at in elements.tags if tag == "meta" and at.get("http-equiv")]
    scripts = [elements.raw["script"][-1], get_plotlyjs()]
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_plotly_is_carried_packed(rich):
    packed = base64.b64decode(Elements(rich).raw["script"][1])
    assert gzip.decompress(packed).decode() == get_plotlyjs()
    assert packed[4:8] == bytes(4)  # no time: the same report gives the same page
    assert len(rich.encode()) < 2_500_000


def test_the_same_report_gives_the_same_page(rich):
    assert render_audit_page(rich_report()) == rich


def test_verdicts_findings_and_cures_are_in_the_page_without_any_script(rich):
    assert rich.index("invoices-cdc") < rich.index("orders-cdc") < rich.index("legacy-import")
    for finding in rich_report().findings:
        assert f"<code>{finding.id}</code> <code>{finding.name}</code>" in rich
    assert "find the process that holds producer 9917, stop it" in rich
    assert "User:auditor may not READ topic __transaction_state" in rich


def test_places_of_a_finding_are_a_table(rich):
    table = rich[rich.index('aria-label="places of EOS200"') :]
    cells = re.findall(r"<t[dh](?: [^>]*)?>(.*?)</t[dh]>", table[: table.index("</table>")])
    assert cells == [
        *("topic", "partition", "offset", "before", "after"),
        *("connect-offsets", "4", "60113", "id 90114", "id 88102"),
        *("connect-offsets", "4", "60190", "id 90380", "id 90114"),
    ]


def test_every_plot_has_words_and_a_table(rich):
    figures = audit_figures(rich_report())
    assert [each.key for each in figures] == ["timeline", "stalls", "sizes", "durations", "epochs", "growth"]
    for figure in figures:
        assert figure.rows, figure.key
        assert {len(row) for row in figure.rows} == {len(figure.headers)}
        assert f'id="plot-{figure.key}" role="img" aria-label="{figure.title}. ' in rich


def test_every_plot_is_one_that_plotly_takes():
    for figure in audit_figures(rich_report()):
        made = graph_objects.Figure(data=list(figure.traces), layout=dict(figure.layout))
        assert len(made.data) == len(figure.traces), figure.key


def test_a_start_without_fencing_has_no_diamond():
    commit = TimelineEvent("orders", AS_OF, "commit", "connect-configs", 0, 7, 2)
    report = AuditReport(rich_report().plan, (), (), (), timeline=(commit,))
    [trace] = audit_figures(report)[0].traces
    assert (trace["name"], trace["text"]) == (
        "task commits",
        ("orders<br>task commits, 2025-12-31T12:00:00.000Z<br>2 tasks<br>connect-configs-0, offset 7",),
    )


def test_an_epoch_that_goes_back_is_distinguished():
    points = tuple(EpochPoint("t", 0, 7, epoch, AS_OF + number, "orders") for number, epoch in enumerate((3, 4, 3, 5)))
    figure = audit_figures(AuditReport(rich_report().plan, (), (), (), epochs=points))[4]
    assert [(trace["name"], trace["text"]) for trace in figure.traces] == [
        ("new epoch", ["3", "4", "5"]),
        ("went back", ["3"]),
    ]
    assert figure.rows[0][:5] == ("7", "orders", 4, 5, "yes")


def test_bars_of_a_histogram_are_named_by_their_bounds():
    statistics = TransactionStatistics("orders", 5, sizes={0: 1, 3: 4}, durations={11: 5})
    report = AuditReport(rich_report().plan, (), (), (), transactions=(statistics,))
    _, _, sizes, durations, *_ = audit_figures(report)
    assert sizes.rows == (("0", 1), ("1", 0), ("2 to 3", 0), ("4 to 7", 4))
    assert durations.rows == (("1 s to 2 s", 5),)


def test_growth_keeps_every_record_and_tombstone():
    figure = audit_figures(rich_report())[5]
    upper = [trace for trace in figure.traces if trace["stackgroup"] == "records"]
    lower = [trace for trace in figure.traces if trace["stackgroup"] == "tombstones"]
    assert sum(sum(trace["y"][:-1]) for trace in upper) == sum(each.records for each in rich_report().growth)
    assert sum(sum(trace["y"][:-1]) for trace in lower) == sum(each.tombstones for each in rich_report().growth)


def test_an_event_without_a_timestamp_is_counted_in_a_note_and_not_drawn():
    event = TimelineEvent("orders", -1, "commit", "connect-configs", 0, 7, 2)
    figure = audit_figures(AuditReport(rich_report().plan, (), (), (), timeline=(event,)))[0]
    assert figure.traces == ()
    assert figure.notes == ("1 of them have no valid timestamp, and are not drawn.",)


def test_a_large_audit_is_summarized_with_a_note():
    report = large_report()
    page = render_audit_page(report)
    assert len(page.encode()) < MOST_PAGE_BYTES
    figures = {each.key: each for each in audit_figures(report)}
    points = sum(len(trace["x"]) for figure in figures.values() for trace in figure.traces)
    assert len(report.timeline) + len(report.growth) > 100_000
    assert points < MOST_POINTS
    assert (
        figures["timeline"].notes[0] == f"40 of {CONNECTORS} connectors are drawn, those with the worst verdict first."
    )
    assert "The 8 partitions with most records are distinguished, 1,497 others are one." in figures["growth"].notes
    assert page.count("<article") == 5000


def test_a_finding_that_breaks_a_verdict_has_its_witness_beside_it():
    report = rich_report()
    finding = report.reported[0]
    record = WitnessRecord("the lower source offset", "connect-offsets", 3, 41, 41, '{"position":7}', 1_790_000_000_000)
    event = TimelineEvent("orders", 1_790_000_000_000, "commit", "connect-configs", 0, 7, 2)
    trace = "eosctl transactions trace connect-offsets-3@41 --bootstrap-server <broker>"
    witness = Witness(finding.id, finding.name, finding.subject, "It went back.", (record,), (trace,), event)
    triage = Triage(kafka_tools="--bootstrap-server broker:9092")
    page = render_audit_page(replace(report, witnesses=(witness,), triage=triage))
    [article] = [each for each in page.split("<article")[1:] if "It went back." in each]
    assert f"<code>{finding.id}</code>" in article
    assert "<code>connect-offsets-3@41</code> the lower source offset" in article
    assert "commit of 2 tasks at connect-configs-0@7" in article
    assert "eosctl transactions trace connect-offsets-3@41 --bootstrap-server broker:9092" in article


def test_markup_in_names_stays_text():
    page = render_audit_page(build_report(HOSTILE_NAMES, days=1, restarts_a_day=1, seed=1))
    elements = Elements(page)
    harmless = Elements(render_audit_page(build_report(tuple("abcdefgh"), days=1, restarts_a_day=1, seed=1)))
    assert Counter(tag for tag, _ in elements.tags) == Counter(tag for tag, _ in harmless.tags)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "49" not in "".join(each for each in re.findall(r"<h3><bdi>(.*?)</bdi>", page))


@settings(max_examples=12)
@given(reports)
def test_every_report_has_a_page(report):
    page = render_audit_page(report)
    elements = Elements(page)
    assert [tag for tag, _ in elements.tags].count("script") == 3
    assert not any(name.startswith("on") for _, attributes in elements.tags for name in attributes)
    plots = json.loads(elements.raw["script"][0])
    assert page.encode()
    for figure, plot in zip([each for each in audit_figures(report) if each.traces], plots, strict=True):
        assert plot["key"] == figure.key
        graph_objects.Figure(data=plot["traces"], layout=plot["layout"])


@pytest.mark.parametrize(
    ("name", "text", "plotted"),
    [
        ("orders", "orders", "orders"),
        ("a<b>&c", "a<b>&c", "a&lt;b&gt;&amp;c"),
        ("\x1b[2J", r"\x1b[2J", r"\x1b[2J"),
        ("x\u202ey", r"x\u202ey", r"x\u202ey"),
        ("漢字🦆", "漢字🦆", "漢字🦆"),
    ],
)
def test_names_are_shown_as_they_are_or_escaped(name, text, plotted):
    assert (shown(name), in_plot(name)) == (text, plotted)


def test_a_long_name_keeps_its_begin_and_its_end():
    assert label("connector-of-the-department-of-invoices-eu-7") == "connector-of-the-d…ices-eu-7"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (None, "-"),
        ((), "-"),
        (["4020/3", 7], "4020/3, 7"),
        ({"id": 9, "at": [1]}, "id 9, at 1"),
        ("\n", r"\n"),
    ],
)
def test_evidence_is_words(value, text):
    assert words(value) == text


def test_a_timestamp_is_shown_as_a_time():
    assert named_words("timestamp", AS_OF) == "2025-12-31T12:00:00.000Z"
    assert (named_words("timestamp", -1), named_words("offset", AS_OF)) == ("-1", str(AS_OF))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (1 << 62, "4,096.0 PiB")]
)
def test_sizes_have_the_unit_that_fits(size, text):
    assert size_words(size) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (90_061_000, "1 d 1 h")],
)
def test_durations_have_their_two_largest_units(duration, text):
    assert duration_words(duration) == text


@pytest.mark.parametrize("missing", ["jinja2", "plotly"])
def test_a_missing_extra_is_named(missing):
    code = f"import sys; sys.modules['{missing}'] = None; sys.modules['{missing}.offline'] = None\n"
    code += (
        "from tests.render.audit_reports import rich_report\nfrom eosctl.render.audit_page import render_audit_page\n"
    )
    code += "from eosctl.errors import ConfigError\n"
    code += "try: render_audit_page(rich_report())\nexcept ConfigError as error: print(error.message, '|', error.hint)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"--report needs {missing}" in ran.stdout
    assert install_command("report") in ran.stdout


PLAN = rich_report().plan
FAULT = kinds.OFFSET_SET_BACK


def test_the_page_names_its_version_and_its_time():
    page = render_audit_page(rich_report(), "eosctl audit --topic 'a <b>'")
    assert f"eosctl {__version__}: <code>eosctl audit --topic &#39;a &lt;b&gt;&#39;</code>" in page
    begin, end = rich_report().window
    assert begin < end <= AS_OF
    assert "batches of <time>2025-12-28T12:00:00.000Z</time> to <time>" in page


def test_the_page_explains_each_verdict_and_the_limits_of_held():
    page = render_audit_page(rich_report())
    assert page.count('<dl class="meanings">') == 1
    assert "consumers without isolation.level=read_committed" in page
    assert "This does not mean held." in page


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
            ["orders-cdc: the whole partition; the finding names no offsets there"],
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
