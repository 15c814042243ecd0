"""An audit's ledger as one thing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

from msgspec import Struct

from eosctl.codecs.client_properties import Lookup, no_lookup
from eosctl.codecs.ledger import (
    CURSOR_COLUMNS,
    FIRST_OF_ALL,
    RANGE_COLUMNS,
    RUN_COLUMNS,
    SCHEMA,
    SCHEMA_TABLE,
    STATE_COLUMNS,
    Step,
    decode_cursor,
    decode_range,
    decode_run,
    decode_state,
    id_text,
    int_of,
    marks,
    range_values,
    text_of,
)
from eosctl.codecs.secrets import mask_url
from eosctl.errors import (
    Bug,
    ConfigError,
    EosctlError,
    Refused,
    StaleRange,
    Undecodable,
    Unreachable,
    Unsupported,
    UsageError,
)
from eosctl.ledger.postgresql import postgresql_store
from eosctl.ledger.sqlite import SqliteStore
from eosctl.ledger.store import LedgerConnection, LedgerStore, Value
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import (
    STATE_VERSION,
    Advance,
    CarriedBucket,
    Committed,
    CommittedRange,
    Cursor,
    JobState,
    JobSummary,
    LedgerRangeKind,
    LedgerRun,
    RunSummary,
)
from eosctl.model.names import TopicPartition

RUNS_OF_JOB = f"SELECT {RUN_COLUMNS} FROM audit_run WHERE job = ? ORDER BY run_number DESC"


def read_cursors(connection: LedgerConnection, job: str) -> list[Cursor]:
    statement = f"SELECT {CURSOR_COLUMNS} FROM audit_cursor WHERE job = ? ORDER BY topic, topic_partition"
    return [decode_cursor(row) for row in connection.rows(statement, (job,))]


def _require_known(connection: LedgerConnection, job: str) -> int:
    for number, version in connection.rows("SELECT run_number, state_version FROM audit_job WHERE job = ?", (job,)):
        if version != STATE_VERSION:
            raise Unsupported(
                f"job {job} carries state of version {version}; this eosctl continues only version {STATE_VERSION}",
                hint="use the eosctl that wrote it, or begin a new job: the whole topics are audited again then",
            )
        return int_of(number, "run_number")
    return 0


def _job_summary(row: Sequence[Any]) -> JobSummary:
    cluster, cursors, *last = row
    run = decode_run(last)
    return JobSummary(run.job, text_of(cluster, "cluster_id") or None, int_of(cursors, "audit_cursor"), run)


def prepare_ledger(store: LedgerStore, *, create: bool, schema: tuple[Step, ...] = SCHEMA) -> None:
    """The store has the tables of `schema` when this returns; nothing is written where it had them.

    1. A newer schema is left alone: Unsupported.
    2. An older one is brought up to date in one transaction, for which those who come at the same time wait.
    3. None at all is made if `create`, otherwise ConfigError.
    """
    with store.connect(create=create) as connection:
        connection.begin_reading()
        version = _version(connection, store.name, len(schema))
        connection.roll_back()
        if version == len(schema):
            return
        if not version and not create:
            raise ConfigError(f"{store.name} holds no ledger", hint="an audit with --store makes it")
        connection.begin_writing("schema")
        _migrate(connection, _version(connection, store.name, len(schema)), schema)
        connection.commit()


def _version(connection: LedgerConnection, name: str, newest: int) -> int:
    if not connection.has_table(SCHEMA_TABLE):
        return 0
    versions = [row[0] for row in connection.rows("SELECT version FROM audit_schema")]
    if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 0:
        raise Undecodable(f"ledger {name}: audit_schema has {versions}, not one version")
    if versions[0] > newest:
        raise Unsupported(
            f"ledger {name} has schema {versions[0]}, this eosctl knows those up to {newest}",
            hint="use the eosctl that wrote it, or a newer one",
        )
    return int(versions[0])


def _migrate(connection: LedgerConnection, version: int, schema: tuple[Step, ...]) -> None:
    if not connection.has_table(SCHEMA_TABLE):
        for statement in FIRST_OF_ALL:
            connection.define(statement)
    for step in schema[version:]:
        for statement in step:
            connection.define(statement)
    connection.change("UPDATE audit_schema SET version = ?", [(len(schema),)])


AS_PLANNED: Final = "WHERE job = ? AND topic = ? AND topic_partition = ? AND topic_id = ? AND next_offset = ?"
PLAN_AGAIN: Final = "plan again"


def move_cursors(connection: LedgerConnection, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> None:
    """Moves the job to its next run, advances each cursor, and writes the ranges between.

    Raises StaleRange for an unexpected state, and the transaction must be rolled back. Order: topic, partition.
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
    """Why the run could not be committed: read in a separate transaction, after the run's was rolled back."""
    state = run.state
    rows = list(connection.rows("SELECT run_number, cluster_id FROM audit_job WHERE job = ?", (state.job,)))
    number, cluster = rows[0] if rows else (0, id_text(state.cluster_id))
    if cluster != id_text(state.cluster_id):
        return Refused(
            f"job {state.job} audits cluster {cluster}, this is cluster {state.cluster_id}", hint="use another job"
        )
    statement = f"SELECT {CURSOR_COLUMNS} FROM audit_cursor WHERE job = ?"
    now = {each.topic_partition: each for each in map(decode_cursor, connection.rows(statement, (state.job,)))}
    moved = _first_moved(now, run.advances)
    at = f"job {state.job} is at run {number}, this audit was planned from run {state.run_number}"
    return StaleRange(f"{at}; {moved}" if moved else at, hint=PLAN_AGAIN)


def _first_moved(now: Mapping[TopicPartition, Cursor], advances: Sequence[Advance]) -> str:
    for each in sorted(advances, key=lambda each: each.topic_partition):
        found = now.get(each.topic_partition)
        if found != each.before:
            return f"the cursor of {each.topic_partition} is {_position(found)}, not {_position(each.before)}"
    return ""


def _position(cursor: Cursor | None) -> str:
    return "missing" if cursor is None else f"at offset {cursor.offset} of topic ID {cursor.topic_id or 'unknown'}"


# One run into the ledger: ranges, cursors, carried state and report in one transaction, or nothing at all.
#
# 1. Commits of one job wait for each other. Then what the run was planned from is compared and set: the number of the
#    job's last run, and each cursor by topic ID and offset (ledger.cursors). Where one differs nothing is
#    written, and StaleRange names the range that another run has moved.
# 2. A run whose ID is in the ledger already is committed: asking twice is safe.
# 3. A lost answer to COMMIT leaves the outcome unknown. A new connection waits, by the same lock, until the old
#    transaction has ended, and looks for the run's ID.


MOST_PAYLOAD: Final = 512 * 1024 * 1024
RECONNECT_S: Final = 30.0
PAUSE_S: Final = 0.2


def commit_run(store: LedgerStore, run: LedgerRun, failpoint: Failpoint = no_failpoint) -> Committed:
    """Writes the run to the ledger; it is on disk when this returns.

    Raises StaleRange if the state it was planned from has changed, Refused if the job audits another cluster. After
    every error nothing of the run is there, unless the error says that this is unknown.
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
    """Replaces the whole carried state: dropped rows do not come back."""
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
    deadline = monotonic() + RECONNECT_S
    while True:
        try:
            found = _is_committed(store, committed)
            break
        except Unreachable as error:
            if monotonic() > deadline:
                raise Unreachable(
                    f"the answer to COMMIT was lost ({lost.message}) and the ledger does not answer: whether run "
                    f"{committed.run_id} of job {committed.job} was committed is not known",
                    hint="when the ledger answers again, check the history of audits; the next run continues in "
                    "both cases",
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


LONGEST_SCHEME: Final = 12
FORMS: Final = "sqlite:///FILE (sqlite:////DIRECTORY/FILE where it is absolute) or postgresql://USER@HOST/DATABASE"


def ledger_store(url: str, lookup: Lookup, *, timeout_s: float = 10.0) -> LedgerStore:
    """The store that `url` names; `lookup` resolves references in it, timeout_s bounds connecting. Opens nothing.

    Raises UsageError for any other URL and for a password in it.
    """
    scheme, colon, rest = url.partition("://")
    if scheme == "sqlite" and colon:
        return SqliteStore(_sqlite_path(rest))
    if scheme in {"postgresql", "postgres"} and colon:
        return postgresql_store(f"postgresql://{rest}", lookup, timeout_s)
    named = f" {scheme}://" if colon and scheme.isalnum() and len(scheme) <= LONGEST_SCHEME else ""
    raise UsageError(f"no ledger has a URL of this form{':' if named else ''}{named}", hint=f"a store is {FORMS}")


def _sqlite_path(rest: str) -> Path:
    if not rest.startswith("/") or rest in {"/", "/:memory:"} or "\0" in rest:
        raise UsageError(f"{mask_url(f'sqlite://{rest}')} names no file", hint=f"a store is {FORMS}")
    if ":" in rest.rpartition("@")[0]:  # the URL of a database that was given the wrong scheme
        raise UsageError(f"{mask_url(f'sqlite://{rest}')} holds a user or password; a file needs none", hint=FORMS)
    return Path(rest[1:]).expanduser().absolute()


LONGEST_JOB: Final = 200


class Ledger(Struct, frozen=True):
    """The ledger in one store. It holds no connection: each call is a transaction of its own, from any thread."""

    store: LedgerStore
    failpoint: Failpoint = no_failpoint

    @property
    def name(self) -> str:
        return self.store.name

    def state(self, job: str, cluster_id: str | None) -> JobState:
        """Last run and cursors of the job; number 0 and no cursor if it is new, then for `cluster_id`.

        Raises Refused if it audits another cluster, Unsupported if another eosctl version wrote its state.
        """
        require_job(job)
        with self.store.connect() as connection:
            connection.begin_reading()
            number = _require_known(connection, job)
            clusters = [
                text_of(row[0], "cluster_id")
                for row in connection.rows("SELECT cluster_id FROM audit_job WHERE job = ?", (job,))
            ]
            ids = [
                text_of(row[0], "run_id")
                for row in connection.rows(
                    "SELECT run_id FROM audit_run WHERE job = ? AND run_number = ?", (job, number)
                )
            ]
            cursors = read_cursors(connection, job)
        known = str(clusters[0]) or None if clusters else cluster_id
        if None not in {known, cluster_id} and known != cluster_id:
            raise Refused(f"job {job} audits cluster {known}, this is cluster {cluster_id}", hint="use another job")
        return JobState(
            job, known, number, str(ids[0]) if ids else None, {each.topic_partition: each for each in cursors}
        )

    def carried(self, state: JobState, kind: StateKind, bucket: int | None = None) -> Iterator[StateRow]:
        """State of one kind that `state`'s run carried, row by row, by bucket, topic, partition and start.

        Raises StaleRange before the first row if a later run was committed: rows and cursors would not fit.
        """
        values: list[str | int]
        where, values = "job = ? AND kind = ?", [state.job, kind.value]
        if bucket is not None:
            where, values = f"{where} AND bucket = ?", [*values, bucket]
        order = "bucket, topic, topic_partition, start_offset"
        with self.store.connect() as connection:
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

    def commit(self, run: LedgerRun) -> Committed:
        """Puts a run into the ledger, all of it or nothing. Raises StaleRange where another was faster: plan again."""
        return commit_run(self.store, run, self.failpoint)

    def jobs(self) -> tuple[JobSummary, ...]:
        last = ", ".join(f"r.{column.strip()}" for column in RUN_COLUMNS.split(","))
        statement = (
            "SELECT j.cluster_id, (SELECT count(*) FROM audit_cursor c WHERE c.job = j.job), "
            + last
            + " FROM audit_job j"
            " JOIN audit_run r ON r.job = j.job AND r.run_number = j.run_number ORDER BY j.job"
        )
        with self.store.connect() as connection:
            connection.begin_reading()
            rows = list(connection.rows(statement))
        return tuple(_job_summary(row) for row in rows)

    def runs(self, job: str) -> tuple[RunSummary, ...]:
        with self.store.connect() as connection:
            connection.begin_reading()
            return tuple(decode_run(row) for row in connection.rows(RUNS_OF_JOB, (job,)))

    def ranges(self, job: str) -> Iterator[CommittedRange]:
        """All ranges of the job, by topic, partition and run, in the order in which they account for the log."""
        order = (
            "topic, topic_partition, run_number,"
            " CASE kind WHEN 'read' THEN 1 ELSE 0 END, start_offset"  # of one run the gap comes first
        )
        statement = f"SELECT {RANGE_COLUMNS} FROM audit_range WHERE job = ? ORDER BY {order}"
        with self.store.connect() as connection:
            connection.begin_reading()
            for row in connection.rows(statement, (job,), streamed=True):
                yield CommittedRange(*decode_range(row))

    def report(self, job: str, run_id: str | None = None) -> str | None:
        """The JSON of a run's report, by default the last one's; None if there is no such run."""
        narrowed, values = ("AND run_id = ?", (job, run_id)) if run_id is not None else ("", (job,))
        statement = f"SELECT report FROM audit_run WHERE job = ? {narrowed} ORDER BY run_number DESC LIMIT 1"
        with self.store.connect() as connection:
            connection.begin_reading()
            found = [text_of(row[0], "report") for row in connection.rows(statement, values, streamed=True)]
        return found[0] if found else None


def open_ledger(
    url: str,
    lookup: Lookup = no_lookup,
    *,
    create: bool = True,
    timeout_s: float = 10.0,
    failpoint: Failpoint = no_failpoint,
) -> Ledger:
    """The ledger of a store URL, its tables up to date; `create` makes a missing one.

    lookup resolves references in the URL to config providers.

    Raises UsageError for an invalid URL or one with a password, ConfigError, Unreachable or NotAuthorized if the store
    cannot be used, Unsupported if a newer eosctl wrote it.
    """
    store = ledger_store(url, lookup, timeout_s=timeout_s)
    prepare_ledger(store, create=create)
    return Ledger(store, failpoint)


def require_job(job: str) -> str:
    """The name of a job, if it is one: 1 to 200 characters that can be printed."""
    if not 0 < len(job) <= LONGEST_JOB or not job.isprintable():
        raise UsageError(
            f"{job[:LONGEST_JOB]!r} names no job", hint="a name has 1 to 200 characters that can be printed"
        )
    return job
