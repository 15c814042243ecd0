"""Plan files: the place of a plan, and the files beside it."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.topic_events import PlanRecord
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.codecs.plan import JournalEvent, decode_journal, decode_plan, plan_digest
from eosctl.errors import EosctlError, Refused, Undecodable, UsageError
from eosctl.executors.apply import write_plan_file
from eosctl.files import JOURNAL, PLAN, read_text
from eosctl.model.names import Side
from eosctl.model.plan import (
    CreateConnector,
    ManualStep,
    Plan,
    PlanTarget,
    ResumeConnector,
    SetConnectorConfig,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.planned import KeptPlan, KeptPlans, PlanState, state_by
from eosctl.model.preconditions import ClusterIs
from eosctl.model.skipped import Skipped
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers, SessionOptions, state_directory
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.sources.group_belongings import SAMPLE_TOPICS

JOURNAL_SUFFIX: Final = ".journal"
UNDO_SUFFIX: Final = ".undo"


class PlanFile(Struct, frozen=True):
    """A plan and the file that holds it; its journal and its undo file lie beside it."""

    plan: Plan
    path: Path

    @property
    def journal(self) -> Path:
        return self.path.with_name(self.path.name + JOURNAL_SUFFIX)

    @property
    def undo(self) -> Path:
        return self.path.with_name(self.path.name + UNDO_SUFFIX)


def read_plan(path: Path, required_digest: str | None = None) -> PlanFile:
    """The plan in this file; Refused if it lacks the required digest."""
    path = known_path(path)
    try:
        plan = decode_plan(read_text(path, PLAN))
    except Undecodable as error:
        raise Undecodable(f"{path}: {error.message}", hint=error.hint) from error
    found = plan_digest(plan)
    if required_digest is not None and required_digest.lower().removeprefix("sha256:") != found.partition(":")[2]:
        raise Refused(
            f"the digest of the plan in {path} is {found}, not the value of --require-digest",
            hint="ask who made or reviewed the plan for the file that they saw",
        )
    return PlanFile(plan, path)


def keep_plan(plan: Plan, path: Path) -> PlanFile:
    """The plan, on disk. Raises UsageError for an existing file, which may have a journal."""
    file = PlanFile(plan, path)
    if path.exists() or file.journal.exists():
        raise UsageError(f"{path} exists already", hint="a plan and its journal are not overwritten: take another name")
    write_plan_file(path, plan)
    return file


def steps_done(file: PlanFile) -> frozenset[int]:
    """The numbers of the steps that an earlier run has done, by the plan's journal; empty without one."""
    if not file.journal.exists():
        return frozenset()
    entries = decode_journal(read_text(file.journal, JOURNAL).splitlines(keepends=True), plan_digest(file.plan))
    return frozenset(each.step for each in entries if each.event is JournalEvent.DONE)


def own_plans() -> Path:
    """Directory of plans without a file named by the user: eosctl/plans among the user's state files."""
    return state_directory() / "plans"


def own_plan_path(plan: Plan) -> Path:
    """The plan's path there."""
    return own_plans() / f"{plan.as_of}-{plan_digest(plan).partition(':')[2][:12]}.plan"


def known_path(path: Path) -> Path:
    """The file; a bare name that is not in the working directory means a kept plan."""
    kept = own_plans() / path.name
    return kept if path.name == str(path) and not path.exists() and kept.exists() else path


def short_name(path: Path) -> str:
    """The name that `known_path` finds: the bare name of a kept plan."""
    return path.name if path.parent == own_plans() and not Path(path.name).exists() else str(path)


def kept_plans(directory: Path) -> KeptPlans:
    """The plan files in the directory, with their outcome; without the first parts of plans with --stop."""
    if not directory.is_dir() and directory != own_plans():
        problem = f"{directory} is not a directory" if directory.exists() else f"there is no directory {directory}"
        raise UsageError(problem, hint="give the directory of your plan files; without one, the saved plans are listed")
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
    """The number of eosctl's steps, and of those done."""
    steps = sum(1 for each in file.plan.steps if not isinstance(each.step, ManualStep))
    return steps, len(steps_done(file))


def plan_records(cluster_id: str) -> Iterator[PlanRecord]:
    """The kept plans of this Kafka cluster, and their undo plans, with the time of the last line of their journals."""
    for kept in kept_plans(own_plans()).plans if own_plans().is_dir() else ():
        for path in (Path(kept.path), Path(kept.path + UNDO_SUFFIX)):
            with suppress(EosctlError, OSError):
                file = read_plan(path)
                steps, done = _progress(file)
                begun = int(file.journal.stat().st_mtime * 1000) if file.journal.exists() else None
                whose = KeptPlan(str(path), file.plan, PlanState.PLANNED).connectors
                if cluster_id in _planned_clusters(file.plan):
                    name = short_name(path)
                    yield PlanRecord(name, file.plan.kind, whose, file.plan.as_of, steps, done, begun)


def _planned_clusters(plan: Plan) -> set[str]:
    """The IDs of the Kafka clusters that it is for."""
    conditions = (each for step in plan.steps for each in step.preconditions)
    return {each.cluster_id for each in conditions if isinstance(each, ClusterIs)}


def last_undo_file() -> Path:
    """The undo file of the newest kept and executed plan; UsageError if there is none."""
    kept = kept_plans(own_plans())
    wanted = {PlanState.BEGUN, PlanState.DONE, PlanState.UNDO_BEGUN}
    for each in kept.plans:
        if each.state in wanted:
            return Path(each.path + UNDO_SUFFIX)
    raise UsageError(
        f"{kept.directory} has no applied plan that is not undone",
        hint="`eosctl plans list` shows them; the undo file of a plan from --plan-file is in the same directory",
    )


class PlanPlaces:
    """Session and clusters for a plan, which supplies unset options.

    Identities and secrets are in no plan: they are the user's. They are not shown to addresses that only the plan names
    before the user has confirmed these.
    """

    def __init__(
        self, options: SessionOptions, file: PlanFile, config_topic: str | None, target: TargetOptions
    ) -> None:
        source, other = (_place(file.plan, side) for side in Side)
        named_by = f"the plan {file.path}"
        self.session = Session(
            replace(
                options,
                planned=_servers(source, named_by),
                connect_urls=options.connect_urls or _urls(source, named_by),
                named_topics=frozenset(SAMPLE_TOPICS),
            )
        )
        self.clusters = SourceAndTarget(
            self.session,
            config_topic or source.config_topic or SAMPLE_TOPICS["config"],
            replace(
                target,
                connect_urls=target.connect_urls or _urls(other, named_by),
                config_topic=target.config_topic or other.config_topic,
                planned=_servers(other, named_by),
            ),
        )

    def __enter__(self) -> tuple[Session, SourceAndTarget]:
        return self.session, self.clusters

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.clusters.__exit__()
        self.session.__exit__(kind, error, traceback)


def _servers(place: PlanTarget, named_by: str) -> PlannedServers | None:
    return PlannedServers(place.bootstrap_servers, named_by) if place.bootstrap_servers else None


def _urls(place: PlanTarget, named_by: str) -> tuple[WorkerUrl, ...]:
    return tuple(WorkerUrl(each, named_by=named_by) for each in place.connect_urls)


def _place(plan: Plan, side: Side) -> PlanTarget:
    return next((each for each in plan.places if each.side is side), PlanTarget(side, ()))


OF_CONNECTORS = (CreateConnector, WriteOffsets, VerifyOffsets, SetConnectorConfig, ResumeConnector)


def unfinished_plan(directory: Path, kind: str, cluster_id: str, connectors: Collection[str]) -> Path | None:
    """The newest plan of this kind for one of the cluster's connectors, if a step of it is done and another is not.

    Its time is its as_of, with which its file's name begins. Other files, and plans without a journal, are passed over.
    """
    for path in sorted(directory.glob("*.plan"), reverse=True):
        try:
            plan = decode_plan(read_text(path, PLAN))
            if plan.kind != kind or not _names(plan) & set(connectors) or cluster_id not in _clusters(plan):
                continue
            file = PlanFile(plan, path)
            if not file.journal.exists():
                continue
            done = steps_done(file)
        except EosctlError:
            continue
        wanted = {i for i, each in enumerate(plan.steps, 1) if not isinstance(each.step, ManualStep)}
        return path if done and wanted - done else None
    return None


def _clusters(plan: Plan) -> set[str]:
    return {each.cluster_id for step in plan.steps for each in step.preconditions if isinstance(each, ClusterIs)}


def _names(plan: Plan) -> set[str]:
    steps = [each.step for each in plan.steps]
    found = {step.connector for step in steps if isinstance(step, OF_CONNECTORS)}
    copied = {step.copied_from for step in steps if isinstance(step, SetConnectorConfig) and step.copied_from}
    return found | copied
