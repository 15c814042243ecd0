"""A connector that shows a task although it is STOPPED: how that comes about, and what eosctl says and does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.doctoring import Eosctl, Rest
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
SOURCE = Path(__file__).with_name("SlowStartSource.java")
IMPATIENT = {"task.shutdown.graceful.timeout.ms": "100"}
"""Workers wait so long for a task to end."""


@pytest.fixture(params=["3.6.2", "4.3.1"])
def impatient(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    plugins = {"plugin.path": plugin_path(request.param, SOURCE, tmp_path)}
    with Sandbox(SandboxSpec(request.param, workers=1, worker_config=IMPATIENT | plugins)) as started:
        yield started


def test_a_task_that_was_still_starting_is_shown_until_the_connector_is_stopped_again(
    impatient: Sandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    rest, file = Rest(impatient.connect_url(1)), tmp_path / "offsets.json"
    where = ("--connector", "slow", "-b", impatient.bootstrap_servers, "--connect-url", rest.url)
    group = ("--group-id", "connect-cluster")
    stop_while_its_task_starts(rest, eosctl, tmp_path, file, *where)
    assert rest.ask("GET", "/connectors/slow/status")["connector"]["state"] == "STOPPED"
    assert rest.ask("GET", "/connectors/slow")["tasks"] == []
    refused = eosctl("offsets", "restore", file, *where, *group, "--yes")
    assert refused.exit_code != 0
    assert "connector slow is STOPPED with 1 task" in refused.stderr
    assert "stop it again (PUT /connectors/slow/stop, or --stop with --connect-url)" in refused.stderr
    restored = eosctl("offsets", "restore", file, *where, *group, "--stop", "--yes")
    assert restored.exit_code == 0, restored.stderr
    assert rest.states("slow") == []


def stop_while_its_task_starts(rest: Rest, eosctl: Eosctl, directory: Path, file: Path, *where: object) -> None:
    """Exports the connector's offsets, then stops it: the task is removed first, and shown when it has started."""
    holds = directory / "holds"
    rest.put("slow", {"connector.class": "SlowStartSource", "topic": "out", "held.by": str(holds)})
    eventually(lambda: rest.ask("GET", "/connectors/slow/offsets")["offsets"], "its offset is committed")
    assert eosctl("offsets", "export", file, *where).exit_code == 0
    holds.touch()
    rest.ask("POST", "/connectors/slow/tasks/0/restart")
    eventually((directory / "holds.waiting").exists, "its task starts")
    rest.ask("PUT", "/connectors/slow/stop")
    eventually(lambda: rest.states("slow") == [], "its task is removed")
    holds.unlink()
    rest.await_tasks("slow")
