"""A plan before it is applied, and what became of it: the answers of the commands that write."""

from dataclasses import dataclass, field

from eosctl.errors import EosctlError, Refused
from eosctl.model.connector_steps import AwaitOperator
from eosctl.model.plan import Plan, PlannedStep, StopConnector
from eosctl.model.plan_outcome import ApplyOutcome
from eosctl.model.preconditions import Check
from eosctl.model.report import Answer, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(Answer):
    """A plan for the source cluster with this ID, what was found on the way, and why it must not be applied, if so.

    checks are its preconditions as they are now, None: nobody asked. hint says what to do about the objections;
    warnings are for a plan that was forced. error is why the plan could not be written to its file or checked. digest
    is that of its file.
    """

    plan: Plan
    cluster_id: str
    findings: tuple[Finding, ...] = ()
    objections: tuple[str, ...] = ()
    checks: tuple[Check, ...] | None = None
    hint: str | None = None
    warnings: tuple[str, ...] = ()
    error: EosctlError | None = None
    digest: str = field(default="", compare=False)

    @property
    def stops(self) -> tuple[PlannedStep, ...]:
        """Its steps that stop connectors, or wait until an operator has stopped them."""
        return tuple(
            each
            for each in self.plan.steps
            if isinstance(each.step, StopConnector) or (isinstance(each.step, AwaitOperator) and each.step.stops)
        )

    @property
    def failure(self) -> EosctlError | None:
        """Refused where anything speaks against the plan, otherwise the error of its file."""
        return Refused("; ".join(self.objections), hint=self.hint) if self.objections else self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Answer):
    """A plan that was applied: what became of each step, its file, the undo file, and the error that it ended with.

    cluster_id is empty where the cluster no longer answers. finished_by and undone_by are command lines,
    moved_back_by one that works after the connector has gone on, too; None: there is none.
    """

    plan: Plan
    cluster_id: str
    outcome: ApplyOutcome
    plan_file: str
    undo_file: str
    finished_by: str = field(default="", compare=False)
    undone_by: str = field(default="", compare=False)
    moved_back_by: str | None = field(default=None, compare=False)
    findings: tuple[Finding, ...] = ()
    error: EosctlError | None = None

    @property
    def failure(self) -> EosctlError | None:
        """The error that the run ended with: it says what became of the steps before it."""
        return self.error
