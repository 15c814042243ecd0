"""The findings of the rules: for people and for scripts."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from eosctl.model.evidence import Evidence
from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis, FeatureLevel, Phase, RuleAnswer, UpgradeCheck, Verdict
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.document import MOST, Document, Findings, Table, Tone, col, columns, row_of

# The answer of `doctor`.


class WorkerRow(Struct, frozen=True):
    """A Connect worker; exactly_once is enabled, not enabled or unknown, and reason says why it is unknown."""

    url: Annotated[str, col("the worker's REST address", "WORKER")]
    version: Annotated[str | None, "its Kafka version; - if it does not answer or names none"]
    exactly_once: Annotated[
        str, col("enabled, not enabled (disabled or preparing), or unknown", tones={"unknown": Tone.WARN})
    ]
    reason: str | None


class RuleRow(Struct, frozen=True):
    """A rule that was asked, and how it answered."""

    id: str
    name: str
    title: str
    outcome: str


class UnknownRow(Struct, frozen=True):
    """A rule that cannot tell, or only in part, with the reason."""

    id: Annotated[str, col("the rule that cannot decide, or only in part", "RULE")]
    question: Annotated[str, "what it asks"]
    reason: Annotated[str, "the parts that could not be read"]


class DiagnosisData(ShownFindings, frozen=True):
    """Findings, workers, and every rule with its outcome."""

    group_id: str | Skipped
    verdict: str
    workers: list[WorkerRow]
    unknown: list[UnknownRow]
    rules: list[RuleRow]


WORKERS = Table(
    "workers",
    columns(WorkerRow, "url version exactly_once"),
    title="Workers",
    most=MOST,
    empty="no workers were named",
)
UNKNOWN = Table(
    "unknown",
    columns(UnknownRow, "id question reason"),
    title="Cannot tell",
    most=MOST,
)


def view_diagnosis(diagnosis: Diagnosis) -> Document:
    """Findings first, then the workers, then the rules without an answer."""
    evidence = diagnosis.evidence
    unknown = [row for answer in diagnosis.answers for row in _unknown_rows(answer)]
    data = DiagnosisData(
        group_id=evidence.group_id,
        verdict=diagnosis.verdict,
        **findings_of(diagnosis),
        workers=worker_rows(evidence),
        unknown=unknown,
        rules=[_rule_row(answer) for answer in diagnosis.answers],
    )
    return Document(
        kind="doctor",
        as_of=rfc3339(evidence.as_of),
        cluster_id=None if isinstance(evidence.cluster_id, Skipped) else evidence.cluster_id,
        data=data,
        blocks=(Findings(most=MOST), WORKERS, *([UNKNOWN] if unknown else [])),
        prose=(_summary(diagnosis),),
        concludes=True,
    )


def worker_rows(evidence: Evidence) -> list[WorkerRow]:
    """`data.workers[]`: url, version, exactly_once (enabled, not enabled, unknown) and why it is unknown."""
    rows: list[WorkerRow] = []
    for worker in evidence.answering:
        unknown = isinstance(worker.enabled, Skipped)
        answered = "unknown" if unknown else "enabled" if worker.enabled else "not enabled"
        reason = worker.enabled.reason if isinstance(worker.enabled, Skipped) else None
        version = None if isinstance(worker.version, Skipped) else str(worker.version)
        rows.append(WorkerRow(worker.url, version, answered, reason))
    return rows + [WorkerRow(url, None, "unknown", each.reason) for url, each in evidence.silent.items()]


def _rule_row(answer: RuleAnswer) -> RuleRow:
    return RuleRow(
        id=answer.rule.id,
        name=answer.rule.kind.name,
        title=answer.rule.kind.title,
        outcome=answer.outcome,
    )


def _unknown_rows(answer: RuleAnswer) -> Iterator[UnknownRow]:
    for reason in answer.cannot_tell:
        yield UnknownRow(id=answer.rule.id, question=answer.rule.question, reason=reason)


def _summary(diagnosis: Diagnosis) -> str:
    counts = {severity: sum(each.severity is severity for each in diagnosis.reported) for severity in Severity}
    unknown = sum(bool(answer.cannot_tell) for answer in diagnosis.answers)
    found = ", ".join(f"{counts[each]} {each.value}{'s' if counts[each] != 1 else ''}" for each in list(Severity)[:2])
    rules = f"{pluralize(len(diagnosis.answers), 'rule')}: {found}, {counts[Severity.INFO]} info"
    return rules + (f"; {pluralize(unknown, 'rule')} cannot tell, or only in part" if unknown else "")


# The answer of `upgrade-check`.


class WorkerPhaseRow(Struct, frozen=True):
    """Where a worker is in the rolling upgrade."""

    url: Annotated[str, col("the worker's REST address", "WORKER")]
    phase: Annotated[
        Phase,
        col(
            "disabled, preparing or enabled; not enabled if its file was not given; unknown if it does not answer",
            tones={"unknown": Tone.WARN},
        ),
    ]
    known_by: Annotated[str, "how that is known"]


class RollingStepRow(Struct, frozen=True):
    """The next thing to do with one worker."""

    url: Annotated[str, col("the worker's REST address", "WORKER")]
    phase: Phase
    action: Annotated[str, "what to do with it, one worker after the other"]


class UpgradeData(ShownFindings, frozen=True):
    """The verdict on a rolling step; blockers are the IDs of the findings that stand in its way."""

    to: Annotated[str, "the phase, or the feature with its level"]
    verdict: Verdict
    done: bool | None
    blockers: list[str]
    unknown: list[str]
    workers: list[WorkerPhaseRow]
    steps: list[RollingStepRow]
    consequences: list[str]


# The verdict on a rolling step.


UPGRADED_WORKERS = Table(
    "workers",
    columns(WorkerPhaseRow, "url phase known_by"),
    title="Workers",
    empty="no workers were named",
)
STEPS = Table(
    "steps",
    columns(RollingStepRow, "url action"),
    title="Next",
)


def view_upgrade(check: UpgradeCheck) -> Document:
    """Verdict, blockers first, then unknown facts, and the next rolling step worker by worker."""
    evidence = check.evidence
    data = UpgradeData(
        to=str(check.target),
        verdict=check.verdict,
        done=check.done,
        **findings_of(check),
        blockers=[each.id for each in check.blockers],
        unknown=list(check.unknown),
        workers=[row_of(WorkerPhaseRow, each) for each in check.workers],
        steps=[row_of(RollingStepRow, each) for each in check.steps],
        consequences=list(check.consequences),
    )
    return Document(
        kind="upgrade-check",
        as_of=rfc3339(evidence.as_of),
        cluster_id=None if isinstance(evidence.cluster_id, Skipped) else evidence.cluster_id,
        data=data,
        blocks=(
            *([] if isinstance(check.target, FeatureLevel) else [UPGRADED_WORKERS]),
            *([Findings()] if check.reported else []),
            *([STEPS] if check.steps else []),
        ),
        prose=(check.summary,),
        concludes=True,
        notes=(*(f"cannot tell: {each}" for each in check.unknown), *(f"note: {each}" for each in check.consequences)),
    )
