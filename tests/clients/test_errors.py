"""Errors of clients in Kafka's words."""

import inspect
from types import SimpleNamespace

import confluent_kafka
import httpcore
import httpcore._exceptions
import kafka.errors
import pytest

from eosctl.clients import leaders
from eosctl.clients.channel import Callbacks, Channel
from eosctl.clients.errors import (
    CHECK_HINT,
    KAFKA_PYTHON_NAMES,
    LIBRDKAFKA_NAMES,
    PROTOCOL_CODES,
    UNKNOWN_TOPIC_OR_PARTITION,
    Peer,
    connection_error,
    kind_of,
    librdkafka_error,
    plain_reason,
    protocol_error,
)
from eosctl.clients.http_transport import FAILURES
from eosctl.clients.librdkafka import await_topic
from eosctl.clients.messages import describe_producers, describe_transactions, list_transactions, write_marker
from eosctl.clients.request_log import RequestLog
from eosctl.errors import (
    ConfigError,
    NotAuthorized,
    Refused,
    TimedOut,
    Undecodable,
    Unreachable,
    Unsupported,
    UsageError,
)
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition

ROOTS = {"KafkaError", "RetriableError", "InvalidMetadataError", "BrokerResponseError", "AuthorizationError", "NoError"}
KAFKA_PYTHON = [
    error
    for _, error in inspect.getmembers(kafka.errors, inspect.isclass)
    if issubclass(error, Exception) and error.__name__ not in ROOTS
]
LIBRDKAFKA = [
    (name, code)
    for name, code in inspect.getmembers(confluent_kafka.KafkaError, lambda member: isinstance(member, int))
    if name.isupper() and code != 0
]
HTTPCORE = [
    error for _, error in inspect.getmembers(httpcore._exceptions, inspect.isclass) if issubclass(error, Exception)
]
PEER = Peer("broker:9092", "User:tool", "PLAIN")


@pytest.mark.parametrize("error", KAFKA_PYTHON, ids=lambda error: error.__name__)
def test_every_exception_of_kafka_python_has_a_meaning(error):
    assert kind_of(error, KAFKA_PYTHON_NAMES) is not None


@pytest.mark.parametrize(("name", "code"), LIBRDKAFKA, ids=str)
def test_every_error_of_librdkafka_has_a_meaning(name, code):
    assert (PROTOCOL_CODES.get(code) if code >= -1 else LIBRDKAFKA_NAMES.get(name)) is not None


@pytest.mark.parametrize("error", HTTPCORE, ids=lambda error: error.__name__)
def test_every_exception_of_httpcore_has_a_meaning(error):
    assert issubclass(error, (httpcore.TimeoutException, *FAILURES))


def test_the_libraries_were_walked():
    assert len(KAFKA_PYTHON) > 120
    assert len(LIBRDKAFKA) > 150
    assert len(HTTPCORE) > 14


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (29, NotAuthorized),
        (16, Unreachable),
        (7, TimedOut),
        (3, UsageError),
        (50, ConfigError),
        (35, Unsupported),
        (2, Undecodable),
        (90, Refused),
        (42, Unsupported),
        (9999, Unsupported),
    ],
)
def test_a_protocol_code_becomes_the_error_of_its_group(code, kind):
    error = protocol_error(code, principal="User:tool", operation="Read", resource="Topic orders")
    assert type(error) is kind
    assert "Read" in str(error)
    assert "topic orders" in str(error).lower()


def test_a_denied_read_names_principal_operation_and_resource():
    error = protocol_error(29, principal="User:tool", operation="Read", resource="Topic orders")
    assert str(error) == "User:tool lacks Read on topic orders"


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (kafka.errors.SaslAuthenticationFailedError("no"), NotAuthorized, "User:tool may not authenticate with PLAIN"),
        (
            kafka.errors.UnsupportedSaslMechanismError("SCRAM only"),
            ConfigError,
            "not offer SASL PLAIN to User:tool: SCRAM only",
        ),
        (kafka.errors.IllegalSaslStateError(), ConfigError, "broker:9092 takes no SASL login of User:tool"),
        (
            OSError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF"),
            Unreachable,
            "cannot be reached: it closed the connection",
        ),
        (kafka.errors.RequestTimedOutError("x"), TimedOut, "broker:9092 accepted the connection"),
        (
            kafka.errors.KafkaConnectionError("111 ECONNREFUSED"),
            Unreachable,
            "broker:9092 cannot be reached: Connection refused",
        ),
        (kafka.errors.InvalidReceiveError("Invalid frame"), Unreachable, "does not speak Kafka's protocol"),
        (
            kafka.errors.InvalidReceiveError("Invalid frame length: 1213486160"),
            Unreachable,
            "broker:9092 answers in HTTP",
        ),
        (OSError("gone"), Unreachable, "gone"),
    ],
)
def test_a_broken_connection_names_the_address_and_the_cause(error, kind, says):
    translated = connection_error(error, PEER)
    assert type(translated) is kind
    assert says in str(translated)


@pytest.mark.parametrize(
    ("library", "plain"),
    [
        ("111 ECONNREFUSED", "Connection refused"),
        ("[Errno 113] No route to host", "No route to host"),
        ("DNS Resolution failure", "the name of its host cannot be resolved"),
        (
            "b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
            "Connection refused",
        ),
        ("socket disconnected", "socket disconnected"),
    ],
)
def test_a_reason_is_shown_without_the_notation_of_the_library(library, plain):
    assert plain_reason(library) == plain


@pytest.mark.parametrize("error", [kafka.errors.KafkaConnectionError("x"), kafka.errors.RequestTimedOutError("x")])
def test_a_connection_that_fails_leads_to_the_check(error):
    assert connection_error(error, PEER).hint == CHECK_HINT


@pytest.mark.parametrize(
    ("code", "kind"),
    [(29, NotAuthorized), (-195, Unreachable), (-169, NotAuthorized), (-185, TimedOut), (-144, Refused)],
)
def test_an_error_of_librdkafka_keeps_its_subject(code, kind):
    error = librdkafka_error(
        confluent_kafka.KafkaError(code), principal="User:tool", operation="Write", resource="Topic orders"
    )
    assert type(error) is kind
    assert "topic orders" in str(error).lower()


PLACE = TopicPartition("t", 0)


def channel(**versions: tuple[int, int]) -> Channel:
    """A channel to a broker that answers these APIs only, by key."""
    known = SimpleNamespace(api_versions={int(key[1:]): pair for key, pair in versions.items()})
    return Channel(
        SimpleNamespace(broker_version_data=known), Peer("old:9092", "User:tool", None), RequestLog(), Callbacks()
    )


@pytest.mark.parametrize(
    ("request_", "since"),
    [
        (list_transactions(), "3.0"),
        (describe_transactions(["id"]), "3.0"),
        (describe_producers([PLACE]), "2.8"),
        (write_marker(PLACE, ProducerIdAndEpoch(1, 0), 0), "2.8"),
    ],
)
def test_a_broker_without_the_api_ends_with_6_and_the_version_that_has_it(request_, since):
    with pytest.raises(Unsupported, match="old:9092 does not know") as caught:
        channel().version(request_)
    assert caught.value.exit_code == 6
    assert caught.value.hint == f"brokers answer it from Kafka {since} on"


@pytest.mark.parametrize(
    ("request_", "since"), [(list_transactions(longer_than_ms=1), "3.8"), (list_transactions(pattern="a.*"), "4.1")]
)
def test_a_filter_that_the_broker_does_not_know_is_reported(request_, since):
    with pytest.raises(Unsupported, match="ListTransactions needs version") as caught:
        channel(k66=(0, 0)).version(request_)
    assert caught.value.hint == f"brokers answer it from Kafka {since} on"


def test_a_marker_goes_out_in_the_version_that_leaves_the_epoch_alone():
    request = write_marker(PLACE, ProducerIdAndEpoch(1, 0), 0)
    assert channel(k27=(1, 2)).version(request) == 1
    assert channel(k27=(0, 1)).version(request) == 1
    with pytest.raises(Unsupported, match="WriteTxnMarkers needs version 1 to 1"):
        channel(k27=(0, 0)).version(request)


class SlowBrokers:
    """Brokers that know the topic after this many requests; None: a broker that does not answer."""

    def __init__(self, **unknown: int | None) -> None:
        self.left = {int(name.removeprefix("b")): count for name, count in unknown.items()}
        self.asked: list[int] = []

    def brokers(self):
        return [SimpleNamespace(node_id=node_id) for node_id in self.left]

    def request(self, node_id, _, *, timeout_s):
        self.asked.append(node_id)
        left = self.left[node_id]
        if left is None:
            raise Unreachable(f"broker {node_id} does not answer")
        self.left[node_id] = max(0, left - 1)
        return SimpleNamespace(topics=[SimpleNamespace(error_code=UNKNOWN_TOPIC_OR_PARTITION if left else 0)])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "POLL_S", 0.001)


def test_each_broker_is_asked_until_it_knows_the_topic():
    brokers = SlowBrokers(b1=0, b2=3)
    await_topic(brokers, "orders-offsets", timeout_s=5)
    assert brokers.asked == [1, 2, 2, 2, 2]


def test_a_broker_that_does_not_answer_is_not_waited_for():
    brokers = SlowBrokers(b1=None, b2=1)
    await_topic(brokers, "orders-offsets", timeout_s=5)
    assert brokers.asked == [1, 2, 2]


def test_one_that_never_knows_it_is_named():
    with pytest.raises(TimedOut, match=r"orders-offsets exists, and broker 2 does not know it, after 0\.02 s"):
        await_topic(SlowBrokers(b1=0, b2=10**6), "orders-offsets", timeout_s=0.02)
