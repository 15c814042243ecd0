"""What an audit concluded: the verdict on each connector first, then what speaks against it, then what was read."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from eosctl.model.audit_report import (
    WORST_FIRST,
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    Growth,
    RangeEvidence,
    Stall,
    TransactionStatistics,
    count_words,
    total_records,
)
from eosctl.model.counts import counted
from eosctl.model.histograms import quantile
from eosctl.model.times import rfc3339
from eosctl.render.cells import cell
from eosctl.render.document import MOST, Align, Column, Document, Findings, Rows, Table, Tone, Tree, figure, look_up
from eosctl.render.documents.audit import (
    AuditData,
    GrowthRow,
    ReadRangeRow,
    StallRow,
    StatisticsRow,
    VerdictRow,
)
from eosctl.render.views.audit_plan import plan_data
from eosctl.render.views.report import findings_of

VERDICT_TONES: Final = {
    AuditVerdict.HELD.value: Tone.GOOD,
    AuditVerdict.BROKEN.value: Tone.BAD,
    AuditVerdict.CANNOT_TELL.value: Tone.WARN,
    AuditVerdict.ALTERED.value: Tone.WARN,
}


def _at_most(header: str, path: str, meaning: str) -> Column:
    """A column of upper ends of buckets: ≤511 is not known better, 0 and 1 are buckets of their own."""
    return Column(header, path, meaning, align=Align.RIGHT, brief=lambda row: at_most_words(look_up(row, path)))


def at_most_words(bound: Tree) -> str:
    """The upper end of a histogram's bucket; ≤ where the bucket holds other figures, too."""
    return f"≤{bound}" if isinstance(bound, int) and bound > 1 else cell(bound)


CONNECTORS: Final = Table(
    "connectors",
    (
        Column("CONNECTOR", "name", "the connector's name"),
        Column(
            "VERDICT", "verdict", "held, altered, broken or cannot-tell: whether exactly-once held", tones=VERDICT_TONES
        ),
        Column("EVIDENCE", "evidence", "IDs of the findings behind it"),
        Column("REASON", "words", "what the verdict rests on"),
    ),
    empty="no connectors",
)
RANGES: Final = Table(
    "ranges",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("FROM", "start", "the first offset that was read"),
        figure("TO", "end", "the offset behind the last one that was read"),
        figure("RECORDS", "records", "data records in the log"),
        figure("ABORTED", "aborted_records", "records of aborted transactions"),
        figure("PLAIN", "plain_records", "records outside any transaction"),
        Column("GAPS", "gap_words", "offsets without a batch, by kind"),
    ),
    title="Read",
    most=MOST,
    empty="nothing was read",
)
TRANSACTIONS: Final = Table(
    "transactions",
    (
        Column("CONNECTOR", "connector", "whose transactions; - for producers that are no known task's"),
        figure("COMMITTED", "committed", "transactions that were committed"),
        figure("ABORTED", "aborted", "transactions that were aborted"),
        figure("RECORDS", "records", "records in them"),
        _at_most("P50", "median_records", "half of them have at most that many records"),
        _at_most("P99", "p99_records", "99% of them have at most that many records"),
        _at_most("P50-MS", "median_ms", "half of them took at most that long"),
        _at_most("P99-MS", "p99_ms", "99% of them took at most that long"),
    ),
    title="Transactions",
    most=MOST,
    empty="no transactions",
)
STALLS: Final = Table(
    "stalls",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("OFFSET", "start_offset", "where the last stable offset did not move"),
        Column("TIME", "from_time", "since when, UTC"),
        figure("HELD-S", "held_s", "for how long; until the audit, where the transaction is still open"),
        Column("BY", "by", "whose transaction was open"),
    ),
    title="The last stable offset did not move",
    most=MOST,
)


def view_audit(report: AuditReport) -> Document:
    """Verdicts, findings with evidence and fix, ranges, and statistics; the pictures' figures are in the data too."""
    plan = report.plan
    stalls = [_stall_row(each, report) for each in report.stalls]
    data: AuditData = {
        "verdict": report.verdict,
        "connectors": connector_rows(report),
        **findings_of(report),
        "compared_with": None
        if report.earlier is None
        else {"run_number": report.earlier.run_number, "as_of": report.earlier.as_of},
        "ranges": [range_row(each) for each in report.ranges],
        "transactions": [statistics_row(each) for each in report.transactions],
        "stalls": stalls,
        "sinks": list(report.sinks),
        "timeline": Rows(each._asdict() for each in report.timeline),
        "epochs": Rows(each._asdict() for each in report.epochs),
        "growth": Rows(_growth_rows(report.growth)),
        "plan": plan_data(plan),
    }
    return Document(
        kind="audit",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.cluster_id,
        data=data,
        blocks=(
            CONNECTORS,
            Findings(evidence=True, most=MOST),
            RANGES,
            *([TRANSACTIONS] if report.transactions else []),
            *([STALLS] if stalls else []),
        ),
        prose=(summary(report),),
        concludes=True,
        notes=tuple(f"not read: {name}: {each.reason}" for name, each in sorted(plan.unread.items())),
    )


def summary(report: AuditReport) -> str:
    """The answer in one sentence: how many connectors have which verdict, on how many records it rests."""
    read = _read(report)
    count = Counter(each.verdict for each in report.connectors)
    if not count:
        return f"No connector was judged; {read}."
    said = ", ".join(f"{count[each]:,} {each.value}" for each in WORST_FIRST if count[each])
    return f"Exactly-once, by connector: {said}; {read}.{_changed(report)}{_since(report)}"


def _read(report: AuditReport) -> str:
    """How many records the answer rests on; of an audit that goes on, how many of them its earlier runs read."""
    records, partitions = sum(each.records for each in report.ranges), len(report.ranges)
    of = f"of {counted(partitions, 'partition')}"
    if report.newly_read is None:
        return f"{counted(records, 'record')} {of} were read"
    before = max(0, records - report.newly_read)
    return f"{counted(report.newly_read, 'record')} {of} were read in this run, {before:,} in earlier ones"


def _changed(report: AuditReport) -> str:
    """How many records are there once more, or not at all, because somebody changed source offsets."""
    words = [
        *count_words(total_records(each.repeated_by_change for each in report.connectors), "written once more"),
        *count_words(total_records(each.left_out_by_change for each in report.connectors), "left out"),
    ]
    return f" Because source offsets were altered, {', and '.join(words)}." if words else ""


def _since(report: AuditReport) -> str:
    """How many findings that count are new since the run before, where there was one."""
    if report.earlier is None:
        return ""
    counting = [each for each in report.findings if each.counts]
    new = sum(report.is_new(each) is not False for each in counting)
    since = f"run {report.earlier.run_number} ({report.earlier.as_of})"
    return f" New since {since}: {new:,} of {counted(len(counting), 'error or warning', 'errors and warnings')}."


def connector_rows(report: AuditReport) -> list[VerdictRow]:
    """`data.connectors[]`, the worst verdict first, then by name."""
    ordered = sorted(report.connectors, key=lambda each: (WORST_FIRST.index(each.verdict), each.name))
    return [_connector_row(each) for each in ordered]


def _connector_row(connector: ConnectorVerdict) -> VerdictRow:
    return {
        "name": connector.name,
        "verdict": connector.verdict,
        "evidence": list(connector.evidence),
        "reasons": list(connector.reasons),
        "words": "; ".join(connector.reasons) or None,
        "repeated_by_change": connector.repeated_by_change,
        "left_out_by_change": connector.left_out_by_change,
    }


def range_row(evidence: RangeEvidence) -> ReadRangeRow:
    """One of `data.ranges[]`: what was read of one partition, times as RFC 3339 too."""
    offsets: Counter[str] = Counter()
    for gap in evidence.gaps:
        offsets[gap.kind] += gap.end - gap.start
    return {
        "topic": evidence.topic,
        "partition": evidence.partition,
        "start": evidence.start,
        "end": evidence.end,
        "records": evidence.records,
        "control_records": evidence.control_records,
        "aborted_records": evidence.aborted_records,
        "plain_records": evidence.plain_records,
        "batches": evidence.batches,
        "size_bytes": evidence.size_bytes,
        "first_timestamp": evidence.first_timestamp,
        "first_time": time_of(evidence.first_timestamp),
        "last_timestamp": evidence.last_timestamp,
        "last_time": time_of(evidence.last_timestamp),
        "gaps": list(evidence.gaps),
        "gap_words": ", ".join(f"{kind} {count}" for kind, count in sorted(offsets.items())) or None,
    }


def statistics_row(statistics: TransactionStatistics) -> StatisticsRow:
    """One of `data.transactions[]`; the keys of both histograms are the buckets' numbers."""
    return {
        "connector": statistics.connector,
        "committed": statistics.committed,
        "aborted": statistics.aborted,
        "records": statistics.records,
        "size_bytes": statistics.size_bytes,
        "aborted_records": statistics.aborted_records,
        "aborted_bytes": statistics.aborted_bytes,
        "median_records": quantile(statistics.sizes, 0.5),
        "p99_records": quantile(statistics.sizes, 0.99),
        "median_ms": quantile(statistics.durations, 0.5),
        "p99_ms": quantile(statistics.durations, 0.99),
        "sizes": dict(sorted(statistics.sizes.items())),
        "durations": dict(sorted(statistics.durations.items())),
    }


def _stall_row(stall: Stall, report: AuditReport) -> StallRow:
    until = report.plan.as_of if stall.until_ms is None else stall.until_ms
    return {
        "topic": stall.topic,
        "partition": stall.partition,
        "start_offset": stall.start_offset,
        "from_ms": stall.from_ms,
        "until_ms": stall.until_ms,
        "producer_id": stall.producer_id,
        "connector": stall.connector,
        "open": stall.until_ms is None,
        "from_time": time_of(stall.from_ms),
        "until_time": time_of(stall.until_ms),
        "by": report.owner_of(stall),
        "held_s": round(max(0, until - stall.from_ms) / 1000, 1),
    }


def _growth_rows(growth: Sequence[Growth]) -> list[GrowthRow]:
    """One object a partition, with three lists that run side by side: there may be thousands of hours."""
    partitions: dict[tuple[str, int], GrowthRow] = {}
    for topic, partition, hour, records, tombstones in growth:
        row = partitions.get((topic, partition))
        if row is None:
            row = {"topic": topic, "partition": partition, "hours": [], "records": [], "tombstones": []}
            partitions[topic, partition] = row
        row["hours"].append(hour)
        row["records"].append(records)
        row["tombstones"].append(tombstones)
    return list(partitions.values())


def time_of(timestamp: int | None) -> str | None:
    """RFC 3339 in UTC; None for no timestamp, which Kafka writes as -1."""
    return None if timestamp is None or timestamp < 0 else rfc3339(timestamp)
