"""Certifying a connector: the faults, the rounds, the records that consumers see, and the verdict."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.errors import UsageError
from eosctl.model.report import Result
from eosctl.model.text import first_few, pluralize
from eosctl.model.versions import KafkaVersion


class Part(StrEnum):
    """The part of a record that a selector reads."""

    VALUE = "value"
    KEY = "key"
    JSON = "json"
    HEADER = "header"
    PARTITION = "partition"


class Selector(NamedTuple):
    """A part of a record; `names` are the paths into its JSON value, or the name of its header."""

    part: Part
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.part}:{','.join(self.names)}" if self.names else self.part.value


def selector_of(option: str, text: str) -> Selector:
    """`value`, `key`, `json:PATH[,PATH…]`, `header:NAME` or `partition`. Raises UsageError naming the option."""
    part, colon, rest = text.partition(":")
    names = tuple(rest.split(",")) if part == Part.JSON else (rest,)
    if part in {Part.JSON, Part.HEADER} and all(names):
        return Selector(Part(part), names)
    if part in {Part.VALUE, Part.KEY, Part.PARTITION} and not colon:
        return Selector(Part(part))
    raise UsageError(
        f"{option} {text}: not a part of a record",
        hint="write value, key, json:PATH (json:after.id), several paths as json:PATH,PATH, or header:NAME",
    )


class Fault(StrEnum):
    """An act on the connector in a round."""

    NONE = "none"
    KILL_BEFORE_COMMIT = "kill-before-commit"
    KILL_AFTER_COMMIT = "kill-after-commit"
    KILL_WORKER = "kill-worker"
    FREEZE_WORKER = "freeze-worker"
    RESTART_WORKER = "restart-worker"
    JOIN_WORKER = "join-worker"
    KILL_BROKER = "kill-broker"
    MOVE_COORDINATOR = "move-coordinator"
    CUT_CONNECTIONS = "cut-connections"
    RESTART_CONNECTOR = "restart-connector"
    STOP_CONNECTOR = "stop-connector"
    PAUSE_CONNECTOR = "pause-connector"
    CHANGE_TASKS = "change-tasks"
    CHANGE_CONFIG = "change-config"
    FENCE = "fence"
    EXPIRE_IDS = "expire-ids"
    ALTER_OFFSETS = "alter-offsets"
    RESET_OFFSETS = "reset-offsets"
    FILL_DISK = "fill-disk"


class FaultKind(NamedTuple):
    """A fault, what it does, and whether no connector is certified without it.

    of_state: it needs a connector whose state has a file system of its own.
    """

    fault: Fault
    what: str
    is_needed: bool = False
    is_default: bool = True
    transactional: bool = False
    since: KafkaVersion = KafkaVersion(3, 3)
    brokers: int = 1
    workers: int = 1
    of_state: bool = False


FAULTS: Final = (
    FaultKind(
        Fault.KILL_BEFORE_COMMIT,
        "SIGKILL a worker when it sends a commit, which is dropped",
        is_needed=True,
        transactional=True,
    ),
    FaultKind(
        Fault.KILL_AFTER_COMMIT,
        "SIGKILL a worker before it reads the answer to its commit",
        is_needed=True,
        transactional=True,
    ),
    FaultKind(Fault.FREEZE_WORKER, "SIGSTOP a worker until another has its tasks: a zombie", is_needed=True, workers=2),
    FaultKind(Fault.CHANGE_TASKS, "change tasks.max while records flow", is_needed=True),
    FaultKind(Fault.RESTART_CONNECTOR, "restart the connector and its tasks", is_needed=True),
    FaultKind(Fault.KILL_WORKER, "SIGKILL a worker at any moment, and start it again"),
    FaultKind(
        Fault.STOP_CONNECTOR, "stop the connector while the source grows, and resume it", since=KafkaVersion(3, 5)
    ),
    FaultKind(Fault.KILL_BROKER, "SIGKILL a broker, and start it again"),
    FaultKind(Fault.CUT_CONNECTIONS, "cut all connections between workers and brokers, several times"),
    FaultKind(Fault.FENCE, "fence a task's producer while it writes", transactional=True),
    FaultKind(Fault.RESTART_WORKER, "stop a worker in order, and start it again"),
    FaultKind(Fault.PAUSE_CONNECTOR, "pause the connector while the source grows, and resume it"),
    FaultKind(Fault.CHANGE_CONFIG, "change a setting that the connector does not read"),
    FaultKind(Fault.JOIN_WORKER, "a further worker joins the group, and leaves it"),
    FaultKind(Fault.EXPIRE_IDS, "let the coordinator forget the transactional IDs of the tasks", transactional=True),
    FaultKind(
        Fault.ALTER_OFFSETS,
        "stop the connector, set its offsets back over REST, and resume it",
        since=KafkaVersion(3, 6),
    ),
    FaultKind(
        Fault.MOVE_COORDINATOR, "stop the broker that coordinates a task's transactions", transactional=True, brokers=3
    ),
    FaultKind(
        Fault.FILL_DISK,
        "fill the file system of the connector's state, restart the connector, and free it",
        of_state=True,
    ),
    FaultKind(
        Fault.RESET_OFFSETS,
        "stop the connector, delete its offsets over REST, and resume it",
        is_default=False,
        since=KafkaVersion(3, 6),
    ),
)


FIRST_WITH_ALL: Final = KafkaVersion(3, 6)


class Round(NamedTuple):
    """One round of the schedule; `chance` are numbers below 2**32 by which the fault chooses its victim and moments.

    Round 0 has no fault.
    """

    number: int
    fault: Fault
    chance: tuple[int, ...]
    boundary: str | None = None

    def pick(self, which: int, lowest: int, highest: int) -> int:
        """A number from lowest to highest, both included, by the chance of this number."""
        return lowest + self.chance[which % len(self.chance)] % (highest - lowest + 1)


class Place(NamedTuple):
    """A record in an output topic; the producer is None where the batch was not looked at."""

    topic: str
    partition: int
    offset: int
    producer_id: int | None = None
    producer_epoch: int | None = None

    def __str__(self) -> str:
        by = "" if self.producer_id is None else f" (producer {self.producer_id} epoch {self.producer_epoch})"
        return f"{self.topic}:{self.partition}@{self.offset}{by}"


class Delivered(Struct, frozen=True):
    """A record that a read_committed consumer received.

    identity identifies its source record, None if the record does not. lane is its source partition, if known. order is
    its place in the lane, None if only the source's truth knows it. timestamp is in ms.
    """

    place: Place
    timestamp: int
    identity: str | None
    lane: str = ""
    order: int | None = None


class Harm(StrEnum):
    LOST = "lost"
    DOUBLED = "doubled"
    REORDERED = "reordered"


class Anomaly(Struct, frozen=True):
    """A fault of one source record.

    lost: `before` and `after` are the nearest source records that arrived; aborted is its record in an aborted
    transaction, or None. doubled: `before` is the first record, `after` the second. reordered: `before` is the record
    that came too early, `after` this one.
    """

    harm: Harm
    identity: str
    before: Delivered | None = None
    after: Delivered | None = None
    aborted: Place | None = None


class Generation(Struct, frozen=True):
    """The time from one change of the offsets to the next, as records from these offsets on, by topic and partition.

    again are the identities that may be repeated in it, None: all. The first generation repeats none.
    """

    starts: Mapping[tuple[str, int], int]
    again: frozenset[str] | None = frozenset()


class Judgement(NamedTuple):
    """Everything that is wrong with the records."""

    anomalies: tuple[Anomaly, ...]
    missing: frozenset[str] = frozenset()


class Verdict(StrEnum):
    CERTIFIED = "certified"
    FAILED = "failed"
    CANNOT_TELL = "cannot-tell"


class RoundVerdict(StrEnum):
    HELD = "held"
    FAILED = "failed"
    CANNOT_TELL = "cannot-tell"


class RoundResult(Struct, frozen=True, kw_only=True):
    """The result of one round; delivered counts its records. happened are the fault's acts with their times in ms.

    aborted are missing source records of a connector that ends its own transactions, if no list names the records that
    must arrive: it may have aborted them by choice.
    """

    round: Round
    verdict: RoundVerdict
    delivered: int = 0
    written: int | None = None
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    aborted: int = 0
    restarted_tasks: int = 0
    elapsed_s: float = 0.0
    happened: tuple[tuple[int, str], ...] = ()
    reason: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether repeats and order were judged; losses too, unless the connector may have aborted records."""
        return self.verdict is not RoundVerdict.CANNOT_TELL or self.aborted > 0


class Support(StrEnum):
    """A connector's answer about exactly-once, or about transaction boundaries, for a config."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNDECLARED = "undeclared"
    UNKNOWN = "unknown"


class ClassFile(Struct, frozen=True):
    """A Java class; mentioned are the classes that it names. Names have slashes, as `java/lang/Object`."""

    name: str
    superclass: str | None
    methods: frozenset[str]
    mentioned: frozenset[str]


class Claim(Struct, frozen=True, kw_only=True):
    """The connector's claim for this config, by the worker's own preflight; said are the worker's words.

    overridden are methods that matter to exactly-once, with the plugin class that defines each: exactlyOnceSupport,
    canDefineTransactionBoundaries and alterOffsets of the connector, commit and commitRecord of its tasks.
    """

    connector_class: str
    exactly_once: Support
    transaction_boundaries: Support
    said: tuple[str, ...] = ()
    plugin_version: str = ""
    overridden: Mapping[str, str] = {}


class Witness(Struct, frozen=True):
    """One anomaly with the fault just before it, and the round in which it was found."""

    anomaly: Anomaly
    round: int
    fault: Fault
    fault_act: str


class Versions(NamedTuple):
    kafka: str
    connect: str
    plugin: str

    @property
    def sentence(self) -> str:
        is_one = self.kafka == self.connect
        return f"Kafka {self.kafka}" if is_one else f"brokers {self.kafka}, workers {self.connect}"


class Certificate(Result, frozen=True, kw_only=True):
    """The verdict on one connector; as_of is in ms. reasons are those for neither a certificate nor a failure.

    plugins are as the user named them, none: the workers' own. config has its secrets hidden.
    """

    as_of: int
    versions: Versions
    claim: Claim
    plugins: tuple[str, ...]
    config: Mapping[str, object]
    seed: int
    identity: str
    truth: str
    exactly_once: str
    rounds: tuple[RoundResult, ...]
    witnesses: tuple[Witness, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    repeat: str

    @property
    def harm(self) -> Mapping[Harm, int]:
        counted = (
            (Harm.LOST, sum(each.lost for each in self.rounds)),
            (Harm.DOUBLED, sum(each.doubled for each in self.rounds)),
            (Harm.REORDERED, sum(each.reordered for each in self.rounds)),
        )
        return dict(counted)

    @property
    def verdict(self) -> Verdict:
        if any(each.verdict is RoundVerdict.FAILED for each in self.rounds) or self.claim_fails:
            return Verdict.FAILED
        return Verdict.CANNOT_TELL if self.reasons else Verdict.CERTIFIED

    @property
    def claim_fails(self) -> bool:
        """True if the connector makes no claim, so that nothing was tried."""
        return self.claim.exactly_once in {Support.UNDECLARED, Support.UNSUPPORTED} and not self.rounds

    @property
    def found(self) -> bool:
        return self.verdict is Verdict.FAILED

    @property
    def complete(self) -> bool:
        return self.verdict is not Verdict.CANNOT_TELL

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that were tried, in their order."""
        return tuple(dict.fromkeys(each.round.fault for each in self.rounds if each.round.fault is not Fault.NONE))

    @property
    def delivered(self) -> int:
        return sum(each.delivered for each in self.rounds)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        count = sum(each.round.fault is not Fault.NONE for each in self.rounds)
        records = pluralize(self.delivered, "record")
        where = f"{self.versions.sentence}, {pluralize(count, 'round')} with faults, {records}, seed {self.seed}"
        if self.claim_fails:
            return f"failed: exactly-once is {self.claim.exactly_once} by {self.claim.connector_class}."
        if self.verdict is Verdict.FAILED:
            counted = ", ".join(f"{count} {harm}" for harm, count in self.harm.items() if count)
            return f"failed: {counted} ({where})."
        if self.verdict is Verdict.CANNOT_TELL:
            return f"cannot tell: {first_few(self.reasons)} ({where})."
        return f"certified: nothing lost, doubled or reordered ({where})."


def fault_kinds(
    names: Sequence[str],
    brokers: int,
    workers: int,
    version: KafkaVersion = FIRST_WITH_ALL,
    *,
    has_state: bool = False,
) -> tuple[FaultKind, ...]:
    """The faults of these names, or the default ones, in their order; version is the workers' version.

    has_state: the connector's state has a file system of its own. Raises UsageError for an unknown fault, or one that
    is not possible there.
    """
    known = {each.fault.value: each for each in FAULTS}
    for name in names:
        if name not in known:
            raise UsageError(f"--faults {name}: no such fault", hint=f"the faults are {', '.join(known)}")
        if known[name].brokers > brokers or known[name].workers > workers:
            needs = f"--brokers {known[name].brokers} --workers {known[name].workers}"
            raise UsageError(f"--faults {name} needs more processes", hint=f"give {needs}")
        if known[name].of_state and not has_state:
            raise UsageError(
                f"--faults {name} needs the connector's state", hint="give --state DIR, a small, separate file system"
            )
        if version < known[name].since:
            raise UsageError(
                f"--faults {name}: workers of {version} cannot do that", hint=f"it needs {known[name].since}"
            )
    possible = (
        each
        for each in FAULTS
        if each.brokers <= brokers
        and each.workers <= workers
        and each.since <= version
        and (has_state or not each.of_state)
    )
    return tuple(each for each in possible if (each.fault.value in names if names else each.is_default))
