"""Rules about the transaction log and replication on two brokers, and about IDs that expire: made, found, cured."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition
from eosctl.model.versions import CAPPED_MIN_ISR, NEWEST, KafkaVersion
from eosctl.sandbox.properties import SandboxSpec
from tests.conftest import MakeSandbox
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of
from tests.integration.doctoring import Doctor, Eosctl, Rest, alter_topic, arguments, file_source, write
from tests.integration.kafka_tools import run_kafka_tool
from tests.integration.producers import open_transaction, transactional_producer
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
LOG = "__transaction_state"
INTERNAL = {"connect-configs": 1, "connect-offsets": 2, "connect-status": 1}
LOG_PARTITIONS = 4
BOTH = (1, 2)


@pytest.fixture(scope="module")
def brokers() -> Iterator[Sandbox]:
    """Two brokers, on which the transaction log and Connect's topics have one replica; partition 1 is on broker 2."""
    settings = {
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": str(LOG_PARTITIONS),
    }
    with Sandbox(SandboxSpec(brokers=2, broker_config=settings)) as started:
        admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
        compact = {"cleanup.policy": "compact"}
        topics = [
            NewTopic(name, count, replica_assignment=[[1]] * count, config=compact) for name, count in INTERNAL.items()
        ]
        topics.append(NewTopic("on-broker-2", 1, replica_assignment=[[2]]))
        for made in admin.create_topics(topics).values():
            made.result(30)
        del admin
        transactional_producer(started.bootstrap_servers, "any")
        yield started


@pytest.fixture(scope="module")
def group(brokers: Sandbox) -> str:
    """A group ID whose leader's transactional ID broker 2 coordinates, which is gone for a while."""
    servers = brokers.bootstrap_servers.split(",")[0]
    names = (f"g{number}" for number in range(100))
    return next(each for each in names if coordinator_of(servers, f"connect-cluster-{each}") == 2)


@pytest.fixture
def doctor(brokers: Sandbox, group: str, eosctl: Eosctl) -> Doctor:
    return Doctor(eosctl, ("-b", brokers.bootstrap_servers, "--group-id", group, "--timeout", 3))


@pytest.mark.variation
@pytest.mark.proves("EOS040", "EOS053")
def test_topics_that_ask_for_the_replica_of_a_broker_that_is_gone(
    brokers: Sandbox, doctor: Doctor, tmp_path: Path
) -> None:
    """The first partition of the offsets topic has one replica all the time."""
    conditions = (("EOS040", LOG), ("EOS053", "connect-offsets"))
    topics = (LOG, "connect-offsets")
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers})
    known = {topic: admin.list_topics(topic).topics[topic].partitions for topic in topics}
    leaders = {
        TopicPartition(topic, number): [each.leader]
        for topic, partitions in known.items()
        for number, each in partitions.items()
    }
    for topic in topics:
        alter_topic(brokers, topic, min_insync_replicas="3")
    doctor.sees_no_more(*conditions)
    place(brokers, tmp_path, dict.fromkeys(leaders, BOTH) | {TopicPartition("connect-offsets", 0): (1,)})
    fragile = doctor.sees(("EOS042", LOG), ("EOS054", "connect-offsets"))
    assert "min.insync.replicas=3 above its replication factor 2: a broker that" in fragile["EOS042", LOG]["message"]
    transactional_producer(brokers.bootstrap_servers, "with-all")
    doctor.sees_no_more(*conditions)
    brokers.stop_broker(2)
    try:
        found = doctor.sees(*conditions)
    finally:
        brokers.start_broker(2)
    assert all(found[each]["cure"].startswith("start the brokers that hold") for each in conditions)
    assert "and a partition has 1 in sync: no transaction can begin or end" in found[conditions[0]]["message"]
    doctor.sees_no_more(*conditions)
    for topic in topics:
        alter_topic(brokers, topic, min_insync_replicas="1")
    place(brokers, tmp_path, leaders)


@pytest.mark.variation
def test_a_log_with_fewer_replicas_than_its_min_isr_is_written_by_brokers_of_3_7(
    kafka_version: str, eosctl: Eosctl
) -> None:
    """Partition.effectiveMinIsr; older brokers answer NOT_ENOUGH_REPLICAS, and the producer tries again."""
    settings = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "2"}
    with Sandbox(spec_of(kafka_version, broker_config=settings)) as broker:
        doctor = Doctor(eosctl, ("-b", broker.bootstrap_servers, "--group-id", "g", "--timeout", 3))
        if KafkaVersion.parse(kafka_version) >= CAPPED_MIN_ISR:
            doctor.sees_no_more(("EOS040", "broker 1"))
            transactional_producer(broker.bootstrap_servers, "any")
            doctor.sees_no_more(("EOS040", LOG), ("EOS042", LOG))
            return
        doctor.sees(("EOS040", "broker 1"))
        with pytest.raises(KafkaException):
            Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "any"}).init_transactions(10)
        found = doctor.sees(("EOS040", LOG))["EOS040", LOG]
        assert "a partition has 1 in sync, which brokers before 3.7 refuse" in found["message"]
        assert found["cure"] == f"raise the replication factor of {LOG} to 2 or more with kafka-reassign-partitions.sh"


def place(brokers: Sandbox, directory: Path, replicas: Mapping[TopicPartition, Sequence[int]]) -> None:
    """Each of these partitions is on these brokers from now on."""
    file = directory / "places.json"
    places = [{"topic": part.topic, "partition": part.partition, "replicas": each} for part, each in replicas.items()]
    file.write_text(json.dumps({"version": 1, "partitions": places}))
    run_kafka_tool(
        brokers, f"kafka-reassign-partitions.sh --bootstrap-server <broker> --execute --reassignment-json-file {file}"
    )


@pytest.mark.variation
@pytest.mark.proves("EOS041", "EOS116", "EOS151")
def test_a_broker_is_gone_that_leads_the_transaction_log_and_a_partition_of_an_open_transaction(
    brokers: Sandbox, group: str, doctor: Doctor
) -> None:
    """The transaction is that of a task whose ID broker 1 coordinates; tests of fence show the consequences.

    The leader's ID, which broker 2 coordinates, is unknown meanwhile.
    """
    servers = brokers.bootstrap_servers.split(",")[0]
    names = (f"source{number}" for number in range(100))
    name = next(each for each in names if coordinator_of(servers, f"{group}-{each}-0") == 1)
    write_connector(brokers, name, "on-broker-2")
    producer = open_transaction(servers, f"{group}-{name}-0", "on-broker-2")
    conditions = (("EOS041", LOG), ("EOS116", f"{group}-{name}-0"), ("EOS151", name))
    brokers.stop_broker(2)
    try:
        found = doctor.sees(*conditions)
        untold = {each["id"]: each["reason"] for each in doctor.data()["unknown"]}
    finally:
        brokers.start_broker(2)
    assert "start the brokers that hold the replicas: `kafka-topics.sh --boot" in found[conditions[0]]["cure"]
    assert f"--describe --topic {LOG}`" in found[conditions[0]]["cure"]
    assert "start the brokers that hold its replicas" in found[conditions[1]]["cure"]
    assert "start the brokers that hold the replicas" in found[conditions[2]]["cure"]
    assert "on-broker-2 (no leader of partition 0)" in found[conditions[2]]["message"]
    assert "on-broker-2-0 has no leader" in found[conditions[1]]["message"]
    assert untold["EOS116"].startswith("1 transactional ID is unknown: __transaction_state-")
    assert untold["EOS116"].endswith("has no leader, so no broker coordinates its transactional IDs")
    doctor.sees_no_more(*conditions)
    producer.abort_transaction(30)


def write_connector(brokers: Sandbox, name: str, output: str) -> None:
    """The records of a source connector with one task in the config topic."""
    config = {"connector.class": "FileStreamSource", "topic": output}
    records = {f"connector-{name}": {"properties": config}, f"task-{name}-0": {"properties": config}}
    records |= {f"commit-{name}": {"tasks": 1}, f"tasks-fencing-{name}": {"task-count": 1}}
    write(brokers, "connect-configs", *((key.encode(), json.dumps(value).encode()) for key, value in records.items()))


@pytest.mark.variation
@pytest.mark.proves("EOS042", "EOS054", "EOS150")
def test_topics_with_fewer_replicas_than_there_are_brokers(brokers: Sandbox, doctor: Doctor, tmp_path: Path) -> None:
    write_connector(brokers, "writer", "on-broker-2")
    conditions = (
        ("EOS042", LOG),
        ("EOS150", "writer"),
        *(("EOS054", topic) for topic in INTERNAL),
    )
    found = doctor.sees(*conditions)
    assert all("with kafka-reassign-partitions.sh" in found[condition]["cure"] for condition in conditions)
    topics = INTERNAL | {LOG: LOG_PARTITIONS, "on-broker-2": 1}
    every = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
    place(brokers, tmp_path, dict.fromkeys(every, BOTH))
    doctor.sees_no_more(*conditions)


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A worker over a broker that forgets a transactional ID after some seconds, and an idle connector."""
    settings = {
        "transactional.id.expiration.ms": "6000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    }
    with Sandbox(SandboxSpec(workers=1, broker_config=settings)) as started:
        rest = Rest(started.connect_url(1))
        rest.put("idle", file_source(tmp_path_factory.mktemp("lines"), "idle"))
        rest.await_tasks("idle")
        yield started


@pytest.mark.variation
@pytest.mark.proves("EOS110", "EOS111")
def test_ids_of_an_idle_task_and_leader_are_forgotten_until_they_are_claimed_again(
    forgetful: Sandbox, eosctl: Eosctl
) -> None:
    """The leader refuses the first change that it cannot write down, then initializes its ID again."""
    doctor, rest = Doctor(eosctl, tuple(arguments(forgetful))), Rest(forgetful.connect_url(1))
    leader = ("EOS110", "connect-cluster-connect-cluster")
    found = doctor.sees(("EOS111", "idle"), leader)
    assert "or its ID expired" in found[leader]["message"]
    assert "PUT /connectors/<connector>/config with the present config, and repeat" in found[leader]["cure"]
    config = rest.ask("GET", "/connectors/idle/config")
    assert (
        "Failed to write to config topic" in rest.ask("PUT", "/connectors/idle/config", config, expected=500)["message"]
    )
    url = f"{rest.url}/connectors/idle/config"
    eventually(
        lambda: httpx.put(url, json=config, timeout=60, trust_env=False, verify=False).is_success,
        "the change is accepted",
    )
    method, path = found["EOS111", "idle"]["cure"].split()
    rest.ask(method, path)
    doctor.sees_no_more(("EOS111", "idle"), leader)


@pytest.mark.variation
@pytest.mark.parametrize("cause", ["expired", "fenced"])
def test_a_leader_that_refused_a_restart_without_its_id_refuses_everything_until_it_is_restarted(
    forgetful: Sandbox, eosctl: Eosctl, cause: str
) -> None:
    """Why no cure is a `restart?includeTasks=true`: Connect forgets that it has to claim. Of a task it is harmless."""
    doctor, rest = Doctor(eosctl, tuple(arguments(forgetful))), Rest(forgetful.connect_url(1))
    leader = "connect-cluster-connect-cluster"
    config = rest.ask("GET", "/connectors/idle/config")
    if cause == "expired":
        doctor.sees(("EOS110", leader))
    else:
        fence = (
            "fence",
            "-b",
            forgetful.bootstrap_servers,
            "--group-id",
            "connect-cluster",
            "--transactional-id",
            leader,
        )
        fenced = eosctl(*fence, "--create-missing", "--yes")
        assert fenced.exit_code == 0, fenced.stderr
        assert "After a restart with includeTasks=true the leader refuses every change" in fenced.stderr
    rest.ask("POST", "/connectors/idle/tasks/0/restart")
    refused = rest.ask("POST", "/connectors/idle/restart?includeTasks=true", expected=500)
    assert "fencable send to config topic" in refused["message"]
    for _ in range(3):
        again = rest.ask("PUT", "/connectors/idle/config", config, expected=500)
        assert "without claiming write privileges first" in again["message"]
    forgetful.stop_worker(1)
    forgetful.start_worker(1)
    rest.ask("PUT", "/connectors/idle/config", config)


@pytest.mark.variation
@pytest.mark.proves("EOS115")
def test_unowned_ids_are_reported_until_they_expire(forgetful: Sandbox, eosctl: Eosctl) -> None:
    doctor = Doctor(eosctl, tuple(arguments(forgetful)))
    condition = ("EOS115", "connect-cluster")

    def told() -> dict[str, Any] | None:
        """The ID is initialized for each look: it may have expired before a slow one reads it."""
        transactional_producer(forgetful.bootstrap_servers, "connect-cluster-nobody-0")
        return doctor.found().get(condition)

    assert eventually(told, "the ID is told")["cure"].startswith("IDs of deleted connectors expire")
    doctor.sees_no_more(condition)


@pytest.mark.variation
def test_a_transaction_log_that_cannot_be_created_with_the_brokers_that_live(make_sandbox, eosctl: Eosctl) -> None:
    broker = make_sandbox(broker_config={"transaction.state.log.replication.factor": "3"})
    doctor = Doctor(eosctl, ("-b", broker.bootstrap_servers, "--group-id", "g", "--timeout", 3))
    cure = doctor.sees(("EOS040", "broker 1"))["EOS040", "broker 1"]["cure"]
    assert "set transaction.state.log.replication.factor" in cure
    broker.stop_broker(1)
    broker.start_broker(1, {"transaction.state.log.replication.factor": "1"})
    doctor.sees_no_more(("EOS040", "broker 1"))


@pytest.mark.long
@pytest.mark.proves("EOS117")
def test_the_id_of_an_idle_task_is_near_expiry_until_the_task_is_restarted(
    make_sandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    """Here an ID expires after 20 s, and the broker does not look for expired ones."""
    cleanup = {"transaction.remove.expired.transaction.cleanup.interval.ms": "3600000"}
    sandbox = make_sandbox(workers=1, broker_config={"transactional.id.expiration.ms": "20000", **cleanup})
    doctor, rest = Doctor(eosctl, tuple(arguments(sandbox))), Rest(sandbox.connect_url(1))
    rest.put("idle", file_source(tmp_path, "idle"))
    rest.await_tasks("idle")
    method, path = doctor.sees(("EOS117", "idle"))["EOS117", "idle"]["cure"].split()
    rest.ask(method, path)
    doctor.sees_no_more(("EOS117", "idle"), deadline_s=15)


@pytest.mark.variation
@pytest.mark.proves("EOS046")
def test_a_transaction_version_that_was_lowered_is_found_until_it_is_raised(make_sandbox, eosctl: Eosctl) -> None:
    broker = make_sandbox(kafka_version=str(NEWEST))
    doctor = Doctor(eosctl, ("-b", broker.bootstrap_servers, "--group-id", "g", "--timeout", 3))
    low = ("EOS046", "brokers")
    assert low not in doctor.found()
    run_kafka_tool(broker, "kafka-features.sh --bootstrap-server <broker> downgrade --feature transaction.version=0")
    found = doctor.sees(low)[low]
    assert found["message"].startswith("transaction.version is finalized at 0: ")
    [printed] = re.findall(r"kafka-features\.sh .*?=2", found["cure"])
    run_kafka_tool(broker, printed)
    doctor.sees_no_more(low)


@pytest.mark.variation
@pytest.mark.proves("EOS047")
def test_a_transaction_version_that_was_lowered_to_0_stops_connect_until_brokers_restart(
    make_sandbox: MakeSandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    """Warned of before, found and explained after, and cured as printed: raised, then the broker is restarted."""
    site = make_sandbox(kafka_version=str(NEWEST), workers=1)
    doctor, rest = Doctor(eosctl, tuple(arguments(site))), Rest(site.connect_url(1))
    lines, lowered = tmp_path / "early.txt", ("EOS047", "transaction.version")
    rest.put("early", file_source(tmp_path, "early"))
    rest.await_tasks("early")
    warned = eosctl("upgrade-check", *arguments(site), "--to", "preparing")
    assert "transaction.version is 2: do not lower it to 0" in warned.stdout + warned.stderr
    asked = {level: eosctl("upgrade-check", "-b", site.bootstrap_servers, "--feature", f"transaction.version={level}")
             for level in (0, 1, 2)}  # fmt: skip
    assert {level: each.exit_code for level, each in asked.items()} == {0: 1, 1: 0, 2: 0}, asked[0].stdout
    assert "error EOS047" in asked[0].stdout
    run_kafka_tool(site, "kafka-features.sh --bootstrap-server <broker> downgrade --feature transaction.version=0")
    lines.write_text(lines.read_text() + "3\n")
    found = doctor.sees(lowered, ("EOS108", "early"))
    assert "connect-cluster-early-0" in found[lowered]["evidence"]["transactional_ids"]
    assert httpx.put(f"{rest.url}/connectors/early/stop", timeout=90, trust_env=False).status_code == 500
    logs = {name: (site.directory / "logs" / f"{name}.log").read_text() for name in ("broker-1", "worker-1")}
    lost = {name: next(line for line in log.splitlines() if "UnsupportedVer" in line) for name, log in logs.items()}
    lost["worker-1"] = next(line for line in logs["worker-1"].splitlines() if "fatal error state" in line)
    told = {name: eosctl("explain", text).stdout for name, text in lost.items()}
    assert "The feature transaction.version was lowered to 0" in told["broker-1"]
    assert "A broker no longer supports a transactional request of the producer" in told["worker-1"]
    run_kafka_tool(site, found[lowered]["cure"])
    doctor.sees_no_more(lowered)
    assert rest.ask("GET", "/connectors/early/status")["tasks"][0]["state"] == "FAILED", "raising it is not enough"
    site.stop_broker(1)
    site.start_broker(1)

    def restarted() -> bool:
        path = f"{rest.url}/connectors/early/tasks/0/restart"
        return httpx.post(path, timeout=90, trust_env=False).is_success

    eventually(restarted, "the leader has its ID again, and takes the request", deadline_s=90)
    rest.await_tasks("early")
    doctor.sees_no_more(lowered, ("EOS108", "early"))
