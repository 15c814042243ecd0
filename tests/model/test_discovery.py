"""Which Connect group is the only one, and which of its members are asked though nobody named them."""

import pytest

from eosctl.errors import UsageError
from eosctl.model.groups import ConnectGroup, GroupMember, ListedGroup
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.workers import WorkerTrust, only_connect_group, workers_to_ask

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


def test_members_that_nobody_named_are_asked_and_named_ones_not_again() -> None:
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
