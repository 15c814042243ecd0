"""What must hold before a step of this kind, whoever made the plan: it follows from the step itself.

A plan stores its preconditions, and its digest shows that nobody edited it by hand. Whoever makes a plan with another
program makes a digest, too. So what can be derived from a step is checked as if the plan had it, and a plan that lacks
what only the planner could know is refused.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from eosctl.model.connector_steps import ConnectorConfigIs, CreateConnector, DeleteConnector
from eosctl.model.plan import (
    AclsPresent,
    ClusterIs,
    ConnectorStopped,
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    FenceProducers,
    ManualStep,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    Precondition,
    SetConnectorConfig,
    Step,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.sides import Side
from eosctl.model.step_descriptions import describe_step
from eosctl.model.transaction_steps import (
    AbortTransaction,
    CommitTransaction,
    TransactionHangs,
    TransactionUnchanged,
)


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
    """What steps demand and the plan does not say, in words: nobody but its maker could know it."""
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
    """Whether the bindings are among those of one that is given."""
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
