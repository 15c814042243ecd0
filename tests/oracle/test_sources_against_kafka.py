"""The classes and methods that findings and errors name as their sources, and the messages by which errors are known.

They are in Kafka's jars.
"""

import re
import zipfile
from collections.abc import Callable, Iterator

import pytest

from eosctl.analysis.catalogue.index import KINDS
from eosctl.analysis.errors import ERROR_PATTERNS
from eosctl.analysis.rules.registry import RULES
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import resolve_jars

pytestmark = pytest.mark.matrix
NAMED = re.compile(r"\b([A-Z]\w+)\.(\w+)(?: \(from (\d\.\d) on\))?")
SOURCES = {each.id: each.source for each in (*KINDS, *ERROR_PATTERNS)}
OF_ICEBERG = {"EOS173", "EOS174", "EOS175"}
"""Their classes are in the jars of Iceberg's sink, which tests/integration/test_iceberg_sink.py runs."""
UTF8 = b"\x01"
"""The tag of a name in a class file's constant pool, before its length in two bytes."""


def test_every_rule_and_every_error_names_what_decides_in_kafka() -> None:
    left_out = {
        "EOS003",
        "EOS152",
        "EOS172",
        "schema-history-missing",
    }  # issues of Kafka in each finding; no Apache release; Debezium decides
    deciding = {rule.id for rule in RULES} | {each.id for each in ERROR_PATTERNS}
    assert [each for each in sorted(deciding - left_out) if not NAMED.search(SOURCES[each])] == []


def test_names_in_findings_and_errors_are_in_kafka_s_jars(kafka_version: str) -> None:
    known = dict(classes(kafka_version))
    wrong = [
        (each, f"{name}.{member}")
        for each, source in SOURCES.items()
        if each not in OF_ICEBERG
        for name, member, since in NAMED.findall(source)
        if not since or KafkaVersion.parse(kafka_version) >= KafkaVersion.parse(since)
        if UTF8 + len(member).to_bytes(2, "big") + member.encode() not in known.get(name, b"")
    ]
    assert wrong == []


SINCE = {
    "TransactionAbortable": "3.8",
    "TRANSACTION_ABORTABLE": "3.8",
    "does not support exactly-once semantics with": "3.4",
    "required for exactly-once source tasks": "3.4",
    " must be set to at most 5": "4.0",
    "Failed to perform zombie fencing for source connector prior to modifying offsets": "3.6",
    "non-default clientTransactionVersion": "4.0",
    "Failed to alter consumer group offsets for connector": "3.6",
    "Idempotent transaction marker retry detected": "4.2",
    "Expected sequence 0 for transactions v2": "4.0",
    "worker poll timeout has expired": "3.8",
    "Skipping offsets write to primary store because": "3.8",
    " values must not be duplicated": "4.2",
    " values must not be empty": "4.2",
    "The worker is currently ": "3.8",
    "reading to the end of": "3.8",
    "Timed out while waiting for previous offset flush to complete": "3.6",
    "OffsetStorageWriter beginFlush": "3.6",
    "Failed to reset consumer group offsets for connector": "3.6",
}
"""Messages that older releases do not have."""
UNTIL = {
    "does not support exactly-once delivery guarantees with": "3.4",
    "Cannot fence producer with epoch equal to Short": "4.3",
}
LONG = 9
"""Shorter texts are found anywhere."""


def texts() -> Iterator[str]:
    """The longest text of a message in each alternative of each pattern."""
    of_kafka = (known for known in ERROR_PATTERNS if not known.source.startswith("Debezium"))
    for pattern in (each for known in of_kafka for each in known.patterns):
        for alternative in _without_inner_choice(pattern).split("|"):
            message = re.sub(r"^\w+Exception: ", "", alternative)
            yield max(re.split(r"\.\*|\(\?[^)]*\)|[()\[\]?\\^$+*]|\bS\b|\.", message), key=len)


def _without_inner_choice(pattern: str) -> str:
    """`a (b|c) d` as `a b d|a c d`."""
    inner = re.search(r"^([^|()]* )\(([^|()]+)\|([^|()]+)\)( [^|()]*)$", pattern)
    return pattern if inner is None else "{0}{1}{3}|{0}{2}{3}".format(*inner.groups())


def test_the_texts_of_known_errors_are_in_kafka_s_jars(kafka_version: str) -> None:
    version = KafkaVersion.parse(kafka_version)
    expected = {
        text
        for text in texts()
        if len(text) >= LONG
        and version >= KafkaVersion.parse(SINCE.get(text, "3.3"))
        and (text not in UNTIL or version < KafkaVersion.parse(UNTIL[text]))
    }
    for _, code in opened(kafka_version, lambda _: True):
        lower = code.lower()
        expected -= {text for text in expected if text.lower().encode() in lower}
    assert expected == set()


def classes(kafka_version: str) -> Iterator[tuple[str, bytes]]:
    """The class files by simple name: those of nested classes, and of classes of one name, behind each other."""
    wanted = {name for source in SOURCES.values() for name, *_ in NAMED.findall(source)}
    found: dict[str, bytes] = {}
    for name, code in opened(kafka_version, wanted.__contains__):
        found[name] = found.get(name, b"") + code
    yield from found.items()


def opened(kafka_version: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The class files of Kafka and Connect, with their simple names."""
    for jar in sorted(resolve_jars(kafka_version, lambda _: None).directory.rglob("*.jar")):
        if jar.name.startswith(("connect-", "kafka")):
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    name = entry.rpartition("/")[2].removesuffix(".class").partition("$")[0]
                    if entry.endswith(".class") and wanted(name):
                        yield name, archive.read(entry)
