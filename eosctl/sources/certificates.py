"""The subject of the certificate that a client of Connect shows, read from the keystore that its properties name."""

from collections.abc import Mapping
from typing import Final

from eosctl.clients.stores import read_stores
from eosctl.errors import ConfigError, EosctlError
from eosctl.model.client_properties import ClientProperties, Property

NAME_IT: Final = "name the principal instead: --principal ROLE=User:NAME"


def read_subject(properties: Mapping[str, Property]) -> str:
    """The certificate's distinguished name, as brokers show it; trust stores are left alone.

    Raises ConfigError or Unsupported naming property, origin and file for a store that cannot be read.
    """
    own = {key: each for key, each in properties.items() if key.startswith(("ssl.keystore.", "ssl.key."))}
    try:
        certificate = read_stores(ClientProperties((), properties=own)).own
    except EosctlError as error:
        raise type(error)(error.message, hint=error.hint or NAME_IT) from error
    if certificate is None:
        raise ConfigError("security.protocol is SSL, but no keystore is named", hint=NAME_IT)
    return certificate.subject
