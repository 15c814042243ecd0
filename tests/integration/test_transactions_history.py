"""`transactions history` beside real producers that fence each other, outlive their timeout, and are forgotten."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.java import compile_java
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import (
    complete,
    create_topic,
    open_transaction,
    refused_as_fenced,
    transactional_producer,
)
from tests.jvm import jars_of, java_with
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
Row = dict[str, Any]


def epochs(eosctl: Eosctl, servers: str, *ids: str) -> list[Row]:
    """The rows of these IDs, with any findings."""
    ran = eosctl("transactions", "history", *ids, "-b", servers, "-o", "json")
    assert ran.exit_code in {0, 1}, ran.stderr
    return list(json.loads(ran.stdout)["data"]["epochs"])


def ends(rows: list[Row]) -> list[tuple[int, str | None, bool | None, bool]]:
    return [(row["producer_epoch"], row["ended_by"], row["was_open"], row["certain"]) for row in rows]


def now() -> str:
    at = time.time_ns() // 1_000_000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000)) + f".{at % 1000:03d}Z"


@pytest.mark.matrix
def test_a_producer_of_librdkafka_is_fenced_by_the_next(broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl) -> None:
    topic, name = fresh_name("history"), fresh_name("at-work")
    create_topic(broker.bootstrap_servers, topic)
    times = [now()]
    older = open_transaction(broker.bootstrap_servers, name, topic)
    times.append(now())
    newer = open_transaction(broker.bootstrap_servers, name, topic, **{"transaction.timeout.ms": 50_000})
    newer.commit_transaction(30)
    with refused_as_fenced():
        older.commit_transaction(30)
    times.append(now())
    first, second = rows = epochs(eosctl, broker.bootstrap_servers, name)
    assert ends(rows) == [(0, "fenced", True, True), (2, None, None, True)]
    assert times[0] < first["from"] < times[1] < first["to"] < second["from"] < times[2]
    assert (first["by"], second["to"]) == (f"producer {second['producer_id']}/2", None)
    assert [(row["committed"], row["aborted"], row["timeout_ms"]) for row in rows] == [(0, 1, 60_000), (1, 0, 50_000)]


@pytest.mark.matrix
def test_a_producer_that_had_nothing_open_is_fenced_too(broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl) -> None:
    topic, name = fresh_name("history"), fresh_name("idle")
    create_topic(broker.bootstrap_servers, topic)
    complete(broker.bootstrap_servers, name, topic, commit=True)
    complete(broker.bootstrap_servers, name, topic, commit=False)
    transactional_producer(broker.bootstrap_servers, name)
    rows = epochs(eosctl, broker.bootstrap_servers, name)
    assert ends(rows) == [(0, "fenced", False, True), (1, "fenced", False, False), (2, None, None, True)]
    assert [(row["committed"], row["aborted"]) for row in rows] == [(1, 0), (0, 1), (0, 0)]


@pytest.mark.matrix
def test_ids_are_counted_by_their_prefix(broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl) -> None:
    topic, prefix = fresh_name("history"), fresh_name("churning") + "-tx"
    create_topic(broker.bootstrap_servers, topic)
    for number in (1, 2, 2):
        complete(broker.bootstrap_servers, f"{prefix}-{number}", topic, commit=True)
    held = open_transaction(broker.bootstrap_servers, f"{prefix}-3", topic)
    ran = eosctl("transactions", "churn", "--prefix", prefix, "-b", broker.bootstrap_servers, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    data = json.loads(ran.stdout)["data"]
    (row,) = data["prefixes"]
    assert (row["prefix"], row["ids"], row["open"], row["new"], row["idle"]) == (prefix, 3, 1, 3, 0)
    assert (row["expiring"], data["expiration_ms"], data["other_ids"]) == (0, 604_800_000, 0)
    held.abort_transaction(30)


@pytest.mark.matrix
def test_two_applications_with_one_id_are_found_from_the_log_alone(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    """Each starts again when it is fenced; they have other settings, as two applications have."""
    topic, name = fresh_name("history"), fresh_name("shared")
    create_topic(broker.bootstrap_servers, topic)
    applications: list[Producer] = []
    for number in range(4):
        settings = {"transaction.timeout.ms": 60_000 if number % 2 else 30_000}
        applications.append(open_transaction(broker.bootstrap_servers, name, topic, **settings))
    for fenced in applications[:-1]:
        with refused_as_fenced():
            fenced.commit_transaction(30)
    applications[-1].commit_transaction(30)
    ran = eosctl("transactions", "history", name, "-b", broker.bootstrap_servers, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    (found,) = data["findings"]
    assert (ran.exit_code, found["id"], found["severity"], found["subject"]) == (1, "EOS306", "error", name)
    *_, older, newer = data["epochs"]
    assert f"/4 at {older['from']}, then " in found["message"]
    assert f"/6 at {newer['from']}. " in found["message"]
    assert found["evidence"]["timeouts_ms"] == [30_000, 60_000, 30_000, 60_000]


@contextmanager
def java_producers(sandbox: Sandbox, topic: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    jars = jars_of(sandbox)
    classes = compile_java(jars.compiler, Path(__file__).with_name("ProducersOfOneId.java"), jars.classpath)
    command = [*java_with(jars, classes), "ProducersOfOneId", sandbox.bootstrap_servers, topic, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        try:
            assert any(line == "done\n" for line in started.stdout)
            yield started
        finally:
            started.kill()


def check_java(rows: list[Row], prefix: str, *, own_epochs: bool) -> None:
    """The log's record of each scene; own_epochs: with transaction.version 2."""
    scenes: dict[str, list[Row]] = {}
    for row in rows:
        scenes.setdefault(row["transactional_id"].removeprefix(prefix), []).append(row)
    last = (None, None, True)
    later = 2 if own_epochs else 1
    assert ends(scenes["fenced-at-work"]) == [
        (0, "fenced", *((None, False) if own_epochs else (True, True))),
        (2, *last),
    ]
    assert ends(scenes["fenced-idle"]) == [(0, "fenced", False, True), (later, *last)]
    assert ends(scenes["aborts"]) == [(0, *last)]
    assert (scenes["aborts"][0]["committed"], scenes["aborts"][0]["aborted"]) == (1, 1)
    closed = (0, "fenced", None if own_epochs else False, False)
    assert ends(scenes["closes-at-work"]) == [closed, (later, *last)]
    assert ends(scenes["writes-nothing"]) == [(0, "fenced", False, True), (1, "fenced", False, True), (2, *last)]
    assert scenes["fenced-idle"][0]["client_transaction_version"] == (2 if own_epochs else None)


def test_javas_producers_leave_what_their_transaction_version_shows(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    topic, prefix = fresh_name("history"), f"{fresh_name('java')}-"
    create_topic(broker.bootstrap_servers, topic)
    with java_producers(broker, topic, prefix):
        ran = eosctl("transactions", "history", "--prefix", prefix, "-b", broker.bootstrap_servers, "-o", "json")
        assert ran.exit_code == 0, ran.stderr
        own_epochs = broker.spec.version >= KafkaVersion(4, 0)
        check_java(json.loads(ran.stdout)["data"]["epochs"], prefix, own_epochs=own_epochs)


@pytest.mark.variation
@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_a_coordinator_ends_what_outlives_its_timeout_and_what_is_idle(
    shared_sandboxes: SharedSandboxes, version: str, eosctl: Eosctl, tmp_path: Path
) -> None:
    """Also from the segments of the log, without a broker."""
    settings = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
        "transactional.id.expiration.ms": "9000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    }
    sandbox = shared_sandboxes.of(spec_of(version, workers=0, broker_config=settings))
    create_topic(sandbox.bootstrap_servers, "t")
    newest = version == "4.3.1"

    def ended(name: str, ended_by: str) -> Row:
        """The row of an ID with one known producer, once it has ended so."""

        def seen() -> list[Row]:
            rows = epochs(eosctl, sandbox.bootstrap_servers, name)
            return [row for row in rows if row["ended_by"] == ended_by]

        (row,) = eventually(seen)
        return row

    with java_producers(sandbox, "t", "java-", "wait") as started:
        check_java(epochs(eosctl, sandbox.bootstrap_servers, "--prefix", "java-"), "java-", own_epochs=newest)
        row = ended("java-timed-out", "timed-out")
        assert (row["was_open"], row["certain"]) == (True, not newest)
        assert ("aborted its transaction itself" in row["by"]) is newest
        started.communicate("\n", timeout=60)
        assert started.returncode == 0
    held = open_transaction(sandbox.bootstrap_servers, "rd", "t", **{"transaction.timeout.ms": 1000})
    row = ended("rd", "timed-out")
    assert (row["by"], row["certain"], row["last_epoch"]) == ("its coordinator, after 1000 ms", True, 0)
    with refused_as_fenced():
        held.commit_transaction(30)
    row = ended("java-aborts", "expired")
    assert (row["was_open"], row["certain"], row["committed"]) == (False, True, 1)
    files = sandbox.directory.glob("broker-1/**/__transaction_state-*/*.log")
    words = [word for path in files for word in ("--segment", str(path))]
    saved = eosctl("transactions", "history", "java-aborts", "rd", *words, "-o", "json")
    live = epochs(eosctl, sandbox.bootstrap_servers, "java-aborts", "rd")
    assert json.loads(saved.stdout)["data"]["epochs"] == live
    assert len(live) == 2
