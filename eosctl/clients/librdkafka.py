"""ClientProperties as librdkafka (confluent-kafka) takes them, and its clients made from them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eosctl import __version__
from eosctl.clients.stores import read_stores
from eosctl.clients.tls import verifies_host_names
from eosctl.codecs.tls_limits import TLS_1_2, decode_tls_limits
from eosctl.errors import ConfigError, Unsupported
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

Configuration = dict[str, str | int | bool]
Client = TypeVar("Client")

JAVA_PARTITIONER = "murmur2_random"
"""The partitioner that puts a key where Java's producer puts it; librdkafka's default does not."""

NOTHING_OF_TLS_1_2: Final = "PSK-AES128-GCM-SHA256"
"""A suite that OpenSSL only offers with a shared secret, which librdkafka never has: TLS 1.3 is left."""


def configuration(properties: ClientProperties) -> Configuration:
    """Settings that every librdkafka client of this cluster needs: addresses, protocol, SASL, stores, client.id.

    Raises ConfigError naming what is missing or wrong, Unsupported for a store that cannot be read.
    """
    properties.require_named()
    if not properties.bootstrap_servers:
        raise ConfigError("no bootstrap server is given", hint="use -b HOST:PORT or bootstrap.servers in the file")
    settings: Configuration = {
        "bootstrap.servers": ",".join(properties.bootstrap_servers),
        "security.protocol": properties.security_protocol.value,
        "client.id": f"eosctl/{__version__}",
    }
    if properties.sasl is not None:
        settings |= _sasl(properties)
    if properties.security_protocol.uses_tls:
        settings |= _tls(properties)
    return settings


def _sasl(properties: ClientProperties) -> Configuration:
    sasl = properties.sasl
    assert sasl is not None
    settings: Configuration = {"sasl.mechanism": sasl.mechanism}
    if sasl.username is not None and sasl.password is not None:
        settings |= {"sasl.username": sasl.username, "sasl.password": sasl.password}
    if sasl.mechanism == "GSSAPI":
        settings |= _kerberos(properties)
    return settings


def _kerberos(properties: ClientProperties) -> Configuration:
    from eosctl.clients.kerberos import keytab_of

    settings: Configuration = {}
    keytab, service = keytab_of(properties), properties.get("sasl.kerberos.service.name")
    if keytab is not None:
        settings |= {"sasl.kerberos.keytab": keytab[0], "sasl.kerberos.principal": keytab[1]}
    return settings if service is None else settings | {"sasl.kerberos.service.name": service}


def _tls(properties: ClientProperties) -> Configuration:
    stores = read_stores(properties)
    settings: Configuration = {
        "ssl.endpoint.identification.algorithm": "https" if verifies_host_names(properties) else "none"
    }
    # librdkafka has a setting for suites of TLS 1.2 and none for versions or for suites of TLS 1.3.
    limits = decode_tls_limits(properties)
    if TLS_1_2 not in limits.versions:
        settings["ssl.cipher.suites"] = NOTHING_OF_TLS_1_2
    elif limits.openssl_suites is not None:
        settings["ssl.cipher.suites"] = ":".join(limits.openssl_suites)
    if stores.trusted is not None:
        settings["ssl.ca.pem"] = stores.trusted
    if stores.own is not None:
        settings |= {"ssl.certificate.pem": stores.own.chain, "ssl.key.pem": stores.own.key}
    return settings


def consumer(properties: ClientProperties, **settings: str | int | bool) -> "Consumer":
    """A consumer for assigned partitions: never commits, never creates topics; settings use `_` for `.`."""
    from confluent_kafka import Consumer

    basis: Configuration = {
        "group.id": "eosctl",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "allow.auto.create.topics": False,
        "auto.offset.reset": "error",
    }
    return _made(Consumer, _settings(properties, basis | _dotted(settings)))


def producer(properties: ClientProperties, **settings: str | int | bool) -> "Producer":
    """An idempotent producer that partitions as Java does; settings use `_` for `.`."""
    from confluent_kafka import Producer

    basis: Configuration = {"partitioner": JAVA_PARTITIONER, "enable.idempotence": True}
    return _made(Producer, _settings(properties, basis | _dotted(settings)))


class OpenTransaction:
    """A producer under `transactional_id` that has written one record in a transaction and not ended it."""

    def __init__(self, properties: ClientProperties, transactional_id: str, topic: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._producer = producer(properties, transactional_id=transactional_id)
        self._producer.init_transactions(timeout_s)
        self._producer.begin_transaction()
        self._producer.produce(topic, b"in an open transaction")
        self._producer.flush(timeout_s)

    def commit(self) -> str | None:
        """Commit it: None, or the error's name and text where that was refused."""
        from confluent_kafka import KafkaException

        try:
            self._producer.commit_transaction(self._timeout_s)
        except KafkaException as error:
            return f"{error.args[0].name()}: {error.args[0].str()}"
        return None


def admin_client(properties: ClientProperties, on_error: "Callable[[KafkaError], None] | None" = None) -> "AdminClient":
    """An AdminClient. Keep it referenced until its futures are done: collecting it fails them with _DESTROY.

    `on_error` gets what goes wrong with connections, within `poll`.
    """
    from confluent_kafka.admin import AdminClient

    settings = _settings(properties, {})
    if on_error is not None:
        settings["error_cb"] = on_error
    return _made(AdminClient, settings)


def _made(kind: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    """A client of that kind; Unsupported or ConfigError where librdkafka does not take the settings."""
    from confluent_kafka import KafkaException

    try:
        return kind(settings)
    except KafkaException as error:
        reason = error.args[0].str()
        if "No provider for SASL mechanism" in reason:
            raise Unsupported(
                f"librdkafka, which writes offsets and topics, is built without {settings['sasl.mechanism']} here",
                hint="build it with libsasl2, then pip install --no-binary confluent-kafka confluent-kafka",
            ) from error
        raise ConfigError(f"librdkafka does not take the client properties: {reason}") from error


def _settings(properties: ClientProperties, basis: Configuration) -> dict[str, Any]:
    settings = _silent(configuration(properties) | basis)
    if properties.sasl is not None and properties.sasl.mechanism == "OAUTHBEARER":
        from eosctl.clients.oauthbearer import TokenSource

        source = TokenSource(properties)
        # A failure to get a token is raised here, as what it is, and not on the connection.
        source.token()

        def refreshed(_: str) -> tuple[str, float, str, dict[str, str]]:
            token = source.token()
            return token.text, token.expires_at_s, token.principal, source.extensions

        settings["oauth_cb"] = refreshed
    return settings


def _dotted(settings: dict[str, str | int | bool]) -> Configuration:
    return {key.replace("_", "."): value for key, value in settings.items()}


def _silent(settings: Configuration) -> dict[str, Any]:
    """librdkafka writes its log to stderr; what matters of it comes back as errors of the calls.

    Below level 0 the logger is never called: called while an error is on its way, it would turn it into a SystemError.
    """
    import logging

    logger = logging.getLogger("eosctl.librdkafka")
    logger.addHandler(logging.NullHandler())
    return {**settings, "logger": logger, "log_level": 0}
