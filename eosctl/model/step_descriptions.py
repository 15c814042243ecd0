"""Steps of a plan and their preconditions, in words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from msgspec.structs import replace

from eosctl.model.plan import (
    AbortTransaction,
    AclsPresent,
    AwaitOperator,
    ClusterIs,
    CommitTransaction,
    ConnectorConfigIs,
    ConnectorStopped,
    CreateAcls,
    CreateConnector,
    CreateTopic,
    DeleteAcls,
    DeleteConnector,
    FenceProducers,
    ManualStep,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsUnchanged,
    OpenPart,
    Plan,
    PlannedStep,
    Precondition,
    ReadAgain,
    ResumeConnector,
    SetConnectorConfig,
    Side,
    Step,
    StopConnector,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    TransactionHangs,
    TransactionUnchanged,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.text import first_few, pluralize


def describe_step(step: Step) -> str:  # noqa: C901, PLR0911, PLR0912  # one line for each kind of step
    """The step in one line."""
    match step:
        case StopConnector(side, connector):
            return f"stop connector {connector}{_where(side)} and wait until it has no tasks"
        case ReadAgain(side, connector):
            return f"read the offsets of connector {connector}{_where(side)} again, and plan the rest with them"
        case FenceProducers(side, transactional_ids):
            return f"fence the producers of {first_few(transactional_ids)}{_where(side)}"
        case CreateTopic(_, topic, partitions, replication_factor):
            factor = "the default" if replication_factor < 0 else str(replication_factor)
            return f"create topic {topic}, compact, {pluralize(partitions, 'partition')}, replication factor {factor}"
        case WriteOffsets():
            deleted = sum(1 for each in step.records if each.value is None)
            counts = {"write": len(step.records) - deleted, "delete": deleted}
            what = " and ".join(f"{verb} {pluralize(count, 'offset')}" for verb, count in counts.items() if count)
            return (
                f"{what or 'write no offset'} of connector {step.connector} in topic {step.topic} in one transaction "
                f"as {step.transactional_id}"
            )
        case VerifyOffsets(_, topic, connector):
            return f"read the offsets of connector {connector} in topic {topic} again and compare"
        case SetConnectorConfig(side, connector, changes, _, copied_from):
            begin = f"configure connector {connector}" if copied_from is None else _created(connector, copied_from)
            made = [f"without {key}" if value is None else f"with {key}={value}" for key, value in changes.items()]
            return " ".join([begin + _where(side), *made])
        case CreateConnector(side, connector, file):
            return f"create connector {connector}{_where(side)}, STOPPED, with the config in {file}"
        case DeleteConnector(side, connector):
            return f"delete connector {connector}{_where(side)} if it is configured as it was created"
        case ResumeConnector(side, connector):
            return f"resume connector {connector}{_where(side)} and wait until its tasks run"
        case AwaitOperator(side, connector, file, state, settings, changed_file=changed_file):
            file = file if changed_file is None else f"{changed_file} ({file}, where it is configured as before)"
            made = [f"without {key}" if value is None else f"with {key}={value}" for key, value in settings.items()]
            wanted = " ".join([f"{state}{' and without tasks' if state == 'STOPPED' else ''}", *made])
            return (
                f"wait until {file} is applied and the operator has made connector {connector}{_where(side)} {wanted}"
            )
        case AbortTransaction(_, topic, partition, producer_id, epoch, _, start_offset):
            return f"abort what producer {producer_id}/{epoch} has open in {topic}-{partition} from {start_offset}"
        case CommitTransaction(_, transactional_id, producer_id, epoch, _, _, parts):
            return f"commit the transaction of {transactional_id}, producer {producer_id}/{epoch}, in {_parts(parts)}"
        case CreateAcls(side, bindings):
            return f"create {first_few([str(each) for each in bindings])}{_where(side)}"
        case DeleteAcls(side, bindings):
            return f"remove {first_few([str(each) for each in bindings])}{_where(side)}"
        case ManualStep(instruction):
            return f"by hand: {instruction}"
    assert_never(step)


def describe_precondition(precondition: Precondition) -> str:  # noqa: C901, PLR0911  # one line for each kind
    """What must hold, in one line."""
    where = _where(precondition.side)
    match precondition:
        case ClusterIs(_, cluster_id):
            return f"the cluster is {cluster_id}{where}"
        case ConnectorStopped(_, connector):
            return f"connector {connector}{where} is STOPPED without tasks, or does not exist"
        case ConnectorConfigIs(_, connector):
            return f"connector {connector}{where} has the config of the plan, or does not exist"
        case NoLiveOwner(_, transactional_ids, besides):
            group = "" if besides is None else f" of another Connect cluster than {besides}"
            return f"no task{group} has {first_few(transactional_ids)}{where}"
        case TopicIsCompact(_, topic, partitions):
            return (
                f"topic {topic}{where} is compact, with {pluralize(partitions, 'partition')}, and the same topic still"
            )
        case TopicIsCompactOrAbsent(_, topic, partitions):
            return f"topic {topic}{where} does not exist, or is compact with {pluralize(partitions, 'partition')}"
        case OffsetsUnchanged(_, topic, connector):
            return f"the offsets of connector {connector} in topic {topic}{where} are those that were read"
        case NoOpenTransaction(_, topic, connector):
            return f"no open transaction wrote offsets of connector {connector} into topic {topic}{where}"
        case TransactionHangs(_, topic, partition, producer_id, start_offset, forced):
            what = f"what producer {producer_id} has open in {topic}-{partition}{where} begins at {start_offset}"
            return what if forced else f"{what} and hangs"
        case TransactionUnchanged(_, transactional_id, producer_id, epoch):
            what = f"the transaction of {transactional_id}{where}, producer {producer_id}/{epoch}"
            return f"{what}, is Ongoing without a further record, or committed"
        case AclsPresent(_, bindings):
            return f"{first_few([str(each) for each in bindings])}{where} are there"
    assert_never(precondition)


def _parts(parts: Sequence[OpenPart]) -> str:
    return first_few([str(each.topic_partition) for each in parts])


def _created(connector: str, copied_from: str) -> str:
    return f"create connector {connector}, STOPPED, with the config of {copied_from} (or configure it if it exists)"


def _where(side: Side) -> str:
    return " (target)" if side is Side.TARGET else ""


# Preconditions that follow from the step itself.
# A digest shows that a plan file was not edited by hand, but another program can compute a digest, too.
# So what can be derived from a step is checked in any case, and a plan without what cannot be derived is refused.


def demanded_steps(plan: Plan) -> tuple[PlannedStep, ...]:
    """The plan's steps, each with the preconditions that it has and those that can be derived from it."""
    steps, created = [], list[AclsPresent]()
    for planned in plan.steps:
        step = planned.step
        wanted = [*planned.preconditions, *_derived(step)]
        if isinstance(step, DeleteAcls):
            wanted += [each for each in created if each.side is step.side and not _stands(each, wanted)]
        elif isinstance(step, CreateAcls):
            created.append(AclsPresent(step.side, step.bindings))
        steps.append(replace(planned, preconditions=tuple(dict.fromkeys(wanted))))
    return tuple(steps)


def lacking(plan: Plan) -> tuple[str, ...]:
    """Preconditions that steps lack and only the plan's author could know, in words."""
    return tuple(
        f"step {number} ({describe_step(planned.step)}) lacks the precondition {missing}"
        for number, planned in enumerate(plan.steps, 1)
        for missing in _missing(plan, planned)
    )


def _derived(step: Step) -> Iterator[Precondition]:
    match step:
        case CreateTopic(side, topic, partitions):
            yield TopicIsCompactOrAbsent(side, topic, partitions)
        case WriteOffsets(side, topic, connector):
            yield OffsetsUnchanged(side, topic, connector, step.before, step.after)
            yield NoOpenTransaction(side, topic, connector)
        case CreateConnector(side, connector, _, digest) | DeleteConnector(side, connector, _, digest):
            yield ConnectorConfigIs(side, connector, digest)
        case AbortTransaction(side, topic, partition, producer_id):
            yield TransactionHangs(side, topic, partition, producer_id, step.start_offset, step.forced)
        case CommitTransaction(side, transactional_id, producer_id, epoch, started_ms, _, parts):
            yield TransactionUnchanged(side, transactional_id, producer_id, epoch, started_ms, parts)
            yield NoLiveOwner(side, (transactional_id,))


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
