"""Plans before they are applied: to be read by a person or a program, kept, and applied as they were read."""

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from eosctl.api.documents import document, text
from eosctl.model.fencing import Fenced, FencingRequest, PlannedFencing
from eosctl.model.plan import UNDO
from eosctl.model.planned import Applied, Planned
from eosctl.operations.fencing import fence_as_planned
from eosctl.operations.plan_files import PlanFile, PlanPlaces
from eosctl.operations.plan_flow import apply_file, keep_planned, undo_file
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.two_clusters import TargetOptions


class WriteAccess(Struct, frozen=True):
    """The options by which a plan is applied, and the config topic and the other cluster that it is for.

    The program has agreed by calling `apply`: nothing is asked.
    """

    options: SessionOptions
    config_topic: str
    target: TargetOptions

    def writing(self, *, dry_run: bool = False) -> SessionOptions:
        return replace(self.options, writes=True, yes=not dry_run, dry_run=dry_run)


class ProposedPlan:
    """A plan with steps, preconditions and a digest, not applied yet.

    planned is the planned answer; file is the path of the saved plan, None: not saved yet. applied is the outcome of
    its steps after a call of `apply`, even if it raised.
    """

    def __init__(self, planned: Planned, access: WriteAccess, file: PlanFile | None = None) -> None:
        self.planned = planned
        self.file = file
        self.applied: Applied | None = None
        self._access = access

    @property
    def objections(self) -> tuple[str, ...]:
        """Reasons not to apply it; with any, `save` and `apply` refuse."""
        return self.planned.objections

    @property
    def digest(self) -> str:
        """The value for `eosctl apply --require-digest`."""
        return self.planned.digest

    def text(self, *, width: int | None = None) -> str:
        """The steps, for a person."""
        return text(self.planned, width=width)

    def document(self) -> dict[str, Any]:
        """The steps, as `-o json` prints them with --dry-run."""
        return document(self.planned)

    def save(self, path: str | Path) -> Path:
        """Writes the plan for `eosctl apply`; its journal and its undo file will lie beside it.

        Raises Refused where something speaks against it, UsageError where the file exists.
        """
        self._require()
        self.file = keep_planned(self.planned, Path(path))
        return self.file.path

    def apply(self) -> Applied:
        """Checks each precondition again, and performs the steps in order; can be called again after a failure.

        Raises Refused where nothing was changed, PartlyApplied where a step failed; `applied` has each step then.
        """
        self._require()
        if self.file is None:
            self.file = keep_planned(self.planned)
        done = _run(self.file, self._access)
        if isinstance(done, Applied):
            self.applied = done
        if done.failure is not None:
            raise done.failure
        assert isinstance(done, Applied)  # only what failed is a plan still
        return done

    def _require(self) -> None:
        if self.planned.failure is not None:
            raise self.planned.failure


def kept_plan(file: PlanFile, access: WriteAccess) -> ProposedPlan:
    """The plan in the file, with its preconditions as they are now; what no longer holds is an objection."""
    checked = _run(file, access, dry_run=True)
    assert isinstance(checked, Planned)  # a dry run applies nothing
    return ProposedPlan(checked, access, file)


def _run(file: PlanFile, access: WriteAccess, *, dry_run: bool = False) -> Planned | Applied:
    run = undo_file if file.plan.kind == UNDO else apply_file
    with PlanPlaces(access.writing(dry_run=dry_run), file, access.config_topic, access.target) as (session, clusters):
        return run(session, clusters, file, lambda _: None)


class ProposedFencing:
    """Producers to fence, not fenced yet. applied is the outcome of each ID, even if `apply` raised."""

    def __init__(self, planned: PlannedFencing, request: FencingRequest, access: WriteAccess) -> None:
        self.planned = planned
        self.applied: Fenced | None = None
        self._request = request
        self._access = access

    @property
    def objections(self) -> tuple[str, ...]:
        """Reasons not to fence; with any, `apply` refuses."""
        return self.planned.objections

    def text(self, *, width: int | None = None) -> str:
        """The IDs with their producers, for a person."""
        return text(self.planned, width=width)

    def document(self) -> dict[str, Any]:
        """The IDs with their producers, as `-o json` prints them with --dry-run."""
        return document(self.planned)

    def apply(self) -> Fenced:
        """Fences the producers that were shown, and proves it.

        Raises Refused where other producers have the IDs by now or one began or ended a transaction; nothing is fenced.
        """
        with Session(self._access.writing()) as session:
            done = fence_as_planned(session, self._request, self.planned, self._access.config_topic)
        self.applied = done
        if done.failure is not None:
            raise done.failure
        return done
