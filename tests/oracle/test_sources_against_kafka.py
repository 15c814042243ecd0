"""The classes and methods of Kafka that rules name as their sources are in its jars, under these names."""

import re
import zipfile
from collections.abc import Iterator

import pytest

from eosctl.analysis.rules.registry import RULES
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import resolve_jars

pytestmark = pytest.mark.matrix
NAMED = re.compile(r"\b([A-Z]\w+)\.(\w+)(?: \(from (\d\.\d) on\))?")
UTF8 = b"\x01"
"""What begins a name in a class file's constant pool, before its length in two bytes."""


def test_every_rule_names_what_decides_in_kafka() -> None:
    left_out = {"EOS003"}  # it names Kafka's issues in each finding
    assert [rule.id for rule in RULES if rule.id not in left_out and not NAMED.search(rule.kind.source)] == []


def test_what_rules_name_is_in_kafka_s_jars(kafka_version: str) -> None:
    known = dict(classes(kafka_version))
    wrong = [
        (rule.id, f"{name}.{member}")
        for rule in RULES
        for name, member, since in NAMED.findall(rule.kind.source)
        if not since or KafkaVersion.parse(kafka_version) >= KafkaVersion.parse(since)
        if UTF8 + len(member).to_bytes(2, "big") + member.encode() not in known.get(name, b"")
    ]
    assert wrong == []


def classes(kafka_version: str) -> Iterator[tuple[str, bytes]]:
    """The class files by simple name: those of nested classes, and of classes of one name, behind each other."""
    wanted = {name for rule in RULES for name, *_ in NAMED.findall(rule.kind.source)}
    found: dict[str, bytes] = {}
    jars = resolve_jars(kafka_version, lambda _: None)
    for jar in sorted(jars.directory.rglob("*.jar")):
        if jar.name.startswith(("connect-", "kafka")):
            with zipfile.ZipFile(jar) as opened:
                for entry in opened.namelist():
                    name = entry.rpartition("/")[2].removesuffix(".class").partition("$")[0]
                    if entry.endswith(".class") and name in wanted:
                        found[name] = found.get(name, b"") + opened.read(entry)
    yield from found.items()
