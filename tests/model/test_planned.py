"""Plans before and after they are applied: which step stops, how far it came, and whose connectors it names."""

from typing import Any

import pytest

from eosctl.errors import Refused, Unreachable
from eosctl.model.names import Side
from eosctl.model.plan import FenceProducers, ManualStep, Plan, PlannedStep, ResumeConnector, Step, StopConnector
from eosctl.model.planned import (
    ApplyOutcome,
    KeptPlan,
    Planned,
    PlanState,
    StepOutcome,
    StepResult,
    state_by,
)
from eosctl.model.skipped import Skipped

STOP = StopConnector(Side.SOURCE, "c")
FENCE = FenceProducers(Side.SOURCE, ("g-c-0",), 1)
LOOK = ManualStep("look", "by-hand")


def plan(*steps: Step) -> Plan:
    return Plan("p", 0, tuple(map(PlannedStep, steps)))


@pytest.mark.parametrize(
    ("steps", "done", "undo_steps", "undone", "state"),
    [
        (2, 0, 0, 0, PlanState.PLANNED),
        (2, 1, 0, 0, PlanState.BEGUN),
        (2, 2, 0, 0, PlanState.DONE),
        (2, 3, 0, 0, PlanState.DONE),
        (0, 0, 0, 0, PlanState.PLANNED),
        (2, 2, 2, 1, PlanState.UNDO_BEGUN),
        (2, 2, 2, 2, PlanState.UNDONE),
        (2, 1, 2, 3, PlanState.UNDONE),
        (2, 0, 2, 1, PlanState.UNDO_BEGUN),
    ],
)
def test_a_plan_is_as_far_as_its_steps_and_those_of_its_undo(steps, done, undo_steps, undone, state):
    assert state_by(steps, done, undo_steps, undone) is state


@pytest.mark.parametrize(
    ("found", "connectors", "only_stops"),
    [
        (Skipped("no plan"), (), False),
        (plan(), (), False),
        (plan(STOP), ("c",), True),
        (plan(STOP, StopConnector(Side.SOURCE, "d")), ("c", "d"), True),
        (plan(STOP, StopConnector(Side.TARGET, "c")), ("c",), True),
        (plan(STOP, FENCE), ("c",), False),
        (plan(FENCE), (), False),
        (plan(LOOK, STOP), ("c",), False),
    ],
)
def test_a_kept_plan_names_the_connectors_of_its_steps_once(found, connectors, only_stops):
    kept = KeptPlan("p.json", found, PlanState.PLANNED)
    assert kept.connectors == connectors
    assert kept.only_stops is only_stops


def planned(*steps: Step, **more: Any) -> Planned:
    return Planned(plan=plan(*steps), cluster_id="k", **more)


def test_an_objection_refuses_a_plan_before_any_other_error():
    late = Unreachable("late")
    assert planned().failure is None
    assert planned(error=late).failure is late
    refused = planned(objections=("a", "b"), hint="do this", error=late).failure
    assert isinstance(refused, Refused)
    assert (refused.message, refused.hint) == ("a; b", "do this")


def test_only_steps_that_stop_a_connector_are_its_stops():
    found = planned(STOP, FENCE, ResumeConnector(Side.SOURCE, "c"), LOOK)
    assert [each.step for each in found.stops] == [STOP]


def test_the_steps_of_an_outcome_are_counted():
    results = [StepResult(at, STOP, each) for at, each in enumerate((StepOutcome.DONE, StepOutcome.FAILED) * 2, 1)]
    found = ApplyOutcome((*results, StepResult(5, STOP, StepOutcome.DONE)), changed=True)
    assert [found.count(each) for each in StepOutcome] == [3, 0, 0, 2, 0]
