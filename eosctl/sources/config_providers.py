"""Kafka's config providers: values from properties files, from the environment, and from files of a directory."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eosctl.clients.tls import read_stores
from eosctl.codecs.client_properties import KNOWN
from eosctl.codecs.properties import decode_properties
from eosctl.errors import ConfigError, EosctlError
from eosctl.files import PROVIDED, read_text
from eosctl.model.client_properties import ClientProperties, Property


def look_up(provider: str, path: str, key: str) -> str:
    """The value of `key`: of the properties file `path`, of the environment, or of the file `key` in directory `path`.

    `provider` is the class. As in Java, files are UTF-8 and nothing is trimmed. Raises ConfigError where there is no
    such provider, file or key.
    """
    if provider == KNOWN["env"]:
        if key not in os.environ:
            raise ConfigError(f"the environment has no {key}")
        return os.environ[key]
    if provider == KNOWN["file"]:
        found = decode_properties(read_text(Path(path), PROVIDED), origin=path)
        if key not in found:
            raise ConfigError(f"{path} has no key {key}")
        return found[key]
    if provider == KNOWN["dir"]:
        # Java's provider gives the files of this one directory, and nothing outside it.
        if Path(key).name != key:
            raise ConfigError(f"{key} is not the name of a file in {path}")
        return read_text(Path(path, key), PROVIDED)
    raise ConfigError(f"config provider {provider} is not known here", hint=f"known are {', '.join(KNOWN.values())}")


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
