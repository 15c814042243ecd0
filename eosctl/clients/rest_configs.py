"""Connectors as a worker keeps them: their configs and states."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from eosctl.clients import rest_answers
from eosctl.clients.rest import NotFound, RestClient
from eosctl.clients.rest_answers import decoding, object_of, texts_of
from eosctl.errors import Unreachable
from eosctl.model.connectors import connector_path

PATHS: Final = {"info": "", "status": "/status"}
NOT_TEXT: Final = "cannot be cast to class java.lang.String"
"""What a worker says of a connector whose class is no text (Herder.connectorInfo): it cannot even name its type."""
PARALLEL: Final = 8


def config_of(rest: RestClient, connector: str) -> dict[str, str | None] | None:
    """The connector's config as Connect keeps it, references to config providers unresolved; None if it is unknown."""
    listed = rest.get("/connectors")
    with decoding(f"{rest.url}/connectors answered no list of connectors"):
        if connector not in texts_of(listed):
            return None
    config = rest.get(f"{connector_path(connector)}/config")
    with decoding(f"{rest.url}{connector_path(connector)}/config answered no config of a connector"):
        return rest_answers.config_of(config)


def expanded_connectors(rest: RestClient, *kinds: str) -> dict[str, dict[str, Any]]:
    """`GET /connectors?expand=…`: for each connector what the worker says of it, by kind (info, status).

    A connector whose class is no text makes the worker fail this request for all of them: then they are asked for one
    by one, and those that can never run are left out.
    """
    path = "/connectors?" + "&".join(f"expand={kind}" for kind in kinds)
    try:
        body = rest.get(path)
    except Unreachable as error:
        if NOT_TEXT not in error.message:
            raise
        return _one_by_one(rest, kinds)
    with decoding(f"{rest.url}/connectors answered an entry that is not a connector's"):
        return {name: object_of(entry) for name, entry in object_of(body).items()}


def _one_by_one(rest: RestClient, kinds: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    listed = rest.get("/connectors")
    with decoding(f"{rest.url}/connectors answered no list of connectors"):
        # No path leads to an empty segment or a control character, and Connect runs nothing of such a name.
        names = [name for name in texts_of(listed) if name and not any(map(_is_control, name))]

    def one(name: str) -> dict[str, Any] | None:
        try:
            return {kind: object_of(rest.get(connector_path(name) + PATHS[kind])) for kind in kinds}
        except NotFound:  # it has no status yet: the one request leaves it out, too
            return None
        except Unreachable as error:
            if NOT_TEXT in error.message:
                return None
            raise

    with ThreadPoolExecutor(max_workers=PARALLEL) as pool, decoding(f"{rest.url} answered no connector"):
        found = dict(zip(names, pool.map(one, names), strict=True))
    return {name: each for name, each in found.items() if each is not None}


def _is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc"
