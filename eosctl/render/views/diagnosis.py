"""What the rules found: for people and for scripts."""

from collections.abc import Iterator

from eosctl.model.evidence import Evidence
from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis, RuleAnswer
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import MOST, Column, Document, Findings, Table, Tone
from eosctl.render.documents.diagnosis import DiagnosisData, RuleRow, UnknownRow, WorkerRow
from eosctl.render.views.report import findings_of

WORKERS = Table(
    "workers",
    (
        Column("WORKER", "url", "the worker's REST address"),
        Column("VERSION", "version", "its Kafka version; - if it does not answer or names none"),
        Column("EXACTLY-ONCE", "exactly_once", "enabled, not enabled, or unknown", tones={"unknown": Tone.WARN}),
    ),
    title="Workers",
    most=MOST,
    empty="no workers were named",
)
UNKNOWN = Table(
    "unknown",
    (
        Column("RULE", "id", "the rule that cannot decide"),
        Column("QUESTION", "question", "what it asks"),
        Column("REASON", "reason", "what could not be read"),
    ),
    title="Cannot tell",
    most=MOST,
)


def view_diagnosis(diagnosis: Diagnosis) -> Document:
    """Findings first, then the workers, then the rules without an answer."""
    evidence = diagnosis.evidence
    unknown = [row for answer in diagnosis.answers for row in _unknown_rows(answer)]
    data: DiagnosisData = {
        "group_id": evidence.group_id,
        "verdict": diagnosis.verdict,
        **findings_of(diagnosis),
        "workers": worker_rows(evidence),
        "unknown": unknown,
        "rules": [_rule_row(answer) for answer in diagnosis.answers],
    }
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
        rows.append({"url": worker.url, "version": version, "exactly_once": answered, "reason": reason})
    for url, skipped in evidence.silent.items():
        rows.append({"url": url, "version": None, "exactly_once": "unknown", "reason": skipped.reason})
    return rows


def _rule_row(answer: RuleAnswer) -> RuleRow:
    return {
        "id": answer.rule.id,
        "name": answer.rule.kind.name,
        "title": answer.rule.kind.title,
        "outcome": answer.outcome,
    }


def _unknown_rows(answer: RuleAnswer) -> Iterator[UnknownRow]:
    for reason in answer.cannot_tell:
        yield {"id": answer.rule.id, "question": answer.rule.question, "reason": reason}


def _summary(diagnosis: Diagnosis) -> str:
    counts = {severity: sum(each.severity is severity for each in diagnosis.reported) for severity in Severity}
    unknown = sum(bool(answer.cannot_tell) for answer in diagnosis.answers)
    found = ", ".join(f"{counts[each]} {each.value}{'s' if counts[each] != 1 else ''}" for each in list(Severity)[:2])
    rules = f"{len(diagnosis.answers)} rules: {found}, {counts[Severity.INFO]} info"
    return rules + (f"; {unknown} rules cannot tell or not all" if unknown else "")
