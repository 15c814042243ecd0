"""A ledger in a SQLite file: write-ahead log, synced at every commit, one writer at a time."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Self, TypeVar

from eosctl.atomic_write import OWNER_ONLY
from eosctl.errors import Bug, ConfigError, EosctlError, TimedOut, Undecodable, reason_of
from eosctl.ledger.store import BUSY_S, Dialect, Row, Value

DIALECT: Final = Dialect(blob="BLOB", text="TEXT", now_ms="CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)")
PAUSE_S: Final = 0.02
_BLOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_DISK: Final = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it can only be read",
    sqlite3.SQLITE_PERM: "access is denied",
    sqlite3.SQLITE_AUTH: "access is denied",
    sqlite3.SQLITE_IOERR: "the disk fails, or is full",
    sqlite3.SQLITE_CANTOPEN: "the file, or its -wal and -shm files, cannot be opened",
}

T = TypeVar("T")


class SqliteStore:
    """The ledger in the file at `path`, which is absolute."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return f"sqlite:///{self._path}"

    def connect(self, *, create: bool = False) -> "SqliteConnection":
        """A new connection. Raises ConfigError where there is no such file or it cannot be made."""
        if not self._path.exists():
            self._make(create)
        elif not self._path.is_file():  # SQLite would wait for a pipe
            raise ConfigError(f"{self._path} is no regular file, so it is no ledger")
        return SqliteConnection(self._path)

    def _make(self, create: bool) -> None:
        parent = self._path.parent
        if not parent.is_dir():
            hint = "make the directory first; an absolute path has four slashes, as sqlite:////var/lib/eosctl/audit.db"
            raise ConfigError(f"there is no directory {parent}", hint=hint)
        if not create:
            raise ConfigError(f"there is no ledger {self._path}", hint="an audit with --store makes it")
        try:
            made = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, OWNER_ONLY)
            os.fchmod(made, OWNER_ONLY)
            os.close(made)
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {reason_of(error)}") from error


class SqliteConnection:
    """A connection to the file at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._reporting(self._opened)

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw", uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            mode = _patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
            connection.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error:
            connection.close()
            raise
        if mode != "wal":
            connection.close()
            raise ConfigError(
                f"{self._path} cannot keep a write-ahead log ({mode})",
                hint="SQLite needs a local disk; on network storage use postgresql://",
            )
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        with suppress(sqlite3.Error):
            self._connection.close()

    def begin_writing(self, lock: str) -> None:
        """All writers of a file wait for each other, whatever their lock."""
        self._reporting(lambda: self._connection.execute("BEGIN IMMEDIATE"))

    def begin_reading(self) -> None:
        self._reporting(lambda: self._connection.execute("BEGIN"))

    def change(self, statement: str, rows: Iterable[Sequence[Value]]) -> int:
        return max(self._reporting(lambda: self._connection.executemany(DIALECT.render(statement), rows).rowcount), 0)

    def define(self, statement: str) -> None:
        self._reporting(lambda: self._connection.execute(DIALECT.render(statement)))

    def rows(
        self, statement: str, values: Sequence[Value] = (), *, streamed: bool = False
    ) -> Iterator[Row]:  # a file ends
        cursor = self._reporting(lambda: self._connection.execute(DIALECT.render(statement), values))
        while (row := self._reporting(cursor.fetchone)) is not None:
            yield row

    def has_table(self, name: str) -> bool:
        return any(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def commit(self) -> None:
        """On disk when this returns."""
        self._reporting(lambda: self._connection.execute("COMMIT"))

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            self._reporting(lambda: self._connection.execute("ROLLBACK"))

    def _reporting(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise sqlite_failure(error, str(self._path)) from error


def _patiently(act: Callable[[], T]) -> T:
    """The first connections to a new file turn on its log; SQLite does not wait then for one another."""
    deadline = monotonic() + BUSY_S
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BLOCKED or monotonic() > deadline:
                raise
            sleep(PAUSE_S)


def sqlite_failure(error: sqlite3.Error | OverflowError | UnicodeError, path: str) -> EosctlError:
    """The meaning of SQLite's result code for the user (sqlite.org/rescode.html: the low byte is the primary code)."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _BLOCKED:
        return TimedOut(f"ledger {path}: another process has been writing for {BUSY_S:g} s", hint="wait for it")
    if primary in _DAMAGED:
        return Undecodable(
            f"ledger {path}: this is no SQLite database, or a damaged one ({error})",
            hint="restore it from a copy, or begin a new ledger: the whole topics are audited again then",
        )
    if primary in _DISK:
        return ConfigError(f"cannot write ledger {path}: {_DISK[primary]} ({error})")
    if primary == sqlite3.SQLITE_TOOBIG or isinstance(error, OverflowError):
        return ConfigError(f"ledger {path}: a value is too large for SQLite ({error})", hint="use postgresql://")
    if isinstance(error, sqlite3.OperationalError | sqlite3.IntegrityError | UnicodeError):
        return Undecodable(f"ledger {path}: eosctl did not write its tables or values ({error})")
    return Bug(f"ledger {path}: {type(error).__name__} {getattr(error, 'sqlite_errorname', '')}: {error}")
