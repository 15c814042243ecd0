"""A million transactional IDs in the transaction log: eosctl against a confluent-kafka consumer that decodes nothing.

Each ID has the records of one transaction, four or only the last one. eosctl answers for one ID, for the thousand IDs
of a prefix, for all IDs, and for what is left open; more IDs than it keeps at a time are refused. Each contender runs
in a process of its own. The records are written by a client that brokers take for an internal one, because no client
writes as many IDs in a short time; then the broker is started again, and its coordinator loads them.
"""

import argparse
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Command, as_json, measure_in_turns, write_result
from eosctl.clients.wire import Wire
from eosctl.codecs.transaction_log import encode_transaction_log_key
from eosctl.errors import EosctlError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition
from eosctl.operations.transaction_log import MOST_IDS
from eosctl.sandbox.faulty_sandbox import FaultySandbox
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.listed_transactions import list_transactional_ids

PARTITIONS = 50
STATES = (0, 1, 2, 4)
"""Empty, Ongoing, PrepareCommit, CompleteCommit."""
BEGAN = 1_790_000_000_000
LEAST_RATIO = 0.02
"""The bar: the CPU of a consumer that decodes nothing, as a part of eosctl's for all IDs."""
MOST_KB = 4.0
"""The bar: memory for each ID where all of them are answered."""


def main() -> int:
    """Measure, print, write results/producer_epochs.json; 1 where a bar is missed."""
    arguments = _arguments()
    if arguments.contender:
        consume(arguments.bootstrap_server)
        return 0
    spec = SandboxSpec(
        workers=0,
        broker_config={"transaction.state.log.num.partitions": str(PARTITIONS)},
        broker_java_options=("-Xmx4g",),
    )
    with FaultySandbox(spec) as sandbox:
        servers = sandbox.bootstrap_servers
        fill(servers, arguments.ids, STATES[-arguments.records :])
        sandbox.stop_broker(1)
        sandbox.start_broker(1)
        await_loaded(servers, arguments.ids)
        commands = _commands(servers, arguments.ids)
        wanted = arguments.only or [*commands]
        measured = measure_in_turns(
            {name: each for name, each in commands.items() if name in wanted}, arguments.runs, is_warm=arguments.once
        )
        versions = {"kafka": sandbox.kafka_version}
    for name, each in measured.items():
        print(f"{name:36} {each.elapsed_s:7.2f} s {each.cpu_s:7.2f} CPU-s {each.peak_mb:7.1f} MB")
    if arguments.only or arguments.ids > MOST_IDS:
        figures = {"ids": arguments.ids, "records": arguments.ids * arguments.records, "seconds": as_json(measured)}
        print(write_result("million_ids", figures, versions))
        return 0
    whole = measured["history of all IDs"]
    ratio = round(measured["confluent-kafka"].cpu_s / whole.cpu_s, 3)
    kilobytes = round(whole.peak_mb * 1024 / arguments.ids, 2)
    print(f"{ratio}x of eosctl's CPU; {kilobytes} KB for each ID")
    figures = {
        "ids": arguments.ids,
        "records": arguments.ids * arguments.records,
        "seconds": as_json(measured),
        "ratios": {"confluent-kafka": ratio, "KB for each ID": kilobytes},
        "bars": {"confluent-kafka": LEAST_RATIO, "KB for each ID": MOST_KB},
    }
    print(write_result("producer_epochs", figures, versions))
    return 0 if ratio >= LEAST_RATIO and kilobytes <= MOST_KB else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=len(STATES), help="the last so many of each ID")
    parser.add_argument("--only", nargs="*", help="these commands")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--once", action="store_true", help="without a run to warm up")
    parser.add_argument("--contender", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-b", "--bootstrap-server", help=argparse.SUPPRESS)
    return parser.parse_args()


def _commands(servers: str, ids: int) -> dict[str, Command]:
    eosctl = str(Path(sys.executable).with_name("eosctl"))
    output = ["-o", "json", "--output-file", str(Path(tempfile.gettempdir()) / "eosctl-bench-epochs.json")]
    history = [eosctl, "transactions", "history", "-b", servers, *output]
    return {
        "history of one ID": Command([*history, name_of(0)]),
        "history of a prefix of 1,000 IDs": Command([*history, "--prefix", "job-7-"]),
        "history of all IDs": Command([*history, "--prefix", ""], exit_code=2 if ids > MOST_IDS else 0),
        "list": Command([eosctl, "transactions", "list", "-b", servers, "--timeout", "600", *output]),
        "doctor": Command([eosctl, "doctor", "-b", servers, "--timeout", "600", *output], exit_code=1),
        "leftovers of all IDs": Command([eosctl, "transactions", "leftovers", "-b", servers, *output, "--prefix", ""]),
        "churn of all IDs": Command([eosctl, "transactions", "churn", "-b", servers, *output], exit_code=1),
        "confluent-kafka": Command([sys.executable, "-m", "benchmarks.producer_epochs", "--contender", "-b", servers]),
    }


def name_of(number: int) -> str:
    return f"job-{number // 1000}-{number % 1000}"


def records(ids: int, states: Sequence[int]) -> Iterator[tuple[int, bytes, bytes]]:
    """Partition, key and value of each record, the records of an ID one after the other."""
    for number in range(ids):
        name = name_of(number)
        key, partition = encode_transaction_log_key(name), coordinator_partition(name, PARTITIONS)
        for step, state in enumerate(states):
            at, start = BEGAN + number + step, BEGAN + number if state else -1
            fixed = struct.pack(">hqhib", 0, number, 0, 60_000, state)
            places = struct.pack(">i", -1) if state == 0 else struct.pack(">ih6sii", 1, 6, b"orders", 1, number % 12)
            yield partition, key, fixed + places + struct.pack(">qq", at, start)


def fill(servers: str, ids: int, states: Sequence[int]) -> None:
    from confluent_kafka import Producer

    first = Producer({"bootstrap.servers": servers, "transactional.id": "the-topic-is-made"})
    first.init_transactions(60)
    settings = {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000, "client.id": "__admin_client"}
    producer = Producer({"bootstrap.servers": servers, **settings})
    for number, (partition, key, value) in enumerate(records(ids, states)):
        while True:
            try:
                producer.produce(TRANSACTION_LOG, value, key, partition)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    if producer.flush(300):
        raise RuntimeError("not every record was acknowledged")


def await_loaded(servers: str, ids: int) -> None:
    """Until the coordinator lists so many IDs: it answers with none before it begins to read the log."""
    while True:
        with Wire(ClientProperties((servers,)), timeout_s=600) as wire:
            try:
                if len(list_transactional_ids(wire).transactions) >= ids:
                    return
            except EosctlError as error:
                print(error.message)
        time.sleep(5)


def consume(servers: str) -> None:
    """Every record, thrown away."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    places = [TopicPartition(TRANSACTION_LOG, each, OFFSET_BEGINNING) for each in range(PARTITIONS)]
    left = sum(consumer.get_watermark_offsets(each)[1] for each in places)
    consumer.assign(places)
    while left > 0:
        left -= len(consumer.consume(10_000, 1.0))
    consumer.close()


if __name__ == "__main__":
    sys.exit(main())
