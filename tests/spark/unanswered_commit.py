"""A ledger's durable commit without an answer: the state after a crash at that moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

# Only this transaction waits for a standby, and there is none: its commit is on the disk without an answer.
HOLD = """
CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM set_config('synchronous_commit', 'remote_apply', true); RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER hold BEFORE INSERT ON audit_run FOR EACH ROW EXECUTE FUNCTION hold();
"""
SETTINGS = {"synchronous_commit": "local", "synchronous_standby_names": "nobody"}
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@contextmanager
def unanswered_commit(conninfo: str) -> Iterator[Callable[[], bool]]:
    """The commit of a run is answered when the block is over; yields whether one waits for it."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for name, value in SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(HOLD)
        try:
            yield lambda: connection.execute(WAITING).fetchone() == (1,)
        finally:
            for name in SETTINGS:
                connection.execute(f"ALTER SYSTEM RESET {name}".encode())
            connection.execute("SELECT pg_reload_conf()")
