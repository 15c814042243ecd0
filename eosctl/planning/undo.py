"""The plan that leads back: the steps of a plan turned round, last first.

1. Records that were written are replaced by the bytes that were there before, and deleted where there was nothing, in
   one transaction, if the offsets still are those that the plan left. Once the connector has committed further, going
   back would repeat records: the undo is refused then. That holds also where the plan had nothing to write, and for the
   topic that a move copied from: an undo of the undo leads to positions that the connector has left since.
2. A connector that the plan resumed is stopped first, and the producers of its tasks are fenced again; one that it
   stopped is resumed last, or PAUSED if it was; a config change is made the other way round.
3. ACLs that were removed are created again, then those that were created are removed.
4. A connector that was created from a file is deleted after its offsets; one that was created like another stays, as
   topics do: a person decides about them. A connector that was STOPPED before the plan is left STOPPED, which is said.
5. What an operator did for the plan it undoes in the same way: the connector is stopped with the config that it has,
   its config is changed back when its offsets are, and the undo waits for each.

It is made from the plan alone, before the first step is done, so it is there however the plan ends. A step that was
never done is undone by doing nothing.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from eosctl.model.names import Side
from eosctl.model.plan import (
    UNDO,
    AbortTransaction,
    AwaitOperator,
    CommitTransaction,
    CreateAcls,
    CreateConnector,
    CreateTopic,
    DeleteAcls,
    DeleteConnector,
    FenceProducers,
    FenceTransaction,
    ManualStep,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    Step,
    StopConnector,
    VerifyOffsets,
    WriteCommitMarker,
    WriteOffsets,
)
from eosctl.model.preconditions import AclsPresent, ClusterIs, ConnectorStopped, OffsetsUnchanged, Precondition
from eosctl.planning.operated import in_terms_of_resources, resumed_by_hand

S = TypeVar("S", bound=Step)


def undo_plan(plan: Plan) -> Plan:
    """The way back from the result of `plan`; undoing it leads forward again."""
    steps = (
        *(
            PlannedStep(StopConnector(step.side, step.connector, step.paused), kept)
            for step, kept in _of(plan, ResumeConnector)
        ),
        *_stopped_again(plan),
        *(PlannedStep(step, kept) for step, kept in _of(plan, FenceProducers)),
        *(each for step, kept in _of(plan, WriteOffsets) for each in _unwritten(step, kept)),
        *_acls_back(plan),
        *(_unconfigured(step, kept) for step, kept in _of(plan, SetConnectorConfig)),
        *_unconfigured_by_resource(plan),
        *(PlannedStep(_turned(DeleteConnector, step), kept) for step, kept in _of(plan, CreateConnector)),
        *(PlannedStep(_turned(CreateConnector, step), kept) for step, kept in _of(plan, DeleteConnector)),
        *(
            PlannedStep(ResumeConnector(step.side, step.connector, paused=step.paused), kept)
            for step, kept in _of(plan, StopConnector)
        ),
        *_resumed_again(plan),
        *(PlannedStep(each) for each in _left_over(plan)),
    )
    return in_terms_of_resources(Plan(UNDO, plan.as_of, steps, plan.places, plan.operated))


def _stopped_again(plan: Plan) -> Iterator[PlannedStep]:
    """Each connector whose resource the plan changed after it was stopped: STOPPED, with the config that it has."""
    changed = {(step.side, step.connector): (step, kept) for step, kept in _of(plan, AwaitOperator) if not step.stops}
    for step, kept in changed.values():
        if step.undo_file is not None:
            back = AwaitOperator(step.side, step.connector, step.undo_file, "STOPPED")
            if _configures(step):
                back = replace(back, changed=step.settings, changed_file=step.file)
            yield PlannedStep(back, _cluster_only(kept))


def _unconfigured_by_resource(plan: Plan) -> Iterator[PlannedStep]:
    """Each of them configured as before, while it is STOPPED."""
    for step, kept in _of(plan, AwaitOperator):
        if step.undo_file is not None and _configures(step):
            yield PlannedStep(AwaitOperator(step.side, step.connector, step.undo_file, "STOPPED", step.before), kept)


def _configures(step: AwaitOperator) -> bool:
    """Whether it changes the config of a connector that was there, and leaves it STOPPED."""
    return step.state == "STOPPED" and bool(step.before)


def _resumed_again(plan: Plan) -> Iterator[PlannedStep]:
    """Each connector that the plan had the operator stop."""
    for step, kept in _of(plan, AwaitOperator):
        if step.stops and step.undo_file is not None:
            yield PlannedStep(AwaitOperator(step.side, step.connector, step.undo_file, "RUNNING"), kept)


def _of(plan: Plan, kind: type[S]) -> Iterator[tuple[S, tuple[Precondition, ...]]]:
    for planned in reversed(plan.steps):
        if isinstance(planned.step, kind):
            yield planned.step, planned.preconditions


C = TypeVar("C", CreateConnector, DeleteConnector)


def _turned(kind: type[C], step: CreateConnector | DeleteConnector) -> C:
    return kind(step.side, step.connector, step.file, step.digest)


def _unwritten(step: WriteOffsets, preconditions: Iterable[Precondition]) -> Iterator[PlannedStep]:
    back = WriteOffsets(
        step.side,
        step.topic,
        step.connector,
        step.transactional_id,
        step.transaction_timeout_ms,
        tuple(OffsetsWrite(each.partition, each.key, each.before, each.value) for each in step.records),
        step.after,
        step.after,
        step.before_values,
    )
    place = step.side, step.topic, step.connector
    kept = tuple(each for each in preconditions if not _is_of(each, place))
    unchanged = OffsetsUnchanged(step.side, step.topic, step.connector, step.after, step.before_values)
    yield PlannedStep(back, (*kept, unchanged))
    stopped = tuple(each for each in kept if isinstance(each, ConnectorStopped))
    yield PlannedStep(VerifyOffsets(step.side, step.topic, step.connector, step.before_values), stopped)


def _is_of(each: Precondition, place: tuple[Side, str, str]) -> bool:
    return isinstance(each, OffsetsUnchanged) and (each.side, each.topic, each.connector) == place


def _unconfigured(step: SetConnectorConfig, preconditions: tuple[Precondition, ...]) -> PlannedStep:
    if step.copied_from is not None:
        what = f"{step.connector}, which the plan created, before any other"
        return PlannedStep(ManualStep(f"delete connector {what}", step.copied_from, f"delete KafkaConnector {what}"))
    return PlannedStep(SetConnectorConfig(step.side, step.connector, step.before, step.changes), preconditions)


def _acls_back(plan: Plan) -> Iterator[PlannedStep]:
    """Bindings that were removed are created again first, then those go that were created."""
    restored = [step for step, _ in _of(plan, DeleteAcls)]
    for step, kept in _of(plan, DeleteAcls):
        yield PlannedStep(CreateAcls(step.side, step.bindings), _cluster_only(kept))
    standing = tuple(AclsPresent(step.side, step.bindings) for step in restored)
    for created, kept in _of(plan, CreateAcls):
        yield PlannedStep(DeleteAcls(created.side, created.bindings), (*_cluster_only(kept), *standing))


def _cluster_only(preconditions: Iterable[Precondition]) -> tuple[Precondition, ...]:
    return tuple(each for each in preconditions if isinstance(each, ClusterIs))


def _left_over(plan: Plan) -> Iterator[ManualStep]:
    for created, _ in _of(plan, CreateTopic):
        yield ManualStep(f"topic {created.topic}, which the plan created, stays: delete it if nothing uses it")
    for aborted, _ in _of(plan, AbortTransaction):
        what = f"what producer {aborted.producer_id} wrote to {aborted.topic}-{aborted.partition}"
        yield ManualStep(f"{what} from offset {aborted.start_offset} on is aborted: that cannot be rolled back")
    for marked, _ in _of(plan, WriteCommitMarker):
        what = f"the transaction of {marked.transactional_id} in {marked.topic}-{marked.partition}"
        yield ManualStep(f"{what}, is committed: that cannot be rolled back")
    for committed, _ in _of(plan, CommitTransaction):
        what = f"the transaction of {committed.transactional_id}, producer {committed.producer}"
        yield ManualStep(f"{what}, is committed: that cannot be rolled back")
    for fenced, _ in _of(plan, FenceTransaction):
        what = f"the transaction of {fenced.transactional_id}, producer {fenced.producer}"
        yield ManualStep(f"{what}, is aborted: that cannot be rolled back")
    for by_hand, _ in _of(plan, ManualStep):
        yield ManualStep(f"roll back, if it was done: {by_hand.instruction}")
    awaited = [step for step, _ in _of(plan, AwaitOperator)]
    for connector in {each.connector for each in awaited if each.copied_from not in {None, each.connector}}:
        yield ManualStep(f"delete KafkaConnector {connector}, which the plan created")
    yield from _left_stopped(plan)


def _left_stopped(plan: Plan) -> Iterator[ManualStep]:
    """The connectors that an undo needs STOPPED and does not resume, because the plan did not stop them."""
    awaited = [step for step, _ in _of(plan, AwaitOperator)]
    created = {(step.side, step.connector) for step, _ in _of(plan, SetConnectorConfig) if step.copied_from is not None}
    created |= {(step.side, step.connector) for step, _ in _of(plan, CreateConnector)}
    created |= {(step.side, step.connector) for step, _ in _of(plan, DeleteConnector)}
    resumed = {(step.side, step.connector) for step, _ in _of(plan, StopConnector)}
    stopped = {(step.side, step.connector): "" for step, _ in _of(plan, ResumeConnector)}
    stopped |= {(step.side, step.connector): "" for step in awaited if step.state == "RUNNING"}
    for planned in plan.steps:
        for each in planned.preconditions if isinstance(planned.step, FenceProducers | WriteOffsets) else ():
            if isinstance(each, ConnectorStopped):
                stopped.setdefault((each.side, each.connector), ", if it exists")
    created |= {(step.side, step.connector) for step in awaited if step.copied_from is not None}
    resumed |= {(step.side, step.connector) for step in awaited if step.stops and step.undo_file}
    for (side, connector), doubt in stopped.items():
        if (side, connector) not in created | resumed:
            why = f": it is left STOPPED{doubt}"
            yield resumed_by_hand(f"resume connector {connector} when it may continue", connector, why)
