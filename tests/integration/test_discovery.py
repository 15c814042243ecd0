"""A real cluster of which only the brokers are named: eosctl finds group and workers, and the answer is the same."""

import json
from typing import Any

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
GROUP = "connect-cluster"


def judged(ran: Ran) -> dict[str, Any]:
    """The findings of the checks, and their workers, as far as a GET shows it."""
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    data = json.loads(ran.stdout)["data"]
    workers = [(each["url"], each["version"]) for each in data["workers"]]
    return {"group_id": data["group_id"], "workers": workers, "findings": data["findings"]}


def test_the_checks_find_with_the_brokers_alone_what_they_find_with_all_named(connect_sandbox: Sandbox, eosctl) -> None:
    here = ("-b", connect_sandbox.bootstrap_servers, "-o", "json")
    [url] = connect_sandbox.connect_urls
    named: list[dict[str, Any]] = []
    found: list[Ran] = []

    def both() -> bool:
        named.append(judged(eosctl("doctor", *here, "--group-id", GROUP, "--connect-url", url, "--no-preflight")))
        found.append(eosctl("doctor", *here))
        return judged(found[-1]) == named[-1]

    eventually(both, lambda: f"{judged(found[-1])} is {named[-1]}", deadline_s=60)
    assert (named[-1]["group_id"], [each for each, _ in named[-1]["workers"]]) == (GROUP, [url])
    [worker] = json.loads(found[-1].stdout)["data"]["workers"]
    assert worker["exactly_once"] == "unknown"
    assert "give its --connect-url" in worker["reason"]
    assert found[-1].exit_code == 3
    assert found[-1].stderr.splitlines() == [
        f"Connect group {GROUP}: the only one of the Kafka cluster (--group-id names another)",
        f"also read: workers that are members of Connect group {GROUP}: {url}",
    ]
    assert eosctl("doctor", *here, "-q").stderr == ""


def test_a_command_that_writes_shows_the_group_and_takes_no_yes_for_it(connect_sandbox: Sandbox, eosctl) -> None:
    move = ("migrate-offsets", "-b", connect_sandbox.bootstrap_servers, "--connector", "nobody", "--to-topic", "t")
    refused = eosctl(*move, "--yes")
    assert refused.exit_code == 8
    assert f"Connect group {GROUP} was found and not named: --yes alone is not enough" in refused.stderr
    assert f"Connect group {GROUP}: the only one" in eosctl(*move, "--dry-run").stderr
