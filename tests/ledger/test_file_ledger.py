"""A ledger in a file: its schema version, runs without a move, and writers that come at the same time."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from eosctl.errors import StaleRange, Undecodable
from eosctl.ledger import sqlite as ledger_sqlite
from eosctl.ledger.ledger import Ledger, open_ledger, prepare_ledger
from eosctl.model.ledger import Advance, Cursor, JobState, LedgerRange
from tests.ledger.test_ledger import CLUSTER, run_of
from tests.ledger.test_sqlite_failures import coded


@pytest.fixture
def file_ledger(tmp_path: Path) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/l.db")


@pytest.mark.parametrize("versions", [[], [1, 1], ["x"], [-1], [1.5]])
def test_a_version_that_is_not_one_whole_number_is_undecodable(file_ledger: Ledger, versions: Sequence[object]):
    with file_ledger.store.connect() as connection:
        connection.begin_writing("test")
        connection.define("DELETE FROM audit_schema")
        connection.change("INSERT INTO audit_schema VALUES (?)", [(each,) for each in versions])  # type: ignore[misc]
        connection.commit()
    with pytest.raises(Undecodable, match=r"audit_schema has .*, not one version"):
        prepare_ledger(file_ledger.store, create=False)


def test_a_ledger_that_was_begun_without_its_tables_is_finished(file_ledger: Ledger):
    with file_ledger.store.connect() as connection:
        connection.begin_writing("test")
        for (name,) in list(connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")):
            if name != "audit_schema":
                connection.define(f"DROP TABLE {name}")
        connection.define("UPDATE audit_schema SET version = 0")
        connection.commit()
    prepare_ledger(file_ledger.store, create=True)
    assert file_ledger.state("job", CLUSTER) == JobState("job", CLUSTER, 0, None, {})


def test_a_run_that_moves_no_cursor_is_committed(file_ledger: Ledger):
    file_ledger.commit(run_of(file_ledger.state("job", CLUSTER)))
    assert file_ledger.state("job", CLUSTER).run_number == 1


def test_a_cursor_without_a_topic_id_is_told_as_unknown(file_ledger: Ledger):
    state = file_ledger.state("job", CLUSTER)
    moved = Advance(None, Cursor("t", 0, None, 4), (LedgerRange("t", 0, None, 0, 4),))
    file_ledger.commit(run_of(state, moved))
    with pytest.raises(StaleRange, match="the cursor of t-0 is at offset 4 of topic ID unknown, not missing"):
        file_ledger.commit(run_of(state, moved))


BUSY, LOCKED, ERROR = sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_ERROR


@pytest.mark.parametrize(
    ("codes", "waits_s", "tries"),
    [((), 9.0, 1), ((BUSY, LOCKED), 9.0, 3), ((ERROR,), 9.0, None), ((BUSY, ERROR), 9.0, None), ((BUSY,), -1.0, None)],
)
def test_a_file_that_is_in_use_is_tried_again_until_it_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...], waits_s: float, tries: int | None
):
    monkeypatch.setattr(ledger_sqlite, "BUSY_S", waits_s)
    monkeypatch.setattr(ledger_sqlite, "PAUSE_S", 0.0)
    left, tried = list(codes), 0

    def act() -> int:
        nonlocal tried
        tried += 1
        if left:
            raise coded(sqlite3.OperationalError, left.pop(0))
        return tried

    if tries is None:
        with pytest.raises(sqlite3.OperationalError):
            ledger_sqlite._patiently(act)
        assert tried == len(codes)
    else:
        assert ledger_sqlite._patiently(act) == tries
