"""Waiting for the operator of a connector, which changes it as its resource says. It can be repeated."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_configs import config_of
from eosctl.errors import WaitTimedOut
from eosctl.executors.apply import Recheck
from eosctl.executors.connectors import POLL_S, ResumeChecks, await_answer, await_state, await_stopped, is_running
from eosctl.model.connector_steps import AwaitOperator
from eosctl.model.counts import counted

APPLIED: Final = "was it applied, and does the operator run? `kubectl describe` shows what it did; then "
AGAIN: Final = "`eosctl apply` of the same plan goes on here; --timeout is how long it waits"


def await_operator(
    step: AwaitOperator, _: Recheck, *, access: ClusterAccess, checks: ResumeChecks, say: Callable[[str], None]
) -> str:
    """Waits until a worker answers the config and the state of the resource; WaitTimedOut says what was not seen.

    Before a connector may run, workers must answer the offsets in its topic: Refused where they do not.
    """

    def wait(rest: RestClient) -> str:
        if step.offsets_topic is not None:
            await_answer(rest, step, checks, access.timeout_s)
        file = _file(rest, step)
        say(f"apply {file} now, if it is not: waiting for the operator of connector {step.connector}")
        began, what = time.monotonic(), f"to be {step.state} as {file} says"
        _await_settings(rest, step, Deadline(access.timeout_s, began))
        if step.state == "STOPPED":
            await_stopped(rest, step.connector, what, access.timeout_s, began)
            return f"connector {step.connector} is STOPPED without tasks, as {file} says"
        running = partial(is_running, is_restarted=checks.is_restarted)
        tasks = await_state(rest, step.connector, running, what, access.timeout_s, began)
        return f"connector {step.connector} is {step.state} with {counted(len(tasks), 'task')}, as {file} says"

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
            raise WaitTimedOut(f"waited for connector {step.connector} to be configured as {step.file} says; {lacking}")
