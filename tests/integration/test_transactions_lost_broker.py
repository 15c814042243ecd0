"""One broker of three is lost with the partitions of the transaction log that it led: the IDs of others are told."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.sources.kafka_topics import leaderless
from eosctl.sources.kafka_transactions import transaction_log_leaders
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, wire_to
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import open_transaction, transactional_producer
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix, pytest.mark.variation]

Eosctl = Callable[..., Ran]
LOST_BROKER = 3
KEPT, LOST = TopicPartition("on-broker-1", 0), TopicPartition("on-broker-3", 0)
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "6",
    "offsets.topic.replication.factor": "1",
}
TIMEOUT_S = 20
ENDLESS_S = 3600
"""A timeout longer than a test may take: a command that waits it out for what has no leader ends the test."""


@dataclass(frozen=True)
class Half:
    """A cluster that lost a broker, and IDs by who coordinated them: a broker that lives, or the lost one."""

    servers: str
    known: str
    unknown: str
    hung: str
    undecided_producer: int

    def ask(self, eosctl: Eosctl, *arguments: object) -> tuple[Ran, dict[str, Any]]:
        ran = eosctl(*arguments, "-b", self.servers, "--timeout", ENDLESS_S, "-o", "json")
        return ran, dict(json.loads(ran.stdout)["data"])


def _names(servers: str, stem: str) -> tuple[str, str]:
    """A name whose ID a broker coordinates that will live, and one of the broker that will not."""
    coordinator_of(servers, stem)  # makes the transaction log
    with wire_to(servers) as wire:
        leaders = transaction_log_leaders(wire)
    names = [f"{stem}{number}" for number in range(60)]
    lost = {name for name in names if leaders[coordinator_partition(name, len(leaders))] == LOST_BROKER}
    return next(each for each in names if each not in lost), next(each for each in names if each in lost)


@pytest.fixture(scope="module")
def half(kafka_version: str) -> Iterator[Half]:
    settings = SETTINGS | UNVERIFIED
    with Sandbox(spec_of(kafka_version, brokers=3, broker_config=settings)) as started:
        servers = started.bootstrap_servers.split(",")[0]
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        new = [NewTopic(KEPT.topic, 1, replica_assignment=[[1]]), NewTopic(LOST.topic, 1, replica_assignment=[[3]])]
        new.append(NewTopic("connect-configs", 1, replica_assignment=[[1]], config={"cleanup.policy": "compact"}))
        for future in admin.create_topics(new).values():
            future.result(30)
        known, unknown = _names(servers, "open")
        producers = [open_transaction(servers, name, KEPT.topic) for name in (known, unknown)]
        hung, lost_hung = _names(servers, "hung")
        with wire_to(servers) as wire:
            hang(wire, KEPT, hung)
            undecided = hang(wire, KEPT, lost_hung).producer.producer_id
        started.kill_broker(LOST_BROKER)
        with wire_to(servers) as wire:
            eventually(lambda: leaderless(wire, [LOST]) == {LOST}, "the end of the broker's session")
        yield Half(servers, known, unknown, hung, undecided)
        del producers


def test_list_tells_the_ids_of_the_living_and_ends_with_4(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "list")
    names = {row["transactional_id"] for row in data["transactions"]}
    assert {half.known, half.hung} <= names
    assert half.unknown not in names
    assert ran.exit_code == 4
    [reason] = data["missing"]
    assert reason.startswith("__transaction_state-")
    assert reason in ran.stderr


def test_describe_tells_both_in_one_answer(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "describe", half.known, half.unknown)
    known, unknown = data["transactions"]
    assert (known["state"], known["error"]) == ("Ongoing", None)
    assert unknown["state"] is None
    assert "has no leader, so no broker coordinates" in unknown["error"]
    assert ran.exit_code == 4
    assert half.ask(eosctl, "transactions", "describe", half.known)[0].exit_code == 0


def test_hanging_tells_what_hangs_and_what_cannot_be_judged(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "hanging", "--max-transaction-timeout", 0)
    assert [row["transactional_id"] for row in data["transactions"]] == [half.hung]
    assert [row["transactional_id"] for row in data["in_progress"]] == [half.known]
    assert half.undecided_producer in {row["producer_id"] for row in data["undecided"]}
    assert str(LOST) in data["not_searched"]
    assert all("__transaction_state-" in row["reason"] for row in data["undecided"])
    assert ran.exit_code == 1


def test_nothing_is_aborted_that_cannot_be_judged(half: Half, eosctl: Eosctl) -> None:
    abort = ("transactions", "abort", "--topic", KEPT.topic, "--partition", 0, "--yes", "--max-transaction-timeout", 0)
    ran = eosctl(*abort, "-b", half.servers, "--timeout", TIMEOUT_S)
    assert ran.exit_code == 4, ran.stderr
    assert "it is not known whether a transaction hangs" in ran.stderr


def test_producers_of_the_living_partitions_are_told(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "producers", KEPT.topic, LOST.topic)
    holders = {row["transactional_id"] for row in data["producers"]}
    assert {half.known, half.hung, None} == holders
    assert data["not_searched"] == [str(LOST)]
    assert ran.exit_code == 4


def test_last_stable_offsets_of_the_living_partitions_are_told(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "lso")
    [row] = data["partitions"]
    assert (row["topic"], row["state"], row["holders"][0]["transactional_id"]) == (KEPT.topic, "Ongoing", half.known)
    assert str(LOST) in data["not_searched"]
    assert ran.exit_code == 4


def test_the_log_tells_the_ids_of_the_partitions_that_can_be_read(half: Half, eosctl: Eosctl) -> None:
    ran, data = half.ask(eosctl, "transactions", "log")
    assert half.known in {row["transactional_id"] for row in data["transactional_ids"]}
    assert ran.exit_code == 4
    ran, data = half.ask(eosctl, "transactions", "log", half.known)
    assert (ran.exit_code, len(data["transactional_ids"])) == (0, 1)
    ran, data = half.ask(eosctl, "transactions", "log", half.unknown)
    assert (ran.exit_code, data["transactional_ids"]) == (4, [])
    assert "holds no record" not in ran.stderr


def test_a_snapshot_keeps_what_was_known_and_says_what_was_not(half: Half, eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "half.snapshot"
    ran, data = half.ask(eosctl, "snapshot", "save", file)
    seen = {each["section"]: each["seen"] for each in data["sections"]}
    assert "__transaction_state-" in seen["transactions"]
    assert "could not be read" in seen["transaction-log"]

    def saved(*arguments: object) -> tuple[Ran, dict[str, Any]]:
        ran = eosctl("transactions", *arguments, "--snapshot", file, "-o", "json")
        return ran, dict(json.loads(ran.stdout)["data"])

    ran, data = saved("list")
    assert half.known in {row["transactional_id"] for row in data["transactions"]}
    assert ran.exit_code == 4
    ran, data = saved("describe", half.known, half.unknown)
    assert [row["state"] for row in data["transactions"]] == ["Ongoing", None]
    assert ran.exit_code == 4
    ran, data = saved("hanging", "--max-transaction-timeout", 0)
    assert [row["transactional_id"] for row in data["transactions"]] == [half.hung]
    assert half.undecided_producer in {row["producer_id"] for row in data["undecided"]}
    assert ran.exit_code == 1
    assert saved("log", half.known)[0].exit_code == 0
    assert saved("log")[0].exit_code == 4
    assert saved("lso")[0].exit_code == 4
    assert saved("producers", KEPT.topic)[0].exit_code == 3


def test_nothing_is_fenced_by_a_prefix_while_ids_may_be_missing(half: Half, eosctl: Eosctl) -> None:
    """By name those of living brokers can be fenced."""
    fence = ("fence", "-b", half.servers, "--timeout", TIMEOUT_S, "--yes")
    ran = eosctl(*fence, "--prefix", "open")
    assert ran.exit_code == 4, ran.stdout
    assert "transactional IDs are not listed" in ran.stderr
    assert "name the IDs one by one" in ran.stderr
    ran = eosctl(*fence, "--transactional-id", half.known, "--transactional-id", half.unknown)
    assert ran.exit_code == 4, ran.stdout
    assert "has no leader, so no broker coordinates" in ran.stderr
    assert eosctl(*fence, "--transactional-id", half.known, "--dry-run").exit_code == 0


def test_tasks_of_a_connector_are_fenced_by_their_living_coordinators(half: Half, eosctl: Eosctl) -> None:
    group = "g-half"
    with wire_to(half.servers) as wire:
        leaders = transaction_log_leaders(wire)
    names = [f"c{number}" for number in range(60)]
    lives = {name: leaders[coordinator_partition(f"{group}-{name}-0", len(leaders))] >= 0 for name in names}
    kept, lost = next(each for each in names if lives[each]), next(each for each in names if not lives[each])
    write_records(half.servers, kept, lost)
    transactional_producer(half.servers, f"{group}-{kept}-0")
    fence = ("fence", "-b", half.servers, "--group-id", group, "--timeout", TIMEOUT_S, "--yes", "-o", "json")
    ran = eosctl(*fence, "--connector", kept)
    assert ran.exit_code == 0, ran.stderr
    assert [each["outcome"] for each in json.loads(ran.stdout)["data"]["results"]] == ["fenced"]
    assert "leftovers of earlier, larger generations may be missed" in ran.stderr
    ran = eosctl(*fence, "--connector", lost)
    assert ran.exit_code == 4, ran.stdout


def write_records(servers: str, *connectors: str) -> None:
    """The config topic of connectors with one task each."""
    producer = Producer({"bootstrap.servers": servers})
    for name in connectors:
        for key, value in (
            (f"connector-{name}", {"properties": {"connector.class": "X"}}),
            (f"task-{name}-0", {"properties": {}}),
            (f"commit-{name}", {"tasks": 1}),
            (f"tasks-fencing-{name}", {"task-count": 1}),
        ):
            producer.produce("connect-configs", json.dumps(value).encode(), key.encode(), partition=0)
    assert producer.flush(30) == 0
