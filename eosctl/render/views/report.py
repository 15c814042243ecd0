"""Findings as rows: the same shape in every command's data."""

from collections.abc import Sequence

from eosctl.model.report import Answer, Finding
from eosctl.model.waivers import AppliedWaiver
from eosctl.render.documents.findings import FindingRow, ShownFindings, WaiverRow


def findings_of(answer: Answer) -> ShownFindings:
    """`data.findings[]` of the severities that the user wants to see, and `data.findings_left_out`: how many others."""
    shown = [each for each in answer.reported if each.severity.reaches(answer.triage.shown_from)]
    rows = [_row(each, _waiver_row(answer.triage.waiver_of(each)), answer.is_new(each)) for each in shown]
    return {"findings": rows, "findings_left_out": len(answer.reported) - len(shown)}


def finding_rows(findings: Sequence[Finding]) -> list[FindingRow]:
    """`data.findings[]` of what was found on the way to a change: no waiver and no earlier run bears on it."""
    return [_row(each, None, None) for each in findings]


def _row(finding: Finding, waiver: WaiverRow | None, new: bool | None) -> FindingRow:
    return {
        "id": finding.id,
        "name": finding.name,
        "severity": finding.severity,
        "subject": finding.subject,
        "message": finding.message,
        "cure": finding.cure,
        "evidence": dict(finding.evidence),
        "waiver": waiver,
        "new": new,
    }


def _waiver_row(applied: AppliedWaiver | None) -> WaiverRow | None:
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
