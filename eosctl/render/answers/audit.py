"""The conclusions of an audit: the verdict on each connector first, then the findings, then the ranges."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Final, TypedDict

from msgspec import Struct
from msgspec.structs import replace

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
    TransactionStatistics,
    Witness,
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
from eosctl.model.names import Side
from eosctl.model.report import ANY_BROKER, SOURCE_BROKER
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.model.transaction_log import TransactionalIdHolder
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.cells import cell
from eosctl.render.document import (
    MOST,
    Column,
    Document,
    Fields,
    Findings,
    Rows,
    Table,
    Tone,
    Tree,
    col,
    columns,
    look_up,
    row_of,
)

# The answers of `audit`, `audit status` and `audit history`.


NAMED: Final = 5
"""Connectors that a note names."""
VERDICTS = {"held": Tone.GOOD, "altered": Tone.WARN, "broken": Tone.BAD, "cannot-tell": Tone.WARN}


def _at_most(path: str) -> Callable[[Tree], str]:
    """The upper end of a bucket in a cell: ≤511 is not known better, 0 and 1 have their own buckets."""
    return lambda row: at_most_words(look_up(row, path))


def at_most_words(bound: Tree) -> str:
    """The upper end of a histogram's bucket; ≤ where the bucket holds other figures, too."""
    return f"≤{bound}" if isinstance(bound, int) and bound > 1 else cell(bound)


class AuditedTopicRow(Struct, frozen=True):
    """A topic that is read, and how: offsets and config are decoded, of output the batch headers."""

    name: Annotated[str, col("the topic", "TOPIC")]
    role: Annotated[TopicRole, "offsets: decoded; config: replayed; output: batch headers are enough"]
    topic_id: Annotated[str | None, "Kafka's ID of the topic; a topic that was created again has another"]
    cleanup_policy: Annotated[str | Skipped, col("the topic's cleanup.policy", "CLEANUP", tones={"unknown": Tone.WARN})]
    connectors: Annotated[list[str], "who uses the topic; - for the worker's own topics"]
    partitions: Annotated[int, "partitions that will be read"]
    offsets: Annotated[int, "offsets that will be read: at least the number of records"]


class PlannedRangeRow(Struct, frozen=True):
    """Offsets [start, end) to read; settled: all of them are below the last stable offset."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    start: Annotated[int, col("the first offset to read", "FROM")]
    end: Annotated[int, col("the offset after the last one to read", "TO")]
    settled: Annotated[bool, "no after the last stable offset, where transactions may be open"]
    size: Annotated[int, col("offsets that will be read: at least the number of records", "OFFSETS")]


class AuditPlanData(Struct, frozen=True):
    """All that is read; unread names what could not be, with the reason."""

    group_id: str | None
    topics: list[AuditedTopicRow]
    bounds: list[PartitionBounds]
    ranges: list[PlannedRangeRow]
    connectors: tuple[str, ...] | Skipped
    holders: tuple[TransactionalIdHolder, ...] | Skipped
    unread: dict[str, str]


class VerdictRow(Struct, frozen=True):
    """The verdict on a connector: evidence are IDs of findings, words are its reasons as one text.

    repeated_by_change counts records that were written again because of altered source offsets, left_out_by_change
    records that were never read; at_most is null without a known upper bound. covers and not_covered name the subjects
    that the verdict includes and excludes.
    """

    name: Annotated[str, col("the connector's name", "CONNECTOR")]
    verdict: Annotated[
        AuditVerdict, col("held, altered, broken or cannot-tell: whether exactly-once held", tones=VERDICTS)
    ]
    evidence: Annotated[list[str], "IDs of the findings that decide the verdict"]
    reasons: list[str]
    words: Annotated[str | None, col("the reasons of the verdict", "REASON")]
    repeated_by_change: RecordCount
    left_out_by_change: RecordCount
    covers: list[str]
    not_covered: list[str]


class ReadRangeRow(Struct, frozen=True):
    """The ranges of a partition that were read, offsets [start, end); gaps are offsets without a batch."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    start: Annotated[int, col("the first offset that was read", "FROM")]
    end: Annotated[int, col("the offset after the last one that was read", "TO")]
    records: Annotated[int, "data records in the log"]
    control_records: int
    aborted_records: Annotated[int, col("records of aborted transactions", "ABORTED")]
    plain_records: Annotated[int, col("records outside any transaction", "PLAIN")]
    batches: int
    size_bytes: int
    first_timestamp: int | None
    first_time: str | None
    last_timestamp: int | None
    last_time: str | None
    gaps: list[Gap]
    gap_words: Annotated[str | None, col("offsets without a batch, by kind", "GAPS")]


class StatisticsRow(Struct, frozen=True):
    """Transactions of a connector (null: of no known task); histograms count by bucket, n for 2^(n-1) to 2^n - 1."""

    connector: Annotated[str | None, "whose transactions; - for producers of no known task"]
    committed: Annotated[int, "transactions that were committed"]
    aborted: Annotated[int, "transactions that were aborted"]
    records: Annotated[int, "records in the transactions"]
    size_bytes: int
    aborted_records: int
    aborted_bytes: int
    median_records: Annotated[
        int | None,
        col(
            "half of the transactions have at most this number of records, rounded up to 2^n - 1",
            "P50",
            brief=_at_most("median_records"),
        ),
    ]
    p99_records: Annotated[
        int | None,
        col("99% of the transactions have at most this number of records", "P99", brief=_at_most("p99_records")),
    ]
    median_ms: Annotated[
        int | None, col("half of the transactions took at most this time", "P50-MS", brief=_at_most("median_ms"))
    ]
    p99_ms: Annotated[
        int | None, col("99% of the transactions took at most this time", "P99-MS", brief=_at_most("p99_ms"))
    ]
    sizes: dict[int, int]
    durations: dict[int, int]


class StallRow(Struct, frozen=True):
    """A transaction that was open for long, so that the last stable offset did not move."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    start_offset: Annotated[int, col("the offset at which the last stable offset stalled", "OFFSET")]
    from_ms: int
    until_ms: int | None
    producer_id: int
    connector: str | None
    open: bool
    from_time: Annotated[str | None, col("since when, UTC", "TIME")]
    until_time: str | None
    by: Annotated[str, "the owner of the open transaction"]
    held_s: Annotated[float, "for how long; until the audit if the transaction is still open"]


class GrowthRow(TypedDict):
    """Records and tombstones of a partition by hour since the epoch, in lists that run side by side."""

    topic: str
    partition: int
    hours: list[int]
    records: list[int]
    tombstones: list[int]


class WitnessRecordRow(Struct, frozen=True):
    """Records [offset, last_offset] of a partition, and their part in the finding; side is a mirror's source or
    target."""

    role: str
    topic: str
    partition: int
    offset: int
    last_offset: int
    value: str | None
    timestamp: int | None
    time: str | None
    producer_id: int | None
    producer_epoch: int | None
    transactional_id: str | None
    side: Side | None


class WitnessRow(Struct, frozen=True):
    """The fewest records that prove a finding which breaks a verdict, in words to check, and commands that print them.

    topic, partition, offset and time are those of the first wrong record; before is the last earlier event of the
    config topic about the connector.
    """

    finding_id: Annotated[str, col("the finding that it shows", "FINDING")]
    name: str
    subject: Annotated[str, "the connector, or the partition of a mirror's source"]
    words: Annotated[str, col("what the records show", "WITNESS")]
    topic: str
    partition: int
    offset: int
    time: str | None
    first: Annotated[str, col("the first record that is wrong: topic, partition, offset, time", "FIRST")]
    records: list[WitnessRecordRow]
    before: TimelineEvent | None
    before_words: Annotated[str | None, col("the last event of the config topic before it", "BEFORE")]
    commands: Annotated[list[str], col("commands that print the records", "SEE")]


class EarlierRunRow(Struct, frozen=True):
    """The run of the same job that findings are compared with."""

    run_number: int
    as_of: str


class AuditData(ShownFindings, frozen=True):
    """Verdicts, findings, what was read, and the figures of the pictures."""

    verdict: AuditVerdict
    connectors: list[VerdictRow]
    witnesses: list[WitnessRow]
    compared_with: EarlierRunRow | None
    ranges: list[ReadRangeRow]
    transactions: list[StatisticsRow]
    stalls: list[StallRow]
    sinks: list[str]
    timeline: list[TimelineEvent]
    epochs: list[EpochPoint]
    growth: list[GrowthRow]
    plan: AuditPlanData


class RunRow(Struct, frozen=True):
    """A run of a job; gaps are ranges that could no longer be read."""

    run_number: Annotated[int, col("the run's number", "RUN")]
    run_id: Annotated[str, "its ID"]
    as_of: Annotated[str, col("when its last run was planned, UTC", "LAST-RUN")]
    committed_at: str
    verdict: Annotated[str, col("that run's verdict: held, altered, broken or cannot-tell", tones=VERDICTS)]
    findings: Annotated[int, "how many findings its report has"]
    eosctl_version: str
    offsets: Annotated[int, "offsets that it read"]
    records: Annotated[int, "data records among them"]
    gaps: Annotated[int, "ranges that could no longer be read"]


class JobRow(Struct, frozen=True):
    """A job of the ledger."""

    job: Annotated[str, "the job's name"]
    cluster_id: Annotated[str | None, "the Kafka cluster that it audits"]
    partitions: Annotated[int, "partitions that it follows"]
    last_run: RunRow


class GapRow(Struct, frozen=True):
    """Offsets that no run has read, and why."""

    job: Annotated[str, "the job's name"]
    run_number: int
    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "its partition"]
    topic_id: str | None
    start_offset: Annotated[int, "the first offset that was not read"]
    end_offset: int
    kind: LedgerRangeKind
    meaning: Annotated[str, col("why not", "REASON")]


class CursorRow(Struct, frozen=True):
    """Where the next run begins to read a partition."""

    job: Annotated[str, "the job's name"]
    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "its partition"]
    topic_id: str | None
    offset: Annotated[int, "where the next run begins"]


class LedgerStatusData(Struct, frozen=True):
    """Every job with its last run, and what was never read."""

    store: str
    jobs: list[JobRow]
    gaps: list[GapRow]
    cursors: list[CursorRow]


class LedgerHistoryData(Struct, frozen=True):
    """The runs of one job, the last one first."""

    store: str
    job: str
    runs: list[RunRow]


# The ranges that an audit will read: topics with their roles, and offsets.


TOPICS: Final = Table(
    "topics",
    columns(AuditedTopicRow, "name role partitions offsets cleanup_policy connectors topic_id"),
    empty="no topics",
)
PLANNED_RANGES: Final = Table(
    "ranges",
    columns(PlannedRangeRow, "topic partition start end size settled"),
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
    return row_of(
        AuditPlanData,
        plan,
        topics=[
            row_of(
                AuditedTopicRow,
                each,
                partitions=partitions[each.name],
                offsets=offsets[each.name],
            )
            for each in plan.topics
        ],
        ranges=[row_of(PlannedRangeRow, each) for each in plan.ranges],
        unread={name: each.reason for name, each in plan.unread.items()},
    )


CONNECTORS: Final = Table(
    "connectors",
    columns(VerdictRow, "name verdict evidence words"),
    empty="no connectors",
)
RANGES: Final = Table(
    "ranges",
    columns(ReadRangeRow, "topic partition start end records aborted_records plain_records gap_words"),
    title="Read",
    most=MOST,
    empty="nothing was read",
)
TRANSACTIONS: Final = Table(
    "transactions",
    columns(
        StatisticsRow,
        "connector committed aborted records median_records p99_records median_ms p99_ms",
    ),
    title="Transactions",
    most=MOST,
    empty="no transactions",
)
STALLS: Final = Table(
    "stalls",
    columns(StallRow, "topic partition start_offset from_time held_s by"),
    title="The last stable offset did not move",
    most=MOST,
)


def view_audit(report: AuditReport) -> Document:
    """Verdicts, findings with evidence and fix, ranges, and statistics; the pictures' figures are in the data too."""
    plan = report.plan
    stalls = [_stall_row(each, report) for each in report.stalls]
    data = AuditData(
        verdict=report.verdict,
        connectors=connector_rows(report),
        **findings_of(report),
        witnesses=witness_rows(report.witnesses, report.triage.kafka_tools),
        compared_with=None
        if report.earlier is None
        else EarlierRunRow(run_number=report.earlier.run_number, as_of=report.earlier.as_of),
        ranges=[range_row(each) for each in report.ranges],
        transactions=[statistics_row(each) for each in report.transactions],
        stalls=stalls,
        sinks=list(report.sinks),
        timeline=Rows(each._asdict() for each in report.timeline),
        epochs=Rows(each._asdict() for each in report.epochs),
        growth=Rows(_growth_rows(report.growth)),
        plan=plan_data(plan),
    )
    return Document(
        kind="audit",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.cluster_id,
        data=data,
        blocks=(
            CONNECTORS,
            Findings(evidence=True, most=MOST),
            *witness_blocks(report.witnesses),
            RANGES,
            *([TRANSACTIONS] if report.transactions else []),
            *([STALLS] if stalls else []),
        ),
        prose=(summary(report),),
        concludes=True,
        notes=(
            *(f"not read: {name}: {each.reason}" for name, each in sorted(plan.unread.items())),
            *coverage_notes(report),
        ),
    )


def coverage_notes(report: AuditReport) -> tuple[str, ...]:
    """The subjects that the verdicts include and exclude, with the connectors concerned."""
    said: dict[str, list[str]] = {}
    for each in report.connectors:
        for name, words in (("covered", each.covers), ("not covered", each.not_covered)):
            for sentence in words:
                said.setdefault(f"{name}: {sentence}", []).append(each.name)
    everyone = len(report.connectors)
    ordered = sorted(said.items(), key=lambda each: each[0].startswith("not"))
    return tuple(words + ("" if len(names) == everyone else f" ({_named(names)})") for words, names in ordered)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} and {len(names) - NAMED:,} more"


WITNESS: Final = Fields(columns(WitnessRow, "finding_id subject words first before_words commands"))


def witness_blocks(witnesses: Sequence[Witness]) -> Iterator[Fields]:
    """The first of them, each on lines of its own: -o json has all."""
    for number in range(min(len(witnesses), MOST)):
        yield replace(WITNESS, at=f"witnesses.{number}", title="" if number else "Witnesses")


def witness_rows(witnesses: Iterable[Witness], kafka_tools: str, source_tools: str = "") -> list[WitnessRow]:
    """`data.witnesses[]`, their commands with the brokers that are known."""
    return [_witness_row(each, kafka_tools, source_tools) for each in witnesses]


def _witness_row(witness: Witness, kafka_tools: str, source_tools: str) -> WitnessRow:
    broken, before = witness.broken, witness.before
    time = time_of(broken.timestamp)
    return row_of(
        WitnessRow,
        witness,
        topic=broken.topic,
        partition=broken.partition,
        offset=broken.offset,
        time=time,
        first=f"{broken.topic}-{broken.partition}@{broken.offset}{f', {time}' if time else ''}",
        records=[row_of(WitnessRecordRow, each, time=time_of(each.timestamp)) for each in witness.records],
        before_words=None if before is None else _event_words(before),
        commands=[_with_brokers(each, kafka_tools, source_tools) for each in witness.commands],
    )


def _event_words(event: TimelineEvent) -> str:
    tasks = "" if event.tasks is None else f" of {pluralize(event.tasks, 'task')}"
    return f"{event.kind}{tasks} at {event.topic}-{event.partition}@{event.offset}, {rfc3339(event.timestamp)}"


def _with_brokers(command: str, kafka_tools: str, source_tools: str) -> str:
    """The command for the brokers that were read; kafka-console-consumer.sh names the client's file its own way."""
    for placeholder, tools in ((ANY_BROKER, kafka_tools), (SOURCE_BROKER, source_tools)):
        own = tools.replace("--command-config", "--consumer.config") if command.startswith("kafka-") else tools
        command = command.replace(placeholder, own) if tools else command
    return command


def summary(report: AuditReport) -> str:
    """The answer in one sentence: how many connectors have which verdict, on how many records it rests."""
    read = _read(report)
    count = Counter(each.verdict for each in report.connectors)
    if not count:
        return f"No connector was judged; {read}."
    said = ", ".join(f"{count[each]:,} {each.value}" for each in WORST_FIRST if count[each])
    return f"Exactly-once, by connector: {said}; {read}.{_changed(report)}{_since(report)}"


def _read(report: AuditReport) -> str:
    """The number of records behind the answer; for a continued audit, the part that earlier runs read."""
    records, partitions = sum(each.records for each in report.ranges), len(report.ranges)
    of = f"of {pluralize(partitions, 'partition')}"
    if report.newly_read is None:
        return f"{pluralize(records, 'record')} {of} were read"
    before = max(0, records - report.newly_read)
    return f"{pluralize(report.newly_read, 'record')} {of} were read in this run, {before:,} in earlier ones"


def _changed(report: AuditReport) -> str:
    """The number of records that are repeated or missing because of altered source offsets."""
    words = [
        *count_words(total_records(each.repeated_by_change for each in report.connectors), "written again"),
        *count_words(total_records(each.left_out_by_change for each in report.connectors), "left out"),
    ]
    return f" Because source offsets were altered, {', and '.join(words)}." if words else ""


def _since(report: AuditReport) -> str:
    """The number of findings that count and are new since the previous run, if there was one."""
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
    return row_of(
        VerdictRow,
        connector,
        words="; ".join(connector.reasons) or None,
    )


def range_row(evidence: RangeEvidence) -> ReadRangeRow:
    """One of `data.ranges[]`: the read part of one partition, with times as RFC 3339 too."""
    offsets: Counter[str] = Counter()
    for gap in evidence.gaps:
        offsets[gap.kind] += gap.end - gap.start
    return row_of(
        ReadRangeRow,
        evidence,
        first_time=time_of(evidence.first_timestamp),
        last_time=time_of(evidence.last_timestamp),
        gap_words=", ".join(f"{kind} {count}" for kind, count in sorted(offsets.items())) or None,
    )


def statistics_row(statistics: TransactionStatistics) -> StatisticsRow:
    """One of `data.transactions[]`; the keys of both histograms are the buckets' numbers."""
    return row_of(
        StatisticsRow,
        statistics,
        median_records=quantile(statistics.sizes, 0.5),
        p99_records=quantile(statistics.sizes, 0.99),
        median_ms=quantile(statistics.durations, 0.5),
        p99_ms=quantile(statistics.durations, 0.99),
        sizes=dict(sorted(statistics.sizes.items())),
        durations=dict(sorted(statistics.durations.items())),
    )


def _stall_row(stall: Stall, report: AuditReport) -> StallRow:
    until = report.plan.as_of if stall.until_ms is None else stall.until_ms
    return row_of(
        StallRow,
        stall,
        open=stall.until_ms is None,
        from_time=time_of(stall.from_ms),
        until_time=time_of(stall.until_ms),
        by=report.owner_of(stall),
        held_s=round(max(0, until - stall.from_ms) / 1000, 1),
    )


def _growth_rows(growth: Sequence[Growth]) -> list[GrowthRow]:
    """One object a partition, with three lists that run side by side: there may be thousands of hours."""
    partitions: dict[tuple[str, int], GrowthRow] = {}
    for topic, partition, hour, records, tombstones in growth:
        empty: GrowthRow = {"topic": topic, "partition": partition, "hours": [], "records": [], "tombstones": []}
        row = partitions.setdefault((topic, partition), empty)
        row["hours"].append(hour)
        row["records"].append(records)
        row["tombstones"].append(tombstones)
    return list(partitions.values())


def time_of(timestamp: int | None) -> str | None:
    """RFC 3339 in UTC; None for no timestamp, which Kafka writes as -1."""
    return None if timestamp is None or timestamp < 0 else rfc3339(timestamp)


# The contents of a ledger: jobs, their cursors, gaps, and the history of runs.


JOBS = Table(
    "jobs",
    columns(JobRow, "job cluster_id partitions last_run.as_of last_run.verdict"),
    empty="no job has committed a run yet",
)

RUNS = Table(
    "runs",
    columns(
        RunRow,
        "run_number run_id",
        Column("TIME", "as_of", "when it was planned, UTC"),
        Column("VERDICT", "verdict", "its verdict: held, altered, broken or cannot-tell", tones=VERDICTS),
        "findings offsets records gaps",
    ),
)

CURSORS = Table(
    "cursors",
    columns(CursorRow, "job topic partition offset"),
    title="Cursors",
    most=MOST,
    worth_showing=lambda row: bool(look_up(row, "offset")),
)

GAPS = Table(
    "gaps",
    columns(GapRow, "job topic partition start_offset meaning"),
    title="Never read",
    most=MOST,
    empty="every settled offset after the cursors was read",
)

MEANINGS = {
    LedgerRangeKind.EXPIRED: "expired up to offset {end} before an audit came",
    LedgerRangeKind.RECREATED: "the topic was deleted and created again; its later records are gone",
    LedgerRangeKind.TRUNCATED: "read, then lost up to offset {end}: the log was cut and written again",
}


def view_status(status: LedgerStatus) -> Document:
    """`audit status`: every job with its last run, where its cursors stand, and every range that no run has read."""
    jobs = status.jobs
    data = LedgerStatusData(
        store=status.store,
        jobs=[_job(each.summary) for each in jobs],
        gaps=[
            _gap(job.summary.job, each)
            for job in jobs
            for each in job.ranges
            if each.range.kind is not LedgerRangeKind.READ
        ],
        cursors=[
            _cursor(each.summary.job, each.state.cursors[place])
            for each in jobs
            for place in sorted(each.state.cursors)
        ],
    )
    blocks = (JOBS, GAPS, CURSORS) if jobs else (JOBS,)
    return Document("audit.status", data, rfc3339(status.as_of), blocks=blocks)


def view_history(history: LedgerHistory) -> Document:
    """`audit history`: the runs of one job, the last one first."""
    job = history.job
    data = LedgerHistoryData(
        store=history.store,
        job=job.job,
        runs=[_run(each) for each in history.runs],
    )
    return Document("audit.history", data, rfc3339(history.as_of), job.cluster_id, blocks=(RUNS,))


def _job(each: JobSummary) -> JobRow:
    return row_of(
        JobRow,
        each,
        last_run=_run(each.last_run),
    )


def _run(each: RunSummary) -> RunRow:
    return row_of(
        RunRow,
        each,
        as_of=rfc3339(each.as_of),
        committed_at=rfc3339(each.committed_at),
    )


def _cursor(job: str, each: Cursor) -> CursorRow:
    return row_of(
        CursorRow,
        each,
        job=job,
    )


def _gap(job: str, each: CommittedRange) -> GapRow:
    gap = each.range
    return row_of(
        GapRow,
        gap,
        job=job,
        run_number=each.run_number,
        start_offset=gap.start,
        end_offset=gap.end,
        meaning=MEANINGS[gap.kind].format(end=gap.end),
    )
