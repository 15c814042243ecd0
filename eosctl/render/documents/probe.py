"""What `probe` answers."""

from typing import TypedDict

from eosctl.model.probe import Verdict
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped


class ProbeStepRow(TypedDict):
    """A step of a probe."""

    number: int
    what: str


class ProbePlanData(TypedDict):
    """What a probe will do, in which topic and under which transactional ID."""

    topic: str
    transactional_id: str
    replication_factor: int
    steps: list[ProbeStepRow]


class ProbeAnswerRow(TypedDict):
    """A question with its answer, and what that means for Connect and for eosctl."""

    id: str
    question: str
    answer: Verdict
    seen: str
    severity: Severity
    connect: str
    eosctl: str


class ProbedApiRow(TypedDict):
    """An API; is_there is null where it is not known."""

    name: str
    key: int
    versions: str | Skipped
    needed: int
    needed_by: str
    is_there: bool | None


class LeftRow(TypedDict):
    """What a probe left in the cluster."""

    kind: str
    name: str
    reason: str


class ProbeData(TypedDict):
    """Every question with its answer; init_producer_id_ms is how long each InitProducerId took."""

    topic: str
    transactional_id: str
    principal: str
    answers: list[ProbeAnswerRow]
    apis: list[ProbedApiRow]
    init_producer_id_ms: list[float]
    left: list[LeftRow]
    interrupted: bool
