"""A connector's offsets as a worker answers them (KIP-875)."""

from eosctl.clients.rest import NotFound, RestClient
from eosctl.clients.rest_answers import decoding, list_of, object_of
from eosctl.model.connectors import connector_path
from eosctl.model.exported_offsets import ConnectorOffset


def answered_offsets(rest: RestClient, connector: str) -> tuple[ConnectorOffset, ...] | None:
    """`GET /connectors/C/offsets` of a source connector; None from a worker that has no answer (404, before 3.5)."""
    path = f"{connector_path(connector)}/offsets"
    try:
        body = rest.get(path)
    except NotFound:
        return None
    with decoding(f"{rest.url}{path} answered an entry that is not an offset's"):
        return tuple(
            ConnectorOffset(object_of(each["partition"]), None if each["offset"] is None else object_of(each["offset"]))
            for each in list_of(object_of(body)["offsets"])
        )
