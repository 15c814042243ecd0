"""Comparing a table of PostgreSQL with its topic while both go on: `audit source` against reading both once.

The topic has Debezium's records of all rows, made by a fast producer: the connector's own snapshot would take longer
than all that is measured. Some rows are left out, some have another text, some keys are added. A Debezium connector
streams what a load changes meanwhile. `audit source` is killed and continued; its answer must name what was planted,
and nothing else. The two reads are COPY of the table to nowhere, and a consumer that counts. All run in turn, each in
a process of its own; the server's CPU is not counted. Queries a second are those of the answer's process.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

import httpx
import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import Command, Measured, as_json, measure_in_turns, write_result
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox

TOPIC, PARTITIONS = "shop.public.orders", 4
DEBEZIUM = "io.debezium:debezium-connector-postgres:3.3.1.Final"
JSON = "org.apache.kafka.connect.json.JsonConverter"
COPY, CONSUMER, FILL = "COPY to nowhere", "a consumer that counts", "fill"
TABLE = (
    "CREATE TABLE orders AS SELECT i AS id, (i % 1000)::int AS customer, (i / 100.0)::numeric(12,2) AS price, "
    "'order ' || i AS note, timestamptz '2026-01-01' + i * interval '1 microsecond' AS made "
    "FROM generate_series(1::bigint, {rows}) i"
)
SOURCE = (
    '{"version":"3.3.1.Final","connector":"postgresql","name":"shop","ts_ms":1795704695000,"snapshot":"false",'
    '"db":"postgres","sequence":"[null,\\"1\\"]","ts_us":1795704695000000,"ts_ns":1795704695000000000,'
    '"schema":"public","table":"orders","txId":3,"lsn":1,"xmin":null}'
)
ADDED = 10**9
"""The first key that only the topic has."""
MISSING, DIFFERING = 7, 11
"""Rows whose number leaves this rest of their distance are missing in the topic, or have another text there."""


class Planted:
    """Which rows differ: `each` of a kind, spread over the table."""

    def __init__(self, rows: int, each: int) -> None:
        self.rows, self.each, self._distance = rows, each, max(20, rows // each)

    def _is(self, number: int, rest: int) -> bool:
        return number % self._distance == rest and number // self._distance < self.each

    def is_missing(self, number: int) -> bool:
        return self._is(number, MISSING)

    def is_differing(self, number: int) -> bool:
        return self._is(number, DIFFERING)

    def is_planted(self, number: int) -> bool:
        return self.is_missing(number) or self.is_differing(number)


def main() -> int:
    """Measure, print, write results/source_audit.json; 1 where the answer is another one than what was planted."""
    arguments = _arguments()
    planted = Planted(arguments.rows, arguments.planted)
    if arguments.contender == FILL:
        fill(arguments.url, arguments.bootstrap_server, planted)
        return 0
    if arguments.contender:
        (copy if arguments.contender == COPY else consume)(arguments.url, arguments.bootstrap_server)
        return 0
    spec = SandboxSpec(workers=1, plugins=(DEBEZIUM,), postgres=True)
    with Sandbox(spec) as sandbox, tempfile.TemporaryDirectory() as folder:
        servers, url = sandbox.bootstrap_servers, sandbox.postgresql.url
        named = ["--url", url, "--bootstrap-server", servers]
        module = [sys.executable, "-m", "benchmarks.source_audit"]
        begun, size = time.perf_counter(), ["--rows", str(planted.rows), "--planted", str(planted.each)]
        # A process that begins has the memory of its parent as its peak, so the parent stays small.
        subprocess.run([*module, "--contender", FILL, *named, *size], check=True)
        filled = time.perf_counter() - begun
        reads = measure_in_turns(
            {name: Command([*module, "--contender", name, *named]) for name in (COPY, CONSUMER)}, 1, is_warm=True
        )
        os.environ |= {"TMPDIR": folder}
        with loaded(sandbox, planted, arguments.changes) as changed:
            ours, answer = audit(servers, _dsn(url), Path(folder), arguments.kill_after)
        changes = len(changed)
        versions = {
            "kafka": sandbox.kafka_version,
            "debezium": DEBEZIUM.rpartition(":")[2],
            "postgresql": _version(url),
        }
    history = {"changes_meanwhile": changes, "killed": len(arguments.kill_after), "filled_s": round(filled, 1)}
    return report("source_audit", history, planted, {**reads, "eosctl audit source": ours}, answer, versions)


def report(
    name: str,
    history: Mapping[str, float],
    planted: "Planted",
    measured: Mapping[str, Measured],
    answer: Mapping[str, Any],
    versions: Mapping[str, str],
) -> int:
    """Writes the result; 1 where the answer is another one than what was planted."""
    [table] = answer["data"]["tables"]
    *reads, ours = measured.values()
    kinds = ("missing", "extra", "differing")
    result = {
        "rows": table["rows"],
        **history,
        "planted": dict.fromkeys(kinds, planted.each),
        "found": {kind: table[kind] for kind in (*kinds, "undecided")},
        "verdict": table["verdict"],
        "seconds": as_json(measured),
        "cpu_us_per_row": round(ours.cpu_s / table["rows"] * 1e6, 1),
        "queries_of_last_process": table["queries"],
        "ratio_to_both_reads": round(ours.cpu_s / sum(each.cpu_s for each in reads), 2),
    }
    print(json.dumps(result, indent=2))
    print(write_result(name, result, versions))
    return 0 if all(table[kind] == planted.each for kind in kinds) and not table["undecided"] else 1


def _dsn(url: str) -> str:
    """The server's URL without its password, which goes to the environment."""
    given = psycopg.conninfo.conninfo_to_dict(url)
    os.environ["PGPASSWORD"] = str(given["password"])
    return f"postgresql://{given['user']}@{given['host']}:{given['port']}/{given['dbname']}"


def audit(servers: str, dsn: str, folder: Path, kill_after: Sequence[float]) -> tuple[Measured, Mapping[str, Any]]:
    """Runs the comparison, killed after each of these seconds and continued, to its end: all processes together."""
    words = [sys.executable, "-m", "eosctl", "audit", "source", "-b", servers, "--source-dsn", dsn]
    words += ["--table", f"public.orders={TOPIC}", "--wait", "600", "--timeout", "600", "--state", f"{folder}/state"]
    answer, cpu_s, peak_mb, begun = folder / "answer.json", 0.0, 0.0, time.perf_counter()
    for seconds in (*kill_after, None):
        process = subprocess.Popen([*words, "-o", "json", "--output-file", str(answer)])
        if seconds is not None:
            time.sleep(seconds)  # a kill at any moment is the fault itself
            process.send_signal(signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s += usage.ru_utime + usage.ru_stime
        peak_mb = max(peak_mb, usage.ru_maxrss / 1024)
        print(
            f"ended with {process.returncode} after {time.perf_counter() - begun:.0f} s, {cpu_s:.1f} CPU-s", flush=True
        )
    elapsed = round(time.perf_counter() - begun, 1)
    measured = Measured(1, elapsed, elapsed, elapsed, round(cpu_s, 2), round(peak_mb, 1))
    return measured, json.loads(answer.read_text())


@contextmanager
def loaded(sandbox: Sandbox, planted: Planted, a_second: int) -> Iterator[list[int]]:
    """Changes rows that are not planted, so many times a second; a Debezium connector streams them to the topic."""
    server = psycopg.conninfo.conninfo_to_dict(sandbox.postgresql.url)
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "topic.prefix": "shop",
        **{f"database.{key}": str(server[name]) for key, name in _SERVER.items()},
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.orders",
        "snapshot.mode": "no_data",
        **{f"{kind}.converter": JSON for kind in ("key", "value")},
        **{f"{kind}.converter.schemas.enable": "false" for kind in ("key", "value")},
    }
    httpx.put(f"{sandbox.connect_url(1)}/connectors/shop/config", json=config, timeout=60).raise_for_status()
    with psycopg.connect(sandbox.postgresql.url, autocommit=True) as connection:
        while not connection.execute("SELECT 1 FROM pg_replication_slots WHERE active").fetchall():
            time.sleep(0.2)
        ended, changed = Event(), list[int]()
        thread = Thread(target=_change, args=(connection, planted, a_second, ended, changed))
        thread.start()
        try:
            yield changed
        finally:
            ended.set()
            thread.join()


_SERVER = {"hostname": "host", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}
_CHANGES = (
    "UPDATE orders SET price = price + 1, note = note || '.' WHERE id = %s",
    "UPDATE orders SET customer = customer + 1 WHERE id = %s",
    "DELETE FROM orders WHERE id = %s",
    "INSERT INTO orders SELECT {rows} + %s, 1, 2.5, 'added', now() ON CONFLICT DO NOTHING",
)


def _change(
    connection: "psycopg.Connection[Any]", planted: Planted, a_second: int, ended: Event, changed: list[int]
) -> None:
    random = Random(41)
    while not ended.wait(1 / a_second):
        number = random.randint(1, planted.rows)
        if not planted.is_planted(number):
            connection.execute(random.choice(_CHANGES).format(rows=planted.rows).encode(), (number,))
            changed.append(number)


def _version(url: str) -> str:
    with psycopg.connect(url) as connection:
        return str(connection.info.server_version // 10_000)


def fill(url: str, servers: str, planted: Planted) -> None:
    """The table, and a record of each row, but for what is planted."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(60)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE.format(rows=planted.rows).encode())
        connection.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
        connection.execute("ANALYZE orders")
    settings = {"linger.ms": 50, "batch.num.messages": 50_000, "queue.buffering.max.messages": 500_000}
    form = {"compression.type": "lz4", "partitioner": "murmur2_random"}
    producer = Producer({"bootstrap.servers": servers, **settings, **form})
    for number, (key, value) in enumerate(events(planted)):
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        if not number % 10_000:
            producer.poll(0)
    producer.flush(600)


def events(planted: Planted) -> Iterator[tuple[str, str]]:
    """Keys and values as Debezium writes changes. Their times fit into one second each million."""
    behind = f'}},"source":{SOURCE},"op":"c","ts_ms":1795704695000}}'
    for number in (*range(1, planted.rows + 1), *range(ADDED, ADDED + planted.each)):
        if planted.is_missing(number):
            continue
        note = "another" if planted.is_differing(number) else f"order {number}"
        price = b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()
        seconds, micros = divmod(number, 1_000_000)
        yield (
            f'{{"id":{number}}}',
            f'{{"before":null,"after":{{"id":{number},"customer":{number % 1000},"price":"{price}","note":"{note}",'
            f'"made":"2026-01-01T00:00:{seconds % 60:02}.{micros:06}Z"{behind}',
        )


def copy(url: str, _: str) -> None:
    """The whole table, thrown away."""
    with psycopg.connect(url) as connection, connection.cursor().copy("COPY orders TO STDOUT") as rows:
        for _part in rows:
            pass


def consume(_: str, servers: str) -> None:
    """All records, counted."""
    settings = {"bootstrap.servers": servers, "group.id": "benchmark", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    ended = 0
    while ended < PARTITIONS:
        for message in consumer.consume(10_000, 1.0):
            ended += message.error() is not None
    consumer.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="at most 59 million")
    parser.add_argument("--planted", type=int, default=150, help="differences of each kind")
    parser.add_argument("--changes", type=int, default=20, help="changes a second meanwhile")
    parser.add_argument("--kill-after", type=float, nargs="*", default=[60, 120], help="seconds")
    parser.add_argument("--contender", choices=[COPY, CONSUMER, FILL])
    parser.add_argument("--url", default="")
    parser.add_argument("--bootstrap-server", default="")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
