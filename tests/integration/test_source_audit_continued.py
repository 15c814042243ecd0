"""A comparison that is killed again and again, and goes on; and how it asks the database, by the database's own log."""

import json
import re
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from time import sleep
from typing import Any, NamedTuple

import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from eosctl.analysis.source_audit import RowReader, SeenByAll
from eosctl.codecs.client_properties import client_properties
from eosctl.engines.source_records import RecordsAsked, range_records
from eosctl.model.audit import AuditedTopic, AuditPlan, SparkOptions, TopicRole
from eosctl.model.source_audit import CapturedTable, ColumnKind, Handling, TableColumn
from eosctl.model.topics import OffsetRange
from eosctl.sandbox.java import find_java
from eosctl.sources.audit_log import OpenCluster
from eosctl.spark import engine
from eosctl.spark.starting import spark_engine
from tests import forks
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.integration.terminal import PROGRAM
from tests.postgresql import PostgreSQL
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

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
        return [PROGRAM, *map(str, words)]

    def run(self, *more: object) -> dict[str, Any]:
        """The answer on the table, without what depends on the moment."""
        ran = forks.run(*self.command(*more), timeout=600)
        assert ran.returncode in {0, 1, 3}, ran.stderr
        [table] = json.loads(ran.stdout)["data"]["tables"]
        return {name: each for name, each in table.items() if name not in {"at", "queries"}}

    def transact(self, pairs: Sequence[tuple[int, str]], *, commits: bool) -> None:
        """Records of these keys in one transaction."""
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": self.topic, "linger.ms": 50})
        producer.init_transactions(30)
        producer.begin_transaction()
        for key, name in pairs:
            producer.produce(self.topic, event(key, name), json.dumps({"id": key}))
        (producer.commit_transaction if commits else producer.abort_transaction)(60)

    def end(self, partition: int) -> int:
        """The offset behind the last record of the partition."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": self.topic})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(self.topic, partition), 30)[1])
        finally:
            consumer.close()


def count_of(state: Path, what: str) -> int:
    """Rows of the state file; 0 while it is being made."""
    try:
        with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as kept:
            return int(kept.execute(f"SELECT count(*) FROM {what}").fetchone()[0])
    except sqlite3.Error:
        return 0


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
        process = forks.start(*orders.command(*limits))
        eventually(lambda: state.exists() or process.is_over, "the state file")  # noqa: B023  # at once
        sleep(random.random() * 2)  # not waiting for anything: the moment is the point
        process.kill()
        process.communicate(timeout=30)
        killed += process.returncode == -signal.SIGKILL
    assert killed
    assert orders.run(*limits) == whole
    assert not [*tmp_path.iterdir()], "the state is removed at the end"


@pytest.mark.variation
def test_spark_answers_as_this_machine_does_and_continues_a_run_that_was_killed(orders: Compared, tmp_path: Path):
    """Keys have many records, some of them aborted; the run is killed while executors read."""
    changed = [(key, f"older {key}") for key in range(1, 2_000)] * 3 + [(key, f"row {key}") for key in range(1, 2_000)]
    for pairs, commits in ((changed[:3_000], False), (changed, True)):
        orders.transact([(key, name) for key, name in pairs if key not in {*MISSING, *DIFFERING}], commits=commits)
    spark, state = ("--engine", "spark", "--master", "local[2]"), tmp_path / "orders.state"
    whole = orders.run()
    assert (whole["missing"], whole["extra"], whole["differing"], whole["undecided"]) == (3, 4, 5, 0), whole
    assert orders.run(*spark) == whole
    process = forks.start(*orders.command(*spark, "--state", state))
    eventually(lambda: count_of(state, "kept WHERE name = 'rows read'") == 1, "the rows to be read", deadline_s=300)
    process.kill()
    process.communicate(timeout=30)
    assert orders.run(*spark, "--state", state) == whole


@pytest.mark.variation
def test_executors_give_the_ranges_in_their_order_and_say_how_far_they_are(orders: Compared, monkeypatch):
    monkeypatch.setattr(engine, "RECORDS_A_TASK", 700)
    monkeypatch.setattr(engine, "RANGES_AT_ONCE", 4)
    properties, done = client_properties(bootstrap_server=orders.servers), list[int]()
    plan = AuditPlan(0, None, None, (AuditedTopic(orders.topic, TopicRole.OUTPUT),), (), ())
    columns = (TableColumn("id", "int8", ColumnKind.INTEGER, key=1), TableColumn("name", "text", ColumnKind.TEXT))
    asked = RecordsAsked(CapturedTable("public", "orders", orders.topic, columns), Handling(), SeenByAll(100, None))
    with OpenCluster(properties, 30)() as source:
        ranges = [OffsetRange(orders.topic, number, 0, orders.end(number)) for number in range(3)]
        reader, pieces = RowReader(asked.table, asked.handling), [*engine.cut_ranges(ranges)]
        expected = [range_records(asked, reader, source, plan, each) for each in pieces]
    with spark_engine(SparkOptions(master="local[2]"), properties, 30, find_java) as spark:
        found = [*spark.source_records(plan, asked, ranges, done.append)]
    assert [(each.facts, [*each.blocks]) for each in found] == [(each.facts, [*each.blocks]) for each in expected]
    assert len(pieces) > 8
    assert sorted(done) == sorted(each.size for each in pieces)


@pytest.mark.variation
def test_events_that_have_the_key_at_a_path_are_compared_by_it(orders: Compared, fresh_name: FreshName):
    """Records are keyed by customer, and two of them have keys that are rows' too."""
    topic, producer = fresh_name("events"), Producer({"bootstrap.servers": orders.servers, "linger.ms": 50})
    create_topic(orders.servers, topic, partitions=1)
    for key in range(1, ROWS + 1):
        if key not in MISSING:
            row = {"order": key, "name": "another" if key in DIFFERING else f"row {key}", "price": key}
            producer.produce(topic, json.dumps({"type": "placed", "data": row}), json.dumps({"id": key % 10}))
    producer.flush(60)
    found = orders._replace(topic=topic).run("--key-path", "data.order")
    assert (found["missing"], found["extra"], found["differing"], found["undecided"]) == (3, 0, 5, 0), found
    refused = forks.run(*orders.command("--key-path", "a,b"))
    assert refused.returncode == 2
    assert "has 2 paths, and the primary key of public.orders is id" in refused.stderr


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
    # The server logs a query when it begins it, which may be late for the first one on a loaded machine.
    assert times[-1] - times[0] >= timedelta(seconds=ROWS / 2000 * 0.8)
