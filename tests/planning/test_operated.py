"""Plans for connectors that an operator runs: what becomes of each step, and what is refused."""

import pytest
from msgspec.structs import replace

from eosctl.model.plan import (
    AwaitOperator,
    ClusterIs,
    ConnectorStopped,
    CreateConnector,
    ManualStep,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    Side,
    StopConnector,
    VerifyOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import STOP_HINT
from eosctl.model.step_descriptions import describe_step
from eosctl.model.strimzi import OperatedConnectors
from eosctl.planning.operated import deleted_by_hand, for_operator, objections, resumed_by_hand
from eosctl.planning.undo import undo_plan

SOURCE = Side.SOURCE
HERE = (ClusterIs(SOURCE, "k"),)
STOPPED = (*HERE, ConnectorStopped(SOURCE, "c"))
STOP = PlannedStep(StopConnector(SOURCE, "c"), HERE)
VERIFY = PlannedStep(VerifyOffsets(SOURCE, "t", "c", "d"), STOPPED)
CONFIGURE = PlannedStep(
    SetConnectorConfig(SOURCE, "c", {"offsets.storage.topic": "t"}, {"offsets.storage.topic": None}), STOPPED
)
RESUME = PlannedStep(ResumeConnector(SOURCE, "c", "t"), HERE)
EMITTED = OperatedConnectors(states={"c": "running"}, directory="/out")
STOPPED_AS_IT_IS = AwaitOperator(
    SOURCE,
    "c",
    "/out/c.stopped.yaml",
    "STOPPED",
    changed={"offsets.storage.topic": "t"},
    changed_file="/out/c.configured.yaml",
)

MIRRORED = replace(EMITTED, states={"c": "running", "d": "running"}, mirrors={"c": "m", "d": "m"})


def plan(*steps: PlannedStep) -> Planned:
    return Planned(plan=Plan("migrate-offsets", 0, steps), cluster_id="k")


def steps(planned: Planned) -> list[object]:
    return [each.step for each in planned.plan.steps]


def test_each_change_is_a_file_and_a_wait_with_the_preconditions_of_the_step():
    made = for_operator(plan(STOP, VERIFY, CONFIGURE, RESUME), EMITTED)
    changes = {"offsets.storage.topic": "t"}
    back, before = "/out/c.stopped.yaml", {"offsets.storage.topic": None}
    assert made.objections == ()
    assert steps(made) == [
        AwaitOperator(SOURCE, "c", back, "STOPPED", undo_file="/out/c.before.yaml"),
        VERIFY.step,
        AwaitOperator(SOURCE, "c", "/out/c.configured.yaml", "STOPPED", changes, undo_file=back, before=before),
        AwaitOperator(SOURCE, "c", "/out/c.running.yaml", "RUNNING", changes, "t", SOURCE, back, before),
    ]
    assert [each.preconditions for each in made.plan.steps] == [HERE, STOPPED, STOPPED, HERE]
    assert [each.step for each in made.stops] == [steps(made)[0]]


def test_the_way_back_is_by_resources_too_and_ends_with_the_one_from_before_the_plan():
    back = undo_plan(for_operator(plan(STOP, CONFIGURE, RESUME), EMITTED).plan)
    assert back.operated == EMITTED
    assert [(each.step, each.preconditions) for each in back.steps] == [
        (STOPPED_AS_IT_IS, HERE),
        (AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED", {"offsets.storage.topic": None}), STOPPED),
        (AwaitOperator(SOURCE, "c", "/out/c.before.yaml", "RUNNING"), HERE),
    ]
    assert describe_step(STOPPED_AS_IT_IS) == (
        "wait until /out/c.configured.yaml (/out/c.stopped.yaml, where it is configured as before) is applied and the "
        "operator has made connector c STOPPED and without tasks"
    )


def test_the_way_back_leaves_a_connector_stopped_that_was_stopped_before():
    back = undo_plan(for_operator(plan(CONFIGURE, RESUME), replace(EMITTED, states={"c": "stopped"})).plan)
    assert [each.step for each in back.steps] == [
        STOPPED_AS_IT_IS,
        AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED", {"offsets.storage.topic": None}),
        ManualStep("resume connector c when it may go on (state: running in its resource): it is left STOPPED"),
    ]


def test_a_new_name_is_created_by_its_resource_at_the_end():
    created = "/out/new.created.yaml"
    made = for_operator(
        plan(
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            PlannedStep(ResumeConnector(SOURCE, "new", "t"), HERE),
            PlannedStep(deleted_by_hand("c", "new", "")),
        ),
        replace(EMITTED, states={"c": "stopped"}),
    )
    assert steps(made) == [
        AwaitOperator(SOURCE, "new", "/out/new.running.yaml", "RUNNING", undo_file=created, copied_from="c"),
        ManualStep("delete KafkaConnector c once new runs; never let both run"),
    ]
    back = [each.step for each in undo_plan(made.plan).steps]
    assert back[0] == AwaitOperator(SOURCE, "new", created, "STOPPED")
    assert ManualStep("delete KafkaConnector new, which the plan created") in back


def test_a_connector_moves_to_another_connect_cluster_by_the_label_of_its_resource():
    there = (ClusterIs(Side.TARGET, "k"),)
    moved = plan(
        STOP,
        PlannedStep(SetConnectorConfig(Side.TARGET, "c", {}, {}, "c"), there),
        PlannedStep(ResumeConnector(Side.TARGET, "c", "t", Side.TARGET), there),
        PlannedStep(deleted_by_hand("c", "c", " in Connect cluster b")),
    )
    made = for_operator(moved, replace(EMITTED, to_cluster="b"))
    stopped, before, created = (f"/out/c.{each}.yaml" for each in ("stopped", "before", "created"))
    assert steps(made) == [
        AwaitOperator(SOURCE, "c", stopped, "STOPPED", undo_file=before),
        AwaitOperator(Side.TARGET, "c", "/out/c.running.yaml", "RUNNING", undo_file=created, copied_from="c"),
        ManualStep("wait until the operator has deleted connector c from the Connect cluster that it was in"),
    ]
    assert [each.step for each in undo_plan(made.plan).steps][:2] == [
        AwaitOperator(Side.TARGET, "c", created, "STOPPED"),
        AwaitOperator(SOURCE, "c", before, "RUNNING"),
    ]


def test_a_plan_in_a_file_is_refused_by_what_is_known_when_it_is_applied():
    over_rest = plan(STOP, CONFIGURE, RESUME).plan
    assert dict(objections(over_rest, OperatedConnectors())) == {}
    assert len(dict(objections(undo_plan(over_rest), OperatedConnectors(every=True)))) == 3
    made = for_operator(plan(STOP, CONFIGURE, RESUME), EMITTED).plan
    assert dict(objections(made, replace(EMITTED, every=True))) == {}
    assert dict(objections(undo_plan(made), replace(EMITTED, every=True))) == {}


def test_connectors_without_an_operator_are_left_alone():
    other = plan(STOP, CONFIGURE, RESUME)
    assert for_operator(other, OperatedConnectors()) == other
    assert steps(for_operator(other, OperatedConnectors(states={"d": "running"}))) == steps(other)


@pytest.mark.parametrize(
    ("step", "operated", "said"),
    [
        (STOP, OperatedConnectors(every=True), "its operator resumes it at the next reconciliation"),
        (CONFIGURE, OperatedConnectors(every=True), "offsets.storage.topic changed over REST is changed back"),
        (RESUME, OperatedConnectors(states={"c": "stopped"}), "its operator stops it again"),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            OperatedConnectors(states={"c": "stopped"}),
            "created over REST, its operator deletes it",
        ),
        (VERIFY, OperatedConnectors(states={"c": "running"}), "its KafkaConnector says running"),
        (VERIFY, EMITTED, "the operator would resume it while its offsets are written"),
        (
            PlannedStep(CreateConnector(SOURCE, "c", "/f", "d"), HERE),
            EMITTED,
            "its operator deletes a connector that no KafkaConnector describes",
        ),
        (
            PlannedStep(ResumeConnector(Side.TARGET, "c", "t"), HERE),
            EMITTED,
            "will be in another Connect cluster, and which KafkaConnect that is nobody said",
        ),
        (STOP, OperatedConnectors(every=True, directory="/out"), "no resource of connector c was given"),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "New_1", {}, {}, "c"), STOPPED),
            EMITTED,
            "no KafkaConnector can be called New_1",
        ),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            MIRRORED,
            "KafkaMirrorMaker2 m, which runs it in its own Connect cluster and names it after its clusters",
        ),
    ],
)
def test_what_would_be_reverted_is_refused(step: PlannedStep, operated: OperatedConnectors, said: str):
    refused = for_operator(plan(step), operated)
    assert said in "; ".join(refused.objections)
    assert refused.hint is not None


def test_a_plan_changes_one_connector_of_a_mirror_maker():
    assert for_operator(plan(STOP, CONFIGURE), MIRRORED).objections == ()
    both = for_operator(plan(STOP, PlannedStep(StopConnector(SOURCE, "d"), HERE)), MIRRORED)
    assert both.objections == ("connectors c, d are in one resource, and a plan changes one of them",)


def test_whoever_has_to_stop_the_connector_is_told_of_its_resource():
    running = replace(plan(VERIFY), objections=("connector c is STARTED",), hint=STOP_HINT)
    hint = for_operator(running, OperatedConnectors(every=True)).hint
    assert hint is not None
    assert hint.startswith("set state: stopped in its resource")


def test_what_is_left_to_do_by_hand_is_said_in_terms_of_the_resource():
    resumed, other = (resumed_by_hand(f"resume connector {name}", name) for name in ("c", "cc"))
    made = for_operator(plan(PlannedStep(resumed), PlannedStep(other)), OperatedConnectors(states={"c": "stopped"}))
    assert steps(made) == [ManualStep("resume connector c (state: running in its resource)"), other]
