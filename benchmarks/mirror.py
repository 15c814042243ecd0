"""Comparing a mirrored topic of 2 M records with its source: eosctl against two confluent-kafka consumers and a dict.

Every contender runs in a process of its own; its CPU-seconds (user and system) count from its first import to its end.
The consumers keep a digest of key, value, headers and timestamp of each record of the target in a dict, which grows
with the topic, and look those of the source up in it. They check no CRC (librdkafka's default), eosctl always does. The
limit is how long the headers of all batches alone take: fetched, and their records not looked at.

The copy lies in batches of 16 kB, as MirrorMaker's producer makes them.
"""

import argparse
import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.operations.session import Session
from eosctl.sandbox.sandbox import Sandbox

TOPIC, COPY = "orders", "eu.orders"
OURS = "eosctl mirror audit"
BAR = 5


def main() -> int:
    """Measure, print, write results/mirror.json; 1 where the bar is missed."""
    arguments = _arguments()
    if arguments.contender:
        CONTENDERS[arguments.contender](arguments.source, arguments.bootstrap_server)
        return 0
    with Sandbox() as source, Sandbox() as target, tempfile.TemporaryDirectory() as folder:
        begun = Session.now() - arguments.records
        servers = source.bootstrap_servers, target.bootstrap_servers
        # By another process: the kernel counts the memory that this one ever had to each that it starts.
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            for topic, each, batch in zip((TOPIC, COPY), servers, (1 << 16, 1 << 14), strict=True):
                pool.submit(fill, each, topic, arguments.records, arguments.bytes, begun, batch).result()
        named = ["--source", servers[0], "-b", servers[1]]
        commands = {
            name: Command([sys.executable, "-m", "benchmarks.mirror", "--contender", name, *named])
            for name in CONTENDERS
        }
        commands |= _ours(servers, Path(folder) / "ledger.db")
        measured = measure_in_turns(commands, arguments.runs)
        versions = {"kafka": source.kafka_version}
    base = measured[OURS].cpu_s
    ratios = {name: round(each.cpu_s / base, 2) for name, each in measured.items()}
    size = 2 * arguments.records * arguments.bytes
    for name, each in measured.items():
        speed = size / each.cpu_s / 1e9
        figures = f"{each.cpu_s:7.2f} CPU-s {speed:7.3f} GB per CPU-s {each.peak_mb:6.0f} MB"
        print(f"{name:40} {figures} {each.elapsed_s:7.2f} s   {ratios[name]:5.2f}x of eosctl's CPU")
    result = {
        "records": arguments.records,
        "value_bytes": arguments.bytes,
        "seconds": as_json(measured),
        "gb_per_cpu_s": {name: round(size / each.cpu_s / 1e9, 3) for name, each in measured.items()},
        "ratios": ratios,
        "bars": {"two consumers and a dict": BAR},
    }
    print(write_result("mirror", result, versions))
    return 0 if ratios["two consumers and a dict"] >= BAR else 1


def _ours(servers: tuple[str, str], ledger: Path) -> dict[str, Command]:
    """One process, two that compare pieces, Spark, and a night in which nothing came since the one before."""
    mirror = [sys.executable, "-m", "eosctl", "mirror", "audit", "-b", servers[1], "-o", "json"]
    mirror += ["--source-bootstrap-server", servers[0], "--alias", "eu"]
    more = {
        OURS: ["--processes", "1"],
        f"{OURS}, 2 processes": ["--processes", "2"],
        f"{OURS}, 2 processes of Spark": ["--engine", "spark", "--processes", "2"],
        f"{OURS} --store, nothing new": ["--processes", "1", "--store", f"sqlite:///{ledger}"],
    }
    return {name: Command([*mirror, *options]) for name, options in more.items()}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--bytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--contender")
    parser.add_argument("--source")
    parser.add_argument("-b", "--bootstrap-server")
    return parser.parse_args()


def fill(servers: str, topic: str, records: int, size: int, begun: int, batch: int) -> None:
    """Records with a key, a header and the same timestamp in both topics, as a mirror keeps it."""
    from confluent_kafka import Producer

    from tests.integration.producers import create_topic

    create_topic(servers, topic)
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 20, "batch.size": batch, "queue.buffering.max.messages": 200_000}
    )
    body = b"x" * (size - 12)
    for number in range(records):
        while True:
            try:
                producer.produce(
                    topic,
                    b"%012d" % number + body,
                    b"%d" % (number % 1000),
                    0,
                    timestamp=begun + number,
                    headers=[("trace", b"%d" % number)],
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(120) == 0


def two_consumers(source: str, target: str) -> None:
    """A careful user's script."""
    there = dict(_digests(target, COPY))
    missing, offsets = 0, []
    for digest, _ in _digests(source, TOPIC):
        offset = there.pop(digest, None)
        if offset is None:
            missing += 1
        else:
            offsets.append(offset)
    disorder = sum(one > other for one, other in pairwise(offsets))
    print(missing, len(there), disorder)


def _digests(servers: str, topic: str):
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    place = TopicPartition(topic, 0, OFFSET_BEGINNING)
    end = consumer.get_watermark_offsets(place)[1]
    consumer.assign([place])
    done = False
    while not done:
        for message in consumer.consume(10_000, 5):
            yield (
                hash((message.timestamp()[1], message.key(), message.value(), *(message.headers() or ()))),
                message.offset(),
            )
            done = message.offset() == end - 1
    consumer.close()


def headers_only(source: str, target: str) -> None:
    """The limit: both topics fetched, the headers of batches read."""
    from eosctl.clients.wire import Wire
    from eosctl.codecs.client_properties import client_properties
    from eosctl.model.names import TopicPartition
    from eosctl.sources.kafka_log import read_batches

    for servers, topic in ((source, TOPIC), (target, COPY)):
        with Wire(client_properties(bootstrap_server=servers), timeout_s=30) as wire:
            print(sum(each.batch.header.record_count for each in read_batches(wire, TopicPartition(topic, 0))))


CONTENDERS = {"two consumers and a dict": two_consumers, "headers only": headers_only}

if __name__ == "__main__":
    sys.exit(main())
