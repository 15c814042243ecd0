"""The findings of `eosctl inspect-config` in topics that were spoilt on purpose."""

import json
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import transactional_producer
from tests.topics import make_topic

pytestmark = pytest.mark.kafka

NO_SUCH_GROUP = 3
"""No worker runs here, so the answer without a finding is incomplete."""

CONFIG = b'{"properties":{"connector.class":"X"}}'
RECORDS = (
    (b"connector-orders", CONFIG),
    (b"task-orders-0", CONFIG),
    (b"commit-orders", b'{"tasks":1}'),
    (b"tasks-fencing-orders", b'{"task-count":1}'),
)


class Spoilt:
    """One topic, its writers, and its findings."""

    def __init__(self, servers: str, eosctl: Eosctl, topic: str) -> None:
        self.servers, self.eosctl, self.topic = servers, eosctl, topic
        self.leader = f"connect-cluster-{topic}"

    def create(self, partitions: int = 1, policy: str = "compact") -> None:
        topic = NewTopic(self.topic, partitions, 1, config={"cleanup.policy": policy})
        admin = AdminClient({"bootstrap.servers": self.servers})
        make_topic(admin, topic)

    def write(self, *records: tuple[bytes | None, bytes | None]) -> None:
        """Writes with a producer that is not even idempotent."""
        self._send(Producer({"bootstrap.servers": self.servers}), records)

    def write_as_leader(self, *records: tuple[bytes | None, bytes | None], commit: bool = True) -> Producer:
        """In a transaction of the leader's transactional ID."""
        producer = transactional_producer(self.servers, self.leader)
        producer.begin_transaction()
        self._send(producer, records)
        if commit:
            producer.commit_transaction(30)
        return producer

    def _send(self, producer: Producer, records: tuple[tuple[bytes | None, bytes | None], ...]) -> None:
        for key, value in records:
            producer.produce(self.topic, value, key, partition=0)
        assert producer.flush(30) == 0

    def inspect(self, *flags: str) -> Ran:
        where = ("-b", self.servers, "--config-topic", self.topic, "--group-id", self.topic)
        return self.eosctl("inspect-config", *where, "-o", "json", *flags)

    def found(self, exit_code: int = 1) -> dict[str, dict[str, Any]]:
        """Findings by ID, of an inspection that found something."""
        ran = self.inspect()
        assert ran.exit_code == exit_code, ran.stdout + ran.stderr
        return {each["name"]: each for each in json.loads(ran.stdout)["data"]["findings"]}


@pytest.fixture
def spoilt(sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> Spoilt:
    return Spoilt(sandbox.bootstrap_servers, eosctl, fresh_name("connect-configs"))


def test_a_good_topic_has_no_findings(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write_as_leader(*RECORDS)
    ran = spoilt.inspect()
    assert ran.exit_code == NO_SUCH_GROUP, ran.stdout
    assert json.loads(ran.stdout)["data"]["findings"] == []


def test_more_than_one_partition(spoilt: Spoilt) -> None:
    spoilt.create(partitions=3)
    spoilt.write(*RECORDS)
    finding = spoilt.found()["more-than-one-partition"]
    assert (finding["severity"], finding["evidence"]["partitions"]) == ("error", 3)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_cleanup_policy_that_loses_connectors(policy: str, spoilt: Spoilt) -> None:
    spoilt.create(policy=policy)
    spoilt.write(*RECORDS)
    finding = spoilt.found()["wrong-cleanup-policy"]
    assert finding["severity"] == "error"
    assert policy in finding["message"]


def test_an_open_transaction_of_the_leader(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write_as_leader(*RECORDS)
    leader = spoilt.write_as_leader((b"commit-orders", b'{"tasks":2}'), commit=False)
    finding = spoilt.found()["open-transaction"]
    assert spoilt.leader in finding["cure"]
    assert finding["evidence"]["start_offset"] == len(RECORDS) + 1, "after the marker of the first transaction"
    (connector,) = json.loads(spoilt.inspect().stdout)["data"]["connectors"]
    assert connector["task_count"] == 1, "a worker with exactly-once does not see the open commit"
    fenced = spoilt.eosctl("fence", "-b", spoilt.servers, "--transactional-id", spoilt.leader, "--yes")
    assert fenced.exit_code == 0, fenced.stderr
    assert spoilt.inspect().exit_code == NO_SUCH_GROUP, "the cure that was named helps"
    del leader


def test_a_plain_leader_after_a_transactional_one(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write_as_leader(*RECORDS)
    spoilt.write((b"commit-orders", b'{"tasks":1}'))
    finding = spoilt.found()["mixed-writers"]
    assert finding["severity"] == "error"
    assert finding["evidence"]["last_is_plain"]


def test_poison_and_records_that_contradict_their_key(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write(*RECORDS, (b"commit-orders", b'{"tasks":"two"}'), (b"connector-payments", b"{not json"))
    found = spoilt.found()
    assert found["poison-record"]["subject"] == "commit-orders"
    assert found["malformed-record"]["subject"] == "connector-payments"


def test_a_topic_that_is_no_config_topic(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write(*[(f"customer-{number}".encode(), b'{"name":"x"}') for number in range(50)])
    finding = spoilt.found(exit_code=2)["not-a-config-topic"]
    assert finding["evidence"]["records"] == 50
    assert "--config-topic" in finding["cure"]


def test_keys_that_are_not_text(spoilt: Spoilt) -> None:
    spoilt.create()
    spoilt.write(*[(b"\x00\xff\xfe" + bytes([number]), b"\x80\x81") for number in range(10)])
    assert spoilt.found(exit_code=2)["not-a-config-topic"]["evidence"]["records"] == 10
    refused = spoilt.inspect("--history")
    assert (refused.exit_code, "--config-topic TOPIC" in refused.stderr) == (2, True), refused.stderr
    spoilt.write(*RECORDS)
    assert spoilt.found()["invalid-keys"]["evidence"]["count"] == 10, "records of connectors make it a config topic"
    history = spoilt.inspect("--history")
    assert history.exit_code == 0, history.stderr
    assert len(json.loads(history.stdout)["data"]["history"]) == 10 + len(RECORDS)


def test_a_record_without_a_key(spoilt: Spoilt) -> None:
    spoilt.create(policy="delete")
    spoilt.write(*RECORDS, (None, b"{}"))
    assert "fatal-record" in spoilt.found()


def test_a_topic_that_does_not_exist(spoilt: Spoilt) -> None:
    ran = spoilt.inspect()
    assert ran.exit_code == 2
    assert f"topic {spoilt.topic} does not exist" in ran.stderr


def test_an_empty_topic_has_no_connectors(spoilt: Spoilt) -> None:
    spoilt.create()
    ran = spoilt.inspect()
    assert ran.exit_code == NO_SUCH_GROUP, ran.stderr
    assert json.loads(ran.stdout)["data"]["connectors"] == []
