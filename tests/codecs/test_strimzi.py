"""Settings that Strimzi's operator makes of its resources, a field a row."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import decode_connectors, decode_worker_file
from eosctl.codecs.strimzi import (
    certificate_subjects,
    client_settings,
    connect_resource,
    connectors_beside,
    decode_resources,
    is_resource,
    mapping_in,
    mappings_in,
    option_text,
    required_in,
    secret_reference,
    text_in,
    worker_settings,
)
from eosctl.errors import ConfigError
from eosctl.model.client_properties import Property
from eosctl.model.strimzi import API_VERSIONS, KAFKA_CONNECT, StrimziResource
from tests.strimzi_shapes import CLIENTS, MIRROR_MAKER_2, MIRROR_MAKER_2_V1, SHAPES, Shape

OLD, NEW = API_VERSIONS[0], API_VERSIONS[-1]
SECRET = {"secretName": "s", "password": "p"}
CERTIFICATE = {"secretName": "s", "certificate": "c", "key": "k"}
KEPT = {"sasl.mechanism": "GSSAPI", "ssl.keystore.type": "PEM"}


def bare(settings: Mapping[str, Property] | Mapping[str, str]) -> dict[str, str]:
    """Without passwords, which a resource does not hold."""
    texts = {key: each.value if isinstance(each, Property) else each for key, each in settings.items()}
    return {key: re.sub(r'password="[^"]*"', "password", text) for key, text in texts.items()}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_worker_has_the_settings_that_the_operator_gives_it(shape: Shape) -> None:
    [cluster] = decode_worker_file(shape.worker_yaml, "f")
    found = bare(cluster.workers[0].properties)
    assert {key: found.get(key) for key in shape.worker} == bare(shape.worker)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_connector_has_the_settings_that_the_operator_gives_it(shape: Shape) -> None:
    if shape.connectors_yaml:
        found = decode_connectors(shape.connectors_yaml, "f")
    else:
        found = decode_worker_file(shape.worker_yaml, "f")[0].connectors
    assert len(found) == len(shape.connectors)
    for each, settings in zip(found, shape.connectors, strict=True):
        assert {key: bare(each.properties).get(key) for key in settings} == bare(settings)


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, {"security.protocol": "PLAINTEXT"}),
        ({"tls": {}}, {"security.protocol": "SSL"}),
        ({"tls": None, "authentication": None}, {"security.protocol": "PLAINTEXT"}),
        (
            {"tls": {}, "authentication": {"type": "tls", "certificateAndKey": CERTIFICATE}},
            {
                "security.protocol": "SSL",
                "ssl.keystore.certificate.chain": "${strimzisecrets:n/s:c}",
                "ssl.keystore.key": "${strimzisecrets:n/s:k}",
                "ssl.keystore.type": "PEM",
            },
        ),
        (
            {"authentication": {"type": "plain", "username": 'a"b\\', "passwordSecret": SECRET}},
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="a\\"b\\\\" password="${strimzisecrets:n/s:p}";',
            },
        ),
        (
            {"tls": {}, "authentication": {"type": "scram-sha-256", "username": "u", "passwordSecret": SECRET}},
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
                'username="u" password="${strimzisecrets:n/s:p}";',
            },
        ),
        (
            {"authentication": {"type": "oauth", "clientId": "c", "scope": "", "clientSecret": CERTIFICATE}},
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                'oauth.client.id="c" oauth.client.secret="${strimzisecrets:n/s:k}";',
            },
        ),
        (
            {"authentication": {"type": "custom", "sasl": True, "config": {**KEPT, "client.id": "x"}}},
            {"security.protocol": "SASL_PLAINTEXT", **KEPT},
        ),
        (
            {"tls": {}, "authentication": {"type": "custom", "sasl": True, "config": KEPT}},
            {"security.protocol": "SASL_SSL", **KEPT},
        ),
        ({"authentication": {"type": "custom"}}, {"security.protocol": "PLAINTEXT"}),
        ({"tls": {}, "authentication": {"type": "custom", "sasl": "true"}}, {"security.protocol": "SSL"}),
    ],
)  # fmt: skip
def test_tls_and_authentication_become_settings_of_a_client(given: dict[str, Any], settings: dict[str, str]) -> None:
    assert client_settings(given, "n", "f") == settings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "f: authentication has no type"),
        ({"type": "kerberos"}, "f: authentication is of type kerberos; known are plain, scram-sha-256, scram-sha-512"),
        ({"type": "plain", "passwordSecret": SECRET}, "f: authentication has no username"),
        ({"type": "plain", "username": "u"}, "f: authentication has no passwordSecret"),
        ({"type": "plain", "username": "u", "passwordSecret": {}}, "f: authentication has no passwordSecret"),
        ({"type": "plain", "username": "u", "passwordSecret": {"secretName": "s"}}, "passwordSecret has no password"),
        ({"type": "plain", "username": 7, "passwordSecret": SECRET}, "f: authentication: username is int, not text"),
        ({"type": "tls"}, "f: authentication has no certificateAndKey"),
        ([], "f: authentication: authentication is list, not a mapping"),
    ],
)
def test_an_authentication_that_lacks_a_field_is_refused_by_its_name(given: object, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        client_settings({"authentication": given}, None, "f")


def test_a_secret_is_named_with_its_namespace_where_that_is_known() -> None:
    assert secret_reference(None, "s", "k") == "${strimzisecrets:s:k}"
    assert secret_reference("n", "s", "k") == "${strimzisecrets:n/s:k}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("yes", "yes"), (True, "true"), (False, "false"), (0, "0"), (-(1 << 63), str(-(1 << 63))),
        ((1 << 63) - 1, str((1 << 63) - 1)), (0.5, "0.5"), (-0.001, "-0.001"), (9999999.5, "9999999.5"),
        (1 << 63, None), (-(1 << 63) - 1, None), (0.0009, None), (1e7, None), (10000000.5, None), (2.0, None),
        (None, None), ([], None), ({}, None),
    ],
)  # fmt: skip
def test_a_value_is_text_where_yaml_json_and_java_write_it_alike(value: object, text: str | None) -> None:
    if text is None:
        with pytest.raises(ConfigError, match="f: k "):
            option_text("k", value, "f")
    else:
        assert option_text("k", value, "f") == text


def test_a_field_has_the_type_that_it_must_have_or_is_refused() -> None:
    given = {"none": None, "map": {"a": 1}, "list": [{"a": 1}], "text": "t", "empty": "", "mixed": [{}, 1]}
    assert [mapping_in(given, key, "f") for key in ("none", "gone", "map")] == [{}, {}, {"a": 1}]
    assert [mappings_in(given, key, "f") for key in ("none", "gone", "list")] == [[], [], [{"a": 1}]]
    assert [text_in(given, key, "f") for key in ("none", "gone", "text", "empty")] == [None, None, "t", ""]
    assert required_in(given, "text", "f") == "t"
    for read, key, said in (
        (mapping_in, "text", "f: text is str, not a mapping"),
        (mappings_in, "map", "f: map is dict, not a list"),
        (mappings_in, "mixed", "f: mixed holds int, not a mapping"),
        (text_in, "map", "f: map is dict, not text"),
        (required_in, "empty", "f has no empty"),
        (required_in, "none", "f has no none"),
    ):
        with pytest.raises(ConfigError, match=said):
            read(given, key, "f")


def resource(kind: str = KAFKA_CONNECT, version: str = OLD, **spec: object) -> StrimziResource:
    return StrimziResource(
        kind=kind, name="a", api_version=version, origin="f", namespace=None, labels={}, annotations={},
        spec={"bootstrapServers": "k:1", **spec}, generation=None, observed_generation=None,
    )  # fmt: skip


def test_of_the_settings_in_a_config_the_operator_keeps_its_own() -> None:
    config = {
        "rest.port": "1", "Security.Protocol": "SSL", "ssl.truststore.location": "/x", "ssl.protocol": "TLSv1.3",
        "tasks": 1, "group.id": "own", "plugin.path": "/p",
    }  # fmt: skip
    found = worker_settings(resource(config=config))
    assert found == {
        "group.id": "own", "config.storage.topic": "connect-cluster-configs",
        "offset.storage.topic": "connect-cluster-offsets", "status.storage.topic": "connect-cluster-status",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter", "ssl.protocol": "TLSv1.3", "tasks": "1",
        "bootstrap.servers": "k:1", **{f"{each}security.protocol": "PLAINTEXT" for each in CLIENTS},
    }  # fmt: skip


def test_group_and_topics_are_fields_of_their_own_and_win_over_the_config() -> None:
    named = {"groupId": "g", "configStorageTopic": "c", "offsetStorageTopic": "o", "statusStorageTopic": "s"}
    for version in (OLD, NEW):
        found = worker_settings(resource(version=version, config={"group.id": "x"}, **named))
        assert [found[key] for key in ("group.id", "config.storage.topic", "offset.storage.topic")] == ["g", "c", "o"]
    assert worker_settings(resource(config={"group.id": "x"}))["group.id"] == "x"
    with pytest.raises(ConfigError, match="has no groupId"):
        worker_settings(resource(version=NEW))


def test_a_rack_is_a_setting_that_only_the_worker_knows() -> None:
    assert "consumer.client.rack" not in worker_settings(resource())
    assert worker_settings(resource(rack={}))["consumer.client.rack"] == "${strimzidir:/opt/kafka/init:rack.id}"


@pytest.mark.parametrize(("mechanism", "agreed"), [("PLAIN", True), ("GSSAPI", False)])
def test_a_setting_that_authentication_gives_too_must_be_the_same(mechanism: str, agreed: bool) -> None:
    custom = {"type": "custom", "sasl": True, "config": {"sasl.mechanism": "PLAIN"}}
    given = resource(authentication=custom, config={"producer.sasl.mechanism": mechanism})
    if agreed:
        assert worker_settings(given)["producer.sasl.mechanism"] == "PLAIN"
    else:
        with pytest.raises(ConfigError, match=r"config sets producer\.sasl\.mechanism, as tls and authentication do"):
            worker_settings(given)


CONNECT = (
    f"apiVersion: {OLD}\nkind: KafkaConnect\nmetadata: {{name: a, namespace: n}}\nspec: {{bootstrapServers: 'k:1'}}\n"
)
CONNECTOR = f"""\
apiVersion: {OLD}
kind: KafkaConnector
metadata: {{name: c, labels: {{strimzi.io/cluster: a, eos: true}}}}
spec: {{class: X, tasksMax: 2, version: 1.2.3, config: {{name: other, Connector.Class: Y, tasks.max: 9, k: v}}}}
"""


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (CONNECT, True),
        ('{"apiVersion": "v1", "kind": "List"}', True),
        (' {"apiVersion":"v1"}', False),
        ("kind: x\n", False),
        ("{{ .Values }}\napiVersion: v1\nkind: List\n", True),
        ("bootstrap.servers=k:1\n", False),
        ('{"name": "c", "config": {"kind": "x"}}', False),
    ],
)
def test_a_resource_is_told_from_properties_and_a_connectors_config(text: str, is_one: bool) -> None:
    assert is_resource(text) is is_one


def test_resources_are_read_out_of_documents_and_lists() -> None:
    text = f"---\n{CONNECT}---\n---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nitems:\n- kind: Secret\n"
    assert [(each.kind, each.name, each.namespace) for each in decode_resources(text, "f")] == [
        ("KafkaConnect", "a", "n")
    ]
    [one] = decode_resources(CONNECTOR + "status: {observedGeneration: 3}\n", "f")
    assert (one.labels, one.generation, one.observed_generation) == (
        {"strimzi.io/cluster": "a", "eos": "true"},
        None,
        3,
    )
    assert decode_resources("kind: List\n", "f") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONNECT + "---\n" + CONNECT, "f holds KafkaConnect a 2 times"),
        ("- 1\n", "f holds list where a resource is expected"),
        ("items: x\n", "f: items is str, not a list"),
        (CONNECT.replace("/v1beta2", "/v9"), r"f \(KafkaConnect a\) has apiVersion kafka.strimzi.io/v9; known are"),
        (CONNECT.replace("name: a, ", ""), r"f \(KafkaConnect \) has no metadata.name"),
        (CONNECT + "status: x\n", r"f \(KafkaConnect a\): status is str, not a mapping"),
        ("\nx: {{ .Values.x }}\n", "f: line 2: this is a template of Helm"),
    ],
)
def test_resources_that_cannot_be_meant_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        decode_resources(text, "f")


def test_the_same_name_in_two_namespaces_is_no_double() -> None:
    assert len(decode_resources(CONNECT + "---\n" + CONNECT.replace("namespace: n", "namespace: m"), "f")) == 2


def test_one_connect_cluster_is_found_in_a_file_or_the_others_are_named() -> None:
    connect, connector = decode_resources(CONNECT + "---\n" + CONNECTOR, "f")
    assert connect_resource([connector, connect], "f") == connect
    for given, said in (
        ([connect, replace(connect, name="b")], "f holds 2 Connect clusters: KafkaConnect a, KafkaConnect b"),
        ([connector], r"f holds neither KafkaConnect nor KafkaMirrorMaker2 \(KafkaConnector\)"),
        ([], "no resource of Strimzi's"),
    ):
        with pytest.raises(ConfigError, match=said):
            connect_resource(given, "f")


def test_a_connector_has_its_resources_name_and_class_whatever_its_config_says() -> None:
    resources = decode_resources(CONNECT + "---\n" + CONNECTOR, "f")
    [beside] = connectors_beside(resources[0], resources)
    assert beside == {
        "k": "v", "name": "c", "connector.class": "X", "tasks.max": "2", "connector.plugin.version": "1.2.3",
    }  # fmt: skip
    assert list(connectors_beside(replace(resources[0], name="b"), resources)) == []
    bare_connector = replace(resources[1], spec={})
    assert list(connectors_beside(resources[0], [bare_connector])) == [{"name": "c"}]


def mirror(version: str = OLD, **spec: object) -> StrimziResource:
    given = decode_resources((MIRROR_MAKER_2 if version == OLD else MIRROR_MAKER_2_V1).worker_yaml, "f")[0]
    return replace(given, spec={**given.spec, **spec})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"connectCluster": None}, "has neither target nor connectCluster"),
        ({"connectCluster": "north"}, "names cluster north, which is not among its clusters"),
        ({"mirrors": [{"targetCluster": "east"}]}, "has no sourceCluster"),
        ({"mirrors": [{"sourceCluster": "north", "targetCluster": "east"}]}, "names cluster north"),
    ],
)
def test_a_mirror_maker_names_clusters_that_it_describes(spec: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        [worker_settings(mirror(**spec)), *connectors_beside(mirror(**spec), ())]


def test_a_mirror_has_both_clusters_settings_its_patterns_and_the_rack() -> None:
    names = {"sourceCluster": "west", "targetCluster": "east", "topicsExcludePattern": "x", "groupsPattern": None}
    [found] = connectors_beside(mirror(mirrors=[{**names, "sourceConnector": {}}], rack={}), ())
    assert found["consumer.client.rack"] == "${strimzifile:/tmp/strimzi-connect.properties:consumer.client.rack}"
    assert (found["topics.exclude"], "groups" in found) == ("x", False)
    assert found["target.cluster.exactly.once.source.support"] == "enabled"
    [plain] = connectors_beside(mirror(mirrors=[{**names, "sourceConnector": {}}]), ())
    assert "consumer.client.rack" not in plain


@pytest.mark.parametrize(("version", "refused"), [(OLD, True), (NEW, False)])
def test_a_setting_of_the_connector_and_of_its_cluster_must_agree_in_the_old_form(version: str, refused: bool) -> None:
    given = mirror(version)
    own = {"config": {"target.cluster.exactly.once.source.support": "disabled"}}
    [one] = given.spec["mirrors"]
    changed = replace(
        given, spec={**given.spec, "mirrors": [{**one, "sourceConnector": own, "checkpointConnector": None}]}
    )
    if refused:
        with pytest.raises(ConfigError, match="is set for the connector and by its cluster"):
            list(connectors_beside(changed, ()))
    else:
        [found] = connectors_beside(changed, ())
        assert found["target.cluster.exactly.once.source.support"] == "disabled"


def test_the_certificate_of_a_user_has_the_users_name() -> None:
    def user(name: str, authentication: object) -> StrimziResource:
        return replace(resource("KafkaUser"), name=name, spec={"authentication": authentication})

    users = [user("a", {"type": "tls"}), user("b", {"type": "scram-sha-512"}), user("c", None), resource()]
    assert certificate_subjects(users) == {"${strimzisecrets:a:user.crt}": "CN=a"}
