"""Transactions that are aborted or committed by hand."""

import pytest
from msgspec.structs import replace

from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.hanging import Advice, Decision, HangingReason, OpenTransaction, Verdict
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.plan import (
    AbortTransaction,
    CommitTransaction,
    FenceTransaction,
    ManualStep,
    WriteCommitMarker,
    demanded_steps,
    lacking,
)
from eosctl.model.preconditions import (
    NOTHING_OPEN,
    ClusterIs,
    NoLiveOwner,
    OpenNow,
    OpenPart,
    PlanFacts,
    TransactionHangs,
    TransactionNow,
    TransactionUnchanged,
)
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_ends import AbortRequest, CommitFacts, CommitRequest, MissingMarkerRequest
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import ActiveProducer, Ownership, TaskOwner, TransactionDescription, TransactionState
from eosctl.model.workers import LiveOwner, LiveOwners
from eosctl.planning.transaction_ends import plan_abort, plan_commit, plan_leftovers, plan_missing_markers
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


def test_a_hanging_transaction_is_aborted_with_the_epochs_of_the_leader():
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


def test_the_producer_s_open_transaction_in_another_partition_is_left_alone():
    there = opened(8, 3)
    elsewhere = replace(there, active=replace(there.active, topic_partition=replace(PLACE, partition=99)))
    planned = plan_abort(replace(WISH, producer_id=3), [hanging(elsewhere)], NOW, "cluster")
    assert planned.plan.steps == ()
    assert "so there is nothing to abort" in planned.objections[0]


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
def test_a_transaction_that_its_coordinator_may_still_end_is_refused(verdict, objection, hint):
    planned = plan_abort(WISH, [verdict], NOW, "cluster")
    (said,) = planned.objections
    assert objection in said
    assert hint in planned.hint


def test_forcing_it_names_the_possible_damage():
    planned = plan_abort(replace(WISH, force=True), [live(opened(state=TransactionState.ONGOING))], NOW, "cluster")
    assert planned.objections == ()
    (warning,) = planned.warnings
    assert "only a part of the transaction" in warning
    (step,) = planned.plan.steps
    assert step.step.forced
    assert step.preconditions[1].forced


def test_nothing_open_is_reported():
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
def test_the_precondition_is_checked_again_at_the_moment_of_writing(now, forced, why):
    facts = PlanFacts(open_transactions={(Side.SOURCE, PLACE, 9): now})
    said = replace(WANTED, forced=forced).violation(facts)
    assert said is None if why is None else why in said


def test_an_abort_cannot_be_undone_and_the_undo_reports_it():
    planned = plan_abort(WISH, [hanging(opened())], NOW, "cluster")
    (step,) = undo_plan(planned.plan).steps
    assert "cannot be rolled back" in step.step.instruction


STARTED = 1_789_999_990_000
HELD = ProducerIdAndEpoch(42, 3)
HERE, THERE = OpenPart("orders", 0, 10, 4), OpenPart("orders", 1, 7, 0)
PLACES = (HERE.topic_partition, THERE.topic_partition)
PARTS = {each.topic_partition: each for each in (HERE, THERE)}
COMMIT = CommitRequest("sink-7", HELD, 5.0)
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


def objections(found: CommitFacts, wish: CommitRequest = COMMIT) -> str:
    planned = plan_commit(wish, found)
    assert planned.plan.steps == ()
    assert planned.failure is not None
    assert planned.failure.exit_code == 8
    return "; ".join(planned.objections)


def test_a_commit_for_its_owner_equals_the_client_s_own_commit():
    planned = plan_commit(COMMIT, facts())
    assert planned.objections == ()
    (step,) = planned.plan.steps
    assert step.step == STEP
    assert step.preconditions == (ClusterIs(Side.SOURCE, "cluster"), NoLiveOwner(Side.SOURCE, ("sink-7",)))
    assert "a commit cannot be rolled back" in planned.warnings[0]
    assert "its coordinator aborts it at" in planned.warnings[-1]


def test_a_step_requires_the_same_transaction_and_an_id_without_an_owner():
    (step,) = demanded_steps(plan_commit(COMMIT, facts()).plan)
    assert TransactionUnchanged(Side.SOURCE, "sink-7", 42, 3, STARTED, (HERE, THERE)) in step.preconditions
    assert NoLiveOwner(Side.SOURCE, ("sink-7",)) in step.preconditions
    assert lacking(plan_commit(COMMIT, facts()).plan) == ()


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
def test_each_objection_to_a_commit_is_named(found: CommitFacts, said: str):
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
def test_an_ended_transaction_is_reported_with_its_end(state, producer, version, said):
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
def test_another_epoch_s_last_transaction_proves_nothing_that_it_does_not_show(state, producer, version):
    said = objections(ended(state, producer, version))
    assert "the end of its last one is unknown" in said
    assert "committed already" not in said
    assert "aborted" not in said


def test_behind_the_last_epoch_the_next_producer_id_shows_that_it_is_committed():
    last, follows = CommitRequest("sink-7", ProducerIdAndEpoch(42, 32_766), 5.0), ProducerIdAndEpoch(43, 0)
    state = TransactionState.COMPLETE_COMMIT
    assert "committed already" in objections(ended(state, follows, 2, previous_producer_id=42), last)
    assert "is unknown" in objections(ended(state, follows, 2, previous_producer_id=41), last)


AT_WORK = LiveOwners({("sink", 7): (LiveOwner("g", ConnectorTaskId("sink", 7), "w"),)})


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        (facts(described=None, logged=None), "eosctl transactions log sink-7 --history"),
        (facts(described=described(state=TransactionState.EMPTY)), "eosctl transactions log sink-7 --history"),
        (facts(described=described(producer=ProducerIdAndEpoch(43, 3))), "ask the owner again"),
        (facts(live=AT_WORK), "start the connector, or end the transaction by"),
        (facts(after={**PARTS, PLACES[0]: replace(HERE, last_sequence=5)}), "stop the client, or let it commit itself"),
    ],
)
def test_a_commit_that_is_refused_names_who_can_end_the_transaction(found: CommitFacts, hint: str):
    planned = plan_commit(COMMIT, found)
    assert planned.objections
    assert hint in str(planned.hint)


def test_no_client_has_the_epoch_that_markers_have():
    beyond = ProducerIdAndEpoch(42, 32_767)
    found = facts(described=described(producer=beyond), logged=logged(producer=beyond))
    assert "none above 32766" in objections(found, CommitRequest("sink-7", beyond, 5.0))


def test_transactions_of_connect_tasks_running_or_not_are_never_committed():
    task = ConnectorTaskId("orders", 0)
    owned = Ownership((TaskOwner("connect-cluster", task),), ())
    assert "Connect never commits an abandoned transaction of a task" in objections(facts(ownership=owned))
    member = GroupMember("worker-1", None, (task,))
    group = ConnectGroup("Stable", "connect", "sessioned", (member,))
    live = LiveOwners.of({"connect-cluster": group})
    wish = replace(COMMIT, transactional_id="connect-cluster-orders-0")
    assert "is also the ID of task 0 of connector orders" in objections(facts(live=live), wish)


def test_a_partition_without_a_record_is_warned_of():
    empty = replace(THERE, start_offset=NOTHING_OPEN, last_sequence=NOTHING_OPEN)
    parts = {**PARTS, PLACES[1]: empty}
    planned = plan_commit(COMMIT, facts(before=parts, after=parts))
    assert any("orders-1 has no record of it" in each for each in planned.warnings)


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
        (TransactionNow(None), "no coordinator knows sink-7 now"),
        (Skipped("no answer"), "what became of the transaction of sink-7 is unknown: no answer"),
    ],
)
def test_the_transaction_is_checked_again_at_the_moment_of_the_commit(now, why):
    wanted = TransactionUnchanged(Side.SOURCE, "sink-7", 42, 3, STARTED, (HERE, THERE))
    said = wanted.violation(PlanFacts(transactions={(Side.SOURCE, "sink-7"): now}))
    assert said is None if why is None else why in (said or "")


def test_a_commit_cannot_be_undone_and_the_undo_reports_it():
    (step,) = undo_plan(plan_commit(COMMIT, facts()).plan).steps
    assert isinstance(step.step, ManualStep)
    assert "cannot be rolled back" in step.step.instruction


# Leftovers

COMMITTED_ALREADY = ended(TransactionState.COMPLETE_COMMIT, HELD, 0)
MOVED = {**PARTS, PLACES[0]: replace(HERE, last_sequence=5)}
FENCE = FenceTransaction(Side.SOURCE, "sink-7", 42, 3, STARTED, (HERE, THERE), 45_000)


def leftovers(listed=(), rest=()):
    return plan_leftovers(
        [(COMMIT, each) for each in listed], [(COMMIT, each) for each in rest], NOW, "cluster", 45_000
    )


def test_what_is_listed_is_committed_and_the_rest_is_fenced_with_a_warning():
    planned = leftovers([facts()], [facts()])
    assert [each.step for each in planned.plan.steps] == [STEP, FENCE]
    assert planned.plan.steps[1].preconditions[0] == ClusterIs(Side.SOURCE, "cluster")
    assert (planned.objections, planned.hint) == ((), None)
    assert sum("fencing aborts what is open" in each for each in planned.warnings) == 1
    assert not any("fencing aborts" in each for each in leftovers([facts()]).warnings)


def test_a_listed_transaction_that_is_committed_already_is_a_warning_beside_others():
    planned = leftovers([COMMITTED_ALREADY, facts()])
    assert [each.step for each in planned.plan.steps] == [STEP]
    assert planned.objections == ()
    assert "committed already" in planned.warnings[0]
    alone = leftovers([COMMITTED_ALREADY])
    assert alone.plan.steps == ()
    assert "committed already" in alone.objections[0]


@pytest.mark.parametrize(
    "found",
    [
        facts(described=None),
        facts(logged=None),
        ended(TransactionState.COMPLETE_ABORT, HELD, 0),
        ended(TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(43, 0), 2),
        facts(live=AT_WORK),
        facts(after=MOVED),
    ],
)
def test_one_listed_transaction_that_cannot_be_committed_leaves_the_plan_without_steps(found):
    planned = leftovers([facts(), found], [facts()])
    assert planned.objections
    assert (planned.plan.steps, planned.warnings) == ((), ())
    assert planned.hint == "stop the client, or take it out of the list"


@pytest.mark.parametrize(
    "found",
    [
        facts(described=None),
        facts(described=described(TransactionState.PREPARE_COMMIT)),
        facts(described=described(TransactionState.COMPLETE_ABORT)),
        facts(described=replace(described(), start_ms=None)),
    ],
)
def test_of_the_rest_only_an_open_transaction_is_fenced(found):
    planned = leftovers(rest=[found])
    assert planned.plan.steps == ()
    assert planned.objections == ("nothing that may be ended is open under this prefix",)
    assert planned.hint == "without --commit-listed, --flink-checkpoint and --fence-rest the command shows what is open"
    assert [each.step for each in leftovers(rest=[found, facts()]).plan.steps] == [FENCE]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (facts(described=described(producer=ProducerIdAndEpoch(42, 4))), "sink-7 changed while it was read"),
        (facts(logged=None), "the transaction log has no record of sink-7"),
        (facts(logged=logged(start_ms=1)), "sink-7 changed while it was read"),
        (facts(described=described(places=PLACES[:1])), "may not be described"),
        (facts(after=MOVED), "sink-7"),
        (facts(live=AT_WORK), "sink-7"),
    ],
)
def test_a_transaction_of_the_rest_whose_client_is_at_work_or_unknown_is_not_fenced(found, words):
    planned = leftovers([facts()], [found])
    assert words in planned.objections[0]
    assert planned.plan.steps == ()


def test_without_a_start_a_transaction_may_be_another_one_and_is_not_committed():
    unstarted = facts(described=replace(described(), start_ms=None), logged=logged(start_ms=None))
    assert "names no start of its transaction" in objections(unstarted)
    assert "names no start of its transaction" in leftovers([unstarted]).objections[0]


@pytest.mark.parametrize(
    ("held", "previous", "last"),
    [
        ((43, 0), 42, True),
        ((43, 1), 42, False),
        ((43, 0), 41, False),
        ((42, 32_767), 42, True),
        ((42, 32_765), 42, False),
    ],
)
def test_the_last_epoch_is_followed_by_the_first_one_of_the_next_producer_id_alone(held, previous, last):
    wish = CommitRequest("sink-7", ProducerIdAndEpoch(42, 32_766), 5.0)
    found = ended(TransactionState.COMPLETE_COMMIT, ProducerIdAndEpoch(*held), 2, previous_producer_id=previous)
    assert ("committed already" in objections(found, wish)) is last


def test_an_owner_that_does_not_run_is_the_one_to_start():
    owned = facts(ownership=Ownership((TaskOwner("g", ConnectorTaskId("sink", 7)),), ()))
    assert plan_commit(COMMIT, owned).hint == "start the connector, or end the transaction by `eosctl fence`"


def test_what_is_listed_and_whose_end_the_log_does_not_have_is_an_objection_by_itself():
    unlogged = ended(TransactionState.COMPLETE_COMMIT, HELD, 0)
    planned = leftovers([replace(unlogged, logged=None)])
    assert planned.warnings == ()
    assert "the end of its last one is unknown" in planned.objections[0]


def test_an_id_of_the_rest_that_another_producer_took_is_said_to_have_changed_and_nothing_else():
    other = facts(described=described(producer=ProducerIdAndEpoch(42, 4)), live=AT_WORK, after=MOVED)
    assert leftovers(rest=[other]).objections == ("sink-7 changed while it was read: its client is at work",)


def test_force_aborts_what_is_in_progress_too():
    verdicts = [live(opened(1, 1, state=TransactionState.ONGOING)), hanging(opened(5, 2))]
    planned = plan_abort(replace(WISH, force=True), verdicts, NOW, "cluster")
    assert [each.step.start_offset for each in planned.plan.steps] == [1, 5]


@pytest.mark.parametrize(
    ("verdict", "objection", "hint"),
    [
        (hanging(opened(age_ms=-1)), "has a timestamp 0.0 s in the future, so its age is not known", "wait, or give"),
        (hanging(opened(age_ms=-1500)), "1.5 s in the future", "wait, or give --max-transaction-timeout"),
        (hanging(opened(age_ms=0)), "is 0.0 min old, younger", "wait, or give --max-transaction-timeout"),
        (
            hanging(opened(state=TransactionState.ONGOING, age_ms=MINUTE)),
            "is 1.0 min old, younger",
            "wait, or give --max-transaction-timeout; --force aborts it all the same",
        ),
        (
            hanging(opened(), Advice.FENCE),
            "has another transaction in progress as no transactional ID",
            "fence its producer first: eosctl fence --transactional-id None, then abort this one, which that does not",
        ),
        (
            replace(live(opened(state=TransactionState.ONGOING)), advice=Advice.FENCE),
            "does not hang",
            "fence its producer first: eosctl fence --transactional-id id, which ends its transaction",
        ),
        (
            live(opened(state=TransactionState.PREPARE_ABORT)),
            "does not hang: its coordinator has it as PrepareAbort",
            "wait until its coordinator ends it; --force aborts it here",
        ),
    ],
)
def test_each_objection_to_an_abort_has_the_remedy_of_its_cause(verdict, objection, hint):
    planned = plan_abort(WISH, [verdict], NOW, "cluster")
    assert objection in planned.objections[0]
    assert planned.hint is not None
    assert hint in planned.hint


@pytest.mark.parametrize(("age_ms", "refused"), [(15 * MINUTE, True), (15 * MINUTE + 1, False)])
def test_a_transaction_is_aborted_once_it_is_older_than_the_longest_timeout(age_ms, refused):
    assert bool(plan_abort(WISH, [hanging(opened(age_ms=age_ms))], NOW, "cluster").objections) is refused


@pytest.mark.parametrize(
    ("timeout_ms", "words"),
    [
        (NOW - STARTED + 1, "its coordinator aborts it at 2026-09-21T14:13:20.001Z, when its timeout has passed"),
        (NOW - STARTED, "its timeout has passed 0 seconds ago: its coordinator may abort it at any moment"),
        (NOW - STARTED - 1_000, "its timeout has passed 1 second ago: its coordinator may abort it at any moment"),
    ],
)
def test_a_commit_is_warned_of_the_moment_at_which_the_coordinator_aborts(timeout_ms: int, words: str):
    planned = plan_commit(COMMIT, facts(described=replace(described(), timeout_ms=timeout_ms)))
    assert planned.warnings[-1] == words


@pytest.mark.parametrize(("epoch", "refused"), [(32_766, False), (32_767, True)])
def test_the_last_epoch_of_a_client_is_one_that_it_may_have(epoch: int, refused: bool):
    held = ProducerIdAndEpoch(42, epoch)
    found = facts(described=described(producer=held), logged=logged(producer=held))
    planned = plan_commit(replace(COMMIT, producer=held), found)
    assert [each for each in planned.objections if "no client has epoch" in each] == list(planned.objections)
    assert bool(planned.objections) is refused


# A transaction that its coordinator committed, and that lacks its marker in orders-3.


COMMITTED = Decision("id", committed=True, decided_ms=NOW - 10 * MINUTE)
UNKNOWN = Skipped("Read is denied")
LACKING = MissingMarkerRequest("id", ProducerIdAndEpoch(9, 2))


def unmarked(decision=COMMITTED, **fields) -> Verdict:
    return replace(hanging(opened(**fields), Advice.COMMIT), decision=decision)


@pytest.mark.parametrize(
    ("decision", "objection", "hint"),
    [
        (
            COMMITTED,
            "from offset 7 in orders-3 was committed: its coordinator decided that at 2026-09-21T14:03:20.000Z as id",
            "eosctl transactions commit id --producer-id 9 --producer-epoch 2 --missing-markers",
        ),
        (UNKNOWN, "in orders-3 may have been committed: Read is denied", "grant Read on __transaction_state"),
    ],
)
def test_what_was_or_may_be_committed_is_not_aborted_unless_forced(decision, objection, hint):
    planned = plan_abort(WISH, [unmarked(decision)], NOW, "cluster")
    assert objection in planned.objections[0]
    assert planned.hint is not None
    assert hint in planned.hint
    forced = plan_abort(replace(WISH, force=True), [unmarked(decision)], NOW, "cluster")
    assert (forced.objections, len(forced.plan.steps)) == ((), 1)
    assert objection in forced.warnings[0]


def test_what_its_coordinator_aborted_is_aborted_at_any_age():
    aborted = replace(hanging(opened(age_ms=0)), decision=replace(COMMITTED, committed=False))
    assert plan_abort(WISH, [aborted], NOW, "cluster").objections == ()


def test_the_missing_commit_marker_is_written_with_the_epochs_of_the_leader():
    planned = plan_missing_markers(LACKING, [unmarked()], NOW, "cluster")
    (step,) = planned.plan.steps
    assert step.step == WriteCommitMarker(Side.SOURCE, "orders", 3, 9, 2, 4, 7, "id", COMMITTED.decided_ms)
    assert step.preconditions == (
        ClusterIs(Side.SOURCE, "cluster"),
        TransactionHangs(Side.SOURCE, "orders", 3, 9, 7, committed=True),
    )
    (left,) = undo_plan(planned.plan).steps
    assert "is committed: that cannot be rolled back" in left.step.describe()


@pytest.mark.parametrize(
    "other",
    [
        unmarked(None),
        unmarked(UNKNOWN),
        unmarked(replace(COMMITTED, committed=False)),
        unmarked(replace(COMMITTED, transactional_id="another")),
        unmarked(producer_id=8),
        replace(unmarked(), reason=None),
    ],
)
def test_no_commit_marker_is_written_without_its_decision(other):
    planned = plan_missing_markers(LACKING, [other], NOW, "cluster")
    assert planned.plan.steps == ()
    assert "no partition lacks the commit marker of id, producer 9/2" in planned.objections[0]


def test_a_client_at_work_under_the_same_epoch_is_stopped_first():
    planned = plan_missing_markers(LACKING, [unmarked(state=TransactionState.ONGOING)], NOW, "cluster")
    assert planned.plan.steps == ()
    assert "another transaction in progress under the same producer epoch (Ongoing)" in planned.objections[0]
    (step,) = plan_missing_markers(
        LACKING, [unmarked(state=TransactionState.COMPLETE_COMMIT)], NOW, "cluster"
    ).plan.steps
    assert isinstance(step.step, WriteCommitMarker)


def test_another_producers_transaction_under_the_same_id_does_not_stand_against_the_marker():
    ongoing = unmarked(state=TransactionState.ONGOING)
    described = ongoing.transaction.description
    later = replace(described, producer=ProducerIdAndEpoch(9, 3))
    verdict = replace(ongoing, transaction=replace(ongoing.transaction, description=later))
    planned = plan_missing_markers(LACKING, [verdict], NOW, "cluster")
    assert (len(planned.plan.steps), planned.objections, planned.hint) == (1, (), None)
    refused = plan_missing_markers(LACKING, [ongoing], NOW, "cluster")
    assert refused.hint == "`eosctl transactions hanging` shows what hangs, and which decision the log has"


@pytest.mark.parametrize(
    ("committed", "decision", "violation"),
    [
        (False, None, None),
        (False, replace(COMMITTED, committed=False), None),
        (False, COMMITTED, "was committed by its coordinator"),
        (False, UNKNOWN, "was committed is not known: Read is denied"),
        (True, COMMITTED, None),
        (True, None, "was not committed by its coordinator"),
        (True, replace(COMMITTED, committed=False), "was not committed by its coordinator"),
        (True, UNKNOWN, "was committed is not known: Read is denied"),
    ],
)
def test_the_decision_is_looked_at_again_before_the_marker(committed, decision, violation):
    hangs = TransactionHangs(Side.SOURCE, "orders", 3, 9, 7, committed=committed)
    facts = PlanFacts(open_transactions={(Side.SOURCE, PLACE, 9): OpenNow(7, True, decision)})
    said = hangs.violation(facts)
    assert said is None if violation is None else violation in str(said)
    assert replace(hangs, forced=True).violation(facts) is None
