"""One cycle as samples: every command's answer, what could not be read, and how the cycle went."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue.transactions import BUDGET, NEAR_EXPIRY
from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.producer_epochs import prefix_of
from eosctl.analysis.rules.connectors import task_commits
from eosctl.analysis.rules.workers import probes
from eosctl.model.audit import AuditVerdict
from eosctl.model.config_topic import InspectedConnector
from eosctl.model.evidence import Evidence
from eosctl.model.hanging import GroupLag, HangingTransactions, LastStableOffsets, OpenTransaction
from eosctl.model.ledger import JobSummary
from eosctl.model.offsets import OffsetsReport, StoredOffset
from eosctl.model.report import FindingKind, Result, Severity
from eosctl.model.rules import Diagnosis, RuleAnswer
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import NO_OWNER, Ownership, TaskOwner, TransactionList, TransactionState
from eosctl.model.watch import NO_CYCLE_IN_TIME, Answers, Cycle, Metric, Sample


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
    """Connectors by the config topic, and the findings of rules on fencing and idle IDs."""
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
    """For sources of workers that are all enabled: other workers fence nothing, and every connector's state would say
    so.

    A stopped connector has no tasks, and its round comes with the next start.
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


NEAR_EXHAUSTION: Final = 32_000
"""Of the 32,767 epochs that a producer ID has (TransactionMetadata.isProducerEpochExhausted)."""


def count_sample(answer: Result, metric: Metric, labels: tuple[str, ...], count: int) -> Iterator[Sample]:
    """The count; no sample where the count is 0 and one of its facts was not read."""
    if count or (answer.complete and answer.failure is None):
        yield Sample(metric, labels, count)


def transaction_samples(listed: TransactionList) -> Iterator[Sample]:
    """The IDs by state, the oldest open transactions, and epochs near their end."""
    states = Counter(each.state for each in listed.transactions)
    for state in TransactionState:
        yield from count_sample(listed, metrics.TRANSACTIONAL_IDS, (state.value,), states[state])
    prefixes = Counter(prefix_of(each.transactional_id) for each in listed.transactions)
    for prefix, count in prefixes.most_common():
        yield Sample(metrics.IDS_OF_PREFIX, (prefix,), count)
    opened = [each for each in listed.transactions if each.state.is_open]
    yield from count_sample(listed, metrics.OPEN_TRANSACTIONS, (), len(opened))
    for each in opened:
        if each.running_ms is not None:
            labels = (*_owner(each.transactional_id, each.ownership), each.state.value)
            yield Sample(metrics.OPEN_AGE, labels, each.running_ms / 1000)
    epochs = [each.description.producer.producer_epoch for each in listed.transactions if each.description is not None]
    near = sum(epoch >= NEAR_EXHAUSTION for epoch in epochs)
    if near or len(epochs) == len(listed.transactions):
        yield from count_sample(listed, metrics.EPOCHS_NEAR_END, (), near)


def hanging_samples(found: HangingTransactions) -> Iterator[Sample]:
    """Hanging transactions, transactions that may hang, and all producers of the partitions by leader."""
    for broker, count in sorted(found.producers.items(), key=lambda each: (-each[1], each[0])):
        yield from count_sample(found, metrics.PRODUCER_STATES, (str(broker),), count)
    hanging = [each for each in found.verdicts if each.hangs]
    yield from count_sample(found, metrics.HANGING, (), len(hanging))
    undecided = len(found.undecided) + len(found.undated)
    yield from count_sample(found, metrics.HANGING_UNDECIDED, (), undecided)
    for each in sorted(hanging, key=lambda each: each.transaction.active.last_timestamp or 0):
        last = each.transaction.active.last_timestamp
        if last is not None:
            labels = (*_place(each.transaction), *_held_by(each.transaction, found.owners), each.advice.value)
            yield Sample(metrics.HANGING_AGE, labels, max(0, found.as_of - last) / 1000)


def stability_samples(found: LastStableOffsets) -> Iterator[Sample]:
    """Lag of the last stable offsets, its duration, and the producers that cause it."""
    held = [each for each in found.partitions if each.offsets.held_back > 0]
    yield from count_sample(found, metrics.LSO_HELD_PARTITIONS, (), len(held))
    for each in held:
        place = (each.offsets.topic_partition.topic, str(each.offsets.topic_partition.partition))
        yield Sample(metrics.LSO_LAG, place, each.offsets.held_back)
        if each.since_ms is not None:
            by = _held_by(each.holders[0], found.owners) if each.holders else ("", "", "")
            yield Sample(metrics.LSO_HELD, (*place, *by), max(0, found.as_of - each.since_ms) / 1000)


def group_samples(lags: Iterable[GroupLag]) -> Iterator[Sample]:
    """The records, aborted records and markers that each consumer group has not passed; no series for a count of 0."""
    for each in lags:
        name, counts = each.group.group_id, each.counts
        if not each.uncounted:
            yield Sample(metrics.GROUP_RECORDS, (name,), counts.readable)
        kinds = {
            "marker": counts.markers,
            "aborted": counts.aborted,
            "removed": counts.removed,
            "held_back": each.held_back,
            "uncounted": each.uncounted,
        }
        yield from (Sample(metrics.GROUP_OFFSETS, (name, kind), count) for kind, count in kinds.items() if count)


def _place(transaction: OpenTransaction) -> tuple[str, str, str]:
    place = transaction.topic_partition
    return place.topic, str(place.partition), str(transaction.producer.producer_id)


def _held_by(transaction: OpenTransaction, owners: Mapping[str, Ownership]) -> tuple[str, str, str]:
    name = transaction.transactional_id
    return ("", "", "") if name is None else _owner(name, owners.get(name, NO_OWNER))


def _owner(transactional_id: str, ownership: Ownership) -> tuple[str, str, str]:
    """The labels of an owner: connector and task are empty where no task, or none for certain, has the ID."""
    match ownership.owners:
        case (TaskOwner(task=task),):
            return transactional_id, task.connector, str(task.task)
    return transactional_id, "", ""


LONGEST_LABEL: Final = 200
"""Characters of a label: a transactional ID may have 32,767."""
THE_CYCLE: Final = "watch"


def cycle_samples(answers: Answers, cycle: Cycle) -> tuple[Sample, ...]:
    """All samples of a cycle, within the bounds of their metrics."""
    read = (Sample(metrics.READ_AS_OF, (command,), at / 1000) for command, at in answers.as_of)
    return within_bounds((*_answer_samples(answers), *_unread_samples(answers), *read, *_how_it_went(cycle)))


def stale_samples(cycle: Cycle) -> tuple[Sample, ...]:
    """Samples that stay true long after a cycle: its time, and that nothing was read since."""
    return (
        Sample(metrics.UNREAD_FACTS, (), 1),
        Sample(metrics.UNREAD, (THE_CYCLE, NO_CYCLE_IN_TIME.what, NO_CYCLE_IN_TIME.cause.value), 1),
        *_how_it_went(cycle),
    )


def within_bounds(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """At most `bound` samples of each metric, each name once; counts those left out."""
    kept: dict[tuple[Metric, tuple[str, ...]], Sample] = {}
    series: Counter[Metric] = Counter()
    left_out: Counter[Metric] = Counter()
    for each in samples:
        labels = tuple(map(_shortened, each.labels))
        if (each.metric, labels) in kept or series[each.metric] == each.metric.bound:
            left_out[each.metric] += 1
        else:
            kept[each.metric, labels] = each._replace(labels=labels)
            series[each.metric] += 1
    return (*kept.values(), *(Sample(metrics.LEFT_OUT, (each.name,), count) for each, count in left_out.items()))


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


def _answer_samples(answers: Answers) -> Iterator[Sample]:
    if not isinstance(answers.last_stable, Skipped):
        yield from stability_samples(answers.last_stable)
        yield from group_samples(() if isinstance(answers.last_stable.lags, Skipped) else answers.last_stable.lags)
    if not isinstance(answers.hanging, Skipped):
        yield from hanging_samples(answers.hanging)
    if not isinstance(answers.transactions, Skipped):
        yield from transaction_samples(answers.transactions)
    if not isinstance(answers.offsets, Skipped):
        yield from offset_samples(answers.offsets)
    if not isinstance(answers.diagnosis, Skipped):
        yield from connector_samples(answers.diagnosis)
        yield from finding_samples(answers.diagnosis)
    if not isinstance(answers.audits, Skipped):
        yield from audit_samples(answers.audits)
    if not isinstance(answers.churn, Skipped):
        rows = ((each.prefix, each.expiring) for each in answers.churn.prefixes if each.expiring)
        yield from (Sample(metrics.IDS_EXPIRING, (name,), n) for name, n in sorted(rows, key=lambda row: -row[1]))


def offset_samples(report: OffsetsReport) -> Iterator[Sample]:
    """Of each connector its shadowed offsets, those with the most first, and the age of its newest offset."""
    found = []
    for each in report.connectors:
        unknown = isinstance(each.stores, Skipped) or any(isinstance(o.kafka_effective, Skipped) for o in each.others)
        shadows = sum(offset.shadowed for offset in each.others)
        if shadows or not unknown:
            found.append(Sample(metrics.NULL_SHADOWS, (each.name,), shadows))
        used = [o.kafka_effective.record for o in each.offsets if isinstance(o.kafka_effective, StoredOffset)]
        if used and not unknown:
            age_ms = report.as_of - max(record.timestamp for record in used)
            yield Sample(metrics.OFFSET_AGE, (each.name,), max(0, age_ms) / 1000)
    yield from sorted(found, key=lambda sample: -sample.value)


def audit_samples(jobs: Iterable[JobSummary]) -> Iterator[Sample]:
    """The last run of each job of the ledger."""
    for each in jobs:
        for verdict in AuditVerdict:
            yield Sample(metrics.AUDIT_VERDICT, (each.job, verdict.value), int(each.last_run.verdict == verdict.value))
        yield Sample(metrics.AUDIT_FINDINGS, (each.job,), each.last_run.findings)
        yield Sample(metrics.AUDIT_AS_OF, (each.job,), each.last_run.as_of / 1000)


def _unread_samples(answers: Answers) -> Iterator[Sample]:
    unread = list(answers.unread)
    yield Sample(metrics.UNREAD_FACTS, (), len(unread))
    for command, each in unread:
        yield Sample(metrics.UNREAD, (command, each.what, each.cause.value), 1)


def _how_it_went(cycle: Cycle) -> Iterator[Sample]:
    yield Sample(metrics.CYCLE_AS_OF, (), cycle.as_of / 1000)
    yield Sample(metrics.CYCLE_DURATION, (), cycle.duration_ms / 1000)
    for to, count in cycle.requests.items():
        yield Sample(metrics.CYCLE_REQUESTS, (to,), count)
    if cycle.last_success is not None:
        yield Sample(metrics.LAST_SUCCESS, (), cycle.last_success / 1000)
