"""When a snapshot of a MySQL has a known position: what the server answers, and what is asked again."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from eosctl.errors import Undecodable, UsageError
from eosctl.sources.mariadb_tables import PLACE_BITS, MysqlTables


class Server:
    """Gives the next of its answers to each statement, the last one again and again; it is its own cursor."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers: Mapping[str, list[str]] = {
            word: [*given]
            for word, given in {
                "mode": ["ON"],
                "owned": [""],
                "version": ["8.0.33"],
                "STATUS": ["100"],
                **answers,
            }.items()
        }
        self.asked: list[str] = []
        self.rows: list[tuple[object, ...]] = []

    def cursor(self) -> "Server":
        return self

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str, _: object) -> None:
        self.asked.append(statement)
        self.rows = []
        if "gtid_mode" in statement:
            self.rows = [(self._next("mode"), self._next("version"))]
        elif "gtid_owned" in statement:
            self.rows = [(self._next("owned"),)]
        elif "STATUS" in statement:
            self.rows = [(b"binlog.000007", self._next("STATUS"))]

    def _next(self, word: str) -> Any:
        given = self.answers[word]
        return (given.pop(0) if len(given) > 1 else given[0]).encode()

    def fetchall(self) -> list[tuple[object, ...]]:
        return self.rows

    def count(self, begin: str) -> int:
        return sum(each.startswith(begin) for each in self.asked)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eosctl.sources.mariadb_tables.sleep", lambda _: None)


def test_a_snapshot_without_commits_around_it_has_the_position_of_the_log_s_end():
    server = Server()
    assert MysqlTables(server, "db")._begin_snapshot() == (7 << PLACE_BITS) + 100
    assert (server.count("START"), server.count("ROLLBACK")) == (1, 0)


def test_no_snapshot_is_taken_while_a_transaction_that_is_in_the_log_may_not_be_committed():
    """It owns its GTID from before it is in the log until its engine has committed it."""
    server = Server(owned=["8a94f357-aab4-11df-86ab-c80aa9429562:5#17", ""])
    assert MysqlTables(server, "db")._begin_snapshot() == (7 << PLACE_BITS) + 100
    assert (server.count("SELECT @@GLOBAL.gtid_owned"), server.count("START")) == (2, 1)


def test_a_snapshot_beside_which_the_log_grew_is_taken_again():
    server = Server(STATUS=["100", "150", "150", "150"])
    assert MysqlTables(server, "db")._begin_snapshot() == (7 << PLACE_BITS) + 150
    assert (server.count("START"), server.count("ROLLBACK")) == (2, 1)


def test_a_server_that_commits_without_a_pause_is_reported():
    server = Server(STATUS=[str(each) for each in range(5000)])
    with pytest.raises(Undecodable, match="none of 1000 snapshots has a known position"):
        MysqlTables(server, "db")._begin_snapshot()


@pytest.mark.parametrize("mode", ["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE"])
def test_a_server_without_gtids_is_refused(mode: str):
    """A transaction without a GTID owns none while it commits."""
    with pytest.raises(UsageError, match=f"gtid_mode={mode}"):
        MysqlTables(Server(mode=[mode]), "db")


@pytest.mark.parametrize(("version", "words"), [("8.0.33", "MASTER"), ("8.4.0", "BINARY LOG"), ("9.1.0", "BINARY LOG")])
def test_the_end_of_the_log_is_asked_for_as_the_version_wants_it(version: str, words: str):
    server = Server(version=[version])
    MysqlTables(server, "db").position()
    assert server.asked[-1] == f"SHOW {words} STATUS"
