"""Transactional IDs and the Connect leaders and tasks they belong to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.transactions import KnownNames
from eosctl.model.names import ConnectorTaskId, coordinator_partition, java_hash, stem_and_task, task_transactional_id
from eosctl.model.transactions import LeaderOwner, TaskOwner


def test_a_task_id_belongs_to_its_task() -> None:
    names = KnownNames.of({"g": ["orders"]})
    assert names.owners("g-orders-12") == (TaskOwner("g", ConnectorTaskId("orders", 12)),)


def test_a_leader_id_belongs_to_the_leader() -> None:
    assert KnownNames.of({"g": []}).owners("connect-cluster-g") == (LeaderOwner("g"),)


@pytest.mark.parametrize(
    "stranger", ["g-orders", "g-orders-", "g-orders-x", "g-orders-1-2", "g-order-0", "", "-0", "orders-0"]
)
def test_an_unknown_id_belongs_to_nobody(stranger: str) -> None:
    assert KnownNames.of({"g": ["orders"]}).owners(stranger) == ()


def test_two_groups_may_share_one_id() -> None:
    names = KnownNames.of({"a": ["b-c"], "a-b": ["c"]})
    assert names.owners("a-b-c-0") == (
        TaskOwner("a", ConnectorTaskId("b-c", 0)),
        TaskOwner("a-b", ConnectorTaskId("c", 0)),
    )


def test_a_task_may_share_its_id_with_another_groups_leader() -> None:
    names = KnownNames.of({"connect-cluster": ["x"], "x-3": []})
    assert names.owners("connect-cluster-x-3") == (
        LeaderOwner("x-3"),
        TaskOwner("connect-cluster", ConnectorTaskId("x", 3)),
    )


def test_an_index_with_a_zero_in_front_is_none_of_connects() -> None:
    assert KnownNames.of({"g": ["c"]}).owners("g-c-00") == ()


def test_an_index_in_other_digits_is_still_an_index() -> None:
    assert KnownNames.of({"g": ["c"]}).owners("g-c-٣") == (TaskOwner("g", ConnectorTaskId("c", 3)),)


@given(st.text(min_size=1), st.text(min_size=1), st.integers(0, 10_000))
def test_the_owner_of_a_task_id_is_always_among_its_readings(group: str, connector: str, task: int) -> None:
    owner = TaskOwner(group, ConnectorTaskId(connector, task))
    assert owner in KnownNames.of({group: [connector]}).owners(task_transactional_id(group, owner.task))


@pytest.mark.parametrize(
    ("transactional_id", "hashed", "partition"),
    [
        ("connect-cluster-connect-cluster", 156416609, 9),
        ("connect-cluster-file-source-0", -1324176135, 35),
        ("connect-cluster-reddit-source-10", 857946968, 18),
        ("A-mm2-MirrorSourceConnector-0", -1041593425, 25),
        ("ü-😀-0", 369927287, 37),
        ("polygenelubricants", -(1 << 31), 0),
    ],
)
def test_the_coordinator_partition_is_java_s(transactional_id: str, hashed: int, partition: int) -> None:
    assert java_hash(transactional_id) == hashed
    assert coordinator_partition(transactional_id, 50) == partition


@pytest.mark.parametrize("index", ["", "00", "1a", "+1", "9" * 11, "9" * 5_000])
def test_what_no_task_can_have_has_no_stem(index: str) -> None:
    assert stem_and_task(f"g-c-{index}") is None
    assert stem_and_task("g-c-2147483647") == ("g-c", 2_147_483_647)
