"""A diagnosis in Prometheus' text format, for the textfile collector."""

from collections.abc import Iterator

from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis


def encode_diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    """The lines of the file, without line ends; every rule has a series, found or not."""
    yield "# HELP eosctl_findings Findings of each rule by severity."
    yield "# TYPE eosctl_findings gauge"
    for answer in diagnosis.answers:
        for severity in Severity:
            found = [each for each in answer.findings if each.severity is severity]
            count = sum(not diagnosis.triage.waives(each) for each in found)
            if found or severity is answer.rule.kind.severity:
                yield f'eosctl_findings{{rule="{answer.rule.id}",severity="{severity.value}"}} {count}'
    yield "# HELP eosctl_findings_waived Findings of each rule for which a waiver of the profile holds."
    yield "# TYPE eosctl_findings_waived gauge"
    for answer in diagnosis.answers:
        if waived := sum(map(diagnosis.triage.waives, answer.findings)):
            yield f'eosctl_findings_waived{{rule="{answer.rule.id}"}} {waived}'
    yield "# HELP eosctl_rule_unknown Whether the rule cannot tell, or not all (1)."
    yield "# TYPE eosctl_rule_unknown gauge"
    for answer in diagnosis.answers:
        yield f'eosctl_rule_unknown{{rule="{answer.rule.id}"}} {int(bool(answer.cannot_tell))}'
    yield "# HELP eosctl_doctor_as_of_seconds When the facts were read."
    yield "# TYPE eosctl_doctor_as_of_seconds gauge"
    yield f"eosctl_doctor_as_of_seconds {diagnosis.evidence.as_of / 1000:.3f}"
