"""Fencing of producers: the request, the steps, and their results."""

from enum import StrEnum

from msgspec import Struct

from eosctl.errors import EosctlError, Interrupted, NotAuthorized, PartlyApplied, Refused, TimedOut
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.report import Finding, Result
from eosctl.model.text import pluralize
from eosctl.model.transactions import NO_OWNER, Ownership, TransactionDescription


class FencingRequest(Struct, frozen=True):
    """The producers to fence, and the permissions of the request.

    transactional_ids were named one by one; connectors and prefixes stand for the IDs found under them. create_missing
    lets fencing create IDs that their coordinator does not know; force lets it fence running tasks.
    transaction_timeout_ms is the transaction timeout to store with each ID, None for the usual one.
    """

    transactional_ids: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    all_connectors: bool = False
    prefixes: tuple[str, ...] = ()
    create_missing: bool = False
    force: bool = False
    transaction_timeout_ms: int | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.transactional_ids or self.names_connectors or self.prefixes)

    @property
    def names_connectors(self) -> bool:
        return bool(self.connectors) or self.all_connectors

    @property
    def needs_listing(self) -> bool:
        return self.names_connectors or bool(self.prefixes)


class Candidate(Struct, frozen=True):
    """A transactional ID to fence; named if the user wrote this very ID, or derived from a connector or prefix."""

    transactional_id: str
    named: bool
    ownership: Ownership = NO_OWNER
    """Who uses the ID: no owner if unknown, several if Connect's naming is ambiguous here."""


class FenceStep(Struct, frozen=True):
    """One InitProducerId to send. before is None where the coordinator does not know the ID: the step creates it."""

    candidate: Candidate
    before: TransactionDescription | None

    @property
    def transactional_id(self) -> str:
        return self.candidate.transactional_id


class SkippedCandidate(Struct, frozen=True):
    candidate: Candidate
    reason: str


class Objection(Struct, frozen=True):
    """A reason not to carry out a plan, the way to overrule or avoid it, and the warning after it was overruled."""

    message: str
    hint: str
    forced: str = ""


class FencingPlan(Struct, frozen=True):
    """The steps of fencing. An objection forbids all of them.

    transaction_timeout_ms is part of every InitProducerId: the coordinator stores it as the ID's transaction timeout
    until the next producer initializes. It must not exceed the broker's transaction.max.timeout.ms (KAFKA-16047).
    """

    steps: tuple[FenceStep, ...]
    skipped: tuple[SkippedCandidate, ...]
    objections: tuple[Objection, ...]
    warnings: tuple[str, ...]
    transaction_timeout_ms: int


class FenceOutcome(StrEnum):
    FENCED = "fenced"
    SKIPPED = "skipped"
    FAILED = "failed"


class FenceError(Struct, frozen=True):
    """Why one ID was not fenced: Kafka's error name (or eosctl's own cause), and its meaning here."""

    name: str
    message: str


class FenceResult(Struct, frozen=True):
    """The outcome for one step: the new producer ID and epoch, how often it was sent, how long it took.

    coordinator is the broker that answered it, None where none did.
    """

    step: FenceStep
    outcome: FenceOutcome
    after: ProducerIdAndEpoch | None
    attempts: int
    elapsed_ms: float
    coordinator: int | None = None
    error: FenceError | None = None


class FencingOutcome(Struct, frozen=True):
    """All results, in the order of the plan; elapsed_ms is the time the requests took; interrupted if cut short."""

    results: tuple[FenceResult, ...]
    elapsed_ms: float
    interrupted: bool = False

    def count(self, outcome: FenceOutcome) -> int:
        return sum(1 for result in self.results if result.outcome is outcome)


class PlannedFencing(Result, frozen=True, kw_only=True):
    """A plan, and the cluster and time (ms since the epoch) it was made for."""

    plan: FencingPlan
    cluster_id: str
    as_of: int

    @property
    def transactional_ids(self) -> frozenset[str]:
        return frozenset(step.transactional_id for step in self.plan.steps)

    @property
    def objections(self) -> tuple[str, ...]:
        return tuple(each.message for each in self.plan.objections)

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.plan.warnings

    @property
    def failure(self) -> EosctlError | None:
        """With the first objection; where there are more, the plan has a line for each, with what to do about it."""
        if not self.objections:
            return None
        more = len(self.objections) - 1
        also = f"; {pluralize(more, 'more objection')}, each on a line of the plan" if more else ""
        return Refused(f"{self.objections[0]}{also}", hint=self.plan.objections[0].hint)


class Proof(Struct, frozen=True):
    """The state of one fenced ID afterwards.

    open: a transaction is ongoing now. moved: producer ID or epoch differ from before. refusal is the coordinator's
    error for the old producer (None: not tried; "": it was not refused).
    """

    transactional_id: str
    open: bool
    moved: bool
    refusal: str | None

    @property
    def holds(self) -> bool:
        """True if the old producer is fenced: nothing open, identity changed, and refused where it was tried."""
        return not self.open and self.moved and self.refusal != ""


class Fenced(Result, frozen=True, kw_only=True):
    """The result of a plan: the outcome of each ID, its proof, and findings where a proof does not hold.

    principal is who fenced, as the brokers name the user.
    """

    planned: PlannedFencing
    outcome: FencingOutcome
    proofs: tuple[Proof, ...]
    findings: tuple[Finding, ...]
    principal: str

    @property
    def found(self) -> bool:
        return bool(self.findings)

    @property
    def complete(self) -> bool:
        return len(self.proofs) == self.outcome.count(FenceOutcome.FENCED)

    @property
    def failure(self) -> EosctlError | None:
        return failure_of(self.outcome, self.principal)


def failure_of(outcome: FencingOutcome, principal: str) -> EosctlError | None:
    """How a command ends whose fencing had this outcome; None if every ID was fenced or left alone on purpose.

    1. Interrupted, if the user stopped it.
    2. PartlyApplied, if some were fenced and some were not.
    3. If none was fenced: NotAuthorized, TimedOut or Refused, by what happened to the first one; PartlyApplied where a
       coordinator failed internally: the outcome is unknown.
    """
    failed = [result for result in outcome.results if result.outcome is FenceOutcome.FAILED]
    fenced, total = outcome.count(FenceOutcome.FENCED), len(outcome.results)
    if outcome.interrupted:
        return Interrupted(
            f"stopped: {fenced} of {total} IDs are fenced, {len(failed)} were in progress; the result lists them"
        )
    if not failed:
        return None
    if fenced:
        return PartlyApplied(
            f"{fenced} of {total} IDs are fenced, {len(failed)} are not; first: {_reason(failed[0])}",
            hint="the result lists them all; run the same command again, fencing twice does no harm",
        )
    return _failure_of_first(failed[0], principal)


def _failure_of_first(result: FenceResult, principal: str) -> EosctlError:
    name, cause = result.step.transactional_id, result.error.name if result.error is not None else ""
    match cause:
        case "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            return NotAuthorized(principal=principal, operation="Write", resource=f"TransactionalId {name}")
        case "UNKNOWN_SERVER_ERROR":
            look = f"eosctl transactions describe {name}"
            hint = f"`{look}` shows its state and epoch; see the log of {_coordinator(result)} for the cause"
            return PartlyApplied(f"no ID was fenced for certain; first: {_reason(result)}", hint=hint)
        case "TIMED_OUT" | "Unreachable":
            return TimedOut(f"no ID was fenced in time; first: {_reason(result)}")
        case _:
            return Refused(f"no ID was fenced; first: {_reason(result)}")


def _coordinator(result: FenceResult) -> str:
    return "its coordinator" if result.coordinator is None else f"broker {result.coordinator}"


def _reason(result: FenceResult) -> str:
    error = result.error
    return result.step.transactional_id + ("" if error is None else f": {error.name}: {error.message}")
