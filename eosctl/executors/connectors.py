"""Stopping, configuring and resuming connectors over REST. Each can be repeated."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.rest import RestClient, answered_offsets, config_of, expanded_connectors
from eosctl.clients.rest_identity import decoding, list_of, object_of, sanitized, task_number, text_of
from eosctl.codecs.connector_files import config_digest, decode_connector
from eosctl.errors import Refused, Unsupported, WaitTimedOut
from eosctl.executors.apply import Recheck
from eosctl.model.names import Side
from eosctl.model.offsets import ConnectorOffset, Entry
from eosctl.model.plan import (
    AwaitOperator,
    CreateConnector,
    DeleteConnector,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
)
from eosctl.model.text import pluralize
from eosctl.model.versions import INITIAL_STATE, STOPPED_STATE, KafkaVersion
from eosctl.model.workers import connector_path

POLL_S: Final = 0.2
AGAIN_S: Final = 5.0
"""The time after which a STOPPED connector with tasks is stopped again: longer than members take to rebalance."""
ANSWER_S: Final = 20.0

Access = Callable[[Side], ClusterAccess]

ReadEntries = Callable[[Side, str, str], Sequence[Entry]]
"""A topic's present entries of a connector: side, topic, connector."""

IsRestarted = Callable[[str], bool]
"""Whether Connect itself starts a task again that is FAILED with this trace."""


class ResumeChecks(Struct, frozen=True):
    """The checks before a connector is resumed, and of its state afterwards.

    contradiction is a worker's first difference from a topic's entries, in words; None: there is none.
    """

    read_entries: ReadEntries
    contradiction: Callable[[Sequence[ConnectorOffset], Sequence[Entry]], str | None]
    is_restarted: IsRestarted


def stop_connector(step: StopConnector, _: Recheck, *, access: ClusterAccess) -> str:
    """PUT stop, then wait until it is STOPPED and no task is left; nothing where it does not exist."""

    def stop(rest: RestClient) -> str:
        require_version(rest, STOPPED_STATE, by_hand(step.connector))
        if config_of(rest, step.connector) is None:
            return f"connector {step.connector} does not exist: there is nothing to stop"
        send_stop(rest, step.connector)
        await_stopped(rest, step.connector, "to be STOPPED without tasks", access.timeout_s, time.monotonic())
        return f"connector {step.connector} is STOPPED and has no tasks"

    return access.ask_worker(stop)


def send_stop(rest: RestClient, connector: str) -> None:
    """PUT stop; of a connector that is STOPPED it changes nothing but the assignment."""
    rest.request("PUT", f"{connector_path(connector)}/stop")


def await_stopped(rest: RestClient, connector: str, what: str, timeout_s: float, began: float) -> None:
    """Waits until it is STOPPED without tasks.

    A task can come back after a stop, and stay. A task that was still starting when the worker gave up waiting for its
    end (task.shutdown.graceful.timeout.ms) writes RUNNING after it has started (WorkerTask.doStart), and ends at once.
    The leader removes such a status at the end of a rebalance (DistributedHerder.updateDeletedTaskStatus). Each stop
    starts one, because it writes a commit of no tasks; so it is sent again.
    """
    while True:
        is_over = partial(_is_stopped, again_at=time.monotonic() + AGAIN_S)
        if not await_state(rest, connector, is_over, what, timeout_s, began):
            return
        send_stop(rest, connector)


def by_hand(connector: str) -> str:
    """The manual steps where workers are too old to stop a connector."""
    return (
        f"delete connector {connector} (its offsets stay in the topic), run this again without --stop, then create the "
        "connector again with the new settings"
    )


def resume_connector(step: ResumeConnector, _: Recheck, *, access: ClusterAccess, checks: ResumeChecks) -> str:
    """PUT resume, then wait until all its tasks run; Refused where a task fails or would begin somewhere else."""

    def resume(rest: RestClient) -> str:
        if step.paused:
            rest.request("PUT", f"{connector_path(step.connector)}/pause")
            await_state(rest, step.connector, lambda _, state, __: state == "PAUSED", "to be PAUSED", access.timeout_s)
            return f"connector {step.connector} is PAUSED"
        if step.offsets_topic is not None:
            await_answer(rest, step, checks, access.timeout_s)
        rest.request("PUT", f"{connector_path(step.connector)}/resume")
        tasks = await_state(
            rest, step.connector, partial(is_running, is_restarted=checks.is_restarted), "to run", access.timeout_s
        )
        return f"connector {step.connector} runs with {pluralize(len(tasks), 'task')}"

    return access.ask_worker(resume)


def await_answer(
    rest: RestClient, step: ResumeConnector | AwaitOperator, checks: ResumeChecks, timeout_s: float
) -> None:
    """The worker must answer the offsets in the topic; it may have to read its topics first."""
    assert step.offsets_topic is not None
    entries = checks.read_entries(step.offsets_side, step.offsets_topic, step.connector)
    deadline = Deadline(min(timeout_s, ANSWER_S))
    while (answer := answered_offsets(rest, step.connector)) is not None:
        different = checks.contradiction(answer, entries)
        if different is None:
            return
        if not deadline.pause(POLL_S):
            raise Refused(
                f"of topic {step.offsets_topic} the worker at {rest.url} answers {different} for connector "
                f"{step.connector}: it keeps its offsets somewhere else",
                hint="it was not resumed, because it would start from other offsets. Check that the offsets topic, "
                "the group.id and the cluster belong to its workers, then move its present offsets",
            )


def set_connector_config(step: SetConnectorConfig, _: Recheck, *, access: Access) -> str:
    """Changes the connector's config, or creates it STOPPED from another connector's."""

    def change(rest: RestClient) -> str:
        current = config_of(rest, step.connector)
        if current is None:
            return create(rest)
        wanted = changed(current, step.changes)
        if wanted == current:
            return f"connector {step.connector} is configured so already"
        rest.request("PUT", f"{connector_path(step.connector)}/config", wanted)
        return f"connector {step.connector}: {_change_list(step.changes)}"

    def create(rest: RestClient) -> str:
        if step.copied_from is None:
            raise Refused(f"connector {step.connector} does not exist", hint="create it with its new settings")
        require_version(
            rest, INITIAL_STATE, f"create connector {step.connector} by hand; its offsets are in place already"
        )
        origin = step.copied_from
        pattern = access(Side.SOURCE).ask_worker(lambda source: config_of(source, origin))
        if pattern is None:
            raise Refused(f"connector {origin}, the origin of the config, does not exist")
        config = changed({**pattern, "name": step.connector}, step.changes)
        body = {"name": step.connector, "config": config, "initial_state": "STOPPED"}
        rest.request("POST", "/connectors", body)
        return f"connector {step.connector} created STOPPED, with the config of {origin}"

    return access(step.side).ask_worker(change)


def changed(config: Mapping[str, str | None], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The config with each change made; a change to None takes the setting away."""
    merged = {**config, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def _change_list(changes: Mapping[str, str | None]) -> str:
    return ", ".join(f"{key} removed" if value is None else f"{key}={value}" for key, value in changes.items())


def require_version(rest: RestClient, needed: KafkaVersion, hint: str) -> None:
    body = rest.get("/")
    found = str(body.get("version")) if isinstance(body, dict) else "?"
    try:
        version = KafkaVersion.parse(found)
    except ValueError:
        return
    if version < needed:
        raise Unsupported(f"this needs Connect {needed}, the worker at {rest.url} has {found}", hint=hint)


Tasks = tuple[tuple[int, str, str], ...]
"""Number, state and trace of each task."""


def _status(rest: RestClient, connector: str) -> tuple[str, Tasks]:
    """State and tasks of the connector. A new one has no status for a moment: no state and no tasks."""
    known = expanded_connectors(rest, "status")
    with decoding(f"{rest.url}/connectors answered no valid status of {connector}"):
        status = known.get(connector, {}).get("status")
        if status is None:
            return "without status", ()
        tasks = [
            (task_number(each["id"]), text_of(each["state"]), str(object_of(each).get("trace", "")))
            for each in list_of(status["tasks"])
        ]
        return text_of(status["connector"]["state"]), tuple(tasks)


def _is_stopped(_: str, state: str, tasks: Tasks, *, again_at: float) -> bool:
    """Whether it is STOPPED and has no task, or is to be stopped again from `again_at` on (time.monotonic)."""
    return state == "STOPPED" and (not tasks or time.monotonic() > again_at)


def is_running(connector: str, state: str, tasks: Tasks, *, is_restarted: IsRestarted) -> bool:
    """True if all tasks are RUNNING; Refused if one is FAILED, unless Connect itself starts it again."""
    for number, task_state, trace in tasks:
        if task_state == "FAILED" and not is_restarted(trace):
            cause = sanitized(trace.strip().splitlines()[0]) if trace.strip() else "no trace"
            raise Refused(f"task {number} of connector {connector} FAILED: {cause}")
    return state == "RUNNING" and bool(tasks) and all(task_state == "RUNNING" for _, task_state, _ in tasks)


def await_state(
    rest: RestClient,
    connector: str,
    wanted: Callable[[str, str, Tasks], bool],
    what: str,
    timeout_s: float,
    began: float | None = None,
) -> Tasks:
    """The connector's tasks as soon as its state is `wanted`; WaitTimedOut names its last state.

    began is the start of its time (time.monotonic), if that is not now.
    """
    deadline = Deadline(timeout_s, began)
    while True:
        state, tasks = _status(rest, connector)
        if wanted(connector, state, tasks):
            return tasks
        if not deadline.pause(POLL_S):
            raise WaitTimedOut(
                f"waited {timeout_s:g} s for connector {connector} {what}; it is {state} with "
                f"{pluralize(len(tasks), 'task')}",
                hint="a longer --timeout helps where tasks take long to end",
            )


ReadConfig = Callable[[str], str]
"""The text of the file at this absolute path."""


def create_connector(step: CreateConnector, _: Recheck, *, access: ClusterAccess, read_config: ReadConfig) -> str:
    """POST with initial_state STOPPED; Refused where the file changed.

    One that exists has this config and is STOPPED (the step's preconditions): an earlier run created it, and it is left
    as it is. A sink is deleted at once: it has no source offsets.
    """
    settings = decode_connector(read_config(step.file), step.file)
    if config_digest(settings) != step.digest:
        raise Refused(
            f"the config in {step.file} changed since the plan was made", hint="make the plan again with this config"
        )

    def create(rest: RestClient) -> str:
        if config_of(rest, step.connector) is not None:
            return f"connector {step.connector} was created before"
        require_version(rest, INITIAL_STATE, "write the offsets first, with `eosctl offsets restore`; then create it")
        body = {"name": step.connector, "config": settings, "initial_state": "STOPPED"}
        made = rest.request("POST", "/connectors", body).body
        if isinstance(made, dict) and made.get("type") == "sink":
            rest.request("DELETE", connector_path(step.connector))
            raise Refused(f"connector {step.connector} is a sink, which has no source offsets: it was deleted again")
        await_stopped(rest, step.connector, "to be STOPPED", access.timeout_s, time.monotonic())
        return f"connector {step.connector} created STOPPED, with the config in {step.file}"

    return access.ask_worker(create)


def delete_connector(step: DeleteConnector, _: Recheck, *, access: ClusterAccess) -> str:
    """DELETE; nothing where it does not exist."""

    def delete(rest: RestClient) -> str:
        if config_of(rest, step.connector) is None:
            return f"connector {step.connector} does not exist: there is nothing to delete"
        rest.request("DELETE", connector_path(step.connector))
        return f"connector {step.connector} deleted"

    return access.ask_worker(delete)


APPLIED: Final = "was it applied, and does the operator run? `kubectl describe` shows its conditions; then "
AGAIN: Final = "`eosctl apply` of the same plan continues here; --timeout sets its wait"


def await_operator(
    step: AwaitOperator, _: Recheck, *, access: ClusterAccess, checks: ResumeChecks, say: Callable[[str], None]
) -> str:
    """Waits until a worker answers the config and the state of the resource; WaitTimedOut names the missing part.

    Before a connector may run, workers must answer the offsets in its topic: Refused if they do not.
    """

    def wait(rest: RestClient) -> str:
        if step.offsets_topic is not None:
            await_answer(rest, step, checks, access.timeout_s)
        file = _file(rest, step)
        say(f"apply {file} now, if it is not: waiting for the operator of connector {step.connector}")
        began, what = time.monotonic(), f"to be {step.state} as in {file}"
        _await_settings(rest, step, Deadline(access.timeout_s, began))
        if step.state == "STOPPED":
            await_stopped(rest, step.connector, what, access.timeout_s, began)
            return f"connector {step.connector} is STOPPED without tasks, as in {file}"
        running = partial(is_running, is_restarted=checks.is_restarted)
        tasks = await_state(rest, step.connector, running, what, access.timeout_s, began)
        return f"connector {step.connector} is {step.state} with {pluralize(len(tasks), 'task')}, as in {file}"

    try:
        return access.ask_worker(wait)
    except WaitTimedOut as error:
        raise WaitTimedOut(error.message, hint=APPLIED + AGAIN) from error


def _file(rest: RestClient, step: AwaitOperator) -> str:
    """The resource to apply: the one that leaves the connector's config as it is."""
    if step.changed_file is None:
        return step.file
    config = config_of(rest, step.connector) or {}
    return step.changed_file if all(config.get(key) == value for key, value in step.changed.items()) else step.file


def _await_settings(rest: RestClient, step: AwaitOperator, deadline: Deadline) -> None:
    while True:
        config = config_of(rest, step.connector)
        different = [key for key, value in step.settings.items() if config is None or config.get(key) != value]
        if config is not None and not different:
            return
        if not deadline.pause(POLL_S):
            lacking = "it does not exist" if config is None else f"{different[0]} is {config.get(different[0])}"
            raise WaitTimedOut(f"waited for connector {step.connector} to have the config in {step.file}; {lacking}")
