"""Java client properties as kafka-python takes them."""

import logging
from typing import TYPE_CHECKING, Any, Final

from eosctl import __version__
from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from kafka.net.manager import KafkaConnectionManager

LARGEST_RESPONSE: Final = 1 << 30
LONGEST_BACKOFF_MS: Final = 1000
UNBOUNDED: Final = 1 << 20


CLOSING_SCHEME: Final = "eosctl"


def connection_manager(net: Any, properties: ClientProperties) -> "KafkaConnectionManager":  # noqa: ANN401  untyped library
    """kafka-python's connection manager on the loop `net`, for the cluster and identity of `properties`.

    It differs from the library's in what happens to a connection that fails: its socket is closed, and what the broker
    sent before it closed (the reason why SASL failed) is delivered.
    """
    from kafka.errors import KafkaConnectionError
    from kafka.net.inet import KafkaNetSocket, create_connection
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

    class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]  # the library is untyped
        SCHEMES = (CLOSING_SCHEME,)

        async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401
            try:
                return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
            except BaseException:
                sock.close()
                raise

    class Manager(KafkaConnectionManager):  # type: ignore[misc]  # the library is untyped
        async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:  # noqa: ANN401
            options, proxy_url = self.config["socket_options"], self.config["proxy_url"]
            sock = await create_connection(self._net, node.host, node.port, options, proxy_url, timeout_at)
            if self.ssl_enabled:
                context = self.config["ssl_context"]
                transport = KafkaSSLTransport(self._net, sock, host=node.host, ssl_context=context)
            else:
                transport = KafkaTCPTransport(self._net, sock, host=node.host)
            try:
                await transport.handshake()
            except BaseException as error:
                transport._sock.close()
                if isinstance(error, Exception):
                    raise KafkaConnectionError(f"Handshake failed: {error}") from error
                raise
            receive = transport._sock_recv

            def receive_rest_first() -> tuple[bytes, Exception | None]:
                data, error = receive()
                return (data, None) if data else (data, error)

            transport._sock_recv = receive_rest_first
            return transport

    return Manager(
        net,
        client_id=f"eosctl/{__version__}",
        proxy_url=f"{CLOSING_SCHEME}://{ClosingSocket.__name__}",
        receive_message_max_bytes=LARGEST_RESPONSE,
        max_in_flight_requests_per_connection=UNBOUNDED,
        reconnect_backoff_max_ms=LONGEST_BACKOFF_MS,
        **configuration(properties),
    )


def configuration(properties: ClientProperties) -> dict[str, object]:
    """Arguments for kafka-python's connection manager: bootstrap servers, protocol, SASL, TLS context.

    Raises ConfigError naming the property that is missing or cannot be used, Unsupported for stores that are not PEM.
    """
    # Without a handler of its own the library's log would go to stderr, between the lines of the result.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    if not properties.bootstrap_servers:
        raise ConfigError("no bootstrap server is given", hint="use -b HOST:PORT or bootstrap.servers in the file")
    settings: dict[str, object] = {
        "bootstrap_servers": list(properties.bootstrap_servers),
        "security_protocol": properties.security_protocol.value,
    }
    if properties.security_protocol.uses_sasl:
        settings |= _sasl(properties)
    if properties.security_protocol.uses_tls:
        from eosctl.clients.tls import ssl_context

        settings["ssl_context"] = ssl_context(properties)
    return settings


def _sasl(properties: ClientProperties) -> dict[str, object]:
    sasl = properties.sasl
    if sasl is None:
        raise ConfigError("security.protocol asks for SASL but sasl.jaas.config is missing")
    settings: dict[str, object] = {"sasl_mechanism": sasl.mechanism}
    if sasl.mechanism == "GSSAPI":
        return settings | {"sasl_kerberos_service_name": properties.get("sasl.kerberos.service.name") or "kafka"}
    if sasl.mechanism not in {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}:
        raise ConfigError(f"SASL mechanism {sasl.mechanism} is not supported", hint="use PLAIN, SCRAM or GSSAPI")
    if sasl.username is None or sasl.password is None:
        raise ConfigError(f"{sasl.mechanism} needs username and password in sasl.jaas.config")
    return settings | {"sasl_plain_username": sasl.username, "sasl_plain_password": sasl.password}
