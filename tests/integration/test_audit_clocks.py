"""Markers of one transaction that several brokers wrote at different times: the transaction log tells what is one."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.leaders import partition_leaders
from eosctl.clients.messages import LATEST, list_offsets, topics_metadata
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.kafka_log import partition_offsets
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.audit_site import Eosctl
from tests.integration.coordinators import coordinator_of, state_of
from tests.integration.written_connect import WrittenConnect
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]

BEFORE_KIP_890 = "3.9.2"
ONE_REPLICA = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}
MINUTE = 60_000


@pytest.fixture(scope="module")
def brokers() -> Iterator[Sandbox]:
    """Three brokers of a version in which an epoch spans many transactions; one may be frozen while another commits."""
    with Sandbox(SandboxSpec(BEFORE_KIP_890, brokers=3, broker_config=ONE_REPLICA)) as sandbox:
        yield sandbox


@pytest.fixture
def connect(brokers: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> WrittenConnect:
    """A connector with its offsets on one broker, the output and the coordinator of its task on others."""
    begin = time.time_ns() // 1_000_000 - 2 * MINUTE
    while True:
        written = WrittenConnect(brokers.bootstrap_servers, eosctl, fresh_name("apart"), begin)
        eventually(lambda written=written: are_everywhere(written), "the topics at all brokers")
        coordinator = coordinator_of(written.servers, written.transactional_id())
        if leader_of(written.servers, written.place) not in {leader_of(written.servers, output(written)), coordinator}:
            written.run()
            return written


def output(connect: WrittenConnect) -> TopicPartition:
    """The topic of all of its records."""
    return TopicPartition(connect.name, 0)


def are_everywhere(connect: WrittenConnect) -> bool:
    """True if every broker knows the leaders of the connector's topics: clients query any of them."""
    with Wire(ClientProperties(tuple(connect.servers.split(",")))) as wire:
        asked = topics_metadata([connect.name, connect.offsets, connect.configs])
        answers = [wire.request(broker.node_id, asked) for broker in wire.brokers()]
    return len(answers) == 3 and all(
        not topic.error_code and all(not each.error_code for each in topic.partitions)
        for answer in answers
        for topic in answer.topics
    )


def leader_of(servers: str, place: TopicPartition) -> int:
    """Node ID of the broker that leads the partition."""
    with Wire(ClientProperties(tuple(servers.split(",")))) as wire:
        return partition_leaders(wire, [place.topic])[place]


def committed_until(servers: str, place: TopicPartition) -> int:
    """The last stable offset."""
    with Wire(ClientProperties(tuple(servers.split(",")))) as wire:
        return partition_offsets(wire, [place])[place].last_stable_offset


def await_complete(connect: WrittenConnect) -> None:
    """Returns when the task's last transaction has all of its markers."""
    eventually(lambda: state_of(connect.servers, connect.transactional_id()) == "CompleteCommit", "its last marker")


def commit_while_frozen(brokers: Sandbox, connect: WrittenConnect, position: int) -> None:
    """A transaction whose marker reaches the offsets long after the output: their broker is frozen meanwhile."""
    assert connect.task is not None
    place = output(connect)
    frozen = leader_of(connect.servers, connect.place)
    connect.task.begin_transaction()
    connect.task.produce(connect.name, b"late", partition=0, timestamp=connect.now)
    connect.put_offset(connect.task, position)
    assert connect.task.flush(30) == 0
    before = committed_until(connect.servers, place)
    brokers.pause_broker(frozen)
    try:
        connect.task.commit_transaction(30)
        eventually(lambda: ended(connect.servers, place, before), "the output's marker")
    finally:
        brokers.resume_broker(frozen)
    eventually(lambda: committed_until(connect.servers, connect.place) > 0, "the broker back")


def ended(servers: str, place: TopicPartition, before: int) -> bool:
    """True if a transaction that was open in the partition has ended; only its leader is queried."""
    with Wire(ClientProperties(tuple(servers.split(","))), timeout_s=5) as wire:
        request = list_offsets([place], LATEST, IsolationLevel.READ_COMMITTED)
        answer = wire.request(leader_of(servers, place), request)
        return int(answer.topics[0].partitions[0].offset) > before


def test_a_transaction_whose_markers_lie_far_apart_is_one(brokers: Sandbox, connect: WrittenConnect):
    for position in (6, 7):
        connect.later(1)
        commit_while_frozen(brokers, connect, position)
    audited = connect.audit()
    assert (audited.data["findings"], audited.verdict, audited.exit_code) == ([], "held", 0)


def test_data_without_offsets_right_before_offsets_without_data_are_two(
    brokers: Sandbox, connect: WrittenConnect, tmp_path: Path
):
    """A user without Read on the transaction log sees that it stays unclear."""
    assert connect.task is not None
    await_complete(connect)
    first = committed_until(connect.servers, output(connect))
    connect.task.begin_transaction()
    connect.task.produce(connect.name, b"without offsets", partition=0, timestamp=connect.now)
    connect.task.commit_transaction(30)
    await_complete(connect)
    connect.task.begin_transaction()
    connect.put_offset(connect.task, 6)
    connect.task.commit_transaction(30)
    audited = connect.audit()
    (place,) = audited.places["data-without-offsets"]
    assert (audited.findings.keys(), audited.verdict) == ({"data-without-offsets"}, "broken")
    assert (place["topic"], place["partition"], place["first_offset"]) == (connect.name, 0, first)
    identity = tmp_path / "tool.properties"
    identity.write_text(brokers.client_properties("tool"))
    names = f"{connect.name}*"
    grants = ("READ", "TOPIC", names), ("DESCRIBE_CONFIGS", "TOPIC", names), ("DESCRIBE", "TRANSACTIONAL_ID", names)
    with allowed(brokers, "tool", *grants):
        audited = connect.audit("--command-config", identity, servers=brokers.sasl_bootstrap_servers)
    assert (audited.findings.keys(), audited.verdict) == ({"unclear"}, "cannot-tell")
