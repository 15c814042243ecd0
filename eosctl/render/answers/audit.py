"""What an audit concluded: the verdict on each connector first, then what speaks against it, then what was read."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypedDict

from eosctl.model.audit import (
    WORST_FIRST,
    AuditPlan,
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EpochPoint,
    Gap,
    Growth,
    PartitionBounds,
    RangeEvidence,
    RecordCount,
    Stall,
    TimelineEvent,
    TopicRole,
    TransactionalIdHolder,
    TransactionStatistics,
    count_words,
    total_records,
)
from eosctl.model.audit_states import quantile
from eosctl.model.ledger import (
    CommittedRange,
    Cursor,
    JobSummary,
    LedgerHistory,
    LedgerRangeKind,
    LedgerStatus,
    RunSummary,
)
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.cells import cell
from eosctl.render.document import MOST, Align, Column, Document, Findings, Rows, Table, Tone, Tree, figure, look_up

# What `audit`, `audit status` and `audit history` answer.


class AuditedTopicRow(TypedDict):
    """A topic that is read, and how: offsets and config are decoded, of output the batch headers."""

    name: str
    role: TopicRole
    topic_id: str | None
    cleanup_policy: str | Skipped
    connectors: list[str]
    partitions: int
    offsets: int


class PlannedRangeRow(TypedDict):
    """Offsets [start, end) to read; settled: all of them are below the last stable offset."""

    topic: str
    partition: int
    start: int
    end: int
    settled: bool
    size: int


class AuditPlanData(TypedDict):
    """All that is read; unread names what could not be, with the reason."""

    group_id: str | None
    topics: list[AuditedTopicRow]
    bounds: list[PartitionBounds]
    ranges: list[PlannedRangeRow]
    connectors: tuple[str, ...] | Skipped
    holders: tuple[TransactionalIdHolder, ...] | Skipped
    unread: dict[str, str]


class VerdictRow(TypedDict):
    """The verdict on a connector: evidence are IDs of findings, words are its reasons as one text.

    repeated_by_change counts records that were written once more because somebody changed source offsets,
    left_out_by_change those that were never read; at_most is null where no upper bound is known.
    """

    name: str
    verdict: AuditVerdict
    evidence: list[str]
    reasons: list[str]
    words: str | None
    repeated_by_change: RecordCount
    left_out_by_change: RecordCount


class ReadRangeRow(TypedDict):
    """What was read of a partition, offsets [start, end); gaps are offsets without a batch."""

    topic: str
    partition: int
    start: int
    end: int
    records: int
    control_records: int
    aborted_records: int
    plain_records: int
    batches: int
    size_bytes: int
    first_timestamp: int | None
    first_time: str | None
    last_timestamp: int | None
    last_time: str | None
    gaps: list[Gap]
    gap_words: str | None


class StatisticsRow(TypedDict):
    """Transactions of a connector (null: of no known task); histograms count by bucket, n for 2^(n-1) to 2^n - 1."""

    connector: str | None
    committed: int
    aborted: int
    records: int
    size_bytes: int
    aborted_records: int
    aborted_bytes: int
    median_records: int | None
    p99_records: int | None
    median_ms: int | None
    p99_ms: int | None
    sizes: dict[int, int]
    durations: dict[int, int]


class StallRow(TypedDict):
    """A transaction that was open for long, so that the last stable offset did not move."""

    topic: str
    partition: int
    start_offset: int
    from_ms: int
    until_ms: int | None
    producer_id: int
    connector: str | None
    open: bool
    from_time: str | None
    until_time: str | None
    by: str
    held_s: float


class GrowthRow(TypedDict):
    """Records and tombstones of a partition by hour since the epoch, in lists that run side by side."""

    topic: str
    partition: int
    hours: list[int]
    records: list[int]
    tombstones: list[int]


class EarlierRunRow(TypedDict):
    """The run of the same job that findings are compared with."""

    run_number: int
    as_of: str


class AuditData(ShownFindings):
    """Verdicts, findings, what was read, and the figures of the pictures."""

    verdict: AuditVerdict
    connectors: list[VerdictRow]
    compared_with: EarlierRunRow | None
    ranges: list[ReadRangeRow]
    transactions: list[StatisticsRow]
    stalls: list[StallRow]
    sinks: list[str]
    timeline: list[TimelineEvent]
    epochs: list[EpochPoint]
    growth: list[GrowthRow]
    plan: AuditPlanData


class RunRow(TypedDict):
    """A run of a job; gaps are ranges that could no longer be read."""

    run_number: int
    run_id: str
    as_of: str
    committed_at: str
    verdict: str
    findings: int
    eosctl_version: str
    offsets: int
    records: int
    gaps: int


class JobRow(TypedDict):
    """A job of the ledger."""

    job: str
    cluster_id: str | None
    partitions: int
    last_run: RunRow


class GapRow(TypedDict):
    """Offsets that no run has read, and why."""

    job: str
    run_number: int
    topic: str
    partition: int
    topic_id: str | None
    start_offset: int
    end_offset: int
    kind: LedgerRangeKind
    meaning: str


class CursorRow(TypedDict):
    """Where the next run begins to read a partition."""

    job: str
    topic: str
    partition: int
    topic_id: str | None
    offset: int


class LedgerStatusData(TypedDict):
    """Every job with its last run, and what was never read."""

    store: str
    jobs: list[JobRow]
    gaps: list[GapRow]
    cursors: list[CursorRow]


class LedgerHistoryData(TypedDict):
    """The runs of one job, the last one first."""

    store: str
    job: str
    runs: list[RunRow]


# What an audit will read: topics with their roles, and the ranges of offsets.


TOPICS: Final = Table(
    "topics",
    (
        Column("TOPIC", "name", "the topic"),
        Column("ROLE", "role", "offsets: decoded; config: replayed; output: batch headers are enough"),
        figure("PARTITIONS", "partitions", "partitions that will be read"),
        figure("OFFSETS", "offsets", "offsets that will be read: at least the number of records"),
        Column("CLEANUP", "cleanup_policy", "the topic's cleanup.policy", tones={"unknown": Tone.WARN}),
        Column("CONNECTORS", "connectors", "who uses it; - for the worker's own topics"),
        Column("TOPIC-ID", "topic_id", "Kafka's ID of the topic; another one once it was created again"),
    ),
    empty="no topics",
)
PLANNED_RANGES: Final = Table(
    "ranges",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("FROM", "start", "the first offset to read"),
        figure("TO", "end", "the offset behind the last one to read"),
        figure("OFFSETS", "size", "offsets in it: at least the number of records"),
        Column("SETTLED", "settled", "no behind the last stable offset, where transactions are open"),
    ),
    title="Ranges",
    empty="nothing to read",
)


def view_audit_plan(plan: AuditPlan) -> Document:
    """`audit --plan`: topics, roles, ranges and sizes; nothing of it has been read yet."""
    return Document(
        kind="audit.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.cluster_id,
        data=plan_data(plan),
        blocks=(TOPICS, PLANNED_RANGES),
        prose=(_summary(plan),),
        notes=tuple(f"not read: {name}: {each.reason}" for name, each in sorted(plan.unread.items())),
    )


def _summary(plan: AuditPlan) -> str:
    settled, behind = (sum(each.size for each in plan.ranges if each.settled is kind) for kind in (True, False))
    topics, partitions = pluralize(len(plan.topics), "topic"), pluralize(len(plan.bounds), "partition")
    offsets = pluralize(settled, "offset")
    return f"{topics}, {partitions}: {offsets} to read, and {behind:,} behind the last stable offsets."


def plan_data(plan: AuditPlan) -> AuditPlanData:
    """`data.plan` of a report, and the data of `audit --plan`."""
    offsets: Counter[str] = Counter()
    for each in plan.ranges:
        offsets[each.topic] += each.size
    partitions = Counter(each.topic for each in plan.bounds)
    return {
        "group_id": plan.group_id,
        "topics": [
            {
                "name": each.name,
                "role": each.role,
                "topic_id": each.topic_id,
                "cleanup_policy": each.cleanup_policy,
                "connectors": list(each.connectors),
                "partitions": partitions[each.name],
                "offsets": offsets[each.name],
            }
            for each in plan.topics
        ],
        "bounds": list(plan.bounds),
        "ranges": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "start": each.start,
                "end": each.end,
                "settled": each.settled,
                "size": each.size,
            }
            for each in plan.ranges
        ],
        "connectors": plan.connectors,
        "holders": plan.holders,
        "unread": {name: each.reason for name, each in plan.unread.items()},
    }


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
    of = f"of {pluralize(partitions, 'partition')}"
    if report.newly_read is None:
        return f"{pluralize(records, 'record')} {of} were read"
    before = max(0, records - report.newly_read)
    return f"{pluralize(report.newly_read, 'record')} {of} were read in this run, {before:,} in earlier ones"


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
    return f" New since {since}: {new:,} of {pluralize(len(counting), 'error or warning', 'errors and warnings')}."


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


# What a ledger holds: jobs, where their cursors stand, what was never read, and the history of runs.


VERDICTS = {"held": Tone.GOOD, "altered": Tone.WARN, "broken": Tone.BAD, "cannot-tell": Tone.WARN}

JOBS = Table(
    "jobs",
    (
        Column("JOB", "job", "the job's name"),
        Column("CLUSTER-ID", "cluster_id", "the Kafka cluster that it audits"),
        figure("PARTITIONS", "partitions", "partitions that it follows"),
        Column("LAST-RUN", "last_run.as_of", "when its last run was planned, UTC"),
        Column(
            "VERDICT", "last_run.verdict", "that run's verdict: held, altered, broken or cannot-tell", tones=VERDICTS
        ),
    ),
    empty="no job has committed a run yet",
)

RUNS = Table(
    "runs",
    (
        figure("RUN", "run_number", "the run's number"),
        Column("RUN-ID", "run_id", "its ID"),
        Column("TIME", "as_of", "when it was planned, UTC"),
        Column("VERDICT", "verdict", "its verdict: held, altered, broken or cannot-tell", tones=VERDICTS),
        figure("FINDINGS", "findings", "how many findings its report has"),
        figure("OFFSETS", "offsets", "offsets that it read"),
        figure("RECORDS", "records", "data records among them"),
        figure("GAPS", "gaps", "ranges that could no longer be read"),
    ),
)

CURSORS = Table(
    "cursors",
    (
        Column("JOB", "job", "the job's name"),
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "its partition"),
        figure("OFFSET", "offset", "where the next run begins"),
    ),
    title="Cursors",
    most=MOST,
    worth_showing=lambda row: bool(look_up(row, "offset")),
)

GAPS = Table(
    "gaps",
    (
        Column("JOB", "job", "the job's name"),
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "its partition"),
        figure("START-OFFSET", "start_offset", "the first offset that was not read"),
        Column("REASON", "meaning", "why not"),
    ),
    title="Never read",
    most=MOST,
    empty="every settled offset behind the cursors was read",
)

MEANINGS = {
    LedgerRangeKind.EXPIRED: "expired up to offset {end} before an audit came",
    LedgerRangeKind.RECREATED: "the topic was deleted and created again; what lay behind went with it",
    LedgerRangeKind.TRUNCATED: "read, then lost up to offset {end}: the log was cut and written again",
}


def view_status(status: LedgerStatus) -> Document:
    """`audit status`: every job with its last run, where its cursors stand, and every range that no run has read."""
    jobs = status.jobs
    data: LedgerStatusData = {
        "store": status.store,
        "jobs": [_job(each.summary) for each in jobs],
        "gaps": [
            _gap(job.summary.job, each)
            for job in jobs
            for each in job.ranges
            if each.range.kind is not LedgerRangeKind.READ
        ],
        "cursors": [
            _cursor(each.summary.job, each.state.cursors[place])
            for each in jobs
            for place in sorted(each.state.cursors)
        ],
    }
    blocks = (JOBS, GAPS, CURSORS) if jobs else (JOBS,)
    return Document("audit.status", data, rfc3339(status.as_of), blocks=blocks)


def view_history(history: LedgerHistory) -> Document:
    """`audit history`: the runs of one job, the last one first."""
    job = history.job
    data: LedgerHistoryData = {
        "store": history.store,
        "job": job.job,
        "runs": [_run(each) for each in history.runs],
    }
    return Document("audit.history", data, rfc3339(history.as_of), job.cluster_id, blocks=(RUNS,))


def _job(each: JobSummary) -> JobRow:
    return {
        "job": each.job,
        "cluster_id": each.cluster_id,
        "partitions": each.partitions,
        "last_run": _run(each.last_run),
    }


def _run(each: RunSummary) -> RunRow:
    return {
        "run_number": each.run_number,
        "run_id": each.run_id,
        "as_of": rfc3339(each.as_of),
        "committed_at": rfc3339(each.committed_at),
        "verdict": each.verdict,
        "findings": each.findings,
        "eosctl_version": each.eosctl_version,
        "offsets": each.offsets,
        "records": each.records,
        "gaps": each.gaps,
    }


def _cursor(job: str, each: Cursor) -> CursorRow:
    return {
        "job": job,
        "topic": each.topic,
        "partition": each.partition,
        "topic_id": each.topic_id,
        "offset": each.offset,
    }


def _gap(job: str, each: CommittedRange) -> GapRow:
    gap = each.range
    return {
        "job": job,
        "run_number": each.run_number,
        "topic": gap.topic,
        "partition": gap.partition,
        "topic_id": gap.topic_id,
        "start_offset": gap.start,
        "end_offset": gap.end,
        "kind": gap.kind,
        "meaning": MEANINGS[gap.kind].format(end=gap.end),
    }
