"""What a plan's preconditions are read from: connectors over REST."""

import json
from collections.abc import Iterator

import pytest

from eosctl.analysis.config_topic import connector_states
from eosctl.clients.access import ClusterAccess
from eosctl.clients.wire import Wire
from eosctl.errors import UsageError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.skipped import Skipped
from eosctl.sources.plan_facts import read_connector_facts
from tests.sources.test_connect_rest import Reply, worker

NOT_FOUND: Reply = (404, b'{"error_code":404,"message":"No status found for connector c"}')


def status(*states: str) -> Reply:
    """The status of a connector whose tasks are in these states."""
    tasks = [{"id": number, "state": state, "worker_id": "w"} for number, state in enumerate(states)]
    return 200, json.dumps({"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": tasks}).encode()


def facts(replies: Iterator[Reply], timeout_s: float = 5.0) -> ConnectorFacts | Skipped:
    """What is told about connector c, which does not exist; `replies` are the answers to asking for its status."""

    def answer(path: str) -> Reply:
        return next(replies) if path == "/connectors/c/status" else (200, b"{}")

    with worker(answer) as url, Wire(ClientProperties(("localhost:1",))) as wire:
        return read_connector_facts(ClusterAccess(wire, (url,), None, timeout_s), ["c"], connector_states)["c"]


def test_the_end_of_a_deleted_connector_s_tasks_is_waited_for():
    replies = iter([status("RUNNING", "RUNNING"), status("UNASSIGNED", "RUNNING"), NOT_FOUND])
    assert facts(replies) == ConnectorFacts(None)
    assert next(replies, None) is None


@pytest.mark.parametrize("state", ["UNASSIGNED", "FAILED"])
def test_a_task_that_has_ended_is_not_waited_for(state: str):
    assert facts(iter([status(state)])) == ConnectorFacts(None)


def test_whether_it_has_ended_is_unknown_when_the_time_is_up():
    told = facts(iter(lambda: status("UNASSIGNED", "RUNNING"), None), timeout_s=0.3)
    assert told == Skipped("it does not exist, and tasks 1 of it have not ended")


def test_a_sink_has_no_source_offsets():
    body = {"c": {"info": {"type": "sink"}, "status": {"connector": {"state": "STOPPED"}, "tasks": []}}}
    with (
        worker(lambda _: (200, json.dumps(body).encode())) as url,
        Wire(ClientProperties(("localhost:1",))) as wire,
        pytest.raises(UsageError, match="connector c is a sink"),
    ):
        read_connector_facts(ClusterAccess(wire, (url,), None, 5), ["c"], connector_states)
