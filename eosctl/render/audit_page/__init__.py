"""The page put together: everything in one file, and a policy that lets it ask the network for nothing."""

import base64
import gzip
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from eosctl.errors import NotInstalled
from eosctl.model.audit import WORST_FIRST, AuditPlan, AuditReport, TopicRole
from eosctl.model.report import Finding
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.audit import (
    WitnessRow,
    at_most_words,
    connector_rows,
    coverage_notes,
    range_row,
    statistics_row,
    summary,
    witness_rows,
)
from eosctl.render.audit_page.plots import (
    NONE,
    Figure,
    duration_words,
    epochs_figure,
    growth_figure,
    named_words,
    shown,
    size_words,
    stalls_figure,
    timeline_figure,
    transaction_figures,
)
from eosctl.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


MOST_RANGES: Final = 20


def output_ranges(finding: Finding, plan: AuditPlan) -> list[str]:
    """One line for each range of an output topic that the evidence names, in its order.

    Where it names none, the output topics of the connectors concerned: nothing shows where in them to look. Information
    needs no look.
    """
    outputs = {topic.name: topic.connectors for topic in plan.topics if topic.role is TopicRole.OUTPUT}
    ranges = list(dict.fromkeys(words for place in _output_places(finding) for words in _range(place, outputs)))
    if ranges or not finding.counts:
        more = [f"and {len(ranges) - MOST_RANGES:,} more"] if len(ranges) > MOST_RANGES else []
        return ranges[:MOST_RANGES] + more
    named = finding.evidence.get("connectors")
    concerned = {*named} if isinstance(named, list | tuple) else set()
    written = [name for name, connectors in outputs.items() if concerned.intersection(connectors)]
    return [f"{name}: the whole partition; the finding names no offsets there" for name in written[:MOST_RANGES]]


def _output_places(finding: Finding) -> Iterator[Mapping[str, object]]:
    """Records written with the offsets first, then the finding's own places."""
    evidence = finding.evidence
    for name in ("data", *evidence):
        value = evidence.get(name)
        if isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, Mapping))
    yield evidence


def _range(place: Mapping[str, object], outputs: Mapping[str, object]) -> Iterator[str]:
    topic, partition = place.get("topic"), place.get("partition")
    if topic not in outputs or not isinstance(partition, int):
        return
    first = next((place[name] for name in ("first_offset", "start_offset", "start", "offset") if name in place), None)
    end = place.get("end")
    last = place.get("last_offset", end - 1 if isinstance(end, int) else place.get("offset"))
    if not isinstance(first, int):
        return
    where = f"offset {first}" if first == last else f"offsets {first} to {last}" if isinstance(last, int) else ""
    records, kind = place.get("records"), place.get("committed_with")
    amount = f", {pluralize(records, 'record')}" if isinstance(records, int) else ""
    beside = f", committed with the source offset {kind}" if kind else ""
    yield f"{topic}-{partition}: {where or f'from offset {first} on'}{amount}{beside}"


ASSETS: Final = "templates"
VERDICT_WORDS: Final = {
    "held": "From the time in the reason on, the records contain no violation of exactly-once, and the evidence is "
    "complete. No record was repeated or skipped because of a source offset. All data was committed in "
    "transactions with its source offsets. No fenced producer wrote. The verdict does not cover cases outside "
    "Kafka's guarantee: records never read from the source, a snapshot that Debezium began again, other writers of "
    "the topic, and consumers without isolation.level=read_committed.",
    "altered": "There is no violation of exactly-once, but source offsets were changed while the connector was "
    "stopped. This change repeated records in the topics or skipped records. The reason has their number, if it is "
    "known.",
    "broken": "There is a violation of exactly-once, or a change that the connector wrote in part. The findings "
    "name topic, partition and offsets.",
    "cannot-tell": "There is no violation in the evidence, but evidence is missing, expired or unclear, or the "
    "connector never committed offsets in a transaction. This does not mean held.",
}
"""The meaning of each verdict, and its limits."""
PACKING: Final = 6
"""The level of gzip: 9 takes half as long again for 0.2 % less."""


def render_audit_page(report: AuditReport, command: str = "") -> str:
    """The report as one HTML file: verdicts, findings, plots, ranges; command is its command line.

    It needs no network: styles, scripts and Plotly are inside, and its content security policy allows no request and no
    script but those two, by their SHA-256. The template escapes every name, which is escaped again where Plotly would
    read markup. Raises ConfigError if the extra `report` is not installed.
    """
    return render_page("audit.html", audit_figures(report), command=command, **_facts(report))


def render_page(template: str, figures: Sequence[Figure], **facts: object) -> str:
    """A page of this template with its plots, as render_audit_page says."""
    plotly, script = _plotly(), _asset("audit.js")
    return (
        _environment()
        .get_template(template)
        .render(
            policy=_policy(script, plotly),
            style=_asset("audit.css"),
            script=script,
            plotly=_packed(plotly),
            plots=[each.plot() for each in figures if each.traces],
            figures=figures,
            version=__version__,
            **facts,
        )
    )


def audit_figures(report: AuditReport) -> tuple[Figure, ...]:
    return (
        timeline_figure(report),
        stalls_figure(report),
        *transaction_figures(report),
        epochs_figure(report),
        growth_figure(report),
    )


def _facts(report: AuditReport) -> dict[str, Any]:
    plan = report.plan
    verdicts = Counter(each.verdict.value for each in report.connectors)
    shown = witness_rows(report.witnesses, report.triage.kafka_tools)
    witnesses = {(each.finding_id, each.subject): each for each in shown}
    return {
        "as_of": rfc3339(plan.as_of),
        "cluster_id": plan.cluster_id,
        "group_id": plan.group_id,
        "verdict": report.verdict.value,
        "summary": summary(report),
        "verdicts": [(each.value, verdicts[each.value]) for each in WORST_FIRST],
        "connectors": connector_rows(report),
        "findings": [_finding(each, report, witnesses.get((each.id, each.subject))) for each in report.reported],
        "window": None if report.window is None else tuple(map(rfc3339, report.window)),
        "verdict_words": VERDICT_WORDS,
        "coverage": coverage_notes(report),
        "severities": Counter(each.severity.value for each in report.findings),
        "ranges": [range_row(each) for each in report.ranges],
        "transactions": [statistics_row(each) for each in report.transactions],
        "totals": _totals(report),
        "topics": plan.topics,
        "unread": sorted((name, each.reason) for name, each in plan.unread.items()),
    }


def _finding(finding: Finding, report: AuditReport, witness: WitnessRow | None) -> dict[str, Any]:
    places = {str(name): value for name, value in finding.evidence.items() if _is_list_of_objects(value)}
    return {
        "id": finding.id,
        "name": finding.name,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "cure": report.triage.cure_of(finding),
        "ranges": output_ranges(finding, report.plan),
        "witness": witness,
        "new": report.is_new(finding),
        "waiver": report.triage.waiver_of(finding),
        "evidence": [
            (str(name), named_words(str(name), value))
            for name, value in finding.evidence.items()
            if str(name) not in places
        ],
        "places": [_places(name, value) for name, value in places.items()],
    }


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _places(name: str, places: Any) -> dict[str, Any]:  # noqa: ANN401  # a list of objects, as a finding has it
    headers = list(dict.fromkeys(str(key) for place in places for key in place))
    rows = [{str(key): named_words(str(key), value) for key, value in place.items()} for place in places]
    return {"name": name, "headers": headers, "rows": [[row.get(each, "") for each in headers] for row in rows]}


def _totals(report: AuditReport) -> list[tuple[str, str]]:
    read = report.ranges
    return [
        ("records read", f"{sum(each.records for each in read):,}"),
        ("stored", size_words(sum(each.size_bytes for each in read))),
        ("partitions", f"{len(read):,}"),
        ("transactions committed", f"{sum(each.committed for each in report.transactions):,}"),
    ]


@cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise NotInstalled("--report", "report", error) from error
    loader = PackageLoader("eosctl.render", ASSETS)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "shown": shown,
        "size": size_words,
        "duration": duration_words,
        "figure": _figure,
        "bound": at_most_words,
    }
    environment.globals["no_task"] = NONE
    return environment


def _figure(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else shown(str(value))


@cache
def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise NotInstalled("--report", "report", error) from error
    text: str = get_plotlyjs()
    return text


@cache
def _packed(script: str) -> str:
    return base64.b64encode(gzip.compress(script.encode(), PACKING, mtime=0)).decode()


def _asset(name: str) -> str:
    return (files("eosctl.render") / ASSETS / name).read_text("utf-8")


def _policy(*scripts: str) -> str:
    """The content security policy. Styles may stand in attributes: Plotly positions its marks with them."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
