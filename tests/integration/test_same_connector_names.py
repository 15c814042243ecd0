"""Two Connect clusters on one Kafka, each with a connector `pay`: no answer or action about one concerns the other."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.file_connectors import FileConnectors, wait_for
from tests.integration.moves import Home

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.usefixtures("own_state")]

SECOND = {
    "group.id": "two",
    "config.storage.topic": "two-configs",
    "offset.storage.topic": "two-offsets",
    "status.storage.topic": "two-status",
}
FIRST = ("--group-id", "one", "--config-topic", "connect-configs")
OTHER = ("--group-id", "two", "--config-topic", "two-configs")


class Pair(NamedTuple):
    """The two Connect clusters, and the lines that each `pay` reads from a file of its own."""

    sandbox: Sandbox
    one: Home
    two: Home

    def ids(self) -> dict[str, object]:
        """Producer ID and epoch of each connector's task."""
        found = describe(self.sandbox.bootstrap_servers, ["one-pay-0", "two-pay-0"])
        return {name: None if each is None else each.producer for name, each in found.items()}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with Sandbox(SandboxSpec(workers=1, group_id="one")) as sandbox:
        sandbox.start_worker(2, SECOND)
        homes = Home(sandbox, 1, "one"), Home(sandbox, 2, "two", "two-configs", "two-offsets")
        for home in homes:
            lines = FileConnectors(home.url, sandbox.bootstrap_servers, tmp_path_factory.mktemp(home.group_id))
            lines.file("pay").write_text("line\n")
            lines.create("pay", {"topic": f"pay-{home.group_id}"})
            wait_for(lambda lines=lines: lines.offsets("pay"), bool, "an offset of pay")  # type: ignore[misc]
        yield Pair(sandbox, *homes)


@pytest.fixture
def run(pair: Pair, eosctl: Eosctl) -> Callable[..., Any]:
    def answered(*words: str, exit_code: int = 0) -> Any:
        ran = eosctl(*words, "-b", pair.sandbox.bootstrap_servers, "-o", "json")
        assert ran.exit_code == exit_code, ran.stdout + ran.stderr
        return json.loads(ran.stdout).get("data", ran.stderr)

    return answered


def test_none_of_several_is_chosen(run: Callable[..., Any], eosctl: Eosctl, pair: Pair) -> None:
    ran = eosctl("fence", "--connector", "pay", "-b", pair.sandbox.bootstrap_servers, "--yes")
    assert (ran.exit_code, "2 Connect groups: one, two" in ran.stderr) == (2, True), ran.stderr


def test_transactions_and_offsets_are_those_of_the_named_group(run: Callable[..., Any], pair: Pair) -> None:
    for group, topic, more in (("one", "connect-offsets", FIRST), ("two", "two-offsets", OTHER)):
        listed = run("transactions", "list", "--owner", "pay", *more)["transactions"]
        owners = {each["transactional_id"]: [owner["group_id"] for owner in each["owners"]] for each in listed}
        assert owners.pop(f"{group}-pay-0") == [group]
        assert group not in [name for names in owners.values() for name in names]
        url = (pair.one if group == "one" else pair.two).url
        shown = run("offsets", "show", "--connect-url", url, "--worker-offsets-topic", topic, *more)
        [row] = shown["offsets"]
        assert Path(row["partition"]["filename"]).parent.name.startswith(group)


def test_a_fence_of_the_one_leaves_the_producer_of_the_other(run: Callable[..., Any], pair: Pair) -> None:
    before = pair.ids()
    assert pair.one.ask("PUT", "/connectors/pay/stop") < 400
    lines = FileConnectors(pair.one.url, pair.sandbox.bootstrap_servers, Path())
    wait_for(lambda: lines.states("pay"), lambda states: not states, "the end of the task")
    fenced = run("fence", "--connector", "pay", "--connect-url", pair.one.url, *FIRST, "--yes")
    assert [each["transactional_id"] for each in fenced["results"]] == ["one-pay-0"]
    after = pair.ids()
    assert after["one-pay-0"] != before["one-pay-0"]
    assert after["two-pay-0"] == before["two-pay-0"]
    refused = run("fence", "--connector", "pay", "--connect-url", pair.two.url, *OTHER, "--yes", exit_code=8)
    assert "pay" in str(refused)
    assert pair.ids() == after
