"""The tables of a ledger, and their rows as values and back.

1. Every table belongs to jobs: `job` leads each key. No job looks at another one's rows.
2. `audit_job` holds the number of the last run, `audit_cursor` where each partition is to be read from: both are
   compared and set by every run. `audit_range` is the history behind the cursors.
3. An unknown topic ID or cluster ID is the empty text: a key holds no null.
4. `audit_state` holds what the next run goes on from, `audit_run` a line and the whole report for each run.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

from eosctl.errors import Undecodable
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import Cursor, LedgerRange, LedgerRangeKind, RunSummary

Kind = TypeVar("Kind", bound=Enum)
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


def text_of(value: object, column: str) -> str:
    """The text in a column; Undecodable for anything else."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise Undecodable(f"the ledger's {column} is {_shown(value)}, not text")


def int_of(value: object, column: str) -> int:
    """The whole number of 0 or more in a column; Undecodable for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    raise Undecodable(f"the ledger's {column} is {_shown(value)}, not a number from 0 to 2^63-1")


def _shown(value: object) -> str:
    return f"of type {type(value).__name__}" if isinstance(value, str | bytes) else f"{value!r:.40}"


def decode_cursor(row: Sequence[Any]) -> Cursor:
    """CURSOR_COLUMNS -> Cursor."""
    topic, partition, topic_id, offset = row
    where = text_of(topic, "audit_cursor.topic")
    at = f"audit_cursor of {where}"
    identity = text_of(topic_id, f"{at} (topic_id)") or None
    return Cursor(where, int_of(partition, f"{at} (partition)"), identity, int_of(offset, f"{at} (next_offset)"))


def decode_range(row: Sequence[Any]) -> tuple[int, LedgerRange]:
    """RANGE_COLUMNS -> the number of its run, and the range."""
    number, topic, partition, topic_id, start, end, kind, *counts = row
    where = text_of(topic, "audit_range.topic")
    at = f"audit_range of {where}"
    first, last = int_of(start, f"{at} (start_offset)"), int_of(end, f"{at} (end_offset)")
    identity, of_kind = text_of(topic_id, f"{at} (topic_id)") or None, _member(LedgerRangeKind, kind, f"{at} (kind)")
    found = (int_of(each, f"{at} (records)") for each in counts)
    return int_of(number, f"{at} (run_number)"), LedgerRange(
        where, int_of(partition, f"{at} (partition)"), identity, first, last, of_kind, *found
    )


def decode_run(row: Sequence[Any]) -> RunSummary:
    """RUN_COLUMNS -> RunSummary."""
    texts = {"job", "run_id", "verdict", "eosctl_version"}
    values: list[Any] = [
        (text_of if name in texts else int_of)(value, f"audit_run.{name}")
        for name, value in zip(RUN_COLUMNS.split(", "), row, strict=True)
    ]
    return RunSummary(*values)


def decode_state(row: Sequence[Any]) -> StateRow:
    """STATE_COLUMNS -> StateRow; what is carried is settled."""
    kind, bucket, topic, partition, start, payload = row
    where = text_of(topic, "audit_state.topic")
    at = f"audit_state of {where}"
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise Undecodable(f"the ledger's {at} (payload) is {_shown(payload)}, not bytes")
    numbers = (int_of(partition, f"{at} (partition)"), int_of(start, f"{at} (start_offset)"))
    of_kind = _member(StateKind, kind, f"{at} (kind)")
    return StateRow(of_kind, int_of(bucket, f"{at} (bucket)"), where, *numbers, True, bytes(payload))


def _member(kinds: type[Kind], value: object, column: str) -> Kind:
    try:
        return kinds(text_of(value, column))
    except ValueError:
        raise Undecodable(f"the ledger's {column} is a kind that is not known") from None


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
