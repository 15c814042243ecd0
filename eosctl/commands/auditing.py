"""What `audit` reads and decides: the plan, the engine that carries it out, the ledger that keeps it, the report."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from eosctl.commands.audit_topics import FoundTopics
from eosctl.commands.context import Context
from eosctl.commands.offsets_reading import OffsetsQuestion
from eosctl.engines.auditing import Audited, CarriedRows, nothing_carried, run_audit
from eosctl.engines.engine import Engine, Progress
from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.model.audit import AuditPlan
from eosctl.model.audit_report import AuditReport, AuditVerdict
from eosctl.planning.audit import plan_ranges
from eosctl.planning.ledger import resume
from eosctl.render.document import Document
from eosctl.render.views.audit import view_audit
from eosctl.render.views.audit_plan import view_audit_plan
from eosctl.sources.audit_plan import AuditWish, read_bounds


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """What was asked: which topics (none: all that are known), on which engine, kept where, shown how."""

    offsets: OffsetsQuestion
    topics: tuple[str, ...] = ()
    engine: str = "local"
    processes: int | None = None
    store: str | None = None
    job: str = "audit"
    report: Path | None = None
    export: Path | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What to show, and the exit code that goes with it."""

    document: Document
    exit_code: int


def plan_audit(context: Context, question: AuditQuestion) -> Answer:
    """The plan alone: nothing is read."""
    return Answer(view_audit_plan(_Auditor(context, question).plan()), EXIT_FINE)


def audit_now(context: Context, question: AuditQuestion) -> Answer:
    """The whole audit: one run, kept in the ledger if there is one."""
    auditor = _Auditor(context, question)
    if question.store is None:
        report = auditor.carry_out(auditor.plan(), nothing_carried).report
    else:
        from eosctl.commands.audit_keeping import audit_and_keep

        report = audit_and_keep(question.store, question.job, auditor.bounds, auditor.carry_out, auditor.processes)
    _write_files(question, report)
    return Answer(view_audit(report), exit_code_of(report))


def exit_code_of(report: AuditReport) -> int:
    """0 where exactly-once held for every connector and nothing else counts."""
    counts = any(each.counts for each in report.findings) or report.verdict is not AuditVerdict.HELD
    return EXIT_FOUND if counts else EXIT_FINE


class _Auditor:
    """Topics are found once; bounds may have to be read again, where another auditor was faster."""

    def __init__(self, context: Context, question: AuditQuestion) -> None:
        self._context, self._question = context, question
        self._found = FoundTopics(context, question.offsets, question.topics)
        self.processes = question.processes or os.cpu_count() or 1

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""
        wish = AuditWish(
            topics=self._found.topics,
            group_id=self._context.options.group_id,
            connectors=self._found.connectors,
            unread=self._found.unread,
            selected=self._question.offsets.connectors,
        )
        return read_bounds(self._context.wire, wish, self._context.now())

    def plan(self) -> AuditPlan:
        """The plan of an audit of everything."""
        bounds = self.bounds()
        return plan_ranges(bounds, resume({}, bounds.topics, bounds.bounds), {}, self.processes)

    def carry_out(self, plan: AuditPlan, carried: CarriedRows) -> Audited:
        """The plan, carried out by the engine that was asked for, with progress on a terminal."""
        total = sum(each.size for each in plan.ranges)
        with self._context.options.console.progress("auditing", total, unit="offsets") as advance:

            def step(progress: Progress) -> None:
                advance(progress.offsets.size)

            return run_audit(plan, self._engine(), carried, step)

    def _engine(self) -> Engine:
        from eosctl.engines.cluster_source import OpenCluster
        from eosctl.engines.local import LocalEngine

        options = self._context.options
        return LocalEngine(OpenCluster(self._context.client_properties, options.timeout_s), processes=self.processes)


def _write_files(question: AuditQuestion, report: AuditReport) -> None:
    targets: Iterable[tuple[Path | None, Callable[[Path, AuditReport], None]]] = (
        (question.report, _write_page),
        (question.export, _write_tables),
    )
    for path, write in targets:
        if path is not None:
            write(path, report)


def _write_page(path: Path, report: AuditReport) -> None:
    raise NotImplementedError


def _write_tables(path: Path, report: AuditReport) -> None:
    raise NotImplementedError
