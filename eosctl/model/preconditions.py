"""Does a precondition hold in these facts, and which ones does a step of the plan itself bring about?

1. Before anything is done, every precondition of a step that is not done yet must hold, unless that step or an earlier
   one brings it about: one that stops the connector cannot want it to be stopped.
2. Immediately before each step its own preconditions must hold, those excepted that its own first act brings about: a
   step that writes offsets initialises the transactional ID first, which ends a transaction that an earlier run left
   open. After that act they all must hold.
3. What could not be read does not hold: unknown is not absent.
"""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, assert_never

from msgspec import Struct, field

from eosctl.model.acls import AclBinding
from eosctl.model.connectors import OFFSETS_TOPIC, connector_path
from eosctl.model.names import TopicPartition
from eosctl.model.plan import (
    AclsPresent,
    AwaitOperator,
    ClusterIs,
    ConnectorConfigIs,
    ConnectorStopped,
    CreateAcls,
    CreateTopic,
    FenceProducers,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    Precondition,
    SetConnectorConfig,
    Side,
    Step,
    StopConnector,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TransactionHangs,
    TransactionNow,
    TransactionUnchanged,
    WriteOffsets,
    why_changed,
)
from eosctl.model.skipped import Skipped
from eosctl.model.strimzi import STOP_BY_RESOURCE
from eosctl.model.text import pluralize
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import LiveOwners


class ConnectorFacts(Struct, frozen=True):
    """A connector as Connect knows it now: state such as RUNNING or STOPPED (None: it does not exist), its tasks."""

    state: str | None
    tasks: int = 0


class TopicNow(Struct, frozen=True):
    facts: TopicFacts
    topic_id: str | None


class OffsetsNow(Struct, frozen=True):
    """One connector's offsets in one topic: digests of its live records and of their values, open producers.

    open names producer ID/epoch of each ongoing transaction that wrote a key of the connector.
    """

    records: str
    values: str
    open: tuple[str, ...] = ()


class OpenNow(Struct, frozen=True):
    """What one producer has open in one partition: where it begins, and whether it hangs by KIP-664's rule."""

    start_offset: int
    hangs: bool | Skipped


class PlanFacts(Struct, frozen=True):
    """Facts by the side and the name they are about; a topic or a connector's config that does not exist is None."""

    cluster_ids: Mapping[Side, str] = field(default_factory=dict)
    connectors: Mapping[tuple[Side, str], ConnectorFacts | Skipped] = field(default_factory=dict)
    topics: Mapping[tuple[Side, str], TopicNow | None] = field(default_factory=dict)
    offsets: Mapping[tuple[Side, str, str], OffsetsNow] = field(default_factory=dict)
    open_transactions: Mapping[tuple[Side, TopicPartition, int], OpenNow | None] = field(default_factory=dict)
    live_owners: Mapping[Side, LiveOwners] = field(default_factory=dict)
    acls: Mapping[Side, frozenset[AclBinding] | Skipped] = field(default_factory=dict)
    config_digests: Mapping[tuple[Side, str], str | None] = field(default_factory=dict)
    transactions: Mapping[tuple[Side, str], TransactionNow | Skipped] = field(default_factory=dict)


IN_USE_HINT: Final = (
    "fencing would put that task out, and each start of one connector the other: give one of them another name; stop "
    "that connector first, or make the plan with --force and restart its tasks afterwards; a group of which nothing is "
    "known has to be described first (Describe on it, or on the cluster if there is no such group)"
)


STOP_HINT: Final = (
    "stop it first (--stop with --connect-url does that); PAUSED is not enough, its tasks keep their place"
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
    reason = violation(precondition, facts)
    return (Standing.OK, "") if reason is None else (Standing.FAILS, reason)


def violations(preconditions: Sequence[Precondition], facts: PlanFacts) -> tuple[str, ...]:
    reasons = (violation(each, facts) for each in preconditions)
    return tuple(reason for reason in reasons if reason is not None)


def cure(
    preconditions: Iterable[Precondition], facts: PlanFacts, plan: Plan | None = None, words: Sequence[str] = ()
) -> str:
    """The remedy for preconditions that do not hold; words name the plan's clusters on a command line.

    A new plan would be held up by the same open transaction. Its ID was initialised before a plan looks for it, so it
    is another producer's, or it hangs: a coordinator ended it and forgot a marker, as 4.3.1 does where a partition has
    no leader just then.
    """
    preconditions = tuple(preconditions)
    violated = [each for each in preconditions if violation(each, facts) is not None]
    commits = any(isinstance(each, TransactionUnchanged) for each in preconditions)
    if commits and any(isinstance(each, TransactionUnchanged | NoLiveOwner) for each in violated):
        return "nothing was committed; ask the owner of the ID again, then plan again: `eosctl transactions commit`"
    cures = (_cure(each, facts, plan, words) for each in violated)
    return next(filter(None, cures), "make the plan again: it is made for what was there then")


def _cure(violated: Precondition, facts: PlanFacts, plan: Plan | None, words: Sequence[str]) -> str | None:
    match violated:
        case NoOpenTransaction(_, topic):
            look = f"eosctl transactions hanging --topic {topic}"
            return f"wait until it ends, or end it if it hangs (`{look}` shows how); then run the plan again"
        case NoLiveOwner():
            return IN_USE_HINT
        case ConnectorStopped(side, connector) if _keeps_tasks(facts.connectors[side, connector]):
            return f"{how_to_stop(violated, facts)}; then run the plan again"
        case ConnectorStopped(_, connector) if plan is not None and plan.operated and plan.operated.has(connector):
            return f"{STOP_BY_RESOURCE}; then run the plan again"
        case OffsetsUnchanged(_, _, connector) if plan is not None and (again := moved_again(plan, words)) is not None:
            return (
                f"connector {connector} has gone on; `{again}` moves its present position, without repeating a record"
            )
    return None


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
    configs_topics = [each.config_topic for each in plan.places if each.config_topic not in {None, "connect-configs"}]
    more = [word for topic in configs_topics if topic is not None for word in ("--config-topic", topic)]
    flags = ["--stop", "--set-config", "--resume"]
    options = [*words, "--group-id", group_id, "--connector", name, *target, *more, *flags]
    return shlex.join(["eosctl", "migrate-offsets", *options])


def violation(precondition: Precondition, facts: PlanFacts) -> str | None:  # noqa: C901, PLR0911  # one for each kind
    """Why the precondition does not hold, None where it does."""
    match precondition:
        case ClusterIs():
            return _cluster(precondition, facts)
        case ConnectorStopped():
            return _connector(precondition, facts)
        case ConnectorConfigIs():
            return _config(precondition, facts)
        case NoLiveOwner(side, transactional_ids, besides):
            return facts.live_owners[side].why_in_use(transactional_ids, besides)
        case TopicIsCompact():
            return _compact(precondition, facts.topics[precondition.side, precondition.topic])
        case TopicIsCompactOrAbsent(side, topic, partitions):
            now = facts.topics[side, topic]
            return None if now is None else _compact(TopicIsCompact(side, topic, partitions), now)
        case OffsetsUnchanged():
            return _offsets(precondition, facts)
        case NoOpenTransaction(side, topic, connector):
            producers = facts.offsets[side, topic, connector].open
            what = f"an open transaction of producer {', '.join(producers)} wrote offsets of {connector} into {topic}"
            return what if producers else None
        case AclsPresent(side, bindings):
            return _acls(bindings, facts.acls[side])
        case TransactionHangs():
            return _open_transaction(precondition, facts)
        case TransactionUnchanged():
            return _unchanged(precondition, facts)
    assert_never(precondition)


def _unchanged(wanted: TransactionUnchanged, facts: PlanFacts) -> str | None:
    now = facts.transactions[wanted.side, wanted.transactional_id]
    if isinstance(now, Skipped):
        return f"what became of the transaction of {wanted.transactional_id} is unknown: {now.reason}"
    return why_changed(wanted, now)


def _cluster(wanted: ClusterIs, facts: PlanFacts) -> str | None:
    found = facts.cluster_ids[wanted.side]
    if found == wanted.cluster_id:
        return None
    return f"the plan is for {wanted.side} cluster {wanted.cluster_id}, this is {found}"


def _connector(wanted: ConnectorStopped, facts: PlanFacts) -> str | None:
    now = facts.connectors[wanted.side, wanted.connector]
    if isinstance(now, Skipped):
        return f"whether connector {wanted.connector} is stopped is unknown: {now.reason}"
    if now.state is None or (now.state == "STOPPED" and now.tasks == 0):
        return None
    return f"connector {wanted.connector} is {now.state} with {pluralize(now.tasks, 'task')}, not STOPPED with none"


def _config(wanted: ConnectorConfigIs, facts: PlanFacts) -> str | None:
    now = facts.config_digests[wanted.side, wanted.connector]
    if now is None or now == wanted.digest:
        return None
    return f"connector {wanted.connector} exists with a config other than the plan's"


def how_to_stop(wanted: ConnectorStopped, facts: PlanFacts) -> str:
    if not _keeps_tasks(facts.connectors[wanted.side, wanted.connector]):
        return STOP_HINT
    path = connector_path(wanted.connector)
    return (
        f"stop it again (PUT {path}/stop, or --stop with --connect-url): a task that was still starting wrote its "
        "status after the stop, and the workers remove that when they rebalance, as each stop has them do"
    )


def _keeps_tasks(now: ConnectorFacts | Skipped) -> bool:
    return isinstance(now, ConnectorFacts) and now.state == "STOPPED" and now.tasks > 0


def _compact(wanted: TopicIsCompact, now: TopicNow | None) -> str | None:
    if now is None:
        return f"topic {wanted.topic} does not exist"
    if wanted.topic_id is not None and now.topic_id is not None and wanted.topic_id != now.topic_id:
        return f"topic {wanted.topic} was deleted and created again: its ID is {now.topic_id}, not {wanted.topic_id}"
    if now.facts.partitions != wanted.partitions:
        return f"topic {wanted.topic} has {now.facts.partitions} partitions, the plan is for {wanted.partitions}"
    return not_compact(now.facts)


def not_compact(topic: TopicFacts) -> str | None:
    """Why the topic cannot hold offsets: its cleanup.policy. One that may not be read passes, as it does in Connect."""
    policy = topic.setting("cleanup.policy")
    if isinstance(policy, Skipped) or policy == "compact":
        return None
    return f"topic {topic.name} has cleanup.policy {policy}, which loses offsets and which Connect refuses"


def _offsets(wanted: OffsetsUnchanged, facts: PlanFacts) -> str | None:
    now = facts.offsets[wanted.side, wanted.topic, wanted.connector]
    if wanted.digest in {now.records, now.values} or (wanted.allowed is not None and wanted.allowed == now.values):
        return None
    return f"the offsets of connector {wanted.connector} in topic {wanted.topic} changed since the plan was made"


def _acls(wanted: Sequence[AclBinding], now: frozenset[AclBinding] | Skipped) -> str | None:
    if isinstance(now, Skipped):
        return f"whether ACLs are there is unknown: {now.reason}"
    lost = [each for each in wanted if each not in now]
    return f"{len(lost)} ACLs that are needed are not there, the first: {lost[0]}" if lost else None


def _open_transaction(wanted: TransactionHangs, facts: PlanFacts) -> str | None:
    place = TopicPartition(wanted.topic, wanted.partition)
    now = facts.open_transactions[wanted.side, place, wanted.producer_id]
    what = f"producer {wanted.producer_id} in {place}"
    if now is None:
        return None
    if now.start_offset != wanted.start_offset:
        return f"{what} has a transaction from offset {now.start_offset} open now, not from {wanted.start_offset}"
    if wanted.forced or now.hangs is True:
        return None
    if isinstance(now.hangs, Skipped):
        return f"whether the transaction of {what} hangs is unknown: {now.hangs.reason}"
    return f"the transaction of {what} does not hang: its coordinator knows it"
