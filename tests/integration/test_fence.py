"""`eosctl fence` on real brokers: every state of a transactional ID, and what speaks against fencing."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.messages import Request
from eosctl.executors.fencing import StepProgress
from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Eosctl, Ran, Typed
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.coordinators import LAST_EPOCH, coordinator_of, describe, raise_epoch, state_of, wire_to
from tests.integration.every_state import EveryState
from tests.integration.producers import (
    complete,
    create_topic,
    open_transaction,
    refused_as_fenced,
    transactional_producer,
)
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(sandbox: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("fence")
    create_topic(sandbox.bootstrap_servers, name)
    return name


def test_each_state_is_fenced_and_its_producer_refused(
    sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName, topic: str, tmp_path: Path
) -> None:
    servers = sandbox.bootstrap_servers
    ids = {state: fresh_name(state) for state in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")}
    producers = {
        "Empty": transactional_producer(servers, ids["Empty"]),
        "Ongoing": open_transaction(servers, ids["Ongoing"], topic),
        "CompleteCommit": complete(servers, ids["CompleteCommit"], topic, commit=True),
        "CompleteAbort": complete(servers, ids["CompleteAbort"], topic, commit=False),
    }
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(ids.values()) + "\n")

    ran = eosctl("fence", "-b", servers, "--ids-file", str(file), "--yes", "-o", "json")

    assert ran.exit_code == 0, ran.stderr
    results = {each["before"]["state"]: each for each in json.loads(ran.stdout)["data"]["results"]}
    assert {state: each["outcome"] for state, each in results.items()} == dict.fromkeys(ids, "fenced")
    assert {state: each["transactional_id"] for state, each in results.items()} == ids
    for each in results.values():
        assert each["after"]["producer_id"] == each["before"]["producer_id"]
        assert each["after"]["producer_epoch"] > each["before"]["producer_epoch"]
        assert each["proof"]["verdict"] == "proved"
        assert each["proof"]["old_producer"] in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
    assert results["Ongoing"]["attempts"] > 1, "an open transaction is aborted before its ID can be had"
    with refused_as_fenced():
        producers["Ongoing"].commit_transaction(30)
    for state in ("Empty", "CompleteCommit", "CompleteAbort"):
        with refused_as_fenced():
            producers[state].begin_transaction()
            producers[state].produce(topic, b"zombie")
            producers[state].flush(30)
            producers[state].commit_transaction(30)


def test_an_unknown_id_is_refused_and_not_created(sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> None:
    name = fresh_name("unknown")
    ran = eosctl("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name, "--yes")
    assert ran.exit_code == 8
    assert f"1 transactional ID not known to any coordinator: {name}" in ran.stderr
    again = eosctl("fence", "-b", sandbox.bootstrap_servers, "--prefix", name, "--yes")
    assert again.exit_code == 8
    assert f"coordinators list no transactional ID that begins with {name}" in again.stderr


def test_an_unknown_id_is_created_when_asked_for(sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> None:
    name = fresh_name("created")
    command = ("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name, "--yes", "-o", "json")
    first = json.loads(eosctl(*command, "--create-missing").stdout)["data"]["results"][0]
    assert (first["outcome"], first["before"], first["after"]["producer_epoch"]) == ("fenced", None, 0)
    second = json.loads(eosctl(*command).stdout)["data"]["results"][0]
    assert second["before"]["state"] == "Empty"
    assert second["after"]["producer_epoch"] == 1


def test_a_prefix_fences_what_begins_with_it_and_nothing_else(
    sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName
) -> None:
    prefix = fresh_name("prefix")
    for name in (f"{prefix}-a", f"{prefix}-b", f"other-{prefix}-c"):
        transactional_producer(sandbox.bootstrap_servers, name)
    ran = eosctl("fence", "-b", sandbox.bootstrap_servers, "--prefix", f"{prefix}-", "--yes", "-o", "json")
    results = json.loads(ran.stdout)["data"]["results"]
    assert [each["transactional_id"] for each in results] == [f"{prefix}-a", f"{prefix}-b"]


def test_a_dry_run_shows_the_plan_and_changes_nothing(
    sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName, topic: str
) -> None:
    name = fresh_name("dry")
    producer = open_transaction(sandbox.bootstrap_servers, name, topic)
    ran = eosctl("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name, "--dry-run", "-o", "json")
    step = json.loads(ran.stdout)["data"]["steps"][0]
    assert (ran.exit_code, step["before"]["state"], step["effect"]) == (0, "Ongoing", "aborts the open transaction")
    producer.commit_transaction(30)


def test_without_a_terminal_and_without_yes_it_is_refused(
    sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName, topic: str
) -> None:
    name = fresh_name("unasked")
    producer = open_transaction(sandbox.bootstrap_servers, name, topic)
    ran = eosctl("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name)
    assert (ran.exit_code, ran.stdout) == (8, "")
    assert name in ran.stderr, "the plan is shown before the question"
    producer.commit_transaction(30)


@pytest.mark.variation
def test_ten_thousand_ids_are_fenced(sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path) -> None:
    prefix = fresh_name("many")
    file = tmp_path / "ids.txt"
    file.write_text("".join(f"{prefix}-{number}\n" for number in range(10_000)))
    command = ("fence", "-b", sandbox.bootstrap_servers, "--ids-file", str(file), "--yes", "-o", "json")
    for flags in (("--create-missing",), ()):
        ran = eosctl(*command, *flags)
        assert ran.exit_code == 0, ran.stderr
        results = json.loads(ran.stdout)["data"]["results"]
        assert len(results) == 10_000
        assert {each["outcome"] for each in results} == {"fenced"}
        assert {each["proof"]["verdict"] for each in results} == {"proved"}


def test_a_timeout_above_the_broker_s_limit_is_capped(sandbox: Sandbox, eosctl: Eosctl, fresh_name: FreshName) -> None:
    name = fresh_name("capped")
    command = ("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name, "--yes", "--create-missing")
    ran = eosctl(*command, "--transaction-timeout-ms", "2000000000", "-o", "json")
    assert ran.exit_code == 0, ran.stderr


def test_nothing_named_is_a_usage_error(sandbox: Sandbox, eosctl: Eosctl) -> None:
    assert eosctl("fence", "-b", sandbox.bootstrap_servers, "--yes").exit_code == 2


def test_an_unreachable_broker_is_reported(eosctl: Eosctl) -> None:
    ran = eosctl("fence", "-b", "127.0.0.1:1", "--transactional-id", "x", "--yes", "--timeout", "3")
    assert ran.exit_code == 4
    assert "127.0.0.1:1" in ran.stderr


# The question that `eosctl fence` asks a person, on a real terminal and on one of the test's own.


Terminal = Callable[..., Typed]


@pytest.fixture
def asked_topic(sandbox: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("asked")
    create_topic(sandbox.bootstrap_servers, name)
    return name


@pytest.mark.parametrize("answer", ["\n", "n\n", "no\n", "", "yesterday\n"], ids=repr)
def test_every_answer_other_than_yes_is_a_no(
    answer: str, sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, asked_topic: str
) -> None:
    name = fresh_name("refused")
    producer = open_transaction(sandbox.bootstrap_servers, name, asked_topic)
    ran = at_terminal(answer=answer).run("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name)
    assert (ran.exit_code, ran.stdout) == (8, "")
    assert re.search(r"Fence 1 transactional ID \(cluster [\w-]+\)\? \[y/N\]", ran.stderr)
    assert "aborts the open transaction" in " ".join(ran.stderr.split()), "the plan is shown before"
    assert "nothing was changed" in ran.stderr
    producer.commit_transaction(30)


@pytest.mark.parametrize("answer", ["y\n", "YES\n"], ids=repr)
def test_a_yes_fences(
    answer: str, sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, asked_topic: str
) -> None:
    name = fresh_name("agreed")
    producer = open_transaction(sandbox.bootstrap_servers, name, asked_topic)
    ran = at_terminal(answer=answer).run("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name)
    assert ran.exit_code == 0, ran.stderr
    assert "1 fenced" in ran.stdout
    with refused_as_fenced():
        producer.commit_transaction(30)


def test_on_a_real_terminal_it_asks_and_takes_a_y(sandbox: Sandbox, fresh_name: FreshName) -> None:
    name = fresh_name("typed")
    command = [sys.executable, "-m", "eosctl", "fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name]
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*command, "--create-missing"], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 4096)
    assert describe(sandbox.bootstrap_servers, [name])[name] is None, "nothing is done before the answer"
    os.write(ours, b"y\n")
    assert process.wait(60) == 0
    os.close(ours)
    assert describe(sandbox.bootstrap_servers, [name])[name] is not None


# `eosctl fence` on IDs in each state that a coordinator knows, on every version of Kafka.


@pytest.fixture
def states_topic(broker: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("states")
    create_topic(broker.bootstrap_servers, name)
    return name


@pytest.fixture
def fence(broker: Sandbox, eosctl: Eosctl) -> Callable[..., dict[str, Any]]:
    def fenced(name: str, *flags: str) -> dict[str, Any]:
        ran = eosctl("fence", "-b", broker.bootstrap_servers, "--transactional-id", name, "--yes", "-o", "json", *flags)
        assert ran.exit_code == 0, ran.stderr
        (result,) = json.loads(ran.stdout)["data"]["results"]
        return dict(result)

    return fenced


@pytest.mark.matrix
def test_each_state_is_fenced_as_kafka_describes_it(
    broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, states_topic: str, tmp_path: Path
) -> None:
    states = EveryState(broker.bootstrap_servers, fresh_name, states_topic)
    states.check_fenced_by(eosctl, tmp_path)
    states.check_producers_refused()


@pytest.mark.matrix
@pytest.mark.variation
def test_an_exhausted_epoch_gives_way_to_a_new_producer_id(
    broker: Sandbox, fence: Callable[..., dict[str, Any]], fresh_name: FreshName
) -> None:
    name = fresh_name("exhausted")
    last = raise_epoch(broker.bootstrap_servers, name, LAST_EPOCH)
    result = fence(name)
    assert (result["before"]["producer_id"], result["before"]["producer_epoch"]) == (last.producer_id, LAST_EPOCH)
    assert result["after"]["producer_id"] != last.producer_id
    assert result["after"]["producer_epoch"] == 0
    assert result["proof"]["verdict"] == "proved"
    assert result["proof"]["old_producer"] == "INVALID_PRODUCER_ID_MAPPING"


@pytest.mark.matrix
@pytest.mark.variation
def test_an_open_transaction_of_the_last_epoch_is_aborted_and_its_producer_refused(
    broker: Sandbox, eosctl: Eosctl, fence: Callable[..., dict[str, Any]], fresh_name: FreshName, states_topic: str
) -> None:
    servers, name = broker.bootstrap_servers, fresh_name("last-epoch")
    raise_epoch(servers, name, LAST_EPOCH - 1)
    producer = open_transaction(servers, name, states_topic)
    before = describe(servers, [name])[name]
    assert before is not None
    assert (before.state, before.producer.producer_epoch) == ("Ongoing", LAST_EPOCH)
    if KafkaVersion(4, 0) <= broker.spec.version < KafkaVersion(4, 1):
        ran = eosctl("fence", "-b", servers, "--transactional-id", name, "--yes")
        assert (ran.exit_code, "whether the old producer is fenced is not known" in ran.stderr) == (9, True)
        assert f"`eosctl transactions describe {name}` shows its state and epoch; see the log of broker 1" in ran.stderr
        with refused_as_fenced():
            producer.commit_transaction(30)
        assert state_of(servers, name) == "Ongoing"
        return
    result = fence(name)
    assert result["after"]["producer_id"] != before.producer.producer_id
    # 4.3.1 moves on to the new producer ID by the abort, and fencing raises its epoch; up to 4.2.0 it begins with 0.
    assert result["after"]["producer_epoch"] == (1 if broker.spec.version >= KafkaVersion(4, 3) else 0)
    assert result["proof"]["verdict"] == "proved"
    with refused_as_fenced():
        producer.commit_transaction(30)
    assert state_of(servers, name) == "Empty"


# `eosctl fence` on a decided transaction whose markers cannot be written: it waits, and the decision stands.


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


@pytest.mark.matrix
@pytest.mark.parametrize("commit", [True, pytest.param(False, marks=pytest.mark.variation)], ids=["commit", "abort"])
def test_a_prepared_transaction_is_waited_for_and_ends_as_it_was_decided(
    two_brokers: Sandbox,
    eosctl: Eosctl,
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
    """The values that a read_committed consumer finds in the partition, to its end."""
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


# `eosctl fence` under each level of transaction.version (KIP-890), the feature that decides when epochs are raised.


@pytest.mark.variation
@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_each_state_is_fenced_under_every_transaction_version(
    level: str,
    make_sandbox: Callable[..., Sandbox],
    eosctl: Eosctl,
    fresh_name: FreshName,
    tmp_path: Path,
) -> None:
    servers = make_sandbox(features={"transaction.version": level}).bootstrap_servers
    assert _finalized_level(servers) == int(level)
    create_topic(servers, "states")
    states = EveryState(servers, fresh_name, "states")
    states.check_fenced_by(eosctl, tmp_path)
    states.check_producers_refused()


def _finalized_level(servers: str) -> int:
    """transaction.version as the broker answers it; a level of 0 is not among its features."""
    from kafka.protocol.metadata import ApiVersionsRequest

    fields = {"client_software_name": "test", "client_software_version": "1"}
    with wire_to(servers) as wire:
        answer = wire.request_any(Request(ApiVersionsRequest, fields, min_version=3))
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return int(levels.get("transaction.version", 0))


# `eosctl fence` over SASL as a user who may do too little, or who is not who he says.


Fence = Callable[..., Ran]


@pytest.fixture
def identity(sandbox: Sandbox, tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(sandbox.client_properties("tool"))
    return path


@pytest.fixture
def fence_as(identity: Path, eosctl: Eosctl) -> Fence:
    return lambda *args: eosctl("fence", "--command-config", identity, "--yes", "-o", "json", *args)


@pytest.fixture
def known(sandbox: Sandbox, fresh_name: FreshName) -> Callable[[str], str]:
    """A fresh ID that its coordinator knows."""

    def make(prefix: str) -> str:
        name = fresh_name(prefix)
        transactional_producer(sandbox.bootstrap_servers, name)
        return name

    return make


def _epoch(sandbox: Sandbox, name: str) -> int:
    description = describe(sandbox.bootstrap_servers, [name])[name]
    assert description is not None
    return description.producer.producer_epoch


def test_write_alone_is_enough(sandbox: Sandbox, fence_as: Fence, known: Callable[[str], str]) -> None:
    name = known("mine")
    with allowed(sandbox, "tool", ("WRITE", "TRANSACTIONAL_ID", name)):
        ran = fence_as("--transactional-id", name)
    assert ran.exit_code == 0, ran.stderr
    (result,) = json.loads(ran.stdout)["data"]["results"]
    assert (result["outcome"], result["proof"]["verdict"]) == ("fenced", "proved")


def test_without_describe_it_names_principal_operation_and_resource(
    sandbox: Sandbox, fence_as: Fence, known: Callable[[str], str]
) -> None:
    name = known("hidden")
    ran = fence_as("--transactional-id", name)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Describe on transactional ID {name}" in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == 5
    assert _epoch(sandbox, name) == 0


def test_describe_without_write_names_write(sandbox: Sandbox, fence_as: Fence, known: Callable[[str], str]) -> None:
    name = known("seen")
    with allowed(sandbox, "tool", ("DESCRIBE", "TRANSACTIONAL_ID", name)):
        ran = fence_as("--transactional-id", name)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Write on transactional ID {name}" in ran.stderr
    assert _epoch(sandbox, name) == 0


def test_write_on_some_ids_fences_those_and_lists_the_others(
    sandbox: Sandbox, fence_as: Fence, known: Callable[[str], str]
) -> None:
    mine, others = known("mine"), known("others")
    grants = ("WRITE", "TRANSACTIONAL_ID", mine), ("DESCRIBE", "TRANSACTIONAL_ID", others)
    with allowed(sandbox, "tool", *grants):
        ran = fence_as("--transactional-id", mine, "--transactional-id", others)
    assert ran.exit_code == 9, ran.stderr
    results = {each["transactional_id"]: each for each in json.loads(ran.stdout)["data"]["results"]}
    assert {name: each["outcome"] for name, each in results.items()} == {mine: "fenced", others: "failed"}
    assert f"User:tool lacks Write on transactional ID {others}" in results[others]["error"]
    assert (_epoch(sandbox, mine), _epoch(sandbox, others)) == (1, 0)


def test_a_prefix_finds_only_what_the_principal_may_see(
    sandbox: Sandbox, fence_as: Fence, known: Callable[[str], str], fresh_name: FreshName
) -> None:
    prefix = fresh_name("family")
    mine, _ = known(f"{prefix}-mine"), known(f"{prefix}-hidden")
    with allowed(sandbox, "tool", ("WRITE", "TRANSACTIONAL_ID", f"{prefix}-mine*")):
        unsure = fence_as("--prefix", prefix)
        assert unsure.exit_code == 8, unsure.stderr
        assert (
            f"whether a task of Connect group {prefix} has {mine} is unknown: User:tool lacks Describe" in unsure.stderr
        )
        assert _epoch(sandbox, mine) == 0
    # A principal that may list all groups knows that there is no such group.
    seeing = ("DESCRIBE", "BROKER", "kafka-cluster"), ("DESCRIBE", "TOPIC", "__consumer_offsets")
    grants = ("WRITE", "TRANSACTIONAL_ID", f"{prefix}-mine*"), *seeing
    with allowed(sandbox, "tool", *grants):
        ran = fence_as("--prefix", prefix)
    assert [each["transactional_id"] for each in json.loads(ran.stdout)["data"]["results"]] == [mine]


def test_a_connector_needs_read_on_the_config_topic(sandbox: Sandbox, fence_as: Fence, fresh_name: FreshName) -> None:
    topic = fresh_name("connect-configs")
    create_topic(sandbox.bootstrap_servers, topic)
    complete(sandbox.bootstrap_servers, fresh_name("writer"), topic, commit=True)
    asked = ("--connector", "orders", "--group-id", "connect-cluster", "--config-topic", topic)
    blind = fence_as(*asked)
    assert (blind.exit_code, f"User:tool lacks Describe on topic {topic}" in blind.stderr) == (5, True), blind.stderr
    with allowed(sandbox, "tool", ("DESCRIBE", "TOPIC", topic)):
        ran = fence_as(*asked)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Read on topic {topic}" in ran.stderr


def test_a_wrong_password_is_reported(identity: Path, fence_as: Fence) -> None:
    text = identity.read_text()
    identity.write_text(text.replace('password="', 'password="not-'))
    ran = fence_as("--transactional-id", "x")
    assert ran.exit_code == 5
    assert "User:tool" in ran.stderr
    assert "uthenticat" in ran.stderr
    assert "not-" not in ran.stdout + ran.stderr, "no password in an error"


def test_plaintext_to_a_sasl_listener_ends_with_advice(sandbox: Sandbox, eosctl: Eosctl) -> None:
    address = sandbox.sasl_bootstrap_servers
    ran = eosctl("fence", "-b", address, "--transactional-id", "x", "--yes", "--timeout", "10")
    assert ran.exit_code == 4, ran.stderr
    assert address in ran.stderr
    assert "security.protocol" in ran.stderr


def test_sasl_to_a_plaintext_listener_ends_with_advice(sandbox: Sandbox, fence_as: Fence) -> None:
    ran = fence_as("-b", sandbox.bootstrap_servers, "--transactional-id", "x", "--timeout", "10")
    assert ran.exit_code in {2, 4, 5}, ran.stderr
    assert sandbox.bootstrap_servers in ran.stderr
