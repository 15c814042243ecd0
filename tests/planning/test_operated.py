"""Plans for connectors that an operator runs: what becomes of each step, and what is refused."""

from dataclasses import replace

import pytest

from eosctl.model.connector_steps import AwaitOperator, CreateConnector
from eosctl.model.operated import OperatedConnectors
from eosctl.model.plan import (
    ClusterIs,
    ConnectorStopped,
    ManualStep,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import STOP_HINT
from eosctl.model.sides import Side
from eosctl.planning.operated import for_operator
from eosctl.planning.undo import undo_plan

SOURCE = Side.SOURCE
HERE = (ClusterIs(SOURCE, "k"),)
STOPPED = (*HERE, ConnectorStopped(SOURCE, "c"))
STOP = PlannedStep(StopConnector(SOURCE, "c"), HERE)
VERIFY = PlannedStep(VerifyOffsets(SOURCE, "t", "c", "d"), STOPPED)
CONFIGURE = PlannedStep(SetConnectorConfig(SOURCE, "c", {"offsets.storage.topic": "t"}, {}), STOPPED)
RESUME = PlannedStep(ResumeConnector(SOURCE, "c", "t"), HERE)
EMITTED = OperatedConnectors(states={"c": "running"}, directory="/out")


def plan(*steps: PlannedStep) -> Planned:
    return Planned(plan=Plan("migrate-offsets", 0, steps), cluster_id="k")


def steps(planned: Planned) -> list[object]:
    return [each.step for each in planned.plan.steps]


def test_each_change_is_a_file_and_a_wait_with_the_preconditions_of_the_step():
    made = for_operator(plan(STOP, VERIFY, CONFIGURE, RESUME), EMITTED)
    changes = {"offsets.storage.topic": "t"}
    back = "/out/c.stopped.yaml"
    assert made.objections == ()
    assert steps(made) == [
        AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED"),
        VERIFY.step,
        AwaitOperator(SOURCE, "c", "/out/c.configured.yaml", "STOPPED", changes, undo_file=back),
        AwaitOperator(SOURCE, "c", "/out/c.running.yaml", "RUNNING", changes, "t", SOURCE, back),
    ]
    assert [each.preconditions for each in made.plan.steps] == [HERE, STOPPED, STOPPED, HERE]
    assert [each.step for each in made.stops] == [steps(made)[0]]


def test_the_way_back_stops_the_connector_by_its_resource_first():
    back = undo_plan(for_operator(plan(STOP, CONFIGURE, RESUME), EMITTED).plan)
    first, *others = [each.step for each in back.steps]
    assert first == AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED")
    assert [each.instruction for each in others if isinstance(each, ManualStep)] == [
        "apply the resource of connector c as it was before the plan; delete it if the plan created it"
    ]


def test_a_new_name_is_created_by_its_resource_at_the_end():
    made = for_operator(
        plan(
            PlannedStep(SetConnectorConfig(SOURCE, "new", {}, {}, "c"), STOPPED),
            PlannedStep(ResumeConnector(SOURCE, "new", "t"), HERE),
            PlannedStep(ManualStep("delete connector c once new runs; never let both run")),
        ),
        replace(EMITTED, states={"c": "stopped"}),
    )
    assert steps(made) == [
        AwaitOperator(SOURCE, "new", "/out/new.running.yaml", "RUNNING"),
        ManualStep("delete KafkaConnector c once new runs; never let both run"),
    ]


def test_a_stopped_connector_whose_resource_says_otherwise_is_stopped_by_its_resource():
    made = for_operator(plan(VERIFY), EMITTED)
    assert steps(made)[0] == AwaitOperator(SOURCE, "c", "/out/c.stopped.yaml", "STOPPED")
    assert made.plan.steps[0].preconditions == HERE


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
        (
            PlannedStep(CreateConnector(SOURCE, "c", "/f", "d"), HERE),
            EMITTED,
            "its operator deletes a connector that no KafkaConnector describes",
        ),
        (
            PlannedStep(ResumeConnector(Side.TARGET, "c", "t"), HERE),
            EMITTED,
            "will be in another Connect cluster, whose KafkaConnector is not known",
        ),
        (STOP, OperatedConnectors(every=True, directory="/out"), "no KafkaConnector c was given"),
        (
            PlannedStep(SetConnectorConfig(SOURCE, "New_1", {}, {}, "c"), STOPPED),
            EMITTED,
            "no KafkaConnector can be called New_1",
        ),
    ],
)
def test_what_would_be_reverted_is_refused(step: PlannedStep, operated: OperatedConnectors, said: str):
    refused = for_operator(plan(step), operated)
    assert said in "; ".join(refused.objections)
    assert refused.hint is not None


def test_whoever_has_to_stop_the_connector_is_told_of_its_resource():
    running = replace(plan(VERIFY), objections=("connector c is STARTED",), hint=STOP_HINT)
    hint = for_operator(running, OperatedConnectors(every=True)).hint
    assert hint is not None
    assert hint.startswith("set spec.state: stopped in its KafkaConnector")


def test_what_is_left_to_do_by_hand_is_said_in_terms_of_the_resource():
    by_hand = ManualStep("resume connector c (PUT /connectors/c/resume)")
    made = for_operator(plan(PlannedStep(by_hand)), OperatedConnectors(every=True))
    assert steps(made) == [ManualStep("resume connector c (spec.state: running of its KafkaConnector)")]
