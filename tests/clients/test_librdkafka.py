"""Client properties as librdkafka and Python's TLS take them."""

import sys

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from eosctl.clients import kafka_python
from eosctl.clients.librdkafka import admin_client, configuration, consumer, producer
from eosctl.clients.tls import ssl_context
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, Unsupported
from tests.topics import make_topic

ADDRESS = "broker:9093"


def properties(*extra):
    return client_properties(bootstrap_server=ADDRESS, extra=["security.protocol=SSL", *extra])


def test_plain_credentials_are_handed_over():
    jaas = 'sasl.jaas.config=a.B required username="tool" password="s3cret";'
    settings = configuration(properties("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", jaas))
    assert settings == {
        "bootstrap.servers": ADDRESS,
        "security.protocol": "SASL_PLAINTEXT",
        "client.id": settings["client.id"],
        "sasl.mechanism": "PLAIN",
        "sasl.username": "tool",
        "sasl.password": "s3cret",
    }
    assert str(settings["client.id"]).startswith("eosctl/")


def test_a_truststore_that_is_missing_is_named(tmp_path):
    missing = tmp_path / "ca.pem"
    with pytest.raises(
        ConfigError, match=rf"truststore {missing} \(ssl.truststore.location, -X\) cannot be used: No such file"
    ):
        ssl_context(properties("ssl.truststore.type=PEM", f"ssl.truststore.location={missing}"))


def test_a_certificate_chain_without_its_key_is_refused():
    with pytest.raises(ConfigError, match=r"without ssl\.keystore\.key"):
        ssl_context(properties("ssl.keystore.certificate.chain=PEM"))


def test_host_names_are_checked_unless_told_otherwise():
    assert ssl_context(properties()).check_hostname
    assert not ssl_context(properties("ssl.endpoint.identification.algorithm=")).check_hostname


@pytest.mark.kafka
def test_a_key_goes_to_the_partition_that_java_would_choose(sandbox, fresh_name):
    name = fresh_name("murmur2")
    here = client_properties(bootstrap_server=sandbox.bootstrap_servers)
    admin = admin_client(here)
    make_topic(admin, NewTopic(name, 25, 1))
    # Partition of 25 by Java's murmur2, computed with Kafka's own class.
    java = {
        b'["file-source",{"filename":"/tmp/test.txt"}]': 21,
        b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]': 7,
        b'["reddit-source",{"subreddit":"apachekafka"}]': 3,
    }
    writer = producer(here)
    for key in java:
        writer.produce(name, key=key, value=b"x")
    assert writer.flush(30) == 0
    reader = consumer(here, auto_offset_reset="earliest")
    reader.assign([TopicPartition(name, partition, 0) for partition in range(25)])
    found = {message.key(): message.partition() for message in reader.consume(3, 30)}
    reader.close()
    assert found == java


@pytest.mark.parametrize("client", ["kafka-python", "librdkafka"])
def test_kerberos_says_what_is_missing_here(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)
    given = properties("security.protocol=SASL_SSL", "sasl.kerberos.service.name=kafka")
    with pytest.raises(Unsupported) as caught:
        kafka_python.configuration(given) if client == "kafka-python" else admin_client(given)
    lacking = {
        "kafka-python": "SASL mechanism GSSAPI needs the Python package gssapi, which is not installed here",
        "librdkafka": "librdkafka, which writes offsets and topics, is built without GSSAPI here",
    }
    assert caught.value.message == lacking[client]
    assert "pip install" in caught.value.hint


def test_settings_that_librdkafka_does_not_take_are_a_configuration_error():
    with pytest.raises(ConfigError, match="librdkafka does not take the client properties"):
        admin_client(properties("security.protocol=SASL_SSL", "sasl.mechanism=DIGEST-MD5"))
