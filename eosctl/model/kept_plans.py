"""Plan files as they lie in a directory, with what became of each."""

from dataclasses import dataclass
from enum import StrEnum

from eosctl.model.plan import ManualStep, Plan, StopConnector
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped


class PlanState(StrEnum):
    """What became of a plan, by its journal and that of its undo file."""

    PLANNED = "planned"
    BEGUN = "begun"
    DONE = "done"
    UNDO_BEGUN = "undo-begun"
    UNDONE = "undone"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan file. plan is Skipped where the file holds none that this eosctl reads."""

    path: str
    plan: Plan | Skipped
    state: PlanState

    @property
    def connectors(self) -> tuple[str, ...]:
        """The connectors that its steps name."""
        steps = () if isinstance(self.plan, Skipped) else self.plan.steps
        names = (getattr(each.step, "connector", None) for each in steps if not isinstance(each.step, ManualStep))
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    @property
    def only_stops(self) -> bool:
        """Whether it is the first part of a plan that was made again after the stop."""
        steps = () if isinstance(self.plan, Skipped) else self.plan.steps
        return bool(steps) and all(isinstance(each.step, StopConnector) for each in steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlans(Answer):
    """All plan files of a directory, the newest first."""

    directory: str
    plans: tuple[KeptPlan, ...] = ()


def state_by(steps: int, done: int, undo_steps: int, undone: int) -> PlanState:
    """What became of a plan of which so many steps that eosctl does are done, and so many of its undo."""
    if undone:
        return PlanState.UNDONE if undone >= undo_steps else PlanState.UNDO_BEGUN
    if not done:
        return PlanState.PLANNED
    return PlanState.DONE if done >= steps else PlanState.BEGUN
