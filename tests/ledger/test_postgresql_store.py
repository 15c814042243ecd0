"""Errors of a PostgreSQL that holds a ledger, or should: passwords, rights, locks and crashes."""

import signal
from pathlib import Path

import pytest

from eosctl.errors import ConfigError, EosctlError, NotAuthorized, TimedOut, Undecodable, Unreachable
from eosctl.ledger import postgresql as ledger_postgresql
from eosctl.ledger.ledger import open_ledger
from eosctl.sources.config_providers import look_up
from tests.ledger.test_ledger import CLUSTER, advanced, carried, failure, read_up_to, row, run_of
from tests.ledger.tls_front import tls_front
from tests.postgresql import PASSWORD, PostgreSQL

REFUSING = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{state}'; END $$;
CREATE TRIGGER refusing BEFORE INSERT ON audit_state FOR EACH STATEMENT EXECUTE FUNCTION refuse()
"""


@pytest.fixture
def dbname(postgresql: PostgreSQL) -> str:
    return postgresql.new_database()


def test_a_password_is_taken_from_where_a_reference_or_libpq_finds_it(
    postgresql: PostgreSQL, dbname: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = f"127.0.0.1:{postgresql.port}/{dbname}"
    odd = f"odd_of_{dbname}"
    postgresql.execute(f"CREATE ROLE {odd} LOGIN SUPERUSER PASSWORD 'a@b:/?%#${{}}'")
    monkeypatch.setenv("ODD", "a@b:/?%#${}")
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"ledger={PASSWORD}\n")
    service = tmp_path / "service"
    service.write_text(f"[ledger]\nhost=127.0.0.1\nport={postgresql.port}\ndbname={dbname}\nuser=postgres\n")
    assert open_ledger(f"postgresql://{odd}:${{env:ODD}}@{place}", look_up).jobs() == ()
    assert open_ledger(f"postgres://postgres:${{file:{secrets}:ledger}}@{place}", look_up).jobs() == ()
    assert (
        open_ledger(f"postgresql://{place}?user={odd}&password=${{env:ODD}}", look_up).name == f"postgresql://{place}"
    )
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert open_ledger(f"postgresql://postgres@{place}").jobs() == ()
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    assert open_ledger("postgresql://?service=ledger").name == "postgresql://?service=ledger"
    error = failure(f"postgresql://postgres:${{env:NO_SUCH}}@{place}")
    assert error.message == "password from the store's URL: ${env:NO_SUCH}: the environment has no NO_SUCH"


def test_who_is_not_let_in_is_reported_and_the_password_is_not(
    postgresql: PostgreSQL, dbname: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WRONG", "hunter2")
    error = failure(f"postgresql://postgres:${{env:WRONG}}@127.0.0.1:{postgresql.port}/{dbname}")
    assert isinstance(error, NotAuthorized)
    assert error.message == f"postgres may not connect on postgresql://127.0.0.1:{postgresql.port}/{dbname}"
    assert "hunter2" not in str(error.hint)
    none = failure(f"postgresql://postgres@127.0.0.1:{postgresql.port}/{dbname}?passfile=/dev/null")
    assert isinstance(none, NotAuthorized)


def test_a_role_that_may_not_write_is_reported(postgresql: PostgreSQL, dbname: str, monkeypatch: pytest.MonkeyPatch):
    open_ledger(postgresql.url(dbname))
    reader = f"reader_of_{dbname}"  # a role is the server's, and other tests have one
    postgresql.execute(f"CREATE ROLE {reader} LOGIN PASSWORD '{PASSWORD}'")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    as_reader = postgresql.url(dbname).replace("postgres@", f"{reader}@")
    error = failure(as_reader)
    assert isinstance(error, NotAuthorized)
    assert error.hint == "permission denied for table audit_schema"
    postgresql.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}", dbname)
    ledger = open_ledger(as_reader)
    assert ledger.jobs() == ()
    with pytest.raises(NotAuthorized):
        read_up_to(ledger, "job", 10)


def test_a_server_or_database_that_is_not_there_is_reported(postgresql: PostgreSQL):
    missing = failure(postgresql.url("nosuch"))
    assert isinstance(missing, ConfigError)
    assert 'database "nosuch" does not exist' in missing.message
    away = failure(postgresql.url("ledger", port=1))
    assert isinstance(away, Unreachable)
    assert away.message.startswith("ledger postgresql://127.0.0.1:1/ledger cannot be reached: ")
    assert PASSWORD not in away.message


@pytest.mark.parametrize(
    ("state", "kind", "meaning"),
    [
        ("53100", ConfigError, "its disk is full"),
        ("58030", ConfigError, "its disk fails"),
        ("25006", ConfigError, "it can only be read; is it a standby?"),
        ("XX001", Undecodable, "its data are damaged"),
        ("57P01", Unreachable, "it is shutting down, or starting"),
    ],
)
def test_an_error_of_the_server_during_a_run_leaves_no_state(
    postgresql: PostgreSQL, dbname: str, state: str, kind: type[EosctlError], meaning: str
):
    ledger = open_ledger(postgresql.url(dbname))
    read_up_to(ledger, "job", 10)
    postgresql.execute(REFUSING.format(state=state), dbname)
    before = ledger.state("job", CLUSTER)
    with pytest.raises(kind) as raised:
        ledger.commit(run_of(before, advanced(before, "t", 0, 20), rows=(row(b"x"),)))
    assert raised.value.message == f"ledger {ledger.name}: {meaning} (could not extend file, SQLSTATE {state})"
    assert ledger.state("job", CLUSTER) == before


def test_a_writer_of_the_same_job_that_does_not_end_is_reported(
    postgresql: PostgreSQL, dbname: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_postgresql, "BUSY_S", 1)
    ledger = open_ledger(postgresql.url(dbname))
    with ledger.store.connect() as connection:
        connection.begin_writing("job:job")
        assert ledger.jobs() == ()
        read_up_to(ledger, "another job", 10)
        with pytest.raises(TimedOut, match="another process has been writing this job"):
            read_up_to(ledger, "job", 10)
    read_up_to(ledger, "job", 10)


def test_a_ledger_is_read_and_written_over_tls_and_the_name_in_the_certificate_is_held(
    postgresql: PostgreSQL, dbname: str, tmp_path: Path
):
    with tls_front(postgresql.port, "localhost", tmp_path) as (port, root):
        url = f"{postgresql.url(dbname, port)}&sslmode=verify-full&sslrootcert={root}"
        other = failure(url)
        assert isinstance(other, Unreachable)
        assert 'does not match host name "127.0.0.1"' in other.message
        ledger = open_ledger(url.replace("127.0.0.1", "localhost"))
        read_up_to(ledger, "job", 10, rows=(row(bytes(4_000_000)),))
        assert [len(each) for each in carried(ledger)] == [4_000_000]


def test_defaults_of_the_server_do_not_weaken_a_commit(postgresql: PostgreSQL, dbname: str):
    for setting in ("synchronous_commit = off", "default_transaction_isolation = 'serializable'"):
        postgresql.execute(f"ALTER DATABASE {dbname} SET {setting}")
    ledger = open_ledger(postgresql.url(dbname))
    with ledger.store.connect() as connection:
        connection.begin_writing("job:job")
        names = ("synchronous_commit", "transaction_isolation", "tcp_keepalives_idle", "lock_timeout")
        assert [next(connection.rows("SELECT current_setting(?)", (name,))) for name in names] == [
            ("on",),
            ("read committed",),
            ("60",),
            ("1min",),
        ]


def test_a_server_that_crashes_keeps_what_was_committed(postgresql: PostgreSQL, dbname: str):
    ledger = open_ledger(postgresql.url(dbname))
    read_up_to(ledger, "job", 10)
    state = ledger.state("job", CLUSTER)
    reached = []

    def crash(name: str) -> None:
        if name == "carried-written":
            reached.append(name)
            postgresql.stop(signal.SIGQUIT)
            postgresql.start()

    from eosctl.ledger.ledger import commit_run

    with pytest.raises(Unreachable):
        commit_run(ledger.store, run_of(state, advanced(state, "t", 0, 20)), crash)
    assert reached == ["carried-written"]
    assert ledger.state("job", CLUSTER) == state
    read_up_to(ledger, "job", 20)
