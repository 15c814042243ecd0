"""What an audit is planned from: what a cluster answers, and what it keeps for itself."""

from typing import Any

import pytest

from eosctl.errors import NotAuthorized, UsageError
from eosctl.model.audit import AuditedTopic, OpenAtPlan, PartitionBounds, TopicRole, TransactionalIdHolder
from eosctl.model.hanging import TransactionalIdAccess
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets, TopicDescription
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from eosctl.operations.audit_topics import AuditScope, read_bounds
from tests.fake_cluster import FakeCluster

ROWS = TopicPartition("rows", 0)
SETTINGS = {"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"}
SCOPE = AuditScope((AuditedTopic("rows", TopicRole.OUTPUT, connectors=("orders",)),), ("orders",))
TASK = "connect-cluster-orders-0"
WRITER = ProducerIdAndEpoch(7, 0)


def cluster(**facts: Any) -> FakeCluster:
    """One topic, in which the transaction of a task is open from offset 4."""
    described = TransactionDescription(TASK, TransactionState.ONGOING, WRITER, 60_000, 1, (ROWS,), 1)
    known: dict[str, Any] = {
        "topics": {"rows": TopicDescription("rows", 1, "id-of-rows", SETTINGS)},
        "bounds": {ROWS: PartitionOffsets(ROWS, 2, 4, 9)},
        "record_batches": lambda: open,
        "transactional_ids": listed(TransactionListing(TASK, 7, TransactionState.ONGOING, 1)),
        "partitions": {ROWS: 1},
        "producers": AnsweredProducers((ActiveProducer(ROWS, WRITER, 0, 5, None, 4),), ()),
        "access": TransactionalIdAccess((), None),
        "describe": {TASK: described},
    }
    return FakeCluster(as_of=10, **known | facts)


def listed(*transactions: TransactionListing, unanswered: dict[int, str] | None = None) -> ListedTransactions:
    return ListedTransactions(transactions, unanswered or {}, ())


def test_a_plan_has_what_the_cluster_answers():
    plan = read_bounds(cluster(), SCOPE)
    assert (plan.as_of, plan.cluster_id, plan.ranges) == (10, "fake", ())
    assert plan.bounds == (PartitionBounds("rows", 0, 2, 4, 9, 2),)
    assert plan.topics == (AuditedTopic("rows", TopicRole.OUTPUT, "id-of-rows", "delete", ("orders",), 1000),)
    assert plan.holders == (TransactionalIdHolder(7, TASK),)
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, TASK, False, None),)
    assert (plan.unread, plan.gaps.unread) == ({}, ())


def test_a_transaction_that_no_coordinator_lists_hangs():
    plan = read_bounds(cluster(transactional_ids=listed(), describe={}), SCOPE)
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, None, True, "no-transactional-id"),)


def test_a_transaction_that_has_ended_meanwhile_does_not_hang():
    writer = ActiveProducer(ROWS, WRITER, 0, 5, None, 4)
    answers = iter([AnsweredProducers((writer,), ()), AnsweredProducers((), ())])
    plan = read_bounds(
        cluster(transactional_ids=listed(), describe={}, producers=lambda *_, **__: next(answers)), SCOPE
    )
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, None, False, None),)


def test_what_hides_transactional_ids_leaves_holders_and_open_transactions_unread():
    hidden = TransactionalIdAccess(("x…",), None)
    silent = listed(unanswered={2: "broker 2 did not answer"})
    plan = read_bounds(cluster(access=hidden, transactional_ids=silent), SCOPE)
    assert isinstance(plan.open, Skipped)
    assert (plan.open.cause, "transactional ID" in plan.open.reason) == (Cause.DENIED, True)
    assert plan.holders == Skipped("broker 2 did not answer")
    assert [(each.what, each.cause) for each in plan.gaps.unread] == [
        ("holders of producer IDs", Cause.UNREACHABLE),
        ("open transactions", Cause.DENIED),
    ]


def test_an_error_of_the_coordinators_is_no_error_of_the_plan():
    denied = NotAuthorized(principal="User:a", operation="Describe", resource="TransactionalId *")
    plan = read_bounds(cluster(transactional_ids=denied), SCOPE)
    assert plan.holders == plan.open == Skipped(denied.message)


def test_without_leader_nobody_knows_what_is_open():
    plan = read_bounds(cluster(producers=AnsweredProducers((), (ROWS,))), SCOPE)
    assert plan.open == Skipped("no leader answered for rows-0")


def test_without_record_batches_topics_are_unread_and_nothing_bounds_them():
    plan = read_bounds(cluster(record_batches=Skipped("none is saved", Cause.NOT_SAVED)), SCOPE)
    assert (plan.bounds, plan.unread) == ((), {"topic rows": Skipped("none is saved")})
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, TASK, False, None),)


def test_a_topic_that_does_not_exist_is_an_error():
    with pytest.raises(UsageError, match="topic rows does not exist"):
        read_bounds(cluster(topics={}, topic_names=frozenset()), SCOPE)
