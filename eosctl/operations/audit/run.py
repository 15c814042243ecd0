"""What `audit` reads and decides: the plan, the engine that runs it, the ledger that keeps it, the report."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from eosctl.atomic_write import write_atomic_file
from eosctl.engines.auditing import AuditResult, CarriedRows, nothing_carried, run_audit
from eosctl.engines.engine import Engine, Progress
from eosctl.engines.local import LocalEngine
from eosctl.executors.audit_export import export_audit
from eosctl.model.audit import AuditPlan
from eosctl.model.audit_report import AuditReport
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.audit.cluster import ClusterInput
from eosctl.operations.audit.command_line import command_line
from eosctl.operations.audit.incremental import run_incrementally
from eosctl.operations.audit.ledgers import open_job_ledger
from eosctl.operations.audit.log_directories import LogDirectoryInput
from eosctl.operations.audit.request import AuditInput, AuditRequest
from eosctl.operations.session import Session
from eosctl.planning.audit import plan_ranges
from eosctl.planning.ledger import resume
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.java import find_java
from eosctl.spark.starting import spark_engine


@dataclass(frozen=True, slots=True)
class ReportFormats:
    """How a report is written: as JSON for the ledger, as a page for a browser that shows the command line."""

    json: Callable[[AuditReport], str]
    page: Callable[[AuditReport, str], str]


def plan_audit(session: Session, request: AuditRequest) -> AuditPlan:
    """The plan alone: nothing is read."""
    return _Auditor(session, request).plan()


def run_and_report(session: Session, request: AuditRequest, formats: ReportFormats) -> AuditReport:
    """The whole audit: one run, kept in the ledger if there is one."""
    auditor = _Auditor(session, request)
    if request.store is None:
        report = auditor.run(auditor.plan(), nothing_carried).report
    else:
        report = run_incrementally(auditor, open_job_ledger(request.store), request.job, formats.json)
    report = report.under(session.options.triage)
    if request.report is not None:
        write_atomic_file(request.report, formats.page(report, command_line(session.options, request)))
    if request.export is not None:
        export_audit(request.export, report)
    return report


class _Auditor:
    """Runs plans over one input: bounds may have to be read again, where another auditor was faster."""

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._request = session, request
        self._input: AuditInput = (
            LogDirectoryInput(session, request) if request.log_directories else ClusterInput(session.reader, request)
        )
        self._history: TransactionLogHistory | Skipped = TransactionLogHistory()
        self.processes = request.processes or os.cpu_count() or 1

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""
        return self._input.bounds()

    def plan(self) -> AuditPlan:
        """The plan of an audit of everything."""
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
