"""The settings in a worker's file, as far as the rules need it: nothing that may be a secret is kept."""

import re
from collections.abc import Mapping
from typing import Final

from eosctl.codecs.secrets import mask_properties
from eosctl.codecs.worker_files import decode_worker_settings
from eosctl.model.client_properties import HIDDEN

_KEPT: Final = re.compile(
    r"group\.id|(?:config|offset|status)\.storage\.topic|bootstrap\.servers|connect\.protocol|clusters"
    r"|(?:.+->.+\.|.+\.)?exactly\.once\.source\.support|exactly\.once\.source\.enabled|offset\.flush\.interval\.ms"
    r"|(?:admin\.)?retry\.backoff(?:\.max)?\.ms|dedicated\.mode\.enable\.internal\.rest"
    r"|offset\.storage\.file\.filename|listeners|rest\.advertised\.(?:host\.name|port|listener)"
    r"|connector\.client\.config\.override\.(?:policy|allowlist)"
    r"|inter\.worker\.(?:signature\.algorithm|verification\.algorithms)"
)
_OF_CLIENTS: Final = ("producer.", "consumer.", "admin.")
_DEFAULT_PORT: Final = "8083"


def decode_worker_properties(text: str, origin: str) -> Mapping[str, str]:
    """The settings that decide about exactly-once, where the worker is, and what its connectors' clients inherit.

    All others are left out, and so are those of clients that may be secrets.
    """
    found = decode_worker_settings(text, origin)
    shown = mask_properties(found)
    return {
        key: value
        for key, value in found.items()
        if _KEPT.fullmatch(key) or (key.startswith(_OF_CLIENTS) and shown[key] != HIDDEN)
    }


def advertised_address(properties: Mapping[str, str]) -> str | None:
    """`host:port` under which the worker says that others reach it; None where the file does not name the host."""
    listener = properties.get("listeners", "").split(",")[0].partition("://")[2].rstrip("/")
    host, _, port = listener.rpartition(":")
    host = properties.get("rest.advertised.host.name", host)
    return f"{host}:{properties.get('rest.advertised.port', port) or _DEFAULT_PORT}" if host else None
