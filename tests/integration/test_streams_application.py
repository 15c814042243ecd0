"""A Kafka Streams application with exactly_once_v2 that is killed twice: its IDs, its leftovers, its true lag."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

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
def application(sandbox: Sandbox, name: str, source: str, sink: str, state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The application; it is killed at the end."""
    jars = jars_of(sandbox)
    streams = resolve_plugin(STREAMS.format(sandbox.kafka_version), lambda _: None)
    classpath = f"{jars.classpath}:{streams}/*"
    classes = compile_java(jars.compiler, Path(__file__).with_name("WordCount.java"), classpath)
    command = java_with(jars, classes, Path(f"{streams}/*"))
    arguments = [sandbox.bootstrap_servers, name, source, sink, str(state)]
    with subprocess.Popen([*command, "WordCount", *arguments], stderr=subprocess.DEVNULL) as started:
        try:
            yield started
        finally:
            started.kill()


def test_each_start_of_a_killed_application_has_an_id_of_its_own(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path
) -> None:
    servers, name = broker.bootstrap_servers, fresh_name("streams")
    source, sink = fresh_name("words"), fresh_name("counts")
    create_topic(servers, source)
    create_topic(servers, sink)
    feeder = Producer({"bootstrap.servers": servers})

    def asked(command: str, *more: str) -> dict[str, Any]:
        ran = eosctl("transactions", command, *more, "-b", servers, "-o", "json")
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    def ids() -> set[str]:
        return {row["transactional_id"] for row in asked("history", "--prefix", f"{name}-")["epochs"]}

    def open_ones() -> list[dict[str, Any]]:
        return list(asked("leftovers", "--prefix", f"{name}-")["leftovers"])

    for start in (1, 2):
        with application(broker, name, source, sink, tmp_path):

            def at_work() -> bool:
                feeder.produce(source, b"word")
                assert feeder.flush(30) == 0
                return len(ids()) == start and bool(open_ones())  # noqa: B023  # asked within the loop

            eventually(at_work, deadline_s=120, every_s=0.1)
    epochs = asked("history", "--prefix", f"{name}-")["epochs"]
    assert len({row["transactional_id"] for row in epochs}) == 2
    shape = f"unknown, shape of Streams application {name}"
    assert all(row["owner"].startswith(shape) for row in epochs)
    assert all(row["timeout_ms"] == 10_000 for row in epochs)
    eventually(lambda: not open_ones(), deadline_s=60)
    ended = asked("history", "--prefix", f"{name}-")["epochs"]
    assert [row["ended_by"] for row in ended] == ["timed-out", "timed-out"]
    with application(broker, name, source, sink, tmp_path):
        found = eventually(
            lambda: [row for row in asked("history", "--prefix", f"{name}-")["epochs"] if row["committed"]],
            deadline_s=120,
        )
        (group,) = {row["owner"] for row in found}
        assert group == f"{shape} (consumer group, Stable)"
    feeder.produce(source, b"more")
    assert feeder.flush(30) == 0
    (row,) = asked("lso", "--group", name)["partitions"]
    assert sum(row["lag_records"].values()) == row["lag"]
    assert row["lag_records"]["readable"] == row["lag"] > 0, "it reads a topic without transactions"
