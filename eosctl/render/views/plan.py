"""A plan before it is confirmed, and what came of it."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, assert_never

from eosctl.model.counts import counted
from eosctl.model.kinds import kind_of
from eosctl.model.plan import (
    AbortTransaction,
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    FenceProducers,
    ManualStep,
    OffsetsWrite,
    Plan,
    PlannedStep,
    Precondition,
    ResumeConnector,
    SetConnectorConfig,
    Side,
    Step,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.plan_outcome import ApplyOutcome, StepOutcome, StepResult
from eosctl.model.report import Finding
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Findings, Table, Tone, figure
from eosctl.render.views.report import finding_rows

SHOWN_IDS: Final = 5
OUTCOME_TONES: Final = {"done": Tone.GOOD, "failed": Tone.BAD, "by-hand": Tone.WARN, "not-begun": Tone.FAINT}

STEPS: Final = Table(
    "steps",
    (
        figure("STEP", "number", "the step's number"),
        Column("KIND", "kind", "what kind of step it is"),
        Column("WHAT", "what", "what it does"),
    ),
    empty="nothing to do",
)
OFFSETS: Final = Table(
    "offsets",
    (
        Column("TOPIC", "topic", "the topic written to"),
        figure("PARTITION", "topic_partition", "the partition, as Java's partitioner chooses it"),
        Column("KEY", "key", "connector and source partition, as they are in the topic"),
        Column("BEFORE", "before", "the offset there now"),
        Column("AFTER", "after", "the offset to write; deleted for a tombstone"),
    ),
    title="Offsets to write",
)
RESULTS: Final = Table(
    "results",
    (
        figure("STEP", "number", "the step's number"),
        Column("KIND", "kind", "what kind of step it is"),
        Column("OUTCOME", "outcome", "done, done-before, by-hand, failed or not-begun", tones=OUTCOME_TONES),
        Column("DETAIL", "detail", "what was seen"),
    ),
    empty="nothing to do",
)


def view_plan(
    plan: Plan, cluster_id: str, findings: Sequence[Finding] = (), objections: Sequence[str] = ()
) -> Document:
    """The plan's steps, the records it writes, what was found, and what speaks against it."""
    rows = [row for planned in plan.steps for row in _offset_rows(planned.step)]
    writes = f", {counted(len(rows), 'offset')} to write" if _can_be_undone(plan) else ""
    prose = f"Plan {plan.kind}: {counted(len(plan.steps), 'step')}{writes}."
    return Document(
        kind=f"{plan.kind}.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=cluster_id,
        data={
            "steps": [_step_row(number, planned) for number, planned in enumerate(plan.steps, 1)],
            "offsets": rows,
            "findings": finding_rows(findings),
            "objections": list(objections),
        },
        blocks=(STEPS, *([OFFSETS] if rows else []), *([Findings()] if findings else [])),
        prose=(prose,),
        notes=tuple(f"speaks against it: {each}" for each in objections),
    )


def _step_row(number: int, planned: PlannedStep) -> dict[str, Any]:
    return {
        "number": number,
        "kind": kind_of(type(planned.step)),
        "what": describe_step(planned.step),
        "preconditions": [_precondition_row(each) for each in planned.preconditions],
    }


def _precondition_row(precondition: Precondition) -> dict[str, Any]:
    members = {each.name: getattr(precondition, each.name) for each in fields(precondition)}
    return {"kind": kind_of(type(precondition)), **members}


def _offset_rows(step: Step) -> list[dict[str, Any]]:
    if not isinstance(step, WriteOffsets):
        return []
    return [_offset_row(step, each) for each in step.records]


def _offset_row(step: WriteOffsets, record: OffsetsWrite) -> dict[str, Any]:
    import base64

    return {
        "connector": step.connector,
        "topic": step.topic,
        "topic_partition": record.partition,
        "key": record.key.decode("utf-8", "replace"),
        "key_base64": base64.b64encode(record.key).decode(),
        "before": None if record.before is None else record.before.decode("utf-8", "replace"),
        "after": "deleted" if record.value is None else record.value.decode("utf-8", "replace"),
    }


def describe_step(step: Step) -> str:  # noqa: C901, PLR0911  # one line for each kind of step
    """The step in one line."""
    match step:
        case StopConnector(side, connector):
            return f"stop connector {connector}{_where(side)} and wait until it has no tasks"
        case FenceProducers(side, transactional_ids):
            return f"fence the producers of {_some(transactional_ids)}{_where(side)}"
        case CreateTopic(_, topic, partitions, replication_factor):
            factor = "the default" if replication_factor < 0 else str(replication_factor)
            return f"create topic {topic}, compact, {counted(partitions, 'partition')}, replication factor {factor}"
        case WriteOffsets():
            return (
                f"write {counted(len(step.records), 'offset')} of connector {step.connector} to topic {step.topic} in "
                f"one transaction as {step.transactional_id}"
            )
        case VerifyOffsets(_, topic, connector):
            return f"read the offsets of connector {connector} in topic {topic} again and compare"
        case SetConnectorConfig(side, connector, changes, _, copied_from):
            begin = f"configure connector {connector}" if copied_from is None else _created(connector, copied_from)
            told = [f"without {key}" if value is None else f"with {key}={value}" for key, value in changes.items()]
            return " ".join([begin + _where(side), *told])
        case ResumeConnector(side, connector):
            return f"resume connector {connector}{_where(side)} and wait until its tasks run"
        case AbortTransaction(_, topic, partition, producer_id, epoch, _, start_offset):
            return f"abort what producer {producer_id}/{epoch} has open in {topic}-{partition} from {start_offset}"
        case CreateAcls(side, bindings):
            return f"create {_some([str(each) for each in bindings])}{_where(side)}"
        case DeleteAcls(side, bindings):
            return f"remove {_some([str(each) for each in bindings])}{_where(side)}"
        case ManualStep(instruction):
            return f"by hand: {instruction}"
    assert_never(step)


def _created(connector: str, copied_from: str) -> str:
    return f"create connector {connector}, STOPPED, with the config of {copied_from} (or configure it if it exists)"


def _where(side: Side) -> str:
    return " (target)" if side is Side.TARGET else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_IDS])
    return shown if len(names) <= SHOWN_IDS else f"{shown} and {len(names) - SHOWN_IDS} more"


def view_apply_outcome(
    plan: Plan, outcome: ApplyOutcome, cluster_id: str, undo_file: str, findings: Sequence[Finding] = ()
) -> Document:
    """Every step with what became of it, and where the way back is kept."""
    done = outcome.count(StepOutcome.DONE) + outcome.count(StepOutcome.DONE_BEFORE)
    by_hand = [each.detail for each in outcome.results if each.outcome is StepOutcome.BY_HAND]
    return Document(
        kind=plan.kind,
        as_of=rfc3339(plan.as_of),
        cluster_id=cluster_id,
        data={
            "results": [_result_row(each) for each in outcome.results],
            "changed": outcome.changed,
            "undo_file": undo_file,
            "findings": finding_rows(findings),
        },
        blocks=(RESULTS, *([Findings()] if findings else [])),
        prose=(f"{done} of {len(outcome.results) - len(by_hand)} steps are done.",),
        notes=(
            *(f"left to do by hand: {each}" for each in by_hand),
            *([f"to take it back: eosctl undo {undo_file}"] if outcome.changed and _can_be_undone(plan) else []),
        ),
    )


def _can_be_undone(plan: Plan) -> bool:
    """An aborted transaction stays aborted."""
    return not plan.steps or any(not isinstance(planned.step, AbortTransaction) for planned in plan.steps)


def _result_row(result: StepResult) -> dict[str, Any]:
    return {
        "number": result.number,
        "kind": kind_of(type(result.step)),
        "what": describe_step(result.step),
        "outcome": result.outcome.value,
        "detail": result.detail,
    }
