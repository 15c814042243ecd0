"""Store URLs, and one clear error for each way in which a store can fail. No password is ever told."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eosctl.errors import ConfigError, TimedOut, Undecodable, UsageError
from eosctl.ledger import sqlite as ledger_sqlite
from eosctl.ledger.ledger import ledger_store, open_ledger
from eosctl.ledger.sqlite import SqliteStore
from eosctl.sources.config_providers import look_up
from tests.ledger.ledgers import CLUSTER, advanced, failure, read_up_to, row, run_of

SECRET = "hunter%22"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ledger.db", "this: no kind of store"),
        ("mysql://host/db", "mysql: no kind of store"),
        ("sqlite:ledger.db", "this: no kind of store"),
        ("sqlite://ledger.db", "sqlite://ledger.db names no file"),
        ("sqlite:///", "sqlite:/// names no file"),
        ("sqlite:///:memory:", "sqlite:///:memory: names no file"),
        ("postgresql://host/db?nonsense=1", "the store is no URL that PostgreSQL understands"),
        ("postgresql://u:%zz@host/db", "the store is no URL that PostgreSQL understands"),
        (f"postgresql://u:{SECRET}@host/db", "the password stands in the store's URL, where others can read it"),
        (f"postgresql://host/db?password={SECRET}", "the password stands in the store's URL, where others can read it"),
        (
            f"postgres://host/db?sslpassword={SECRET}",
            "the sslpassword stands in the store's URL, where others can read",
        ),
        (f"postgresql://u:{SECRET}${{env:X}}@host/db", "the password stands in the store's URL, where others can read"),
    ],
)
def test_what_is_no_store_is_told_without_its_password(url: str, message: str):
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


def test_a_directory_and_a_file_that_can_only_be_read_are_told():
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
    assert "the file, or those beside it, cannot be opened" in raised.value.message or "read" in raised.value.message


def test_what_is_no_database_and_a_damaged_one_are_undecodable(tmp_path: Path):
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
from tests.ledger.ledgers import CLUSTER, advanced, row, run_of
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
    told = subprocess.run(
        [sys.executable, "-c", CUT_SHORT, url], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert told.startswith(f"ConfigError cannot write ledger {tmp_path}/l.db: the disk fails, or is full (")
    assert ledger.state("job", CLUSTER).cursors[next(iter(ledger.state("job", CLUSTER).cursors))].offset == 10
    read_up_to(ledger, "job", 20)


def test_a_writer_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_sqlite, "BUSY_S", 0.3)
    ledger = open_ledger(f"sqlite:///{tmp_path}/l.db")
    with ledger.store.connect() as connection:
        connection.begin_writing("job:job")
        assert ledger.jobs() == ()  # readers do not wait
        with pytest.raises(TimedOut, match="another process has been writing"):
            read_up_to(ledger, "job", 10)
    read_up_to(ledger, "job", 10)
