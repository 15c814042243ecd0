"""What is told about a connector whose producer is sent elsewhere."""

from collections.abc import Mapping

import pytest

from eosctl.analysis.offsets_report import Clusters, producing_elsewhere
from eosctl.analysis.source_stores import stores_of
from eosctl.model.offsets import ConnectorOffsets, SourceSupport, WorkerSettings
from eosctl.model.skipped import Skipped

THERE = frozenset({"there:9092"})
SENT = {"producer.override.bootstrap.servers": "there:9092", "consumer.override.bootstrap.servers": "there:9092"}
ASKED = Clusters("here", {THERE: "other"})


def told(
    support: SourceSupport,
    config: Mapping[str, object],
    clusters: Clusters = ASKED,
    *,
    servers: frozenset[str] | Skipped = frozenset({"here:9092"}),
    known: bool = True,
) -> list[str]:
    """Message and cure of each finding."""
    worker = WorkerSettings("offsets", support, servers)
    connector = ConnectorOffsets("c", known, stores_of(worker, config), ())
    return [f"{each.message}; {each.cure}" for each in producing_elsewhere(connector, clusters)]


@pytest.mark.parametrize(
    ("support", "config", "kept"),
    [
        (SourceSupport.ENABLED, SENT, "its offsets are kept over there, in topic offsets, and its transactional IDs"),
        (SourceSupport.ENABLED, {**SENT, "offsets.storage.topic": "own"}, "kept over there, in topic own"),
        (SourceSupport.DISABLED, {**SENT, "offsets.storage.topic": "own"}, "kept over there, in topic own"),
        (SourceSupport.DISABLED, SENT, "its offsets stay in the workers' topic offsets; nothing while exactly-once"),
    ],
)
def test_where_its_offsets_are_is_told(support: SourceSupport, config: Mapping[str, object], kept: str):
    [words] = told(support, config)
    assert "producer.override.bootstrap.servers=there:9092: that is another Kafka cluster, other" in words
    assert kept in words


def test_another_name_of_the_workers_cluster_is_told_as_one():
    [words] = told(SourceSupport.ENABLED, SENT, Clusters("here", {THERE: "here"}))
    assert "that is the workers' own Kafka cluster, which Connect takes for another one" in words


def test_a_cluster_that_was_not_asked_is_unknown():
    [words] = told(SourceSupport.ENABLED, SENT, Clusters("here"))
    assert "whether that is another Kafka cluster is not known (it was not asked)" in words


def test_servers_from_a_config_provider_are_unknown():
    [words] = told(SourceSupport.DISABLED, {"producer.override.bootstrap.servers": "${file:x:y}"})
    assert "where its producer is sent to is not known" in words


@pytest.mark.parametrize("config", [{}, {"producer.override.bootstrap.servers": "here:9092"}])
def test_nothing_is_told_of_one_that_produces_where_its_workers_are(config: Mapping[str, object]):
    assert told(SourceSupport.ENABLED, config) == []


def test_nothing_is_told_of_one_that_is_gone():
    assert told(SourceSupport.ENABLED, SENT, known=False) == []
