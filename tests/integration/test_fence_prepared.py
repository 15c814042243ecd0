"""`eosctl fence` on a decided transaction whose markers cannot be written: it waits, and the decision stands."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.executors.fencing import StepProgress
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, state_of
from tests.integration.producers import open_transaction, refused_as_fenced
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

FreshName = Callable[[str], str]


TOPIC = "on-broker-2"

SETTINGS = {
    # A paused follower must not hold up the transaction log, nor be taken for dead.
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
    "broker.session.timeout.ms": "120000",
}


@pytest.fixture(scope="module")
def two_brokers(kafka_version: str) -> Iterator[Sandbox]:
    """Two brokers, the second without a vote, and a topic that only the second one holds."""
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=SETTINGS)) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[2]])])[TOPIC].result(30)
        yield started


@pytest.mark.parametrize("commit", [True, pytest.param(False, marks=pytest.mark.variation)], ids=["commit", "abort"])
def test_a_prepared_transaction_is_waited_for_and_ends_as_it_was_decided(
    two_brokers: Sandbox,
    eosctl: Callable[..., Ran],
    fresh_name: FreshName,
    monkeypatch: pytest.MonkeyPatch,
    commit: bool,
) -> None:
    servers = two_brokers.bootstrap_servers
    name = _id_coordinated_by(1, servers, fresh_name)
    there_before = _committed_values(servers)
    producer = open_transaction(servers, name, TOPIC)
    command = ("fence", "-b", servers.split(",")[0], "--transactional-id", name, "--yes", "-o", "json", "--timeout")
    decided = "PrepareCommit" if commit else "PrepareAbort"
    two_brokers.pause_broker(2)
    try:
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        in_vain = eosctl(*command, "3")
        assert in_vain.exit_code == 4, in_vain.stdout
        assert "CONCURRENT_TRANSACTIONS" in in_vain.stderr
        assert state_of(servers.split(",")[0], name) == decided, "fencing must not touch what is decided"
        waits = threading.Event()
        monkeypatch.setattr(StepProgress, "pause_s", lambda progress: waits.set() or 0.1)
        with ThreadPoolExecutor(1) as other:
            fencing = other.submit(eosctl, *command, "100")
            assert waits.wait(60), "it has to be told CONCURRENT_TRANSACTIONS"
            two_brokers.resume_broker(2)
            ran = fencing.result()
    finally:
        two_brokers.resume_broker(2)
    assert ran.exit_code == 0, ran.stderr
    (result,) = json.loads(ran.stdout)["data"]["results"]
    assert (result["outcome"], result["before"]["state"], result["proof"]["verdict"]) == ("fenced", decided, "proved")
    assert state_of(servers, name) == "Empty"
    assert _committed_values(servers) == there_before + ([b"value"] if commit else [])
    with refused_as_fenced():
        producer.begin_transaction()
        producer.produce(TOPIC, b"zombie")
        producer.flush(30)
        producer.commit_transaction(30)


def _id_coordinated_by(node: int, servers: str, fresh_name: FreshName) -> str:
    while True:
        name = fresh_name("prepared")
        if coordinator_of(servers, name) == node:
            return name


def _committed_values(servers: str) -> list[bytes | None]:
    """What a read_committed consumer finds in the partition, to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reader",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
    values: list[bytes | None] = []

    def reached_the_end() -> bool:
        message = consumer.poll(0.2)
        if message is None or message.error() is not None:
            return message is not None and message.error().code() == KafkaError._PARTITION_EOF
        values.append(message.value())
        return False

    eventually(reached_the_end, f"the end of {TOPIC}")
    consumer.close()
    return values
