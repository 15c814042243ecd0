"""One unchanged client.properties makes every client of eosctl the same principal of a real broker."""

import json
import os
from pathlib import Path

import pytest
from certificates import KEY_PASSWORD, PASSWORD
from confluent_kafka import KafkaException

from eosctl.clients.librdkafka import admin_client
from eosctl.clients.oauthbearer import TokenSource
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import NotAuthorized, Unreachable

pytestmark = pytest.mark.kafka
LOGIN = "org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def broker(tls_broker):
    return tls_broker


@pytest.fixture(scope="module")
def stores(broker, tmp_path_factory):
    """Properties of each kind of store: the broker's authority, and a certificate for CN=tool."""
    home = tmp_path_factory.mktemp("client")
    authority, tool = broker.authority, broker.authority.issue("tool")
    (home / "trust.pem").write_text(authority.root_pem)
    (home / "own.pem").write_text(tool.key_pem(KEY_PASSWORD) + tool.chain_pem)
    one_line = {"chain": tool.chain_pem, "key": tool.key_pem(KEY_PASSWORD), "trust": authority.root_pem}
    one_line = {name: text.replace("\n", "\\n") for name, text in one_line.items()}
    jks = home / "own.jks"
    return {
        "JKS": f"""
            ssl.truststore.location={authority.truststore(home / "trust.jks", "JKS")}
            ssl.truststore.password={PASSWORD}
            ssl.keystore.location={tool.jks(jks)}
            ssl.keystore.password={PASSWORD}
            ssl.key.password={KEY_PASSWORD}""",
        "PKCS12": f"""
            ssl.truststore.type=PKCS12
            ssl.truststore.location={authority.truststore(home / "trust.p12", "PKCS12")}
            ssl.truststore.password={PASSWORD}
            ssl.keystore.type=PKCS12
            ssl.keystore.location={tool.pkcs12(home / "own.p12")}
            ssl.keystore.password={PASSWORD}""",
        "PEM": f"""
            ssl.truststore.type=PEM
            ssl.truststore.location={home / "trust.pem"}
            ssl.keystore.type=PEM
            ssl.keystore.location={home / "own.pem"}
            ssl.key.password={KEY_PASSWORD}""",
        "inline PEM": f"""
            ssl.truststore.type=PEM
            ssl.truststore.certificates={one_line["trust"]}
            ssl.keystore.type=PEM
            ssl.keystore.certificate.chain={one_line["chain"]}
            ssl.keystore.key={one_line["key"]}
            ssl.key.password={KEY_PASSWORD}""",
    }


def trusting(stores):
    return "\n".join(line for line in stores["PEM"].splitlines() if "truststore" in line)


def properties(broker, listener, *texts):
    protocol = "SASL_SSL" if listener == "LOGIN" else "SSL"
    text = "\n".join((f"bootstrap.servers={broker.addresses[listener]}", f"security.protocol={protocol}", *texts))
    return client_properties(command_config=text, command_config_name="client.properties")


def login(mechanism, password):
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    jaas = f'{LOGIN}.{module} required username="tool" password="{password}";'
    return f"sasl.mechanism={mechanism}\nsasl.jaas.config={jaas}"


def by_wire(given):
    with Wire(given, timeout_s=10) as wire:
        return len(wire.brokers())


def by_librdkafka(given, timeout_s=30):
    return len(admin_client(given).list_topics(timeout=timeout_s).brokers)


CLIENTS = pytest.mark.parametrize("connect", [by_wire, by_librdkafka])
KINDS = pytest.mark.parametrize("kind", ["JKS", "PKCS12", "PEM", "inline PEM"])


@CLIENTS
@KINDS
@pytest.mark.parametrize("listener", ["TLS", "MUTUAL"])
def test_every_client_connects_with_every_store(broker, stores, connect, kind, listener):
    assert connect(properties(broker, listener, stores[kind])) == 1


@CLIENTS
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_every_client_logs_in(broker, stores, connect, mechanism):
    assert connect(properties(broker, "LOGIN", trusting(stores), login(mechanism, broker.users["tool"]))) == 1


@CLIENTS
@pytest.mark.parametrize("origin", ["unsigned", "file"])
def test_every_client_logs_in_with_a_token(broker, stores, tmp_path, connect, origin):
    module = f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required"
    unsigned = f'sasl.mechanism=OAUTHBEARER\nsasl.jaas.config={module} unsecuredLoginStringClaim_sub="tool";'
    given = properties(broker, "LOGIN", trusting(stores), unsigned)
    if origin == "file":
        (tmp_path / "token").write_text(TokenSource(given).token().text)
        text = f"sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=file://{tmp_path}/token"
        given = properties(broker, "LOGIN", trusting(stores), text)
    assert connect(given) == 1


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_one_clear_line(broker, stores, mechanism):
    with pytest.raises(NotAuthorized) as caught:
        by_wire(properties(broker, "LOGIN", trusting(stores), login(mechanism, "geheim")))
    refused = f"User:tool may not authenticate with {mechanism} on {broker.addresses['LOGIN']}: Authentication failed"
    assert caught.value.message.startswith(refused)
    assert "geheim" not in caught.value.message


@pytest.mark.parametrize(
    ("listener", "says"),
    [("EXPIRED", "its certificate has expired"), ("ELSEWHERE", "its certificate is for another host name")],
)
def test_a_certificate_that_does_not_do_is_one_clear_line(broker, stores, listener, says):
    with pytest.raises(Unreachable) as caught:
        by_wire(properties(broker, listener, trusting(stores)))
    assert caught.value.message == f"{broker.addresses[listener]} is not trusted: {says}"


def test_a_client_without_the_required_certificate_is_named_as_the_cause(broker, stores):
    with pytest.raises(NotAuthorized, match="the certificate shown there is missing or not accepted"):
        by_wire(properties(broker, "MUTUAL", trusting(stores)))


def test_a_blank_algorithm_turns_the_check_of_host_names_off_and_nothing_else(broker, stores):
    blank = "ssl.endpoint.identification.algorithm="
    for connect in (by_wire, by_librdkafka):
        assert connect(properties(broker, "ELSEWHERE", trusting(stores), blank)) == 1
    with pytest.raises(Unreachable, match="its certificate has expired"):
        by_wire(properties(broker, "EXPIRED", trusting(stores), blank))


def test_a_broker_of_another_authority_is_not_trusted(broker):
    with pytest.raises(Unreachable):
        by_wire(properties(broker, "TLS"))
    with pytest.raises(KafkaException):
        by_librdkafka(properties(broker, "TLS"), timeout_s=3)  # it tries again until then


def checked(eosctl, broker, stores, tmp_path, listener, *texts):
    """Exit code and steps of `profile check` on a listener."""
    file = tmp_path / "client.properties"
    protocol = "SASL_SSL" if listener == "LOGIN" else "SSL"
    file.write_text("\n".join((f"security.protocol={protocol}", trusting(stores), *texts)))
    args = ["profile", "check", "-o", "json", "--timeout", "5", "--command-config", file]
    ran = eosctl(*args, "-b", broker.addresses[listener])
    assert "geheim" not in ran.stdout + ran.stderr
    steps = json.loads(ran.stdout)["data"]["steps"]
    return ran.exit_code, {(each["client"], each["step"]): (each["outcome"], each["detail"]) for each in steps}


def test_profile_check_shows_every_step_of_every_client(eosctl, broker, stores, tmp_path):
    given = login("SCRAM-SHA-512", broker.users["tool"])
    code, steps = checked(eosctl, broker, stores, tmp_path, "LOGIN", given)
    done = {step: outcome for step, (outcome, _) in steps.items()}
    assert done == {
        ("network", "DNS"): "ok",
        ("network", "TCP"): "ok",
        ("network", "TLS"): "ok",
        ("wire", "SASL"): "ok",
        ("librdkafka", "SASL"): "ok",
        ("librdkafka", "ACL"): "failed",
    }
    assert "User:tool lacks Describe on cluster kafka-cluster" in steps["librdkafka", "ACL"][1]
    assert code == 1


def test_profile_check_reports_a_wrong_password_with_each_client(eosctl, broker, stores, tmp_path):
    code, steps = checked(eosctl, broker, stores, tmp_path, "LOGIN", login("PLAIN", "geheim"))
    for client in ("wire", "librdkafka"):
        outcome, detail = steps[client, "SASL"]
        assert outcome == "failed"
        assert detail.startswith("User:tool may not authenticate with PLAIN on")
    assert ("librdkafka", "ACL") not in steps
    assert code == 1


def test_profile_check_reports_a_certificate_for_another_host(eosctl, broker, stores, tmp_path):
    _, steps = checked(eosctl, broker, stores, tmp_path, "ELSEWHERE")
    for client, step in (("network", "TLS"), ("wire", "Kafka")):
        outcome, detail = steps[client, step]
        assert outcome == "failed"
        assert detail.endswith("is not trusted: its certificate is for another host name"), client
    # librdkafka gives no reason of its own.
    assert steps["librdkafka", "Kafka"][0] == "failed"
    assert steps["librdkafka", "Kafka"][1].endswith("is not trusted: its certificate could not be verified")


def test_a_profile_of_another_cluster_is_never_written_to(eosctl, broker, stores, tmp_path):
    home = Path(os.environ["XDG_CONFIG_HOME"], "eosctl")
    home.mkdir()
    (home / "client.properties").write_text(f"security.protocol=SSL\n{stores['PEM']}")
    (home / "config.yaml").write_text(
        f"current: here\nprofiles: {{here: {{bootstrap-server: '{broker.addresses['MUTUAL']}', "
        "command-config: client.properties, cluster-id: elsewhere}}"
    )
    ran = eosctl("fence", "--transactional-id", "x", "--create-missing", "--yes", "--timeout", "10")
    assert ran.exit_code == 8
    assert "expects elsewhere" in ran.stderr
    dry = eosctl("fence", "--transactional-id", "x", "--create-missing", "--dry-run", "--timeout", "10")
    assert "expects elsewhere" in dry.stderr
    assert dry.exit_code != 8
