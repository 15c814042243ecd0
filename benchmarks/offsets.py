"""Showing an offsets topic of 1 M records and 50 k keys: eosctl against a confluent-kafka consumer, json and a dict.

Every contender runs in a process of its own, and its CPU-seconds (user and system, children included) count from its
first import to its end. eosctl reads, folds, merges and builds the document; it also knows what became of every
transaction, which the peers do not. The limit is how long the bytes alone take: fetched and thrown away.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.model.records import java_partition
from eosctl.sandbox.sandbox import Sandbox

TOPIC = "connect-offsets"
PARTITIONS = 25
CONNECTORS = 100
LIMIT = "limit: bytes fetched"
PEER = "confluent-kafka + json + dict"
LEAST_OF_PEER = 2
MOST_OF_ITS_BYTES = 3


def main() -> int:
    """Measure, print, write results/offsets.json; 1 where the bar is missed."""
    arguments = _arguments()
    if arguments.contender:
        CONTENDERS[arguments.contender](arguments.bootstrap_server)
        return 0
    with Sandbox() as sandbox:
        size = fill(sandbox.bootstrap_servers, arguments.records, arguments.keys)
        servers = sandbox.bootstrap_servers
        commands = {
            name: Command([sys.executable, "-m", "benchmarks.offsets", "--contender", name, "-b", servers])
            for name in CONTENDERS
            if not arguments.beside_its_bytes or name in {"eosctl", LIMIT}
        }
        commands["eosctl offsets show -o json"] = _command(servers, arguments.output)
        measured = measure_in_turns(commands, arguments.runs)
        versions = {"kafka": sandbox.kafka_version}
    base = measured["eosctl"].cpu_s
    ratios = {name: round(each.cpu_s / base, 2) for name, each in measured.items()}
    for name, each in measured.items():
        print(f"{name:32} {each.cpu_s:7.2f} CPU-s {each.elapsed_s:7.2f} s   {ratios[name]:5.2f}x of eosctl's CPU")
    beside = round(1 / ratios[LIMIT], 2)
    print(f"{beside}x of fetching its bytes (bar {MOST_OF_ITS_BYTES})")
    figures = {
        "records": arguments.records,
        "keys": arguments.keys,
        "bytes": size,
        "seconds": as_json(measured),
        "ratios": ratios,
        "of fetching its bytes": beside,
        "bars": {PEER: LEAST_OF_PEER, "of fetching its bytes": MOST_OF_ITS_BYTES},
    }
    print(write_result("offsets_beside_its_bytes" if arguments.beside_its_bytes else "offsets", figures, versions))
    return 0 if ratios.get(PEER, LEAST_OF_PEER) >= LEAST_OF_PEER and beside <= MOST_OF_ITS_BYTES else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--output", default=str(Path(tempfile.gettempdir()) / "eosctl-bench-offsets.json"))
    parser.add_argument("--beside-its-bytes", action="store_true", help="eosctl and the limit alone, without the peers")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("-b", "--bootstrap-server", help=argparse.SUPPRESS)
    return parser.parse_args()


def _command(servers: str, output: str) -> Command:
    args = ["offsets", "show", "-b", servers, "--exactly-once", "enabled", "-o", "json", "--output-file", output]
    return Command([str(Path(sys.executable).with_name("eosctl")), *args], exit_code=0)


def fill(servers: str, records: int, keys: int) -> int:
    """An offsets topic as 100 MirrorSource-like connectors write it; the number of bytes of keys and values."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for topic, partitions in ((TOPIC, PARTITIONS), ("connect-configs", 1)):
        new = NewTopic(topic, partitions, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([new])[topic].result(30)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    raw = [
        f'["mirror-{n % CONNECTORS}",{{"cluster":"source","partition":{n},"topic":"orders-{n % 997}"}}]'.encode()
        for n in range(keys)
    ]
    placed = [(key, java_partition(key, PARTITIONS)) for key in raw]
    size = 0
    for number in range(records):
        key, partition = placed[number % keys]
        value = b'{"offset":%d}' % number
        size += len(key) + len(value)
        producer.produce(TOPIC, value, key, partition)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError("not every record was acknowledged")
    return size


def eosctl(servers: str) -> None:
    """Read, fold, merge, build the document."""
    from io import StringIO

    from eosctl.cli import tune_gc
    from eosctl.model.workers import SourceSupport
    from eosctl.operations.offset_stores import OffsetsRequest
    from eosctl.operations.offsets import show_offsets
    from eosctl.operations.session import Session, gc_paused
    from eosctl.render.answers.offsets import view_offsets
    from eosctl.render.console import Console, OutputOptions, Stream, Terminal
    from eosctl.shell.options import GlobalOptions

    tune_gc()
    console = Console(Terminal(*(Stream(StringIO(), None) for _ in range(3))), OutputOptions())
    with Session(GlobalOptions(console, bootstrap_servers=servers)) as session, gc_paused():
        view_offsets(show_offsets(session, OffsetsRequest(exactly_once=SourceSupport.ENABLED)))


def _consume(servers: str, take):
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    partitions = [TopicPartition(TOPIC, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
    left = sum(consumer.get_watermark_offsets(each)[1] for each in partitions)
    consumer.assign(partitions)
    while left > 0:
        messages = consumer.consume(10_000, 1.0)
        left -= len(messages)
        take(messages)
    consumer.close()


def consumer_json_dict(servers: str) -> None:
    """Key and value of every record decoded, the last of each key kept."""
    offsets = {}

    def take(messages):
        for message in messages:
            raw = message.key()
            connector, partition = json.loads(raw)
            offsets[raw] = (connector, partition, json.loads(message.value()))

    _consume(servers, take)


def consumer_dict(servers: str) -> None:
    """The last record of each key kept, decoded at the end."""
    last = {}

    def take(messages):
        for message in messages:
            last[message.key()] = message

    _consume(servers, take)
    _ = [(json.loads(raw), json.loads(message.value())) for raw, message in last.items()]


def limit(servers: str) -> None:
    """The bytes of every partition fetched and thrown away."""
    from eosctl.clients.messages import fetch
    from eosctl.clients.wire import Wire
    from eosctl.codecs.record_batches import iter_batches
    from eosctl.model.client_properties import ClientProperties
    from eosctl.model.names import TopicPartition
    from eosctl.model.records import IsolationLevel
    from eosctl.sources.kafka_log import partition_offsets

    with Wire(ClientProperties((servers,))) as wire:
        bounds = partition_offsets(wire, [TopicPartition(TOPIC, number) for number in range(PARTITIONS)])
        [broker] = wire.brokers()
        for place, offsets in bounds.items():
            position = 0
            while position < offsets.high_watermark:
                request = fetch(place, position, 1 << 20, IsolationLevel.READ_COMMITTED)
                answer = wire.request(broker.node_id, request).responses[0].partitions[0]
                for batch in iter_batches(answer.records):
                    position = batch.header.next_offset


CONTENDERS = {
    "eosctl": eosctl,
    PEER: consumer_json_dict,
    "confluent-kafka + dict, json last": consumer_dict,
    LIMIT: limit,
}


if __name__ == "__main__":
    sys.exit(main())
