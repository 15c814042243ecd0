"""Reading a ledger: where a job stands, what it carries, its history. Each function is one transaction of its own."""

from collections.abc import Iterator, Sequence
from typing import Any

from eosctl.codecs.ledger import (
    CURSOR_COLUMNS,
    RANGE_COLUMNS,
    RUN_COLUMNS,
    STATE_COLUMNS,
    decode_cursor,
    decode_range,
    decode_run,
    decode_state,
    int_of,
    text_of,
)
from eosctl.errors import Refused, StaleRange, Unsupported
from eosctl.ledger.store import LedgerConnection, LedgerStore
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import STATE_VERSION, CommittedRange, Cursor, JobState, JobSummary, RunSummary

RUNS_OF_JOB = f"SELECT {RUN_COLUMNS} FROM audit_run WHERE job = ? ORDER BY run_number DESC"


def read_job_state(store: LedgerStore, job: str, cluster_id: str | None) -> JobState:
    """Last run and cursors of the job; number 0 and no cursor where there is none yet, then for `cluster_id`.

    Raises Refused where it audits another cluster, Unsupported where another eosctl laid out what it carries.
    """
    with store.connect() as connection:
        connection.begin_reading()
        number = _require_known(connection, job)
        clusters = [
            text_of(row[0], "cluster_id")
            for row in connection.rows("SELECT cluster_id FROM audit_job WHERE job = ?", (job,))
        ]
        ids = [
            text_of(row[0], "run_id")
            for row in connection.rows("SELECT run_id FROM audit_run WHERE job = ? AND run_number = ?", (job, number))
        ]
        cursors = read_cursors(connection, job)
    known = str(clusters[0]) or None if clusters else cluster_id
    if None not in {known, cluster_id} and known != cluster_id:
        raise Refused(f"job {job} audits cluster {known}, this is cluster {cluster_id}", hint="use another job")
    return JobState(job, known, number, str(ids[0]) if ids else None, {each.topic_partition: each for each in cursors})


def read_cursors(connection: LedgerConnection, job: str) -> list[Cursor]:
    """All cursors of the job, by topic and partition."""
    statement = f"SELECT {CURSOR_COLUMNS} FROM audit_cursor WHERE job = ? ORDER BY topic, topic_partition"
    return [decode_cursor(row) for row in connection.rows(statement, (job,))]


def _require_known(connection: LedgerConnection, job: str) -> int:
    """The number of the last run, 0 for none."""
    for number, version in connection.rows("SELECT run_number, state_version FROM audit_job WHERE job = ?", (job,)):
        if version != STATE_VERSION:
            raise Unsupported(
                f"job {job} carries state of version {version}, this eosctl goes on with version {STATE_VERSION}",
                hint="use the eosctl that wrote it, or begin a new job: the whole topics are audited again then",
            )
        return int_of(number, "run_number")
    return 0


def read_carried(store: LedgerStore, state: JobState, kind: StateKind, bucket: int | None = None) -> Iterator[StateRow]:
    """What `state`'s run carried of one kind, one row at a time, by bucket, topic, partition and start.

    Raises StaleRange, before the first row, where a later run has been committed: rows and cursors would not fit.
    """
    values: list[str | int]
    where, values = "job = ? AND kind = ?", [state.job, kind.value]
    if bucket is not None:
        where, values = f"{where} AND bucket = ?", [*values, bucket]
    order = "bucket, topic, topic_partition, start_offset"
    with store.connect() as connection:
        connection.begin_reading()
        number = _require_known(connection, state.job)
        if number != state.run_number:
            raise StaleRange(
                f"job {state.job} is at run {number} by now, this audit was planned from run {state.run_number}",
                hint="plan again",
            )
        statement = f"SELECT {STATE_COLUMNS} FROM audit_state WHERE {where} ORDER BY {order}"
        for row in connection.rows(statement, values, streamed=True):
            yield decode_state(row)


def read_jobs(store: LedgerStore) -> tuple[JobSummary, ...]:
    """Every job with its last run, by name."""
    last = ", ".join(f"r.{column.strip()}" for column in RUN_COLUMNS.split(","))
    statement = (
        "SELECT j.cluster_id, (SELECT count(*) FROM audit_cursor c WHERE c.job = j.job), " + last + " FROM audit_job j"
        " JOIN audit_run r ON r.job = j.job AND r.run_number = j.run_number ORDER BY j.job"
    )
    with store.connect() as connection:
        connection.begin_reading()
        rows = list(connection.rows(statement))
    return tuple(_job_summary(row) for row in rows)


def _job_summary(row: Sequence[Any]) -> JobSummary:
    cluster, cursors, *last = row
    run = decode_run(last)
    return JobSummary(run.job, text_of(cluster, "cluster_id") or None, int_of(cursors, "audit_cursor"), run)


def read_runs(store: LedgerStore, job: str) -> tuple[RunSummary, ...]:
    """The runs of the job, the last one first."""
    with store.connect() as connection:
        connection.begin_reading()
        return tuple(decode_run(row) for row in connection.rows(RUNS_OF_JOB, (job,)))


def read_ranges(store: LedgerStore, job: str) -> Iterator[CommittedRange]:
    """All ranges of the job, by topic, partition and run, in the order in which they account for the log."""
    order = (
        "topic, topic_partition, run_number,"
        " CASE kind WHEN 'read' THEN 1 ELSE 0 END, start_offset"  # of one run the gap comes first
    )
    statement = f"SELECT {RANGE_COLUMNS} FROM audit_range WHERE job = ? ORDER BY {order}"
    with store.connect() as connection:
        connection.begin_reading()
        for row in connection.rows(statement, (job,), streamed=True):
            yield CommittedRange(*decode_range(row))


def read_report(store: LedgerStore, job: str, run_id: str | None = None) -> str | None:
    """The JSON of a run's report, of the last run where none is named; None where there is no such run."""
    narrowed, values = ("AND run_id = ?", (job, run_id)) if run_id is not None else ("", (job,))
    statement = f"SELECT report FROM audit_run WHERE job = ? {narrowed} ORDER BY run_number DESC LIMIT 1"
    with store.connect() as connection:
        connection.begin_reading()
        found = [text_of(row[0], "report") for row in connection.rows(statement, values, streamed=True)]
    return found[0] if found else None
