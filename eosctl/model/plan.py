"""Plans: the writes, step by step, and the preconditions of each.

A plan is data: it can be shown, saved, reviewed by another person, and applied later by another eosctl. To add a kind
of step: a class here with its words and the preconditions that it implies, and a performer in executors. Files and
output name it as kind_of does.

1. Before anything is done, every precondition of a step that is not done yet must hold, unless that step or an earlier
   one brings it about: one that stops the connector cannot want it to be stopped.
2. Immediately before each step its own preconditions must hold, those excepted that its own first act brings about: a
   step that writes offsets initialises the transactional ID first, which ends a transaction that an earlier run left
   open. After that act they all must hold.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.model.acls import AclBinding
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.names import ProducerIdAndEpoch, Side
from eosctl.model.preconditions import (
    AclsPresent,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorStopped,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsUnchanged,
    OpenPart,
    PlanFacts,
    Precondition,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TransactionHangs,
    TransactionUnchanged,
)
from eosctl.model.skipped import Skipped
from eosctl.model.strimzi import STOP_BY_RESOURCE, OperatedConnectors
from eosctl.model.text import first_few, pluralize


class PlanTarget(Struct, frozen=True):
    """One side's brokers, workers' REST addresses without user and password, and config topic (None: not named)."""

    side: Side
    bootstrap_servers: tuple[str, ...]
    connect_urls: tuple[str, ...] = ()
    config_topic: str | None = None


class StepBase(Struct, frozen=True):
    """Lasts: whether it leaves something changed; fencing does not, for it affects no producer that starts next."""

    lasts = True

    def implied(self) -> tuple[Precondition, ...]:
        """The preconditions that follow from the step itself.

        A digest shows that a plan file was not edited by hand, but another program can compute a digest, too. So these
        are checked in any case, and a plan without those that cannot be derived is refused.
        """
        return ()


class ConnectorStep(StepBase, frozen=True):
    side: Side
    connector: str


class CreateConnector(ConnectorStep, frozen=True):
    """POST /connectors with the config in `file` and initial_state STOPPED (KIP-980).

    Configs may hold secrets, so a plan has only the file's absolute path, and the digest of the config in it
    (codecs.connector_files): the file is read again when the step is performed.
    """

    file: str
    digest: str

    def describe(self) -> str:
        return f"create connector {self.connector}{self.side.suffix}, STOPPED, with the config in {self.file}"

    def implied(self) -> tuple[Precondition, ...]:
        return (ConnectorConfigIs(self.side, self.connector, self.digest),)


class DeleteConnector(ConnectorStep, frozen=True):
    """DELETE /connectors/C, if its config still has the digest that CreateConnector gave it. Its offsets stay."""

    file: str
    digest: str

    def describe(self) -> str:
        return f"delete connector {self.connector}{self.side.suffix} if it is configured as it was created"

    def implied(self) -> tuple[Precondition, ...]:
        return (ConnectorConfigIs(self.side, self.connector, self.digest),)


class AwaitOperator(ConnectorStep, frozen=True):
    """A person applies the changed resource in `file`, Strimzi's operator carries it out, and a worker answers it.

    state is STOPPED (without tasks) or RUNNING (all tasks). settings are the required values of the config; None: the
    key must be absent. With offsets_topic (of offsets_side) the workers must answer the topic's offsets before the file
    may be applied, as with ResumeConnector. before holds the former settings. copied_from names the connector whose
    resource is the template of a new connector. undo_file is the resource for the way back: to RUNNING from a step that
    stops, to STOPPED from the others; None: there is none. Resources may hold secrets, so a plan has only their paths.

    changed_file replaces `file` if the config has the settings `changed`. An operator changes the config first and the
    state then (AbstractConnectOperator.maybeCreateOrUpdateConnector). If its second request fails, the state changes at
    the next reconciliation: a resource with both changes would let the connector run with the other offsets topic.
    """

    file: str
    state: str
    settings: Mapping[str, str | None] = field(default_factory=dict)
    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE
    undo_file: str | None = None
    before: Mapping[str, str | None] = field(default_factory=dict)
    copied_from: str | None = None
    changed: Mapping[str, str | None] = field(default_factory=dict)
    changed_file: str | None = None

    @property
    def stops(self) -> bool:
        return self.state == "STOPPED" and not self.settings and self.copied_from is None

    def describe(self) -> str:
        file, name = self.file, f"{self.connector}{self.side.suffix}"
        file = file if self.changed_file is None else f"{self.changed_file} ({file}, where it is configured as before)"
        state = "STOPPED and without tasks" if self.state == "STOPPED" else self.state
        wanted = " ".join([state, *_made(self.settings)])
        return f"wait until {file} is applied and the operator has made connector {name} {wanted}"


class AbortTransaction(StepBase, frozen=True):
    """WriteTxnMarkers: one ABORT marker for the producer into the partition (KIP-664), where its transaction is open.

    The transaction begins at start_offset. The marker bypasses the coordinator, so it is for hanging transactions; a
    forced one aborts a transaction that its coordinator knows. coordinator_epoch 0 stands for an unknown one.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    forced: bool = False

    def describe(self) -> str:
        what = f"what producer {self.producer_id}/{self.producer_epoch} has open"
        return f"abort {what} in {self.topic}-{self.partition} from {self.start_offset}"

    def implied(self) -> tuple[Precondition, ...]:
        place = self.side, self.topic, self.partition
        return (TransactionHangs(*place, self.producer_id, self.start_offset, self.forced),)


class WriteCommitMarker(StepBase, frozen=True):
    """WriteTxnMarkers: the COMMIT marker that the coordinator decided on, into a partition that lacks it.

    The transaction begins at start_offset there; decided_ms is when its coordinator decided, in ms since the epoch.
    The marker bypasses the coordinator, which has completed the transaction. coordinator_epoch 0 stands for an unknown
    one.
    """

    side: Side
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    transactional_id: str
    decided_ms: int

    def describe(self) -> str:
        what = f"the commit marker of {self.transactional_id}, producer {self.producer_id}/{self.producer_epoch}"
        return f"write {what}, into {self.topic}-{self.partition}, which lacks it from {self.start_offset} on"

    def implied(self) -> tuple[Precondition, ...]:
        place = self.side, self.topic, self.partition
        return (TransactionHangs(*place, self.producer_id, self.start_offset, committed=True),)


class CommitTransaction(StepBase, frozen=True):
    """EndTxn with COMMIT in the name of the producer that is gone (KIP-98).

    started_ms is when its coordinator began the transaction, in ms since the epoch: with the ID it names one
    transaction. transaction_version is the one that its client used (KIP-890); 2 takes EndTxn v5, which raises the
    epoch. parts are all partitions of the transaction.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    transaction_version: int
    parts: tuple[OpenPart, ...]

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    def describe(self) -> str:
        parts = first_few([str(each.topic_partition) for each in self.parts])
        return f"commit the transaction of {self.transactional_id}, producer {self.producer}, in {parts}"

    def implied(self) -> tuple[Precondition, ...]:
        return self.unchanged, NoLiveOwner(self.side, (self.transactional_id,))

    @property
    def unchanged(self) -> TransactionUnchanged:
        producer = self.producer_id, self.producer_epoch
        return TransactionUnchanged(self.side, self.transactional_id, *producer, self.started_ms, self.parts)


class FenceTransaction(StepBase, frozen=True):
    """InitProducerId for the ID whose client is gone, while this transaction is open: its coordinator aborts it.

    Where the transaction has ended, nothing is done: the ID may have a new producer. The fields are as in
    CommitTransaction.
    """

    side: Side
    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    parts: tuple[OpenPart, ...]
    transaction_timeout_ms: int

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    def describe(self) -> str:
        parts = first_few([str(each.topic_partition) for each in self.parts])
        return f"fence {self.transactional_id}, which aborts the transaction of producer {self.producer} in {parts}"

    def implied(self) -> tuple[Precondition, ...]:
        producer = self.producer_id, self.producer_epoch
        of_id = self.side, self.transactional_id
        unchanged = TransactionUnchanged(*of_id, *producer, self.started_ms, self.parts, or_ended=True)
        return unchanged, NoLiveOwner(self.side, (self.transactional_id,))


class StopConnector(ConnectorStep, frozen=True):
    """PUT /connectors/C/stop (KIP-875), then wait until the connector is STOPPED and has no tasks.

    paused: the connector is PAUSED before, and an undo makes it so again.
    """

    paused: bool = False

    def describe(self) -> str:
        return f"stop connector {self.connector}{self.side.suffix} and wait until it has no tasks"


class ReadAgain(ConnectorStep, frozen=True):
    """The connector's offsets are read again now that it is stopped, and the rest is planned with the result.

    The plan's offsets are from a time when the connector ran; other ones are written.
    """

    lasts = False

    def describe(self) -> str:
        return f"read the offsets of connector {self.connector}{self.side.suffix} again, and plan the rest with them"


class FenceProducers(StepBase, frozen=True):
    """InitProducerId for each ID that its coordinator knows; the others are left alone."""

    side: Side
    transactional_ids: tuple[str, ...]
    transaction_timeout_ms: int

    lasts = False

    def describe(self) -> str:
        return f"fence the producers of {first_few(self.transactional_ids)}{self.side.suffix}"


class CreateTopic(StepBase, frozen=True):
    """CreateTopics; a topic that exists already must be compact and have these partitions.

    replication_factor -1 leaves it to the broker's default (KIP-464).
    """

    side: Side
    topic: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=lambda: {"cleanup.policy": "compact"})

    def describe(self) -> str:
        factor = "the default" if self.replication_factor < 0 else str(self.replication_factor)
        partitions = pluralize(self.partitions, "partition")
        return f"create topic {self.topic}, compact, {partitions}, replication factor {factor}"

    def implied(self) -> tuple[Precondition, ...]:
        return (TopicIsCompactOrAbsent(self.side, self.topic, self.partitions),)


class OffsetsWrite(Struct, frozen=True):
    """One record to write: raw key and value (None: a tombstone) and partition; before is the replaced value.

    before None stands for a tombstone or for no record: a worker treats both alike.
    """

    partition: int
    key: bytes
    value: bytes | None
    before: bytes | None


class WriteOffsets(StepBase, frozen=True):
    """All records of one connector in one transaction, under the transactional ID of its task 0.

    The transaction leads from before to after; an undo restores before_values. All three are digests of
    codecs.offsets_digest. The next producer that initializes the ID fences this one, so only one of two writers
    commits.
    """

    side: Side
    topic: str
    connector: str
    transactional_id: str
    transaction_timeout_ms: int
    records: tuple[OffsetsWrite, ...]
    before: str
    before_values: str
    after: str

    def describe(self) -> str:
        deleted = sum(1 for each in self.records if each.value is None)
        counts = {"write": len(self.records) - deleted, "delete": deleted}
        what = " and ".join(f"{verb} {pluralize(count, 'offset')}" for verb, count in counts.items() if count)
        place = f"of connector {self.connector} in topic {self.topic}"
        if not what:
            return f"write no offset: those {place} are as they must be"
        return f"{what} {place} in one transaction as {self.transactional_id}"

    def implied(self) -> tuple[Precondition, ...]:
        place = self.side, self.topic, self.connector
        return OffsetsUnchanged(*place, self.before, self.after), NoOpenTransaction(*place)


class VerifyOffsets(StepBase, frozen=True):
    """Read the topic again, committed records only: the connector's offsets there must have this digest."""

    side: Side
    topic: str
    connector: str
    digest: str

    lasts = False

    def describe(self) -> str:
        return f"read the offsets of connector {self.connector} in topic {self.topic} again and compare"


class SetConnectorConfig(ConnectorStep, frozen=True):
    """PUT /connectors/C/config with changes to its present config; a change to None removes the setting.

    before holds the changed settings at the time of the plan. copied_from names the connector of the source side whose
    config a new connector copies; it may hold secrets, and is read when the step runs.
    """

    changes: Mapping[str, str | None]
    before: Mapping[str, str | None]
    copied_from: str | None = None

    def describe(self) -> str:
        name, other = self.connector, self.copied_from
        created = f"create connector {name}, STOPPED, with the config of {other} (or configure it if it exists)"
        begin = f"configure connector {name}" if other is None else created
        return " ".join([begin + self.side.suffix, *_made(self.changes)])


class ResumeConnector(ConnectorStep, frozen=True):
    """PUT /connectors/C/resume when the workers answer the offsets in the topic, then wait until its tasks run.

    The topic is one of offsets_side; None: any answer will do. Workers before KIP-875 (3.5) do not report offsets.
    paused: PUT /connectors/C/pause instead, then wait until it is PAUSED; it gets tasks once a user resumes it.
    """

    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE
    paused: bool = False

    def describe(self) -> str:
        if self.paused:
            return f"pause connector {self.connector}{self.side.suffix}, which was PAUSED before it was stopped"
        return f"resume connector {self.connector}{self.side.suffix} and wait until its tasks run"


class CreateAcls(StepBase, frozen=True):
    """CreateAcls (KIP-140) for these bindings; those that exist stay."""

    side: Side
    bindings: tuple[AclBinding, ...]

    def describe(self) -> str:
        return f"create {first_few([str(each) for each in self.bindings])}{self.side.suffix}"


class DeleteAcls(StepBase, frozen=True):
    """DeleteAcls (KIP-140) for exactly these bindings; those that are already deleted stay deleted."""

    side: Side
    bindings: tuple[AclBinding, ...]

    def describe(self) -> str:
        return f"remove {first_few([str(each) for each in self.bindings])}{self.side.suffix}"


class ManualStep(StepBase, frozen=True):
    """Something that only a person can do: eosctl says it and does nothing.

    by_resource: the same where an operator runs `connector`, in terms of its resource.
    """

    instruction: str
    connector: str | None = None
    by_resource: str | None = None

    lasts = False

    def describe(self) -> str:
        return f"by hand: {self.instruction}"


def _made(changes: Mapping[str, str | None]) -> list[str]:
    return [f"without {key}" if value is None else f"with {key}={value}" for key, value in changes.items()]


Step = (
    StopConnector
    | ReadAgain
    | FenceProducers
    | CreateTopic
    | WriteOffsets
    | VerifyOffsets
    | CreateConnector
    | SetConnectorConfig
    | DeleteConnector
    | ResumeConnector
    | AwaitOperator
    | AbortTransaction
    | WriteCommitMarker
    | CommitTransaction
    | FenceTransaction
    | CreateAcls
    | DeleteAcls
    | ManualStep
)


class PlannedStep(Struct, frozen=True):
    step: Step
    preconditions: tuple[Precondition, ...] = ()


UNDO: Final = "undo"
"""The kind of plans that lead back."""


class Plan(Struct, frozen=True):
    """Steps in their order. kind is the command that made it, as_of (ms since the epoch) the time of its facts. places
    are the clusters it was made for, and where it is applied by default. operated are its connectors with an operator;
    None: unknown."""

    kind: str
    as_of: int
    steps: tuple[PlannedStep, ...]
    places: tuple[PlanTarget, ...] = ()
    operated: OperatedConnectors | None = None


IN_USE_HINT: Final = (
    "fencing would fence that task, and each start of one connector would fence the other. Give one connector "
    "another name. Or stop that connector first, or make the plan with --force and restart its tasks afterwards. "
    "If a group cannot be read, grant Describe on it (or on the cluster if the group does not exist)"
)


def needed_first(steps: Iterable[PlannedStep]) -> tuple[Precondition, ...]:
    """Preconditions of the steps that no earlier step establishes, each once."""
    needed: dict[Precondition, None] = {}
    earlier: list[Step] = []
    for planned in steps:
        earlier.append(planned.step)
        for precondition in planned.preconditions:
            if not any(establishes(step, precondition) for step in earlier):
                needed[precondition] = None
    return tuple(needed)


def establishes(step: Step, precondition: Precondition) -> bool:
    """Whether the precondition need not hold before `step` because it is the step's purpose."""
    match step, precondition:
        case StopConnector() | AwaitOperator(stops=True), ConnectorStopped():
            return (step.side, step.connector) == (precondition.side, precondition.connector)
        case CreateTopic(), TopicIsCompact():
            return (step.side, step.topic) == (precondition.side, precondition.topic)
        case CreateAcls(), AclsPresent():
            return step.side is precondition.side
        case FenceProducers() | WriteOffsets(), NoOpenTransaction():
            return True
    return False


class Standing(StrEnum):
    OK = "ok"
    FAILS = "fails"
    LATER = "later"
    UNKNOWN = "unknown"


class Check(Struct, frozen=True):
    precondition: Precondition
    steps: tuple[int, ...]
    standing: Standing
    reason: str = ""


def standings(
    steps: Sequence[tuple[int, PlannedStep]], needed: Collection[Precondition], facts: PlanFacts | Skipped
) -> tuple[Check, ...]:
    """Each precondition of these steps, which have their numbers. `needed` are those that must hold now (rule 1);
    Skipped: the facts could not be read.
    """
    numbers: dict[Precondition, list[int]] = {}
    for number, planned in steps:
        for each in planned.preconditions:
            numbers.setdefault(each, []).append(number)
    return tuple(
        Check(each, tuple(before), *_standing(each, facts, steps, is_needed=each in needed))
        for each, before in numbers.items()
    )


def _standing(
    precondition: Precondition,
    facts: PlanFacts | Skipped,
    steps: Sequence[tuple[int, PlannedStep]],
    *,
    is_needed: bool,
) -> tuple[Standing, str]:
    if not is_needed:
        causes = [number for number, planned in steps if establishes(planned.step, precondition)]
        return Standing.LATER, f"step {causes[0]} brings it about" if causes else "planned again after the stop"
    if isinstance(facts, Skipped):
        return Standing.UNKNOWN, facts.reason
    reason = precondition.violation(facts)
    return (Standing.OK, "") if reason is None else (Standing.FAILS, reason)


def violations(preconditions: Sequence[Precondition], facts: PlanFacts) -> tuple[str, ...]:
    reasons = (each.violation(facts) for each in preconditions)
    return tuple(reason for reason in reasons if reason is not None)


def cure(
    preconditions: Iterable[Precondition], facts: PlanFacts, plan: Plan | None = None, words: Sequence[str] = ()
) -> str:
    """The remedy for preconditions that do not hold; words name the plan's clusters on a command line.

    The same open transaction would block a new plan. The plan initializes the ID before it looks, so the transaction is
    another producer's, or it hangs: a coordinator ended it and forgot a marker, as 4.3.1 does if a partition has no
    leader at that moment.
    """
    preconditions = tuple(preconditions)
    violated = [each for each in preconditions if each.violation(facts) is not None]
    commits = any(isinstance(each, TransactionUnchanged) for each in preconditions)
    if commits and any(isinstance(each, TransactionUnchanged | NoLiveOwner) for each in violated):
        return "nothing was committed; ask the owner of the ID again, then plan again: `eosctl transactions commit`"
    cures = (_cure(each, facts, plan, words) for each in violated)
    return next(filter(None, cures), "make the plan again: it was made from older facts")


def _cure(violated: Precondition, facts: PlanFacts, plan: Plan | None, words: Sequence[str]) -> str | None:
    match violated:
        case NoOpenTransaction(_, topic):
            look = f"eosctl transactions hanging --topic {topic}"
            return f"wait until it ends, or end it if it hangs (`{look}` shows how); then run the plan again"
        case NoLiveOwner():
            return IN_USE_HINT
        case ConnectorStopped() if violated.keeps_tasks(facts):
            return f"{violated.how_to_stop(facts)}; then run the plan again"
        case ConnectorStopped(_, connector) if plan is not None and plan.operated and plan.operated.has(connector):
            return f"{STOP_BY_RESOURCE}; then run the plan again"
        case OffsetsUnchanged(_, _, connector) if plan is not None:
            return _gone_on(connector, plan, words)
    return None


def _gone_on(connector: str, plan: Plan, words: Sequence[str]) -> str | None:
    """The remedy for a connector that has committed offsets since; None: make the plan again."""
    again = moved_again(plan, words)
    if again is not None:
        return (
            f"connector {connector} has written newer offsets; `{again}` moves its present position, without "
            "repeating a record"
        )
    if plan.kind != UNDO:
        return None
    name = [*words, "--connector", connector]
    export = shlex.join(["eosctl", "offsets", "export", *name, "offsets.json"])
    restore = shlex.join(["eosctl", "offsets", "restore", *name, "--stop", "--resume", "offsets.json"])
    return (
        f"connector {connector} has written newer offsets, and undo would overwrite them with the earlier offsets. "
        f"To place it elsewhere: `{export}`, change that file, then `{restore}`"
    )


USUAL_CONFIG_TOPIC: Final = "connect-configs"


def moved_again(plan: Plan, words: Sequence[str] = ()) -> str | None:
    """The command that moves the present offsets where a plan or an undo leads that gives one connector another topic.

    None for other plans: between clusters or names, under an operator, without a change of the config.
    """
    writes = {each.step.connector: each.step for each in plan.steps if isinstance(each.step, WriteOffsets)}
    configs = [each.step for each in plan.steps if isinstance(each.step, SetConnectorConfig)]
    is_elsewhere = any(place.side is Side.TARGET for place in plan.places)
    if is_elsewhere or plan.operated is not None or len(configs) != 1 or writes.keys() != {configs[0].connector}:
        return None
    [config] = configs
    if config.copied_from is not None or config.changes.keys() != {OFFSETS_TOPIC}:
        return None
    topic, name = config.changes[OFFSETS_TOPIC], config.connector
    target = ["--to-worker-topic"] if topic is None else ["--to-topic", topic]
    group_id = writes[name].transactional_id.removesuffix(f"-{name}-0")
    config_topics = (each.config_topic or USUAL_CONFIG_TOPIC for each in plan.places)
    more = [word for each in config_topics if each != USUAL_CONFIG_TOPIC for word in ("--config-topic", each)]
    flags = ["--stop", "--set-config", "--resume"]
    options = [*words, "--group-id", group_id, "--connector", name, *target, *more, *flags]
    return shlex.join(["eosctl", "migrate-offsets", *options])


def groups_concerned(plan: Plan) -> Mapping[Side, frozenset[str]]:
    """The Connect groups of each side, by the tasks' IDs that the plan fences or writes as: `<group>-<connector>-<n>`.

    An ID is the one of the connector of the plan with the longest name that fits.
    """
    steps = [each.step for each in plan.steps]
    names = {step.connector for step in steps if isinstance(step, ConnectorStep | WriteOffsets)}
    ids: list[tuple[Side, tuple[str, ...]]]
    ids = [(step.side, (step.transactional_id,)) for step in steps if isinstance(step, WriteOffsets)]
    ids += [(step.side, step.transactional_ids) for step in steps if isinstance(step, FenceProducers)]
    found: dict[Side, set[str]] = {}
    for side, given in ids:
        for stem in (each.rpartition("-")[0] for each in given):
            fitting = [name for name in names if stem.endswith(f"-{name}")]
            if fitting:
                found.setdefault(side, set()).add(stem.removesuffix(f"-{max(fitting, key=len)}"))
    return {side: frozenset(groups) for side, groups in found.items()}


def demanded_steps(plan: Plan) -> tuple[PlannedStep, ...]:
    """The plan's steps, each with the preconditions that it has and those that can be derived from it."""
    steps, created = [], list[AclsPresent]()
    for planned in plan.steps:
        step = planned.step
        wanted = [*planned.preconditions, *step.implied()]
        if isinstance(step, DeleteAcls):
            wanted += [each for each in created if each.side is step.side and not _stands(each, wanted)]
        elif isinstance(step, CreateAcls):
            created.append(AclsPresent(step.side, step.bindings))
        steps.append(replace(planned, preconditions=tuple(dict.fromkeys(wanted))))
    return tuple(steps)


def lacking(plan: Plan) -> tuple[str, ...]:
    """Preconditions that steps lack and only the plan's author could know, in words."""
    return tuple(
        f"step {number} ({planned.step.describe()}) lacks the precondition {missing}"
        for number, planned in enumerate(plan.steps, 1)
        for missing in _missing(plan, planned)
    )


def _stands(wanted: AclsPresent, given: Iterable[Precondition]) -> bool:
    return any(isinstance(each, AclsPresent) and {*wanted.bindings} <= {*each.bindings} for each in given)


def _missing(plan: Plan, planned: PlannedStep) -> Iterator[str]:
    step, given = planned.step, planned.preconditions
    if isinstance(step, ManualStep | VerifyOffsets):
        return
    if not any(isinstance(each, ClusterIs) and each.side is step.side for each in given):
        yield f"which cluster the {step.side} is"
    if isinstance(step, WriteOffsets) and not any(
        isinstance(each, TopicIsCompact) and (each.side, each.topic) == (step.side, step.topic) for each in given
    ):
        yield f"that topic {step.topic} is compact"
    stopped = {each.connector: each.side for each in given if isinstance(each, ConnectorStopped)}
    if step.side is Side.TARGET and Side.SOURCE in stopped.values() and _is_elsewhere(plan):
        return  # connectors of a Connect cluster that cannot be seen: its IDs must have no owner (NoLiveOwner)
    changing = WriteOffsets | SetConnectorConfig | CreateConnector | DeleteConnector
    if isinstance(step, changing) and step.connector not in stopped:
        yield f"that connector {step.connector} is stopped"
    if isinstance(step, FenceProducers):
        tasks = "|".join(map(re.escape, stopped))
        running = [each for each in step.transactional_ids if not re.search(rf"-(?:{tasks})-\d+$", each)]
        if running or not stopped:
            yield f"that the connector of {running[0] if running else 'the IDs'} is stopped"


def _is_elsewhere(plan: Plan) -> bool:
    return any(place.side is Side.TARGET for place in plan.places)
