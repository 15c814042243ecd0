"""A transaction that ends while one of its partitions has no leader: on 4.3 it hangs there, others write the marker."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.versions import KafkaVersion
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import leaderless
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, state_of, wire_to
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of
from tests.oracle.transactions_tool import find_hanging
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

FORGETS = KafkaVersion(4, 3, 0)
"""From here on a coordinator takes a partition without leader for one that was deleted."""

Eosctl = Callable[..., Ran]
LOST, KEPT = TopicPartition("on-broker-2", 0), TopicPartition("on-broker-1", 0)
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


@pytest.fixture
def two_brokers(kafka_version: str) -> Iterator[Sandbox]:
    """Two brokers, each of which alone holds a topic."""
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=SETTINGS)) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        new = [NewTopic(each.topic, 1, replica_assignment=[[node]]) for each, node in ((KEPT, 1), (LOST, 2))]
        for future in admin.create_topics(new).values():
            future.result(30)
        yield started


def under_way(servers: str, transactional_id: str) -> Producer:
    """A producer with a record in either topic, in one transaction."""
    producer = transactional_producer(servers, transactional_id)
    producer.begin_transaction()
    for place in (KEPT, LOST):
        producer.produce(place.topic, b"value")
    assert producer.flush(30) == 0
    return producer


def states(servers: str, place: TopicPartition) -> list[RecordState]:
    with wire_to(servers) as wire:
        return [each.state for each in read_log(wire, place, isolation=IsolationLevel.READ_UNCOMMITTED)]


@pytest.mark.variation
def test_a_marker_that_is_forgotten_is_found_as_a_hang_and_the_abort_cures_it(
    two_brokers: Sandbox,
    eosctl: Eosctl,
    fresh_name: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    servers = two_brokers.bootstrap_servers.split(",")[0]
    name = next(each for each in iter(lambda: fresh_name("half"), "") if coordinator_of(servers, each) == 1)
    producer = under_way(servers, name)
    two_brokers.kill_broker(2)
    eventually(lambda: _is_leaderless(servers), "the end of broker 2's session")
    producer.abort_transaction(30)
    forgets = two_brokers.spec.version >= FORGETS
    eventually(
        lambda: state_of(servers, name) == ("CompleteAbort" if forgets else "PrepareAbort"), "the coordinator's answer"
    )
    search = ("transactions", "hanging", "-b", servers, "--max-transaction-timeout", "0", "-o", "json")
    ran = eosctl(*search)
    assert ran.exit_code == 4, "what has no leader cannot be searched"
    assert str(LOST) in json.loads(ran.stdout)["data"]["not_searched"]

    two_brokers.start_broker(2)
    if not forgets:
        eventually(lambda: states(servers, LOST) == [RecordState.ABORTED], "the late marker")
        assert eosctl(*search).exit_code == 0
        return
    assert (states(servers, KEPT), states(servers, LOST)) == ([RecordState.ABORTED], [RecordState.OPEN])
    ran = eosctl(*search)
    assert ran.exit_code == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["data"]["transactions"]
    assert (row["topic"], row["transactional_id"], row["reason_id"]) == (
        LOST.topic,
        name,
        "partition-not-in-transaction",
    )
    assert row["advice"] == "abort"
    ((topic, partition, producer_id, *_),) = find_hanging(two_brokers, [KEPT.topic, LOST.topic])
    assert (topic, partition, producer_id) == (LOST.topic, 0, row["producer_id"])
    assert [eosctl(*search, "--broker", node).exit_code for node in (1, 2)] == [0, 1], "only broker 2 has a replica"
    assert eosctl(*search, "--broker", "2", "--topic", KEPT.topic).exit_code == 0
    refused = eosctl(*search, "--broker", "7")
    assert refused.exit_code == 2
    assert "the cluster has no live broker 7" in refused.stderr
    ran = eosctl(
        "transactions", "abort", "-b", servers, "--topic", LOST.topic, "--partition", "0",
        "--max-transaction-timeout", "0", "--yes",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    assert states(servers, LOST) == [RecordState.ABORTED]
    assert eosctl(*search).exit_code == 0


def _is_leaderless(servers: str) -> bool:
    with wire_to(servers) as wire:
        return leaderless(wire, [LOST]) == {LOST}
