"""What `audit`, `audit status` and `audit history` answer."""

from typing import TypedDict

from eosctl.model.audit import PartitionBounds, TopicRole, TransactionalIdHolder
from eosctl.model.audit_report import AuditVerdict, EpochPoint, Gap, RecordCount, TimelineEvent
from eosctl.model.ledger import LedgerRangeKind
from eosctl.model.skipped import Skipped
from eosctl.render.documents.findings import ShownFindings


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
