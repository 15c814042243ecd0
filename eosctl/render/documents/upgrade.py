"""What `upgrade-check` answers."""

from typing import TypedDict

from eosctl.model.upgrade import Phase, Verdict
from eosctl.render.documents.findings import ShownFindings


class WorkerPhaseRow(TypedDict):
    """Where a worker is in the rolling upgrade."""

    url: str
    phase: Phase
    known_by: str


class RollingStepRow(TypedDict):
    """The next thing to do with one worker."""

    url: str
    phase: Phase
    action: str


class UpgradeData(ShownFindings):
    """The verdict on a rolling step; blockers are the IDs of the findings that stand in its way."""

    to: Phase
    verdict: Verdict
    done: bool | None
    blockers: list[str]
    unknown: list[str]
    workers: list[WorkerPhaseRow]
    steps: list[RollingStepRow]
    consequences: list[str]
