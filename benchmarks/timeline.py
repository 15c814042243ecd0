"""The timeline of 1 M records: eosctl against a confluent-kafka consumer that decodes the same topics and keeps none.

Of 1,000 records 2 are of the config topic, 400 of the status topic and 598 of the offsets topic. Tasks change their
state in each record, so that their events do not fold by themselves, and a quarter of the records has more events than
are kept. Each contender runs in a process of its own; it is
measured on a quarter of the records and on all of them: memory must not grow with the topics. The page is written once.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.model.records import java_partition
from eosctl.sandbox.sandbox import Sandbox

PARTITIONS = {"connect-configs": 1, "connect-status": 5, "connect-offsets": 25}
CONNECTORS = 100
TASKS = 10
STATES = ("RUNNING", "UNASSIGNED", "RUNNING", "PAUSED")
LEAST_RATIO = 0.5
"""The bar: the CPU of a consumer that decodes JSON and keeps nothing, as a part of eosctl's."""
GROWTH = 1.5
"""The bar: how much more memory four times as many records may take."""


def main() -> int:
    """Measure, print, write results/timeline.json; 1 where a bar is missed."""
    arguments = _arguments()
    if arguments.contender:
        consume(arguments.bootstrap_server)
        return 0
    page = Path(tempfile.gettempdir()) / "eosctl-bench-timeline.html"
    with Sandbox() as sandbox:
        servers, found = sandbox.bootstrap_servers, {}
        create_topics(servers)
        for first, end in ((0, arguments.records // 4), (arguments.records // 4, arguments.records)):
            fill(servers, first, end)
            measured = measure_in_turns(_commands(servers, page, with_page=end == arguments.records), arguments.runs)
            found[end] = measured
        versions = {"kafka": sandbox.kafka_version}
    quarter, whole = found.values()
    ratio = round(whole["confluent-kafka + json"].cpu_s / whole["eosctl timeline"].cpu_s, 2)
    growth = round(whole["eosctl timeline"].peak_mb / quarter["eosctl timeline"].peak_mb, 2)
    for records, measured in found.items():
        for name, each in measured.items():
            print(f"{records:>9,} {name:32} {each.elapsed_s:7.2f} s {each.cpu_s:7.2f} CPU-s {each.peak_mb:7.1f} MB")
    print(f"{ratio}x of eosctl's CPU; memory of four times as many records: {growth}x; page {page.stat().st_size:,} B")
    figures = {
        "records": arguments.records,
        "seconds": {f"{records}": as_json(measured) for records, measured in found.items()},
        "page_bytes": page.stat().st_size,
        "ratios": {"confluent-kafka + json": ratio, "memory of four times as many records": growth},
        "bars": {"confluent-kafka + json": LEAST_RATIO, "memory of four times as many records": GROWTH},
    }
    page.unlink()
    print(write_result("timeline", figures, versions))
    return 0 if ratio >= LEAST_RATIO and growth <= GROWTH else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--contender", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-b", "--bootstrap-server", help=argparse.SUPPRESS)
    return parser.parse_args()


def _commands(servers: str, page: Path, *, with_page: bool) -> dict[str, Command]:
    eosctl = str(Path(sys.executable).with_name("eosctl"))
    output = str(Path(tempfile.gettempdir()) / "eosctl-bench-timeline.json")
    timeline = [eosctl, "timeline", "-b", servers, "-o", "json", "--output-file", output]
    found = {
        "eosctl timeline": Command(timeline),
        "confluent-kafka + json": Command([sys.executable, "-m", "benchmarks.timeline", "--contender", "-b", servers]),
    }
    return found | ({"eosctl timeline --report": Command([*timeline, "--report", str(page)])} if with_page else {})


def create_topics(servers: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for topic, partitions in PARTITIONS.items():
        new = NewTopic(topic, partitions, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([new])[topic].result(30)


def fill(servers: str, first: int, end: int) -> None:
    """The records of these numbers, in the places where Java puts them."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number, (topic, key, value) in enumerate(records(first, end)):
        producer.produce(topic, value, key, java_partition(key, PARTITIONS[topic]))
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("not every record was acknowledged")


def records(first: int, end: int) -> Iterator[tuple[str, bytes, bytes]]:
    for number in range(first, end):
        connector = f"mirror-{number % CONNECTORS}"
        if number % 500 == 0:
            properties = {"connector.class": "Mirror", "tasks.max": str(TASKS), "topics": f"t{number}"}
            value = json.dumps({"properties": properties}).encode()
            yield "connect-configs", f"connector-mirror-{number // 500 % CONNECTORS}".encode(), value
        elif number % 5 < 2:
            task, turn = number % TASKS, number // CONNECTORS
            status = {"state": STATES[turn % 4], "trace": None, "worker_id": f"w{turn % 3}:8083", "generation": turn}
            yield "connect-status", f"status-task-{connector}-{task}".encode(), json.dumps(status).encode()
        else:
            key = f'["{connector}",{{"partition":{number % 997}}}]'
            yield "connect-offsets", key.encode(), b'{"offset":%d}' % number


def consume(servers: str) -> None:
    """Key and value of every record decoded, and thrown away."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    places = [
        TopicPartition(name, each, OFFSET_BEGINNING) for name, count in PARTITIONS.items() for each in range(count)
    ]
    left = sum(consumer.get_watermark_offsets(each)[1] for each in places)
    consumer.assign(places)
    while left > 0:
        messages = consumer.consume(10_000, 1.0)
        left -= len(messages)
        for message in messages:
            key, value = message.key(), message.value()
            json.loads(value or b"null")
            if key[:1] == b"[":
                json.loads(key)
    consumer.close()


if __name__ == "__main__":
    sys.exit(main())
