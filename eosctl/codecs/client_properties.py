"""Command line and properties text -> ClientProperties."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from eosctl.codecs import jaas
from eosctl.codecs.config_providers import Lookup, resolve_references
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.secrets import mask_url
from eosctl.errors import ConfigError, UsageError
from eosctl.model.client_properties import (
    ClientProperties,
    Property,
    SaslCredentials,
    SecurityProtocol,
    is_broker_address,
    listed,
)

WITH_PASSWORD = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


def client_properties(
    *,
    command_config: str | None = None,
    command_config_name: str = "--command-config",
    extra: Sequence[str] = (),
    bootstrap_server: str | None = None,
    basis: Mapping[str, Property] = MappingProxyType({}),
    lookup: Lookup | None = None,
) -> ClientProperties:
    """The client properties that the command line adds up to; each remembers where it was given.

    1. Lowest: `basis`, what a profile says.
    2. Over it: the Java properties text of `--command-config`.
    3. Over it: `extra`, the `key=value` of each `-X`, the last one of a key winning.
    4. Highest: `bootstrap_server` (`-b`), which replaces `bootstrap.servers`.
    5. With `lookup`, references to config providers are replaced by their values, where they win.

    Raises ConfigError naming key and origin, UsageError for an `-X` without `=`.
    """
    merged: dict[str, Property] = dict(basis)
    if command_config is not None:
        decoded = decode_properties(command_config, origin=command_config_name)
        merged |= {key: Property(value.strip(), command_config_name) for key, value in decoded.items()}
    for text in extra:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():  # which is not said: it may be the end of a secret
            raise UsageError("-X takes key=value", hint="for example -X security.protocol=SASL_SSL")
        merged[key.strip()] = Property(value.strip(), "-X")
    if bootstrap_server is not None:
        merged["bootstrap.servers"] = Property(bootstrap_server, "-b")
    return from_properties(merged if lookup is None else _resolved(merged, lookup))


def _resolved(properties: Mapping[str, Property], lookup: Lookup) -> dict[str, Property]:
    declared = {key: given.value for key, given in properties.items() if key.startswith("config.providers")}
    resolved = {}
    for key, given in properties.items():
        values = resolve_references({**declared, key: given.value}, lookup, origin=given.origin)
        # As in Java's ConfigDef, which also takes the line end off a password from a file.
        resolved[key] = Property(values[key].strip(), given.origin)
    return resolved


def from_properties(properties: Mapping[str, Property]) -> ClientProperties:
    """ClientProperties with what the properties say about address, protocol and credentials, checked."""
    protocol = _security_protocol(properties.get("security.protocol"))
    return ClientProperties(
        bootstrap_servers=_bootstrap_servers(properties.get("bootstrap.servers")),
        security_protocol=protocol,
        sasl=_credentials(properties) if protocol.uses_sasl else None,
        properties=dict(properties),
    )


def _security_protocol(given: Property | None) -> SecurityProtocol:
    if given is None:
        return SecurityProtocol.PLAINTEXT
    try:
        return SecurityProtocol(given.value.upper())
    except ValueError:
        raise ConfigError(
            f"security.protocol from {given.origin} is {given.value!r}; it must be one of {', '.join(SecurityProtocol)}"
        ) from None


def _bootstrap_servers(given: Property | None) -> tuple[str, ...]:
    if given is None:
        return ()
    servers = tuple(listed(given.value))
    if "@" in given.value:
        raise ConfigError(
            f"bootstrap.servers from {given.origin} holds a user or password: {mask_url(given.value)}",
            hint="brokers are HOST:PORT,…; user and password are in sasl.jaas.config",
        )
    for server in servers:
        if not is_broker_address(server):
            raise ConfigError(f"bootstrap.servers from {given.origin}: {mask_url(server)!r} is not HOST:PORT")
    return tuple(server.rpartition("://")[2] for server in servers)


def _credentials(properties: Mapping[str, Property]) -> SaslCredentials:
    given = properties.get("sasl.mechanism")
    mechanism = given.value if given else "GSSAPI"
    login = properties.get("sasl.jaas.config")
    if mechanism not in WITH_PASSWORD:
        return SaslCredentials(mechanism)
    if login is None:
        raise ConfigError(f"sasl.mechanism is {mechanism} but sasl.jaas.config is missing")
    options = jaas.decode_jaas(login.value)[0].options
    for option in ("username", "password"):
        if option not in options:
            raise ConfigError(f"sasl.jaas.config from {login.origin} has no {option}, which {mechanism} needs")
    return SaslCredentials(mechanism, options["username"], options["password"])
