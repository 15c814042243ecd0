"""Every error that a client library can raise has a meaning."""

import inspect

import confluent_kafka
import httpx
import kafka.errors
import pytest

from eosctl.clients.errors import (
    CHECK_HINT,
    HTTPX_NAMES,
    KAFKA_PYTHON_NAMES,
    LIBRDKAFKA_NAMES,
    PROTOCOL_CODES,
    Peer,
    connection_error,
    kind_of,
    librdkafka_error,
    plain_reason,
    protocol_error,
)
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
HTTPX = [
    error
    for _, error in inspect.getmembers(httpx, inspect.isclass)
    if issubclass(error, Exception) and error not in {httpx.HTTPError, httpx.RequestError}
]
PEER = Peer("broker:9092", "User:tool", "PLAIN")


@pytest.mark.parametrize("error", KAFKA_PYTHON, ids=lambda error: error.__name__)
def test_every_exception_of_kafka_python_has_a_meaning(error):
    assert kind_of(error, KAFKA_PYTHON_NAMES) is not None


@pytest.mark.parametrize(("name", "code"), LIBRDKAFKA, ids=str)
def test_every_error_of_librdkafka_has_a_meaning(name, code):
    assert (PROTOCOL_CODES.get(code) if code >= -1 else LIBRDKAFKA_NAMES.get(name)) is not None


@pytest.mark.parametrize("error", HTTPX, ids=lambda error: error.__name__)
def test_every_exception_of_httpx_has_a_meaning(error):
    assert kind_of(error, HTTPX_NAMES) is not None


def test_the_libraries_were_walked():
    assert len(KAFKA_PYTHON) > 120
    assert len(LIBRDKAFKA) > 150
    assert len(HTTPX) > 20


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
        (kafka.errors.UnsupportedSaslMechanismError("SCRAM only"), ConfigError, "not offer SASL PLAIN to User:tool"),
        (kafka.errors.RequestTimedOutError("x"), TimedOut, "broker:9092 accepted the connection"),
        (
            kafka.errors.KafkaConnectionError("111 ECONNREFUSED"),
            Unreachable,
            "broker:9092 cannot be reached: Connection refused",
        ),
        (kafka.errors.InvalidReceiveError("Invalid frame"), Unreachable, "does not speak Kafka's protocol"),
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
def test_a_reason_is_said_without_the_notation_of_the_library(library, plain):
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
