"""`eosctl fence` on a transaction whose partition has no leader: 4.3 forgets that partition's marker, others wait."""

import json
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.messages import find_group_coordinators
from eosctl.clients.wire import Wire
from eosctl.model.names import TopicPartition
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.versions import KafkaVersion
from eosctl.sources.kafka_groups import hidden_groups, without_coordinator
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import leaderless
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, state_of, wire_to
from tests.integration.producers import open_transaction
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

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


def test_a_partition_without_leader_is_an_objection_and_force_shows_why(
    two_brokers: Sandbox, eosctl: Callable[..., Ran], fresh_name: Callable[[str], str]
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
        assert hidden_groups(wire) == unlisted, "no list of groups is whole now"
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
