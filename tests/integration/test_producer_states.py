"""The producers that brokers keep in memory, beside those that real clients started and those that Kafka counts."""

import asyncio
import json
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import complete, create_topic, open_transaction
from tests.oracle.transactions_tool import run_transactions_tool
from tests.sources.test_kafka_transactions import Allowed

pytestmark = pytest.mark.kafka
Data = dict[str, Any]
MANY = 30
"""More than another test leaves in a partition of the shared broker, so that ours is among those that are shown."""


def churn(eosctl: Eosctl, *words: object, exit_code: int = 0) -> Data:
    ran = eosctl("transactions", "churn", "--producers", *words, "-o", "json")
    assert ran.exit_code == exit_code, ran.stderr
    return dict(json.loads(ran.stdout)["data"])


def partition(data: Data, topic: str, index: int = 0) -> Data:
    rows = data["producer_states"]["partitions"]
    (row,) = (row for row in rows if (row["topic"], row["partition"]) == (topic, index))
    return dict(row)


def write_with_many(servers: str, topic: str, count: int = MANY) -> None:
    """As many idempotent producers of librdkafka write a record each into partition 0."""
    for number in range(count):
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0})
        producer.produce(topic, str(number).encode(), partition=0)
        assert producer.flush(30) == 0


async def write_with_aiokafka(servers: str, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True) as producer:
        await producer.send_and_wait(topic, b"value", partition=0)


@pytest.mark.matrix
def test_producers_in_memory_are_as_many_as_were_started_and_as_kafkas_tool_prints(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    servers, topic = broker.bootstrap_servers, fresh_name("states")
    create_topic(servers, topic)
    write_with_many(servers, topic)
    asyncio.run(write_with_aiokafka(servers, topic))
    complete(servers, fresh_name("ended"), topic, commit=True)
    complete(servers, fresh_name("ended"), topic, commit=False)
    held = open_transaction(servers, fresh_name("open"), topic)
    data = churn(eosctl, "-b", servers)
    row = partition(data, topic)
    assert (row["producers"], row["transactional"], row["unlogged"], row["open"]) == (MANY + 4, 3, 0, 1)
    (theirs,) = run_transactions_tool(broker, [("describe-producers", "--topic", topic, "--partition", 0)])
    assert (len(theirs), sum(each["LatestCoordinatorEpoch"] != "-1" for each in theirs)) == (MANY + 4, 2)
    held.abort_transaction(30)
    (ours,) = data["producer_states"]["brokers"]
    assert ours["held"] == ours["producers"] >= row["producers"]
    assert (ours["expiration_ms"], ours["heap_bytes"]) == (86_400_000, 400 * ours["held"])


def test_producers_of_a_topic_that_may_not_be_read_are_unknown(
    broker: Sandbox, fresh_name: FreshName, eosctl: Eosctl
) -> None:
    servers, seen, hidden = broker.bootstrap_servers, fresh_name("seen"), fresh_name("hidden")
    for topic in (seen, hidden):
        create_topic(servers, topic)
        write_with_many(servers, topic)
    properties = broker.directory / "clients" / "tool.properties"
    with (
        Allowed(broker, ResourceType.TOPIC, "__transaction_state", AclOperation.READ),
        Allowed(broker, ResourceType.TOPIC, seen, AclOperation.READ),
        Allowed(broker, ResourceType.TOPIC, hidden, AclOperation.DESCRIBE),
    ):
        data = churn(eosctl, "-b", broker.sasl_bootstrap_servers, "--command-config", properties, exit_code=3)
    assert partition(data, seen)["producers"] == MANY
    assert hidden not in {row["topic"] for row in data["producer_states"]["partitions"]}
    assert (data["complete"], data["producer_states"]["unread_partitions"]) == (False, 1)
    assert f"User:tool lacks Read on topic {hidden}" in {each["reason"] for each in data["unread"]}
