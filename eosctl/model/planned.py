"""A plan before it is applied, and its outcome: the answers of the commands that write."""

from enum import StrEnum

from msgspec import Struct

from eosctl.errors import EosctlError, Refused
from eosctl.model.plan import AwaitOperator, Check, ManualStep, Plan, PlannedStep, Step, StopConnector
from eosctl.model.report import Finding, Result
from eosctl.model.skipped import Skipped


class StepOutcome(StrEnum):
    DONE = "done"
    DONE_BEFORE = "done-before"
    BY_HAND = "by-hand"
    FAILED = "failed"
    NOT_BEGUN = "not-begun"


class StepResult(Struct, frozen=True):
    number: int
    step: Step
    outcome: StepOutcome
    detail: str = ""


class ApplyOutcome(Struct, frozen=True):
    """The results of all steps, in order. changed says whether this or an earlier run changed anything that lasts."""

    results: tuple[StepResult, ...]
    changed: bool

    def count(self, outcome: StepOutcome) -> int:
        return sum(1 for result in self.results if result.outcome is outcome)


class Planned(Result, frozen=True, kw_only=True):
    """A plan for the source cluster with this ID, its findings, and its objections.

    checks are the present state of its preconditions, None: not checked. hint answers the objections. warnings are for
    a forced plan. error is why the plan could not be written to its file or checked. digest is its file's.
    """

    plan: Plan
    cluster_id: str
    findings: tuple[Finding, ...] = ()
    objections: tuple[str, ...] = ()
    checks: tuple[Check, ...] | None = None
    hint: str | None = None
    warnings: tuple[str, ...] = ()
    error: EosctlError | None = None
    digest: str = ""

    @property
    def stops(self) -> tuple[PlannedStep, ...]:
        return tuple(
            each
            for each in self.plan.steps
            if isinstance(each.step, StopConnector) or (isinstance(each.step, AwaitOperator) and each.step.stops)
        )

    @property
    def failure(self) -> EosctlError | None:
        return Refused("; ".join(self.objections), hint=self.hint) if self.objections else self.error


class Applied(Result, frozen=True, kw_only=True):
    """An applied plan: the outcome of each step, its file, the undo file, and the final error.

    cluster_id is empty if the cluster no longer answers. finished_by and undone_by are command lines; moved_back_by
    still works after the connector has committed again; None: there is none.
    """

    plan: Plan
    cluster_id: str
    outcome: ApplyOutcome
    plan_file: str
    undo_file: str
    finished_by: str = ""
    undone_by: str = ""
    moved_back_by: str | None = None
    findings: tuple[Finding, ...] = ()
    error: EosctlError | None = None

    @property
    def failure(self) -> EosctlError | None:
        return self.error


class PlanState(StrEnum):
    PLANNED = "planned"
    BEGUN = "begun"
    DONE = "done"
    UNDO_BEGUN = "undo-begun"
    UNDONE = "undone"
    UNREADABLE = "unreadable"


class KeptPlan(Struct, frozen=True):
    """A plan file. plan is Skipped where the file holds none that this eosctl reads."""

    path: str
    plan: Plan | Skipped
    state: PlanState

    @property
    def connectors(self) -> tuple[str, ...]:
        steps = () if isinstance(self.plan, Skipped) else self.plan.steps
        names = (getattr(each.step, "connector", None) for each in steps if not isinstance(each.step, ManualStep))
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    @property
    def only_stops(self) -> bool:
        steps = () if isinstance(self.plan, Skipped) else self.plan.steps
        return bool(steps) and all(isinstance(each.step, StopConnector) for each in steps)


class KeptPlans(Result, frozen=True, kw_only=True):
    directory: str
    plans: tuple[KeptPlan, ...] = ()


def state_by(steps: int, done: int, undo_steps: int, undone: int) -> PlanState:
    """State of a plan, by the number of its steps that are done and of its undo's."""
    if undone:
        return PlanState.UNDONE if undone >= undo_steps else PlanState.UNDO_BEGUN
    if not done:
        return PlanState.PLANNED
    return PlanState.DONE if done >= steps else PlanState.BEGUN
