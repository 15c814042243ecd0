"""Findings: the same shape in every document."""

from collections.abc import Mapping
from typing import TypedDict

from eosctl.model.report import Severity


class WaiverRow(TypedDict):
    """The waiver that covers a finding; an expired one holds no longer."""

    subject: str
    owner: str
    reason: str
    expires: str
    expired: bool


class FindingRow(TypedDict):
    """One finding: id and name are stable, evidence has the figures behind it.

    waiver is null where none covers it; new is null where nothing is known of an earlier run.
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


class ShownFindings(TypedDict):
    """Findings of the severities that were asked for, and how many others there are."""

    findings: list[FindingRow]
    findings_left_out: int
