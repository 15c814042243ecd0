"""References to config providers in property values: `${provider:path:key}` and `${provider:key}` (KIP-297)."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from eosctl.errors import ConfigError
from eosctl.model.client_properties import REFERENCE, listed

Lookup = Callable[[str, str, str], str]
"""(class of the provider, path, key) -> the value; raises ConfigError."""

PACKAGE: Final = "org.apache.kafka.common.config.provider."
KNOWN: Final[Mapping[str, str]] = {
    "file": f"{PACKAGE}FileConfigProvider",
    "env": f"{PACKAGE}EnvVarConfigProvider",
    "dir": f"{PACKAGE}DirectoryConfigProvider",
}


def no_lookup(provider: str, path: str, key: str) -> str:
    """The Lookup where references cannot be resolved: raises ConfigError."""
    raise ConfigError(f"references to config providers are not resolved here: {key}")


def resolve_references(properties: Mapping[str, str], lookup: Lookup, *, origin: str) -> dict[str, str]:
    """The properties with each reference replaced by what `lookup` says; what it gives is not resolved again.

    1. `config.providers` names the providers, `config.providers.<name>.class` says what each is.
    2. Names that are not declared there stand for Kafka's own: `file`, `env`, `dir`.
    3. Any other `${...}` is left as it is, as Kafka does.

    Raises ConfigError naming `origin`, key and reference, but no value.
    """
    classes = {**KNOWN}
    for name in listed(properties.get("config.providers", "")):
        classes[name] = properties.get(f"config.providers.{name}.class", classes.get(name, "unknown"))

    def resolved(key: str, value: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            provider, path, name = match[1], match[2] or "", match[3]
            if provider not in classes:
                return match[0]
            try:
                return lookup(classes[provider], path, name)
            except ConfigError as error:
                raise ConfigError(f"{key} from {origin}: {match[0]}: {error.message}", hint=error.hint) from error

        return REFERENCE.sub(replaced, value)

    return {
        key: value if key.startswith("config.providers") else resolved(key, value) for key, value in properties.items()
    }
