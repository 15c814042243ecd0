"""Compares the resources that eosctl reads and writes with Strimzi's own classes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from strimzi_oracle import StrimziOracle

from eosctl.codecs.connector_files import decode_worker_file
from eosctl.codecs.strimzi import (
    altering_connector,
    changed_connector,
    decode_resources,
    listing_connector,
    merge_kafka_users,
)
from eosctl.codecs.yaml_text import block
from eosctl.model.acls import CLUSTER, AclBinding, Operation, PatternType, group, topic, transactional_id
from eosctl.model.offsets import ConnectorOffset
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acls
from tests.strimzi_shapes import SHAPES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "strimzi"
NEW = "0.51.0"
"""It has the fields of both API versions. Those before have v1beta2 only; 1.0 and newer need Java 21."""
BEFORE = [pytest.mark.kafka, pytest.mark.variation]


@pytest.fixture(scope="module", params=[NEW, *(pytest.param(each, marks=BEFORE) for each in ("0.45.0", "0.48.0"))])
def oracle(request: pytest.FixtureRequest) -> Iterator[StrimziOracle]:
    """The classes of each version."""
    with StrimziOracle(request.param) as started:
        yield started


def check(oracle: StrimziOracle, text: str) -> int:
    """Asserts that every resource of the text is wholly known, if its API version is served; how many there are."""
    resources = [
        each for document in yaml.safe_load_all(text) for each in document.get("items", [document] if document else [])
    ]
    for each in resources:
        if oracle.serves_v1 or each["apiVersion"] != "kafka.strimzi.io/v1":
            assert oracle.complaints(each) == []
    return len(resources)


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
SECRETS = st.fixed_dictionaries({"secretName": NAMES, "password": NAMES})
AUTHENTICATIONS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["plain", "scram-sha-256", "scram-sha-512"]),
            "username": NAMES,
            "passwordSecret": SECRETS,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tls"),
            "certificateAndKey": st.fixed_dictionaries({"secretName": NAMES, "certificate": NAMES, "key": NAMES}),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("oauth"),
            "clientId": NAMES,
            "tokenEndpointUri": st.just("https://sso/token"),
            "clientSecret": st.fixed_dictionaries({"secretName": NAMES, "key": NAMES}),
        }
    ),
)
CONFIGS = st.dictionaries(
    st.sampled_from(
        ["group.id", "exactly.once.source.support", "offset.storage.topic", "topic", "rest.port", "ssl.protocol"]
    ),
    st.sampled_from(["disabled", "enabled"]),
    max_size=4,
)
CLUSTERS = st.fixed_dictionaries(
    {"bootstrapServers": st.sampled_from(["a:1", "a:1,b:2"]), "config": CONFIGS, "authentication": AUTHENTICATIONS},
    optional={"tls": st.just({})},
)


@st.composite
def kafka_connects(draw: st.DrawFn) -> dict[str, object]:
    spec = draw(CLUSTERS) | draw(
        st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(0, 5),
                "rack": st.just({"topologyKey": "zone"}),
                "build": st.just(
                    {
                        "output": {"type": "docker", "image": "i"},
                        "plugins": [{"name": "p", "artifacts": [{"type": "jar", "url": "https://x/y.jar"}]}],
                    }
                ),
            },
        )
    )
    return _resource("KafkaConnect", draw(NAMES), {key: each for key, each in spec.items() if each is not None})


@st.composite
def mirror_makers(draw: st.DrawFn) -> dict[str, object]:
    clusters = [{"alias": alias, **draw(CLUSTERS), "config": {}} for alias in ("a", "b")]
    connector = st.fixed_dictionaries({}, optional={"tasksMax": st.integers(1, 9), "config": CONFIGS})
    mirror = draw(
        st.fixed_dictionaries(
            {"sourceConnector": connector},
            optional={"checkpointConnector": connector, "topicsPattern": st.just(".*"), "groupsPattern": st.just(".*")},
        )
    )
    known = [{key: each for key, each in cluster.items() if each is not None} for cluster in clusters]
    spec = {
        "connectCluster": "b",
        "clusters": known,
        "mirrors": [{"sourceCluster": "a", "targetCluster": "b", **mirror}],
    }
    return _resource("KafkaMirrorMaker2", draw(NAMES), spec)


RESOURCES = st.sampled_from(
    [topic("t"), topic("t-", PatternType.PREFIXED), group("g"), CLUSTER, transactional_id("g-0")]
)
OPERATIONS = st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS, Operation.ALL])
BINDINGS = st.lists(
    st.tuples(st.sampled_from(["User:worker", "User:CN=orders", "User:bills"]), OPERATIONS, RESOURCES).map(
        lambda parts: AclBinding(*parts)
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


def _resource(kind: str, name: str, spec: dict[str, object]) -> dict[str, object]:
    metadata = {"name": name, "labels": {"strimzi.io/cluster": "c"}}
    return {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("name", SHAPES)
def test_the_resources_that_the_tests_read_are_strimzis(oracle, name: str):
    shape = SHAPES[name]
    without_lists = [text for text in (shape.worker_yaml, shape.connectors_yaml) if text]
    assert sum(check(oracle, text) for text in without_lists) in {1, 2}


@settings(max_examples=25)
@given(resource=st.one_of(kafka_connects(), mirror_makers()))
def test_every_resource_of_strimzis_is_read(oracle, resource):
    text = block(resource)
    assert check(oracle, text) == 1
    [read] = decode_resources(text, "f")
    assert (read.kind, read.name, read.spec) == (resource["kind"], resource["metadata"]["name"], resource["spec"])
    [cluster] = decode_worker_file(text, "f")
    assert cluster.workers[0].get("bootstrap.servers") in {"a:1", "a:1,b:2"}


@settings(max_examples=15)
@given(before=BINDINGS, after=BINDINGS)
def test_every_kafka_user_that_is_written_is_strimzis(oracle, before, after):
    text = emit_acls(before, AclFormat.STRIMZI, EmitOptions())
    wanted: dict[str, list[AclBinding]] = {}
    for each in after:
        wanted.setdefault(each.principal, []).append(each)
    merged = merge_kafka_users(text, "f", wanted, "c")
    assert check(oracle, merged) == len({each.principal for each in (*before, *after)})
    assert merge_kafka_users(merged, "f", wanted, "c") == merged


@settings(max_examples=10)
@given(config=CONFIGS, more=CONFIGS, name=NAMES)
def test_every_changed_kafka_connector_is_strimzis(oracle, config, more, name):
    spec = {"class": "x.Source", "tasksMax": 2, **({"config": config} if config else {})}
    text = block(_resource("KafkaConnector", name, spec))
    stopped = changed_connector(text, name, state="stopped", settings=more)
    settings: dict[str, str | None] = dict.fromkeys(config)
    altered = altering_connector(stopped, name, [ConnectorOffset({"f": 1}, {"p": 2}), ConnectorOffset({}, None)])
    emptied = changed_connector(text, name, state="running", settings=settings, new_name=f"{name}-b")
    assert [check(oracle, each) for each in (stopped, emptied, altered, listing_connector(stopped, name))] == [
        1,
        1,
        2,
        1,
    ]
    assert yaml.safe_load(stopped)["spec"].get("config", {}) == config | more
    assert not yaml.safe_load(emptied)["spec"].get("config")


@settings(max_examples=10)
@given(resource=mirror_makers(), more=CONFIGS)
def test_every_changed_kafka_mirror_maker_is_strimzis(oracle, resource, more):
    name, text = "a->b.MirrorSourceConnector", block(resource)
    stopped = changed_connector(text, name, state="stopped", settings=more)
    altered = altering_connector(stopped, name, [ConnectorOffset({"f": 1}, {"p": 2})])
    assert [check(oracle, each) for each in (stopped, altered, listing_connector(stopped, name))] == [1, 2, 1]
    [mirror], [before] = yaml.safe_load(stopped)["spec"]["mirrors"], resource["spec"]["mirrors"]
    assert mirror.pop("sourceConnector")["state"] == "stopped"
    assert mirror == {key: value for key, value in before.items() if key != "sourceConnector"}


@pytest.mark.parametrize("file", ["connect.yaml", "orders.yaml"])
def test_the_examples_are_strimzis_and_kubernetes(oracle, file: str):
    assert check(oracle, (EXAMPLES / file).read_text()) in {1, 2}


def test_a_field_that_strimzi_does_not_know_is_found(oracle):
    resource = _resource("KafkaConnect", "c", {"bootstrapServers": "a:1", "groupID": "g"})
    assert oracle.complaints(resource) == ["unknown: .Spec.groupID"]
