"""ClientProperties as librdkafka (confluent-kafka) takes them, and its clients made from them."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, librdkafka_error
from eosctl.clients.leaders import ANSWER_S, await_brokers
from eosctl.clients.messages import topics_metadata
from eosctl.clients.tls import read_stores, verifies_host_names
from eosctl.clients.wire import Wire
from eosctl.codecs.tls import TLS_1_2, decode_tls_limits
from eosctl.errors import ConfigError, EosctlError, Refused, TimedOut, Unsupported
from eosctl.model.client_properties import ClientProperties
from eosctl.model.text import pluralize
from eosctl.version import __version__

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

    Raises ConfigError naming the missing or wrong setting, Unsupported for a store that cannot be read.
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
    return _create_client(Consumer, _settings(properties, basis | _dotted(settings)))


def producer(properties: ClientProperties, **settings: str | int | bool) -> "Producer":
    """An idempotent producer that partitions as Java does; settings use `_` for `.`."""
    from confluent_kafka import Producer

    basis: Configuration = {"partitioner": JAVA_PARTITIONER, "enable.idempotence": True}
    return _create_client(Producer, _settings(properties, basis | _dotted(settings)))


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
    return _create_client(AdminClient, settings)


def _create_client(kind: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    from confluent_kafka import KafkaException

    for name, value in settings.items():
        if isinstance(value, str):
            _require_whole(value, name)
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


def _require_whole(text: str, name: str) -> None:
    """Raises Refused for a text with a NUL character: librdkafka is written in C, and would use the part before it.

    That part is another transactional ID, topic or password.
    """
    if "\0" in text:
        raise Refused(f"{name} has a NUL character, and librdkafka would take only the text before it")


def _settings(properties: ClientProperties, basis: Configuration) -> dict[str, Any]:
    settings = _silent(configuration(properties) | basis)
    if properties.sasl is not None and properties.sasl.mechanism == "OAUTHBEARER":
        from eosctl.clients.oauthbearer import TokenSource

        source = TokenSource(properties)
        # A failed token request is raised here, with its own error, instead of on the connection.
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


QUEUE: Final = 10_000_000
"""queue.buffering.max.messages, librdkafka's greatest: the whole transaction may wait for the broker."""


class PartitionRecord(NamedTuple):
    partition: int
    key: bytes
    value: bytes | None


class TransactionalProducer:
    """The holder of `transactional_id` from its first call on: all others that hold it are fenced.

    A context manager: leaving it by an exception aborts the transaction that is open. Every call is bounded by
    `timeout_s` and raises an EosctlError: NotAuthorized names the TransactionalId or the topic, Refused means that
    another producer took the ID.
    """

    def __init__(
        self, properties: ClientProperties, transactional_id: str, *, transaction_timeout_ms: int, timeout_s: float
    ) -> None:
        self.transactional_id = transactional_id
        self._properties = properties
        self._timeout_s = timeout_s
        self.open = False
        self._producer = producer(
            properties,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            queue_buffering_max_messages=QUEUE,
            linger_ms=5,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.open:
            self.abort()

    def initialise(self) -> None:
        """InitProducerId: fences the former holder and waits until its transaction is aborted or committed.

        Raises OtherCluster if this client's brokers are not of the cluster that its properties name. The cluster is
        checked again afterwards: a producer of the one cluster has no transaction in the other.
        """
        self._require_cluster()
        self._call("init_transactions", f"TransactionalId {self.transactional_id}")
        self._require_cluster()

    def _require_cluster(self) -> None:
        from confluent_kafka import KafkaException

        if self._properties.cluster_id is None:
            return
        try:
            found = self._producer.list_topics(timeout=self._timeout_s).cluster_id
        except KafkaException as error:
            raise self._meaning(error.args[0], "Cluster kafka-cluster") from error
        self._properties.require_cluster(str(found), ",".join(self._properties.bootstrap_servers))

    def begin(self) -> None:
        self._producer.begin_transaction()
        self.open = True

    def write(self, topic: str, records: Iterable[PartitionRecord]) -> int:
        """Queue the records and return how many they were; they are sent in the background.

        There is no callback for each: a record that is not delivered makes the commit fail.
        """
        from confluent_kafka import KafkaException

        _require_whole(topic, f"topic {topic}")
        produce, count = self._producer.produce, 0
        try:
            for count, (partition, key, value) in enumerate(records, 1):  # noqa: B007  # counted for the answer
                produce(topic, value, key, partition)
        except KafkaException as error:
            raise self._meaning(error.args[0], f"Topic {topic}") from error
        return count

    def flush(self, topic: str) -> None:
        """Wait until all records written so far are acknowledged; TimedOut where some are not."""
        from confluent_kafka import KafkaException

        try:
            left = self._producer.flush(self._timeout_s)
        except KafkaException as error:
            raise self._meaning(error.args[0], f"Topic {topic}") from error
        if left:
            raise TimedOut(
                f"{pluralize(left, 'record')} for topic {topic} not acknowledged within {self._timeout_s:g} s"
            )

    def commit(self, topic: str) -> None:
        """Commit: all records become visible together. Asked again while that is safe, until the time is up.

        A TimedOut leaves it open whether the transaction was committed: the next InitProducerId shows it.
        """
        with _interrupted_later():
            self._call("commit_transaction", f"Topic {topic}")
            self.open = False

    def abort(self) -> str | None:
        """Abort the open transaction: None, or why that was not confirmed (the coordinator does it in time)."""
        self.open = False
        try:
            self._call("abort_transaction", f"TransactionalId {self.transactional_id}")
        except EosctlError as error:
            return error.message
        return None

    def _call(self, name: str, resource: str) -> None:
        from confluent_kafka import KafkaException

        deadline = monotonic() + self._timeout_s
        while True:
            try:
                getattr(self._producer, name)(max(0.1, deadline - monotonic()))
                return
            except KafkaException as error:
                cause = error.args[0]
                if not cause.retriable() or monotonic() >= deadline:
                    raise self._meaning(cause, resource) from error

    def _meaning(self, error: "KafkaError", resource: str) -> EosctlError:
        if error.name() in {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}:
            return Refused(
                f"another producer took transactional ID {self.transactional_id}: {error.str()}",
                hint="does the connector run, or another eosctl? Nothing of this transaction was committed",
            )
        if error.name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            resource = f"TransactionalId {self.transactional_id}"
        return librdkafka_error(error, principal=self._properties.principal, operation="Write", resource=resource)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Delay Ctrl-C until the outcome of the commit is known."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught:
            handler(*caught[0])


def create_topic(
    properties: ClientProperties,
    topic: str,
    *,
    partitions: int,
    replication_factor: int,
    settings: Mapping[str, str],
    timeout_s: float,
) -> bool:
    """CreateTopics; False where the topic exists already. replication_factor -1 is the broker's default (KIP-464).

    Raises NotAuthorized (Create on the topic), ConfigError for settings that the broker refuses, OtherCluster.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # re-exported from its C module

    for name, text in (
        (f"topic {topic}", topic),
        *((f"setting {key}", key + value) for key, value in settings.items()),
    ):
        _require_whole(text, name)
    admin = _admin(properties, timeout_s)
    wanted = NewTopic(topic, partitions, replication_factor, config=dict(settings))
    try:
        admin.create_topics([wanted], operation_timeout=timeout_s, request_timeout=timeout_s)[topic].result(timeout_s)
    except KafkaException as error:
        cause = error.args[0]
        if cause.name() == "TOPIC_ALREADY_EXISTS":
            return False
        resource = f"Topic {topic}"
        raise librdkafka_error(cause, principal=properties.principal, operation="Create", resource=resource) from error
    return True


def _admin(properties: ClientProperties, timeout_s: float) -> "AdminClient":
    """A client whose brokers are of the cluster that the properties name; raises OtherCluster where they are not."""
    from confluent_kafka import KafkaException

    admin, servers = admin_client(properties), ",".join(properties.bootstrap_servers)
    if properties.cluster_id is not None:
        try:
            found = admin.describe_cluster(request_timeout=timeout_s).result(timeout_s).cluster_id
        except KafkaException as error:
            what = {"operation": "DescribeCluster", "resource": servers}
            raise librdkafka_error(error.args[0], principal=properties.principal, **what) from error
        properties.require_cluster(str(found), servers)
    return admin


def await_topic(wire: Wire, topic: str, *, timeout_s: float) -> None:
    """Waits until each broker that answers knows the topic, which exists; raises TimedOut where one does not."""

    def lacking(node_id: int) -> str | None:
        [found] = wire.request(node_id, topics_metadata([topic]), timeout_s=ANSWER_S).topics
        if found.error_code != UNKNOWN_TOPIC_OR_PARTITION:
            return None
        return f"topic {topic} exists, and broker {node_id} does not know it"

    await_brokers(wire, lacking, timeout_s=timeout_s)


def delete_topic(properties: ClientProperties, topic: str, *, timeout_s: float) -> bool:
    """DeleteTopics; False where there is no such topic. Raises NotAuthorized (Delete on the topic)."""
    from confluent_kafka import KafkaException

    _require_whole(topic, f"topic {topic}")
    admin = _admin(properties, timeout_s)
    try:
        admin.delete_topics([topic], operation_timeout=timeout_s, request_timeout=timeout_s)[topic].result(timeout_s)
    except KafkaException as error:
        cause = error.args[0]
        if cause.name() == "UNKNOWN_TOPIC_OR_PART":
            return False
        resource = f"Topic {topic}"
        raise librdkafka_error(cause, principal=properties.principal, operation="Delete", resource=resource) from error
    return True
