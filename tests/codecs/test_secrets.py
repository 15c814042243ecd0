"""Which property values are shown."""

import time

import pytest

from eosctl.codecs.secrets import HIDDEN, mask_properties, mask_text

KEY = "PRIVATE" + " KEY"


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
        ("topic.prefix", "shop"),  # what names a Debezium connector's topics
        ("topic.heartbeat.prefix", "beat"),
        ("provide.transaction.metadata", "true"),
        ("notification.sink.topic.name", "notes"),
        ("signal.kafka.topic", "signals"),
        ("signal.kafka.groupId", "signallers"),
        ("schema.history.internal.kafka.topic", "history"),
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


@pytest.mark.parametrize(
    "told",
    [
        'LoginModule required username="tool" password="gehe\\"im x" ;',
        "ssl.key.password=geheim",
        "{'sasl.password': 'geheim', 'client.id': 'x'}",
        '{"clientSecret": "geheim"}',
        "Property(password: geheim)",
        "postgresql://audit:geheim@db/ledger",
        "https://tool:ge%3Ageheim@worker:8083/connectors",
        "Authorization: Basic geheim",
        "access_token=geheim&scope=x",
        "basic.auth.user.info=tool:geheim",
        f"-----BEGIN ENCRYPTED {KEY}-----\ngeheim\ngeheim\n-----END ENCRYPTED {KEY}-----",
        f"-----BEGIN {KEY}----- geheim",
        'password="ge heim, geheim',
    ],
)
def test_a_traceback_s_text_keeps_no_secret(told):
    assert "geheim" not in mask_text(f"ValueError: before {told}")
    assert HIDDEN in mask_text(told)
    assert mask_text(f"ValueError: before {told}").startswith("ValueError: before ")


def test_text_without_secrets_stays_as_it_is():
    text = 'File "x.py", line 3, in read\n    raise ValueError(passed)\nValueError: topic a: partition 3 = bad'
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "told", ["a" * 60_000, "pass" * 15_000, 'pass=\\"a ' * 7_000, "pass=" * 12_000, "a.pass-" * 9_000]
)
def test_the_time_does_not_grow_with_the_square_of_a_text(told):
    began = time.process_time()
    mask_text(told)
    assert time.process_time() - began < 1
