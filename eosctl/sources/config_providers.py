"""Kafka's config providers: values from properties files, from the environment, and from files of a directory."""

import os
from pathlib import Path

from eosctl.codecs.config_providers import KNOWN
from eosctl.codecs.properties import decode_properties
from eosctl.errors import ConfigError
from eosctl.files import PROVIDED, read_text


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
