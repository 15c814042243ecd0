"""Fencing: the plan before it is confirmed, and the results."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from eosctl.model.fencing import (
    Candidate,
    Fenced,
    FenceOutcome,
    FenceResult,
    FenceStep,
    FencingOutcome,
    FencingPlan,
    PlannedFencing,
    Proof,
)
from eosctl.model.times import rfc3339
from eosctl.model.transactions import TransactionDescription, TransactionState
from eosctl.render.answers.findings import FindingRow, finding_rows
from eosctl.render.document import Column, Document, Findings, Table, Tone, col, columns, row_of

# The answer of `fence`.

OUTCOME_TONES = {"fenced": Tone.GOOD, "failed": Tone.BAD, "skipped": Tone.FAINT}
STATE_TONES = {"Ongoing": Tone.WARN, "PrepareCommit": Tone.WARN, "PrepareAbort": Tone.WARN}
PROOF_TONES = {"proved": Tone.GOOD, "not proved": Tone.BAD}


class IdentityRow(Struct, frozen=True):
    """A producer ID with its epoch."""

    producer_id: Annotated[int, "the producer that holds the ID now"]
    producer_epoch: Annotated[int, col("the producer's epoch, which fencing raises", "EPOCH")]
    identity: Annotated[str, "producer ID/epoch"]


class BeforeRow(Struct, frozen=True):
    """The ID at its coordinator before it was fenced."""

    state: Annotated[TransactionState, col("its state at the coordinator now; - if none knows it", tones=STATE_TONES)]
    producer_id: Annotated[int, "the producer that holds the ID now"]
    producer_epoch: Annotated[int, col("the producer's epoch, which fencing raises", "EPOCH")]
    identity: Annotated[str, "producer ID/epoch"]
    partitions: Annotated[int, "partitions in its open transaction"]


class FenceStepRow(Struct, frozen=True):
    """An ID to fence; before is null where its coordinator does not know it."""

    transactional_id: Annotated[str, "the ID whose producer is fenced"]
    owner: Annotated[str, "the owner of the ID, by the group ID, the config topic and its shape"]
    before: BeforeRow | None
    effect: Annotated[str, "what fencing it does"]


class SkippedIdRow(Struct, frozen=True):
    """An ID that is not fenced, and why."""

    transactional_id: str
    reason: str


class ObjectionRow(Struct, frozen=True):
    """An objection to the plan, which is then refused."""

    message: str
    hint: str | None


class FencePlanData(Struct, frozen=True):
    """The IDs to fence, and the effect on each."""

    steps: list[FenceStepRow]
    skipped: list[SkippedIdRow]
    objections: list[ObjectionRow]
    warnings: tuple[str, ...]
    transaction_timeout_ms: int


class ProofRow(Struct, frozen=True):
    """The state of an ID after fencing: proved or not proved."""

    verdict: Annotated[str, col("the state afterwards", "PROOF", tones=PROOF_TONES)]
    open: bool
    moved: bool
    old_producer: str


class FenceResultRow(Struct, frozen=True, kw_only=True):
    """The result for an ID."""

    transactional_id: Annotated[str, "the ID whose producer is fenced"]
    outcome: Annotated[FenceOutcome, col("fenced, skipped or failed", tones=OUTCOME_TONES)]
    owner: str
    before: BeforeRow | None = None
    after: IdentityRow | None = None
    attempts: Annotated[int, "answers to InitProducerId"] = 0
    elapsed_ms: Annotated[float, "from queueing the first request to the last answer"] = 0.0
    error: Annotated[str | None, "why it failed or was skipped"] = None
    proof: ProofRow | None = None


class FencedData(Struct, frozen=True):
    """Each ID with its outcome, in the order of the plan; skipped ones last."""

    results: list[FenceResultRow]
    elapsed_ms: float
    interrupted: bool
    findings: list[FindingRow]


PLAN_TABLE = Table(
    "steps",
    columns(
        FenceStepRow,
        "transactional_id before.state before.producer_id before.producer_epoch before.partitions owner effect",
    ),
    empty="nothing to fence",
)

RESULT_TABLE = Table(
    "results",
    columns(
        FenceResultRow,
        "transactional_id outcome",
        Column("BEFORE", "before.identity", "producer ID/epoch before"),
        Column("AFTER", "after.identity", "producer ID/epoch now; the old producer's is lower"),
        "attempts elapsed_ms proof.verdict error",
    ),
    empty="nothing to fence",
)


def view_fencing_answer(answer: PlannedFencing | Fenced) -> Document:
    return view_fencing_plan(answer) if isinstance(answer, PlannedFencing) else view_fenced(answer)


def view_fencing_plan(planned: PlannedFencing) -> Document:
    """The plan, for `--dry-run` and before the question."""
    plan = planned.plan
    data = FencePlanData(
        steps=[_step_row(step) for step in plan.steps],
        skipped=[SkippedIdRow(each.candidate.transactional_id, each.reason) for each in plan.skipped],
        objections=[row_of(ObjectionRow, each) for each in plan.objections],
        warnings=plan.warnings,
        transaction_timeout_ms=plan.transaction_timeout_ms,
    )
    return Document(
        kind="fence.plan",
        as_of=rfc3339(planned.as_of),
        cluster_id=planned.cluster_id,
        data=data,
        blocks=(PLAN_TABLE,),
        prose=(_summary(plan),),
        notes=(*_each_objection(plan), *(f"warning: {each}" for each in plan.warnings)),
    )


def _each_objection(plan: FencingPlan) -> list[str]:
    """None where there is one alone: the error that follows is about it."""
    several = plan.objections if len(plan.objections) > 1 else ()
    return [f"objection: {each.message}; {each.hint}" for each in several]


def view_fenced(fenced: Fenced) -> Document:
    """Each ID with its outcome and its proof, in the order of the plan; the skipped ones last."""
    plan, outcome = fenced.planned.plan, fenced.outcome
    proved = {proof.transactional_id: proof for proof in fenced.proofs}
    rows = [_result_row(result, proved.get(result.step.transactional_id)) for result in outcome.results]
    rows += [_skipped_row(each.candidate, each.reason) for each in plan.skipped]
    data = FencedData(rows, round(outcome.elapsed_ms, 3), outcome.interrupted, finding_rows(fenced.findings))
    return Document(
        kind="fence",
        as_of=rfc3339(fenced.planned.as_of),
        cluster_id=fenced.planned.cluster_id,
        data=data,
        blocks=(RESULT_TABLE, *([Findings()] if fenced.findings else [])),
        prose=(_verdict(outcome, len(plan.skipped), fenced.proofs),),
    )


def _step_row(step: FenceStep) -> FenceStepRow:
    return FenceStepRow(step.transactional_id, str(step.candidate.ownership), _before(step.before), effect(step.before))


def _before(description: TransactionDescription | None) -> BeforeRow | None:
    if description is None:
        return None
    producer = description.producer
    return row_of(
        BeforeRow, producer, state=description.state, identity=str(producer), partitions=len(description.partitions)
    )


def effect(before: TransactionDescription | None) -> str:
    """The effect of fencing on an ID in this state (TransactionCoordinator.prepareInitProducerIdTransit)."""
    if before is None:
        return "creates the ID"
    match before.state:
        case TransactionState.ONGOING:
            return "aborts the open transaction"
        case TransactionState.PREPARE_COMMIT:
            return "waits for the commit, then raises the epoch"
        case TransactionState.PREPARE_ABORT:
            return "waits for the abort, then raises the epoch"
        case _:
            return "raises the epoch"


def _summary(plan: FencingPlan) -> str:
    aborted = sum(1 for step in plan.steps if step.before is not None and step.before.state is TransactionState.ONGOING)
    created = sum(1 for step in plan.steps if step.before is None)
    parts = [f"{len(plan.steps)} to fence"]
    parts += [f"{aborted} with an open transaction that would be aborted"] if aborted else []
    parts += [f"{created} that would be created"] if created else []
    parts += [f"{len(plan.skipped)} skipped (no coordinator knows them)"] if plan.skipped else []
    return "Transactional IDs: " + ", ".join(parts) + "."


def _result_row(result: FenceResult, proof: Proof | None) -> FenceResultRow:
    after = result.after
    return FenceResultRow(
        transactional_id=result.step.transactional_id,
        outcome=result.outcome,
        owner=str(result.step.candidate.ownership),
        before=_before(result.step.before),
        after=None if after is None else row_of(IdentityRow, after, identity=str(after)),
        attempts=result.attempts,
        elapsed_ms=round(result.elapsed_ms, 3),
        error=None if result.error is None else f"{result.error.name}: {result.error.message}",
        proof=None if proof is None else _proof(proof),
    )


def _proof(proof: Proof) -> ProofRow:
    return ProofRow(
        verdict="proved" if proof.holds else "not proved",
        open=proof.open,
        moved=proof.moved,
        old_producer="not asked" if proof.refusal is None else proof.refusal or "not refused",
    )


def _skipped_row(candidate: Candidate, reason: str) -> FenceResultRow:
    return FenceResultRow(
        transactional_id=candidate.transactional_id,
        outcome=FenceOutcome.SKIPPED,
        owner=str(candidate.ownership),
        error=reason,
    )


def _verdict(outcome: FencingOutcome, skipped: int, proofs: Sequence[Proof]) -> str:
    counts = {each: outcome.count(each) for each in FenceOutcome}
    counts[FenceOutcome.SKIPPED] += skipped
    parts = [f"{count} {each.value}" for each, count in counts.items() if count] or ["nothing to fence"]
    proved = sum(1 for proof in proofs if proof.holds)
    held = f"; proof holds for {proved} of {len(proofs)}" if proofs else ""
    cut = "; interrupted" if outcome.interrupted else ""
    return f"{', '.join(parts)} in {outcome.elapsed_ms / 1000:.3f} s{held}{cut}."
