"""Java client properties as kafka-python takes them."""

import logging
from typing import Any, Final

from eosctl import __version__
from eosctl.clients import kerberos, oauthbearer, tls
from eosctl.clients.kafka_connections import CLOSING_PROXY, ClosingManager
from eosctl.clients.large_frames import BEFORE_LOGIN
from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties, is_broker_address

LONGEST_BACKOFF_MS: Final = 1000
UNBOUNDED: Final = 1 << 20


def connection_manager(net: Any, properties: ClientProperties) -> ClosingManager:  # noqa: ANN401  # untyped library
    """kafka-python's connection manager on the loop `net`, for the cluster and identity of `properties`."""
    return ClosingManager(
        net,
        client_id=f"eosctl/{__version__}",
        proxy_url=CLOSING_PROXY,
        receive_message_max_bytes=BEFORE_LOGIN,
        max_in_flight_requests_per_connection=UNBOUNDED,
        reconnect_backoff_max_ms=LONGEST_BACKOFF_MS,
        **configuration(properties),
    )


def configuration(properties: ClientProperties) -> dict[str, object]:
    """Arguments for kafka-python's connection manager: bootstrap servers, protocol, SASL, TLS context.

    Raises ConfigError naming the property that is missing or cannot be used, Unsupported for a
    store that cannot be read.
    """
    # Without a handler of its own the library's log would go to stderr, between the lines of the result.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    if not properties.bootstrap_servers:
        raise ConfigError("no bootstrap server is given", hint="use -b HOST:PORT or bootstrap.servers in the file")
    for server in properties.bootstrap_servers:  # those of a connector's config were not looked at before
        if not is_broker_address(server):
            raise ConfigError(f"{server!r} of {properties.named_by or 'bootstrap.servers'} is not HOST:PORT")
    settings: dict[str, object] = {
        "bootstrap_servers": [server.rpartition("://")[2] for server in properties.bootstrap_servers],
        "security_protocol": properties.security_protocol.value,
    }
    if properties.security_protocol.uses_sasl:
        settings |= _sasl(properties)
    if properties.security_protocol.uses_tls:
        settings["ssl_context"] = tls.ssl_context(properties)
    return settings


def _sasl(properties: ClientProperties) -> dict[str, object]:
    sasl = properties.sasl
    if sasl is None:
        raise ConfigError("security.protocol asks for SASL but sasl.jaas.config is missing")
    settings: dict[str, object] = {"sasl_mechanism": sasl.mechanism}
    if sasl.mechanism == "GSSAPI":
        return settings | {"sasl_kerberos_service_name": kerberos.kerberos_service(properties)}
    if sasl.mechanism == "OAUTHBEARER":
        return settings | {"sasl_oauth_token_provider": _token_provider(properties)}
    if sasl.mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        raise ConfigError(
            f"SASL mechanism {sasl.mechanism} is not supported", hint="use PLAIN, SCRAM, OAUTHBEARER or GSSAPI"
        )
    if sasl.username is None or sasl.password is None:
        raise ConfigError(f"{sasl.mechanism} needs username and password in sasl.jaas.config")
    return settings | {"sasl_plain_username": sasl.username, "sasl_plain_password": sasl.password}


def _token_provider(properties: ClientProperties) -> object:
    from kafka.net.sasl.oauth import AbstractTokenProvider

    source = oauthbearer.TokenSource(properties)
    # A failure to get a token is raised here, as what it is, and not on the connection.
    source.token()

    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # the library is untyped
        """Tokens of `source`."""

        def token(self) -> str:
            """The token."""
            return source.token().text

        def extensions(self) -> dict[str, str]:
            """SASL extensions."""
            return source.extensions

    return Provider()
