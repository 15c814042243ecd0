"""Findings: the same shape in every document."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import Struct

from eosctl.model.report import AppliedWaiver, Finding, Result, Severity
from eosctl.render.document import row_of


class WaiverRow(Struct, frozen=True):
    """The waiver that covers a finding; an expired one holds no longer."""

    subject: str
    owner: str
    reason: str
    expires: str
    expired: bool


class FindingRow(Struct, frozen=True):
    """One finding: id and name are stable, evidence has the figures behind it.

    waiver is null if none covers it; new is null if no earlier run is known.
    """

    id: str
    name: str
    severity: Severity
    subject: str
    message: str
    cure: str
    evidence: Mapping[str, object]
    waiver: WaiverRow | None
    new: bool | None


class ShownFindings(Struct, frozen=True):
    """Findings of the severities that were asked for, and how many others there are."""

    findings: list[FindingRow]
    findings_left_out: int


# Findings as rows: the same shape in every command's data.


def findings_of(answer: Result) -> dict[str, Any]:
    """`data.findings[]` of the severities that the user wants to see, and `data.findings_left_out`: how many others."""
    shown = [each for each in answer.reported if each.severity.reaches(answer.triage.shown_from)]
    rows = [
        _row(each, answer.triage.cure_of(each), _waiver_row(answer.triage.waiver_of(each)), answer.is_new(each))
        for each in shown
    ]
    return {"findings": rows, "findings_left_out": len(answer.reported) - len(shown)}


def finding_rows(findings: Sequence[Finding]) -> list[FindingRow]:
    """`data.findings[]` of a change: without waivers and without an earlier run."""
    return [_row(each, each.cure, None, None) for each in findings]


def _row(finding: Finding, cure: str, waiver: WaiverRow | None, new: bool | None) -> FindingRow:
    return row_of(FindingRow, finding, cure=cure, evidence=dict(finding.evidence), waiver=waiver, new=new)


def _waiver_row(applied: AppliedWaiver | None) -> WaiverRow | None:
    if applied is None:
        return None
    waiver = applied.waiver
    return row_of(
        WaiverRow,
        waiver,
        expires=waiver.expires.isoformat(),
        expired=applied.expired,
    )


# Unread facts, as JSON rows from the start.


class SkippedRow(TypedDict):
    """It was not read, for this reason: it may be there or not."""

    skipped: str
