"""Debezium's MariaDB connector, which keeps GTIDs: `make mariadb`, which needs Debian's mariadb-server.

Not collected by an ordinary run, which must need nothing that the project does not install.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.site import PortLeases
from tests.commands.conftest import eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import audit
from tests.integration.committed import committed_json
from tests.integration.debezium import JSON, QUICK, Table
from tests.integration.moves import Eosctl, Home, flowing
from tests.integration.test_counted_transactions import COUNTED, SLOWLY, Texts, halves, judged, kill
from tests.waiting import eventually

__all__ = ["eosctl"]

PLUGIN = "io.debezium:debezium-connector-mariadb:3.4.0.Final"
DATABASE = "public"
OPTIONS = ("--bind-address=127.0.0.1", "--server-id=7", "--log-bin=binlog", "--binlog-format=ROW", "--skip-log-error")


@dataclass(frozen=True)
class MariaDB:
    """A server on a port of 127.0.0.1."""

    port: int

    def execute(self, statement: str) -> list[tuple[int, ...]]:
        """One statement of the super user in a transaction of its own, with its rows."""
        client = ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{self.port}", "-uroot", "-NB"]
        ran = subprocess.run([*client, "-e", statement], capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return [tuple(map(int, line.split("\t"))) for line in ran.stdout.splitlines()]


@contextmanager
def mariadb(home: Path) -> Iterator[MariaDB]:
    """A server with a binary log, its data in `home`."""
    leases = PortLeases()
    server, where = MariaDB(leases.take()), ("--no-defaults", f"--datadir={home}/data", "--user=root")
    made = ["mariadb-install-db", *where, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(made, check=True, capture_output=True)
    with (home / "log").open("w") as log:
        command = ["mariadbd", *where, *OPTIONS, f"--port={server.port}", f"--socket={home}/socket"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        eventually(lambda: accepts(server), lambda: (home / "log").read_text()[-2000:], deadline_s=60)
        server.execute(f"CREATE DATABASE {DATABASE}")
        yield server
    finally:
        process.kill()
        process.wait(30)
        leases.release()


def accepts(server: MariaDB) -> bool:
    """Whether it lets clients in."""
    try:
        return server.execute("SELECT 1") == [(1,)]
    except AssertionError:
        return False


class MariaTable(Table):
    """A connector over a table of its name in the database `public`."""

    def __init__(self, server: MariaDB, source: Sandbox, name: str, rows: int, **more: str) -> None:
        self.server = server
        super().__init__(source, Home(source), name, rows, **more)

    def execute(self, statement: str) -> list[tuple[int, ...]]:
        return self.server.execute(f"USE {DATABASE}; {statement}")

    def create_table(self) -> None:
        self.execute(f"CREATE TABLE {self.table} (id serial PRIMARY KEY, revision int DEFAULT 0, filler text)")

    def drop_table(self) -> None:
        self.execute(f"DROP TABLE {self.table}")

    def write(self, count: int) -> None:
        self.execute(f"INSERT INTO {self.table} (filler) SELECT repeat('x', 40) FROM seq_1_to_{count}")
        if self.updates:
            last = self.execute(f"SELECT max(id) FROM {self.table}")[0][0]
            self.execute(f"UPDATE {self.table} SET revision = revision + 1 WHERE id % 3 = 0 AND id > {last - 30}")

    def config(self, home: Home) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "tasks.max": "1",
            "topic.prefix": self.table,
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": "root",
            "database.password": "",
            "database.server.id": "4711",
            "database.ssl.mode": "disable",
            "database.include.list": DATABASE,
            "table.include.list": f"{DATABASE}.{self.table}",
            "include.schema.changes": "false",
            "schema.history.internal.kafka.bootstrap.servers": home.servers,
            "schema.history.internal.kafka.topic": f"{self.table}-history",
            "max.batch.size": "10",  # so that offsets are committed within a transaction, too
            "max.queue.size": "40",
            "poll.interval.ms": "50",
            "key.converter": JSON,
            "value.converter": JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            **self.more,
        }


class MariaTexts(Texts, MariaTable):
    """Rows whose key is text."""

    def create_table(self) -> None:
        self.execute(f"CREATE TABLE {self.table} (id varchar(40) PRIMARY KEY)")

    def doubled(self) -> int:
        """The keys that a consumer was given more than once."""
        values = committed_json(self.place.home.servers, self.topic)
        given = Counter(value["after"]["id"] for _, value in values if value and value.get("after"))
        return sum(count > 1 for count in given.values())

    def is_killed_at_a_start(self) -> bool:
        """Kills the worker behind a transaction of sixty rows, and again as soon as it has committed its start.

        False where the connector was faster, and no row was doubled.
        """
        self.write(60)
        eventually(lambda: str(self.last) in self.keys(), f"key {self.last}", deadline_s=120, every_s=1)
        self.source.kill_worker(1)
        with starts_of(self.place.home.servers) as committed, ThreadPoolExecutor(1) as pool:
            started = pool.submit(self.source.start_worker, 1)
            is_killed = next(committed, None) is not None
            if is_killed:
                self.source.kill_worker(1)
            started.result(120)
        if is_killed:
            self.source.start_worker(1)
        self.await_last()
        return self.doubled() > 0


@contextmanager
def starts_of(servers: str) -> Iterator[Iterator[bytes]]:
    """Offsets of transactions' starts, as they are committed from now on."""
    settings = {"bootstrap.servers": servers, "group.id": "starts", "isolation.level": "read_committed"}
    reader = Consumer({**settings, "fetch.wait.max.ms": 5, "log_level": 0})
    places = [TopicPartition("connect-offsets", partition) for partition in range(3)]
    for place in places:
        place.offset = reader.get_watermark_offsets(place, 30)[1]
    reader.assign(places)
    found = (message.value() for message in iter(lambda: reader.poll(60), None) if not message.error())
    yield (each for each in found if each and b'"file"' in each and b'"event"' not in each)
    reader.close()


Site = tuple[MariaDB, Sandbox]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    spec = SandboxSpec(workers=1, worker_config=QUICK, plugins=(PLUGIN,))
    with mariadb(tmp_path_factory.mktemp("mariadb")) as server, Sandbox(spec) as sandbox:
        yield server, sandbox


@pytest.fixture
def table(site: Site) -> MariaTable:
    return MariaTable(*site, "shop", 1000)


@pytest.fixture
def texts(site: Site) -> Iterator[MariaTexts]:
    """A connector that streams, and counts the records of transactions."""
    topics = {"predicates.rows.pattern": r"counted\.public\..*", "database.server.id": "4712"}
    made = MariaTexts(*site, "counted", 3, **COUNTED, **SLOWLY, **topics)
    made.start()
    made.await_last()
    yield made
    made.drop()


def at(table: Table) -> tuple[str, ...]:
    """Where eosctl finds the connector."""
    home = table.place.home
    return ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url)


def answered(eosctl: Eosctl, *arguments: object) -> Any:
    """The data of an answer in JSON."""
    ran = eosctl(*arguments, "-o", "json")
    assert ran.exit_code in (0, 1), ran.stderr
    return json.loads(ran.stdout)["data"]


def export(eosctl: Eosctl, table: Table, file: Path) -> Path:
    """The offsets as they are now."""
    file.parent.mkdir()
    ran = eosctl("offsets", "export", file, "--connector", table.place.name, *at(table))
    assert ran.exit_code == 0, ran.stderr
    return file


def test_snapshot_streaming_a_killed_worker_and_a_rewind_are_as_their_positions_say(
    table: MariaTable, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table.start()
    with flowing(table):
        table.await_streaming()
        table.updates = True
        eventually(lambda: any(each.row[1] for each in table.events()), "an update")
        table.source.kill_worker(1)
        table.source.start_worker(1)
        before = len(table.events())
        eventually(lambda: len(table.events()) > before + 50, "changes after the kill", deadline_s=60)
    table.write(200)  # one transaction, over many offsets
    table.check_exactly_once()
    found = audit(eosctl, table.place.home.servers, table.place.home.url, table.place.name)
    assert (found.verdict, found.findings) == ("held", {}), found.reasons

    table.request("stop")
    older = export(eosctl, table, tmp_path / "older" / f"{table.place.name}.json")
    table.request("resume")
    table.write(300)
    table.check_exactly_once()
    table.request("stop")
    newer = export(eosctl, table, tmp_path / "newer" / f"{table.place.name}.json")
    [shown] = answered(eosctl, "offsets", "show", "--connector", table.place.name, *at(table))["offsets"]
    offset = table.offset()
    place = f"Debezium MySQL or MariaDB: {offset['file']} position {offset['pos']}, GTIDs {offset['gtids']}"
    assert shown["position"].startswith(place)
    changes = [answered(eosctl, "offsets", "diff", *files)["changes"] for files in ((older, newer), (newer, older))]
    assert [[each["order"] for each in found] for found in changes] == [["after"], ["before"]]
    assert "all changes after it are read again" in changes[1][0]["rewind"]

    ran = eosctl("offsets", "restore", older, "--connector", table.place.name, *at(table), "--yes")
    assert ran.exit_code == 0, ran.stderr
    table.request("resume")
    truth = table.truth()
    assert (truth.lost_count, truth.doubled_count) == (0, 301)
    found = audit(eosctl, table.place.home.servers, table.place.home.url, table.place.name)
    assert (found.verdict, {*found.findings}) == ("altered", {"offsets-altered"}), found.reasons
    table.drop()


@pytest.mark.timeout(900)
def test_a_kill_within_a_transaction_is_no_finding_and_records_that_an_error_dropped_or_a_second_kill_doubled_are(
    texts: MariaTexts, eosctl: Eosctl
):
    """After a kill Debezium writes BEGIN again, with the offset of the transaction's start, and goes on behind the one
    before. If it is killed before it commits that, it is given the start."""
    random = Random(53)
    for _ in range(2):
        kill(texts, random)
        found = judged(texts, eosctl)
        assert (found.verdict, found.findings, texts.doubled()) == ("held", {}, 0)
    texts.insert("a", "1000001", "b", "c", "1000002", "d")
    assert halves(judged(texts, eosctl)) == [(6, ["1", "3-4", "6"])]
    eventually(texts.is_killed_at_a_start, "a kill between a transaction's start and the next commit", deadline_s=300)
    found = judged(texts, eosctl)
    assert (len(found.places["offset-set-back"]), texts.doubled()) == (1, 60)
