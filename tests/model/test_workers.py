"""Whose task has an ID: by the members of groups, and by the states that REST reports of them."""

import pytest

from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.workers import ConnectorStatus, FoundWorkers, LiveOwner, LiveOwners, TaskStatus, possible_groups
from tests.model.test_connectors import ORDERS, URL, connector, group_of


@pytest.mark.parametrize(
    ("name", "groups"),
    [("a--0", set()), ("a-b--0", {"a"}), ("-a-b-0", {"-a"}), ("a-b-0", {"a"}), ("connect-cluster-g", {"g"})],
)
def test_neither_a_group_nor_a_connector_has_an_empty_name(name: str, groups: set[str]):
    assert possible_groups([name]) == groups


@pytest.mark.parametrize(
    ("statuses", "owner"),
    [
        (connector("RUNNING"), LiveOwner("g", ORDERS, URL, "RUNNING")),
        (connector("RUNNING", worker="W:8083"), LiveOwner("g", ORDERS, URL, "RUNNING")),
        (connector("RUNNING", "sink", "other:8083"), LiveOwner("g", ORDERS, URL)),
        ({}, LiveOwner("g", ORDERS, URL)),
        (connector("RUNNING", "sink"), None),
        (connector("FAILED"), None),
    ],
)
def test_a_member_has_its_task_unless_rest_says_otherwise_of_that_member(statuses, owner: LiveOwner | None):
    found = LiveOwners.of({"g": group_of(ORDERS)}, "g", statuses).of_id("g-orders-0")
    assert found == (() if owner is None else (owner,))


def test_each_task_of_a_member_has_its_own_state():
    tasks = (TaskStatus(0, "FAILED", "w:8083"), TaskStatus(1, "RUNNING", "w:8083"))
    second = ConnectorTaskId("orders", 1)
    statuses = {"orders": ConnectorStatus("orders", "source", "RUNNING", tasks)}
    live = LiveOwners.of({"g": group_of(ORDERS, second)}, "g", statuses)
    assert live.of_id("g-orders-0") == ()
    assert live.of_id("g-orders-1") == (LiveOwner("g", second, URL, "RUNNING"),)


@pytest.mark.parametrize(
    ("tasks", "kind", "unknown"), [(None, "connect", True), ((), "connect", False), (None, "consumer", False)]
)
def test_tasks_of_a_connect_group_that_does_not_show_them_are_unknown(tasks, kind: str, unknown: bool):
    group = ConnectGroup("Stable", kind, "", (GroupMember("a", None, ()), GroupMember("b", None, tasks)))
    assert bool(LiveOwners.of({"g": group}).unknown) is unknown


def test_a_worker_that_was_not_to_be_asked_is_not_silent():
    silent, left = Skipped("no answer", Cause.UNREACHABLE), Skipped("it wants a password", Cause.NOT_ASKED)
    assert FoundWorkers((), {"a": silent, "b": left}).silent == {"a": silent}


def test_indexes_of_tasks_are_by_their_states():
    states = ("PAUSED", "RUNNING", "FAILED", "UNASSIGNED", "RUNNING")
    tasks = tuple(TaskStatus(4 - number, each, "w") for number, each in enumerate(states))
    found = ConnectorStatus("c", "source", "RUNNING", tasks)
    assert (found.running_tasks, found.producing_tasks) == ((0, 3), (0, 3, 4))
