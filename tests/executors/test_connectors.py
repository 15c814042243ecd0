"""When a connector counts as stopped, and as running again, by what its status says of its tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from eosctl.analysis.explanations import is_overtaken
from eosctl.clients.access import ClusterAccess
from eosctl.clients.wire import Wire
from eosctl.errors import Refused, TimedOut
from eosctl.executors import connectors
from eosctl.executors.connectors import ResumeChecks, await_operator, is_running, stop_connector
from eosctl.model.plan import AwaitOperator, Side, StopConnector
from tests.sources.fake_connect import FakeWorker, serve

SETTING = "offsets.storage.topic"
RUNNING = (0, "RUNNING", "")
CANNOT = (
    "org.apache.kafka.connect.errors.ConnectException: Cannot start source task orders-1 with exactly-once support "
)


@pytest.mark.parametrize(
    ("state", "tasks", "running"),
    [
        ("RUNNING", (RUNNING,), True),
        ("RUNNING", (RUNNING, (1, "RUNNING", "")), True),
        ("RUNNING", (), False),
        ("PAUSED", (RUNNING,), False),
        ("RUNNING", (RUNNING, (1, "UNASSIGNED", "")), False),
        (
            "RUNNING",
            (RUNNING, (1, "FAILED", CANNOT + "as the connector has already generated a new set of task configs")),
            False,
        ),
        ("RUNNING", (RUNNING, (1, "FAILED", "x as it has already been revoked from this worker")), False),
    ],
)
def test_a_connector_runs_when_all_its_tasks_do(state: str, tasks: tuple[tuple[int, str, str], ...], running: bool):
    assert is_running("orders", state, tasks, is_restarted=is_overtaken) is running


@pytest.mark.parametrize(
    ("trace", "told"), [("java.lang.Exception: no\n\tat x", "java.lang.Exception: no"), ("", "no trace")]
)
def test_a_task_that_failed_for_good_is_told(trace: str, told: str):
    with pytest.raises(Refused, match=f"^task 1 of connector orders FAILED: {told}$"):
        is_running("orders", "RUNNING", (RUNNING, (1, "FAILED", trace)), is_restarted=is_overtaken)


@dataclass
class StoppingWorker(FakeWorker):
    """One whose connector `orders` shows the next of these tasks with each stop."""

    shown: Sequence[str] = ()
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def stops(self) -> int:
        return self.requests.count(("PUT", "/connectors/orders/stop", None))

    def _entry(self, _: str) -> object:
        state = self.shown[min(self.stops, len(self.shown)) - 1]
        tasks = [{"id": 0, "state": state, "worker_id": "w"}] if state else []
        return {"status": {"connector": {"state": "STOPPED", "worker_id": "w"}, "tasks": tasks, "type": "source"}}

    def _answer(self, path: str, body: dict[str, object] | None) -> object:
        if path.endswith(("/stop", "/config")):
            return dict(self.config)
        return super()._answer(path, body)


def stopped(worker: StoppingWorker, timeout_s: float, *others: StoppingWorker) -> str:
    with serve(worker, *others) as urls:
        access = ClusterAccess(cast("Wire", None), tuple(urls), None, timeout_s)
        return stop_connector(StopConnector(Side.SOURCE, "orders"), lambda: None, access=access)


def test_a_connector_that_keeps_a_task_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(connectors={"orders": None}, shown=("RUNNING", "UNASSIGNED", ""))
    assert stopped(worker, 30) == "connector orders is STOPPED and has no tasks"
    assert worker.stops == 3


def test_a_connector_that_keeps_a_task_until_the_time_is_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(connectors={"orders": None}, shown=("UNASSIGNED",))
    with pytest.raises(TimedOut, match=r"^waited 1 s for connector orders to be STOPPED .* it is STOPPED with 1 task$"):
        stopped(worker, 1)
    assert worker.stops > 1


def test_a_wait_in_vain_is_not_begun_again_with_the_next_worker() -> None:
    first, second = (StoppingWorker(connectors={"orders": None}, shown=("RUNNING",)) for _ in range(2))
    with pytest.raises(TimedOut, match=r"^waited 0\.5 s for connector orders"):
        stopped(first, 0.5, second)
    assert (first.stops, second.stops) == (1, 0)


@pytest.mark.parametrize(("topic", "file"), [("own", "configured.yaml"), (None, "stopped.yaml")])
def test_an_operators_connector_is_stopped_with_the_config_it_has_and_again_while_it_keeps_a_task(
    topic: str | None, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(
        connectors={"orders": None}, shown=("", "RUNNING"), config={SETTING: topic} if topic else {}
    )
    step = AwaitOperator(
        Side.SOURCE, "orders", "stopped.yaml", "STOPPED", changed={SETTING: "own"}, changed_file="configured.yaml"
    )
    said: list[str] = []
    with serve(worker) as urls:
        access = ClusterAccess(cast("Wire", None), tuple(urls), None, 30)
        told = await_operator(step, lambda: None, access=access, checks=cast("ResumeChecks", None), say=said.append)
    assert said == [f"apply {file} now, if it is not: waiting for the operator of connector orders"]
    assert told == f"connector orders is STOPPED without tasks, as {file} says"
    assert worker.stops == 1


def test_a_connector_without_tasks_is_stopped_once() -> None:
    worker = StoppingWorker(connectors={"orders": None}, shown=("",))
    stopped(worker, 30)
    assert worker.stops == 1
