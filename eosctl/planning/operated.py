"""Plans for connectors that Strimzi's operator runs: REST changes become changes of resources, and waiting for them.

1. At each reconciliation (every two minutes by default) the operator gives a connector the config and the state of its
   KafkaConnector again, and deletes connectors that have none. A change over REST holds until then, and no longer.
2. So a plan waits until a worker answers what the changed resource says: STOPPED, the new config, RUNNING. A connector
   that is STOPPED although its resource says otherwise runs again at the next reconciliation.
3. The operator creates a connector RUNNING, and stops it then where its resource says so: the resource of a new name is
   applied when its offsets are in place, and not before.

By AbstractConnectOperator.maybeCreateOrUpdateConnector and KafkaConnectAssemblyOperator.reconcileConnectors.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from eosctl.model.connector_steps import AwaitOperator, CreateConnector, DeleteConnector
from eosctl.model.kafka_users import is_kubernetes_name
from eosctl.model.operated import STOPPED, OperatedConnectors
from eosctl.model.plan import (
    ClusterIs,
    ConnectorStopped,
    ManualStep,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    Step,
    StopConnector,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import STOP_HINT
from eosctl.model.sides import Side

EMIT: Final = "give --emit strimzi and --connector-config FILE: the changes are written as resources to apply"
OverRest = StopConnector | SetConnectorConfig | ResumeConnector | CreateConnector | DeleteConnector
OVER_REST: Final = (StopConnector, SetConnectorConfig, ResumeConnector, CreateConnector, DeleteConnector)
_BY_REST: Final = re.compile(r" \(PUT /connectors/\S+/(config|resume)\)")
_BY_RESOURCE: Final = {
    "config": " (spec.config of its KafkaConnector)",
    "resume": " (spec.state: running of its KafkaConnector)",
}


def for_operator(planned: Planned, operated: OperatedConnectors) -> Planned:
    """The plan by the rules above, with what speaks against it."""
    steps = planned.plan.steps
    old_names = {step.connector: step.copied_from for step in _configured(planned) if step.copied_from is not None}
    against = dict(_objections(planned, operated, old_names))
    if operated.directory is not None and not against:
        waiting = (each for step in steps for each in _waiting(step, planned, operated, old_names))
        steps = (*_stops(planned, operated), *waiting)
    elif operated.every or operated.states:
        steps = tuple(replace(each, step=_worded(each.step)) for each in steps)
    hint = next(iter(against.values()), planned.hint)
    over_rest = planned.hint == STOP_HINT or "/stop" in (planned.hint or "")
    if planned.objections and over_rest and (operated.every or operated.states):
        hint = "set spec.state: stopped in its KafkaConnector; --stop with --emit strimzi writes that, and waits for it"
    return replace(
        planned,
        plan=replace(planned.plan, steps=steps),
        objections=(*planned.objections, *against),
        hint=hint,
    )


def _configured(planned: Planned) -> list[SetConnectorConfig]:
    return [each.step for each in planned.plan.steps if isinstance(each.step, SetConnectorConfig)]


def _objections(
    planned: Planned, operated: OperatedConnectors, old_names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What cannot be done, each with what to do about it."""
    for each in planned.plan.steps:
        if isinstance(each.step, OVER_REST):
            known = old_names.get(each.step.connector, each.step.connector)
            if operated.has(each.step.connector) or operated.has(known):
                yield from _objection(each.step, known, operated)
    for name in _resumed_meanwhile(planned, operated) if operated.directory is None else ():
        yield (
            f"connector {name} has to be STOPPED, and its KafkaConnector says {operated.states[name]}: the operator "
            "would resume it while its offsets are written",
            "give --stop with --emit strimzi, or the resource as it is now (kubectl get kafkaconnector -o yaml)",
        )


def _objection(step: OverRest, known: str, operated: OperatedConnectors) -> Iterator[tuple[str, str]]:
    """Why this step cannot be done; known is the name under which the connector has its resource now."""
    name = step.connector
    if isinstance(step, CreateConnector | DeleteConnector):
        yield (
            f"connector {name} is Strimzi's: its operator deletes a connector that no KafkaConnector describes, and "
            "creates one again that has one",
            "write the offsets first, with `eosctl offsets restore`; then apply the KafkaConnector",
        )
    elif operated.directory is None:
        yield f"connector {name} is Strimzi's: {_reverted(step)}", EMIT
    elif step.side is Side.TARGET:
        yield (
            f"connector {name} will be in another Connect cluster, whose KafkaConnector is not known",
            "leave out --set-config and --resume, and apply its KafkaConnector when its offsets are in place",
        )
    elif known not in operated.states:
        yield f"no KafkaConnector {known} was given, so its changes cannot be written", EMIT
    elif not is_kubernetes_name(name):
        yield f"no KafkaConnector can be called {name}", "take a name that Kubernetes takes: a-z, 0-9, -"


def _resumed_meanwhile(planned: Planned, operated: OperatedConnectors) -> list[str]:
    """Connectors that have to be STOPPED, whose resource says otherwise, and that the plan does not stop."""
    stopped_here = {each.step.connector for each in planned.stops if isinstance(each.step, StopConnector)}
    needed = {
        each.connector
        for step in planned.plan.steps
        for each in step.preconditions
        if isinstance(each, ConnectorStopped) and each.side is Side.SOURCE
    }
    return [name for name, state in operated.states.items() if state != STOPPED and name in needed - stopped_here]


def _reverted(step: Step) -> str:
    match step:
        case StopConnector():
            return "stopped over REST, its operator resumes it at the next reconciliation, and its offsets move on"
        case SetConnectorConfig(copied_from=str()):
            return "created over REST, its operator deletes it at the next reconciliation: it has no KafkaConnector"
        case SetConnectorConfig(_, _, changes):
            return (
                f"{', '.join(changes)} changed over REST is changed back by its operator at the next reconciliation: "
                "the connector would go on from its offsets before"
            )
    return "resumed over REST, its operator stops it again at the next reconciliation, if its KafkaConnector says so"


def _stops(planned: Planned, operated: OperatedConnectors) -> Iterator[PlannedStep]:
    """Connectors that are STOPPED, and that the operator would resume: their resource has to say so, too."""
    here = tuple(
        dict.fromkeys(
            each
            for step in planned.plan.steps
            for each in step.preconditions
            if isinstance(each, ClusterIs) and each.side is Side.SOURCE
        )
    )
    for name in _resumed_meanwhile(planned, operated):
        yield PlannedStep(AwaitOperator(Side.SOURCE, name, operated.file(name, "stopped"), "STOPPED"), here)


def _waiting(
    planned_step: PlannedStep, planned: Planned, operated: OperatedConnectors, old_names: Mapping[str, str]
) -> Iterator[PlannedStep]:
    """The step as one that waits for the operator, where it is one of a connector's own."""
    step = planned_step.step
    if isinstance(step, StopConnector | SetConnectorConfig | ResumeConnector):
        is_new = step.connector in old_names
        if not (is_new or operated.has(step.connector)):
            yield planned_step
            return
        resumes = any(
            isinstance(each.step, ResumeConnector) and each.step.connector == step.connector
            for each in planned.plan.steps
        )
        if isinstance(step, SetConnectorConfig) and is_new and resumes:
            return  # rule 3: it is configured when it is created, and that is when it runs
        waiting = _await(step, planned, operated, is_new=is_new)
        yield replace(planned_step, step=waiting)
    else:
        yield replace(planned_step, step=_worded(step))


def _await(
    step: StopConnector | SetConnectorConfig | ResumeConnector,
    planned: Planned,
    operated: OperatedConnectors,
    *,
    is_new: bool,
) -> AwaitOperator:
    name = step.connector
    stopped = None if is_new else operated.file(name, "stopped")
    if isinstance(step, StopConnector):
        return AwaitOperator(step.side, name, operated.file(name, "stopped"), "STOPPED")
    if isinstance(step, SetConnectorConfig):
        file = operated.file(name, "created" if is_new else "configured")
        return AwaitOperator(step.side, name, file, "STOPPED", step.changes, undo_file=stopped)
    settings = {
        key: value for each in _configured(planned) if each.connector == name for key, value in each.changes.items()
    }
    return AwaitOperator(
        step.side,
        name,
        operated.file(name, "running"),
        "RUNNING",
        settings,
        None if is_new else step.offsets_topic,
        step.offsets_side,
        stopped,
    )


def _worded(step: Step) -> Step:
    """An instruction in terms of the resource."""
    if not isinstance(step, ManualStep):
        return step
    text = _BY_REST.sub(lambda found: _BY_RESOURCE[found[1]], step.instruction)
    return ManualStep(re.sub(r"^(create|delete) connector ", r"\1 KafkaConnector ", text))
