"""A ledger has one schema version: another content of its table is not taken for one."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from eosctl.errors import Undecodable
from eosctl.ledger.ledger import Ledger, open_ledger, prepare_ledger
from eosctl.model.ledger import JobState
from tests.ledger.test_ledger import CLUSTER, run_of


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
