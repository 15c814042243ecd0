"""What `fence` answers."""

from typing import TypedDict

from eosctl.model.fencing import FenceOutcome
from eosctl.model.transactions import TransactionState
from eosctl.render.documents.findings import FindingRow


class BeforeRow(TypedDict):
    """What the coordinator said of the ID before it was fenced."""

    state: TransactionState
    producer_id: int
    producer_epoch: int
    identity: str
    partitions: int


class FenceStepRow(TypedDict):
    """An ID to fence; before is null where its coordinator does not know it."""

    transactional_id: str
    owner: str
    before: BeforeRow | None
    effect: str


class SkippedIdRow(TypedDict):
    """An ID that is not fenced, and why."""

    transactional_id: str
    reason: str


class ObjectionRow(TypedDict):
    """What speaks against the plan, so that it is refused."""

    message: str
    hint: str | None


class FencePlanData(TypedDict):
    """Which IDs would be fenced, and what that does."""

    steps: list[FenceStepRow]
    skipped: list[SkippedIdRow]
    objections: list[ObjectionRow]
    warnings: list[str]
    transaction_timeout_ms: int


class IdentityRow(TypedDict):
    """A producer ID with its epoch."""

    producer_id: int
    producer_epoch: int
    identity: str


class ProofRow(TypedDict):
    """What was seen after an ID was fenced: proved or not proved."""

    verdict: str
    open: bool
    moved: bool
    old_producer: str


class FenceResultRow(TypedDict):
    """What became of an ID."""

    transactional_id: str
    outcome: FenceOutcome
    owner: str
    before: BeforeRow | None
    after: IdentityRow | None
    attempts: int
    elapsed_ms: float
    error: str | None
    proof: ProofRow | None


class FencedData(TypedDict):
    """Each ID with its outcome, in the order of the plan; skipped ones last."""

    results: list[FenceResultRow]
    elapsed_ms: float
    interrupted: bool
    findings: list[FindingRow]
