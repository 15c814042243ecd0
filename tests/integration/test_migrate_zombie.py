"""A worker that was frozen before the migration and wakes up after it: its task writes to no topic any more."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.errors import Refused
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record, RecordState
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import topic_facts
from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors, values_in, wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.variation]

NAME = "haunted"


@pytest.fixture
def two_workers() -> Iterator[Sandbox]:
    """One broker and two workers of one group, quick to notice that one is gone."""
    settings = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000", "rebalance.timeout.ms": "10000"}
    with Sandbox(SandboxSpec(workers=2, worker_config=settings)) as sandbox:
        yield sandbox


def worker_of_task(sandbox: Sandbox) -> int:
    """The number of the worker that runs the connector's one task."""
    with RestClient(sandbox.connect_url(1), 30) as rest:
        body = rest.get(f"/connectors/{NAME}/status")
    assert isinstance(body, dict)
    [task] = body["tasks"]
    port = int(task["worker_id"].rpartition(":")[2])
    return next(number for number in (1, 2) if urlsplit(sandbox.connect_url(number)).port == port)


def output(sandbox: Sandbox) -> list[Record]:
    """All records of the output topic, committed or not."""
    with Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
        return list(read_log(wire, TopicPartition(NAME, 0)))


def committed_by(sandbox: Sandbox, zombie: Record, topic: str) -> list[Record]:
    """The records that the zombie's producer, in its epoch, committed to an offsets topic."""
    with Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
        facts = topic_facts(wire, [topic])[topic]
        assert facts is not None
        logs = [read_log(wire, TopicPartition(topic, number)) for number in range(facts.partitions)]
        records = [record for log in logs for record in log]
    assert records != []
    return [each for each in records if each.producer == zombie.producer and each.state is RecordState.COMMITTED]


def grow(connectors: FileConnectors, first: int, last: int) -> None:
    with connectors.file(NAME).open("a") as file:
        file.writelines(f"line {number}\n" for number in range(first, last))


def is_gone(url: str) -> bool:
    """Whether workers have forgotten its status, which they do once its tasks have ended."""
    with RestClient(url, 60) as rest, suppress(Refused):
        rest.get(f"/connectors/{NAME}/status")
        return False
    return True


def test_a_worker_that_wakes_up_after_the_migration(
    two_workers: Sandbox, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    servers = two_workers.bootstrap_servers
    connectors = FileConnectors(two_workers.connect_url(1), servers, tmp_path)
    grow(connectors, 0, 100)
    connectors.create(NAME)
    connectors.await_last(NAME, "line 99")
    # Made again, for a task of the former config may be running yet when Connect says RUNNING, and commit.
    connectors.delete(NAME)
    wait_for(lambda: is_gone(connectors.url), bool, "its tasks to end")
    connectors.create(NAME, {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "3600000"})
    connectors.await_running(NAME)
    grow(connectors, 100, 150)
    zombies = wait_for(
        lambda: [record for record in output(two_workers) if record.state is RecordState.OPEN],
        lambda found: len(found) == 50,
        "an open transaction of the task",
    )
    frozen = worker_of_task(two_workers)
    two_workers.pause_worker(frozen)
    alive = two_workers.connect_url(3 - frozen)
    connectors.url = alive
    try:
        wait_for(lambda: of_another(alive, two_workers, frozen), bool, "the task at the other worker")
        ran = eosctl(
            "migrate-offsets", "-b", servers, "--group-id", "connect-cluster", "--connector", NAME, "--to-topic",
            f"{NAME}-own", "--connect-url", alive, "--stop", "--set-config", "--resume", "--yes", "--timeout", "60",
        )  # fmt: skip
        assert ran.exit_code == 0, ran.stderr
    finally:
        two_workers.resume_worker(frozen)
    wait_for(lambda: log_says(two_workers, frozen), bool, "the woken worker to give up its task")
    connectors.create(NAME, {"offsets.storage.topic": f"{NAME}-own"})
    grow(connectors, 150, 200)
    connectors.await_last(NAME, "line 199")
    assert values_in(servers, NAME) == [f"line {number}".encode() for number in range(200)]
    states = {record.offset: record.state for record in output(two_workers)}
    assert {states[record.offset] for record in zombies} == {RecordState.ABORTED}
    assert committed_by(two_workers, zombies[0], "connect-offsets") == []
    assert committed_by(two_workers, zombies[0], f"{NAME}-own") == []


def of_another(url: str, sandbox: Sandbox, frozen: int) -> bool:
    """True if the task runs at a worker that is not frozen."""
    with RestClient(url, 60) as rest:
        body = rest.get(f"/connectors/{NAME}/status")
    assert isinstance(body, dict)
    port = str(urlsplit(sandbox.connect_url(frozen)).port)
    return [(task["state"], task["worker_id"].endswith(port)) for task in body["tasks"]] == [("RUNNING", False)]


def log_says(sandbox: Sandbox, number: int) -> bool:
    """True if the worker noticed that its producer was fenced, or dropped the task before it could write."""
    text = sandbox.worker_log(number).read_text()
    return any(
        sign in text for sign in ("ProducerFencedException", "InvalidProducerEpochException", "has been cancelled")
    )
