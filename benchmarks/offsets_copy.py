"""Copying the offsets of one connector: eosctl's step against a plain confluent-kafka producer loop.

Both write the same keys and values to the partitions that Java's partitioner chooses, in one transaction, under an ID
that is initialised for it. The loop is what one would write by hand: produce() for each record, flush, commit. eosctl's
step does more: it reads the target before and after and compares digests. Records are read from the source beforehand.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from io import StringIO

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import write_result
from eosctl.clients.access import ClusterAccess
from eosctl.clients.librdkafka import PartitionRecord, TransactionalProducer
from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import offsets_now, value_digest
from eosctl.executors.offsets import verify_offsets, write_offsets
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import Side
from eosctl.model.plan import OffsetsWrite, VerifyOffsets, WriteOffsets
from eosctl.model.preconditions import OffsetsNow
from eosctl.model.records import java_partition
from eosctl.operations.plan_facts import ReadSide, read_entries
from eosctl.operations.plan_flow import describe_known
from eosctl.operations.session import Session, gc_paused
from eosctl.render.console import Console, OutputOptions, Stream, Terminal
from eosctl.sandbox.sandbox import Sandbox
from eosctl.shell.options import GlobalOptions

PARTITIONS = 25
TIMEOUT_S = 300.0
Contender = Callable[[str], None]


def main() -> int:
    """Measure, print, write results/offsets_copy.json; 1 where the writing itself takes more CPU than the loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offsets", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with Sandbox(narrate=print) as sandbox, Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
        copy = Copy(wire, sandbox.bootstrap_servers, arguments.offsets)
        contenders = {"plain loop": copy.loop, "eosctl, writing": copy.write, "eosctl, whole step": copy.step}
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for number in range(arguments.runs + 1):
            for name, contender in contenders.items():
                sample = copy.timed(contender, f"{name.replace(', ', '-').replace(' ', '-')}-{number}")
                samples[name] += [sample] if number else []
        version = sandbox.kafka_version
    figures = {
        name: {
            "elapsed_s": round(statistics.median(each[0] for each in taken), 3),
            "cpu_s": round(statistics.median(each[1] for each in taken), 3),
        }
        for name, taken in samples.items()
    }
    loop = figures["plain loop"]
    ratios = {
        name: {key: round(loop[key] / of[key], 2) for key in loop} for name, of in figures.items() if of is not loop
    }
    for name, of in figures.items():
        print(f"{name:20} {of['elapsed_s']:8.3f} s elapsed {of['cpu_s']:8.3f} s CPU  {ratios.get(name, '')}")
    result = {"offsets": arguments.offsets, "figures": figures, "ratios": ratios}
    print(write_result("offsets_copy", result, {"kafka": version}))
    return 0 if ratios["eosctl, writing"]["cpu_s"] >= 1 else 1


class Copy:
    """So many offsets of one connector, and the ways to write them."""

    def __init__(self, wire: Wire, servers: str, count: int) -> None:
        self._wire, self._servers = wire, servers
        console = Console(Terminal(*(Stream(StringIO(), None) for _ in range(3))), OutputOptions())
        self._session = Session(GlobalOptions(console, bootstrap_servers=servers, timeout_s=TIMEOUT_S))
        self._access = ClusterAccess(wire, (), TIMEOUT_S)
        keys = (
            b'["mirror",{"cluster":"A","partition":%d,"topic":"orders-%d"}]' % (n % 64, n // 64) for n in range(count)
        )
        self._records = [(java_partition(key, PARTITIONS), key, b'{"offset":%d}' % n) for n, key in enumerate(keys)]

    def timed(self, contender: Contender, topic: str) -> tuple[float, float]:
        """Seconds of wall time and of this process's CPU; the topic is created before."""
        admin = AdminClient({"bootstrap.servers": self._servers})
        wanted = NewTopic(topic, PARTITIONS, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([wanted])[topic].result(30)
        cpu, start = os.times(), time.perf_counter()
        contender(topic)
        elapsed, spent = time.perf_counter() - start, os.times()
        return elapsed, spent.user + spent.system - cpu.user - cpu.system

    def loop(self, topic: str) -> None:
        """A script written by hand."""
        settings = {"bootstrap.servers": self._servers, "transactional.id": f"id-{topic}"}
        producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
        failures: list[object] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(error)

        producer.init_transactions(30)
        producer.begin_transaction()
        for partition, key, value in self._records:
            producer.produce(topic, value, key, partition=partition, on_delivery=delivered)
            producer.poll(0)
        producer.flush(TIMEOUT_S)
        producer.commit_transaction(TIMEOUT_S)
        if failures:
            raise RuntimeError(f"{len(failures)} records were not delivered")

    def write(self, topic: str) -> None:
        """eosctl's transactional producer alone: the same work as the loop's."""
        with TransactionalProducer(
            self._wire.properties, f"id-{topic}", transaction_timeout_ms=60_000, timeout_s=TIMEOUT_S
        ) as producer:
            producer.initialise()
            producer.begin()
            producer.write(topic, (PartitionRecord(*each) for each in self._records))
            producer.flush(topic)
            producer.commit(topic)

    def step(self, topic: str) -> None:
        """The steps as apply performs them: compare, write, commit, read again, compare."""
        with gc_paused():
            self._step(topic)

    def _step(self, topic: str) -> None:
        before = offsets_now(())
        after = value_digest((key, partition, value) for partition, key, value in self._records)
        records = tuple(OffsetsWrite(partition, key, value, None) for partition, key, value in self._records)
        step = WriteOffsets(
            Side.SOURCE, topic, "mirror", f"id-{topic}", 60_000, records, before.records, before.values, after
        )

        def read(side: Side, name: str, connector: str) -> OffsetsNow:
            return offsets_now(read_entries(self._reading, side, name, connector))

        write_offsets(
            step,
            lambda: None,
            properties=self._wire.properties,
            read_offsets=read,
            is_decided=self._is_decided,
            timeout_s=TIMEOUT_S,
        )
        verify = VerifyOffsets(Side.SOURCE, topic, "mirror", after)
        verify_offsets(verify, lambda: None, access=self._access, read_offsets=read)

    def _reading(self, _: Side) -> ReadSide:
        return ReadSide(self._session.fresh_reader(), None)

    def _is_decided(self, transactional_id: str) -> bool:
        [described] = describe_known(self._access, [transactional_id]).values()
        return not described.state.is_open


if __name__ == "__main__":
    sys.exit(main())
