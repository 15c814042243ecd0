"""Who may write under a transactional ID now, by groups and by REST."""

from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId
from eosctl.model.skipped import Skipped
from eosctl.model.workers import NO_MEMBERS, ConnectorStatus, LiveOwner, LiveOwners, TaskStatus, possible_groups

ORDERS = ConnectorTaskId("orders", 0)
URL = "http://w:8083/"


def group(*tasks: ConnectorTaskId, state: str = "Stable", kind: str = "connect") -> ConnectGroup:
    shown = tasks if state == "Stable" else None
    return ConnectGroup(state, kind, "sessioned", (GroupMember("m-1", URL, shown),), URL)


def connector(state: str, kind: str = "source", worker: str = "w:8083") -> dict[str, ConnectorStatus]:
    return {"orders": ConnectorStatus("orders", kind, "RUNNING", (TaskStatus(0, state, worker),))}


def test_each_beginning_of_a_task_s_id_may_be_a_group() -> None:
    assert possible_groups(["a-b-c-0"]) == {"a", "a-b"}
    assert possible_groups(["connect-cluster-x-3"]) == {"connect", "connect-cluster", "x-3"}


def test_ids_that_connect_cannot_make_belong_to_no_group() -> None:
    assert possible_groups(["app", "app-0", "orders-x", "a-b-01", "a-b-", "-0", "--0"]) == frozenset()


def test_a_task_s_id_belongs_to_whichever_group_has_such_a_task() -> None:
    live = LiveOwners.of({"a": NO_MEMBERS, "a-b": group(ConnectorTaskId("c", 0))})
    assert live.of_id("a-b-c-0") == (LiveOwner("a-b", ConnectorTaskId("c", 0), URL),)
    assert live.of_id("a-b-c-1") == ()
    assert live.connectors == {"a-b": {"c"}}


def test_two_groups_may_both_have_it() -> None:
    live = LiveOwners.of({"a": group(ConnectorTaskId("b-c", 0)), "a-b": group(ConnectorTaskId("c", 0))})
    assert [each.group_id for each in live.of_id("a-b-c-0")] == ["a", "a-b"]


def test_running_and_paused_tasks_have_producers_and_failed_ones_do_not() -> None:
    states = ("RUNNING", "PAUSED", "RESTARTING", "FAILED", "UNASSIGNED")
    found = {state: LiveOwners.of({"g": group(ORDERS)}, "g", connector(state)).of_id("g-orders-0") for state in states}
    assert {state: [each.state for each in owners] for state, owners in found.items()} == {
        "RUNNING": ["RUNNING"],
        "PAUSED": ["PAUSED"],
        "RESTARTING": ["RESTARTING"],
        "FAILED": [],
        "UNASSIGNED": [],
    }


def test_what_rest_reports_of_another_worker_says_nothing_of_this_member() -> None:
    live = LiveOwners.of({"g": group(ORDERS)}, "g", connector("FAILED", worker="other:8083"))
    assert live.of_id("g-orders-0") == (LiveOwner("g", ORDERS, URL),)


def test_sinks_have_no_transactional_producers() -> None:
    assert LiveOwners.of({"g": group(ORDERS)}, "g", connector("RUNNING", "sink")).of_id("g-orders-0") == ()


def test_rest_alone_tells_of_its_own_group() -> None:
    denied = Skipped("denied")
    live = LiveOwners.of({"g": denied, "h": denied}, "g", connector("RUNNING"))
    assert [(each.group_id, each.member) for each in live.of_id("g-orders-0")] == [("g", "w:8083")]
    assert live.unknown == {"h": denied}


def test_a_group_that_rebalances_is_unknown_where_it_may_have_the_id() -> None:
    live = LiveOwners.of({"a": group(state="PreparingRebalance")})
    assert live.unknown_of("a-b-c-0") == ("a",)
    assert live.unknown_of("b-c-0") == ()
    assert "PreparingRebalance" in live.unknown["a"].reason


def test_groups_of_other_kinds_have_no_tasks() -> None:
    consumers = group(state="PreparingRebalance", kind="consumer")
    assert LiveOwners.of({"a": consumers, "b": NO_MEMBERS}) == LiveOwners()


def test_a_leader_has_its_own_id() -> None:
    assert LiveOwners.of({"x-3": group()}).of_id("connect-cluster-x-3") == (LiveOwner("x-3", None, URL),)
