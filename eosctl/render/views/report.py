"""Findings as rows: the same shape in every command's data."""

from collections.abc import Sequence
from typing import Any

from eosctl.model.report import Answer, Finding
from eosctl.model.waivers import AppliedWaiver


def findings_of(answer: Answer) -> dict[str, Any]:
    """`data.findings[]` of the severities that the user wants to see, and `data.findings_left_out`: how many others."""
    shown = [each for each in answer.reported if each.severity.reaches(answer.triage.shown_from)]
    rows = [
        {**_row(each), "waiver": _waiver_row(answer.triage.waiver_of(each)), "new": answer.is_new(each)}
        for each in shown
    ]
    return {"findings": rows, "findings_left_out": len(answer.reported) - len(shown)}


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """`data.findings[]` of what was found on the way to a change: no waiver and no earlier run bears on it."""
    return [{**_row(each), "waiver": None, "new": None} for each in findings]


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "name": finding.name,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "message": finding.message,
        "cure": finding.cure,
        "evidence": dict(finding.evidence),
    }


def _waiver_row(applied: AppliedWaiver | None) -> dict[str, Any] | None:
    if applied is None:
        return None
    waiver = applied.waiver
    return {
        "subject": waiver.subject,
        "owner": waiver.owner,
        "reason": waiver.reason,
        "expires": waiver.expires.isoformat(),
        "expired": applied.expired,
    }
