"""A plan's steps in words, what they establish, and the way out where a precondition does not hold."""

import pytest
from msgspec.structs import replace

from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.names import Side
from eosctl.model.plan import (
    AwaitOperator,
    Check,
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    FenceProducers,
    OffsetsWrite,
    Plan,
    PlannedStep,
    PlanTarget,
    ResumeConnector,
    SetConnectorConfig,
    Standing,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
    cure,
    demanded_steps,
    establishes,
    moved_again,
    needed_first,
    standings,
    violations,
)
from eosctl.model.preconditions import (
    AclsPresent,
    ClusterIs,
    ConnectorFacts,
    ConnectorStopped,
    NoOpenTransaction,
    OffsetsUnchanged,
    TopicIsCompact,
    TransactionHangs,
)
from eosctl.model.strimzi import OperatedConnectors
from tests.model.test_preconditions import TO_OWN, TO_WORKERS, WRITE, connector, offsets

S, T = Side.SOURCE, Side.TARGET


def writing(*values: bytes | None) -> WriteOffsets:
    return replace(WRITE, records=tuple(OffsetsWrite(0, b"k", each, None) for each in values))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (CreateTopic(S, "t", 5, -1), "create topic t, compact, 5 partitions, replication factor the default"),
        (CreateTopic(S, "t", 1, 0), "create topic t, compact, 1 partition, replication factor 0"),
        (CreateTopic(S, "t", 1, 3), "create topic t, compact, 1 partition, replication factor 3"),
        (writing(b"1", None, b"2"), "write 2 offsets and delete 1 offset of connector c in topic own in one"),
        (writing(b"1"), "write 1 offset of connector c in topic own in one transaction as g-c-0"),
        (writing(None), "delete 1 offset of connector c in topic own in one transaction as g-c-0"),
        (writing(), "write no offset: those of connector c in topic own are as they must be"),
        (SetConnectorConfig(S, "c", {"a": "1", "b": None}, {}), "configure connector c with a=1 without b"),
        (SetConnectorConfig(T, "c", {}, {}, "d"), "create connector c, STOPPED, with the config of d (or configure it"),
        (ResumeConnector(T, "c"), "resume connector c (target) and wait until its tasks run"),
        (ResumeConnector(S, "c", paused=True), "pause connector c, which was PAUSED before it was stopped"),
        (AwaitOperator(S, "c", "f", "STOPPED"), "wait until f is applied and the operator has made connector c STOPPED "
         "and without tasks"),
        (AwaitOperator(S, "c", "f", "RUNNING", changed_file="g"), "wait until g (f, where it is configured as before) "
         "is applied and the operator has made connector c RUNNING"),
    ],
)  # fmt: skip
def test_a_step_is_told_as_it_is_made(step, words: str):
    assert step.describe().startswith(words)


STOPPED, COMPACT = ConnectorStopped(S, "c"), TopicIsCompact(S, "t", 5)
BINDINGS = (AclBinding("User:a", Operation.READ, topic("t")), AclBinding("User:a", Operation.READ, topic("u")))
PRESENT = AclsPresent(S, BINDINGS)
SETTINGS = {"offsets.storage.topic": "t"}


@pytest.mark.parametrize(
    ("step", "precondition", "is_established"),
    [
        (StopConnector(S, "c"), STOPPED, True),
        (StopConnector(T, "c"), STOPPED, False),
        (StopConnector(S, "d"), STOPPED, False),
        (AwaitOperator(S, "c", "f", "STOPPED"), STOPPED, True),
        (AwaitOperator(S, "c", "f", "RUNNING"), STOPPED, False),
        (AwaitOperator(S, "c", "f", "STOPPED", SETTINGS), STOPPED, False),
        (AwaitOperator(S, "c", "f", "STOPPED", copied_from="d"), STOPPED, False),
        (AwaitOperator(S, "d", "f", "STOPPED"), STOPPED, False),
        (CreateTopic(S, "t", 5, 1), COMPACT, True),
        (CreateTopic(T, "t", 5, 1), COMPACT, False),
        (CreateTopic(S, "u", 5, 1), COMPACT, False),
        (CreateAcls(S, BINDINGS), PRESENT, True),
        (CreateAcls(T, BINDINGS), PRESENT, False),
        (DeleteAcls(S, BINDINGS), PRESENT, False),
        (FenceProducers(S, ("g-c-0",), 1), NoOpenTransaction(S, "t", "c"), True),
        (WRITE, NoOpenTransaction(S, "t", "c"), True),
        (VerifyOffsets(S, "t", "c", "d"), NoOpenTransaction(S, "t", "c"), False),
        (WRITE, STOPPED, False),
    ],
)
def test_a_step_establishes_what_is_its_purpose_and_nothing_beside_it(step, precondition, is_established: bool):
    assert establishes(step, precondition) is is_established


@pytest.mark.parametrize(
    "given",
    [(ClusterIs(S, "k"), AclsPresent(S, BINDINGS[::-1])), (AclsPresent(S, BINDINGS[::-1]), ClusterIs(S, "k"))],
    ids=["after another precondition", "before another precondition"],
)
def test_acls_that_are_given_in_another_order_stand(given):
    steps = demanded_steps(
        Plan("p", 0, (PlannedStep(CreateAcls(S, BINDINGS)), PlannedStep(DeleteAcls(S, BINDINGS[:1]), given)))
    )
    assert steps[1].preconditions == given


CHANGED = OffsetsUnchanged(T, "t", "c", "x")
MOVED = Plan("migrate-offsets", 1, (PlannedStep(WRITE), PlannedStep(TO_OWN)), (PlanTarget(S, ()),))
RUNNING = connector(ConnectorFacts("RUNNING", 1))


@pytest.mark.parametrize(
    ("precondition", "facts", "plan", "words"),
    [
        (CHANGED, offsets(), None, "make the plan again"),
        (CHANGED, offsets(), MOVED, "connector c has written newer offsets; `eosctl migrate-offsets --group-id g"),
        (CHANGED, offsets(), replace(MOVED, kind="undo"), "connector c has written newer offsets; `eosctl migrate-o"),
        (CHANGED, offsets(), replace(MOVED, steps=()), "make the plan again"),
        (CHANGED, offsets(), Plan("undo", 1, ()), "connector c has written newer offsets, and undo would overwrite"),
        (STOPPED, RUNNING, replace(MOVED, operated=OperatedConnectors(states={"d": "running"})), "make the plan again"),
        (STOPPED, RUNNING, replace(MOVED, operated=OperatedConnectors(states={"c": "running"})), "set state: stopped"),
        (STOPPED, RUNNING, MOVED, "make the plan again"),
        (STOPPED, RUNNING, None, "make the plan again"),
    ],
)
def test_the_way_out_is_by_the_plan_and_its_connectors(precondition, facts, plan, words: str):
    assert cure([precondition], facts, plan).startswith(words)


def test_a_move_of_workers_with_the_usual_config_topic_does_not_name_it():
    plan = replace(MOVED, steps=(PlannedStep(WRITE), PlannedStep(TO_WORKERS)))
    assert moved_again(plan) == (
        "eosctl migrate-offsets --group-id g --connector c --to-worker-topic --stop --set-config --resume"
    )


HANGS = TransactionHangs(S, "t", 0, 7, 40)
OPEN = "what producer 7 has open in t-0 begins at 40"


@pytest.mark.parametrize(
    ("precondition", "words"),
    [
        (HANGS, f"{OPEN} and hangs"),
        (replace(HANGS, forced=True), OPEN),
        (replace(HANGS, committed=True), f"{OPEN}, hangs, and was committed elsewhere"),
    ],
)
def test_a_marker_is_planned_for_a_transaction_that_hangs_unless_it_is_forced(precondition, words: str):
    assert precondition.describe() == words


def test_a_precondition_that_comes_later_names_the_step_that_brings_it_about():
    steps = [
        (1, PlannedStep(FenceProducers(S, ("g-c-0",), 1))),
        (2, PlannedStep(StopConnector(S, "c"))),
        (3, PlannedStep(WRITE, (STOPPED,))),
    ]
    needed = needed_first(each for _, each in steps)
    assert standings(steps, needed, RUNNING) == (Check(STOPPED, (3,), Standing.LATER, "step 2 brings it about"),)
    again = standings(steps[2:], (), RUNNING)
    assert again == (Check(STOPPED, (3,), Standing.LATER, "planned again after the stop"),)


def test_only_preconditions_that_do_not_hold_have_a_reason():
    runs = "connector c is RUNNING with 1 task, not STOPPED with none"
    assert violations([STOPPED], RUNNING) == (runs,)
    assert violations([STOPPED], connector(ConnectorFacts("STOPPED"))) == ()
