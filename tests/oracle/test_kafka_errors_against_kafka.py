"""The error classes that explain knows are those of Kafka's own jars, with their codes, names and whether to retry."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.analysis.errors import explain_error, names_in
from eosctl.analysis.kafka_errors import KAFKA_ERRORS, KafkaError
from eosctl.sandbox.jars import (
    DEFAULT_KAFKA_VERSION,
    TESTED_BROKERS,
    TESTED_KAFKA_VERSIONS,
    KafkaJars,
    resolve_broker_jars,
    resolve_jars,
)
from eosctl.sandbox.java import compile_java
from tests.jvm import java_with


class Printed(NamedTuple):
    """The errors in Kafka's jars of one version; messages are the default ones, by class."""

    errors: set[KafkaError]
    messages: dict[str, str]


def errors_of(jars: KafkaJars) -> Printed:
    built_with = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    classes = compile_java(
        built_with.compiler, Path(__file__).with_name("KafkaErrorsOracle.java"), built_with.classpath
    )
    command = [*java_with(jars, classes, with_archive=False), "KafkaErrorsOracle"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in ran.stdout.splitlines()]
    errors = {
        KafkaError(each[2], each[3] == "true", int(each[0]) if each[0] else None, each[1] or None) for each in lines
    }
    return Printed(errors, {each[2]: each[4] for each in lines if each[4]})


@pytest.fixture(scope="module")
def printed() -> dict[str, Printed]:
    """By version of the jars."""
    whole = {version: errors_of(resolve_jars(version, lambda _: None)) for version in TESTED_KAFKA_VERSIONS}
    return whole | {version: errors_of(resolve_broker_jars(version, lambda _: None)) for version in TESTED_BROKERS}


@pytest.mark.kafka
def test_every_error_class_of_kafka_and_connect_is_known_and_no_other(printed: dict[str, Printed]):
    known = {replace(each, messages=()) for each in KAFKA_ERRORS}
    assert set().union(*(each.errors for each in printed.values())) == known


@pytest.mark.kafka
def test_kafkas_messages_are_explained_without_their_class_and_no_word_of_them_is_taken_for_a_name(
    printed: dict[str, Printed],
):
    explained = {version: len(each.messages) for version, each in printed.items()}
    for each in printed.values():
        assert [text for text in each.messages.values() if not explain_error(text) or names_in(text)] == []
    page = (Path(__file__).parents[2] / "docs/dev/explained.md").read_text()
    assert explained == {
        each[0]: int(each[1]) for each in re.findall(r"^\| (\d\.\d\.\d) \| (\d+) \|", page, re.MULTILINE)
    }


def test_each_is_explained_by_its_class_and_by_its_name():
    words = [word for each in KAFKA_ERRORS for word in (each.class_name, each.name) if word]
    assert [word for word in words if not explain_error(word)] == []
