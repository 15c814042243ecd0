"""Probing a cluster's transactions: the plan of a probe, its questions and its answers."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from eosctl.errors import EosctlError, Interrupted, PartlyApplied, UsageError
from eosctl.model.acls import Operation
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Shown
from eosctl.model.report import Result, Severity
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState

T = TypeVar("T")

NOT_TRIED: Final = Skipped("not tried", Cause.NOT_ASKED)


class Refusal(Struct, frozen=True):
    api: str
    code: int
    name: str

    def __str__(self) -> str:
        return f"{self.api} is refused with {self.name} ({self.code})"


class VersionRange(NamedTuple):
    lowest: int
    highest: int


class Initialised(NamedTuple):
    """InitProducerId was answered: the producer, and the ms from the first request to the answer."""

    producer: ProducerIdAndEpoch
    elapsed_ms: float


class Look(Struct, frozen=True):
    """A record at `offset` and the partition's view of it.

    last_stable_offset and high_watermark come from ListOffsets; shown from a read_committed Fetch. marker is the type
    of the control record after it, or None.
    """

    offset: int
    last_stable_offset: int
    high_watermark: int
    shown: Shown
    marker: str | None

    @property
    def is_stable(self) -> bool:
        return self.last_stable_offset > self.offset

    @property
    def is_ended(self) -> bool:
        """True if each of the three requests, sent one after another, shows the end of the transaction."""
        return self.is_stable and self.marker is not None and self.shown is not Shown.NOT_RETURNED

    @property
    def bounds(self) -> str:
        return f"last stable offset {self.last_stable_offset}, high watermark {self.high_watermark}"


class Raised(NamedTuple):
    before: ProducerIdAndEpoch
    after: ProducerIdAndEpoch

    @property
    def fences(self) -> bool:
        return (
            self.before.producer_id != self.after.producer_id or self.before.producer_epoch < self.after.producer_epoch
        )

    def __str__(self) -> str:
        return f"{self.before} became {self.after}"


Seen: TypeAlias = T | Refusal | Skipped
"""A fact, the error that it was refused with, or why it is not known."""


class Observations(Struct, frozen=True, kw_only=True):
    """The brokers' answers.

    stopped is why the NOT_TRIED ones were not tried. versions are by node ID and API key. features are the finalized
    ones. rights are the principal's operations on the cluster. unused describes an ID that was never used. first,
    long_timeout and repeats are InitProducerId: the first request, one with the timeout of Connect's fencing, and a
    repetition. opened is the offset of the first record of an open transaction, the subject of described, listed,
    producers and open. zombie_* is the fenced producer's error, None if it was accepted. unadded is a Produce without
    the partition added to its transaction; bumped is a transaction by KIP-890. marker is the answer to WriteTxnMarkers,
    and marked its record afterwards.
    """

    principal: str = ""
    stopped: str = "not tried"
    versions: Mapping[int, Mapping[int, VersionRange] | Skipped] | Skipped = NOT_TRIED
    features: Mapping[str, int] | Skipped = NOT_TRIED
    rights: frozenset[Operation] | Skipped = NOT_TRIED
    unused: Seen[TransactionDescription] = NOT_TRIED
    first: Seen[Initialised] = NOT_TRIED
    long_timeout: Seen[Initialised] = NOT_TRIED
    repeats: tuple[float, ...] = ()
    opened: Seen[int] = NOT_TRIED
    described: Seen[TransactionDescription] = NOT_TRIED
    listed: Seen[TransactionState | None] = NOT_TRIED
    producers: Seen[tuple[ActiveProducer, ...]] = NOT_TRIED
    open: Seen[Look] = NOT_TRIED
    committed: Seen[Look] = NOT_TRIED
    aborted: Seen[Look] = NOT_TRIED
    fencing: Seen[Raised] = NOT_TRIED
    fenced: Seen[Look] = NOT_TRIED
    zombie_commit: Seen[None] = NOT_TRIED
    zombie_add: Seen[None] = NOT_TRIED
    zombie_write: Seen[None] = NOT_TRIED
    unadded: Seen[None] = NOT_TRIED
    bumped: Seen[Raised] = NOT_TRIED
    marker: Seen[None] = NOT_TRIED
    marked: Seen[Look] = NOT_TRIED


TIMEOUT_MS: Final = 60_000
"""transaction.timeout.ms of the producers, Kafka's default."""
FENCING_TIMEOUT_MS: Final = 90_000
"""The timeout that workers of 3.7.1 and later request when they fence (KAFKA-16047)."""


class ProbePlan(Struct, frozen=True):
    """The topic and the transactional ID that a probe makes for itself, both with this name; as_of is in ms."""

    name: str
    replication_factor: int
    as_of: int

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.name, 0)

    @property
    def steps(self) -> tuple[str, ...]:
        factor = self.replication_factor
        copies = "the brokers' default replication factor" if factor < 0 else f"replication factor {factor}"
        return (
            f"ask every broker for its API versions, and describe the unused transactional ID {self.name}",
            f"initialise producers of transactional ID {self.name} and measure how long it takes",
            f"create topic {self.name} with 1 partition and {copies}",
            "write a few transactions of one record there; commit, abort and fence, and look at each",
            "send one abort marker for its open transaction there, like `transactions abort`",
            f"abort open transactions, and delete topic {self.name}",
        )


class PlannedProbe(Result, frozen=True, kw_only=True):
    plan: ProbePlan
    cluster_id: str
    objections: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Verdict(StrEnum):
    """How the cluster compares with Kafka; different: it answers, but neither as Kafka nor the opposite."""

    YES = "yes"
    NO = "no"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class Meaning(NamedTuple):
    connect: str
    eosctl: str


class Check(Struct, frozen=True):
    """One question with a stable ID.

    severity applies if the cluster differs from Kafka: an error breaks the promise of exactly-once, a warning disables
    commands, and an info also occurs in older releases of Kafka. otherwise is the consequence.
    """

    id: str
    question: str
    severity: Severity
    yes: Meaning
    otherwise: Meaning


class ProbeAnswer(Struct, frozen=True):
    """The verdict on one question with its evidence; cause is why it is unknown, or None."""

    check: Check
    verdict: Verdict
    seen: str
    cause: Cause | None = None

    @property
    def meaning(self) -> Meaning:
        """The consequence; for an unknown verdict, the consequence unless the cluster does as Kafka."""
        return self.check.yes if self.verdict is Verdict.YES else self.check.otherwise

    @property
    def fails(self) -> bool:
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
        """True if every broker supports the required version; None if unknown."""
        if isinstance(self.versions, Skipped):
            return None
        return self.versions is not None and self.versions.highest >= self.needed


class Left(NamedTuple):
    kind: str
    name: str
    reason: str


class Probed(Result, frozen=True, kw_only=True):
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
        return sum(each.verdict is verdict for each in self.answers)

    @property
    def found(self) -> bool:
        return any(each.fails for each in self.answers)

    @property
    def failure(self) -> EosctlError | None:
        topic = self.plan.name
        hint = f"delete it: kafka-topics.sh --bootstrap-server HOST:PORT --delete --topic {topic}"
        if self.interrupted:
            what = (
                f"topic {topic} may remain: {self.undeleted}" if self.undeleted else "only the named resources remain"
            )
            return Interrupted(f"interrupted; {what}", hint=hint if self.undeleted else None)
        if self.undeleted is not None:
            return PartlyApplied(f"the probe is done, but topic {topic} may remain: {self.undeleted}", hint=hint)
        return None


LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
LONGEST: Final = 200


def plan_probe(prefix: str, unique: str, replication_factor: int, as_of: int) -> ProbePlan:
    """Topic and transactional ID are both `prefix` and `unique`. UsageError where no topic may be called so."""
    if not prefix or set(prefix) - LEGAL or len(prefix) > LONGEST or prefix.startswith("__"):
        raise UsageError(
            f"--prefix {prefix!r} cannot begin the name of a topic",
            hint=f"use letters, digits, `.`, `_` and `-`, at most {LONGEST}, and no two underscores in front",
        )
    if replication_factor == 0 or replication_factor < -1:
        raise UsageError("--replication-factor is at least 1, or -1 for the brokers' default")
    return ProbePlan(f"{prefix}{unique}", replication_factor, as_of)
