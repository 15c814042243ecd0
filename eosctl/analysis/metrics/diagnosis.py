"""What `doctor` answers, as samples."""

from collections.abc import Iterable, Iterator

from eosctl.analysis.catalogue.fencing import BUDGET
from eosctl.analysis.catalogue.transactions import NEAR_EXPIRY
from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.rules.progress import task_commits
from eosctl.analysis.rules.workers import probes
from eosctl.model.evidence import Evidence
from eosctl.model.inspection import InspectedConnector
from eosctl.model.metrics import Sample
from eosctl.model.report import FindingKind, Severity
from eosctl.model.rules import Diagnosis, RuleAnswer
from eosctl.model.skipped import Skipped


def finding_samples(diagnosis: Diagnosis) -> Iterator[Sample]:
    """Findings by rule and severity. A rule that cannot tell has no series of 0, and is 1 in eosctl_rule_unknown."""
    triage = diagnosis.triage
    for answer in diagnosis.answers:
        for severity in Severity:
            found = [each for each in answer.findings if each.severity is severity]
            if found or (severity is answer.rule.kind.severity and not answer.cannot_tell):
                count = sum(not triage.waives(each) for each in found)
                yield Sample(metrics.FINDINGS, (answer.rule.id, severity.value), count)
    for answer in diagnosis.answers:
        if waived := sum(map(triage.waives, answer.findings)):
            yield Sample(metrics.FINDINGS_WAIVED, (answer.rule.id,), waived)
    for answer in diagnosis.answers:
        yield Sample(metrics.RULE_UNKNOWN, (answer.rule.id,), int(bool(answer.cannot_tell)))
    yield Sample(metrics.DOCTOR_AS_OF, (), diagnosis.evidence.as_of / 1000)


def connector_samples(diagnosis: Diagnosis) -> Iterator[Sample]:
    """What the config topic says of each connector, and what the rules say of fencing and of idle IDs."""
    inspection = diagnosis.evidence.inspection
    known = () if isinstance(inspection, Skipped) else [each for each in inspection.connectors if each.state.known]
    yield from _pending_fencing(diagnosis.evidence, known)
    for each in sorted((each.state for each in known), key=lambda state: not state.inconsistent):
        yield Sample(metrics.INCONSISTENT, (each.name,), int(each.inconsistent))
    for finding in (each for answer in _answers(diagnosis, BUDGET) for each in answer.findings):
        yield Sample(metrics.FENCING_EXPECTED, (finding.subject,), float(str(finding.evidence["silence_s"])))
    for answer in _answers(diagnosis, NEAR_EXPIRY):
        tasks = [each.evidence["tasks"] for each in answer.findings]
        count = sum(len(each) for each in tasks if isinstance(each, list))
        if count or not answer.cannot_tell:
            yield Sample(metrics.IDS_NEAR_EXPIRY, (), count)
    yield from _quietness(diagnosis.evidence)


def _pending_fencing(evidence: Evidence, known: Iterable[InspectedConnector]) -> Iterator[Sample]:
    """Of sources of workers that are all enabled: others fence nothing, and a state says so of every connector.

    One that is stopped has no tasks, and its round comes with the next start.
    """
    enabled, others, unknown = probes(evidence)
    if not enabled or others or unknown or evidence.silent:
        return
    due = {
        each.state.name: each.state.pending_fencing and bool(each.state.visible_tasks)
        for each in known
        if each.type == "source"
    }
    for name, is_due in sorted(due.items(), key=lambda item: not item[1]):
        yield Sample(metrics.FENCING_PENDING, (name,), int(is_due))


def _quietness(evidence: Evidence) -> Iterator[Sample]:
    """Of each RUNNING task, the quietest first."""
    found = [
        ((each.connector, str(each.task)), each.quietness)
        for each in task_commits(evidence)
        if not isinstance(each, Skipped) and each.quietness is not None
    ]
    for labels, each in sorted(found, key=lambda item: -(item[1].ratio or 0)):
        yield Sample(metrics.SINCE_COMMIT, labels, each.silent_ms / 1000)
        if each.whole and each.ratio is not None:
            yield Sample(metrics.QUIET_RATIO, labels, each.ratio)


def _answers(diagnosis: Diagnosis, kind: FindingKind) -> Iterator[RuleAnswer]:
    return (answer for answer in diagnosis.answers if answer.rule.kind == kind)
