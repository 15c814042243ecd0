"""What a ledger holds: jobs, where their cursors stand, what was never read, and the history of runs."""

from eosctl.model.ledger import (
    CommittedRange,
    Cursor,
    JobSummary,
    LedgerHistory,
    LedgerRangeKind,
    LedgerStatus,
    RunSummary,
)
from eosctl.model.times import rfc3339
from eosctl.render.document import MOST, Column, Document, Table, Tone, figure, look_up
from eosctl.render.documents.audit import CursorRow, GapRow, JobRow, LedgerHistoryData, LedgerStatusData, RunRow

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
