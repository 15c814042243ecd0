"""What `doctor` answers."""

from typing import TypedDict

from eosctl.model.skipped import Skipped
from eosctl.render.documents.findings import ShownFindings


class WorkerRow(TypedDict):
    """A Connect worker; exactly_once is enabled, not enabled or unknown, and reason says why it is unknown."""

    url: str
    version: str | None
    exactly_once: str
    reason: str | None


class RuleRow(TypedDict):
    """A rule that was asked, and how it answered."""

    id: str
    name: str
    title: str
    outcome: str


class UnknownRow(TypedDict):
    """A rule that cannot tell, or not all, and why."""

    id: str
    question: str
    reason: str


class DiagnosisData(ShownFindings):
    """Findings, workers, and every rule with its outcome."""

    group_id: str | Skipped
    verdict: str
    workers: list[WorkerRow]
    unknown: list[UnknownRow]
    rules: list[RuleRow]
