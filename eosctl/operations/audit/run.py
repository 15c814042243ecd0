"""What `audit` reads and decides: the plan, the engine that carries it out, the ledger that keeps it, the report."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eosctl.engines.auditing import Audited, CarriedRows, nothing_carried, run_audit
from eosctl.engines.engine import Engine, Progress
from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.model.audit import AuditPlan
from eosctl.model.audit_report import AuditReport, AuditVerdict
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.audit.sites import AuditRequest, site_of
from eosctl.operations.session import Session
from eosctl.planning.audit import plan_ranges
from eosctl.planning.ledger import resume
from eosctl.render.document import Document
from eosctl.render.views.audit import view_audit
from eosctl.render.views.audit_plan import view_audit_plan


@dataclass(frozen=True, slots=True)
class Answer:
    """What to show, and the exit code that goes with it."""

    document: Document
    exit_code: int


def plan_audit(session: Session, request: AuditRequest) -> Answer:
    """The plan alone: nothing is read."""
    return Answer(view_audit_plan(_Auditor(session, request).plan()), EXIT_FINE)


def audit_now(session: Session, request: AuditRequest) -> Answer:
    """The whole audit: one run, kept in the ledger if there is one."""
    auditor = _Auditor(session, request)
    if request.store is None:
        report = auditor.carry_out(auditor.plan(), nothing_carried).report
    else:
        from eosctl.operations.audit.incremental import audit_and_keep

        report = audit_and_keep(request.store, request.job, auditor.bounds, auditor.carry_out, auditor.processes)
    _write_files(request, report)
    return Answer(view_audit(report), exit_code_of(report))


def exit_code_of(report: AuditReport) -> int:
    """0 where exactly-once held for every connector and nothing else counts."""
    counts = any(each.counts for each in report.findings) or report.verdict is not AuditVerdict.HELD
    return EXIT_FOUND if counts else EXIT_FINE


class _Auditor:
    """Carries plans out at one site: bounds may have to be read again, where another auditor was faster."""

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._question = session, request
        self._site = site_of(session, request)
        self.processes = request.processes or os.cpu_count() or 1

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""
        return self._site.bounds()

    def plan(self) -> AuditPlan:
        """The plan of an audit of everything."""
        bounds = self.bounds()
        return plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, self.processes)

    def carry_out(self, plan: AuditPlan, carried: CarriedRows) -> Audited:
        """The plan, carried out by the engine that was asked for, with progress on a terminal."""
        total = sum(each.size for each in plan.ranges)
        with self._session.options.console.progress("auditing", total, unit="offsets") as advance:

            def step(progress: Progress) -> None:
                advance(progress.offsets.size)

            with self._engine() as engine:
                return run_audit(plan, engine, carried, step, self._past)

    def _past(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        from eosctl.operations.audit.transaction_log_history import history_of

        return history_of(self._session, self._question, plan, producer_ids)

    @contextmanager
    def _engine(self) -> Iterator[Engine]:
        if self._question.engine == "spark":
            from eosctl.sandbox.cache import cache_directory
            from eosctl.sandbox.java import find_java
            from eosctl.spark.starting import spark_engine

            properties, timeout_s = self._session.client_properties, self._session.options.timeout_s
            archives = cache_directory() / "spark"
            with spark_engine(self._question.spark, properties, timeout_s, find_java, archives) as engine:
                yield engine
            return
        from eosctl.engines.local import LocalEngine

        yield LocalEngine(self._site.open_source(), processes=self.processes)


def _write_files(request: AuditRequest, report: AuditReport) -> None:
    if request.report is not None:
        from eosctl.atomic_write import write_atomic_file
        from eosctl.render.audit_page import render_audit_page

        write_atomic_file(request.report, render_audit_page(report))
    if request.export is not None:
        from eosctl.executors.audit_export import export_audit

        export_audit(request.export, report)
