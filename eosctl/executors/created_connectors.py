"""Creating a connector STOPPED with the config in a file, and deleting such a one. Each can be repeated."""

import time
from collections.abc import Callable

from eosctl.clients.access import ClusterAccess
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_configs import config_of
from eosctl.codecs.connector_files import config_digest, decode_connector
from eosctl.errors import Refused
from eosctl.executors.apply import Recheck
from eosctl.executors.connectors import await_stopped, require_version
from eosctl.model.connector_steps import CreateConnector, DeleteConnector
from eosctl.model.connectors import connector_path
from eosctl.model.versions import INITIAL_STATE

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
