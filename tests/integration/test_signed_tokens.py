"""SASL/OAUTHBEARER as in production: signed tokens from an endpoint, checked by Kafka's own validator."""

import json

import pytest
from confluent_kafka import KafkaException

from eosctl.clients.librdkafka import admin_client
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import NotAuthorized
from tests.faulty_sandbox import ListeningSandbox
from tests.integration.token_issuer import AUDIENCE, CLIENT, SECRET, issuer
from tests.kafka_versions import spec_of

pytestmark = pytest.mark.kafka

OAUTH = "org.apache.kafka.common.security.oauthbearer"
LISTENER = "listener.name.token"


@pytest.fixture(scope="module")
def provider():
    with issuer() as started:
        yield started


@pytest.fixture(scope="module")
def address(provider, kafka_version):
    """A listener that takes the provider's tokens."""
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.jwks_endpoint}"  # wanted from 4.0 on
    settings = {
        f"{LISTENER}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{LISTENER}.oauthbearer.sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
        f"{LISTENER}.oauthbearer.sasl.server.callback.handler.class": handler(kafka_version, "Validator"),
        "sasl.oauthbearer.jwks.endpoint.url": provider.jwks_endpoint,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": provider.url,
    }
    spec = spec_of(kafka_version, broker_config=settings, broker_java_options=(allowed,))
    with ListeningSandbox(spec, {"TOKEN": "SASL_PLAINTEXT"}) as sandbox:
        yield sandbox.addresses["TOKEN"]


def handler(version, kind):
    """Kafka's class; it moved with 4.0."""
    package = OAUTH if version.startswith("4") else f"{OAUTH}.secured"
    return f"{package}.OAuthBearer{kind}CallbackHandler"


def text(address, provider, version, secret=SECRET):
    """The file that a Java client of this version is given."""
    return f"""bootstrap.servers={address}
security.protocol=SASL_PLAINTEXT
sasl.mechanism=OAUTHBEARER
sasl.login.callback.handler.class={handler(version, "Login")}
sasl.oauthbearer.token.endpoint.url={provider.token_endpoint}
sasl.jaas.config={OAUTH}.OAuthBearerLoginModule required clientId="{CLIENT}" clientSecret="{secret}" scope="kafka";
"""


def by_wire(given):
    with Wire(given, timeout_s=10) as wire:
        return len(wire.brokers())


def by_librdkafka(given):
    return len(admin_client(given).list_topics(timeout=30).brokers)


@pytest.mark.parametrize("connect", [by_wire, by_librdkafka])
def test_every_client_connects_with_a_signed_token(address, provider, kafka_version, connect):
    before = len(provider.granted)
    assert connect(client_properties(command_config=text(address, provider, kafka_version))) == 1
    assert [each["sub"] for each in provider.granted[before:]] == [CLIENT]


def test_profile_check_succeeds_without_showing_the_secret(eosctl, address, provider, kafka_version, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text(text(address, provider, kafka_version))
    ran = eosctl("profile", "check", "-o", "json", "--command-config", file)
    steps = {(each["client"], each["step"]): each["outcome"] for each in json.loads(ran.stdout)["data"]["steps"]}
    assert steps["wire", "SASL"] == steps["librdkafka", "SASL"] == "ok"
    assert SECRET not in ran.stdout + ran.stderr
    assert ran.stderr == ""


@pytest.mark.parametrize("connect", [by_wire, by_librdkafka])
def test_a_wrong_secret_is_one_clear_line(address, provider, kafka_version, connect):
    with pytest.raises(NotAuthorized) as caught:
        connect(client_properties(command_config=text(address, provider, kafka_version, "other")))
    assert caught.value.message == f"client {CLIENT} may not get a token on {provider.token_endpoint} (401)"


@pytest.mark.variation
def test_a_token_for_another_audience_is_refused_by_the_broker(address, provider, kafka_version, monkeypatch):
    monkeypatch.setattr(provider, "audience", "elsewhere")
    given = client_properties(command_config=text(address, provider, kafka_version))
    with pytest.raises(
        NotAuthorized, match=f"OAUTHBEARER principal may not authenticate with OAUTHBEARER on {address}"
    ):
        by_wire(given)
    with pytest.raises(KafkaException):
        by_librdkafka(given)
