"""A plan before it is confirmed, and its results."""

import shlex
from collections.abc import Iterable
from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from eosctl.model.names import Side
from eosctl.model.plan import (
    AbortTransaction,
    Check,
    CommitTransaction,
    FenceTransaction,
    OffsetsWrite,
    Plan,
    PlannedStep,
    PlanTarget,
    Standing,
    Step,
    WriteCommitMarker,
    WriteOffsets,
    demanded_steps,
)
from eosctl.model.planned import Applied, KeptPlan, KeptPlans, Planned, PlanState, StepOutcome, StepResult
from eosctl.model.preconditions import Precondition
from eosctl.model.skipped import Skipped
from eosctl.model.text import kind_of, pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import FindingRow, finding_rows
from eosctl.render.document import Document, Findings, Table, Tone, col, columns, row_of

# The answers of commands that plan and apply: migrate-offsets, offsets restore, apply, undo and others.


OUTCOME_TONES: Final = {"done": Tone.GOOD, "failed": Tone.BAD, "by-hand": Tone.WARN, "not-begun": Tone.FAINT}
STANDING_TONES: Final = {"ok": Tone.GOOD, "fails": Tone.BAD, "later": Tone.FAINT, "unknown": Tone.WARN}
STATE_TONES: Final = {"done": Tone.GOOD, "begun": Tone.WARN, "undo-begun": Tone.WARN, "unreadable": Tone.BAD}


class PlanStepRow(Struct, frozen=True):
    """A step: preconditions have a kind, and the members that this kind has."""

    number: Annotated[int, col("the step's number", "STEP")]
    kind: Annotated[str, "what kind of step it is"]
    what: Annotated[str, "what it does"]
    preconditions: list[dict[str, Any]]


class PreconditionRow(Struct, frozen=True):
    """The condition, checked before these steps; now is its present state, null if it was not checked."""

    steps: Annotated[list[int], "the steps before which it is checked"]
    what: Annotated[str, col("the condition, checked before the step", "CHECKED")]
    now: Annotated[
        Standing | None,
        col("with --dry-run: ok, fails, later (an earlier step establishes it) or unknown", tones=STANDING_TONES),
    ]
    reason: Annotated[str | None, "why it is not ok"]


class PlanPlaceRow(Struct, frozen=True):
    """The clusters for which the plan was made, and where it is carried out unless options name others."""

    side: Side
    bootstrap_servers: list[str]
    connect_urls: list[str]
    config_topic: str | None


class OffsetWriteRow(Struct, frozen=True):
    """A record to write to an offsets topic; after is `deleted` for a tombstone."""

    connector: str
    topic: Annotated[str, "the topic written to"]
    topic_partition: Annotated[int, col("the partition, as Java's partitioner chooses it", "PARTITION")]
    key: Annotated[str, "connector and source partition, as in the topic"]
    key_base64: str
    before: Annotated[str | None, "the offset there now"]
    after: Annotated[str, "the offset to write; deleted for a tombstone"]


class PlanData(Struct, frozen=True):
    """A plan that was not applied; objections speak against it."""

    digest: str | None
    steps: list[PlanStepRow]
    preconditions: list[PreconditionRow]
    places: list[PlanPlaceRow]
    offsets: list[OffsetWriteRow]
    findings: list[FindingRow]
    objections: list[str]


class StepResultRow(Struct, frozen=True):
    """The result of a step."""

    number: Annotated[int, col("the step's number", "STEP")]
    kind: Annotated[str, "what kind of step it is"]
    what: str
    outcome: Annotated[
        StepOutcome, col("done, done-before (by an earlier run), by-hand, failed or not-begun", tones=OUTCOME_TONES)
    ]
    detail: Annotated[str, "the result, or why it failed"]


class AppliedData(Struct, frozen=True):
    """The result of each step of a plan, and the path of the undo plan."""

    results: list[StepResultRow]
    changed: bool
    plan_file: str
    undo_file: str
    findings: list[FindingRow]


APPLIED: Final = {"acl-plan": "acl-plan.applied"}
"""The result of a plan has the plan's kind, unless that is another document's kind."""

STEPS: Final = Table(
    "steps",
    columns(PlanStepRow, "number kind what"),
    empty="nothing to do",
)
PRECONDITIONS: Final = Table(
    "preconditions",
    columns(PreconditionRow, "steps what"),
    title="Will be checked before each step",
)
CHECKS: Final = Table(
    "preconditions",
    columns(PreconditionRow, "steps now what reason"),
    title="Checked now, and again before each step",
)
OFFSETS: Final = Table(
    "offsets",
    columns(OffsetWriteRow, "topic topic_partition key before after"),
    title="Offsets to write",
)
RESULTS: Final = Table(
    "results",
    columns(StepResultRow, "number kind outcome detail"),
    empty="nothing to do",
)


def view_plan_answer(answer: Planned | Applied) -> Document:
    return view_plan(answer) if isinstance(answer, Planned) else view_applied(answer)


def view_plan(planned: Planned) -> Document:
    """The plan's steps, their preconditions, the records it writes, the findings, the objections."""
    plan = planned.plan
    steps = demanded_steps(plan)
    checked = _unchecked(steps) if planned.checks is None else [_check_row(each) for each in planned.checks]
    rows = [row for each in plan.steps for row in _offset_rows(each.step)]
    prose = f"Plan {plan.kind}: {', '.join(_counts(plan))}."
    data = PlanData(
        digest=planned.digest,
        steps=[_step_row(number, each) for number, each in enumerate(steps, 1)],
        preconditions=checked,
        places=[row_of(PlanPlaceRow, each) for each in plan.places],
        offsets=rows,
        findings=finding_rows(planned.findings),
        objections=list(planned.objections),
    )
    return Document(
        kind=f"{plan.kind}.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=planned.cluster_id,
        data=data,
        blocks=(
            *([STEPS] if plan.steps else []),
            *([PRECONDITIONS if planned.checks is None else CHECKS] if checked else []),
            *([OFFSETS] if rows else []),
            *([Findings()] if planned.findings else []),
        ),
        prose=(prose, *map(_made_at, plan.places), *([f"Its digest: {planned.digest}."] if planned.digest else [])),
        notes=tuple(f"warning: {each}" for each in planned.warnings),
    )


def _counts(plan: Plan) -> list[str]:
    """How many steps, and offsets that they write and delete."""
    records = [
        each for planned in plan.steps if isinstance(planned.step, WriteOffsets) for each in planned.step.records
    ]
    deleted = sum(1 for each in records if each.value is None)
    counts = {"to write": len(records) - deleted, "to delete": deleted}
    offsets = [f"{pluralize(count, 'offset')} {what}" for what, count in counts.items() if count]
    if plan.kind == "offsets.restore" and plan.steps and not records:
        offsets = ["no offset to write: those of the file are the present ones"]
    return [pluralize(len(plan.steps), "step") if plan.steps else "no step can be planned", *offsets]


def _made_at(place: PlanTarget) -> str:
    """The clusters for which it was made, and where it is carried out unless options name others."""
    named = (
        ("brokers", ", ".join(place.bootstrap_servers)),
        ("workers", ", ".join(place.connect_urls)),
        ("config topic", place.config_topic),
    )
    return f"Its {place.side}: " + "; ".join(f"{what} {names}" for what, names in named if names) + "."


def _step_row(number: int, planned: PlannedStep) -> PlanStepRow:
    return PlanStepRow(
        number=number,
        kind=kind_of(type(planned.step)),
        what=planned.step.describe(),
        preconditions=[_precondition_row(each) for each in planned.preconditions],
    )


def _check_row(check: Check) -> PreconditionRow:
    return PreconditionRow(
        steps=list(check.steps),
        what=check.precondition.describe(),
        now=check.standing,
        reason=check.reason or None,
    )


def _unchecked(steps: Iterable[PlannedStep]) -> list[PreconditionRow]:
    """Each precondition with the steps before which it is checked, in their order."""
    found: dict[str, list[int]] = {}
    for number, planned in enumerate(steps, 1):
        for each in planned.preconditions:
            found.setdefault(each.describe(), []).append(number)
    return [PreconditionRow(steps=numbers, what=what, now=None, reason=None) for what, numbers in found.items()]


def _precondition_row(precondition: Precondition) -> dict[str, Any]:
    members = asdict(precondition)
    return {"kind": kind_of(type(precondition)), **members}


def _offset_rows(step: Step) -> list[OffsetWriteRow]:
    if not isinstance(step, WriteOffsets):
        return []
    return [_offset_row(step, each) for each in step.records]


def _offset_row(step: WriteOffsets, record: OffsetsWrite) -> OffsetWriteRow:
    import base64

    return OffsetWriteRow(
        connector=step.connector,
        topic=step.topic,
        topic_partition=record.partition,
        key=record.key.decode("utf-8", "replace"),
        key_base64=base64.b64encode(record.key).decode(),
        before=None if record.before is None else record.before.decode("utf-8", "replace"),
        after="deleted" if record.value is None else record.value.decode("utf-8", "replace"),
    )


def view_applied(applied: Applied) -> Document:
    """Every step with its outcome, and the file for rolling back."""
    plan, outcome = applied.plan, applied.outcome
    done = outcome.count(StepOutcome.DONE) + outcome.count(StepOutcome.DONE_BEFORE)
    by_hand = [each.detail for each in outcome.results if each.outcome is StepOutcome.BY_HAND]
    left = f", {len(by_hand)} more {'is' if len(by_hand) == 1 else 'are'} to do by hand" if by_hand else ""
    begun = outcome.changed or outcome.count(StepOutcome.FAILED)
    finished_by = f"to finish it: {applied.finished_by}"
    names = dict.fromkeys(each.step.connector for each in plan.steps if isinstance(each.step, WriteOffsets))
    condition = f", until connector {', '.join(names)} writes newer offsets" if names else ""
    undone_by = f"to roll it back{condition}: {applied.undone_by}"
    moved_back_by = f"to go back after that: {applied.moved_back_by}"
    data = AppliedData(
        results=[_result_row(each) for each in outcome.results],
        changed=outcome.changed,
        plan_file=applied.plan_file,
        undo_file=applied.undo_file,
        findings=finding_rows(applied.findings),
    )
    return Document(
        kind=APPLIED.get(plan.kind, plan.kind),
        as_of=rfc3339(plan.as_of),
        cluster_id=applied.cluster_id,
        data=data,
        blocks=(RESULTS, *([Findings()] if applied.findings else [])),
        prose=(f"{done} of {len(outcome.results) - len(by_hand)} steps are done{left}.",),
        notes=(
            *(f"to do by hand: {each}" for each in by_hand),
            *([finished_by] if begun and applied.error is not None else []),
            *([undone_by] if outcome.changed and _can_be_undone(plan) else []),
            *([moved_back_by] if outcome.changed and applied.moved_back_by is not None else []),
        ),
    )


def _can_be_undone(plan: Plan) -> bool:
    """A transaction that has ended stays ended."""
    ended = AbortTransaction | WriteCommitMarker | CommitTransaction | FenceTransaction
    return not plan.steps or any(not isinstance(planned.step, ended) for planned in plan.steps)


def _result_row(result: StepResult) -> StepResultRow:
    return row_of(
        StepResultRow,
        result,
        kind=kind_of(type(result.step)),
        what=result.step.describe(),
    )


# The answer of `plans list`.


class KeptPlanRow(Struct, frozen=True):
    """A plan file; made is when its facts were read, next the command that may follow, null where there is none."""

    file: str
    kind: Annotated[str | None, "the command that made it"]
    made: Annotated[str | None, "when its facts were read"]
    connectors: Annotated[list[str], "the connectors that its steps name"]
    state: Annotated[PlanState, col("planned, begun, done, undo-begun, undone or unreadable", tones=STATE_TONES)]
    next: Annotated[str | None, "the command that may follow; add the addresses"]
    reason: Annotated[str | None, "why the file cannot be read"]


class KeptPlansData(Struct, frozen=True):
    """The plan files of a directory, the newest first."""

    directory: str
    plans: list[KeptPlanRow]


# Plan files, the outcome of each, and the next command.


PLANS: Final = Table(
    "plans",
    columns(KeptPlanRow, "made kind connectors state next reason"),
    empty="there is no plan file",
    name="file",
)
NEXT: Final = {
    PlanState.PLANNED: ("apply", ""),
    PlanState.BEGUN: ("apply", ""),
    PlanState.DONE: ("undo", ".undo"),
    PlanState.UNDO_BEGUN: ("undo", ".undo"),
}


def view_plans(kept: KeptPlans, *, bare: bool) -> Document:
    """A row for each plan; bare: the commands find its file by its name alone."""
    data = KeptPlansData(directory=kept.directory, plans=[_row(each, bare=bare) for each in kept.plans])
    prose = f"Plans in {kept.directory}:" if kept.plans else f"{kept.directory} has no plan file."
    return Document(kind="plans", data=data, blocks=(PLANS,), prose=(prose,))


def _row(kept: KeptPlan, *, bare: bool) -> KeptPlanRow:
    plan, name = kept.plan, kept.path.rpartition("/")[2] if bare else kept.path
    verb, suffix = NEXT.get(kept.state, ("", ""))
    return KeptPlanRow(
        file=kept.path,
        kind=None if isinstance(plan, Skipped) else plan.kind,
        made=None if isinstance(plan, Skipped) else rfc3339(plan.as_of),
        connectors=list(kept.connectors),
        state=kept.state,
        next=shlex.join(["eosctl", verb, name + suffix]) if verb else None,
        reason=plan.reason if isinstance(plan, Skipped) else None,
    )
