"""A Kafka Streams application with exactly_once_v2 that is killed twice: its IDs, its leftovers, its true lag."""

import json
import subprocess
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from eosctl.sandbox.jars import resolve_plugin
from eosctl.sandbox.java import compile_java
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.jvm import jars_of, java_with
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
STREAMS = "org.apache.kafka:kafka-streams:{}"


@contextmanager
def application(
    sandbox: Sandbox, name: str, source: str, sink: str, state: Path, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The application; it is killed at the end."""
    jars = jars_of(sandbox)
    streams = resolve_plugin(STREAMS.format(sandbox.kafka_version), lambda _: None)
    classpath = f"{jars.classpath}:{streams}/*"
    classes = compile_java(jars.compiler, Path(__file__).with_name("WordCount.java"), classpath)
    command = java_with(jars, classes, Path(f"{streams}/*"))
    arguments = [sandbox.bootstrap_servers, name, source, sink, str(state), *more]
    with subprocess.Popen([*command, "WordCount", *arguments], stderr=subprocess.DEVNULL) as started:
        try:
            yield started
        finally:
            started.kill()


class Site:
    """Two partitions that an application reads, one for each of its threads, and what eosctl says of it."""

    def __init__(self, sandbox: Sandbox, fresh_name: FreshName, eosctl: Eosctl, state: Path) -> None:
        self.servers, self.name = sandbox.bootstrap_servers, fresh_name("streams")
        self.source, self.sink = fresh_name("words"), fresh_name("counts")
        self.sandbox, self.eosctl, self.state = sandbox, eosctl, state
        create_topic(self.servers, self.source, 2)
        create_topic(self.servers, self.sink, 2)
        self.feeder = Producer({"bootstrap.servers": self.servers})

    def run(self, *more: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return application(self.sandbox, self.name, self.source, self.sink, self.state, *more)

    def feed(self) -> None:
        for partition in range(2):
            self.feeder.produce(self.source, b"word", b"key", partition=partition)
        assert self.feeder.flush(30) == 0

    def asked(self, command: str, *more: str) -> dict[str, Any]:
        ran = self.eosctl("transactions", command, *more, "-b", self.servers, "-o", "json")
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    def epochs(self) -> list[dict[str, Any]]:
        return list(self.asked("history", "--prefix", f"{self.name}-")["epochs"])

    def open_ones(self) -> dict[str, dict[str, Any]]:
        found = self.asked("leftovers", "--prefix", f"{self.name}-")["leftovers"]
        return {row["transactional_id"]: row for row in found}

    def at_work(self, besides: Collection[tuple[str, int]] = ()) -> dict[str, dict[str, Any]]:
        """The open transactions of both threads, without these producers, once both have one."""

        def seen() -> dict[str, dict[str, Any]]:
            self.feed()
            rows = self.open_ones().items()
            found = {name: row for name, row in rows if (name, row["producer_epoch"]) not in besides}
            return found if len(found) == 2 else {}

        return eventually(seen, deadline_s=120, every_s=0.2)


def owners_of(site: Site, rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The messages of each thread, without the common beginning."""
    beginning = f"unknown, shape of Streams application {site.name} (consumer group, Stable), "
    assert all(row["owner"].startswith(beginning) for row in rows.values()), rows
    return {name: row["owner"].removeprefix(beginning) for name, row in rows.items()}


def read_committed(servers: str, places: list[TopicPartition]) -> int:
    """The number of records that a read_committed consumer gets from these offsets to the end."""
    reader = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "counts",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    reader.assign(places)
    count, left = 0, len(places)
    while left:
        message = reader.poll(30)
        assert message is not None
        left -= message.error() is not None
        count += message.error() is None
    reader.close()
    return count


@pytest.mark.parametrize("more", [(), ("counts", "billing")])
def test_a_killed_application_leaves_what_its_next_start_shows(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Without a store each start has new IDs, and the old ones wait for their timeout; with one, it fences its own."""
    site = Site(broker, fresh_name, eosctl, tmp_path)
    seen: list[dict[str, dict[str, Any]]] = []
    for start in (1, 2):
        with site.run(*more):
            found = site.at_work([(name, row["producer_epoch"]) for each in seen for name, row in each.items()])
            said = owners_of(site, found)
            reads = set()
            for name, words in said.items():
                thread = name.rpartition("-")[2]
                assert words.startswith(f"thread {thread} at 127.0.0.1, reads {site.source}-")
                reads.add(words.rpartition("-")[2])
            assert reads == {"0", "1"}, start
            held = site.asked("lso", site.sink)["partitions"]
            others = {each["owner"] for row in held for each in row["holders"]} - {
                each["owner"] for each in found.values()
            }
            # Threads that were killed hold the partitions back until their timeout.
            assert all(each.endswith(", not in the group now") for each in others), others
            seen.append(found)
    first, second = seen
    assert (first.keys() == second.keys()) is bool(more)
    eventually(lambda: not site.open_ones(), deadline_s=60)
    ended = {}
    for row in site.epochs():
        ended.setdefault(row["transactional_id"], []).append(row["ended_by"])
    assert ended == {name: ["fenced", "timed-out"] if more else ["timed-out"] for name in first | second}
    rows = site.asked("history", "--prefix", f"{site.name}-")["epochs"]
    assert all("not in the group" in row["owner"] or "(consumer group, Empty)" in row["owner"] for row in rows)


def test_the_lag_of_an_application_is_what_a_consumer_reads(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path
) -> None:
    site = Site(broker, fresh_name, eosctl, tmp_path)
    with site.run():
        site.at_work()
        eventually(lambda: any(row["committed"] for row in site.epochs()), deadline_s=120)
    site.feed()
    rows = site.asked("lso", "--group", site.name)["partitions"]
    assert [row["lag_records"]["readable"] for row in rows] == [row["lag"] for row in rows], "no transactions in it"
    places = [TopicPartition(site.source, row["partition"], row["committed_offset"]) for row in rows]
    assert sum(row["lag"] for row in rows) == read_committed(site.servers, places) > 0


def test_the_threads_of_a_streams_group_are_told_and_its_lag_is_what_a_consumer_reads(
    sandbox: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path
) -> None:
    """group.protocol=streams (KIP-1071): DescribeGroups answers as if the group did not exist."""
    site = Site(sandbox, fresh_name, eosctl, tmp_path)
    with site.run("", "", "streams"):
        found = site.at_work()
        reads = set()
        for name, row in found.items():
            thread = name.rpartition("-")[2]
            owner = f"unknown, shape of Streams application {site.name} (streams group, Stable), thread {thread}"
            assert row["owner"].startswith(f"{owner} at 127.0.0.1, reads {site.source}-"), row["owner"]
            reads.add(row["owner"].rpartition("-")[2])
        assert reads == {"0", "1"}
        eventually(lambda: any(row["committed"] for row in site.epochs()), deadline_s=120)
    site.feed()
    rows = site.asked("lso", "--group", site.name)["partitions"]
    places = [TopicPartition(site.source, row["partition"], row["committed_offset"]) for row in rows]
    assert sum(row["lag"] for row in rows) == read_committed(site.servers, places) > 0
