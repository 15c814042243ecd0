"""`eosctl fence` on real brokers: every state of a transactional ID, and what speaks against fencing."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import (
    complete,
    create_topic,
    open_transaction,
    refused_as_fenced,
    transactional_producer,
)

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]
FreshName = Callable[[str], str]


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
    again = eosctl("fence", "-b", sandbox.bootstrap_servers, "--prefix", name, "--yes", "-o", "json")
    assert json.loads(again.stdout)["data"]["results"] == []


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


def test_an_unreachable_broker_is_said_to_be(eosctl: Eosctl) -> None:
    ran = eosctl("fence", "-b", "127.0.0.1:1", "--transactional-id", "x", "--yes", "--timeout", "3")
    assert ran.exit_code == 4
    assert "127.0.0.1:1" in ran.stderr
