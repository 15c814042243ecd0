"""The same as benchmarks/source_audit.py for MariaDB: `audit source` against reading table and topic once.

It needs Debian's mariadb-server. The first read is the client of MariaDB, whose rows go to nowhere.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread

import pymysql
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import Command, measure_in_turns
from benchmarks.source_audit import CONSUMER, PARTITIONS, SOURCE, TOPIC, Planted, audit, events, report
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.mariadb import DATABASE, PLUGIN, MariaDB, MariaTable, mariadb
from tests.waiting import eventually

TABLE = "orders"
CLIENT, FILL = "the client of MariaDB", "fill"
BEFORE = SOURCE.replace('"lsn":1', '"file":"binlog.000001","pos":4').replace('"txId":3,', "")
"""Where each row was written: before all points."""
CHANGES = (
    "UPDATE orders SET price = price + 1, note = concat(note, '.') WHERE id = %s",
    "UPDATE orders SET customer = customer + 1 WHERE id = %s",
    "DELETE FROM orders WHERE id = %s",
)


class Orders(MariaTable):
    """The table of the benchmark, whose changes go to TOPIC."""

    def create_table(self) -> None:
        pass

    def write(self, count: int) -> None:
        pass

    def config(self, home: object) -> dict[str, str]:
        more = {"topic.prefix": "shop", "snapshot.mode": "no_data", "max.batch.size": "2048", "max.queue.size": "8192"}
        return {**super().config(self.place.home), **more}


def main() -> int:
    """Measure, print, write results/source_audit_mariadb.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="at most 59 million")
    parser.add_argument("--planted", type=int, default=150, help="differences of each kind")
    parser.add_argument("--changes", type=int, default=20, help="changes a second meanwhile")
    parser.add_argument("--kill-after", type=float, nargs="*", default=[20, 20], help="seconds")
    parser.add_argument("--fill", metavar="BROKERS", help="only write the records")
    arguments = parser.parse_args()
    planted = Planted(arguments.rows, arguments.planted)
    if arguments.fill:
        fill(arguments.fill, planted)
        return 0
    spec = SandboxSpec(workers=1, plugins=(PLUGIN,))
    with tempfile.TemporaryDirectory() as folder, mariadb(Path(folder)) as server, Sandbox(spec) as sandbox:
        servers, begun = sandbox.bootstrap_servers, time.perf_counter()
        create_table(server, planted.rows)
        module, size = [sys.executable, "-m"], ["--rows", str(planted.rows), "--planted", str(planted.each)]
        subprocess.run([*module, "benchmarks.source_audit_mariadb", "--fill", servers, *size], check=True)
        filled = round(time.perf_counter() - begun, 1)
        client = ["mariadb", "--no-defaults", "-q", "--protocol=tcp", "-h127.0.0.1", f"-P{server.port}", "-uroot"]
        consumer = [*module, "benchmarks.source_audit", "--contender", CONSUMER, "--bootstrap-server", servers]
        commands = {
            CLIENT: Command(["sh", "-c", '"$@" > /dev/null', "sh", *client, DATABASE, "-e", "SELECT * FROM orders"]),
            CONSUMER: Command(consumer),
        }
        reads = measure_in_turns(commands, 1, is_warm=True)
        os.environ |= {"TMPDIR": folder}
        with loaded(server, sandbox, planted, arguments.changes) as changed:
            dsn = f"mariadb://root@127.0.0.1:{server.port}/"
            ours, answer = audit(servers, dsn, Path(folder), arguments.kill_after)
        versions = {"kafka": sandbox.kafka_version, "debezium": PLUGIN.rpartition(":")[2], "mariadb": _version(server)}
    history = {"changes_meanwhile": len(changed), "killed": len(arguments.kill_after), "filled_s": filled}
    return report("source_audit_mariadb", history, planted, {**reads, "eosctl audit source": ours}, answer, versions)


def create_table(server: MariaDB, rows: int) -> None:
    with _connection(server) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY, customer int, price decimal(12,2), note text, "
            "made timestamp(6) NOT NULL)"
        )
        for first in range(1, rows + 1, 200_000):
            cursor.execute(
                "INSERT INTO orders SELECT seq, seq % 1000, seq / 100, concat('order ', seq), "
                f"'2026-01-01' + INTERVAL seq MICROSECOND FROM seq_{first}_to_{min(rows, first + 199_999)}"
            )


def fill(servers: str, planted: Planted) -> None:
    """A record of each row, but for what is planted."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(60)
    settings = {"linger.ms": 50, "batch.num.messages": 50_000, "queue.buffering.max.messages": 500_000}
    producer = Producer(
        {"bootstrap.servers": servers, "compression.type": "lz4", "partitioner": "murmur2_random", **settings}
    )
    for number, (key, value) in enumerate(events(planted)):
        while number % 10_000 == 0 and len(producer) > 300_000:
            producer.poll(0.1)
        producer.produce(TOPIC, value.replace(SOURCE, BEFORE), key)
    producer.flush(600)


@contextmanager
def loaded(server: MariaDB, sandbox: Sandbox, planted: Planted, a_second: int) -> Iterator[list[int]]:
    """Changes rows that are not planted, so many times a second; a Debezium connector streams them to the topic."""
    table, ended, changed = Orders(server, sandbox, TABLE, 0), Event(), list[int]()
    table.start()
    eventually(lambda: table.states() == ["RUNNING"], "the task", deadline_s=120)
    streams = "SELECT count(*) FROM information_schema.processlist WHERE command = 'Binlog Dump'"
    eventually(lambda: table.execute(streams) != [(0,)], "the connector to stream", deadline_s=120)
    thread = Thread(target=_change, args=(server, planted, a_second, ended, changed))
    thread.start()
    try:
        yield changed
    finally:
        ended.set()
        thread.join()


def _change(server: MariaDB, planted: Planted, a_second: int, ended: Event, changed: list[int]) -> None:
    random = Random(41)
    with _connection(server) as connection, connection.cursor() as cursor:
        while not ended.wait(1 / a_second):
            number = random.randint(1, planted.rows)
            if not planted.is_planted(number):
                cursor.execute(random.choice(CHANGES), (number,))
                changed.append(number)


def _connection(server: MariaDB) -> "pymysql.Connection":
    return pymysql.connect(host="127.0.0.1", port=server.port, user="root", database=DATABASE, autocommit=True)


def _version(server: MariaDB) -> str:
    with _connection(server) as connection:
        return str(connection.get_server_info())


if __name__ == "__main__":
    sys.exit(main())
