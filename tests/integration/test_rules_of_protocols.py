"""Protocols of a 4.x cluster: transactions of KIP-890 and KIP-939, and share groups (KIP-932)."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eosctl.model.versions import NEWEST
from eosctl.sandbox.java import compile_java
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source
from tests.integration.kafka_tools import run_kafka_tool
from tests.integration.producers import create_topic, transactional_producer
from tests.jvm import jars_of, java_with
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
LONGEST_MS = 2**31 - 1
LONGEST = "producer.override.transaction.timeout.ms"
LEADER = "connect-cluster-connect-cluster"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """A cluster whose producers began with transaction.version 1, with the longest possible timeouts."""
    settings = {"transaction.max.timeout.ms": str(LONGEST_MS)}
    spec = SandboxSpec(str(NEWEST), workers=1, broker_config=settings, features={"transaction.version": "1"})
    with Sandbox(spec) as started:
        yield started


@pytest.fixture
def rest(cluster: Sandbox) -> Rest:
    return Rest(cluster.connect_url(1))


@pytest.fixture
def doctor(cluster: Sandbox, eosctl: Eosctl) -> Doctor:
    return Doctor(eosctl, tuple(arguments(cluster)))


@pytest.mark.proves("EOS303")
def test_producers_that_were_there_before_transaction_version_was_raised(
    cluster: Sandbox, rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    rest.put("early", file_source(tmp_path, "early"))
    rest.await_tasks("early")
    run_kafka_tool(cluster, "kafka-features.sh --bootstrap-server <broker> upgrade --feature transaction.version=2")
    with (tmp_path / "early.txt").open("a") as lines:
        lines.write("3\n")
    old = (("EOS303", "early"), ("EOS303", LEADER))
    found = doctor.sees(*old)
    rest.restart_as_printed(found["EOS303", "early"]["cure"])
    assert found["EOS303", LEADER]["cure"] == "restart the worker that leads the group"
    cluster.stop_worker(1)
    cluster.start_worker(1)
    rest.await_tasks("early")
    with (tmp_path / "early.txt").open("a") as lines:
        lines.write("4\n")
    doctor.sees_no_more(*old)
    rest.delete("early")


@pytest.mark.proves("EOS304")
def test_a_task_whose_transactions_no_timeout_ends(rest: Rest, doctor: Doctor, tmp_path: Path) -> None:
    rest.put("endless", file_source(tmp_path, "endless") | {LONGEST: str(LONGEST_MS)})
    rest.await_tasks("endless")
    endless = ("EOS304", "connect-cluster-endless-0")
    assert LONGEST in doctor.sees(endless)[endless]["cure"]
    rest.put("endless", file_source(tmp_path, "endless"))
    doctor.sees_no_more(endless)
    rest.delete("endless")


@pytest.mark.proves("EOS120")
def test_a_share_group_reads_uncommitted_by_default_and_waits_once_it_reads_committed(
    cluster: Sandbox, rest: Rest, doctor: Doctor, eosctl: Eosctl, tmp_path: Path
) -> None:
    create_topic(cluster.bootstrap_servers, "shared-out")
    alter = "kafka-configs.sh --bootstrap-server <broker> --alter --entity-type groups --entity-name queue"
    run_kafka_tool(cluster, f"{alter} --add-config share.auto.offset.reset=earliest")
    rest.put("shared", file_source(tmp_path, "shared"))
    rest.await_tasks("shared")
    consume(cluster, "queue", "shared-out", 2)
    uncommitted = ("EOS120", "queue")
    found = doctor.sees(uncommitted)[uncommitted]
    assert found["evidence"] == {"topics": ["shared-out"]}
    endless = transactional_producer(cluster.bootstrap_servers, "app-1", **{"transaction.timeout.ms": LONGEST_MS})
    endless.begin_transaction()
    endless.produce("shared-out", b"open")
    assert endless.flush(30) == 0
    assert waiting(cluster, eosctl) == []
    [printed] = re.findall(r"kafka-configs\.sh .*=read_committed", found["cure"])
    run_kafka_tool(cluster, printed)
    doctor.sees_no_more(uncommitted)
    assert waiting(cluster, eosctl) == ["queue"]
    endless.abort_transaction(30)
    rest.delete("shared")


def test_a_streams_group_is_named_with_its_type_and_is_no_group_of_workers(cluster: Sandbox, eosctl: Eosctl) -> None:
    create_topic(cluster.bootstrap_servers, "streamed")
    thread = "pay-1f0e3dad-99b2-4c1c-9f2d-0123456789ab-1"
    at = ("-b", cluster.bootstrap_servers)
    open_one = transactional_producer(cluster.bootstrap_servers, thread)
    open_one.begin_transaction()
    open_one.produce("streamed", b"open")
    assert open_one.flush(30) == 0
    with streams_member(cluster, "pay", "streamed"):

        def named() -> bool:
            listed = eosctl("transactions", "list", *at).stdout
            return "shape of Streams application pay (streams group, Stable)" in listed

        eventually(named, "the streams group is Stable")
        read = eosctl("transactions", "lso", *at, "--group", "pay")
        refused = [eosctl(*each, *at, "--group-id", "pay") for each in (("doctor",), ("offsets", "show"))]
    open_one.abort_transaction(30)
    assert "Streams group pay (Stable) has committed no offsets" in read.stdout
    assert [each.exit_code for each in refused] == [2, 2], "it is no group of Connect workers"


@contextmanager
def streams_member(cluster: Sandbox, group_id: str, topic: str) -> Iterator[None]:
    """A member of a streams group (KIP-1071) by Kafka's own requests, until the block ends."""
    jars = jars_of(cluster)
    classes = compile_java(jars.compiler, Path(__file__).with_name("StreamsGroupMember.java"), jars.classpath)
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    command = [*java_with(jars, classes), "StreamsGroupMember", host, port, group_id, topic]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as member:
        try:
            yield
        finally:
            member.kill()


def consume(cluster: Sandbox, group_id: str, topic: str, records: int) -> None:
    """Read with Kafka's console consumer of a share group."""
    main = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    given = ("--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--group", group_id)
    ends = ("--max-messages", str(records), "--timeout-ms", "60000")
    ran = subprocess.run(
        [*java_with(jars_of(cluster)), main, *given, *ends], check=True, capture_output=True, text=True, timeout=120
    )
    assert len(ran.stdout.split()) == records, ran.stdout + ran.stderr


def waiting(cluster: Sandbox, eosctl: Eosctl) -> list[str]:
    """The groups behind the open transaction in shared-out, which is to be completed by its application."""
    given = ("-b", cluster.bootstrap_servers, "--topic", "shared-out", "--max-transaction-timeout", "0")
    rows: list[dict[str, object]] = []

    def found() -> bool:
        ran = eosctl("transactions", "hanging", *given, "-o", "json")
        rows[:] = json.loads(ran.stdout)["data"]["in_progress"]
        return bool(rows)

    eventually(found, "the transaction is older than nothing")
    [row] = rows
    assert row["advice"] == "complete"
    assert "no timeout ends it; have its application commit or abort it" in str(row["next"])
    return [each["group_id"] for each in row["waiting_groups"]]
