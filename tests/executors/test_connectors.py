"""When a connector counts as running again, by what its status says of its tasks."""

import pytest

from eosctl.analysis.explanations import is_overtaken
from eosctl.errors import Refused
from eosctl.executors.connectors import is_running

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
