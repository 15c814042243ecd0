"""Running an audit."""

import os
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from eosctl.atomic_write import write_atomic_file
from eosctl.codecs.ledger import decode_earlier_audit
from eosctl.engines.auditing import AuditResult, CarriedRows, Engine, Progress, no_prior_state, run_audit
from eosctl.engines.local import LocalEngine
from eosctl.errors import Refused
from eosctl.executors.audit_export import export_audit, prepare_export, write_spark_bundle
from eosctl.late_pattern import late_pattern
from eosctl.ledger.ledger import Ledger
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    AuditReport,
    SparkBundle,
    StateKind,
    StateRow,
    TopicRole,
)
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Coverage, Skipped, Unread
from eosctl.model.transaction_log import TransactionLogHistory
from eosctl.operations.audit_history import JobRun, open_job_ledger, until_committed
from eosctl.operations.audit_request import AuditInput, AuditRequest
from eosctl.operations.audit_topics import ClusterInput, LogDirectoryInput
from eosctl.operations.evidence_file import Evidence, evidenced_cluster, write_evidence
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.planning.audit import advances, plan_ranges, resume
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.java import find_java
from eosctl.spark.starting import spark_engine

DEFAULTS = OffsetsRequest()
CREDENTIALS: Final = late_pattern(r"//[^/@]*@")
"""User and password in the URL of a ledger."""


def command_line(options: SessionOptions, request: AuditRequest) -> str:
    """The options that decide the audited cluster and topics, in full and without client properties.

    These are named by key: their values may be secrets.
    """
    words = [word for name, value in _given(options, request) for word in (name, value)]
    return shlex.join(["eosctl", "audit", *words])


def _given(options: SessionOptions, request: AuditRequest) -> Iterator[tuple[str, str]]:
    offsets = request.offsets
    settings = {
        "--profile": (None if options.profile is None else options.profile.name,),
        "--bootstrap-server": (options.bootstrap_servers,),
        "--command-config": (options.command_config,),
        "-X": [f"{key}=…" for key in options.properties],
        "--connect-url": options.connect_urls,
        "--group-id": (options.group_id,),
        "--snapshot": (options.snapshot,),
        "--log-dir": request.log_directories,
        "--connector": offsets.connectors,
        "--topic": request.topics,
        "--offsets-topic": request.offsets_topics,
        "--config-topic": (offsets.config_topic if offsets.config_topic != DEFAULTS.config_topic else None,),
        "--worker-offsets-topic": (offsets.worker_offsets_topic,),
        "--exactly-once": (offsets.exactly_once,),
        "--worker-version": (offsets.worker_version,),
        "--worker-bootstrap-servers": (offsets.worker_bootstrap_servers,),
        "--worker-config": (offsets.worker_config,),
        "--engine": (request.engine if request.engine != "local" else None,),
        "--store": (None if request.store is None else CREDENTIALS.sub("//…@", request.store),),
        "--job": (request.job if request.store is not None else None,),
    }
    for name, values in settings.items():
        yield from ((name, str(value)) for value in values if value is not None)


ROLES: Final = ((StateKind.KEYS, TopicRole.OFFSETS), (StateKind.CONFIG, TopicRole.CONFIG))
"""The role of a topic for which a ledger holds such state; any other topic is an output topic."""


class Auditor(Protocol):
    """Runs plans."""

    processes: int

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""

    def run(self, plan: AuditPlan, carried: CarriedRows) -> AuditResult:
        """The report, and what the next run begins with."""


def run_incrementally(auditor: Auditor, ledger: Ledger, job: str, as_json: Callable[[AuditReport], str]) -> AuditReport:
    """The report over all runs of the job, which knows the previous run; the ledger has this one when it returns.

    Raises Refused if the job is a mirror's.
    """
    return until_committed(lambda: _Attempt(auditor, ledger, job).report(as_json))


class _Attempt:
    """One run of the job."""

    def __init__(self, auditor: Auditor, ledger: Ledger, job: str) -> None:
        self._auditor = auditor
        bounds = auditor.bounds()
        self._run = JobRun(ledger, job, bounds.cluster_id)
        if any(self._run.carried(StateKind.MIRROR)):
            raise Refused(f"job {job} belongs to a mirror's audit", hint="use another job")
        self._resumptions = resume(self._run.state.cursors, bounds.topics, bounds.bounds)
        begins = {TopicPartition(row.topic, row.partition): row.start for row in self._run.carried(StateKind.LOG)}
        former = self._former({each.topic for each in begins} - {each.name for each in bounds.topics})
        known = replace(bounds, topics=(*bounds.topics, *former))
        self._plan = plan_ranges(known, self._resumptions, begins, auditor.processes)

    def _former(self, names: Collection[str]) -> Iterator[AuditedTopic]:
        """Topics of earlier runs outside this one's request, which are judged with the rest."""
        kinds = ROLES if names else ()
        roles = {row.topic: role for kind, role in kinds for row in self._run.carried(kind)}
        for name in sorted(names):
            role = roles.get(name, TopicRole.OUTPUT)
            yield AuditedTopic(name, role, own=role is TopicRole.OFFSETS)

    def report(self, as_json: Callable[[AuditReport], str]) -> AuditReport:
        run, (report, carried) = self._run, self._auditor.run(self._plan, self._carried)
        ends = {TopicPartition(each.topic, each.partition): each.last_stable_offset for each in self._plan.bounds}
        done = tuple(advances(self._resumptions, ends, report.ranges, run.ledger.ranges(run.state.job)))
        run.commit(report, as_json, done, carried)
        if not run.goes_on:
            return report
        # The ledger keeps each report without the conclusions of the one before.
        kept = run.ledger.report(run.state.job, run.state.run_id)
        earlier = None if kept is None else decode_earlier_audit(kept, run.state.run_number)
        return replace(report, earlier=earlier, newly_read=sum(each.records for step in done for each in step.ranges))

    def _carried(self, kind: StateKind) -> Iterator[StateRow]:
        recreated = {each.topic for each in self._resumptions if each.is_recreated}
        return (row for row in self._run.carried(kind) if row.topic not in recreated)


class ReportFormats(Struct, frozen=True):
    """Writers of a report: as JSON for the ledger, as a page that shows the command line."""

    json: Callable[[AuditReport], str]
    page: Callable[[AuditReport, str], str]


def plan_audit(session: Session, request: AuditRequest) -> AuditPlan:
    return _Auditor(session, request).plan()


def run_and_report(session: Session, request: AuditRequest, formats: ReportFormats) -> AuditReport:
    """One whole run, kept in the ledger if there is one."""
    if request.evidence is not None:
        request.evidence.require_usable()
    if request.export is not None:
        prepare_export(request.export)
    auditor = _Auditor(session, request)
    if request.store is None:
        report = auditor.run(auditor.plan(), no_prior_state).report
    else:
        report = run_incrementally(auditor, open_job_ledger(request.store), request.job, formats.json)
    report = report.under(session.options.triage)
    if request.report is not None:
        write_atomic_file(request.report, formats.page(report, command_line(session.options, request)))
    if request.export is not None:
        export_audit(request.export, report)
    if request.evidence is not None:
        plan = report.plan
        cluster = evidenced_cluster(plan.cluster_id, plan.topics, report.digests)
        command = command_line(session.options, request)
        answer = formats.json(report)
        write_evidence(request.evidence, Evidence("audit", command, plan.as_of, (cluster,), answer))
    return report


class _Auditor:
    """Runs plans over one input: again where another auditor was faster."""

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._request = session, request
        self._input: AuditInput = (
            LogDirectoryInput(session, request) if request.log_directories else ClusterInput(session.reader, request)
        )
        self._history: TransactionLogHistory | Skipped = TransactionLogHistory()
        self.processes = request.processes or os.cpu_count() or 1

    def bounds(self) -> AuditPlan:
        return replace(self._input.bounds(), digested=self._request.evidence is not None)

    def plan(self) -> AuditPlan:
        bounds = self.bounds()
        plan = plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, self.processes)
        return plan.covering(self._coverage(plan))

    def run(self, plan: AuditPlan, carried: CarriedRows) -> AuditResult:
        """The plan, run by the requested engine, with progress on a terminal."""
        total = sum(each.size for each in plan.ranges)
        with self._session.options.console.progress("auditing", total, unit="offsets") as advance:

            def step(progress: Progress) -> None:
                advance(progress.offsets.size)

            with self._engine() as engine:
                result = run_audit(
                    plan,
                    engine,
                    lambda kind: chain(carried(kind), self._input.decoded(kind)),
                    step,
                    self._read_history,
                    self._input.open_source(),
                )
        return result._replace(report=result.report.covering(self._coverage(result.report.plan)))

    def _read_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        self._history = self._input.transaction_log_history(plan, producer_ids)
        return self._history

    def _coverage(self, plan: AuditPlan) -> Coverage:
        found = self._input.coverage + plan.gaps
        if isinstance(self._history, Skipped):
            unread = Unread("the transaction log", self._history.reason, self._history.cause)
            found += Coverage(unread=(unread,))
        return found

    @contextmanager
    def _engine(self) -> Iterator[Engine]:
        if self._request.engine == "spark":
            properties, timeout_s = self._session.wire.properties, self._session.timeout_s
            archives = cache_directory() / "spark"
            with spark_engine(self._request.spark, properties, timeout_s, find_java, archives) as engine:
                yield engine
            return
        yield LocalEngine(self._input.open_source(), processes=self.processes)


def bundle_for_spark(directory: Path) -> SparkBundle:
    written = write_spark_bundle(directory)
    return SparkBundle({str(path): path.stat().st_size for path in written})
