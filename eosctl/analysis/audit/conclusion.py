"""From the summaries to the report: findings, and a verdict per connector.

1. broken: a finding with its place that exactly-once rules out.
2. cannot-tell: nothing of that kind, but evidence is missing (unreadable, deleted, unclear), or the connector never
   committed offsets in a transaction, so that exactly-once was not in force.
3. altered: neither, and source offsets were changed while the connector was stopped, so that its topics have repeated
   or missing records. Kafka kept its promise, but readers must know.
4. held: otherwise, even if other producers write to its topics. Compacted and expired records cannot be judged: the
   verdict names the time from which it holds.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from eosctl.analysis.audit.event_findings import event_findings, verdict_coverage
from eosctl.analysis.audit.findings import (
    ALTERED,
    BESIDE,
    BROKEN,
    AuditSummaries,
    altered_offsets,
    change_findings,
    config_findings,
    key_findings,
    log_findings,
    orphan_findings,
    removed_findings,
    transaction_findings,
    unfenced_findings,
)
from eosctl.analysis.catalogue.index import kinds_of_command
from eosctl.analysis.witness import audit_witnesses
from eosctl.model.audit import (
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EpochPoint,
    Growth,
    OwnerFigures,
    RangeEvidence,
    TimelineEvent,
    TransactionStatistics,
    total_records,
)
from eosctl.model.audit_states import LogState
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped


def conclude(evidence: AuditSummaries) -> AuditReport:
    findings = sorted(_findings(evidence), key=_worst_first)
    timeline = tuple(_timeline(evidence))
    return AuditReport(
        plan=evidence.plan,
        connectors=tuple(_verdicts(findings, evidence)),
        findings=tuple(findings),
        ranges=tuple(_range(log.topic, log.partition, log.settled) for log in evidence.logs if log.settled),
        transactions=tuple(map(_statistics, evidence.transactions.figures)),
        timeline=timeline,
        epochs=tuple(_epochs(evidence)),
        growth=tuple(_growth(evidence)),
        stalls=evidence.transactions.stalls,
        sinks=tuple(_sinks(evidence)),
        kinds=kinds_of_command("audit"),
        witnesses=tuple(audit_witnesses(findings, timeline)),
    )


def _findings(evidence: AuditSummaries) -> Iterator[Finding]:
    """All findings, or findings on a judged connector or on no particular one: a part of the topics may judge none."""
    is_part = bool(evidence.plan.selected) or evidence.is_partial
    judged = evidence.connectors()
    for finding in _all_findings(evidence):
        named = finding.evidence.get("connectors")
        if not is_part or not named or any(concerns(finding, name) for name in judged):
            yield finding


def _all_findings(evidence: AuditSummaries) -> Iterator[Finding]:
    yield from log_findings(evidence)
    yield from key_findings(evidence)
    yield from change_findings(evidence)
    yield from transaction_findings(evidence)
    yield from config_findings(evidence)
    yield from unfenced_findings(evidence)
    yield from orphan_findings(evidence)
    yield from removed_findings(evidence)
    yield from event_findings(evidence)


def _worst_first(finding: Finding) -> tuple[int, str, str, str]:
    return list(Severity).index(finding.severity), finding.id, finding.subject, finding.message


def _verdicts(findings: Sequence[Finding], evidence: AuditSummaries) -> Iterator[ConnectorVerdict]:
    """Verdicts; an absent connector only if judged or selected."""
    for name in evidence.connectors():
        verdict = _verdict(name, findings, evidence)
        gone = evidence.known is not None and name not in evidence.known and not evidence.plan.selected
        if not gone or verdict.verdict is not AuditVerdict.CANNOT_TELL:
            yield verdict


def _verdict(name: str, findings: Sequence[Finding], evidence: AuditSummaries) -> ConnectorVerdict:
    mine = [each for each in findings if each.kind not in BESIDE and concerns(each, name)]
    broken = tuple(dict.fromkeys(each.id for each in mine if _breaks(each, name)))
    altered = [each for each in mine if each.counts and each.kind in ALTERED]
    unclear = [each for each in mine if each.counts and each.kind not in ALTERED]
    missing = [*evidence.missing(name), *(each.message for each in unclear)]
    limits = tuple(evidence.coverage(name))
    changed = [each.message for each in altered]
    if broken:
        said = [each.message for each in mine if each.id in broken]
        verdict = ConnectorVerdict(name, AuditVerdict.BROKEN, broken, _once(*said, *changed, *limits))
    elif missing:
        verdict = ConnectorVerdict(name, AuditVerdict.CANNOT_TELL, _ids(unclear), _once(*missing, *changed))
    elif altered:
        verdict = ConnectorVerdict(name, AuditVerdict.ALTERED, _ids(altered), _once(*changed, *limits))
    else:
        verdict = ConnectorVerdict(name, AuditVerdict.HELD, (), _once(*limits))
    changes = [each for each in altered_offsets(evidence) if each.connector == name]
    coverage = verdict_coverage(name, evidence)
    return replace(
        verdict,
        covers=coverage.covers,
        not_covered=coverage.not_covered,
        repeated_by_change=total_records(each.repeated for each in changes),
        left_out_by_change=total_records(each.left_out for each in changes),
    )


def _once(*words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _ids(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.id for each in findings))


def _breaks(finding: Finding, connector: str) -> bool:
    """True for a violation of exactly-once by a producer of this connector."""
    owners = finding.evidence.get("owners", (connector,))
    ruled_out = finding.kind in BROKEN and finding.severity is Severity.ERROR
    return ruled_out and isinstance(owners, list | tuple) and connector in owners


def concerns(finding: Finding, connector: str) -> bool:
    named = finding.evidence.get("connectors")
    return connector in named if isinstance(named, list | tuple) else False


def _range(topic: str, partition: int, state: LogState | None) -> RangeEvidence:
    assert state is not None
    fields = {name: getattr(state, name) for name in RangeEvidence.__struct_fields__ if name in LogState._fields}
    return RangeEvidence(topic, partition, **fields)


def _statistics(figures: OwnerFigures) -> TransactionStatistics:
    histograms = {"sizes": dict(figures.sizes), "durations": dict(figures.durations)}
    return TransactionStatistics(**(figures._asdict() | histograms))


def _timeline(evidence: AuditSummaries) -> Iterator[TimelineEvent]:
    config_topic = evidence.config_topic or ""
    events = [
        TimelineEvent(history.connector, timestamp, kind, config_topic, 0, offset, tasks)
        for history in evidence.config.connectors
        for timestamp, offset, kind, tasks in history.starts
    ]
    events += [
        TimelineEvent(connector, timestamp, "session", topic, partition, offset, None, producer_id, producer_epoch)
        for connector, topic, partition, offset, timestamp, producer_id, producer_epoch in evidence.sessions
    ]
    yield from sorted(events, key=lambda event: (event.timestamp, event.connector, event.kind, *event[3:6]))


def _sinks(evidence: AuditSummaries) -> Iterator[str]:
    """Connectors that exist, and that the workers do not name among their source connectors."""
    sources = evidence.plan.connectors
    if isinstance(sources, Skipped):
        return
    for each in evidence.config.connectors:
        if each.known and each.connector not in sources and not each.fenced_ever:
            yield each.connector


def _epochs(evidence: AuditSummaries) -> Iterator[EpochPoint]:
    for each in evidence.appearances:
        yield EpochPoint(
            each.topic, each.partition, each.producer_id, each.producer_epoch, each.timestamp, each.connector
        )


def _growth(evidence: AuditSummaries) -> Iterator[Growth]:
    for log in evidence.logs:
        for point in () if log.settled is None else log.settled.growth:
            yield Growth(log.topic, log.partition, *point)
