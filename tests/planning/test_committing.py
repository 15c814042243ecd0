"""Which transactions may be committed for their owner, and what speaks against the others."""

import pytest
from msgspec.structs import replace

from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.plan import (
    NOTHING_OPEN,
    ClusterIs,
    CommitTransaction,
    ManualStep,
    NoLiveOwner,
    OpenPart,
    Side,
    TransactionNow,
    TransactionUnchanged,
)
from eosctl.model.preconditions import PlanFacts, violation
from eosctl.model.skipped import Skipped
from eosctl.model.step_descriptions import demanded_steps, lacking
from eosctl.model.transaction_ends import CommitFacts, CommitRequest
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import Ownership, TaskOwner, TransactionDescription, TransactionState
from eosctl.model.workers import LiveOwners
from eosctl.planning.transaction_ends import plan_commit
from eosctl.planning.undo import undo_plan

NOW, STARTED = 1_790_000_000_000, 1_789_999_990_000
HELD = ProducerIdAndEpoch(42, 3)
HERE, THERE = OpenPart("orders", 0, 10, 4), OpenPart("orders", 1, 7, 0)
PLACES = (HERE.topic_partition, THERE.topic_partition)
PARTS = {each.topic_partition: each for each in (HERE, THERE)}
WISH = CommitRequest("sink-7", HELD, 5.0)
STEP = CommitTransaction(Side.SOURCE, "sink-7", 42, 3, STARTED, 2, (HERE, THERE))


def described(state=TransactionState.ONGOING, producer=HELD, places=PLACES) -> TransactionDescription:
    return TransactionDescription("sink-7", state, producer, 60_000, STARTED if state.is_open else None, places, 1)


def logged(state=TransactionState.ONGOING, producer=HELD, version=2, **more) -> TransactionLogValue:
    value = TransactionLogValue(1, producer, 60_000, state, PLACES, NOW - 5_000, STARTED)
    return replace(value, client_transaction_version=version, **more)


def facts(**given) -> CommitFacts:
    basis = CommitFacts(NOW, "cluster", described(), logged(), PARTS, PARTS, Ownership((), ()), LiveOwners())
    return replace(basis, **given)


def ended(state: TransactionState, producer: ProducerIdAndEpoch, version: int, **more) -> CommitFacts:
    return facts(described=described(state, producer), logged=logged(state, producer, version, **more))


def objections(found: CommitFacts, wish: CommitRequest = WISH) -> str:
    planned = plan_commit(wish, found)
    assert planned.plan.steps == ()
    assert planned.failure is not None
    assert planned.failure.exit_code == 8
    return "; ".join(planned.objections)


def test_what_its_owner_wants_committed_is_as_the_client_would_have_committed_it():
    planned = plan_commit(WISH, facts())
    assert planned.objections == ()
    (step,) = planned.plan.steps
    assert step.step == STEP
    assert step.preconditions == (ClusterIs(Side.SOURCE, "cluster"), NoLiveOwner(Side.SOURCE, ("sink-7",)))
    assert "a commit cannot be rolled back" in planned.warnings[0]
    assert "its coordinator aborts it at" in planned.warnings[-1]


def test_a_step_demands_that_the_transaction_is_the_same_and_nobody_has_the_id():
    (step,) = demanded_steps(plan_commit(WISH, facts()).plan)
    assert TransactionUnchanged(Side.SOURCE, "sink-7", 42, 3, STARTED, (HERE, THERE)) in step.preconditions
    assert NoLiveOwner(Side.SOURCE, ("sink-7",)) in step.preconditions
    assert lacking(plan_commit(WISH, facts()).plan) == ()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (facts(described=None, logged=None), "no coordinator knows sink-7"),
        (facts(described=described(producer=ProducerIdAndEpoch(43, 3))), "is held by producer 43/3, not by 42/3"),
        (facts(described=described(producer=ProducerIdAndEpoch(42, 4))), "is held by producer 42/4, not by 42/3"),
        (facts(logged=None), "the transaction log has no record of sink-7"),
        (facts(logged=logged(start_ms=STARTED + 1)), "changed while it was read"),
        (facts(described=described(places=PLACES[:1])), "may not be described"),
        (facts(after={**PARTS, PLACES[0]: replace(HERE, last_sequence=5)}), "it wrote to orders-0 (watched for 5 s)"),
        (facts(after={**PARTS, TopicPartition("new", 0): THERE}), "it wrote to new-0"),
        (facts(after={**PARTS, PLACES[1]: Skipped("no leader")}), "is unknown in orders-1: no leader"),
    ],
)
def test_what_speaks_against_it_is_said(found: CommitFacts, said: str):
    assert said in objections(found)


@pytest.mark.parametrize(
    ("state", "producer", "version", "said"),
    [
        (
            TransactionState.COMPLETE_COMMIT,
            ProducerIdAndEpoch(42, 3),
            0,
            "is committed already, there is nothing to do",
        ),
        (
            TransactionState.COMPLETE_COMMIT,
            ProducerIdAndEpoch(42, 4),
            2,
            "is committed already, there is nothing to do",
        ),
        (TransactionState.PREPARE_COMMIT, ProducerIdAndEpoch(42, 4), 2, "is being committed"),
        (TransactionState.COMPLETE_ABORT, ProducerIdAndEpoch(42, 3), 0, "is aborted and cannot be committed"),
        (TransactionState.COMPLETE_ABORT, ProducerIdAndEpoch(42, 4), 2, "is aborted and cannot be committed"),
        (TransactionState.PREPARE_ABORT, ProducerIdAndEpoch(42, 4), 2, "is aborted and cannot be committed"),
    ],
)
def test_a_transaction_that_has_ended_is_said_with_its_end(state, producer, version, said):
    assert said in objections(ended(state, producer, version))


@pytest.mark.parametrize(
    ("state", "producer", "version"),
    [
        (TransactionState.EMPTY, ProducerIdAndEpoch(42, 4), 0),
        (TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(42, 4), 0),
        (TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(42, 3), 2),
        (TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(43, 0), 2),
        (TransactionState.COMPLETE_ABORT, ProducerIdAndEpoch(42, 4), 1),
    ],
)
def test_what_the_last_transaction_of_another_epoch_does_not_show_is_not_concluded_from_it(state, producer, version):
    said = objections(ended(state, producer, version))
    assert "what became of its last one is not known by that" in said
    assert "committed already" not in said
    assert "aborted" not in said


def test_behind_the_last_epoch_the_next_producer_id_shows_that_it_is_committed():
    last, follows = CommitRequest("sink-7", ProducerIdAndEpoch(42, 32_766), 5.0), ProducerIdAndEpoch(43, 0)
    state = TransactionState.COMPLETE_COMMIT
    assert "committed already" in objections(ended(state, follows, 2, previous_producer_id=42), last)
    assert "not known by that" in objections(ended(state, follows, 2, previous_producer_id=41), last)


def test_no_client_has_the_epoch_that_markers_have():
    beyond = ProducerIdAndEpoch(42, 32_767)
    found = facts(described=described(producer=beyond), logged=logged(producer=beyond))
    assert "none above 32766" in objections(found, CommitRequest("sink-7", beyond, 5.0))


def test_what_belongs_to_connect_is_never_committed_whether_its_task_is_at_work_or_not():
    task = ConnectorTaskId("orders", 0)
    owned = Ownership((TaskOwner("connect-cluster", task),), ())
    assert "Connect never commits what a task left behind" in objections(facts(ownership=owned))
    member = GroupMember("worker-1", None, (task,))
    group = ConnectGroup("Stable", "connect", "sessioned", (member,))
    live = LiveOwners.of({"connect-cluster": group})
    wish = replace(WISH, transactional_id="connect-cluster-orders-0")
    assert "is also that of task 0 of connector orders" in objections(facts(live=live), wish)


def test_a_partition_without_a_record_is_warned_of():
    empty = replace(THERE, start_offset=NOTHING_OPEN, last_sequence=NOTHING_OPEN)
    parts = {**PARTS, PLACES[1]: empty}
    planned = plan_commit(WISH, facts(before=parts, after=parts))
    assert any("nothing of it is in orders-1" in each for each in planned.warnings)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (TransactionNow(TransactionState.ONGOING, HELD, STARTED, PARTS), None),
        (TransactionNow(TransactionState.PREPARE_COMMIT, ProducerIdAndEpoch(42, 4), STARTED), None),
        (TransactionNow(TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(43, 0), STARTED), None),
        (TransactionNow(TransactionState.COMPLETE_COMMIT, HELD, STARTED + 1), "the transaction of the plan has ended"),
        (TransactionNow(TransactionState.COMPLETE_ABORT, HELD, STARTED), "the transaction of the plan has ended"),
        (TransactionNow(TransactionState.ONGOING, HELD, STARTED + 1, PARTS), "the transaction of the plan has ended"),
        (TransactionNow(TransactionState.ONGOING, ProducerIdAndEpoch(42, 4), STARTED, PARTS), "held by producer 42/4"),
        (
            TransactionNow(TransactionState.ONGOING, HELD, STARTED, {PLACES[0]: HERE}),
            "unknown in orders-1, which is hidden",
        ),
        (TransactionNow(TransactionState.ONGOING, HELD, STARTED, {PLACES[0]: Skipped("x")}), "unknown in orders-0: x"),
        (TransactionNow(None), "no coordinator knows sink-7 any more"),
        (Skipped("no answer"), "what became of the transaction of sink-7 is unknown: no answer"),
    ],
)
def test_the_transaction_is_looked_at_again_at_the_moment_of_the_commit(now, why):
    wanted = TransactionUnchanged(Side.SOURCE, "sink-7", 42, 3, STARTED, (HERE, THERE))
    said = violation(wanted, PlanFacts(transactions={(Side.SOURCE, "sink-7"): now}))
    assert said is None if why is None else why in (said or "")


def test_a_commit_cannot_be_undone_and_the_undo_says_so():
    (step,) = undo_plan(plan_commit(WISH, facts()).plan).steps
    assert isinstance(step.step, ManualStep)
    assert "cannot be rolled back" in step.step.instruction
