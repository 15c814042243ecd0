"""The file in which `audit source` keeps a comparison: it is removed at the end, so it must be no other file."""

import sqlite3
from contextlib import closing

import pytest

from eosctl.engines.source_audit import TableComparison
from eosctl.errors import ConfigError, Refused
from eosctl.model.source_audit import Handling


def test_another_database_is_refused_and_left_as_it_is(tmp_path):
    """It would get the tables of the comparison, and be removed when that has ended."""
    ledger = tmp_path / "ledger.db"
    with closing(sqlite3.connect(ledger)) as made:
        made.execute("CREATE TABLE runs (number INTEGER)")
        made.execute("INSERT INTO runs VALUES (1)")
        made.commit()
    before = ledger.read_bytes()
    with pytest.raises(Refused, match=r"ledger\.db is another database, and no comparison"):
        TableComparison(ledger, "db", Handling())
    assert ledger.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path):
    config = tmp_path / "worker.properties"
    config.write_text("group.id=a\n" * 100)
    with pytest.raises(ConfigError, match="cannot keep the comparison in"):
        TableComparison(config, "db", Handling())
    assert config.read_text() == "group.id=a\n" * 100


def test_a_comparison_goes_on_in_its_own_file_and_in_no_other_one(tmp_path):
    state = tmp_path / "orders.state"
    state.touch()
    with TableComparison(state, "db and orders", Handling()) as begun:
        assert begun.kept("of") == "db and orders"
    with TableComparison(state, "db and orders", Handling()) as again:
        assert again.kept("of") == "db and orders"
    with pytest.raises(Refused, match="holds the comparison of db and orders, not of another"):
        TableComparison(state, "another", Handling())
