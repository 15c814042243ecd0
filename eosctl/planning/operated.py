"""Plans for connectors that Strimzi's operator runs: REST changes become changes of resources, and waiting for them.

1. At each reconciliation (every two minutes by default) the operator gives a connector the config and the state of its
   resource again, and deletes connectors that have none. A change over REST holds until then, and no longer.
2. So a plan waits until a worker answers what the changed resource says: STOPPED, the new config, RUNNING. Of a
   connector that is STOPPED although its resource says otherwise nothing can be seen: it is refused.
3. The operator creates a connector RUNNING, and stops it then where its resource says so: the resource of a new name is
   applied when its offsets are in place, and not before.
4. The label strimzi.io/cluster of a KafkaConnector says which Connect cluster runs it. Where it changes, the operator
   creates the connector in the other one, and deletes it in the one before at the next reconciliation of that.
5. A KafkaMirrorMaker2 names its connectors after its clusters, and has them all in one resource: they keep their names,
   and one plan changes one of them.

By AbstractConnectOperator.maybeCreateOrUpdateConnector, KafkaConnectAssemblyOperator.reconcileConnectors and
KafkaMirrorMaker2Connectors.generateConnectorDefinitions.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from eosctl.model.acl_plan import is_kubernetes_name
from eosctl.model.names import Side
from eosctl.model.plan import (
    AwaitOperator,
    CreateConnector,
    DeleteConnector,
    ManualStep,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    Step,
    StopConnector,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import STOP_HINT, ConnectorStopped
from eosctl.model.strimzi import RUNNING, STOP_BY_RESOURCE, STOPPED, OperatedConnectors
from eosctl.model.workers import connector_path

EMIT: Final = "give --emit strimzi and --connector-config FILE: the changes are written as resources to apply"
ASK_AGAIN: Final = "kubectl get -o yaml"
OverRest = StopConnector | SetConnectorConfig | ResumeConnector | CreateConnector | DeleteConnector
OVER_REST: Final = (StopConnector, SetConnectorConfig, ResumeConnector, CreateConnector, DeleteConnector)
Names = Mapping[tuple[Side, str], str]
"""New connectors, and those whose resources they begin from."""


def for_operator(planned: Planned, operated: OperatedConnectors) -> Planned:
    """The plan by the rules above, with what speaks against it. It carries who operates its connectors."""
    if not (operated.every or operated.states):
        return planned
    new = _new_connectors(planned.plan)
    against = dict(objections(planned.plan, operated))
    steps = planned.plan.steps
    if not against:  # without a directory for the resources each of these steps is an objection
        steps = tuple(each for step in steps for each in _waiting(step, planned.plan, operated, new))
    plan = in_terms_of_resources(replace(planned.plan, steps=steps, operated=operated))
    hint = next(iter(against.values()), planned.hint)
    if planned.hint == STOP_HINT or "/stop" in (planned.hint or ""):
        hint = STOP_BY_RESOURCE
    return replace(planned, plan=plan, objections=(*planned.objections, *against), hint=hint)


def _new_connectors(plan: Plan) -> Names:
    steps = (each.step for each in plan.steps)
    return {
        (step.side, step.connector): step.copied_from
        for step in steps
        if isinstance(step, SetConnectorConfig) and step.copied_from is not None
    }


def objections(plan: Plan, operated: OperatedConnectors) -> Iterator[tuple[str, str]]:
    """The parts of a plan that the operator would revert, or cannot do, each with the remedy."""
    new = _new_connectors(plan)
    for each in plan.steps:
        step = each.step
        if isinstance(step, OVER_REST):
            known = _known(step, new)
            if operated.has(step.connector) or operated.has(known):
                yield from _objection(step, step.connector if isinstance(step, StopConnector) else known, operated)
    for name in _resumed_meanwhile(plan, operated):
        yield (
            f"connector {name} must be STOPPED, and {operated.resource(name)} has {operated.states[name]}: the "
            "operator would resume it while its offsets are written",
            f"give --stop with --emit strimzi; if it is STOPPED already, give the present resource ({ASK_AGAIN})",
        )
    changed = {each.step.connector for each in plan.steps if isinstance(each.step, OVER_REST)} & operated.mirrors.keys()
    if operated.directory is not None and len({operated.mirrors[name] for name in changed}) < len(changed):
        yield (
            f"connectors {', '.join(sorted(changed))} are in one resource, and a plan changes one of them",
            "move one after the other, and each time give --connector-config the present resource",
        )


def _known(step: OverRest, new: Names) -> str:
    """The name under which the connector has its resource now."""
    return new.get((step.side, step.connector), step.connector)


def _objection(step: OverRest, known: str, operated: OperatedConnectors) -> Iterator[tuple[str, str]]:
    """Why this step cannot be done; known is the connector's present resource name."""
    name = step.connector
    moved = step.side is Side.TARGET
    if isinstance(step, CreateConnector | DeleteConnector):
        yield (
            f"connector {name} is Strimzi's: its operator deletes a connector that no KafkaConnector describes, and "
            "creates one again that has one",
            "write the offsets first, with `eosctl offsets restore`; then apply the KafkaConnector",
        )
    elif known in operated.mirrors and (moved or known != name):
        yield (
            f"connector {known} is described by KafkaMirrorMaker2 {operated.mirrors[known]}, which runs it in its own "
            "Connect cluster and names it after its clusters",
            "leave out --set-config and --resume: write the offsets, then apply a KafkaMirrorMaker2 that has the "
            "connector under its new name or in its new cluster",
        )
    elif operated.directory is None:
        yield f"connector {name} is Strimzi's: {_reverted(step)}", EMIT
    elif known not in operated.states:
        yield f"no resource of connector {known} was given, so its changes cannot be written", EMIT
    elif moved and operated.to_cluster is None:
        yield (
            f"connector {name} will be in another Connect cluster, and its KafkaConnect was not given",
            "give --to-kafka-connect NAME; or leave out --set-config and --resume, and apply its resource when its "
            "offsets are in place",
        )
    elif known not in operated.mirrors and not is_kubernetes_name(name):
        yield f"no KafkaConnector can be called {name}", "take a name that Kubernetes takes: a-z, 0-9, -"


def _resumed_meanwhile(plan: Plan, operated: OperatedConnectors) -> list[str]:
    """Connectors that have to be STOPPED, whose resource says otherwise, and that the plan does not stop."""
    stopped_here = {each.step.connector for each in plan.steps if isinstance(each.step, StopConnector)}
    stopped_here |= {each.step.connector for each in plan.steps if isinstance(each.step, AwaitOperator)}
    needed = {
        each.connector
        for step in plan.steps
        for each in step.preconditions
        if isinstance(each, ConnectorStopped) and each.side is Side.SOURCE
    }
    return [name for name, state in operated.states.items() if state != STOPPED and name in needed - stopped_here]


def _reverted(step: Step) -> str:
    match step:
        case StopConnector():
            return "stopped over REST, its operator resumes it at the next reconciliation, and its offsets move on"
        case SetConnectorConfig(copied_from=str()):
            return "created over REST, its operator deletes it at the next reconciliation: it has no resource"
        case SetConnectorConfig(_, _, changes):
            return (
                f"{', '.join(changes)} changed over REST would be changed back by its operator at the next "
                "reconciliation, and the connector would resume from its old offsets"
            )
    return "resumed over REST, its operator stops it again at the next reconciliation if its resource has state stopped"


def _waiting(planned: PlannedStep, plan: Plan, operated: OperatedConnectors, new: Names) -> Iterator[PlannedStep]:
    """The step as one that waits for the operator, where it is one of a connector's own."""
    step = planned.step
    if not isinstance(step, StopConnector | SetConnectorConfig | ResumeConnector) or not operated.has(
        _known(step, new)
    ):
        yield planned
    elif isinstance(step, StopConnector):
        back = operated.file(step.connector, "before") if operated.states.get(step.connector) == RUNNING else None
        stopped = operated.file(step.connector, "stopped")
        yield replace(planned, step=AwaitOperator(step.side, step.connector, stopped, "STOPPED", undo_file=back))
    else:
        resumed = {(e.step.side, e.step.connector) for e in plan.steps if isinstance(e.step, ResumeConnector)}
        at = step.side, step.connector
        if not (isinstance(step, SetConnectorConfig) and at in new and at in resumed):
            yield replace(planned, step=_await(step, plan, operated, new.get(at)))
        # otherwise, by rule 3, it is configured when it is created, and that is when it runs


def _await(
    step: SetConnectorConfig | ResumeConnector, plan: Plan, operated: OperatedConnectors, copied_from: str | None
) -> AwaitOperator:
    name, is_new = step.connector, copied_from is not None
    configured = [
        each.step
        for each in plan.steps
        if isinstance(each.step, SetConnectorConfig) and (each.step.side, each.step.connector) == (step.side, name)
    ]
    runs = isinstance(step, ResumeConnector)
    change = "running" if runs else "created" if is_new else "configured"
    return AwaitOperator(
        step.side,
        name,
        operated.file(name, change),
        "RUNNING" if runs else "STOPPED",
        {key: value for each in configured for key, value in each.changes.items()},
        None if is_new or not isinstance(step, ResumeConnector) else step.offsets_topic,
        Side.SOURCE if is_new or not isinstance(step, ResumeConnector) else step.offsets_side,
        operated.file(name, "created" if is_new else "stopped"),
        {} if is_new else {key: value for each in configured for key, value in each.before.items()},
        copied_from,
    )


def in_terms_of_resources(plan: Plan) -> Plan:
    """The plan, with the steps for people in terms of resources if a connector has an operator."""
    operated = plan.operated
    return plan if operated is None else replace(plan, steps=tuple(_worded(each, operated) for each in plan.steps))


def _worded(planned: PlannedStep, operated: OperatedConnectors) -> PlannedStep:
    step = planned.step
    if not isinstance(step, ManualStep) or step.by_resource is None or not operated.has(step.connector or ""):
        return planned
    return replace(planned, step=ManualStep(step.by_resource))


# Steps that plans leave to people: over REST, or in terms of its resource if an operator runs the connector.


def resumed_by_hand(what: str, connector: str, why: str = "", *, known_as: str | None = None) -> ManualStep:
    """`what` is to resume the connector, which has its resource as `known_as` if that is another name."""
    return ManualStep(
        f"{what} (PUT {connector_path(connector)}/resume){why}",
        known_as or connector,
        f"{what} (state: running in its resource){why}",
    )


def created_by_hand(connector: str, known_as: str, group_id: str | None, setting: str) -> ManualStep:
    """A connector with the config of another, or of itself in another Connect cluster; `setting` is what differs."""
    place = "" if group_id is None else f" in Connect cluster {group_id}"
    what = f"{connector}{place} with the config of {known_as}{setting}"
    by_resource = f"create KafkaConnector {what}"
    if connector == known_as:
        label = f"the label strimzi.io/cluster of KafkaConnector {connector}"
        by_resource = f"let {label} name the KafkaConnect of group {group_id}{setting}"
    return ManualStep(f"create connector {what}", known_as, by_resource)


def configured_by_hand(connector: str, setting: str, *, exists: bool) -> ManualStep:
    """A connector that keeps its name and its Connect cluster."""
    put = f"(PUT {connector_path(connector)}/config)"
    if exists:
        what = f"configure connector {connector} {setting}"
        return ManualStep(f"{what} {put}", connector, f"{what} (config in its resource)")
    what = f"{connector} {setting}"
    return ManualStep(
        f"create connector {what} {put}", connector, f"create KafkaConnector {what} (config in its resource)"
    )


def deleted_by_hand(connector: str, successor: str, place: str) -> ManualStep:
    """The connector that was moved, once the one in its place runs."""
    what = f"{connector} once {successor}{place} runs; never let both run"
    by_resource = f"delete KafkaConnector {what}"
    if connector == successor:
        by_resource = (
            f"wait until the operator has deleted connector {connector} from the Connect cluster that it was in"
        )
    return ManualStep(f"delete connector {what}", connector, by_resource)
