"""What `transactions list`, `describe` and `producers` decide: what is complete, and the exit code."""

import pytest

from eosctl.errors import NotAuthorized, Unreachable, UsageError
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import NO_LEADER, TransactionalIdAccess
from eosctl.model.report import exit_code
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import HiddenIds, Selection, TransactionState, UndescribedId
from eosctl.operations.transactions import (
    DescribeRequest,
    ProducersRequest,
    describe_transactions,
    list_producers,
    list_transactions,
)
from eosctl.sources.saved_cluster import SavedCluster
from tests.operations.test_offsets import config_topic
from tests.operations.transactions import HERE, THERE, active, cluster, described

DENIED = NotAuthorized(principal="User:test", operation="Describe", resource="TransactionalId a")


def test_a_list_that_lacks_ids_of_a_silent_coordinator_ends_with_4_and_says_so():
    reader = cluster(listed={"a": 9}, answers={"a": described("a")}, unlisted=("broker 3 did not answer",))
    found = list_transactions(reader, Selection(), "c")
    assert [each.transactional_id for each in found.transactions] == ["a"]
    assert found.missing == ("broker 3 did not answer",)
    assert exit_code(found) == 4


def test_hidden_ids_are_counted_in_the_transaction_log():
    hides = TransactionalIdAccess(("x…",), None)
    reader = cluster(listed={"a": 9}, answers={"a": described("a")}, access=hides, logged_ids=lambda: 4)
    found = list_transactions(reader, Selection(), "c")
    assert found.hidden == HiddenIds(may_see_all=False, count=3, uncertain=None)
    assert "brokers leave them out: 3 IDs" in found.notes[0]
    assert exit_code(found) == 3


def test_an_owner_that_is_no_connector_leads_to_the_one_like_it():
    reader = cluster(group_id="g", config_topic=config_topic(orders={}), listed={}, answers={}, groups={})
    assert (
        "no connector is called ordrs; did you mean orders?"
        in list_transactions(reader, Selection(owner="ordrs"), "configs").notes
    )
    assert not any("called" in note for note in list_transactions(reader, Selection(owner="orders"), "configs").notes)


def test_a_filtered_list_does_not_say_how_many_are_hidden():
    reader = cluster(access=TransactionalIdAccess(("x…",), None), logged_ids=lambda: 4)
    hidden = list_transactions(reader, Selection(states=(TransactionState.ONGOING,)), "c").hidden
    assert isinstance(hidden, HiddenIds)
    assert hidden.count == Skipped("a list with filters cannot be held against the transaction log")


def test_a_snapshot_without_producers_says_that_access_is_not_known():
    unread = Skipped("not read")
    saved = SavedCluster(Snapshot(1, unread, None, unread, {"a": described("a")}, unread, producers=unread))
    found = list_transactions(saved, Selection(), "c")
    assert found.hidden == unread
    assert [each.transactional_id for each in found.transactions] == ["a"]


def test_an_id_that_no_coordinator_knows_ends_with_1():
    found = describe_transactions(cluster(answers={"a": described("a")}), DescribeRequest(("a", "b"), "c"))
    assert [type(each) for each in found.transactions][1] is UndescribedId
    assert found.transactions[1].reason == "no coordinator knows it"
    assert exit_code(found) == 1


def test_an_id_that_may_not_be_described_comes_before_one_whose_coordinator_is_silent():
    reader = cluster(answers={"lost": Unreachable("no answer"), "a": DENIED})
    found = describe_transactions(reader, DescribeRequest(("lost", "a"), "c"))
    assert found.failure is DENIED
    assert exit_code(found) == 5


def test_a_snapshot_does_not_say_of_an_id_that_it_is_unknown_while_a_coordinator_was_silent():
    unread = Skipped("not read")
    saved = Snapshot(1, unread, None, unread, {"a": described("a")}, unread)
    assert exit_code(describe_transactions(SavedCluster(saved), DescribeRequest(("b",), "c"))) == 1
    silent = Snapshot(1, unread, None, unread, {"a": described("a")}, unread, unlisted=("broker 3 was down",))
    found = describe_transactions(SavedCluster(silent), DescribeRequest(("b",), "c"))
    assert "or its coordinator did not answer: broker 3 was down" in str(found.failure)
    assert exit_code(found) == 4


def test_producers_are_joined_with_the_ids_that_hold_them():
    reader = cluster([active(9), active(10)], listed={"a": 9})
    found = list_producers(reader, ProducersRequest(("orders",), "c"))
    assert found.transactional_ids == {9: "a"}
    assert exit_code(found) == 0


def test_a_partition_without_leader_is_named_and_ends_with_4():
    reader = cluster([active(9)], listed={"a": 9}, partitions={HERE: 1, THERE: NO_LEADER})
    found = list_producers(reader, ProducersRequest(("orders",), "c"))
    assert (found.not_searched, exit_code(found)) == ((THERE,), 4)


def test_producers_of_no_topic_are_refused():
    with pytest.raises(UsageError, match="no topic was named"):
        list_producers(cluster([]), ProducersRequest((), "c"))
