"""A comparison that is killed again and again, and goes on; and how it asks the database, by the database's own log."""

import json
import re
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psycopg
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.postgresql import PostgreSQL
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

ROWS, KILLS = 6_000, 5
MISSING, EXTRA, DIFFERING = range(100, 103), range(10**6, 10**6 + 4), range(200, 205)


class Compared(NamedTuple):
    """A table in a database of its own, and a topic with a record of each row, but for those that differ."""

    postgresql: PostgreSQL
    database: str
    servers: str
    topic: str

    def command(self, *more: object) -> list[str]:
        dsn = f"postgresql://postgres@127.0.0.1:{self.postgresql.port}/{self.database}"
        table = ("--table", f"public.orders={self.topic}")
        words = ("audit", "source", "-b", self.servers, "--source-dsn", dsn, *table, "--caught-up", "-o", "json", *more)
        return [sys.executable, "-m", "eosctl", *map(str, words)]

    def run(self, *more: object) -> dict[str, Any]:
        """The answer on the table, without what depends on the moment."""
        ran = subprocess.run(self.command(*more), capture_output=True, text=True, check=False, timeout=120)
        assert ran.returncode in {0, 1, 3}, ran.stderr
        [table] = json.loads(ran.stdout)["data"]["tables"]
        return {name: each for name, each in table.items() if name not in {"at", "queries"}}


def event(key: int, name: str) -> str:
    row = {"id": key, "name": name, "price": key}
    return json.dumps({"before": None, "after": row, "op": "c", "source": {"lsn": 1, "table": "orders"}})


@pytest.fixture
def orders(broker: Sandbox, postgresql: PostgreSQL, fresh_name: FreshName, monkeypatch: pytest.MonkeyPatch) -> Compared:
    database, servers, topic = postgresql.new_database(), broker.bootstrap_servers, fresh_name("orders")
    monkeypatch.setenv(
        "PGPASSWORD", str(psycopg.conninfo.conninfo_to_dict(postgresql.conninfo("postgres"))["password"])
    )
    postgresql.execute("CREATE TABLE orders (id bigint PRIMARY KEY, name text, price int)", database)
    postgresql.execute(f"INSERT INTO orders SELECT i, 'row ' || i, i FROM generate_series(1, {ROWS}) i", database)
    create_topic(servers, topic, partitions=3)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 10**6})
    for key in (*range(1, ROWS + 1), *EXTRA):
        if key not in MISSING:
            producer.produce(
                topic, event(key, "another" if key in DIFFERING else f"row {key}"), json.dumps({"id": key})
            )
    producer.flush(60)
    return Compared(postgresql, database, servers, topic)


def test_killed_at_any_moment_and_continued_it_answers_as_one_that_was_not(orders: Compared, tmp_path: Path):
    whole = orders.run()
    assert (whole["missing"], whole["extra"], whole["differing"], whole["undecided"]) == (3, 4, 5, 0), whole
    state, random, killed = tmp_path / "orders.state", Random(7), 0
    limits = ("--state", state, "--chunk", 50)
    for _ in range(KILLS):
        process = subprocess.Popen(orders.command(*limits), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: state.exists() or process.poll() is not None, "the state file")  # noqa: B023  # at once
        try:
            process.wait(random.random() * 2)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            killed += 1
    assert killed
    assert orders.run(*limits) == whole
    assert not [*tmp_path.iterdir()], "the state is removed at the end"


def test_rows_of_an_heir_and_rows_that_a_policy_hides_are_not_taken_for_the_table_s(orders: Compared):
    database, execute = orders.database, orders.postgresql.execute
    execute("CREATE TABLE later_orders (PRIMARY KEY (id)) INHERITS (orders)", database)
    execute("INSERT INTO later_orders VALUES (5000000, 'an heir', 1)", database)
    assert orders.run()["missing"] == len(MISSING)
    reader = f"reader_of_{database}"  # a role is the server's, and other tests have one
    execute(f"CREATE ROLE {reader} LOGIN PASSWORD 'only-in-tests'", database)
    execute(f"GRANT SELECT ON orders TO {reader}", database)
    execute("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", database)
    execute("CREATE POLICY few ON orders FOR SELECT USING (id < 50)", database)
    hidden = orders.run("--source-dsn", f"postgresql://{reader}@127.0.0.1:{orders.postgresql.port}/{database}")
    assert (hidden["verdict"], hidden["extra"], hidden["rows"]) == ("cannot-tell", 0, 0)
    assert "row-level security" in hidden["words"]


def test_the_compared_ranges_are_kept_signed_and_read_again(orders: Compared, eosctl: Eosctl, tmp_path: Path):
    key, file = tmp_path / "auditor", tmp_path / "orders.json"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    answered = orders.run("--evidence", file, "--sign-key", key)
    kept = json.loads(file.read_text())
    [table] = kept["report"]["data"]["tables"]
    assert (kept["of"], table["missing"]) == ("audit source", answered["missing"])
    [(_, _, ranges)] = kept["clusters"]
    assert sum(end - start for _, _, start, end, *_ in ranges) == ROWS - len(MISSING) + len(EXTRA)
    assert f"postgresql://127.0.0.1:{orders.postgresql.port}/{orders.database}" in kept["command"]

    def verify(*more: str) -> tuple[int, dict[str, Any]]:
        ran = eosctl("verify", file, "--signer-key", f"{key}.pub", *more, "-o", "json")
        return ran.exit_code, json.loads(ran.stdout)["data"]

    code, data = verify("-b", orders.servers)
    assert (code, data["verdict"], {each["state"] for each in data["ranges"]}) == (0, "intact", {"same"})
    admin = AdminClient({"bootstrap.servers": orders.servers})
    place = TopicPartition(orders.topic, 0, 5)
    admin.delete_records([place])[place].result(30)
    code, data = verify("-b", orders.servers)
    assert (code, data["verdict"]) == (3, "cannot-tell")
    assert [each["reason"] for each in data["ranges"] if each["state"] == "purged"] == [
        "offsets 0 to 4 are deleted: the log begins at 5"
    ]
    file.write_text(file.read_text().replace('"missing":3', '"missing":0'))
    assert verify()[1]["verdict"] == "altered"


def test_the_database_is_asked_for_the_requested_number_of_rows(orders: Compared):
    orders.postgresql.execute(f"ALTER DATABASE {orders.database} SET log_statement = 'all'")
    begun = len(orders.postgresql.log())
    orders.run("--chunk", 500, "--rate", 2000)
    times, limits = [], set()
    for line in orders.postgresql.log()[begun:].splitlines():
        if found := re.match(r"(\S+ \S+) .*json_agg.* ORDER BY \"id\" LIMIT (\d+)\) s", line):
            times.append(datetime.fromisoformat(found[1]))
            limits.add(int(found[2]))
    assert limits == {500}
    assert len(times) == ROWS // 500 + 1
    assert times[-1] - times[0] >= timedelta(seconds=ROWS / 2000 * 0.95)
