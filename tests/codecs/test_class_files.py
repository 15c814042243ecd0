"""Class files of a real compiler, and which methods a plugin has."""

from pathlib import Path

import pytest

from eosctl.analysis.certification import overridden
from eosctl.codecs.class_files import decode_class
from eosctl.model.certification import ClassFile
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java

SOURCE = Path(__file__).parents[1] / "integration" / "LyingSource.java"


@pytest.fixture(scope="module")
def classes() -> dict[str, ClassFile]:
    """The classes of a connector, by their names."""
    jars = resolve_jars("4.3.1", lambda _: None)
    found = compile_java(jars.compiler, SOURCE, jars.classpath)
    decoded = {file.stem: decode_class(file.read_bytes()) for file in found.glob("*.class")}
    return {name: each for name, each in decoded.items() if each is not None}


def test_names_are_those_of_the_source(classes: dict[str, ClassFile]) -> None:
    assert set(classes) == {"LyingSource", "LyingSource$LyingTask", "LyingSource$Lane"}
    connector = classes["LyingSource"]
    assert connector.name == "LyingSource"
    assert connector.superclass == "org/apache/kafka/connect/source/SourceConnector"
    assert {"exactlyOnceSupport", "taskClass", "taskConfigs"} <= connector.methods
    assert "LyingSource$LyingTask" in connector.mentioned


def test_the_methods_that_matter_are_named_with_the_class_that_has_them(classes: dict[str, ClassFile]) -> None:
    assert overridden("LyingSource", classes) == {
        "exactlyOnceSupport": "LyingSource",
        "canDefineTransactionBoundaries": "LyingSource",
        "alterOffsets": "LyingSource",
        "commitRecord": "LyingSource$LyingTask",
    }


def test_a_method_may_come_from_a_class_that_the_connector_extends(classes: dict[str, ClassFile]) -> None:
    child = ClassFile("org/example/Child", "LyingSource", frozenset({"alterOffsets"}), frozenset())
    found = overridden("org.example.Child", {**classes, child.name: child})
    assert found["alterOffsets"] == "org.example.Child"
    assert found["exactlyOnceSupport"] == "LyingSource"
    assert found["commitRecord"] == "LyingSource$LyingTask"


def test_methods_of_kafka_connect_itself_are_not_the_plugins(classes: dict[str, ClassFile]) -> None:
    """A plugin may come with Kafka Connect's own jars."""
    top = "org/apache/kafka/connect/source/SourceConnector"
    api = ClassFile(top, "org/apache/kafka/connect/connector/Connector", frozenset({"alterOffsets"}), frozenset())
    child = ClassFile("org/example/Silent", top, frozenset(), frozenset())
    assert overridden("org.example.Silent", {api.name: api, child.name: child}) == {}


def test_a_class_that_is_not_there_has_no_methods() -> None:
    assert overridden("org.example.Absent", {}) == {}


@pytest.mark.parametrize("content", [b"", b"\xca\xfe\xba\xbe", b"PK\x03\x04 and more", bytes(100)])
def test_other_bytes_are_no_class(content: bytes) -> None:
    assert decode_class(content) is None


def test_a_class_that_is_cut_is_none(classes: dict[str, ClassFile]) -> None:
    jars = resolve_jars("4.3.1", lambda _: None)
    content = (compile_java(jars.compiler, SOURCE, jars.classpath) / "LyingSource.class").read_bytes()
    assert decode_class(content[:200]) is None
