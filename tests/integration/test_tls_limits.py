"""Listeners that speak one TLS version, or one cipher suite: each client connects where a Java client does."""

import base64
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from eosctl.clients.librdkafka import admin_client
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, Unreachable
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.integration.tls_listeners import GCM
from tests.jvm import java_with

pytestmark = pytest.mark.kafka

ORACLE = Path(__file__).parents[1] / "oracle" / "ConnectOracle.java"
LISTENERS = ("ONLY_NEW", "ONLY_OLD", "ONLY_GCM")
LIMITS = (
    "",
    "ssl.enabled.protocols=TLSv1.3",
    "ssl.enabled.protocols=TLSv1.2",
    "ssl.enabled.protocols=TLSv1.1,TLSv1.2",
    "ssl.enabled.protocols=TLSv1.1",
    "ssl.protocol=TLSv1.2",
    f"ssl.cipher.suites={GCM}",
    "ssl.cipher.suites=TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "ssl.cipher.suites=TLS_AES_256_GCM_SHA384",
)
ONLY_OLD = {LIMITS[2], LIMITS[3], LIMITS[5], LIMITS[6], LIMITS[7]}
"""Those that leave TLSv1.2 alone, which librdkafka is not known."""


def java(files):
    """True for each properties file with which Kafka's own client connects."""
    jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    classes = compile_java(jars.compiler, ORACLE, jars.classpath)
    command = [*java_with(jars, classes), "ConnectOracle"]
    asked = "".join(base64.b64encode(each.encode()).decode() + "\n" for each in files)
    ran = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=200)
    return [line.startswith("yes") for line in ran.stdout.splitlines() if line.startswith(("yes", "no"))]


def by_wire(text):
    try:
        with Wire(client_properties(command_config=text), timeout_s=5) as wire:
            return bool(wire.brokers())
    except (Unreachable, ConfigError):
        return False


def by_librdkafka(text):
    try:
        return bool(admin_client(client_properties(command_config=text)).list_topics(timeout=5).brokers)
    except (KafkaException, ConfigError):
        return False


def test_versions_and_suites_are_those_of_java(tls_broker, tmp_path):
    (tmp_path / "trust.pem").write_text(tls_broker.authority.root_pem)
    asked = {
        (listener, limit): f"bootstrap.servers={tls_broker.addresses[listener]}\nsecurity.protocol=SSL\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={tmp_path}/trust.pem\n{limit}\n"
        for listener in LISTENERS
        for limit in LIMITS
    }
    expected = dict(zip(asked, java(asked.values()), strict=True))
    assert sum(expected.values()) == 14
    not_kept = {("ONLY_NEW", limit) for limit in ONLY_OLD}
    # A client that is refused tries again until its time is over.
    with ThreadPoolExecutor(len(asked)) as beside_one_another:
        assert dict(zip(asked, beside_one_another.map(by_wire, asked.values()), strict=True)) == expected
        known = expected | dict.fromkeys(not_kept, True)
        assert dict(zip(asked, beside_one_another.map(by_librdkafka, asked.values()), strict=True)) == known
