"""A connector's offsets as a worker answers them (KIP-875)."""

from typing import Any

from eosctl.clients.rest import NotFound, RestClient
from eosctl.errors import Undecodable
from eosctl.model.connectors import connector_path
from eosctl.model.exported_offsets import ConnectorOffset


def answered_offsets(rest: RestClient, connector: str) -> tuple[ConnectorOffset, ...] | None:
    """`GET /connectors/C/offsets` of a source connector; None from a worker that has no answer (404, before 3.5)."""
    path = f"{connector_path(connector)}/offsets"
    try:
        body = rest.get(path)
    except NotFound:
        return None
    try:
        return tuple(ConnectorOffset(dict(each["partition"]), each["offset"]) for each in _entries(body))
    except (KeyError, TypeError, ValueError) as error:
        raise Undecodable(f"{rest.url}{path} answered an entry that is not an offset's") from error


def _entries(body: object) -> list[Any]:
    """`offsets` of the answer; TypeError where it has none."""
    entries = body.get("offsets") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise TypeError("no list of offsets")
    return entries
