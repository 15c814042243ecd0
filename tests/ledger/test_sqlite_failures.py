"""What each of SQLite's result codes means for the user."""

import sqlite3

import pytest

from eosctl.errors import Bug, ConfigError, TimedOut, Undecodable
from eosctl.ledger.sqlite import sqlite_failure


def coded(kind: type[sqlite3.Error], code: int) -> sqlite3.Error:
    error = kind("words")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "NAME"
    return error


OPERATIONAL, DATABASE = sqlite3.OperationalError, sqlite3.DatabaseError


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (coded(OPERATIONAL, sqlite3.SQLITE_BUSY), TimedOut, "another process has been writing"),
        (coded(OPERATIONAL, sqlite3.SQLITE_BUSY_SNAPSHOT), TimedOut, "another process has been writing"),
        (coded(DATABASE, sqlite3.SQLITE_CORRUPT), Undecodable, "this is no SQLite database, or a damaged one (words)"),
        (coded(OPERATIONAL, sqlite3.SQLITE_FULL), ConfigError, "cannot write ledger l.db: the disk is full (words)"),
        (coded(OPERATIONAL, sqlite3.SQLITE_IOERR_FSYNC), ConfigError, "the disk fails, or is full (words)"),
        (coded(sqlite3.DataError, sqlite3.SQLITE_TOOBIG), ConfigError, "a value is too large for SQLite (words)"),
        (OverflowError("words"), ConfigError, "a value is too large for SQLite (words)"),
        (coded(OPERATIONAL, sqlite3.SQLITE_ERROR), Undecodable, "eosctl did not write its tables or values (words)"),
        (coded(sqlite3.IntegrityError, sqlite3.SQLITE_CONSTRAINT), Undecodable, "its tables or values (words)"),
        (UnicodeError("words"), Undecodable, "its tables or values (words)"),
        (sqlite3.ProgrammingError("words"), Bug, "ProgrammingError : words"),
        (coded(sqlite3.DataError, sqlite3.SQLITE_MISUSE), Bug, "DataError NAME: words"),
    ],
)
def test_an_error_of_sqlite_is_told_by_its_primary_code(error, kind, words: str):
    found = sqlite_failure(error, "l.db")
    assert type(found) is kind
    assert words in found.message
