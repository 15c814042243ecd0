"""An audit that resumes where the last one of its job ended: its report and how far it came are kept as one."""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Final, Protocol, TypeVar

from eosctl import __version__
from eosctl.codecs.earlier_audit import decode_earlier_audit
from eosctl.engines.auditing import AuditResult, CarriedRows
from eosctl.errors import Refused, StaleRange
from eosctl.ledger.ledger import Ledger
from eosctl.model.audit import AuditedTopic, AuditPlan, StateKind, StateRow, TopicRole
from eosctl.model.audit_report import AuditReport
from eosctl.model.earlier_audit import EarlierAudit
from eosctl.model.ledger import Advance, CarriedBucket, JobState, LedgerRun
from eosctl.model.names import TopicPartition
from eosctl.planning.audit import plan_ranges
from eosctl.planning.ledger import advance, newly_read, resume

T = TypeVar("T")

ATTEMPTS: Final = 10
ROLES: Final = ((StateKind.KEYS, TopicRole.OFFSETS), (StateKind.CONFIG, TopicRole.CONFIG))
"""What a topic is of which a ledger holds such state; any other one is an output topic."""


class Auditor(Protocol):
    """What runs plans."""

    processes: int

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""

    def run(self, plan: AuditPlan, carried: CarriedRows) -> AuditResult:
        """The report, and what the next run begins with."""


def run_incrementally(auditor: Auditor, ledger: Ledger, job: str, as_json: Callable[[AuditReport], str]) -> AuditReport:
    """The report over all runs of the job, which knows the run before; the ledger has this one when it returns.

    Raises Refused where the job is that of a mirror.
    """
    return until_committed(lambda: _Attempt(auditor, ledger, job).report(as_json))


def until_committed(attempt: Callable[[], T]) -> T:
    """Where another auditor of the same job was faster, all is planned and read again, ATTEMPTS times at most."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return attempt()
        except StaleRange:
            if number == ATTEMPTS:
                raise
    raise AssertionError


class _Attempt:
    """One run, from the state that it was planned from to its commit."""

    def __init__(self, auditor: Auditor, ledger: Ledger, job: str) -> None:
        self._auditor, self._ledger = auditor, ledger
        bounds = auditor.bounds()
        self._state: JobState = ledger.state(job, bounds.cluster_id)
        if self._state.run_number and any(ledger.carried(self._state, StateKind.MIRROR)):
            raise Refused(f"job {job} is that of a mirror's audit", hint="use another job")
        self._resumptions = resume(self._state.cursors, bounds.topics, bounds.bounds)
        begins = self._begins()
        former = self._former({each.topic for each in begins} - {each.name for each in bounds.topics})
        known = replace(bounds, topics=(*bounds.topics, *former))
        self._plan = plan_ranges(known, self._resumptions, begins, auditor.processes)

    def _begins(self) -> Mapping[TopicPartition, int]:
        rows = self._ledger.carried(self._state, StateKind.LOG) if self._state.run_number else ()
        return {TopicPartition(row.topic, row.partition): row.start for row in rows}

    def _former(self, names: Collection[str]) -> Iterator[AuditedTopic]:
        """Topics of earlier runs that this one was not asked for: what was read of them is judged with the rest."""
        kinds = ROLES if names else ()
        roles = {row.topic: role for kind, role in kinds for row in self._ledger.carried(self._state, kind)}
        for name in sorted(names):
            role = roles.get(name, TopicRole.OUTPUT)
            yield AuditedTopic(name, role, own=role is TopicRole.OFFSETS)

    def report(self, as_json: Callable[[AuditReport], str]) -> AuditReport:
        """Runs the plan and commits."""
        result = self._auditor.run(self._plan, self._carried)
        advances = tuple(self._advances(result.report))
        self._ledger.commit(
            LedgerRun(
                run_id=str(uuid.uuid4()),
                state=self._state,
                as_of=self._plan.as_of,
                verdict=result.report.verdict.value,
                findings=len(result.report.findings),
                report=as_json(result.report),
                eosctl_version=__version__,
                advances=advances,
                carried=buckets_of(result.carried),
            )
        )
        read = sum(each.records for step in advances for each in step.ranges)
        return replace(result.report, earlier=self._earlier(), newly_read=read if self._state.run_number else None)

    def _earlier(self) -> EarlierAudit | None:
        """What the run before concluded; the ledger keeps each report without it, as that of an audit of everything."""
        kept = self._ledger.report(self._state.job, self._state.run_id) if self._state.run_number else None
        return None if kept is None else decode_earlier_audit(kept, self._state.run_number)

    def _carried(self, kind: StateKind) -> Iterator[StateRow]:
        recreated = {each.topic for each in self._resumptions if each.is_recreated}
        if self._state.run_number:
            yield from (row for row in self._ledger.carried(self._state, kind) if row.topic not in recreated)

    def _advances(self, report: AuditReport) -> Iterator[Advance]:
        ends = {TopicPartition(each.topic, each.partition): each.last_stable_offset for each in self._plan.bounds}
        read = newly_read(report.ranges, self._ledger.ranges(self._state.job), self._resumptions)
        for each in self._resumptions:
            end = max(each.start, ends.get(each.topic_partition, each.start))
            yield advance(each, end, read.get(each.topic_partition))


def buckets_of(rows: Iterable[StateRow]) -> Iterator[CarriedBucket]:
    """Carried rows, bucket by bucket."""
    ordered = sorted(rows, key=lambda row: (row.kind, row.bucket, row.topic, row.partition, row.start))
    for (kind, bucket), group in groupby(ordered, key=lambda row: (row.kind, row.bucket)):
        yield CarriedBucket(kind, bucket, tuple(group))
