"""What became of the steps of a plan."""

from dataclasses import dataclass
from enum import StrEnum

from eosctl.model.plan import Step


class StepOutcome(StrEnum):
    """What became of one step: done now, done by an earlier run, left to a person, failed, or not begun."""

    DONE = "done"
    DONE_BEFORE = "done-before"
    BY_HAND = "by-hand"
    FAILED = "failed"
    NOT_BEGUN = "not-begun"


@dataclass(frozen=True, slots=True)
class StepResult:
    """The outcome of step `number` (from 1): detail says what was seen or, for a failed step, why it failed."""

    number: int
    step: Step
    outcome: StepOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ApplyOutcome:
    """The results of all steps, in order. changed says whether this or an earlier run changed anything that lasts."""

    results: tuple[StepResult, ...]
    changed: bool

    def count(self, outcome: StepOutcome) -> int:
        """How many steps ended so."""
        return sum(1 for result in self.results if result.outcome is outcome)
