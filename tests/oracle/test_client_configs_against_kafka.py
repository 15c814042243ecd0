"""A client's configuration by eosctl is the one that Kafka's own classes pass to it and make of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from client_configs_oracle import ClientConfigsOracle, connectors, workers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.analysis.client_configs import connector_client, refused_by_producer, refused_overrides
from eosctl.model.client_properties import REFERENCE
from eosctl.model.client_roles import (
    DEFAULTS,
    KINDS,
    ClientConfig,
    ClientRole,
    ConnectorConfig,
    WorkerConfig,
    as_properties,
)
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion

pytestmark = pytest.mark.kafka

OF_THE_CLUSTER = {"metrics.context.connect.kafka.cluster.id": "KAFKA"}
CONNECTS = {
    "producer": (ClientRole.PRODUCER, False),
    "exactly-once producer": (ClientRole.PRODUCER, True),
    "consumer": (ClientRole.CONSUMER, False),
    "exactly-once consumer": (ClientRole.CONSUMER, True),
    "sink-consumer": (ClientRole.SINK_CONSUMER, False),
    "admin": (ClientRole.ADMIN, False),
}
MIRRORS = {
    "sourceAdminConfig": ClientRole.MIRROR_SOURCE_ADMIN,
    "sourceConsumerConfig": ClientRole.MIRROR_SOURCE_CONSUMER,
    "targetAdminConfig": ClientRole.MIRROR_TARGET_ADMIN,
    "targetConsumerConfig": ClientRole.MIRROR_TARGET_CONSUMER,
    "offsetSyncsTopicProducerConfig": ClientRole.MIRROR_OFFSET_SYNCS,
}
PROVIDED = "acks=1\ntimeout=700000\nbackoff=9\n"


@pytest.fixture(scope="module")
def provided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that references to a config provider lead to."""
    file = tmp_path_factory.mktemp("provider") / "values.properties"
    file.write_text(PROVIDED)
    return file


@pytest.fixture(scope="module")
def kafka(connect_version: str) -> Iterator[ClientConfigsOracle]:
    with ClientConfigsOracle(connect_version) as oracle:
        yield oracle


def hold_against(kafka: ClientConfigsOracle, version: str, worker: dict[str, str], connector: dict[str, str]) -> None:
    answer = kafka.ask(worker=worker, connector=connector)
    assert answer.get("refused") is None
    given_worker = WorkerConfig(as_properties(worker), KafkaVersion.parse(version))
    given_connector = ConnectorConfig(connector["name"], as_properties(connector))
    for name, (role, exactly_once) in CONNECTS.items():
        ours = connector_client(given_worker, given_connector, role, exactly_once=exactly_once)
        refused = any(key.startswith(f"{KINDS[role]}.") for key in refused_overrides(given_worker, given_connector))
        if isinstance(answer[name], str):
            assert (answer[name], refused) == ("ConnectException", True), name
            continue
        assert not refused, name
        same_map(ours, answer[name], OF_THE_CLUSTER)
        same_values(ours, answer[f"values of {name}"], exactly_once=exactly_once)
    for name, role in MIRRORS.items():
        if name in answer:
            ours = connector_client(given_worker, given_connector, role, exactly_once=True)
            # The client's ID is made of the role in the connector, from 3.5 on.
            made = {"client.id": answer[name]["client.id"]} if "client.id" in answer[name] else {}
            same_map(ours, answer[name], made)


def same_map(ours: ClientConfig, kafkas: Mapping[str, str], learnt: Mapping[str, str]) -> None:
    handed = {key: each.value for key, each in ours.properties.items()} | dict(learnt)
    references = {key for key, value in handed.items() if REFERENCE.search(value)}
    assert all(isinstance(ours.setting(key), Skipped) for key in references)
    keys = (handed.keys() | kafkas.keys()) - (references & kafkas.keys())
    assert [(key, handed.get(key), kafkas.get(key)) for key in keys if handed.get(key) != kafkas.get(key)] == []


def same_values(ours: ClientConfig, kafkas: dict[str, str] | str, *, exactly_once: bool) -> None:
    """The effective settings, defaults included; if Kafka's class refuses, ours reports it for a producer."""
    if ours.role is ClientRole.PRODUCER and exactly_once:
        said = list(refused_by_producer(ours))
        unknown = any(isinstance(each, Skipped) for each in said)
        agreed = unknown or bool(said) == isinstance(kafkas, str)
        assert agreed, (said, str(kafkas)[:200])
    if isinstance(kafkas, str):
        return
    for key in DEFAULTS[KINDS[ours.role]]:
        setting: Any = ours.setting(key)
        if isinstance(setting, Skipped):
            assert key not in kafkas or REFERENCE.search(ours.get(key) or ""), key
        elif key == "acks":
            assert kafkas[key] == {"all": "-1"}.get(setting, setting)
        elif kafkas[key].lstrip("-").isdecimal():
            assert int(kafkas[key]) == ours.number(key)
        else:
            assert kafkas[key].lower() == setting.lower()


UNHURRIED = settings(suppress_health_check=list(HealthCheck), deadline=None)


@settings(UNHURRIED, max_examples=60)
@given(st.data())
def test_every_client_of_a_connector_has_the_settings_that_kafka_hands_to_it(
    kafka, connect_version, provided, data
) -> None:
    hold_against(kafka, connect_version, data.draw(workers(connect_version, provided)), data.draw(connectors(provided)))


@pytest.mark.long
@settings(UNHURRIED, max_examples=1_000)
@given(st.data())
def test_every_client_of_a_thousand_connectors_has_the_settings_that_kafka_hands_to_it(
    kafka, connect_version, provided, data
) -> None:
    hold_against(kafka, connect_version, data.draw(workers(connect_version, provided)), data.draw(connectors(provided)))
