"""Two Connect clusters whose group IDs and connectors join to one transactional ID: `a` with `b-c`, and `a-b` with `c`.

One test after the other on the same workers: each leaves the task of `c` running, or brings it back.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Eosctl, Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.file_connectors import FileConnectors, wait_for
from tests.integration.moves import Home

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.usefixtures("own_state")]

SHARED = "a-b-c-0"
OFFSETS = ("--worker-offsets-topic", "connect-offsets")
"""It must be named: the transactional ID of its writer may belong to either group."""
NEIGHBOUR = {
    "group.id": "a-b",
    "config.storage.topic": "neighbour-configs",
    "offset.storage.topic": "neighbour-offsets",
    "status.storage.topic": "neighbour-status",
}


class Neighbours:
    """Connector `b-c` of group `a`, STOPPED, and connector `c` of group `a-b`, whose one task runs."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox, self.servers = sandbox, sandbox.bootstrap_servers
        self.own, self.other = Home(sandbox, 1, "a"), Home(sandbox, 2, "a-b", "neighbour-configs", "neighbour-offsets")
        connectors = [FileConnectors(home.url, self.servers, directory) for home in (self.own, self.other)]
        for name, of, home in zip(("b-c", "c"), connectors, (self.own, self.other), strict=True):
            of.file(name).write_text("line\n")
            of.create(name)
            of.await_last(name, "line")
            if name == "b-c":
                self.become(home, name, "stop", [])
        self.connectors = connectors[1]
        # After one more rebalance the task of `c` is in its worker's metadata, and not in its assignment.
        self.connectors.file("later").write_text("line\n")
        self.connectors.create("later")
        self.connectors.await_last("later", "line")

    def become(self, home: Home, name: str, request: str, states: list[str]) -> None:
        """PUT /connectors/NAME/request, and wait until its tasks are in these states."""
        assert home.ask("PUT", f"/connectors/{name}/{request}") < 400
        worker = FileConnectors(home.url, self.servers, Path())
        wait_for(lambda: worker.states(name), lambda found: found == states, f"{name} after {request}")

    def epoch(self) -> object:
        """Producer ID and epoch of the shared ID, as DescribeTransactions has them."""
        described = describe(self.servers, [SHARED])[SHARED]
        assert described is not None
        return described.producer


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbours]:
    with Sandbox(SandboxSpec(workers=1, group_id="a")) as sandbox:
        sandbox.start_worker(2, NEIGHBOUR)
        yield Neighbours(sandbox, tmp_path_factory.mktemp("lines"))


@pytest.fixture
def run(neighbours: Neighbours, eosctl: Eosctl) -> Callable[..., Ran]:
    return lambda command, *args: eosctl(command, "-b", neighbours.servers, *args, "--yes")


@pytest.fixture
def refused(neighbours: Neighbours, run: Callable[..., Ran]) -> Callable[..., str]:
    """The message of a command that is refused and fences nothing."""

    def check(*args: object) -> str:
        before = neighbours.epoch()
        ran = run(*args)
        assert ran.exit_code == 8, ran.stderr
        assert neighbours.epoch() == before
        return ran.stderr

    return check


def test_a_task_of_another_group_is_not_fenced_with_a_stopped_connector(
    neighbours: Neighbours, refused: Callable[..., str]
):
    own = ("--group-id", "a", "--connect-url", neighbours.own.url)
    at = f"task 0 of unknown state at {neighbours.other.url}/"
    for named in (*own, "--connector", "b-c"), (*own, "--prefix", "a-"), ("--transactional-id", SHARED):
        said = refused("fence", *named)
        assert f"connector c of Connect cluster a-b has 1 task at work ({at})" in said
        assert "POST /connectors/c/tasks/0/restart" in said
    moved = refused(
        "migrate-offsets", *own, *OFFSETS, "--config-topic", "connect-configs", "--connector", "b-c",
        "--to-topic", "b-c-own",
    )  # fmt: skip
    assert f"transactional ID {SHARED} is also the ID of task 0 of connector c in Connect cluster a-b" in moved


def test_running_and_paused_tasks_are_not_fenced_with_rest_nor_without(
    neighbours: Neighbours, refused: Callable[..., str]
):
    other = ("--group-id", "a-b", "--config-topic", "neighbour-configs", "--connector", "c")
    for request, state in (("pause", "PAUSED"), ("resume", "RUNNING")):
        neighbours.become(neighbours.other, "c", request, [state])
        assert f"(task 0 {state} at " in refused("fence", *other, "--connect-url", neighbours.other.url)
        assert "(task 0 of unknown state at " in refused("fence", *other)


def test_a_plan_is_refused_where_another_group_took_the_id_since(
    neighbours: Neighbours,
    run: Callable[..., Ran],
    refused: Callable[..., str],
    eosctl: Eosctl,
    tmp_path: Path,
):
    """It was made while the other connector was STOPPED; `apply` gets the config topic from the file."""
    plan, here = tmp_path / "b-c.plan", ("-b", neighbours.servers, "--connect-url", neighbours.own.url)
    neighbours.become(neighbours.other, "c", "stop", [])
    made = run(
        "migrate-offsets", "--group-id", "a", "--connect-url", neighbours.own.url, "--connector", "b-c", "--to-topic",
        "b-c-own", "--plan-file", plan, "--replication-factor", "1", *OFFSETS,
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    neighbours.become(neighbours.other, "c", "resume", ["RUNNING"])
    before = neighbours.epoch()
    ran = eosctl("apply", plan, *here, "--yes")
    assert (ran.exit_code, neighbours.epoch()) == (8, before), ran.stderr
    assert f"{SHARED} is also the ID of task 0 of connector c in Connect cluster a-b" in ran.stderr
    neighbours.become(neighbours.other, "c", "stop", [])
    ran = eosctl("apply", plan, *here, "--yes")
    assert ran.exit_code == 0, ran.stderr
    undone = eosctl("undo", f"{plan}.undo", *here, "--yes", "-o", "json")
    assert undone.exit_code == 0, undone.stderr
    by_hand = [each["detail"] for each in json.loads(undone.stdout)["data"]["results"] if each["outcome"] == "by-hand"]
    assert (
        by_hand[-1]
        == "resume connector b-c when it may continue (PUT /connectors/b-c/resume): it is left STOPPED, if it exists"
    )
    neighbours.become(neighbours.other, "c", "resume", ["RUNNING"])


def test_a_move_that_needs_a_worker_of_the_source_is_refused_before_any_step(
    neighbours: Neighbours, refused: Callable[..., str]
):
    said = refused(
        "migrate-offsets", "--group-id", "a", "--connector", "b-c", "--to-group-id", "a-b", "--to-topic", "moved-away",
        "--to-connect-url", neighbours.other.url, "--to-config-topic", "neighbour-configs", "--set-config",
        "--rename-to", "d", "--force", *OFFSETS,
    )  # fmt: skip
    assert "only a worker of Connect cluster a has that config" in said
    assert "give --connect-url" in said


def test_force_and_a_stopped_connector_and_a_group_without_members_are_fenced(
    neighbours: Neighbours, run: Callable[..., Ran]
):
    """The last test: the other worker is gone after it."""
    named = ("--transactional-id", SHARED)
    epochs = [neighbours.epoch()]
    neighbours.become(neighbours.other, "c", "pause", ["PAUSED"])
    forced = run("fence", *named, "--force")
    assert forced.exit_code == 0, forced.stderr
    assert "they will turn FAILED: restart them afterwards: POST /connectors/c/tasks/0/restart" in forced.stderr
    epochs.append(neighbours.epoch())
    with neighbours.connectors.file("c").open("a") as file:
        file.write("one more\n")
    neighbours.become(neighbours.other, "c", "resume", ["FAILED"])
    neighbours.become(neighbours.other, "c", "stop", [])
    assert run("fence", *named).exit_code == 0
    epochs.append(neighbours.epoch())
    neighbours.become(neighbours.other, "c", "resume", ["RUNNING"])
    neighbours.sandbox.kill_worker(2)
    wait_for(
        lambda: run("fence", *named), lambda ran: ran.exit_code == 0, "the group to notice that its worker is gone"
    )
    epochs.append(neighbours.epoch())
    assert len(set(map(str, epochs))) == len(epochs), epochs
