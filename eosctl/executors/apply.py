"""Applying a plan: check, journal, act, journal, step after step.

1. Steps that the journal calls done are not done again. Of the others every precondition, those that follow from the
   steps too (model.step_demands), must hold before anything is done (model.preconditions).
2. Immediately before each step its own preconditions are read again and must hold: compare and set.
3. `begun` is on disk before a step acts, `done` before the next one begins. Every performer can be repeated: one that
   finds its work done leaves it, so a run that was killed at any point is finished by the next one.
4. The first step that fails ends the run; those after it are not begun.
5. What a step did is said as it is, also where the journal cannot be written any more: the next run does that step
   again, and finds its work done.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from eosctl.codecs.plan import JournalEvent
from eosctl.errors import EosctlError, Interrupted, PartlyApplied, Refused
from eosctl.executors.journal import Journal
from eosctl.model.connector_steps import AwaitOperator, CreateConnector, DeleteConnector
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.plan import (
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    ManualStep,
    NoOpenTransaction,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    Precondition,
    ResumeConnector,
    SetConnectorConfig,
    Step,
    StopConnector,
    WriteOffsets,
)
from eosctl.model.plan_facts import PlanFacts
from eosctl.model.plan_outcome import ApplyOutcome, StepOutcome, StepResult
from eosctl.model.preconditions import Check, Standing, cure, needed_first, standings, violations
from eosctl.model.skipped import Skipped
from eosctl.model.step_demands import demanded_steps
from eosctl.model.step_descriptions import describe_step
from eosctl.model.transaction_steps import AbortTransaction, CommitTransaction

Recheck = Callable[[], None]
"""Reads a step's preconditions again and raises Refused where one no longer holds."""

Performer = Callable[[Step, Recheck], str]
"""Does one step and says what was done; raises an EosctlError where it could not."""

ReadFacts = Callable[[Sequence[Precondition]], PlanFacts]
"""Reads, now, what these preconditions speak of."""

LASTING: Final = (
    StopConnector,
    CreateTopic,
    WriteOffsets,
    CreateConnector,
    SetConnectorConfig,
    DeleteConnector,
    ResumeConnector,
    AwaitOperator,
    AbortTransaction,
    CommitTransaction,
    CreateAcls,
    DeleteAcls,
)
"""Steps that leave something changed. Fencing does not: whoever starts next is not affected by it."""

NOT_JOURNALED: Final = "not journaled"
UNKNOWN: Final = "whether it was done is not known"
BY_AN_EARLIER_RUN: Final = "by an earlier run, as the journal says"
AGAIN: Final = "make room, then `eosctl apply` the same plan again: it finds what is done, and goes on"


def check_plan(
    plan: Plan,
    done: Collection[int],
    read_facts: ReadFacts,
    *,
    words: Sequence[str] = (),
    replanned: bool = False,
) -> tuple[tuple[Check, ...], EosctlError | None]:
    """Rule 1, now: each precondition of the steps that are not done, and the error that ends a run at once, if any.

    replanned: offsets are planned again once their connectors are stopped, so they may change until then. words name
    the clusters on a command line.
    """
    remaining = [(number, each) for number, each in enumerate(demanded_steps(plan), 1) if number not in done]
    needed = needed_first(planned for _, planned in remaining)
    if replanned:
        needed = tuple(each for each in needed if not isinstance(each, OffsetsUnchanged | NoOpenTransaction))
    try:
        facts = read_facts(needed) if needed else PlanFacts()
    except EosctlError as error:
        return standings(remaining, needed, Skipped.of(error)), error
    checks = standings(remaining, needed, facts)
    failing = [each.reason for each in checks if each.standing is Standing.FAILS]
    return checks, Refused("; ".join(failing), hint=cure(needed, facts, plan, words)) if failing else None


class ApplyRun:
    """One plan being applied. `on_result` is called with each step as it ends."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        read_facts: ReadFacts,
        performers: Mapping[type, Performer],
        *,
        words: Sequence[str] = (),
        on_result: Callable[[StepResult], None] = lambda _: None,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        self._plan = plan
        self._steps = demanded_steps(plan)
        self._journal = journal
        self._read_facts = read_facts
        self._performers = performers
        self._words = words
        self._on_result = on_result
        self._failpoint = failpoint
        self._results: list[StepResult] = []

    def run(self) -> tuple[ApplyOutcome, EosctlError | None]:
        """The outcome, and the error that the run ended with, if any: it says what became of the steps before it."""
        failure: EosctlError | None = None
        try:
            self._failpoint("opened")
            _, refused = check_plan(self._plan, self._journal.done, self._read_facts, words=self._words)
            if refused is not None:
                raise refused
            self._failpoint("checked")
            for number, planned in enumerate(self._steps, 1):
                self._end(self._perform(number, planned))
        except KeyboardInterrupt:
            failure = Interrupted("interrupted between two steps")
        except EosctlError as error:
            failure = error
        outcome = self._outcome(failure)
        return outcome, None if failure is None else _ended(failure, outcome)

    def _require(self, preconditions: Sequence[Precondition]) -> None:
        if not preconditions:
            return
        facts = self._read_facts(preconditions)
        found = violations(preconditions, facts)
        if found:
            raise Refused("; ".join(found), hint=cure(preconditions, facts, self._plan, self._words))

    def _perform(self, number: int, planned: PlannedStep) -> StepResult:
        step = planned.step
        if number in self._journal.done:
            return StepResult(number, step, StepOutcome.DONE_BEFORE, BY_AN_EARLIER_RUN)
        if isinstance(step, ManualStep):
            return StepResult(number, step, StepOutcome.BY_HAND, step.instruction)
        self._require(needed_first([planned]))
        self._journal.write(number, JournalEvent.BEGUN)
        self._failpoint(f"{number}:begun")
        try:
            detail = self._performers[type(step)](step, lambda: self._require(planned.preconditions))
        except KeyboardInterrupt as interrupt:
            what = f"interrupted in step {number}, {describe_step(step)}: {UNKNOWN}"
            raise self._failed(number, step, Interrupted(what)) from interrupt
        except EosctlError as error:
            raise self._failed(number, step, error) from error
        result = StepResult(number, step, StepOutcome.DONE, detail)
        try:
            self._failpoint(f"{number}:performed")
            self._journal.write(number, JournalEvent.DONE, detail)
        except KeyboardInterrupt:
            self._end(result)
            raise
        except EosctlError as error:
            self._end(replace(result, detail=f"{detail}; {NOT_JOURNALED}: {error.message}"))
            raise PartlyApplied(f"step {number} is done, {NOT_JOURNALED}: {error.message}", hint=AGAIN) from error
        self._failpoint(f"{number}:done")
        return result

    def _failed(self, number: int, step: Step, error: EosctlError) -> EosctlError:
        """Notes a step that failed, and returns why it did: a journal that cannot be written hides that from nobody."""
        detail = error.message
        try:
            self._journal.write(number, JournalEvent.FAILED, detail)
        except EosctlError as unwritten:
            detail = f"{detail}; {NOT_JOURNALED}: {unwritten.message}"
        self._end(StepResult(number, step, StepOutcome.FAILED, detail))
        return error

    def _end(self, result: StepResult) -> None:
        self._results.append(result)
        self._on_result(result)

    def _outcome(self, failure: EosctlError | None) -> ApplyOutcome:
        """The results so far, and one for each step that was not reached."""
        ended = len(self._results)
        rest = []
        for number, planned in enumerate(self._plan.steps[ended:], ended + 1):
            if number in self._journal.done:
                rest.append(StepResult(number, planned.step, StepOutcome.DONE_BEFORE, BY_AN_EARLIER_RUN))
            else:
                rest.append(StepResult(number, planned.step, StepOutcome.NOT_BEGUN, "the run ended before it"))
        if rest and failure is not None and ended and self._results[-1].outcome is not StepOutcome.FAILED:
            rest[0] = StepResult(rest[0].number, rest[0].step, rest[0].outcome, failure.message)
        results = (*self._results, *rest)
        changed = any(
            isinstance(each.step, LASTING) and each.outcome in {StepOutcome.DONE, StepOutcome.DONE_BEFORE}
            for each in results
        )
        return ApplyOutcome(results, changed)


def _ended(failure: EosctlError, outcome: ApplyOutcome) -> EosctlError:
    """The error of a run: an interruption stays one, what comes after lasting changes is PartlyApplied."""
    done = outcome.count(StepOutcome.DONE) + outcome.count(StepOutcome.DONE_BEFORE)
    if isinstance(failure, Interrupted):
        counts = f"; {done} of {len(outcome.results)} steps are done" if len(outcome.results) > 1 else ""
        return Interrupted(f"{failure.message}{counts}", hint=failure.hint)
    if not outcome.changed:
        return failure
    return PartlyApplied(f"{done} of {len(outcome.results)} steps are done, then: {failure.message}", hint=failure.hint)
