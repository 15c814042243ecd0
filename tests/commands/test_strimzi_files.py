"""Strimzi's resources in the place of worker and connector files: the same answers, and refusals that help."""

import json
from pathlib import Path

import pytest

from tests.strimzi_shapes import PLAIN, SHAPES, THREE_PRINCIPALS

TLS = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata: {name: c, namespace: site}
spec:
  bootstrapServers: kafka:9093
  tls: {}
  authentication:
    type: tls
    certificateAndKey: {secretName: worker, certificate: user.crt, key: user.key}
"""
USER = """\
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata: {name: worker, namespace: site}
spec: {authentication: {type: tls}}
"""
OAUTH = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata: {name: c}
spec:
  bootstrapServers: kafka:9093
  authentication:
    type: oauth
    tokenEndpointUri: https://sso.example.com/token
    clientId: connect
    clientSecret: {secretName: connect, key: secret}
"""


@pytest.fixture
def refused(eosctl, tmp_path):
    """The refusal of `acl-plan` for a file."""

    def said(text: str, option: str = "--worker-config") -> str:
        (tmp_path / "file.yaml").write_text(text)
        others = [] if option == "--worker-config" else ["--group-id", "g", "--principal", "worker=User:w"]
        ran = eosctl("acl-plan", option, str(tmp_path / "file.yaml"), *others)
        assert ran.exit_code == 2
        return ran.stderr.replace(f"{tmp_path}/", "")

    return said


def plan(eosctl, options: list[str]) -> list[dict[str, object]]:
    ran = eosctl("acl-plan", *options, "--explain", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]


@pytest.mark.parametrize("name", SHAPES)
def test_both_forms_of_a_cluster_need_the_same_acls(eosctl, tmp_path: Path, name: str):
    shape = SHAPES[name]
    in_properties = plan(eosctl, shape.as_properties(tmp_path))
    in_resources = plan(eosctl, shape.as_resources(tmp_path))
    sayers = [[each.pop("known_by") for each in found["phases"]] for found in (in_properties, in_resources)]
    assert sayers[0] != sayers[1]
    assert in_resources == in_properties
    assert len(in_resources["bindings"]) > 8


def test_the_principals_of_three_clients_follow_from_the_resources(eosctl, tmp_path: Path):
    bindings = plan(eosctl, THREE_PRINCIPALS.as_resources(tmp_path))["bindings"]
    assert {each["principal"] for each in bindings} == {"User:worker", "User:bills", "User:fencing"}


def test_settings_that_the_operator_does_not_allow_do_not_count(eosctl, tmp_path: Path):
    options = PLAIN.as_resources(tmp_path)
    before = plan(eosctl, options)
    file = tmp_path / "connect.yaml"
    file.write_text(file.read_text().replace("rest.port: 9999", "security.protocol: SSL"))
    assert "security.protocol: SSL" in file.read_text()
    assert plan(eosctl, options) == before


def test_a_kafka_user_in_the_same_file_names_the_principal_of_its_certificate(eosctl, tmp_path: Path):
    (tmp_path / "connect.yaml").write_text(TLS + USER)
    bindings = plan(eosctl, ["--worker-config", str(tmp_path / "connect.yaml")])["bindings"]
    assert {each["principal"] for each in bindings} == {"User:CN=worker"}


def test_a_certificate_in_a_secret_that_no_user_explains_is_not_guessed(refused):
    said = refused(TLS)
    assert "${strimzisecrets:site/worker:user.crt}, which only the worker can read" in said
    assert "--principal worker=User:NAME" in said


def test_the_principal_of_a_token_has_to_be_named(refused):
    assert "the principal of OAUTHBEARER is in the token" in refused(OAUTH)


def test_several_connect_clusters_in_one_file_are_refused(refused):
    assert "file.yaml holds 2 Connect clusters: KafkaConnect my-connect, KafkaConnect c" in refused(
        f"{PLAIN.worker_yaml}---\n{TLS}"
    )


def test_a_topic_that_only_the_worker_knows_has_to_be_named(eosctl, tmp_path: Path):
    file = tmp_path / "connect.yaml"
    file.write_text(PLAIN.worker_yaml.replace("  config:", "  config:\n    config.storage.topic: ${secrets:a/b:topic}"))
    ran = eosctl("inspect-config", "-b", "127.0.0.1:1", "--worker-config", file)
    assert ran.exit_code == 2
    assert "config.storage.topic is ${secrets:a/b:topic}, a reference that only the worker resolves" in ran.stderr
    assert "give --config-topic" in ran.stderr


def test_connectors_of_several_clusters_in_one_file_are_refused(refused):
    other = PLAIN.connectors_yaml.replace("my-connect", "other").replace("name: orders", "name: bills")
    said = refused(f"{PLAIN.connectors_yaml}---\n{other}", "--connector-config")
    assert "connectors of 2 Connect clusters (label strimzi.io/cluster: my-connect, other)" in said


def test_a_connector_of_another_kafka_connect_is_refused(eosctl, tmp_path: Path):
    options = PLAIN.as_resources(tmp_path)
    (tmp_path / "connectors.yaml").write_text(PLAIN.connectors_yaml.replace("my-connect", "other"))
    ran = eosctl("acl-plan", *options)
    assert ran.exit_code == 2
    assert "KafkaConnector orders is one of KafkaConnect other, and --worker-config has my-connect" in ran.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("/v1beta2", "/v1alpha1", "has apiVersion kafka.strimzi.io/v1alpha1; known are kafka.strimzi.io/v1beta2,"),
        ("kafka:9092", "{{ .Values.kafka }}", "line 9: this is a template of Helm"),
        ("kafka:9092", '"{{ include \\"kafka\\" . }}"', "render it first: helm template RELEASE CHART"),
        ("kind: KafkaConnect", "kind: Kafka", "holds neither KafkaConnect nor KafkaMirrorMaker2 (Kafka)"),
        ("  replicas: 1\n", "  replicas: 1\n  replicas: 1\n", "replicas is given twice"),
        ("bootstrapServers: kafka:9092", "x: 1", "(KafkaConnect my-connect) has no bootstrapServers"),
        ("enabled", "[enabled]", "exactly.once.source.support is list, which the operator refuses"),
        ("enabled", "1e3", "exactly.once.source.support is 1000.0, which may be written in another way"),
        ("enabled", "", "exactly.once.source.support has no value, which the operator refuses"),
        ("enabled", "${secrets:a/b:c}", "exactly.once.source.support is ${secrets:a/b:c}, a reference that only the"),
        ("/v1beta2", "/v1", "(KafkaConnect my-connect) has no groupId"),
        ("apiVersion:", "{{- if .Values.connect }}\napiVersion:", "line 1: this is a template of Helm"),
        ("spec:", "---\napiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaConnect\nmetadata: {name: my-connect}\nspec:",
         "holds KafkaConnect my-connect 2 times"),
        ("name: my-connect", "name: [", "this is not YAML"),
        ("name: my-connect", f"name: 0x{'f' * 5000}", "a value is too large or nested too deeply"),
        ("    exactly.once.source.support: enabled", "    group.id: 2026-01-01\n    config.storage.topic: '${x:y:z}'",
         "config.storage.topic is ${x:y:z}, a reference that only the worker resolves"),
        ("  replicas: 1", "  authentication: {type: kerberos}", "is of type kerberos; known are plain, scram-sha-256,"),
        ("  replicas: 1", "  authentication: {type: plain, username: u}", "authentication has no passwordSecret"),
    ],
)  # fmt: skip
def test_an_unreadable_file_is_refused_by_name(refused, old: str, new: str, said: str):
    assert said in refused(PLAIN.worker_yaml.replace(old, new))


def test_a_setting_that_authentication_sets_too_is_refused(refused):
    text = TLS.replace("type: tls\n", "type: custom\n    sasl: true\n    config: {sasl.mechanism: PLAIN}\n")
    assert "config sets producer.sasl.mechanism, as tls and authentication do" in refused(
        f"{text}  config: {{producer.sasl.mechanism: GSSAPI}}\n"
    )


def test_a_date_and_a_time_are_text_as_for_kubernetes(eosctl, tmp_path: Path):
    options = PLAIN.as_resources(tmp_path)
    file = tmp_path / "connectors.yaml"
    file.write_text(
        file.read_text().replace("topic: orders", "topic: 2026-11-23").replace("batch.size: 100", "at: 12:30")
    )
    topics = {each["resource_name"] for each in plan(eosctl, options)["bindings"]}
    assert "2026-11-23" in topics
