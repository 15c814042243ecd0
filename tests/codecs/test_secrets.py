"""Which property values are shown."""

import pytest

from eosctl.codecs.secrets import HIDDEN, mask_properties


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connector.class", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("tasks.max", "4"),
        ("topics", "a,b"),
        ("value.converter.schemas.enable", "false"),
        ("producer.override.bootstrap.servers", "kafka:9092"),
        ("source.cluster.bootstrap.servers", "kafka:9092"),
        ("admin.override.retry.backoff.max.ms", "5"),
        ("offsets.storage.topic", "own-offsets"),
        ("transaction.boundary.interval.ms", "1000"),
        ("topic.creation.default.partitions", "3"),
        ("transforms.mask.type", "org.apache.kafka.connect.transforms.MaskField$Value"),
        ("offset-syncs.topic.replication.factor", "1"),
        ("database.password", "${file:/etc/kafka/db.properties:password}"),
        ("database.password", "${env:DB}${env:SUFFIX}"),
        ("anything", None),
        ("tasks.max", 4),
    ],
)
def test_harmless_values_and_references_are_shown(key, value):
    assert mask_properties({key: value}) == {key: value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("database.password", "hunter2"),
        ("database.password", 12345),
        ("connection.url", "jdbc:postgresql://db/x?user=a&password=b"),
        ("sasl.jaas.config", 'PlainLoginModule required password="${file:/x:y}";'),
        ("producer.override.sasl.jaas.config", "x"),
        ("source.cluster.ssl.keystore.password", "x"),
        ("aws.secret.access.key", "x"),
        ("unheard.of", "x"),
        ("", "x"),
        ("topics", "https://user:hunter2@host/x"),
        ("topics", ["hunter2"]),
        ("tasks.max", {"a": "hunter2"}),
        ("database.password", "x${file:/x:y}"),
        ("database.password", "${hunter2}"),
        ("transforms.mask.replacement", "x"),
        ("transforms.password.type", "x"),
    ],
)
def test_everything_else_is_hidden(key, value):
    assert mask_properties({key: value}) == {key: HIDDEN}
