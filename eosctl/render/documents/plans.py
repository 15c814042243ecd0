"""What `plans list` answers."""

from typing import TypedDict

from eosctl.model.kept_plans import PlanState


class KeptPlanRow(TypedDict):
    """A plan file; made is when its facts were read, next the command that may follow, null where there is none."""

    file: str
    kind: str | None
    made: str | None
    connectors: list[str]
    state: PlanState
    next: str | None
    reason: str | None


class KeptPlansData(TypedDict):
    """The plan files of a directory, the newest first."""

    directory: str
    plans: list[KeptPlanRow]
