"""A MySQL's tables against their topics: `make mysql MYSQL=DIRECTORY`, where bin/mysqld lies. 8.0.33 was tried.

Not collected by an ordinary run, which must need nothing that the project does not install.
"""

import json
import os
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pymysql
import pytest
from confluent_kafka import Producer

from eosctl.errors import UsageError
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.site import PortLeases
from eosctl.sources.mariadb_tables import PLACE_BITS, mariadb_tables
from tests.commands.conftest import eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.debezium import QUICK
from tests.integration.mariadb import DATABASE, MariaDB, MariaTable
from tests.integration.moves import Eosctl, Home, flowing
from tests.waiting import eventually

__all__ = ["eosctl"]

PLUGIN = "io.debezium:debezium-connector-mysql:3.3.1.Final"
OPTIONS = ("--bind-address=127.0.0.1", "--mysqlx=OFF", "--server-id=7", "--log-bin=binlog", "--binlog-format=ROW",
           "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--innodb-buffer-pool-size=64M")  # fmt: skip


class MySQL(MariaDB):
    """A server on a port of 127.0.0.1."""

    def connect(self) -> Any:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", password="", autocommit=True)

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Statements of the super user, each in a transaction of its own, with the rows of the last one."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            for each in statement.split("; "):
                cursor.execute(each)
            return list(cursor.fetchall())


class MySqlTable(MariaTable):
    """A connector over a table of its name, with columns that a MySQL writes otherwise than a MariaDB."""

    def create_table(self) -> None:
        self.execute(
            f"CREATE TABLE {self.table} (id serial PRIMARY KEY, revision int DEFAULT 0, filler text, "
            "price decimal(12,2) DEFAULT 1.50, at datetime(6) DEFAULT now(6), seen timestamp(3) NULL DEFAULT now(3), "
            "flag tinyint(1) DEFAULT 1, kind enum('a', 'b') DEFAULT 'b', raw varbinary(9) DEFAULT x'00ff', doc json)"
        )

    def write(self, count: int) -> None:
        self.execute(
            f"INSERT INTO {self.table} (filler, doc) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            f"WHERE i < {count}) SELECT repeat('x', 40), json_object('a', i) FROM n"
        )
        if self.updates:
            last = self.execute(f"SELECT max(id) FROM {self.table}")[0][0]
            self.execute(f"UPDATE {self.table} SET revision = revision + 1 WHERE id % 3 = 0 AND id > {last - 30}")

    def config(self, home: Home) -> dict[str, str]:
        own = {"connector.class": "io.debezium.connector.mysql.MySqlConnector", "database.ssl.mode": "preferred"}
        return {**super().config(home), **own}


@contextmanager
def mysql(home: Path, *more: str) -> Iterator[MySQL]:
    """A server with a binary log, its data in `home`."""
    base, leases = Path(os.environ["MYSQL"]).resolve(), PortLeases()
    server = MySQL(leases.take())
    command = [base / "bin" / "mysqld", "--no-defaults", f"--basedir={base}", f"--datadir={home}/data", "--user=root"]
    subprocess.run([*command, "--initialize-insecure"], check=True, capture_output=True)
    with (home / "log").open("w") as log:
        ports = (f"--port={server.port}", f"--socket={home}/socket")
        process = subprocess.Popen([*command, *OPTIONS, *ports, *more], stdout=log, stderr=log)
    try:
        eventually(lambda: accepts(server), lambda: (home / "log").read_text()[-2000:], deadline_s=120)
        server.execute(f"CREATE DATABASE {DATABASE}")
        yield server
    finally:
        process.kill()
        process.wait(30)
        leases.release()


def accepts(server: MySQL) -> bool:
    try:
        return server.execute("SELECT 1") == [(1,)]
    except pymysql.err.MySQLError:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MySQL]:
    with mysql(tmp_path_factory.mktemp("mysql")) as made:
        yield made


def commits(server: MySQL) -> list[int]:
    """The end of each transaction in the binary log."""
    return sorted(
        (int(name.rpartition(".")[2]) << PLACE_BITS) + end
        for name, *_ in server.execute("SHOW BINARY LOGS")
        for _, _, kind, _, end, _ in server.execute(f"SHOW BINLOG EVENTS IN '{name}'")
        if kind == "Xid"
    )


def test_a_snapshot_sees_all_transactions_before_its_position_and_none_behind_it(server: MySQL):
    """Six writers commit all the time; the binary log itself says how many rows lie before each position."""
    server.execute(f"CREATE TABLE {DATABASE}.counted (id bigint AUTO_INCREMENT PRIMARY KEY)")
    begun, ended = len(commits(server)), Event()
    seen: list[tuple[int, int]] = []
    plain: list[tuple[int, int]] = []

    def write(seed: int) -> None:
        random = Random(seed)
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                cursor.execute(f"INSERT INTO {DATABASE}.counted () VALUES ()")
                sleep(random.random() * 0.05)  # the load itself

    writers = [Thread(target=write, args=(seed,)) for seed in range(6)]
    for each in writers:
        each.start()
    with mariadb_tables(f"mysql://root@127.0.0.1:{server.port}", lambda *_: "", 60) as tables:
        deadline = monotonic() + 10
        while monotonic() < deadline:
            for found, begin in ((seen, tables._begin_snapshot), (plain, lambda: at_any_moment(tables))):
                place = begin()
                found.append((place, int(tables._rows(f"SELECT count(*) FROM {DATABASE}.counted")[0][0])))
                tables._rows("ROLLBACK")
    ended.set()
    for each in writers:
        each.join()
    places = commits(server)
    wrong = [[each for each in found if bisect_right(places, each[0]) - begun != each[1]] for found in (seen, plain)]
    assert wrong[0] == []
    assert len(seen) > 5
    assert wrong[1] != [], "a snapshot at any moment would do: the test has no load"


def at_any_moment(tables: Any) -> int:
    place = tables.position()
    tables._take_snapshot()
    return int(place)


def test_a_server_without_gtids_is_refused(tmp_path: Path):
    with mysql(tmp_path, "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF") as server:
        opened = mariadb_tables(f"mysql://root@127.0.0.1:{server.port}", lambda *_: "", 60)
        with pytest.raises(UsageError, match="gtid_mode=OFF"):
            opened.__enter__()


def compare(eosctl: Eosctl, table: MySqlTable) -> tuple[int, Any]:
    home = table.place.home
    at = ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url, "--timeout", "60")
    dsn = f"mysql://root@127.0.0.1:{table.server.port}"
    ran = eosctl(
        "audit", "source", "--connector", table.place.name, "--source-dsn", dsn, "--chunk", "100", *at, "-o", "json"
    )
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    [found] = json.loads(ran.stdout)["data"]["tables"]
    return ran.exit_code, found


def test_rows_that_were_removed_changed_or_added_are_found_under_load_and_nothing_else(
    server: MySQL, eosctl: Eosctl
):  # fmt: skip
    with Sandbox(SandboxSpec(workers=1, worker_config=QUICK, plugins=(PLUGIN,))) as sandbox:
        table = MySqlTable(server, sandbox, "shop", 500)
        table.start()
        table.await_streaming()
        table.updates = True
        with flowing(table):
            code, found = compare(eosctl, table)
            assert (code, found["verdict"], found["undecided"]) == (0, "held", 0), found
            assert (found["rows"] >= 500, found["uncompared"]) == (True, ["doc (json)"])
            spoil(table)
            eventually(lambda: compare(eosctl, table)[0] == 1, "the changes to be read", deadline_s=90)
            code, found = compare(eosctl, table)
        keys = {kind: [each["key"] for each in samples] for kind, samples in found["samples"].items()}
        assert keys == {"missing": ["1", "2"], "extra": ["1000000000"], "differing": ["4", "5"]}, found
        assert (found["missing"], found["extra"], found["differing"], found["undecided"]) == (2, 1, 2, 0)


def spoil(table: MySqlTable) -> None:
    """In the topic: rows 1 and 2 are removed, 4 and 5 have another text, and a key is added."""
    producer = Producer({"bootstrap.servers": table.place.home.servers})
    for key, name in ((1, None), (2, None), (4, "spoilt"), (5, "spoilt"), (10**9, "x")):
        row = {"id": key, "revision": 0, "filler": name}
        source = {"file": "binlog.000001", "pos": 4}
        value = None if name is None else json.dumps({"before": None, "after": row, "op": "u", "source": source})
        producer.produce(table.topic, value, json.dumps({"id": key}))
    producer.flush(30)
