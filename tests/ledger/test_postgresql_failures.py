"""What each SQLSTATE means for the user, and which URLs name a server."""

import psycopg
import pytest

from eosctl.errors import ConfigError, NotAuthorized, TimedOut, Undecodable, Unreachable, UsageError
from eosctl.ledger.postgresql import (
    LEDGER,
    SOURCE,
    Bounds,
    PostgresqlStore,
    TooLarge,
    postgresql_failure,
    postgresql_store,
)


def coded(state: str, words: str = "words") -> psycopg.Error:
    error = psycopg.OperationalError(words)
    error.sqlstate = state
    return error


NO_STATE = psycopg.OperationalError


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (coded("28P01"), NotAuthorized, "may not connect on postgresql://h/d"),
        (NO_STATE("password authentication failed"), NotAuthorized, "may not connect on postgresql://h/d"),
        (NO_STATE("no pg_hba.conf entry"), NotAuthorized, "may not connect on postgresql://h/d"),
        (coded("XX001", "authentication failed"), Undecodable, "its data are damaged (authentication failed, SQLSTATE"),
        (coded("42501"), NotAuthorized, "may not write on postgresql://h/d"),
        (NO_STATE('database "d" does not exist'), ConfigError, 'ledger postgresql://h/d: database "d" does not exist'),
        (coded("42P01", "it does not exist"), Undecodable, "eosctl does not know its tables or functions"),
        (NO_STATE("connection refused"), Unreachable, "ledger postgresql://h/d cannot be reached: connection refused"),
        (psycopg.DataError("words"), Undecodable, "an error that eosctl does not know (words, SQLSTATE missing)"),
        (coded("08006"), Unreachable, "the connection failed (words, SQLSTATE 08006)"),
        (coded("53100"), ConfigError, "its disk is full"),
        (coded("53300"), Unreachable, "it lacks resources"),
        (coded("55P03"), TimedOut, "another process has been writing this job"),
        (coded("99999"), Undecodable, "an error that eosctl does not know"),
    ],
)
def test_an_error_of_postgresql_is_told_by_its_state(error: psycopg.Error, kind, words: str):
    found = postgresql_failure(error, PostgresqlStore({"host": "h", "dbname": "d", "user": "u"}))
    assert type(found) is kind
    assert words in found.message


@pytest.mark.parametrize(("what", "verb"), [(LEDGER.database, "write"), (SOURCE.database, "read")])
def test_a_ledger_is_to_be_written_and_a_source_to_be_read(what: str, verb: str):
    found = postgresql_failure(coded("42501"), PostgresqlStore({"host": "h", "user": "u"}, what))
    assert found.message.startswith(f"u may not {verb} on ")


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("postgresql://h:5432/d", False),
        ("postgresql://h/d", False),
        ("postgresql://h:1,i:2/d", False),
        ("postgresql://h:${env:P}/d", False),
        ("postgresql://h:${env:P},2/d", False),
        ("postgresql://u:a/b@h/d", True),
        ("postgresql://h/d@e", True),
        ("postgresql://h/?port=5x", True),
        ("postgresql://h/?port=1,x", True),
    ],
)
def test_a_url_whose_port_is_no_number_may_hold_a_password(url: str, refused: bool):
    if refused:
        with pytest.raises(UsageError, match="the store is no URL that PostgreSQL understands"):
            postgresql_store(url, lambda *_: "5432", 10.0)
    else:
        assert postgresql_store(url, lambda *_: "5432", 10.0).name.startswith("postgresql://h")


def test_a_server_may_send_as_much_as_is_left_and_no_byte_more():
    bounds = Bounds(0.0, 5)
    bounds.count(5)
    with pytest.raises(TooLarge):
        bounds.count(1)
