"""A ledger: entries, schema, stores."""

import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.codecs.ledger import SCHEMA
from eosctl.errors import (
    Bug,
    ConfigError,
    EosctlError,
    Refused,
    StaleRange,
    TimedOut,
    Undecodable,
    Unsupported,
    UsageError,
)
from eosctl.ledger import ledger as ledger_executor
from eosctl.ledger import sqlite as ledger_sqlite
from eosctl.ledger.ledger import Ledger, ledger_store, open_ledger, prepare_ledger
from eosctl.ledger.sqlite import SqliteStore
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import (
    STATE_VERSION,
    Advance,
    CarriedBucket,
    CommittedRange,
    Cursor,
    JobState,
    LedgerRange,
    LedgerRangeKind,
    LedgerRun,
)
from eosctl.model.names import TopicPartition
from eosctl.sources.config_providers import look_up

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_RUN_IDS = (f"run-{number}" for number in itertools.count(1))


def advanced(state: JobState, topic: str, partition: int, end: int, *, topic_id: str = "A") -> Advance:
    """[where the cursor stands, end) was read."""
    before = next((each for place, each in state.cursors.items() if str(place) == f"{topic}-{partition}"), None)
    start = 0 if before is None else before.offset
    read = (LedgerRange(topic, partition, topic_id, start, end, records=end - start),) if end > start else ()
    return Advance(before, Cursor(topic, partition, topic_id, end), read)


def row(payload: bytes, *, bucket: int = 0, topic: str = "t", partition: int = 0, start: int = 0) -> StateRow:
    """A carried row of kind LOG."""
    return StateRow(StateKind.LOG, bucket, topic, partition, start, True, payload)


def run_of(
    state: JobState, *advances: Advance, rows: tuple[StateRow, ...] = (), report: str = "{}", run_id: str | None = None
) -> LedgerRun:
    """A run planned from `state`; its rows take the places of their buckets."""
    buckets = sorted({each.bucket for each in rows})
    carried = tuple(CarriedBucket(StateKind.LOG, b, tuple(each for each in rows if each.bucket == b)) for b in buckets)
    return LedgerRun(run_id or next(_RUN_IDS), state, 1_790_000_000_000, "held", 0, report, "0.1.0", advances, carried)


def read_up_to(ledger: Ledger, job: str, end: int, *, rows: tuple[StateRow, ...] = ()) -> LedgerRun:
    """Commits a run that read t-0 up to `end`, and gives it."""
    state = ledger.state(job, CLUSTER)
    run = run_of(state, advanced(state, "t", 0, end), rows=rows)
    ledger.commit(run)
    return run


def failure(url: str, **more: bool) -> EosctlError:
    with pytest.raises(EosctlError) as raised:
        open_ledger(url, look_up, **more)
    return raised.value


def carried(ledger: Ledger, job: str = "job") -> list[bytes]:
    return [each.payload for each in ledger.carried(ledger.state(job, CLUSTER), StateKind.LOG)]


T0 = TopicPartition("t", 0)


def test_a_new_ledger_holds_nothing(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    assert state == JobState("job", CLUSTER, 0, None, {})
    assert list(ledger.carried(state, StateKind.LOG)) == []
    assert (ledger.jobs(), ledger.runs("job"), list(ledger.ranges("job"))) == ((), (), [])
    assert ledger.report("job") is None


def test_the_next_run_finds_the_state_that_a_run_left(ledger: Ledger):
    cursor = Cursor("t", 0, "A", 40)
    gap = LedgerRange("t", 1, None, 0, 5, LedgerRangeKind.EXPIRED)
    read = LedgerRange("t", 0, "A", 0, 40, records=30, control_records=4, aborted_records=3)
    steps = (Advance(None, cursor, (read,)), Advance(None, Cursor("t", 1, None, 5), (gap,)))
    rows = (row(b"\x00\xff" * 1000), row(b"{}", partition=1), row(b"later", start=9))
    run = run_of(ledger.state("job", CLUSTER), *steps, rows=rows, report='{"a": "ü\\u0000"}')
    committed = ledger.commit(run)
    assert (committed.run_number, committed.found_later) == (1, False)
    state = open_ledger_again(ledger).state("job", CLUSTER)
    assert (state.run_number, state.run_id) == (1, run.run_id)
    assert state.cursors == {T0: cursor, TopicPartition("t", 1): Cursor("t", 1, None, 5)}
    assert list(ledger.carried(state, StateKind.LOG)) == [rows[0], rows[2], rows[1]]
    assert list(ledger.carried(state, StateKind.KEYS)) == []
    assert list(ledger.ranges("job")) == [CommittedRange(1, read), CommittedRange(1, gap)]
    assert ledger.report("job") == ledger.report("job", run.run_id) == '{"a": "ü\\u0000"}'
    assert ledger.report("job", "another") is None
    [summary] = ledger.runs("job")
    assert (summary.offsets, summary.records, summary.gaps, summary.verdict) == (40, 30, 1, "held")
    assert abs(summary.committed_at - 1_790_000_000_000) < 10**12
    [job] = ledger.jobs()
    assert (job.job, job.cluster_id, job.partitions, job.last_run) == ("job", CLUSTER, 2, summary)


def open_ledger_again(ledger: Ledger) -> Ledger:
    return replace(ledger)


def test_state_is_streamed_by_bucket_topic_partition_and_start_in_the_order_of_bytes(ledger: Ledger):
    rows = tuple(
        row(b"x", bucket=bucket, topic=topic, partition=partition)
        for bucket in (10, 2)
        for topic in ("b", "B", "é", "a-1", "a.1", "\U0001f600")
        for partition in (10, 2)
    )
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, rows=rows))
    found = list(ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG))
    assert found == sorted(rows, key=lambda each: (each.bucket, each.topic.encode(), each.partition))
    assert list(ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG, 2)) == found[:12]


def test_of_two_runs_from_one_state_the_second_is_stale_and_leaves_nothing(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, advanced(state, "t", 0, 10), rows=(row(b"first"),)))
    with pytest.raises(StaleRange) as raised:
        ledger.commit(run_of(state, advanced(state, "t", 0, 20), rows=(row(b"second"), row(b"other", bucket=1))))
    assert raised.value.exit_code == 8
    assert raised.value.message == (
        "job job is at run 1, this audit was planned from run 0;"
        " the cursor of t-0 is at offset 10 of topic ID A, not missing"
    )
    assert carried(ledger) == [b"first"]
    assert len(ledger.runs("job")) == len(list(ledger.ranges("job"))) == 1
    read_up_to(ledger, "job", 20)
    assert ledger.state("job", CLUSTER).cursors[T0].offset == 20


@pytest.mark.parametrize("runs_before", [0, 1])
def test_runs_over_different_partitions_exclude_each_other_too(ledger: Ledger, runs_before: int):
    """Both carry state merged from the same base: the second would undo the first one's."""
    for end in range(runs_before):
        read_up_to(ledger, "job", end + 1)
    state = ledger.state("job", CLUSTER)
    ledger.commit(run_of(state, advanced(state, "t", 0, 10)))
    with pytest.raises(
        StaleRange, match=rf"is at run {runs_before + 1}, this audit was planned from run {runs_before}$"
    ):
        ledger.commit(run_of(state, advanced(state, "t", 1, 10)))


@pytest.mark.parametrize(
    "wrong", [Cursor("t", 0, "A", 9), Cursor("t", 0, "B", 10), Cursor("t", 0, None, 10), None], ids=str
)
def test_each_cursor_is_compared_by_topic_id_and_offset(ledger: Ledger, wrong: Cursor | None):
    """Also where the number of the run is right: the ledger may have been restored, or fixed by hand."""
    read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    state = ledger.state("job", CLUSTER)
    step = Advance(wrong, Cursor("t", 0, "A", 30), (LedgerRange("t", 0, "A", wrong.offset if wrong else 0, 30),))
    with pytest.raises(StaleRange, match="the cursor of t-0 is at offset 10 of topic ID A, not "):
        ledger.commit(run_of(state, advanced(state, "s", 0, 5), step, rows=(row(b"second"),)))
    assert ledger.state("job", CLUSTER) == state
    assert carried(ledger) == [b"first"]


def test_a_run_is_committed_once_however_often_it_is_asked_for(ledger: Ledger):
    run = read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    read_up_to(ledger, "job", 20, rows=(row(b"second"),))
    assert ledger.commit(run).run_number == 1
    assert carried(ledger) == [b"second"]


def test_carried_state_replaces_the_whole_former_state(ledger: Ledger):
    """A row that the new state lacks would come back in the run after: that of a topic that was created again, say."""
    read_up_to(ledger, "another job", 10, rows=(row(b"e"),))
    read_up_to(ledger, "job", 10, rows=(row(b"a"), row(b"b", partition=1), row(b"c", bucket=1)))
    read_up_to(ledger, "job", 20, rows=(row(b"d", partition=2),))
    assert carried(ledger) == [b"d"]
    read_up_to(ledger, "job", 30)
    assert carried(ledger) == []
    assert carried(ledger, "another job") == [b"e"]


def test_a_topic_that_was_created_again_begins_again_and_the_old_end_is_reported(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    state = ledger.state("job", CLUSTER)
    gap = LedgerRange("t", 0, "A", 10, 10, LedgerRangeKind.RECREATED)
    read = LedgerRange("t", 0, "B", 0, 4)
    ledger.commit(run_of(state, Advance(state.cursors[T0], Cursor("t", 0, "B", 4), (gap, read))))
    assert ledger.state("job", CLUSTER).cursors[T0] == Cursor("t", 0, "B", 4)
    assert [(number, each.kind.value, each.topic_id) for number, each in ledger.ranges("job")] == [
        (1, "read", "A"),
        (2, "recreated", "A"),
        (2, "read", "B"),
    ]


def test_a_cursor_whose_partition_is_no_more_ends(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    state = ledger.state("job", CLUSTER)
    gap = LedgerRange("t", 0, "A", 10, 10, LedgerRangeKind.RECREATED)
    ledger.commit(run_of(state, Advance(state.cursors[T0], None, (gap,))))
    assert ledger.state("job", CLUSTER).cursors == {}


def test_readers_never_mix_two_runs(ledger: Ledger):
    """One that has begun to read sees the old state to its end; one that begins too late is told so."""
    read_up_to(ledger, "job", 10, rows=tuple(row(b"old", partition=number) for number in range(100)))
    state = ledger.state("job", CLUSTER)
    reading = ledger.carried(state, StateKind.LOG)
    first = next(reading)
    read_up_to(ledger, "job", 20, rows=tuple(row(b"new", partition=number) for number in range(100)))
    assert {each.payload for each in (first, *reading)} == {b"old"}
    with pytest.raises(StaleRange, match="is at run 2 by now, this audit was planned from run 1"):
        next(ledger.carried(state, StateKind.LOG))


@pytest.mark.parametrize("table", ["audit_cursor", "audit_state"])
def test_a_run_that_is_committed_between_two_queries_of_a_reader_is_not_seen(
    ledger: Ledger, table: str, monkeypatch: pytest.MonkeyPatch
):
    read_up_to(ledger, "job", 10, rows=(row(b"old"),))
    before = ledger.state("job", CLUSTER)
    with ledger.store.connect() as connection:
        kind = type(connection)
    rows = kind.rows

    def commit_first(self, statement, values=(), *, streamed=False):
        if f"FROM {table}" in statement:
            monkeypatch.undo()
            read_up_to(ledger, "job", 20, rows=(row(b"new"),))
        return rows(self, statement, values, streamed=streamed)

    monkeypatch.setattr(kind, "rows", commit_first)
    if table == "audit_cursor":
        assert ledger.state("job", CLUSTER) == before
    else:
        assert [each.payload for each in ledger.carried(before, StateKind.LOG)] == [b"old"]
    assert ledger.state("job", CLUSTER).run_number == 2


def test_an_error_while_results_are_written_leaves_nothing(ledger: Ledger):
    read_up_to(ledger, "job", 10, rows=(row(b"first"),))
    state = ledger.state("job", CLUSTER)

    def interrupted():
        yield CarriedBucket(StateKind.LOG, 0, (row(b"second"),))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.commit(replace(run_of(state, advanced(state, "t", 0, 20)), carried=interrupted()))
    assert ledger.state("job", CLUSTER) == state
    assert carried(ledger) == [b"first"]


def test_unsettled_state_belongs_into_no_ledger(ledger: Ledger):
    state = ledger.state("job", CLUSTER)
    with pytest.raises(Bug, match="is not settled"):
        ledger.commit(run_of(state, rows=(row(b"x")._replace(settled=False),)))
    with pytest.raises(Bug, match="is in bucket log 3"):
        ledger.commit(replace(run_of(state), carried=[CarriedBucket(StateKind.LOG, 3, (row(b"x"),))]))
    assert ledger.jobs() == ()


def test_state_that_no_row_can_hold_is_refused_before_it_is_sent(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_executor, "MOST_PAYLOAD", 10)
    state = ledger.state("job", CLUSTER)
    with pytest.raises(Refused, match="carried state of t-0 from 0, log 0, has 11 bytes, a ledger takes 10 in a row"):
        ledger.commit(run_of(state, rows=(row(b"x" * 11),)))
    ledger.commit(run_of(state, rows=(row(b"x" * 10),)))


def test_jobs_do_not_touch_each_other(ledger: Ledger):
    names = ["job", "Job", "jöb'; DROP TABLE audit_job; --", "100% {text} ?"]
    for number, name in enumerate(names):
        read_up_to(ledger, name, 10 + number, rows=(row(name.encode()),))
    assert [each.job for each in ledger.jobs()] == sorted(names)
    for number, name in enumerate(names):
        assert ledger.state(name, CLUSTER).cursors[T0].offset == 10 + number
        assert carried(ledger, name) == [name.encode()]


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\0b", "\ud800"])
def test_a_job_has_a_name_that_can_be_printed(ledger: Ledger, name: str):
    with pytest.raises(UsageError):
        ledger.state(name, CLUSTER)


def test_a_job_stays_with_its_cluster(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    with pytest.raises(Refused, match=f"job job audits cluster {CLUSTER}, this is cluster another"):
        ledger.state("job", "another")
    elsewhere = replace(ledger.state("job", CLUSTER), cluster_id="another")
    with pytest.raises(Refused, match=f"job job audits cluster {CLUSTER}, this is cluster another"):
        ledger.commit(run_of(elsewhere, advanced(elsewhere, "t", 0, 20)))
    assert ledger.state("job", None).cluster_id == CLUSTER


def test_a_large_state_is_read_a_few_rows_at_a_time(ledger: Ledger):
    import tracemalloc

    megabyte = 1 << 20
    state = ledger.state("job", CLUSTER)
    buckets = (CarriedBucket(StateKind.LOG, number, (row(bytes(megabyte), bucket=number),)) for number in range(100))
    empty: LedgerRun = run_of(state)
    tracemalloc.start()
    try:
        ledger.commit(replace(empty, carried=buckets))
        seen = sum(len(each.payload) for each in ledger.carried(ledger.state("job", CLUSTER), StateKind.LOG))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen == 100 * megabyte
    assert peak < 50 * megabyte


def test_a_ledger_of_a_newer_eosctl_is_left_alone(ledger: Ledger, url: str):
    newer = (*SCHEMA, ("ALTER TABLE audit_run ADD COLUMN engine {text}",))
    prepare_ledger(ledger.store, create=False, schema=newer)
    with pytest.raises(Unsupported) as raised:
        open_ledger(url)
    assert raised.value.exit_code == 6
    assert raised.value.message == f"ledger {ledger.name} has schema 2, this eosctl knows those up to 1"


def test_a_ledger_of_an_older_eosctl_is_brought_up_to_date_with_all_that_it_holds(ledger: Ledger):
    read_up_to(ledger, "job", 10, rows=(row(b"kept"),))
    newer = (
        *SCHEMA,
        ("ALTER TABLE audit_job ADD COLUMN engine {text}", "UPDATE audit_job SET engine = 'local'"),
        ("CREATE TABLE audit_note (job {text}, note {blob})",),
    )
    for _ in range(2):
        prepare_ledger(ledger.store, create=False, schema=newer)
    with ledger.store.connect() as connection:
        connection.begin_reading()
        assert list(connection.rows("SELECT job, engine FROM audit_job")) == [("job", "local")]
        assert list(connection.rows("SELECT version FROM audit_schema")) == [(3,)]
        assert connection.has_table("audit_note")
    assert carried(ledger) == [b"kept"]


def test_a_migration_that_fails_leaves_the_old_schema(ledger: Ledger, url: str):
    newer = (*SCHEMA, ("ALTER TABLE audit_run ADD COLUMN engine {text}", "this is no statement"))
    with pytest.raises(Undecodable, match="syntax error"):
        prepare_ledger(ledger.store, create=False, schema=newer)
    read_up_to(open_ledger(url), "job", 10)


def test_state_that_another_eosctl_laid_out_is_not_gone_on_from(ledger: Ledger):
    read_up_to(ledger, "job", 10)
    with ledger.store.connect() as connection:
        connection.begin_writing("test")
        connection.change("UPDATE audit_job SET state_version = ?", [(STATE_VERSION - 1,)])
        connection.commit()
    expected = f"carries state of version {STATE_VERSION - 1}; this eosctl continues only version {STATE_VERSION}"
    with pytest.raises(Unsupported, match=f"job job {expected}"):
        ledger.state("job", CLUSTER)


def test_looking_into_a_store_makes_no_ledger(url: str):
    with pytest.raises(ConfigError, match=r"there is no ledger|holds no ledger"):
        open_ledger(url, create=False)
    open_ledger(url)
    assert open_ledger(url, create=False).jobs() == ()


def test_several_that_come_first_make_one_ledger(url: str):
    barrier = threading.Barrier(6)
    failed: list[Exception] = []

    def come() -> None:
        barrier.wait()
        try:
            assert open_ledger(url).jobs() == ()
        except Exception as error:  # noqa: BLE001  # told below, in the thread of the test
            failed.append(error)

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []


SECRET = "hunter%22"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ledger.db", "no ledger has a URL of this form"),
        ("mysql://host/db", "no ledger has a URL of this form: mysql://"),
        ("sqlite:ledger.db", "no ledger has a URL of this form"),
        ("sqlite://ledger.db", "sqlite://ledger.db names no file"),
        ("sqlite:///", "sqlite:/// names no file"),
        ("sqlite:///:memory:", "sqlite:///:memory: names no file"),
        ("postgresql://host/db?nonsense=1", "the store is no URL that PostgreSQL understands"),
        ("postgresql://u:%zz@host/db", "the store is no URL that PostgreSQL understands"),
        (f"postgresql://u:{SECRET}@host/db", "the password is in the store's URL, where other users can read it"),
        (
            f"postgresql://host/db?password={SECRET}",
            "the password is in the store's URL, where other users can read it",
        ),
        (
            f"postgres://host/db?sslpassword={SECRET}",
            "the sslpassword is in the store's URL, where other users can read",
        ),
        (
            f"postgresql://u:{SECRET}${{env:X}}@host/db",
            "the password is in the store's URL, where other users can read",
        ),
    ],
)
def test_a_malformed_store_is_reported_without_its_password(url: str, message: str):
    error = failure(url)
    assert isinstance(error, UsageError)
    assert error.message.startswith(message)
    assert "hunter" not in error.message + (error.hint or "")


def test_three_slashes_are_relative_and_four_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/somewhere")
    assert ledger_store("sqlite:///a/b.db", look_up).name == f"sqlite:///{tmp_path}/a/b.db"
    assert ledger_store("sqlite:////a/b.db", look_up).name == "sqlite:////a/b.db"
    assert ledger_store("sqlite:///~/b.db", look_up).name == "sqlite:////somewhere/b.db"
    error = failure("sqlite:///var/lib/ledger.db")
    assert error.message == f"there is no directory {tmp_path}/var/lib"


def test_file_names_are_taken_as_they_are(tmp_path: Path):
    for name in ("a b?mode=ro#x.db", "ü%20.db"):
        read_up_to(open_ledger(f"sqlite:///{tmp_path}/{name}"), "job", 10)
        assert (tmp_path / name).stat().st_size > 0


def test_a_ledger_is_readable_by_its_owner_only_and_synced_at_every_commit(tmp_path: Path):
    ledger = open_ledger(f"sqlite:///{tmp_path}/l.db")
    read_up_to(ledger, "job", 10)
    assert (tmp_path / "l.db").stat().st_mode & 0o777 == 0o600
    with ledger.store.connect() as connection:
        assert list(connection.rows("PRAGMA journal_mode")) == [("wal",)]
        assert list(connection.rows("PRAGMA synchronous")) == [(2,)]


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A directory that everybody can read, seen by a user whom permissions bind."""
    directory = Path(tempfile.mkdtemp(prefix="eosctl-"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        directory.chmod(0o755)
        shutil.rmtree(directory)


def become_nobody() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_a_directory_and_a_file_that_can_only_be_read_are_reported():
    with as_nobody() as directory:
        url = f"sqlite:///{directory}/l.db"
        ledger = open_ledger(url)
        read_up_to(ledger, "job", 10)
        (directory / "l.db").chmod(0o444)
        directory.chmod(0o555)
        become_nobody()
        error = failure(f"sqlite:///{directory}/new.db")
        assert isinstance(error, ConfigError)
        assert error.message == f"cannot write {directory}/new.db: Permission denied"
        with pytest.raises(ConfigError) as raised:
            read_up_to(ledger, "job", 20)
    assert raised.value.message.startswith(f"cannot write ledger {directory}/l.db: ")
    assert (
        "the file, or its -wal and -shm files, cannot be opened" in raised.value.message
        or "read" in raised.value.message
    )


def test_a_damaged_database_and_another_file_are_undecodable(tmp_path: Path):
    file = tmp_path / "l.db"
    file.write_bytes(b"Dear diary, " * 1000)
    error = failure(f"sqlite:///{file}")
    assert isinstance(error, Undecodable)
    assert error.message == f"ledger {file}: this is no SQLite database, or a damaged one (file is not a database)"
    file.unlink()
    ledger = open_ledger(f"sqlite:///{file}")
    read_up_to(ledger, "job", 10, rows=tuple(row(bytes(5000), bucket=number) for number in range(50)))
    data = bytearray(file.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(Undecodable, match="this is no SQLite database, or a damaged one"):
        read_up_to(ledger, "job", 20)


def test_another_sqlite_database_is_not_written_to_when_it_is_looked_into(tmp_path: Path):
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    error = failure(f"sqlite:///{file}", create=False)
    assert error.message == f"sqlite:///{file} holds no ledger"


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """SQLite refuses more pages exactly as it does where the disk has none."""
    ledger = open_ledger(f"sqlite:///{tmp_path}/l.db")
    read_up_to(ledger, "job", 10)
    connect = SqliteStore.connect

    def limited(store: SqliteStore, *, create: bool = False):
        connection = connect(store, create=create)
        list(connection.rows("PRAGMA max_page_count = 60"))
        return connection

    monkeypatch.setattr(SqliteStore, "connect", limited)
    state = ledger.state("job", CLUSTER)
    with pytest.raises(ConfigError) as raised:
        ledger.commit(run_of(state, advanced(state, "t", 0, 20), rows=(row(bytes(1 << 20)),)))
    assert raised.value.message == (f"cannot write ledger {tmp_path}/l.db: the disk is full (database or disk is full)")
    assert ledger.state("job", CLUSTER) == state
    read_up_to(ledger, "job", 20)


CUT_SHORT = """
import resource, signal, sys
from eosctl.ledger.ledger import open_ledger
from eosctl.errors import EosctlError
from tests.ledger.test_ledger import CLUSTER, advanced, row, run_of
ledger = open_ledger(sys.argv[1])
state = ledger.state("job", CLUSTER)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    rows = tuple(row(bytes(200_000), bucket=number) for number in range(40))
    ledger.commit(run_of(state, advanced(state, "t", 0, 20), rows=rows))
except EosctlError as error:
    print(type(error).__name__, error.message)
"""


def test_a_disk_that_refuses_to_write_leaves_the_ledger_as_it_was(tmp_path: Path):
    """The kernel refuses to let the files grow, in the middle of the transaction."""
    url = f"sqlite:///{tmp_path}/l.db"
    ledger = open_ledger(url)
    read_up_to(ledger, "job", 10)
    root = str(Path(__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, url], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert ran.startswith(f"ConfigError cannot write ledger {tmp_path}/l.db: the disk fails, or is full (")
    assert ledger.state("job", CLUSTER).cursors[next(iter(ledger.state("job", CLUSTER).cursors))].offset == 10
    read_up_to(ledger, "job", 20)


def test_a_writer_that_does_not_end_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_sqlite, "BUSY_S", 0.3)
    ledger = open_ledger(f"sqlite:///{tmp_path}/l.db")
    with ledger.store.connect() as connection:
        connection.begin_writing("job:job")
        assert ledger.jobs() == ()  # readers do not wait
        with pytest.raises(TimedOut, match="another process has been writing"):
            read_up_to(ledger, "job", 10)
    read_up_to(ledger, "job", 10)
