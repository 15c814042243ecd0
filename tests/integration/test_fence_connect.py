"""`eosctl fence` beside a real exactly-once Connect worker: refusals, the effect on tasks, and whole data."""

import json
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.integration.coordinators import describe, state_of
from tests.integration.producers import open_transaction, refused_as_fenced

pytestmark = pytest.mark.kafka

Fence = Callable[..., Ran]


@pytest.fixture
def worker(connect_sandbox: Sandbox) -> Iterator[Worker]:
    worker = Worker(connect_sandbox)
    yield worker
    worker.close()


@pytest.fixture
def mirror(worker: Worker, fresh_name: FreshName) -> Iterator[Mirror]:
    """A connector with three running tasks that has copied something."""
    mirror = Mirror(worker, fresh_name("mirror"))
    mirror.start()
    yield mirror
    mirror.delete()


@pytest.fixture
def fence(worker: Worker, eosctl: Eosctl) -> Fence:
    cluster = ("-b", worker.sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", worker.url)
    return lambda *args: eosctl("fence", *cluster, "--yes", "-o", "json", *args)


def outcomes(ran: Ran) -> dict[str, str]:
    results: list[dict[str, Any]] = json.loads(ran.stdout)["data"]["results"]
    return {each["transactional_id"]: each["outcome"] for each in results}


def ids_of(mirror: Mirror, tasks: int = 3) -> list[str]:
    return [f"connect-cluster-{mirror.name}-{task}" for task in range(tasks)]


def test_running_tasks_are_refused_with_what_would_happen_and_continue(mirror: Mirror, fence: Fence) -> None:
    ran = fence("--connector", mirror.name)
    assert ran.exit_code == 8, ran.stderr
    assert (
        f"connector {mirror.name} of Connect cluster connect-cluster has 3 tasks at work (task 0 RUNNING" in ran.stderr
    )
    assert "the tasks would turn FAILED" in ran.stderr
    assert f"PUT /connectors/{mirror.name}/stop" in ran.stderr
    mirror.check_exactly_once()
    assert mirror.worker.task_states(mirror.name) == ["RUNNING"] * 3


def test_forced_fencing_turns_the_tasks_failed_and_a_restart_heals_them(mirror: Mirror, fence: Fence) -> None:
    ran = fence("--connector", mirror.name, "--force")
    assert ran.exit_code == 0, ran.stderr
    assert outcomes(ran) == dict.fromkeys(ids_of(mirror), "fenced")
    assert "they will turn FAILED: restart them afterwards: POST " in ran.stderr
    mirror.feed()
    mirror.worker.wait_for_tasks(mirror.name, 3, "FAILED")
    status = mirror.worker.ask("GET", f"/connectors/{mirror.name}/status")
    for task in status["tasks"]:
        assert "ProducerFencedException" in task["trace"] or "InvalidProducerEpochException" in task["trace"]
    mirror.worker.ask("POST", f"/connectors/{mirror.name}/restart?includeTasks=true&onlyFailed=true")
    mirror.worker.wait_for_tasks(mirror.name, 3)
    mirror.check_exactly_once()


def test_a_failed_task_has_no_producer_for_any_command_and_its_transaction_is_not_committed(
    mirror: Mirror, worker: Worker, fence: Fence, eosctl: Callable[..., Ran]
) -> None:
    """Fencing ends the open transaction of its ID; a commit is refused because Connect never commits it, group named or
    not.

    Without --connect-url its state is unknown, and both refuse it as in use.
    """
    assert fence("--connector", mirror.name, "--force").exit_code == 0
    mirror.feed()
    worker.wait_for_tasks(mirror.name, 3, "FAILED")
    name, here = ids_of(mirror)[0], ("-b", worker.sandbox.bootstrap_servers)
    open_transaction(mirror.servers, name, f"A.{mirror.name}-in")
    described = describe(mirror.servers, [name])[name]
    assert described is not None
    held = described.producer
    words = ("transactions", "commit", name, *here, "--producer-id", held.producer_id,
             "--producer-epoch", held.producer_epoch, "--watch-client", "0.1", "--yes")  # fmt: skip
    owner = f"task 0 of connector {mirror.name} in Connect cluster connect-cluster"
    for named in ((), ("--group-id", "connect-cluster")):
        refused = eosctl(*words, "--connect-url", worker.url, *named)
        assert refused.exit_code == 8, refused.stdout
        assert f"{name} belongs to {owner}: Connect never commits" in refused.stderr
        assert "is also the ID of" not in refused.stderr
        unknown = eosctl(*words, *named)
        assert f"transactional ID {name} is also the ID of {owner}" in unknown.stderr
    in_use = eosctl("fence", *here, "--group-id", "connect-cluster", "--yes", "--transactional-id", name)
    assert "1 task at work (task 0 of unknown state" in in_use.stderr
    assert state_of(mirror.servers, name) == "Ongoing"
    ran = fence("--transactional-id", name)
    assert ran.exit_code == 0, ran.stderr
    assert (outcomes(ran), state_of(mirror.servers, name)) == ({name: "fenced"}, "Empty")
    worker.ask("POST", f"/connectors/{mirror.name}/restart?includeTasks=true&onlyFailed=true")
    worker.wait_for_tasks(mirror.name, 3)
    mirror.check_exactly_once()


def test_a_stopped_connector_is_fenced_without_force(mirror: Mirror, fence: Fence) -> None:
    mirror.worker.stop(mirror.name)
    zombie = open_transaction(mirror.servers, ids_of(mirror)[1], f"A.{mirror.name}-in")
    ran = fence("--connector", mirror.name)
    assert ran.exit_code == 0, ran.stderr
    assert outcomes(ran) == dict.fromkeys(ids_of(mirror), "fenced")
    owners = [each["owner"] for each in json.loads(ran.stdout)["data"]["results"]]
    assert owners[2] == f"task 2 of connector {mirror.name} in Connect cluster connect-cluster"
    with refused_as_fenced():
        zombie.commit_transaction(30)
    mirror.worker.ask("PUT", f"/connectors/{mirror.name}/resume")
    mirror.worker.wait_for_tasks(mirror.name, 3)
    mirror.check_exactly_once()


def test_leftovers_of_a_larger_generation_are_fenced_too(mirror: Mirror, fence: Fence) -> None:
    mirror.start(tasks=1)
    mirror.worker.stop(mirror.name)
    ran = fence("--connector", mirror.name)
    assert ran.exit_code == 0, ran.stderr
    assert outcomes(ran) == dict.fromkeys(ids_of(mirror), "fenced"), "task count record and commit say one task"


def test_tasks_that_are_ending_after_a_stop_are_awaited(mirror: Mirror, fence: Fence) -> None:
    mirror.worker.ask("PUT", f"/connectors/{mirror.name}/stop")
    ran = fence("--connector", mirror.name)
    assert ran.exit_code == 0, ran.stderr
    assert outcomes(ran) == dict.fromkeys(ids_of(mirror), "fenced")


def test_a_task_that_a_prefix_names_is_running_and_refused(mirror: Mirror, fence: Fence) -> None:
    ran = fence("--prefix", ids_of(mirror)[0])
    assert ran.exit_code == 8, ran.stderr
    assert mirror.name in ran.stderr


def test_all_connectors_are_the_sources_and_only_their_ids(
    mirror: Mirror, worker: Worker, fence: Fence, fresh_name: FreshName
) -> None:
    other = Mirror(worker, fresh_name("other"))
    other.start(tasks=2)
    bystander = fresh_name("connect-cluster-bystander")
    open_transaction(mirror.servers, bystander, f"{mirror.name}-in")
    refused = fence("--all-connectors")
    assert refused.exit_code == 8
    assert mirror.name in refused.stderr
    assert other.name in refused.stderr
    worker.stop(mirror.name)
    worker.stop(other.name)
    ran = fence("--all-connectors")
    assert ran.exit_code == 0, ran.stderr
    fenced = outcomes(ran)
    assert {*ids_of(mirror), *ids_of(other, 2)} <= fenced.keys()
    assert f"connect-cluster-{other.name}-2" not in fenced
    assert "connect-cluster-connect-cluster" not in fenced, "the leader is no connector"
    assert (bystander in fenced, state_of(mirror.servers, bystander)) == (False, "Ongoing")
    other.delete()


def test_a_worker_that_is_frozen_is_named_and_shortly_waited_for(
    mirror: Mirror, worker: Worker, eosctl: Eosctl
) -> None:
    where = ("-b", worker.sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", worker.url)
    words = ("--connector", mirror.name, "-o", "json")
    silence = f"Connect workers: GET {worker.url}/ got no answer within"
    worker.sandbox.pause_worker(1)
    try:
        began = monotonic()
        planned = eosctl("fence", *where, *words, "--dry-run")
        assert monotonic() - began < 15, "the default --timeout is 30 s"
        inspected = eosctl("inspect-config", *where, *words, "--timeout", "1")
    finally:
        worker.sandbox.resume_worker(1)
    plan, inspection = (json.loads(each.stdout)["data"] for each in (planned, inspected))
    assert [each["transactional_id"] for each in plan["steps"]] == ids_of(mirror)
    assert f"which tasks are FAILED is not known: GET {worker.url}/ got no answer within 5 s" in planned.stderr
    assert "3 tasks" in plan["objections"][0]["message"], "the group shows what workers do not"
    assert [f"{each['what']}: {each['reason']}" for each in plan["unread"]] == [f"{silence} 5 s"]
    assert [each["name"] for each in inspection["connectors"]] == [mirror.name]
    assert f"{silence} 1 s" in [f"{each['what']}: {each['reason']}" for each in inspection["unread"]]
    assert (planned.exit_code, inspected.exit_code) == (8, 3)
