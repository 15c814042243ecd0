"""A connector's config as a worker keeps it."""

from eosctl.clients import rest_answers
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_answers import decoding, texts_of
from eosctl.model.connectors import connector_path


def config_of(rest: RestClient, connector: str) -> dict[str, str | None] | None:
    """The connector's config as Connect keeps it, references to config providers unresolved; None if it is unknown."""
    listed = rest.get("/connectors")
    with decoding(f"{rest.url}/connectors answered no list of connectors"):
        if connector not in texts_of(listed):
            return None
    config = rest.get(f"{connector_path(connector)}/config")
    with decoding(f"{rest.url}{connector_path(connector)}/config answered no config of a connector"):
        return rest_answers.config_of(config)
