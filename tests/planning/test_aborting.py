"""Which open transactions may be aborted, and what speaks against the others."""

import pytest
from msgspec.structs import replace

from eosctl.model.hanging import Advice, HangingReason, OpenTransaction, Verdict
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.plan import AbortTransaction, ClusterIs, Side, TransactionHangs
from eosctl.model.preconditions import OpenNow, PlanFacts, violation
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_ends import AbortRequest
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState
from eosctl.planning.transaction_ends import plan_abort
from eosctl.planning.undo import undo_plan

PLACE = TopicPartition("orders", 3)
NOW = 1_790_000_000_000
MINUTE = 60_000
WISH = AbortRequest(PLACE, None, None, 15 * MINUTE, force=False)


def opened(start=7, producer_id=9, age_ms=20 * MINUTE, state=None, coordinator_epoch=4) -> OpenTransaction:
    producer = ProducerIdAndEpoch(producer_id, 2)
    active = ActiveProducer(PLACE, producer, 0, NOW - age_ms, coordinator_epoch, start)
    described = None if state is None else TransactionDescription("id", state, producer, MINUTE, NOW, (PLACE,), 1)
    return OpenTransaction(active, start, None if state is None else "id", described)


def hanging(transaction: OpenTransaction, advice=Advice.ABORT) -> Verdict:
    return Verdict(transaction, HangingReason.NO_TRANSACTIONAL_ID, advice)


def live(transaction: OpenTransaction) -> Verdict:
    return Verdict(transaction, None, Advice.WAIT)


def test_what_hangs_is_aborted_under_the_epochs_that_the_leader_has():
    planned = plan_abort(WISH, [hanging(opened())], NOW, "cluster")
    assert planned.objections == ()
    (step,) = planned.plan.steps
    assert step.step == AbortTransaction(Side.SOURCE, "orders", 3, 9, 2, 4, 7)
    assert step.preconditions == (
        ClusterIs(Side.SOURCE, "cluster"),
        TransactionHangs(Side.SOURCE, "orders", 3, 9, 7),
    )


def test_a_coordinator_epoch_that_is_not_known_is_sent_as_0():
    (step,) = plan_abort(WISH, [hanging(opened(coordinator_epoch=None))], NOW, "cluster").plan.steps
    assert step.step.coordinator_epoch == 0


def test_of_several_those_that_hang_are_aborted_and_the_live_one_is_left_alone():
    verdicts = [live(opened(1, 1, state=TransactionState.ONGOING)), hanging(opened(5, 2)), hanging(opened(8, 3))]
    planned = plan_abort(WISH, verdicts, NOW, "cluster")
    assert planned.objections == ()
    assert [each.step.start_offset for each in planned.plan.steps] == [5, 8]


@pytest.mark.parametrize("narrowed", [{"start_offset": 8}, {"producer_id": 3}])
def test_one_is_named_by_its_start_offset_or_its_producer(narrowed):
    verdicts = [hanging(opened(5, 2)), hanging(opened(8, 3))]
    planned = plan_abort(replace(WISH, **narrowed), verdicts, NOW, "cluster")
    assert [each.step.producer_id for each in planned.plan.steps] == [3]


@pytest.mark.parametrize(
    ("verdict", "objection", "hint"),
    [
        (
            live(opened(state=TransactionState.ONGOING)),
            "does not hang: its coordinator has it as Ongoing under id",
            "at 2026-09-21T14:14:20.000Z; or fence its producer, which aborts it in all its partitions: "
            "eosctl fence --transactional-id id",
        ),
        (
            hanging(opened(state=TransactionState.ONGOING), Advice.FENCE),
            "hangs, but its producer has another transaction in progress as id",
            "eosctl fence --transactional-id id",
        ),
        (
            hanging(opened(state=TransactionState.ONGOING), Advice.COMPLETE),
            "hangs, but its producer has another transaction in progress as id",
            "have the application of id commit or abort its two-phase transaction first",
        ),
        (hanging(opened(state=TransactionState.PREPARE_COMMIT), Advice.WAIT), "another transaction", "wait"),
        (hanging(opened(age_ms=15 * MINUTE)), "15.0 min old, younger than transactions may become", "wait"),
    ],
)
def test_what_may_still_be_ended_by_its_coordinator_is_refused(verdict, objection, hint):
    planned = plan_abort(WISH, [verdict], NOW, "cluster")
    (said,) = planned.objections
    assert objection in said
    assert hint in planned.hint


def test_forcing_it_says_what_may_break():
    planned = plan_abort(replace(WISH, force=True), [live(opened(state=TransactionState.ONGOING))], NOW, "cluster")
    assert planned.objections == ()
    (warning,) = planned.warnings
    assert "broken in two" in warning
    (step,) = planned.plan.steps
    assert step.step.forced
    assert step.preconditions[1].forced


def test_nothing_open_is_told():
    planned = plan_abort(WISH, [], NOW, "cluster")
    assert planned.objections == ("no transaction is open in orders-3, so there is nothing to abort",)
    assert planned.plan.steps == ()


WANTED = TransactionHangs(Side.SOURCE, "orders", 3, 9, 7)


@pytest.mark.parametrize(
    ("now", "forced", "why"),
    [
        (None, False, None),
        (OpenNow(7, hangs=True), False, None),
        (OpenNow(7, hangs=False), True, None),
        (OpenNow(7, hangs=False), False, "does not hang: its coordinator knows it"),
        (OpenNow(7, Skipped("no answer")), False, "whether the transaction of producer 9 in orders-3 hangs is unknown"),
        (OpenNow(12, hangs=True), True, "has a transaction from offset 12 open now, not from 7"),
    ],
)
def test_the_precondition_is_looked_at_again_at_the_moment_of_writing(now, forced, why):
    facts = PlanFacts(open_transactions={(Side.SOURCE, PLACE, 9): now})
    said = violation(replace(WANTED, forced=forced), facts)
    assert said is None if why is None else why in said


def test_an_abort_cannot_be_undone_and_the_undo_says_so():
    planned = plan_abort(WISH, [hanging(opened())], NOW, "cluster")
    (step,) = undo_plan(planned.plan).steps
    assert "cannot be rolled back" in step.step.instruction
