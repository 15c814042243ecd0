"""The error classes that explain knows are those of Kafka's own jars, with their codes, names and whether to retry."""

import subprocess
from pathlib import Path

import pytest

from eosctl.analysis.errors import KAFKA_ERRORS, KafkaError
from eosctl.analysis.explanations import explain_error
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, TESTED_BROKERS, KafkaJars, resolve_broker_jars, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import java_with


def errors_of(jars: KafkaJars) -> set[KafkaError]:
    built_with = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    classes = compile_java(
        built_with.compiler, Path(__file__).with_name("KafkaErrorsOracle.java"), built_with.classpath
    )
    ran = subprocess.run([*java_with(jars, classes), "KafkaErrorsOracle"], capture_output=True, text=True, check=True)
    lines = (line.split("\t") for line in ran.stdout.splitlines())
    return {
        KafkaError(each[2], each[3] == "true", int(each[0]) if each[0] else None, each[1] or None) for each in lines
    }


@pytest.mark.kafka
def test_every_error_class_of_kafka_and_connect_is_known_and_no_other():
    whole = [errors_of(resolve_jars(version, lambda _: None)) for version in ("3.3.2", "4.3.1")]
    brokers = [errors_of(resolve_broker_jars(version, lambda _: None)) for version in TESTED_BROKERS]
    assert set().union(*whole, *brokers) == set(KAFKA_ERRORS)


def test_each_is_explained_by_its_class_and_by_its_name():
    words = [word for each in KAFKA_ERRORS for word in (each.class_name, each.name) if word]
    assert [word for word in words if not explain_error(word)] == []
