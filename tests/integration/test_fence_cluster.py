"""`eosctl fence` on three brokers: many IDs, and coordinators that move or go while it runs."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.messages import find_group_coordinators
from eosctl.clients.wire import Wire
from eosctl.executors.fencing import FencingRun, StepProgress
from eosctl.model.fencing import FencingOutcome
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.versions import KafkaVersion
from eosctl.sources.kafka_groups import hidden_groups, without_coordinator
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import leaderless
from eosctl.sources.listed_transactions import list_transactional_ids
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, describe, state_of, wire_to
from tests.integration.producers import open_transaction, transactional_producer
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
IDS = 10_000
MOVING_IDS = 2_000
"""Enough to be at it still when a tenth is done."""


class ManyIds:
    """A file of IDs that coordinators know, and what fencing them gives."""

    def __init__(self, servers: str, eosctl: Eosctl, names: list[str], file: Path) -> None:
        self.servers, self.eosctl, self.names, self.file = servers, eosctl, names, file
        file.write_text("".join(f"{name}\n" for name in names))

    def fence(self, *flags: str) -> Ran:
        return self.eosctl("fence", "-b", self.servers, "--ids-file", self.file, "--yes", "-o", "json", *flags)

    def check(self, ran: Ran) -> None:
        """Every ID is fenced, is listed once, and is at its coordinator what the result says."""
        assert ran.exit_code == 0, ran.stderr
        results = json.loads(ran.stdout)["data"]["results"]
        assert [each["transactional_id"] for each in results] == self.names
        assert {each["outcome"] for each in results} == {"fenced"}
        now = describe(self.servers, self.names)
        wrong = [each for each in results if not _agrees(each, now[each["transactional_id"]])]
        assert wrong == []


def _agrees(result: dict[str, Any], description: Any) -> bool:
    after = result["after"]
    return bool(
        (description.producer.producer_id, description.producer.producer_epoch)
        == (after["producer_id"], after["producer_epoch"])
    )


@pytest.fixture
def many_ids(three_brokers: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path) -> Callable[[int], ManyIds]:
    def make(count: int) -> ManyIds:
        prefix = fresh_name("many")
        names = [f"{prefix}-{number}" for number in range(count)]
        return ManyIds(three_brokers.bootstrap_servers, eosctl, names, tmp_path / "ids.txt")

    return make


@pytest.fixture
def all_back(three_brokers: Sandbox) -> Iterator[None]:
    """Starts at the end what the test took down."""
    yield
    for node in (1, 2, 3):
        if three_brokers.broker_pid(node) is None:
            three_brokers.start_broker(node)


@pytest.mark.matrix
@pytest.mark.variation
def test_ten_thousand_ids_of_three_coordinators_are_fenced(many_ids: Callable[[int], ManyIds]) -> None:
    ids = many_ids(IDS)
    ids.check(ids.fence("--create-missing"))
    ids.check(ids.fence())
    description = describe(ids.servers, ids.names).values()
    assert {each.coordinator for each in description if each is not None} == {1, 2, 3}


@pytest.mark.matrix
@pytest.mark.variation
@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.usefixtures("all_back")
def test_ids_are_fenced_although_their_coordinator_moves_meanwhile(
    how: str, three_brokers: Sandbox, many_ids: Callable[[int], ManyIds], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = many_ids(MOVING_IDS)
    assert ids.fence("--create-missing").exit_code == 0
    node = coordinator_of(ids.servers, ids.names[0])
    under_way = _event_after(MOVING_IDS // 10, monkeypatch)
    with ThreadPoolExecutor(1) as other:
        fencing = other.submit(ids.fence, "--timeout", "120")
        assert under_way.wait(60)
        three_brokers.kill_broker(node) if how == "killed" else three_brokers.stop_broker(node)
        assert not fencing.done()
        three_brokers.start_broker(node)
        ran = fencing.result()
    ids.check(ran)


@pytest.mark.matrix
@pytest.mark.usefixtures("all_back")
def test_ids_of_a_broker_that_is_down_are_fenced_by_the_one_that_takes_over(
    three_brokers: Sandbox, many_ids: Callable[[int], ManyIds]
) -> None:
    ids = many_ids(90)
    assert ids.fence("--create-missing").exit_code == 0
    node = coordinator_of(ids.servers, ids.names[0])
    lost = [
        name
        for name, description in describe(ids.servers, ids.names).items()
        if description and description.coordinator == node
    ]
    three_brokers.kill_broker(node)
    ran = ids.fence("--timeout", "120")
    ids.check(ran)
    now = describe(ids.servers, lost)
    assert all(description is not None and description.coordinator != node for description in now.values())


def _event_after(results: int, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when that many IDs have their result."""
    event, end = threading.Event(), StepProgress.end
    left = iter(range(results, -1, -1))

    def counted(progress: StepProgress, *description: Any) -> Any:
        if next(left, 0) == 0:
            event.set()
        return end(progress, *description)

    monkeypatch.setattr(StepProgress, "end", counted)
    return event


# `eosctl fence` on a transaction whose partition has no leader: 4.3 forgets that partition's marker, others wait.


FORGETS = KafkaVersion(4, 3, 0)
"""From here on a coordinator takes a partition without leader for one that was deleted."""

PLACE = TopicPartition("on-broker-2", 0)
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture
def two_brokers(kafka_version: str) -> Iterator[Sandbox]:
    """Two brokers and a topic that only the second one holds."""
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=SETTINGS)) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        admin.create_topics([NewTopic(PLACE.topic, 1, replica_assignment=[[2]])])[PLACE.topic].result(30)
        yield started


@pytest.mark.matrix
def test_a_partition_without_leader_is_an_objection_and_force_shows_why(
    two_brokers: Sandbox, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    servers = two_brokers.bootstrap_servers.split(",")[0]
    name = next(each for each in iter(lambda: fresh_name("lost"), "") if coordinator_of(servers, each) == 1)
    producer = open_transaction(servers, name, PLACE.topic)
    with wire_to(servers) as wire:
        eventually(lambda: _has_coordinator(wire, "any"), "__consumer_offsets")
        assert without_coordinator(wire) is None
    two_brokers.kill_broker(2)
    eventually(lambda: _is_leaderless(servers), "the end of broker 2's session")
    with wire_to(servers) as wire:
        unlisted = without_coordinator(wire)
        assert unlisted is not None, "half of the six partitions of __consumer_offsets"
        assert "and 2 more have no coordinator" in unlisted.reason
        assert hidden_groups(wire)() == unlisted, "no list of groups is whole now"
    command = ("fence", "-b", servers, "--transactional-id", name, "--yes", "-o", "json", "--timeout", "5")

    refused = eosctl(*command)
    assert refused.exit_code == 8, refused.stdout
    assert f"no leader: {PLACE}" in refused.stderr
    assert state_of(servers, name) == "Ongoing"

    forced = eosctl(*command, "--force")
    waits = two_brokers.spec.version < FORGETS
    assert forced.exit_code == (4 if waits else 0), forced.stderr
    assert state_of(servers, name) == ("PrepareAbort" if waits else "Empty")
    if waits:
        assert f"waits for the leaders of {PLACE}" in forced.stderr
    else:
        assert json.loads(forced.stdout)["data"]["results"][0]["outcome"] == "fenced"

    two_brokers.start_broker(2)
    expected = RecordState.ABORTED if waits else RecordState.OPEN
    eventually(lambda: _state_of_the_record(servers) is expected, f"the record {expected}")
    del producer


def _is_leaderless(servers: str) -> bool:
    with wire_to(servers) as wire:
        return leaderless(wire, [PLACE]) == {PLACE}


def _state_of_the_record(servers: str) -> RecordState:
    with wire_to(servers) as wire:
        (record,) = read_log(wire, PLACE, isolation=IsolationLevel.READ_UNCOMMITTED)
        return record.state


def _has_coordinator(wire: Wire, group_id: str) -> bool:
    """A look-up creates `__consumer_offsets`."""
    [coordinator] = wire.request_any(find_group_coordinators([group_id])).coordinators
    return not coordinator.error_code


# `eosctl fence` towards brokers that are not there, or that are and do not answer.


FLAGS = ("--transactional-id", "x", "--create-missing", "--yes", "-o", "json")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a listener that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_closed_port_is_reported_at_once(eosctl: Eosctl, closed: str) -> None:
    began = time.monotonic()
    ran = eosctl("fence", "-b", closed, *FLAGS, "--timeout", "60")
    assert ran.exit_code == 4
    assert closed in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == 4
    assert time.monotonic() - began < 20, "well within --timeout"


def test_a_silent_listener_is_given_up_within_the_timeout(eosctl: Eosctl, silent: str) -> None:
    began = time.monotonic()
    ran = eosctl("fence", "-b", silent, *FLAGS, "--timeout", "8")
    assert ran.exit_code == 4
    assert silent in ran.stderr
    assert "did not answer" in ran.stderr
    assert 6 < time.monotonic() - began < 16, "the time is not spent twice"


def test_one_live_bootstrap_server_is_enough(
    sandbox: Sandbox, eosctl: Eosctl, closed: str, silent: str, fresh_name: FreshName
) -> None:
    name = fresh_name("alive")
    servers = ",".join([closed, silent, sandbox.bootstrap_servers])
    flags = ("--create-missing", "--yes", "-o", "json", "--timeout", "6")
    ran = eosctl("fence", "-b", servers, "--transactional-id", name, *flags)
    assert ran.exit_code == 0, ran.stderr


def test_a_broker_that_freezes_before_the_requests_leaves_its_ids_failed_within_the_timeout(
    make_sandbox: Callable[..., Sandbox], eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    servers = sandbox.bootstrap_servers
    names = [f"frozen-{number}" for number in range(5)]
    for name in names:
        transactional_producer(servers, name)
    run = FencingRun.run

    def frozen(fencing: FencingRun) -> FencingOutcome:
        sandbox.pause_broker(1)
        return run(fencing)

    monkeypatch.setattr(FencingRun, "run", frozen)
    began = time.monotonic()
    try:
        ran = eosctl("fence", "-b", servers, "--prefix", "frozen-", "--yes", "-o", "json", "--timeout", "8")
    finally:
        sandbox.resume_broker(1)
    assert ran.exit_code == 4, ran.stderr
    results = json.loads(ran.stdout)["data"]["results"]
    assert [(each["transactional_id"], each["outcome"]) for each in results] == [(name, "failed") for name in names]
    assert all("whether it was fenced is not known" in each["error"] for each in results)
    assert time.monotonic() - began < 24, "fencing, and what is asked after it, have a --timeout each"


def test_a_broker_that_freezes_during_the_question_leaves_every_id_unfenced_and_is_reported(
    make_sandbox: Callable[..., Sandbox], eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    servers = sandbox.bootstrap_servers
    producer = transactional_producer(servers, "frozen")
    ask = Wire.ask_cluster_id

    def frozen(wire: Wire) -> str:
        sandbox.pause_broker(1)
        return ask(wire)

    monkeypatch.setattr(Wire, "ask_cluster_id", frozen)
    try:
        ran = eosctl("fence", "-b", servers, "--transactional-id", "frozen", "--yes", "-o", "json", "--timeout", "3")
    finally:
        sandbox.resume_broker(1)
    assert ran.exit_code == 4, ran.stderr
    assert "nothing was fenced" in json.loads(ran.stdout)["error"]["hint"]
    producer.begin_transaction()
    producer.commit_transaction(30)
    described = describe(servers, ["frozen"])["frozen"]
    assert described is not None
    assert described.producer.producer_epoch == 0


# Ctrl-C while `eosctl fence` runs: the result of each ID agrees with its coordinator.


INTERRUPTED_IDS = 12_000
COORDINATORS = 500
"""IDs enough for each partition of the transaction log to have one: its coordinator is there when they are fenced."""


def fence(sandbox: Sandbox, directory: Path, names: list[str]) -> subprocess.Popen[str]:
    """`eosctl fence` of these IDs, which need not exist, in progress."""
    file = directory / f"{names[0]}.txt"
    file.write_text("".join(f"{name}\n" for name in names))
    command = [sys.executable, "-m", "eosctl", "fence", "-b", sandbox.bootstrap_servers, "--ids-file", str(file)]
    return subprocess.Popen(
        [*command, "--create-missing", "--yes", "-o", "json", "--timeout", "120"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def interrupted(
    sandbox: Sandbox, fresh_name: FreshName, tmp_path: Path
) -> tuple[list[str], subprocess.Popen[str], str, str]:
    """The IDs, the process that was interrupted after it had created a thousand of them, and its streams."""
    before = fence(sandbox, tmp_path, [f"{fresh_name('before')}-{number}" for number in range(COORDINATORS)])
    _, description = before.communicate(timeout=180)
    assert before.returncode == 0, description
    prefix = fresh_name("cut-short")
    names = [f"{prefix}-{number}" for number in range(INTERRUPTED_IDS)]
    process = fence(sandbox, tmp_path, names)
    with wire_to(sandbox.bootstrap_servers) as wire:

        def a_thousand_are_there() -> bool:
            listed = list_transactional_ids(wire).transactions
            return sum(each.transactional_id.startswith(prefix) for each in listed) >= 1000

        eventually(a_thousand_are_there, "a thousand fenced IDs")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    return names, process, stdout, stderr


def test_ctrl_c_lists_every_id_with_what_became_of_it(
    sandbox: Sandbox, interrupted: tuple[list[str], subprocess.Popen[str], str, str]
) -> None:
    names, process, stdout, stderr = interrupted
    assert process.returncode == 130, stderr
    data = json.loads(stdout)["data"]
    assert data["interrupted"]
    results = data["results"]
    assert [each["transactional_id"] for each in results] == names
    by_outcome: dict[str, list[dict[str, Any]]] = {"fenced": [], "skipped": [], "failed": []}
    for each in results:
        by_outcome[each["outcome"]].append(each)
    fenced, skipped = by_outcome["fenced"], by_outcome["skipped"]
    assert len(fenced) >= 1000
    assert skipped, "it was cut short"
    refused = [each for each in by_outcome["failed"] if "COORDINATOR_LOAD_IN_PROGRESS; not fenced" in each["error"]]
    unknown = [each for each in by_outcome["failed"] if "whether it was fenced is not known" in each["error"]]
    others = [each for each in by_outcome["failed"] if each not in [*refused, *unknown]]
    assert others == []
    assert len(unknown) <= 1, "what was in progress is waited for, but for an answer being read just then"
    assert f"stopped: {len(fenced)} of {INTERRUPTED_IDS} IDs are fenced" in stderr
    assert "Traceback" not in stderr

    now = describe(sandbox.bootstrap_servers, names)
    assert all(now[each["transactional_id"]] is None for each in [*skipped, *refused]), (
        "what is said to be not sent was not"
    )
    for each in fenced:
        description = now[each["transactional_id"]]
        assert description is not None
        after = each["after"]
        assert (description.producer.producer_id, description.producer.producer_epoch) == (
            after["producer_id"],
            after["producer_epoch"],
        )
