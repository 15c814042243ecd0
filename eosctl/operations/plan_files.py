"""Plan files: where a plan is kept, and what lies beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eosctl.codecs.plan import JournalEvent, decode_journal, decode_plan, plan_digest
from eosctl.errors import EosctlError, Refused, Undecodable, UsageError
from eosctl.executors.journal import write_plan_file
from eosctl.files import JOURNAL, PLAN, read_text
from eosctl.model.kept_plans import KeptPlan, KeptPlans, PlanState, state_by
from eosctl.model.plan import ManualStep, Plan
from eosctl.model.skipped import Skipped
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
    path = known_path(path)
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


def known_path(path: Path) -> Path:
    """The file: a bare name that is not in the working directory is that of a plan which eosctl has kept."""
    kept = own_plans() / path.name
    return kept if path.name == str(path) and not path.exists() and kept.exists() else path


def short_name(path: Path) -> str:
    """What `known_path` finds again: the bare name of a plan that eosctl has kept."""
    return path.name if path.parent == own_plans() and not Path(path.name).exists() else str(path)


def kept_plans(directory: Path) -> KeptPlans:
    """The plan files in the directory, with what became of each; the first parts of plans with --stop are left out."""
    if not directory.is_dir() and directory != own_plans():
        raise UsageError(f"there is no directory {directory}")
    found = (_kept_plan(path) for path in sorted(directory.glob("*.plan"), reverse=True))
    plans = [each for each in found if not (each.only_stops and each.state is PlanState.DONE)]
    plans.sort(key=lambda each: 0 if isinstance(each.plan, Skipped) else each.plan.as_of, reverse=True)
    return KeptPlans(directory=str(directory), plans=tuple(plans))


def _kept_plan(path: Path) -> KeptPlan:
    try:
        file = read_plan(path)
        undo = read_plan(file.undo) if file.undo.exists() else None
        state = state_by(*_progress(file), *((0, 0) if undo is None else _progress(undo)))
    except EosctlError as error:
        return KeptPlan(str(path), Skipped.of(error), PlanState.UNREADABLE)
    return KeptPlan(str(path), file.plan, state)


def _progress(file: PlanFile) -> tuple[int, int]:
    """How many steps there are that eosctl does, and how many are done."""
    steps = sum(1 for each in file.plan.steps if not isinstance(each.step, ManualStep))
    return steps, len(steps_done(file))


def last_undo_file() -> Path:
    """The undo file of the newest plan that eosctl has kept and carried out; UsageError where there is none."""
    kept = kept_plans(own_plans())
    wanted = {PlanState.BEGUN, PlanState.DONE, PlanState.UNDO_BEGUN}
    for each in kept.plans:
        if each.state in wanted:
            return Path(each.path + UNDO_SUFFIX)
    raise UsageError(
        f"no plan in {kept.directory} was carried out and not undone",
        hint="`eosctl plans list` shows them; a plan that was written with --plan-file has its undo file beside it",
    )
