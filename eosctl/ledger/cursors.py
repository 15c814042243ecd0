"""Compare and set: a run moves the job and its cursors only from where they stood when it was planned."""

from collections.abc import Mapping, Sequence
from typing import Final

from eosctl.codecs.ledger import CURSOR_COLUMNS, RANGE_COLUMNS, decode_cursor, id_text, marks, range_values
from eosctl.errors import Refused, StaleRange
from eosctl.ledger.store import LedgerConnection, Value
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import STATE_VERSION, Advance, Cursor, JobState, LedgerRun
from eosctl.model.names import TopicPartition

AS_PLANNED: Final = "WHERE job = ? AND topic = ? AND topic_partition = ? AND topic_id = ? AND next_offset = ?"
PLAN_AGAIN: Final = "plan again"


def move_cursors(connection: LedgerConnection, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> None:
    """Moves the job to its next run and each cursor on, and writes the ranges between; what it finds otherwise than
    planned raises StaleRange, and the transaction must be rolled back. Order: topic, partition.
    """
    state = run.state
    _move_job(connection, state)
    failpoint("job-moved")
    advances = sorted(run.advances, key=lambda each: each.topic_partition)
    _set(
        connection,
        f"UPDATE audit_cursor SET topic_id = ?, next_offset = ? {AS_PLANNED}",
        [
            (id_text(after.topic_id), after.offset, *_key(state.job, before))
            for before, after in ((each.before, each.after) for each in advances)
            if before is not None and after is not None
        ],
    )
    _set(
        connection,
        f"INSERT INTO audit_cursor (job, {CURSOR_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [_key(state.job, each.after) for each in advances if each.before is None and each.after is not None],
    )
    _set(
        connection,
        f"DELETE FROM audit_cursor {AS_PLANNED}",
        [_key(state.job, each.before) for each in advances if each.before is not None and each.after is None],
    )
    failpoint("cursors-moved")
    head = (state.job, state.run_number + 1)
    ranges = [(*head, *values) for each in advances for values in range_values(each.ranges)]
    connection.change(f"INSERT INTO audit_range (job, {RANGE_COLUMNS}) VALUES ({marks(RANGE_COLUMNS, 1)})", ranges)
    failpoint("ranges-written")


def _move_job(connection: LedgerConnection, state: JobState) -> None:
    cluster = id_text(state.cluster_id)
    if state.run_number == 0:
        statement = "INSERT INTO audit_job (job, cluster_id, run_number, state_version) VALUES (?, ?, 1, ?)"
        _set(connection, f"{statement} ON CONFLICT DO NOTHING", [(state.job, cluster, STATE_VERSION)])
    else:
        statement = "UPDATE audit_job SET run_number = ? WHERE job = ? AND run_number = ? AND cluster_id = ?"
        _set(connection, statement, [(state.run_number + 1, state.job, state.run_number, cluster)])


def _set(connection: LedgerConnection, statement: str, rows: Sequence[Sequence[Value]]) -> None:
    """A row names one key, so it changes one row of the table or none: all are as planned where the numbers agree."""
    if rows and connection.change(statement, rows) != len(rows):
        raise StaleRange("another run has been committed since this one was planned", hint=PLAN_AGAIN)


def _key(job: str, cursor: Cursor) -> tuple[str | int, ...]:
    return job, cursor.topic, cursor.partition, id_text(cursor.topic_id), cursor.offset


def refusal(connection: LedgerConnection, run: LedgerRun) -> Refused:
    """Why the run could not be committed: read in a transaction of its own, after that of the run was rolled back."""
    state = run.state
    rows = list(connection.rows("SELECT run_number, cluster_id FROM audit_job WHERE job = ?", (state.job,)))
    number, cluster = rows[0] if rows else (0, id_text(state.cluster_id))
    if cluster != id_text(state.cluster_id):
        return Refused(
            f"job {state.job} audits cluster {cluster}, this is cluster {state.cluster_id}", hint="use another job"
        )
    statement = f"SELECT {CURSOR_COLUMNS} FROM audit_cursor WHERE job = ?"
    now = {each.topic_partition: each for each in map(decode_cursor, connection.rows(statement, (state.job,)))}
    moved = _moved(now, run.advances)
    at = f"job {state.job} is at run {number}, this audit was planned from run {state.run_number}"
    return StaleRange(f"{at}; {moved}" if moved else at, hint=PLAN_AGAIN)


def _moved(now: Mapping[TopicPartition, Cursor], advances: Sequence[Advance]) -> str:
    """The first cursor that does not stand where the run begins, in words."""
    for each in sorted(advances, key=lambda each: each.topic_partition):
        found = now.get(each.topic_partition)
        if found != each.before:
            return f"the cursor of {each.topic_partition} is {_place(found)}, not {_place(each.before)}"
    return ""


def _place(cursor: Cursor | None) -> str:
    return "missing" if cursor is None else f"at offset {cursor.offset} of topic ID {cursor.topic_id or 'unknown'}"
