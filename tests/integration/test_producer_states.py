"""The producers that brokers keep in memory, beside those that real clients started and those that Kafka counts."""

import asyncio
import json
import socket
import subprocess
import time
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import complete, create_topic, open_transaction
from tests.integration.test_transactions_history import java_producers
from tests.jvm import jars_of, java_with
from tests.kafka_versions import spec_of
from tests.oracle.transactions_tool import run_transactions_tool
from tests.shared_sandboxes import SharedSandboxes
from tests.sources.test_kafka_transactions import Allowed
from tests.waiting import eventually

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


def write_with_many(servers: str, topic: str, count: int = MANY, ahead_ms: int = 0) -> None:
    """As many idempotent producers of librdkafka write a record each into partition 0."""
    at = time.time_ns() // 1_000_000 + ahead_ms
    for number in range(count):
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0})
        producer.produce(topic, str(number).encode(), partition=0, timestamp=at)
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
    kept_ms = 86_400_000 if broker.spec.version >= KafkaVersion(3, 4) else 604_800_000
    assert (ours["expiration_ms"], ours["heap_bytes"]) == (kept_ms, 400 * ours["held"])


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


def counted_by_the_broker(sandbox: Sandbox, port: int) -> int:
    """ReplicaManager's ProducerIdCount (KIP-847), by Kafka's JmxTool."""
    url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"
    name = "kafka.server:type=ReplicaManager,name=ProducerIdCount"
    tool = [*java_with(jars_of(sandbox)), "org.apache.kafka.tools.JmxTool", "--jmx-url", url, "--one-time"]
    ran = subprocess.run([*tool, "--object-name", name], capture_output=True, text=True, check=True, timeout=60)
    return int(ran.stdout.split()[-1].rpartition(",")[2])


def keep_for(servers: str, ms: int) -> None:
    """Sets producer.id.expiration.ms of broker 1 while it runs."""
    setting = ConfigEntry("producer.id.expiration.ms", str(ms), incremental_operation=AlterConfigOpType.SET)
    wanted = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[setting])
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.incremental_alter_configs([wanted]).values():
        future.result(30)


@pytest.mark.variation
@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_brokers_forget_idle_producers_and_idle_ids_whose_clients_then_fail(
    shared_sandboxes: SharedSandboxes, version: str, eosctl: Eosctl
) -> None:
    """Producers of Java, librdkafka and aiokafka; the broker's own count is the same before and after."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    remote = "com.sun.management.jmxremote"
    options = (f"-D{remote}.port={port}", f"-D{remote}.authenticate=false", f"-D{remote}.ssl=false")
    settings = {
        "transactional.id.expiration.ms": "30000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
        "producer.id.expiration.check.interval.ms": "200",
    }
    sandbox = shared_sandboxes.of(
        spec_of(
            version,
            broker_config=settings,
            broker_java_options=(*options, f"-D{remote}.host=127.0.0.1", "-Djava.rmi.server.hostname=127.0.0.1"),
        )
    )
    servers = sandbox.bootstrap_servers
    create_topic(servers, "t")
    write_with_many(servers, "t", 5)
    asyncio.run(write_with_aiokafka(servers, "t"))
    with java_producers(sandbox, "t", "java-", "wait") as java, asyncio.Runner() as loop:
        idle = complete(servers, "idle-0", "t", commit=True)
        write_again(idle)
        in_python = loop.run(committed_by_aiokafka(servers, "aio-0"))
        check_counts_until_all_is_forgotten(sandbox, port, eosctl)
        with pytest.raises(KafkaException, match="INVALID_PRODUCER_ID_MAPPING"):
            write_again(idle)
        idle.abort_transaction(30)
        write_again(idle)
        with pytest.raises(KafkaError):
            loop.run(write_with(in_python))
        with pytest.raises(AssertionError, match="FATAL_ERROR"):
            loop.run(write_with(in_python))
        loop.run(in_python.stop())
        said, _ = java.communicate("\n", timeout=60)
    assert said.split("\n")[-2] == ("continues" if version == "3.9.2" else "must be made again")


def write_again(producer: Producer) -> None:
    producer.begin_transaction()
    producer.produce("t", b"value")
    producer.commit_transaction(30)


async def write_with(producer: AIOKafkaProducer) -> None:
    async with producer.transaction():
        await producer.send_and_wait("t", b"value", partition=0)


async def committed_by_aiokafka(servers: str, name: str) -> AIOKafkaProducer:
    producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=name)
    await producer.start()
    await write_with(producer)
    return producer


def check_counts_until_all_is_forgotten(sandbox: Sandbox, port: int, eosctl: Eosctl) -> None:
    servers = sandbox.bootstrap_servers

    def seen() -> tuple[Data, Data]:
        data = churn(eosctl, "-b", servers)
        return data, partition(data, "t")

    data, row = seen()
    (theirs,) = run_transactions_tool(sandbox, [("describe-producers", "--topic", "t", "--partition", 0)])
    assert len(theirs) == row["producers"] == 5 + 1 + 5 + 2, "the Java producers wrote under five IDs"
    assert (row["transactional"], row["unlogged"]) == (7, 0)
    assert data["producer_states"]["brokers"][0]["held"] == counted_by_the_broker(sandbox, port) == 13
    near = eventually(lambda: [each for each in seen()[0]["findings"] if each["subject"] == "idle"])
    assert (near[0]["id"], near[0]["evidence"]["transactional_id"]) == ("EOS117", "idle-0")
    eventually(lambda: seen()[1]["unlogged"] == 7, "the coordinator to forget all IDs")
    held = open_transaction(servers, "open", "t")
    write_with_many(servers, "t", 1, ahead_ms=3_600_000)
    keep_for(servers, 1000)
    eventually(lambda: seen()[1]["producers"] == 2, "the broker to forget all but these two")
    data, row = seen()
    assert (row["open"], counted_by_the_broker(sandbox, port)) == (1, 2)
    assert data["producer_states"]["brokers"][0]["expiration_ms"] == 1000
    held.abort_transaction(30)
