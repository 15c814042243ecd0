"""A connector's offsets as a worker answers them (KIP-875)."""

from eosctl.clients.rest import RestClient
from eosctl.errors import Refused, Undecodable
from eosctl.model.connectors import connector_path
from eosctl.model.exported_offsets import ConnectorOffset


def answered_offsets(rest: RestClient, connector: str) -> tuple[ConnectorOffset, ...] | None:
    """`GET /connectors/C/offsets` of a source connector; None from a worker that has no answer (404, before 3.5)."""
    path = f"{connector_path(connector)}/offsets"
    try:
        body = rest.get(path)
    except Refused as error:
        if "answered 404" in error.message:
            return None
        raise
    entries = body.get("offsets") if isinstance(body, dict) else None
    try:
        return tuple(ConnectorOffset(dict(each["partition"]), each["offset"]) for each in entries or ())
    except (KeyError, TypeError, ValueError) as error:
        raise Undecodable(f"{rest.url}{path} answered an entry that is not an offset's") from error
