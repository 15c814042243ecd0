"""The keys that eosctl takes for a client's are those of Kafka's own clients."""

import subprocess
from pathlib import Path

import pytest

from eosctl.model.client_keys import CLIENT_KEYS, NOT_FOLLOWED
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import java_with

pytestmark = pytest.mark.kafka


def keys_of(version):
    jars = resolve_jars(version, lambda _: None)
    classes = compile_java(jars.compiler, Path(__file__).with_name("ClientKeysOracle.java"), jars.classpath)
    command = [*java_with(jars, classes), "ClientKeysOracle"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_every_key_of_kafka_s_clients_is_known_and_no_other():
    assert keys_of("3.3.2") | keys_of("4.3.1") == CLIENT_KEYS
    assert NOT_FOLLOWED <= CLIENT_KEYS
