"""The tables of a ledger, and their rows as values and back.

1. Every table belongs to jobs: `job` leads each key. No job looks at another one's rows.
2. `audit_job` holds the number of the last run, `audit_cursor` where each partition is to be read from: both are
   compared and set by every run. `audit_range` is the history behind the cursors.
3. An unknown topic ID or cluster ID is the empty text: a key holds no null.
4. `audit_state` holds what the next run goes on from, `audit_run` a line and the whole report for each run.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import Cursor, LedgerRange, LedgerRangeKind, RunSummary

Step = tuple[str, ...]

SCHEMA: Final[tuple[Step, ...]] = (
    (
        """CREATE TABLE audit_job (
            job {text} NOT NULL PRIMARY KEY,
            cluster_id {text} NOT NULL,
            run_number BIGINT NOT NULL,
            state_version BIGINT NOT NULL)""",
        """CREATE TABLE audit_run (
            job {text} NOT NULL,
            run_number BIGINT NOT NULL,
            run_id {text} NOT NULL UNIQUE,
            as_of BIGINT NOT NULL,
            committed_at BIGINT NOT NULL,
            verdict {text} NOT NULL,
            findings BIGINT NOT NULL,
            eosctl_version {text} NOT NULL,
            offsets BIGINT NOT NULL,
            records BIGINT NOT NULL,
            gaps BIGINT NOT NULL,
            report {text} NOT NULL,
            PRIMARY KEY (job, run_number))""",
        """CREATE TABLE audit_cursor (
            job {text} NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            topic_id {text} NOT NULL,
            next_offset BIGINT NOT NULL,
            PRIMARY KEY (job, topic, topic_partition))""",
        """CREATE TABLE audit_range (
            job {text} NOT NULL,
            run_number BIGINT NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            kind {text} NOT NULL,
            topic_id {text} NOT NULL,
            start_offset BIGINT NOT NULL,
            end_offset BIGINT NOT NULL,
            records BIGINT NOT NULL,
            control_records BIGINT NOT NULL,
            aborted_records BIGINT NOT NULL,
            PRIMARY KEY (job, run_number, topic, topic_partition, kind))""",
        """CREATE TABLE audit_state (
            job {text} NOT NULL,
            kind {text} NOT NULL,
            bucket BIGINT NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            start_offset BIGINT NOT NULL,
            payload {blob} NOT NULL,
            PRIMARY KEY (job, kind, bucket, topic, topic_partition, start_offset))""",
    ),
)
"""What makes a schema of version n one of version n + 1, from none (0) on. A step that was released is not changed."""

SCHEMA_TABLE: Final = "audit_schema"
FIRST_OF_ALL: Final = ("CREATE TABLE audit_schema (version BIGINT NOT NULL)", "INSERT INTO audit_schema VALUES (0)")

CURSOR_COLUMNS: Final = "topic, topic_partition, topic_id, next_offset"
RANGE_COLUMNS: Final = (
    "run_number, topic, topic_partition, topic_id, start_offset, end_offset, kind,"
    " records, control_records, aborted_records"
)
RUN_COLUMNS: Final = (
    "job, run_number, run_id, as_of, committed_at, verdict, findings, eosctl_version, offsets, records, gaps"
)
STATE_COLUMNS: Final = "kind, bucket, topic, topic_partition, start_offset, payload"


def id_text(identity: str | None) -> str:
    """A topic ID or cluster ID as a key holds it."""
    return identity or ""


def decode_cursor(row: Sequence[Any]) -> Cursor:
    """CURSOR_COLUMNS -> Cursor."""
    topic, partition, topic_id, offset = row
    return Cursor(topic, partition, topic_id or None, offset)


def decode_range(row: Sequence[Any]) -> tuple[int, LedgerRange]:
    """RANGE_COLUMNS -> the number of its run, and the range."""
    number, topic, partition, topic_id, start, end, kind, *counts = row
    return number, LedgerRange(topic, partition, topic_id or None, start, end, LedgerRangeKind(kind), *counts)


def decode_run(row: Sequence[Any]) -> RunSummary:
    """RUN_COLUMNS -> RunSummary."""
    return RunSummary(*row)


def decode_state(row: Sequence[Any]) -> StateRow:
    """STATE_COLUMNS -> StateRow; what is carried is settled."""
    kind, bucket, topic, partition, start, payload = row
    return StateRow(StateKind(kind), bucket, topic, partition, start, True, bytes(payload))


def range_values(ranges: Iterable[LedgerRange]) -> list[tuple[str | int, ...]]:
    """RANGE_COLUMNS of each range but the first: its run's number."""
    return [
        (
            *(each.topic, each.partition, id_text(each.topic_id), each.start, each.end, each.kind.value),
            *(each.records, each.control_records, each.aborted_records),
        )
        for each in ranges
    ]


def marks(columns: str, more: int = 0) -> str:
    """A `?` for each of the columns, and `more` before them."""
    return ", ".join("?" * (columns.count(",") + 1 + more))
