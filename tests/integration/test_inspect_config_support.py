"""`eosctl inspect-config` as one cluster goes from no exactly-once over preparing to enabled, and back."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Mirror, Worker
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]


class Cluster:
    """A worker that is restarted with another exactly.once.source.support, and a connector on it."""

    def __init__(self, sandbox: Sandbox, eosctl: Eosctl) -> None:
        self.sandbox, self.eosctl = sandbox, eosctl
        self.worker = Worker(sandbox)
        self.mirror = Mirror(self.worker, "mirror")

    def restart(self, support: str) -> None:
        """Restart the worker and wait until the connector's tasks run again."""
        before = len(self.worker.task_states("mirror"))
        self.sandbox.stop_worker(1)
        self.sandbox.start_worker(1, {"exactly.once.source.support": support})
        self.worker.wait_for_tasks("mirror", before)

    def inspect(self, *flags: str) -> tuple[int, dict[str, Any]]:
        """Exit code and data."""
        where = (
            "-b",
            self.sandbox.bootstrap_servers,
            "--connect-url",
            self.worker.url,
            "--group-id",
            "connect-cluster",
        )
        ran = self.eosctl("inspect-config", *where, "-o", "json", *flags)
        return ran.exit_code, json.loads(ran.stdout)["data"]

    def check_healthy(self, rule: str, fences: int, tasks: int, record: int | None) -> None:
        """Through the eyes of either kind of worker: this rule, these counts, nothing wrong."""
        for isolation in ("read_committed", "read_uncommitted"):
            code, data = self.inspect("--isolation-level", isolation)
            (connector,) = data["connectors"]
            assert [each for each in data["findings"] if each["severity"] != "info"] == [], isolation
            assert code == 0
            assert (connector["next_start"]["rule"], connector["next_start"]["fences"]) == (rule, fences)
            assert (connector["task_count"], connector["task_count_record"]) == (tasks, record)
            assert connector["pending_fencing"] is (rule != "none")

    def rule(self) -> str:
        """The rule of the next start."""
        _, data = self.inspect()
        return str(data["connectors"][0]["next_start"]["rule"])

    def last_commit(self) -> dict[str, Any]:
        """The last task commit in the history."""
        _, data = self.inspect("--history")
        commits: list[dict[str, Any]] = [each for each in data["history"] if each["kind"] == "task-commit"]
        return commits[-1]


def test_the_way_from_disabled_to_enabled_and_back(make_sandbox: Callable[..., Sandbox], eosctl: Eosctl) -> None:
    cluster = Cluster(make_sandbox(workers=1, exactly_once="disabled"), eosctl)
    mirror = cluster.mirror

    mirror.start(2)
    cluster.check_healthy("first-start", 0, tasks=2, record=None)
    assert (cluster.last_commit()["writer"], cluster.last_commit()["transaction"]) == ("plain", None)

    cluster.restart("preparing")
    mirror.start(3)
    cluster.check_healthy("first-start", 0, tasks=3, record=None)
    assert cluster.last_commit()["transaction"] == "committed", "a preparing leader writes in transactions"

    cluster.restart("enabled")
    eventually(lambda: cluster.rule() == "none", "the first exactly-once start")  # old statuses still say RUNNING
    cluster.check_healthy("none", 0, tasks=3, record=3)
    mirror.start(2)
    cluster.check_healthy("none", 0, tasks=2, record=2)

    cluster.restart("disabled")
    mirror.start(1)
    code, data = cluster.inspect()
    (connector,) = data["connectors"]
    assert code == 1
    assert (connector["next_start"]["rule"], connector["next_start"]["fences"]) == ("fence", 2)
    found = {each["name"]: each["severity"] for each in data["findings"]}
    assert found["mixed-writers"] == "error", "the leader's last record is plain"
    assert found["pending-fencing-with-running-tasks"] == "error"
