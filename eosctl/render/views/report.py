"""Findings as rows: the same shape in every command's data."""

from collections.abc import Sequence
from typing import Any

from eosctl.model.report import Finding


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """`data.findings[]`: id, name, severity, subject, message, cure, evidence."""
    return [
        {
            "id": each.id,
            "name": each.name,
            "severity": each.severity.value,
            "subject": each.subject,
            "message": each.message,
            "cure": each.cure,
            "evidence": dict(each.evidence),
        }
        for each in findings
    ]
