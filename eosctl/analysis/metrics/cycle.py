"""One cycle as samples: every command's answer, what could not be read, and how the cycle went."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.diagnosis import connector_samples, finding_samples
from eosctl.analysis.metrics.transactions import hanging_samples, stability_samples, transaction_samples
from eosctl.model.audit_report import AuditVerdict
from eosctl.model.ledger import JobSummary
from eosctl.model.merged_offsets import OffsetsReport, StoredOffset
from eosctl.model.metrics import Metric, Sample
from eosctl.model.skipped import Skipped
from eosctl.model.watch import NO_CYCLE_IN_TIME, Answers, Cycle

LONGEST_LABEL: Final = 200
"""Characters of a label: a transactional ID may have 32,767."""
THE_CYCLE: Final = "watch"


def cycle_samples(answers: Answers, cycle: Cycle) -> tuple[Sample, ...]:
    """All samples of a cycle, within the bounds of their metrics."""
    read = (Sample(metrics.READ_AS_OF, (command,), at / 1000) for command, at in answers.as_of)
    return within_bounds((*_answer_samples(answers), *_unread_samples(answers), *read, *_how_it_went(cycle)))


def stale_samples(cycle: Cycle) -> tuple[Sample, ...]:
    """What is still true of a cycle that was long ago: when it was, and that nothing was read since."""
    return (
        Sample(metrics.UNREAD_FACTS, (), 1),
        Sample(metrics.UNREAD, (THE_CYCLE, NO_CYCLE_IN_TIME.what, NO_CYCLE_IN_TIME.cause.value), 1),
        *_how_it_went(cycle),
    )


def within_bounds(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """The first samples of each metric, as many as it may have, no two of one name; the others are counted."""
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


def offset_samples(report: OffsetsReport) -> Iterator[Sample]:
    """Of each connector its shadowed offsets, those with the most first, and the age of its newest offset."""
    found = []
    for each in report.connectors:
        unknown = isinstance(each.stores, Skipped) or any(isinstance(o.kafka_effective, Skipped) for o in each.offsets)
        shadows = sum(offset.shadowed for offset in each.offsets)
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
