"""`transactions leftovers`: what gone clients left is committed as its owner decided, and the rest is fenced."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.committed import committed_reader, committed_values
from tests.integration.coordinators import coordinator_of, state_of, wire_to
from tests.integration.gone_clients import NONE, GoneClient
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]


@pytest.fixture(scope="module")
def wire(broker: Sandbox) -> Iterator[Wire]:
    with wire_to(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
def topic(broker: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("left")
    create_topic(broker.bootstrap_servers, name)
    return name


@pytest.fixture
def leftovers(broker: Sandbox, eosctl: Eosctl) -> Callable[..., Ran]:
    command = ("transactions", "leftovers", "-b", broker.bootstrap_servers, "-o", "json")
    return lambda *more: eosctl(*command, *map(str, more))


def rows(ran: Ran) -> list[dict[str, Any]]:
    assert ran.exit_code in {0, 1}, ran.stderr
    return list(json.loads(ran.stdout)["data"]["leftovers"])


def kept(client: GoneClient) -> str:
    """Producer ID and epoch, as the owner's state has them."""
    return f"{client.producer.producer_id} {client.producer.producer_epoch}"


def job(wire: Wire, broker: Sandbox, topic: str, prefix: str) -> list[GoneClient]:
    """Three writers as of a sink of Flink, with the transactions that a job leaves: two of the last checkpoint that
    are to be committed, one of the next, and an older one that a restart passed by."""
    version = 2 if broker.spec.version >= KafkaVersion(4, 0) else 1
    older = GoneClient(wire, f"{prefix}0-1", version)
    older.write(TopicPartition(topic, 0), b"older")
    committed = GoneClient(wire, f"{prefix}0-2", version)
    committed.write(TopicPartition(topic, 0), b"committed")
    assert committed.end(commit=True) == NONE
    decided = [GoneClient(wire, f"{prefix}{number}-3", version) for number in (0, 1)]
    for each in decided:
        each.write(TopicPartition(topic, 0), each.transactional_id.encode())
    following = GoneClient(wire, f"{prefix}1-4", version)
    following.write(TopicPartition(topic, 0), b"following")
    return [older, *decided, following, committed]


def test_a_list_is_committed_and_the_rest_is_fenced(
    broker: Sandbox, wire: Wire, leftovers: Callable[..., Ran], fresh_name: FreshName, topic: str, tmp_path: Path
) -> None:
    prefix = f"{fresh_name('sink')}-"
    older, first, second, following, committed = job(wire, broker, topic, prefix)
    all_of_them = leftovers("--prefix", "", "--fence-rest", "--yes")
    assert (all_of_them.exit_code, "every ID of the cluster" in all_of_them.stderr) == (2, True), all_of_them.stderr
    found = rows(leftovers("--prefix", prefix))
    assert [(row["transactional_id"], row["kind"], row["later_commit"]) for row in found] == [
        (older.transactional_id, "open", committed.transactional_id),
        (first.transactional_id, "open", None),
        (second.transactional_id, "open", None),
        (following.transactional_id, "open", None),
    ]
    assert [(row["producer_id"], row["producer_epoch"]) for row in found] == [
        (each.producer.producer_id, each.producer.producer_epoch) for each in (older, first, second, following)
    ]
    listed = tmp_path / "checkpoint.txt"
    listed.write_text("".join(f"{each.transactional_id} {kept(each)}\n" for each in (first, second)))
    ran = leftovers("--prefix", prefix, "--commit-listed", listed, "--fence-rest", "--watch-client", "0.1", "--yes")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    results = json.loads(ran.stdout)["data"]["results"]
    assert [(each["kind"], each["outcome"]) for each in results] == [
        *[("commit-transaction", "done")] * 2,
        *[("fence-transaction", "done")] * 2,
    ]
    reader = committed_reader(broker.bootstrap_servers, topic)
    last = GoneClient(wire, fresh_name("last"))
    last.write(TopicPartition(topic, 0), b"last")
    assert last.end(commit=True) == NONE
    names = [each.transactional_id.encode() for each in (first, second)]
    assert committed_values(reader, until=b"last") == [b"committed", *names, b"last"]
    reader.close()
    for each in (older, following):
        assert each.end(commit=True) != NONE, "the fenced client is refused"
    assert rows(leftovers("--prefix", prefix)) == []
    again = leftovers("--prefix", prefix, "--commit-listed", listed, "--fence-rest", "--watch-client", "0", "--yes")
    assert again.exit_code == 8
    assert "committed already" in again.stdout + again.stderr


def test_one_that_cannot_be_committed_or_is_at_work_refuses_all(
    broker: Sandbox, wire: Wire, leftovers: Callable[..., Ran], eosctl: Eosctl, fresh_name: FreshName, topic: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    prefix = f"{fresh_name('sink')}-x"  # not the shape of an ID of Flink
    open_one, gone = GoneClient(wire, f"{prefix}0"), GoneClient(wire, f"{prefix}1")
    open_one.write(TopicPartition(topic, 0), b"open")
    gone.write(TopicPartition(topic, 0), b"aborted")
    held = kept(gone)
    assert gone.end(commit=False) == NONE
    listed, plan = tmp_path / "listed", tmp_path / "plan.json"
    listed.write_text(f"{gone.transactional_id} {held}\n")
    ran = leftovers("--prefix", prefix, "--commit-listed", listed, "--fence-rest", "--watch-client", "0", "--yes")
    assert (ran.exit_code, "aborted and cannot be committed" in ran.stderr) == (8, True), ran.stderr
    assert state_of(broker.bootstrap_servers, open_one.transactional_id) == "Ongoing"
    planned = leftovers("--prefix", prefix, "--fence-rest", "--watch-client", "0", "--plan-file", plan)
    assert planned.exit_code == 0, planned.stderr
    open_one.write(TopicPartition(topic, 0), b"more")
    stale = eosctl("apply", plan, "-b", broker.bootstrap_servers, "--yes")
    assert stale.exit_code == 8, stale.stderr
    assert "still runs" in stale.stdout + stale.stderr
    assert state_of(broker.bootstrap_servers, open_one.transactional_id) == "Ongoing"


# Decided transactions whose markers do not arrive.


UNREACHED = "PLAINTEXT://127.0.0.1:1"
"""What a broker advertises to the others, where none of them listens."""


@pytest.mark.variation
def test_a_prepared_transaction_names_the_leader_that_has_no_marker_and_why(
    kafka_version: str, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    settings = {"transaction.state.log.replication.factor": "1", "super.users": "User:ANONYMOUS;User:admin"}
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=settings)) as brokers:
        servers, identity = brokers.bootstrap_servers, tmp_path / "admin.properties"
        identity.write_text(brokers.client_properties("admin"))
        near, other = brokers.sasl_bootstrap_servers.split(",")
        admin = AdminClient({"bootstrap.servers": servers})
        make_topic(admin, NewTopic("short", 1, replica_assignment=[[1, 2]], config={"min.insync.replicas": "2"}))
        make_topic(admin, NewTopic("far", 1, replica_assignment=[[2]]))
        clients: dict[str, GoneClient] = {}
        with wire_to(servers) as wire:
            for topic in ("short", "far"):
                names = iter(lambda: fresh_name("marker"), "")
                clients[topic] = GoneClient(wire, next(each for each in names if coordinator_of(servers, each) == 1))
                clients[topic].write(TopicPartition(topic, 0), b"x")

        def decide(topic: str) -> None:
            with wire_to(servers.split(",")[0]) as wire:
                clients[topic].wire = wire
                assert clients[topic].end(commit=True) == NONE

        def marker_of(topic: str) -> tuple[int, str]:
            prefix = clients[topic].transactional_id

            def missing() -> list[dict[str, Any]]:
                here = ("-b", near, "--command-config", identity, "--prefix", prefix, "-o", "json")
                data = json.loads(eosctl("transactions", "leftovers", *here).stdout)["data"]
                return [each for row in data["leftovers"] for each in row["missing_markers"]]

            (marker,) = eventually(missing, "a minute", deadline_s=150, every_s=5)
            return marker["broker"], marker["why"]

        brokers.stop_broker(2)
        decide("short")
        assert marker_of("short") == (
            1,
            "its leader answers and refuses the marker while too few replicas are in sync: min.insync.replicas is 2, "
            "the replication factor 2, and a partition has 1 in sync; start the brokers of its replicas",
        )
        brokers.start_broker(2, {"advertised.listeners": f"{UNREACHED},SASL_PLAINTEXT://{other}"})
        decide("far")
        broker, why = marker_of("far")
        assert (broker, "broker 1, the coordinator, does not reach its inter-broker listener" in why) == (2, True)
