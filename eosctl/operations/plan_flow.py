"""Applying plans: the files beside a plan, the run, and its answer."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eosctl.codecs.plan import decode_plan, plan_digest
from eosctl.errors import EosctlError, UsageError
from eosctl.executors.apply import ApplyRun
from eosctl.executors.failpoints import Failpoint, no_failpoint
from eosctl.executors.journal import Journal, write_plan_file
from eosctl.model.plan import Plan, Side
from eosctl.model.plan_outcome import ApplyOutcome
from eosctl.model.report import Finding
from eosctl.operations.gc_paused import gc_paused
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning.undo import undo_plan
from eosctl.render.views.plan import describe_step, view_apply_outcome, view_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosctl.clients.access import ClusterAccess
    from eosctl.model.transactions import TransactionDescription

JOURNAL_SUFFIX: Final = ".journal"
UNDO_SUFFIX: Final = ".undo"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan and the file that holds it; its journal and its undo file lie beside it."""

    plan: Plan
    path: Path

    @property
    def journal(self) -> Path:
        """Where its steps are journaled."""
        return self.path.with_name(self.path.name + JOURNAL_SUFFIX)

    @property
    def undo(self) -> Path:
        """Where the way back is kept."""
        return self.path.with_name(self.path.name + UNDO_SUFFIX)


def read_plan(path: Path) -> PlanFile:
    """The plan in this file."""
    from eosctl.sources.files import read_text

    return PlanFile(decode_plan(read_text(path, "the plan")), path)


def keep_plan(plan: Plan, path: Path) -> PlanFile:
    """The plan, on disk. Raises UsageError for a file that exists: it may have a journal."""
    file = PlanFile(plan, path)
    if path.exists() or file.journal.exists():
        raise UsageError(f"{path} exists already", hint="a plan and its journal are not overwritten: take another name")
    write_plan_file(path, plan)
    return file


def own_plan_path(plan: Plan) -> Path:
    """Where a plan is kept that the user gave no file for: eosctl/plans among the user's state files."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    digest = plan_digest(plan).partition(":")[2]
    return Path(base) / "eosctl" / "plans" / f"{plan.as_of}-{digest[:12]}.plan"


def apply_plan(
    session: Session,
    sides: SourceAndTarget,
    file: PlanFile,
    *,
    findings: Sequence[Finding] = (),
    failpoint: Failpoint = no_failpoint,
) -> int:
    """Applies the plan, shows what became of each step, and raises the error that it ended with, if any."""
    outcome, failure = run_plan(session, sides, file, failpoint=failpoint)
    cluster_id = sides.access(Side.SOURCE).wire.cluster_id if failure is None else _known_cluster(sides)
    session.options.console.result(
        view_apply_outcome(file.plan, outcome, cluster_id, str(file.undo), findings=findings)
    )
    if failure is not None:
        raise failure
    return 0


def _known_cluster(sides: SourceAndTarget) -> str:
    with suppress(EosctlError):
        return sides.access(Side.SOURCE).wire.cluster_id
    return ""


def run_plan(
    session: Session, sides: SourceAndTarget, file: PlanFile, *, failpoint: Failpoint = no_failpoint
) -> tuple[ApplyOutcome, EosctlError | None]:
    """Leaves the undo file, then performs the steps that are not done yet."""
    from eosctl.executors.performers import performers
    from eosctl.sources.plan_facts import read_entries, read_plan_facts

    console = session.options.console
    with Journal(file.journal, plan_digest(file.plan)) as journal, gc_paused():
        if not file.undo.exists():
            write_plan_file(file.undo, undo_plan(file.plan))
        return ApplyRun(
            file.plan,
            journal,
            lambda preconditions: read_plan_facts(sides.access, preconditions),
            performers(
                sides.access,
                lambda side, topic, connector: read_entries(sides.access, side, topic, connector),
                describer(),
                failpoint,
            ),
            on_result=lambda result: console.narrate(
                f"{result.number}. {result.outcome.value}: {result.detail or describe_step(result.step)}"
            ),
            failpoint=failpoint,
        ).run()


def describer() -> "Callable[[ClusterAccess, Sequence[str]], Mapping[str, TransactionDescription]]":
    """What describes transactional IDs for the performers: those that coordinators know."""
    from eosctl.sources.kafka_transactions import describe_transactional_ids

    def describe(access: "ClusterAccess", ids: Sequence[str]) -> "Mapping[str, TransactionDescription]":
        found = {}
        for name, described in describe_transactional_ids(access.wire, ids).items():
            if isinstance(described, EosctlError):
                raise described
            if described is not None:
                found[name] = described
        return found

    return describe


def apply_file(
    session: Session, sides: SourceAndTarget, path: Path, question: str, *, kinds: Sequence[str] = ()
) -> int:
    """`eosctl apply` and `eosctl undo`: the plan shown, agreed to, applied. kinds limits what the file may hold."""
    options = session.options
    file = read_plan(path)
    if kinds and file.plan.kind not in kinds:
        raise UsageError(f"{path} is a plan of kind {file.plan.kind}", hint=f"`eosctl apply {path}` applies it")
    document = view_plan(file.plan, sides.access(Side.SOURCE).wire.cluster_id)
    if options.dry_run:
        options.console.result(document)
        return 0
    if not options.yes:
        options.console.preview(document)
    options.console.confirm(question, yes=options.yes)
    return apply_plan(session, sides, file)
