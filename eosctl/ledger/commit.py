"""One run into the ledger: ranges, cursors, carried state and report in one transaction, or nothing at all.

1. Commits of one job wait for each other. Then what the run was planned from is compared and set: the number of the
   job's last run, and each cursor by topic ID and offset (ledger.cursors). Where one differs nothing is
   written, and StaleRange names the range that another run has moved.
2. A run whose ID is in the ledger already is committed: asking twice is safe.
3. A lost answer to COMMIT leaves the outcome unknown. A new connection waits, by the same lock, until the old
   transaction has ended, and looks for the run's ID.
"""

from time import monotonic, sleep
from typing import Final

from eosctl.codecs.ledger import RUN_COLUMNS, STATE_COLUMNS, int_of, marks
from eosctl.errors import Bug, EosctlError, Refused, StaleRange, Unreachable
from eosctl.ledger.cursors import move_cursors, refusal
from eosctl.ledger.store import LedgerConnection, LedgerStore
from eosctl.model.audit import StateRow
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import CarriedBucket, Committed, LedgerRangeKind, LedgerRun

MOST_PAYLOAD: Final = 512 * 1024 * 1024
RECONNECT_S: Final = 30.0
PAUSE_S: Final = 0.2


def commit_run(store: LedgerStore, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> Committed:
    """Puts the run into the ledger, on disk when this returns.

    Raises StaleRange where it was planned from what is no longer so, Refused where the job audits another cluster.
    After every error nothing of the run is there, unless the error says that this is not known.
    """
    committed = Committed(run.state.job, run.state.run_number + 1, run.run_id)
    with store.connect() as connection:
        connection.begin_writing(lock_of(run.state.job))
        failpoint("begun")
        if (found := _find_run(connection, run.run_id)) is not None:
            return committed._replace(run_number=found)
        _write(connection, run, failpoint)
        failpoint("before-commit")
        try:
            connection.commit()
        except EosctlError as error:
            lost = error
        else:
            failpoint("committed")
            return committed
    return _outcome(store, committed, lost)


def lock_of(job: str) -> str:
    """What writers of one job wait for."""
    return f"job:{job}"


def _write(connection: LedgerConnection, run: LedgerRun, failpoint: Failpoint) -> None:
    try:
        move_cursors(connection, run, failpoint)
    except StaleRange as error:
        connection.roll_back()
        connection.begin_reading()
        raise refusal(connection, run) from error
    write_run(connection, run, failpoint)
    write_carried(connection, run, failpoint)


def write_run(connection: LedgerConnection, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> None:
    """Writes the run's line of the history, with its report."""
    ranges = [part for each in run.advances for part in each.ranges]
    read = [each for each in ranges if each.kind is LedgerRangeKind.READ]
    offsets, records = sum(each.end - each.start for each in read), sum(each.records for each in read)
    values = (
        *(run.state.job, run.state.run_number + 1, run.run_id, run.as_of, run.verdict, run.findings),
        *(run.eosctl_version, offsets, records, len(ranges) - len(read), run.report),
    )
    statement = f"INSERT INTO audit_run ({RUN_COLUMNS}, report) VALUES (?, ?, ?, ?, {{now_ms}}, ?, ?, ?, ?, ?, ?, ?)"
    connection.change(statement, [values])
    failpoint("report-written")


def write_carried(connection: LedgerConnection, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> None:
    """Puts the carried state in the place of all that was there: what is not carried any more does not come back."""
    connection.change("DELETE FROM audit_state WHERE job = ?", [(run.state.job,)])
    for bucket in run.carried:
        _write_bucket(connection, run.state.job, bucket)
        failpoint("bucket-written")
    failpoint("carried-written")


def _write_bucket(connection: LedgerConnection, job: str, bucket: CarriedBucket) -> None:
    for row in bucket.rows:
        _require_fit(row, bucket)
    head = (job, bucket.kind.value, bucket.bucket)
    rows = [(*head, row.topic, row.partition, row.start, row.payload) for row in bucket.rows]
    if rows:
        connection.change(f"INSERT INTO audit_state (job, {STATE_COLUMNS}) VALUES ({marks(STATE_COLUMNS, 1)})", rows)


def _require_fit(row: StateRow, bucket: CarriedBucket) -> None:
    where = f"carried state of {row.topic}-{row.partition} from {row.start}, {row.kind} {row.bucket},"
    if (row.kind, row.bucket) != (bucket.kind, bucket.bucket):
        raise Bug(f"{where} is in bucket {bucket.kind} {bucket.bucket}")
    if not row.settled:
        raise Bug(f"{where} is not settled")
    if len(row.payload) > MOST_PAYLOAD:
        raise Refused(f"{where} has {len(row.payload)} bytes, a ledger takes {MOST_PAYLOAD} in a row")


def _find_run(connection: LedgerConnection, run_id: str) -> int | None:
    statement = "SELECT run_number FROM audit_run WHERE run_id = ?"
    return next((int_of(row[0], "audit_run.run_number") for row in connection.rows(statement, (run_id,))), None)


def _outcome(store: LedgerStore, committed: Committed, lost: EosctlError) -> Committed:
    """What became of a COMMIT that was not answered well."""
    deadline = monotonic() + RECONNECT_S
    while True:
        try:
            found = _is_committed(store, committed)
            break
        except Unreachable as error:
            if monotonic() > deadline:
                raise Unreachable(
                    f"the answer to COMMIT was lost ({lost.message}) and the ledger cannot be asked: whether run"
                    f" {committed.run_id} of job {committed.job} was committed is not known",
                    hint="the history of audits shows when the ledger answers again; the next run goes on either way",
                ) from error
            sleep(PAUSE_S)
    if found:
        return committed._replace(found_later=True)
    lost.message = f"{lost.message}; run {committed.run_id} was not committed, the ledger is as it was"
    raise lost


def _is_committed(store: LedgerStore, committed: Committed) -> bool:
    with store.connect() as connection:
        connection.begin_writing(lock_of(committed.job))
        return _find_run(connection, committed.run_id) is not None
