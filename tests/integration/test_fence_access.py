"""`eosctl fence` over SASL as a user who may do too little, or who is not who he says."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.coordinators import describe
from tests.integration.producers import complete, create_topic, transactional_producer

pytestmark = pytest.mark.kafka

Fence = Callable[..., Ran]
FreshName = Callable[[str], str]


@pytest.fixture
def identity(sandbox: Sandbox, tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(sandbox.client_properties("tool"))
    return path


@pytest.fixture
def fence(identity: Path, eosctl: Callable[..., Ran]) -> Fence:
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
    told = describe(sandbox.bootstrap_servers, [name])[name]
    assert told is not None
    return told.producer.producer_epoch


def test_write_alone_is_enough(sandbox: Sandbox, fence: Fence, known: Callable[[str], str]) -> None:
    name = known("mine")
    with allowed(sandbox, "tool", ("WRITE", "TRANSACTIONAL_ID", name)):
        ran = fence("--transactional-id", name)
    assert ran.exit_code == 0, ran.stderr
    (result,) = json.loads(ran.stdout)["data"]["results"]
    assert (result["outcome"], result["proof"]["verdict"]) == ("fenced", "proved")


def test_without_describe_it_names_principal_operation_and_resource(
    sandbox: Sandbox, fence: Fence, known: Callable[[str], str]
) -> None:
    name = known("hidden")
    ran = fence("--transactional-id", name)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Describe on transactional ID {name}" in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == 5
    assert _epoch(sandbox, name) == 0


def test_describe_without_write_names_write(sandbox: Sandbox, fence: Fence, known: Callable[[str], str]) -> None:
    name = known("seen")
    with allowed(sandbox, "tool", ("DESCRIBE", "TRANSACTIONAL_ID", name)):
        ran = fence("--transactional-id", name)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Write on transactional ID {name}" in ran.stderr
    assert _epoch(sandbox, name) == 0


def test_write_on_some_ids_fences_those_and_lists_the_others(
    sandbox: Sandbox, fence: Fence, known: Callable[[str], str]
) -> None:
    mine, others = known("mine"), known("others")
    grants = ("WRITE", "TRANSACTIONAL_ID", mine), ("DESCRIBE", "TRANSACTIONAL_ID", others)
    with allowed(sandbox, "tool", *grants):
        ran = fence("--transactional-id", mine, "--transactional-id", others)
    assert ran.exit_code == 9, ran.stderr
    results = {each["transactional_id"]: each for each in json.loads(ran.stdout)["data"]["results"]}
    assert {name: each["outcome"] for name, each in results.items()} == {mine: "fenced", others: "failed"}
    assert f"User:tool lacks Write on transactional ID {others}" in results[others]["error"]
    assert (_epoch(sandbox, mine), _epoch(sandbox, others)) == (1, 0)


def test_a_prefix_finds_only_what_the_principal_may_see(
    sandbox: Sandbox, fence: Fence, known: Callable[[str], str], fresh_name: FreshName
) -> None:
    prefix = fresh_name("family")
    mine, _ = known(f"{prefix}-mine"), known(f"{prefix}-hidden")
    with allowed(sandbox, "tool", ("WRITE", "TRANSACTIONAL_ID", f"{prefix}-mine*")):
        unsure = fence("--prefix", prefix)
        assert unsure.exit_code == 8, unsure.stderr
        assert (
            f"whether a task of Connect group {prefix} has {mine} is unknown: User:tool lacks Describe" in unsure.stderr
        )
        assert _epoch(sandbox, mine) == 0
    # Who may list all groups knows that there is no such group.
    seeing = ("DESCRIBE", "BROKER", "kafka-cluster"), ("DESCRIBE", "TOPIC", "__consumer_offsets")
    grants = ("WRITE", "TRANSACTIONAL_ID", f"{prefix}-mine*"), *seeing
    with allowed(sandbox, "tool", *grants):
        ran = fence("--prefix", prefix)
    assert [each["transactional_id"] for each in json.loads(ran.stdout)["data"]["results"]] == [mine]


def test_a_connector_needs_read_on_the_config_topic(sandbox: Sandbox, fence: Fence, fresh_name: FreshName) -> None:
    topic = fresh_name("connect-configs")
    create_topic(sandbox.bootstrap_servers, topic)
    complete(sandbox.bootstrap_servers, fresh_name("writer"), topic, commit=True)
    asked = ("--connector", "orders", "--group-id", "connect-cluster", "--config-topic", topic)
    blind = fence(*asked)
    assert (blind.exit_code, f"User:tool lacks Describe on topic {topic}" in blind.stderr) == (5, True), blind.stderr
    with allowed(sandbox, "tool", ("DESCRIBE", "TOPIC", topic)):
        ran = fence(*asked)
    assert ran.exit_code == 5, ran.stderr
    assert f"User:tool lacks Read on topic {topic}" in ran.stderr


def test_a_wrong_password_is_said_to_be_one(identity: Path, fence: Fence) -> None:
    text = identity.read_text()
    identity.write_text(text.replace('password="', 'password="not-'))
    ran = fence("--transactional-id", "x")
    assert ran.exit_code == 5
    assert "User:tool" in ran.stderr
    assert "uthenticat" in ran.stderr
    assert "not-" not in ran.stdout + ran.stderr, "no password in an error"


def test_plaintext_to_a_sasl_listener_ends_with_advice(sandbox: Sandbox, eosctl: Callable[..., Ran]) -> None:
    address = sandbox.sasl_bootstrap_servers
    ran = eosctl("fence", "-b", address, "--transactional-id", "x", "--yes", "--timeout", "10")
    assert ran.exit_code == 4, ran.stderr
    assert address in ran.stderr
    assert "security.protocol" in ran.stderr


def test_sasl_to_a_plaintext_listener_ends_with_advice(sandbox: Sandbox, fence: Fence) -> None:
    ran = fence("-b", sandbox.bootstrap_servers, "--transactional-id", "x", "--timeout", "10")
    assert ran.exit_code in {2, 4, 5}, ran.stderr
    assert sandbox.bootstrap_servers in ran.stderr
