"""Connectors and workers as facts: discovery and live owners."""

import pytest

from eosctl.errors import UsageError
from eosctl.model.groups import ConnectGroup, GroupMember, ListedGroup
from eosctl.model.names import ConnectorTaskId
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.workers import (
    NO_MEMBERS,
    ConnectorStatus,
    LiveOwner,
    LiveOwners,
    TaskStatus,
    WorkerTrust,
    only_connect_group,
    possible_groups,
    workers_to_ask,
)

A, B, C = "http://a:8083/", "http://b:8083/", "https://c:8443/"
HIDDEN = Skipped("User:tool lacks Describe on some of them", Cause.DENIED)


def listed(**groups: str) -> dict[str, ListedGroup]:
    """Groups by ID with "protocol/state"."""
    return {name: ListedGroup(name, *each.split("/")) for name, each in groups.items()}


def group(*urls: str | None) -> ConnectGroup:
    members = tuple(GroupMember(f"m-{number}", url) for number, url in enumerate(urls, 1))
    return ConnectGroup("Stable", "connect", "sessioned", members)


def trust(wanted: str = "", *, opted_in: bool = False) -> WorkerTrust:
    return WorkerTrust(lambda _: wanted, opted_in)


def reason(found: Skipped | None) -> str:
    assert found is not None
    return found.reason


def test_the_only_connect_group_is_found_among_groups_of_consumers() -> None:
    assert only_connect_group(listed(ours="connect/Stable", app="consumer/Stable"), None) == "ours"


def test_without_a_connect_group_none_is_found() -> None:
    assert only_connect_group(listed(app="consumer/Stable"), None) is None


def test_of_several_none_is_chosen_and_all_are_named_one_whose_workers_are_stopped_too() -> None:
    with pytest.raises(UsageError, match=r"has 2 Connect groups: east \(Empty\), west$") as caught:
        only_connect_group(listed(west="connect/Stable", east="connect/Empty"), None)
    assert caught.value.hint == "name it: --group-id (or set EOSCTL_GROUP_ID)"


def test_one_that_may_not_be_the_only_one_is_named_and_not_taken() -> None:
    found = only_connect_group(listed(ours="connect/Stable"), HIDDEN)
    assert isinstance(found, Skipped)
    assert found.reason.startswith("ours may not be the only Connect group: User:tool lacks Describe")
    assert not found.cause.is_gap


def test_groups_without_a_coordinator_leave_it_open_and_the_answer_incomplete() -> None:
    found = only_connect_group({}, Skipped("no broker leads the partition", Cause.UNREACHABLE))
    assert isinstance(found, Skipped)
    assert found.reason.startswith("there may be Connect groups: no broker leads")
    assert found.cause.is_gap


def test_members_that_the_user_did_not_name_are_asked_and_named_ones_not_again() -> None:
    assert workers_to_ask(group(A, B, "http://B:8083"), ["http://A:8083"], trust()) == {"http://b:8083": None}


def test_a_member_without_an_address_is_named_by_its_id() -> None:
    found = workers_to_ask(group(None), [], trust())
    assert reason(found["m-1"]) == "the group does not show its address while it is Stable"


def test_without_the_users_consent_a_member_is_not_asked_where_workers_want_a_password() -> None:
    found = workers_to_ask(group(A), [C], trust("a password"))["http://a:8083"]
    assert reason(found) == (
        "its address is from the group, and only a named worker gets a password: "
        "give --connect-url http://a:8083, if it is one of your workers"
    )
    assert found is not None
    assert not found.cause.is_gap
    assert workers_to_ask(group(A), [C], trust("a password", opted_in=True)) == {"http://a:8083": None}


ORDERS = ConnectorTaskId("orders", 0)
URL = "http://w:8083/"


def group_of(*tasks: ConnectorTaskId, state: str = "Stable", kind: str = "connect") -> ConnectGroup:
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
    live = LiveOwners.of({"a": NO_MEMBERS, "a-b": group_of(ConnectorTaskId("c", 0))})
    assert live.of_id("a-b-c-0") == (LiveOwner("a-b", ConnectorTaskId("c", 0), URL),)
    assert live.of_id("a-b-c-1") == ()
    assert live.connectors == {"a-b": {"c"}}


def test_two_groups_may_both_have_it() -> None:
    live = LiveOwners.of({"a": group_of(ConnectorTaskId("b-c", 0)), "a-b": group_of(ConnectorTaskId("c", 0))})
    assert [each.group_id for each in live.of_id("a-b-c-0")] == ["a", "a-b"]


def test_running_and_paused_tasks_have_producers_and_failed_ones_do_not() -> None:
    states = ("RUNNING", "PAUSED", "RESTARTING", "FAILED", "UNASSIGNED")
    found = {
        state: LiveOwners.of({"g": group_of(ORDERS)}, "g", connector(state)).of_id("g-orders-0") for state in states
    }
    assert {state: [each.state for each in owners] for state, owners in found.items()} == {
        "RUNNING": ["RUNNING"],
        "PAUSED": ["PAUSED"],
        "RESTARTING": ["RESTARTING"],
        "FAILED": [],
        "UNASSIGNED": [],
    }


@pytest.mark.parametrize("worker", ["other:8083", "w:80830"])
def test_a_rest_answer_about_another_worker_does_not_change_the_owner(worker: str) -> None:
    live = LiveOwners.of({"g": group_of(ORDERS)}, "g", connector("FAILED", worker=worker))
    assert live.of_id("g-orders-0") == (LiveOwner("g", ORDERS, URL),)


def test_sinks_have_no_transactional_producers() -> None:
    assert LiveOwners.of({"g": group_of(ORDERS)}, "g", connector("RUNNING", "sink")).of_id("g-orders-0") == ()


def test_rest_alone_shows_its_own_group() -> None:
    denied = Skipped("denied")
    live = LiveOwners.of({"g": denied, "h": denied}, "g", connector("RUNNING"))
    assert [(each.group_id, each.member) for each in live.of_id("g-orders-0")] == [("g", "w:8083")]
    assert live.unknown == {"h": denied}


def test_a_group_that_rebalances_is_unknown_where_it_may_have_the_id() -> None:
    live = LiveOwners.of({"a": group_of(state="PreparingRebalance")})
    assert live.unknown_of("a-b-c-0") == ("a",)
    assert live.unknown_of("b-c-0") == ()
    assert "PreparingRebalance" in live.unknown["a"].reason


def test_groups_of_other_kinds_have_no_tasks() -> None:
    consumers = group_of(state="PreparingRebalance", kind="consumer")
    assert LiveOwners.of({"a": consumers, "b": NO_MEMBERS}) == LiveOwners()


def test_a_leader_has_its_own_id() -> None:
    assert LiveOwners.of({"x-3": group_of()}).of_id("connect-cluster-x-3") == (LiveOwner("x-3", None, URL),)


def test_tasks_and_leaders_of_other_groups_than_connects_own_no_id() -> None:
    consumers = group_of(ORDERS, kind="consumer")
    assert LiveOwners.of({"g": consumers}) == LiveOwners()


def test_a_group_without_members_has_no_leader_and_one_whose_leader_is_unknown_names_its_members() -> None:
    empty = ConnectGroup("Empty", "connect", "sessioned", ())
    assert LiveOwners.of({"g": empty}).of_id("connect-cluster-g") == ()
    unknown = ConnectGroup("Stable", "connect", "sessioned", (GroupMember("m-1", URL, ()),), None)
    [leader] = LiveOwners.of({"g": unknown}).of_id("connect-cluster-g")
    assert str(leader) == "the leader of Connect cluster g at one of its members"


def test_a_member_without_an_address_is_the_owner_by_its_id_whatever_rest_reports() -> None:
    hidden = ConnectGroup("Stable", "connect", "sessioned", (GroupMember("m-1", None, (ORDERS,)),), URL)
    found = LiveOwners.of({"g": hidden}, None, connector("FAILED")).of_id("g-orders-0")
    assert found == (LiveOwner("g", ORDERS, "m-1"),)
