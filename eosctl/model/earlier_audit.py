"""What the last run of the same audit concluded: what it found already is not new."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from eosctl.model.report import Finding, Severity

WORDS: Final = frozenset({"reason"})
"""Evidence in words, which may say how long something has lasted."""
AMOUNTS: Final = frozenset({"count", "records", "tombstones", "keys"})
"""Evidence that is how much was found: less than before is nothing new."""


class EarlierFinding(NamedTuple):
    """A finding as the ledger keeps it; evidence in JSON's own types."""

    severity: Severity
    evidence: Mapping[str, Any]

    def has(self, severity: Severity, evidence: Mapping[str, object]) -> bool:
        """Whether a finding of its kind and subject shows nothing beyond it: no place, no amount, nothing worse."""
        return self.severity.reaches(severity) and all(
            _is_within(name, _plain(value), self.evidence.get(name))
            for name, value in evidence.items()
            if name not in WORDS
        )


def _is_within(name: str, now: object, before: object) -> bool:
    if name in AMOUNTS and isinstance(now, int) and isinstance(before, int):
        return now <= before
    if isinstance(now, list) and isinstance(before, list):
        return all(each in before for each in now)
    return now == before


def _plain(value: object) -> object:
    """Evidence in JSON's own types, as the ledger has it."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    match value:
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case set() | frozenset():
            return [_plain(each) for each in sorted(value)]
    return value


@dataclass(frozen=True, slots=True)
class EarlierAudit:
    """Number and time (RFC 3339) of the run, its findings by ID and subject, and the connectors that were broken."""

    run_number: int
    as_of: str
    findings: Mapping[tuple[str, str], tuple[EarlierFinding, ...]]
    broken: frozenset[str]

    def has(self, finding: Finding) -> bool:
        """Whether the finding was there, as it is now."""
        same = self.findings.get((finding.id, finding.subject), ())
        return any(each.has(finding.severity, finding.evidence) for each in same)
