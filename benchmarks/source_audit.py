"""Comparing a table of PostgreSQL with its topic: `audit source` against reading both once, and doing nothing with it.

The topic has Debezium's records of all rows, made by a fast producer: the connector's own snapshot would take longer
than all that is measured. The two reads are COPY of the table to nowhere, and a consumer that counts. All run in turn,
each in a process of its own; the server's CPU is not counted. Queries a second are those of the comparison's answer.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import Sandbox

TOPIC, PARTITIONS = "shop.public.orders", 4
OURS, COPY, CONSUMER = "eosctl audit source", "COPY to nowhere", "a consumer that counts"
TABLE = (
    "CREATE TABLE orders AS SELECT i AS id, (i % 1000)::int AS customer, (i / 100.0)::numeric(12,2) AS price, "
    "'order ' || i AS note, timestamptz '2026-01-01' + i * interval '1 microsecond' AS made "
    "FROM generate_series(1::bigint, {rows}) i"
)
SOURCE = (
    '{{"version":"3.3.1.Final","connector":"postgresql","name":"shop","ts_ms":1795704695000,"snapshot":"false",'
    '"db":"postgres","sequence":"[null,\\"1\\"]","ts_us":1795704695000000,"ts_ns":1795704695000000000,"schema":"public",'
    '"table":"orders","txId":3,"lsn":{lsn},"xmin":null}}'
)


def main() -> int:
    """Measure, print, write results/source_audit.json; 1 where the answer is not held."""
    arguments = _arguments()
    if arguments.contender:
        (copy if arguments.contender == COPY else consume)(arguments.url, arguments.bootstrap_server)
        return 0
    with Sandbox(SandboxSpec(workers=0, postgres=True)) as sandbox, tempfile.TemporaryDirectory() as folder:
        servers, url = sandbox.bootstrap_servers, sandbox.postgresql.url
        filled = time.perf_counter()
        fill(url, servers, arguments.rows)
        filled = time.perf_counter() - filled
        named = ["--url", url, "--bootstrap-server", servers]
        commands = {
            name: Command([sys.executable, "-m", "benchmarks.source_audit", "--contender", name, *named])
            for name in (COPY, CONSUMER)
        }
        given = psycopg.conninfo.conninfo_to_dict(url)
        os.environ |= {"PGPASSWORD": str(given["password"]), "TMPDIR": folder}
        dsn = f"postgresql://{given['user']}@{given['host']}:{given['port']}/{given['dbname']}"
        ours = [sys.executable, "-m", "eosctl", "audit", "source", "-b", servers, "--source-dsn", dsn, "-o", "json"]
        answer = Path(folder) / "answer.json"
        ours += ["--table", f"public.orders={TOPIC}", "--caught-up", "--timeout", "600", "--output-file", str(answer)]
        commands[OURS] = Command(ours)
        measured = measure_in_turns(commands, arguments.runs)
        [table] = json.loads(answer.read_text())["data"]["tables"]
        versions = {"kafka": sandbox.kafka_version}
    reads = measured[COPY].cpu_s + measured[CONSUMER].cpu_s
    result = {
        "rows": arguments.rows,
        "verdict": table["verdict"],
        "filled_s": round(filled, 1),
        "seconds": as_json(measured),
        "cpu_us_per_row": round(measured[OURS].cpu_s / arguments.rows * 1e6, 1),
        "queries": table["queries"],
        "queries_per_second": round(table["queries"] / measured[OURS].elapsed_s, 2),
        "ratio_to_both_reads": round(measured[OURS].cpu_s / reads, 2),
    }
    for name, each in measured.items():
        print(f"{name:24} {each.cpu_s:8.2f} CPU-s {each.elapsed_s:8.2f} s {each.peak_mb:6.0f} MB")
    print(write_result("source_audit", result, versions))
    return 0 if (table["verdict"], table["rows"]) == ("held", arguments.rows) else 1


def fill(url: str, servers: str, rows: int) -> None:
    """The table, and a record of each row."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(60)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE.format(rows=rows).encode())
        connection.execute("ALTER TABLE orders ADD PRIMARY KEY (id)")
        connection.execute("ANALYZE orders")
    settings = {"linger.ms": 50, "batch.num.messages": 50_000, "queue.buffering.max.messages": 500_000}
    producer = Producer({"bootstrap.servers": servers, "compression.type": "lz4", **settings})
    for number, (key, value) in enumerate(events(rows)):
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        if not number % 10_000:
            producer.poll(0)
    producer.flush(600)


def events(rows: int) -> Iterator[tuple[str, str]]:
    """Keys and values of all rows, as Debezium writes changes. Their times fit into one second each million."""
    source = SOURCE.format(lsn=1)
    for number in range(1, rows + 1):
        size = number.bit_length() // 8 + 1
        price = b64encode(number.to_bytes(size, "big", signed=True)).decode()
        seconds, micros = divmod(number, 1_000_000)
        row = (
            f'{{"id":{number},"customer":{number % 1000},"price":"{price}","note":"order {number}",'
            f'"made":"2026-01-01T00:00:{seconds:02}.{micros:06}Z"}}'
        )
        yield f'{{"id":{number}}}', f'{{"before":null,"after":{row},"source":{source},"op":"c","ts_ms":1795704695000}}'


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
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--contender", choices=[COPY, CONSUMER])
    parser.add_argument("--url", default="")
    parser.add_argument("--bootstrap-server", default="")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
