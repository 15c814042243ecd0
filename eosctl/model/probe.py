"""What a cluster does with transactions: the plan of a probe, its questions and its answers."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.errors import EosctlError, Interrupted, PartlyApplied
from eosctl.model.names import TopicPartition
from eosctl.model.probe_observations import VersionRange
from eosctl.model.report import Answer, Severity
from eosctl.model.skipped import Cause, Skipped

TIMEOUT_MS: Final = 60_000
"""transaction.timeout.ms of the producers, Kafka's default."""
FENCING_TIMEOUT_MS: Final = 90_000
"""What workers of 3.7.1 and later ask for when they fence (KAFKA-16047)."""


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """The topic and the transactional ID that a probe makes for itself, both with this name; as_of is in ms."""

    name: str
    replication_factor: int
    as_of: int

    @property
    def place(self) -> TopicPartition:
        """The only partition."""
        return TopicPartition(self.name, 0)

    @property
    def steps(self) -> tuple[str, ...]:
        """What will be done, in order."""
        factor = self.replication_factor
        copies = "the brokers' default replication factor" if factor < 0 else f"replication factor {factor}"
        return (
            f"ask every broker for its API versions, and describe transactional ID {self.name}, which nobody uses",
            f"initialise producers of transactional ID {self.name} and measure how long it takes",
            f"create topic {self.name} with 1 partition and {copies}",
            "write a few transactions of one record there; commit, abort and fence, and look at each",
            "send one abort marker for an open transaction of its own there, as `transactions abort` does",
            f"abort what is open, and delete topic {self.name}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedProbe(Answer):
    """The plan, for --dry-run and before the question."""

    plan: ProbePlan
    cluster_id: str
    objections: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Verdict(StrEnum):
    """Whether the cluster does as Kafka does; different: it answers, and neither as Kafka nor the opposite."""

    YES = "yes"
    NO = "no"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class Meaning(NamedTuple):
    """What an answer means for exactly-once source connectors, and for eosctl's other commands."""

    connect: str
    eosctl: str


@dataclass(frozen=True, slots=True)
class Check:
    """One question with a stable ID.

    severity is how bad it is where the cluster does otherwise: an error breaks the promise of exactly-once, a warning
    takes commands away, an info is known of older releases of Kafka too. otherwise is what that means.
    """

    id: str
    question: str
    severity: Severity
    yes: Meaning
    otherwise: Meaning


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """The verdict on one question with what was seen; cause is why it is unknown, None where it is not."""

    check: Check
    verdict: Verdict
    seen: str
    cause: Cause | None = None

    @property
    def meaning(self) -> Meaning:
        """What it means; of an unknown one, what it means unless it is as in Kafka."""
        return self.check.yes if self.verdict is Verdict.YES else self.check.otherwise

    @property
    def fails(self) -> bool:
        """Whether the cluster does otherwise than Kafka, in what matters."""
        return self.verdict in {Verdict.NO, Verdict.DIFFERENT} and self.check.severity is not Severity.INFO


class ProbedApi(NamedTuple):
    """An API with the versions that every broker answers (None: not every broker has it), and who needs which."""

    name: str
    key: int
    versions: VersionRange | Skipped | None
    needed: int
    needed_by: str

    @property
    def is_there(self) -> bool | None:
        """Whether every broker answers the version that is needed; None where that is not known."""
        if isinstance(self.versions, Skipped):
            return None
        return self.versions is not None and self.versions.highest >= self.needed


class Left(NamedTuple):
    """What the probe has left in the cluster: the kind of thing, its name, and why or for how long."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed(Answer):
    """All answers; as_of is in ms since the epoch.

    left is what remains in the cluster; undeleted names the topic if it may still be there, with the reason. init_ms
    are the times of InitProducerId, the first one apart.
    """

    plan: ProbePlan
    cluster_id: str
    principal: str
    answers: tuple[ProbeAnswer, ...]
    apis: tuple[ProbedApi, ...]
    init_ms: tuple[float, ...]
    left: tuple[Left, ...]
    undeleted: str | None = None
    interrupted: bool = False

    def count(self, verdict: Verdict) -> int:
        """How many questions have this answer."""
        return sum(each.verdict is verdict for each in self.answers)

    @property
    def found(self) -> bool:
        """Whether something that matters is not as in Kafka."""
        return any(each.fails for each in self.answers)

    @property
    def failure(self) -> EosctlError | None:
        """Interrupted, or PartlyApplied where the topic may still be there."""
        topic = self.plan.name
        hint = f"delete it: kafka-topics.sh --bootstrap-server HOST:PORT --delete --topic {topic}"
        if self.interrupted:
            what = (
                f"topic {topic} may be left: {self.undeleted}"
                if self.undeleted
                else "nothing is left but what is named"
            )
            return Interrupted(f"interrupted; {what}", hint=hint if self.undeleted else None)
        if self.undeleted is not None:
            return PartlyApplied(f"the probe is done, but topic {topic} may be left: {self.undeleted}", hint=hint)
        return None
