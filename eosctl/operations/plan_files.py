"""Plan files: where a plan is kept, and what lies beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eosctl.codecs.plan import JournalEvent, decode_journal, decode_plan, plan_digest
from eosctl.errors import Refused, Undecodable, UsageError
from eosctl.executors.journal import write_plan_file
from eosctl.files import JOURNAL, PLAN, read_text
from eosctl.model.plan import Plan
from eosctl.operations.state_directory import state_directory

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


def read_plan(path: Path, required_digest: str | None = None) -> PlanFile:
    """The plan in this file; Refused where it has not the digest that is required."""
    try:
        plan = decode_plan(read_text(path, PLAN))
    except Undecodable as error:
        raise Undecodable(f"{path}: {error.message}", hint=error.hint) from error
    found = plan_digest(plan)
    if required_digest is not None and required_digest.lower().removeprefix("sha256:") != found.partition(":")[2]:
        raise Refused(
            f"the digest of the plan in {path} is {found}, not the one that --require-digest gives",
            hint="ask who made or reviewed the plan for the file that they saw",
        )
    return PlanFile(plan, path)


def keep_plan(plan: Plan, path: Path) -> PlanFile:
    """The plan, on disk. Raises UsageError for a file that exists: it may have a journal."""
    file = PlanFile(plan, path)
    if path.exists() or file.journal.exists():
        raise UsageError(f"{path} exists already", hint="a plan and its journal are not overwritten: take another name")
    write_plan_file(path, plan)
    return file


def steps_done(file: PlanFile) -> frozenset[int]:
    """The numbers of the steps that an earlier run has done, by the plan's journal; none where there is none."""
    if not file.journal.exists():
        return frozenset()
    entries = decode_journal(read_text(file.journal, JOURNAL).splitlines(keepends=True), plan_digest(file.plan))
    return frozenset(each.step for each in entries if each.event is JournalEvent.DONE)


def own_plans() -> Path:
    """Where plans are kept that the user gave no file for: eosctl/plans among the user's state files."""
    return state_directory() / "plans"


def own_plan_path(plan: Plan) -> Path:
    """Where this one is kept."""
    return own_plans() / f"{plan.as_of}-{plan_digest(plan).partition(':')[2][:12]}.plan"
