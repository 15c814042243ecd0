"""What commands that plan and apply answer, as migrate-offsets, offsets restore, apply and undo do."""

from typing import Any, TypedDict

from eosctl.model.plan_outcome import StepOutcome
from eosctl.model.preconditions import Standing
from eosctl.model.sides import Side
from eosctl.render.documents.findings import FindingRow


class PlanStepRow(TypedDict):
    """A step: preconditions have a kind, and the members that this kind has."""

    number: int
    kind: str
    what: str
    preconditions: list[dict[str, Any]]


class PreconditionRow(TypedDict):
    """What is read again before these steps, and must hold; now says whether it does, null where nobody asked."""

    steps: list[int]
    what: str
    now: Standing | None
    reason: str | None


class PlanPlaceRow(TypedDict):
    """Where the plan was made, and is carried out unless options say otherwise."""

    side: Side
    bootstrap_servers: list[str]
    connect_urls: list[str]
    config_topic: str | None


class OffsetWriteRow(TypedDict):
    """A record to write to an offsets topic; after is `deleted` for a tombstone."""

    connector: str
    topic: str
    topic_partition: int
    key: str
    key_base64: str
    before: str | None
    after: str


class PlanData(TypedDict):
    """A plan that was not applied; objections speak against it."""

    digest: str | None
    steps: list[PlanStepRow]
    preconditions: list[PreconditionRow]
    places: list[PlanPlaceRow]
    offsets: list[OffsetWriteRow]
    findings: list[FindingRow]
    objections: list[str]


class StepResultRow(TypedDict):
    """What became of a step."""

    number: int
    kind: str
    what: str
    outcome: StepOutcome
    detail: str


class AppliedData(TypedDict):
    """What became of the steps of a plan, and where the way back is kept."""

    results: list[StepResultRow]
    changed: bool
    plan_file: str
    undo_file: str
    findings: list[FindingRow]
