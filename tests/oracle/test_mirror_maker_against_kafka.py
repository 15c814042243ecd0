"""The workers and connectors that eosctl makes of a MirrorMaker's file are those of MirrorMakerConfig."""

from collections.abc import Iterator

import pytest
from client_configs_oracle import ClientConfigsOracle, mirror_maker_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.codecs.connector_files import decode_worker_file
from eosctl.model.client_roles import ConnectCluster

pytestmark = pytest.mark.kafka

UNHURRIED = settings(suppress_health_check=list(HealthCheck), deadline=None)
NAMED_BY_KAFKA = {"name", "connector.class", "enabled"}
"""The properties of a connector's config."""


@pytest.fixture(scope="module")
def kafka(connect_version: str) -> Iterator[ClientConfigsOracle]:
    with ClientConfigsOracle(connect_version) as oracle:
        yield oracle


def hold_against(kafka: ClientConfigsOracle, file: dict[str, str]) -> None:
    # A backslash keeps the blanks that a value begins with.
    text = "".join(f"{key}=\\{value}\n" if value[:1] == " " else f"{key}={value}\n" for key, value in file.items())
    flows = decode_worker_file(text, "mm2.properties")
    ours = {flow_of(each): each for each in flows}
    for source, target in (("a", "b"), ("b", "a")):
        answer = kafka.ask(dedicated=file, flow={"source": source, "target": target})
        assert answer.get("refused") is None
        assert (f"{source}->{target}" in answer["runs"]) is ((source, target) in ours)
        if (source, target) in ours:
            same_flow(ours[source, target], answer)


def flow_of(cluster: ConnectCluster) -> tuple[str, str]:
    connector = cluster.connectors[0]
    return connector.get("source.cluster.alias"), connector.get("target.cluster.alias")


def same_flow(ours: ConnectCluster, kafkas: dict[str, dict[str, str]]) -> None:
    worker = {key: each.value for key, each in ours.workers[0].properties.items()}
    # From 3.5 on a worker's clients are named for the flow, unless the file names them.
    named = {} if "client.id" in worker else {"client.id": kafkas["worker"].get("client.id")}
    assert different({**named, **worker}, kafkas["worker"]) == []
    connector = {key: each.value for key, each in ours.connectors[0].properties.items()}
    own = {key: value for key, value in connector.items() if key in kafkas["connector"]}
    assert [key for key, *_ in different(own, kafkas["connector"]) if key not in NAMED_BY_KAFKA] == []
    # The rest are settings that no connector of MirrorMaker has; none of them is one of a client.
    clients = ("producer.", "consumer.", "admin.", "source.", "target.")
    assert [key for key in connector.keys() - own.keys() if key.startswith(clients)] == []


def different(ours: dict[str, str | None], kafkas: dict[str, str]) -> list[tuple[str, str | None, str | None]]:
    pairs = [(key, ours.get(key), kafkas.get(key)) for key in ours.keys() | kafkas.keys()]
    return [each for each in pairs if each[1] != each[2]]


@pytest.mark.variation
@settings(UNHURRIED, max_examples=15)
@given(st.data())
def test_each_flow_of_a_mirror_maker_has_kafka_s_worker_and_connectors(kafka, data) -> None:
    hold_against(kafka, data.draw(mirror_maker_files()))


@pytest.mark.long
@settings(UNHURRIED, max_examples=150)
@given(st.data())
def test_each_flow_of_many_mirror_makers_has_kafka_s_worker_and_connectors(kafka, data) -> None:
    hold_against(kafka, data.draw(mirror_maker_files()))
