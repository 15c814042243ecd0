"""The sentences of Kafka's and Connect's logs and exceptions, as their class files hold them."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

JARS: Final = re.compile(
    r"(connect-runtime|kafka-clients|kafka_2\.1\d|kafka-(transaction|group)-coordinator|kafka-storage)-\d"
)
"""Jars whose messages occur in the logs of workers and brokers, and in the traces of tasks."""
GENERATED: Final = re.compile(r"/(message|generated|protocol/types)/|Record\w*JsonConverter|anonfun|/shaded/")
"""Classes of requests and records, more than half of all: they say nothing in a log."""
PLACE: Final = re.compile("\\{\\}|\x01|%[sd]")
"""Where a log line, a concatenation and a format put a value in."""
NAME: Final = "orders_1"
_UTF8: Final = 1
_WIDE: Final = frozenset({5, 6})
_SIZES: Final = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_FEWEST_WORDS: Final = 4


def sentences(libs: Path) -> set[str]:
    """Each text of four words or more in the jars, with a place for each value that it is given."""
    found = set()
    for jar in libs.rglob("*.jar"):
        if JARS.match(jar.name):
            with zipfile.ZipFile(jar) as archive:
                for entry in archive.namelist():
                    if entry.endswith(".class") and not GENERATED.search(entry):
                        found |= {each for each in _texts(archive.read(entry)) if is_sentence(each)}
    return found


def is_sentence(text: str) -> bool:
    """Also part of one. Signatures of Scala, which are texts too, have no four words."""
    return len(re.findall(r"(?:^|(?<= ))['\"(]?[A-Za-z][a-z']*[.,:;)'\"]?(?= |$)", text)) >= _FEWEST_WORDS


def filled(sentence: str) -> str:
    return PLACE.sub(NAME, sentence)


def pieces(sentence: str) -> Iterator[str]:
    """The texts between the placeholders of four words or more: a page quotes it so."""
    for piece in re.split(f"{PLACE.pattern}|\n", sentence):
        if is_sentence(piece):
            yield " ".join(word.strip("`*.:,;'\"()[]") for word in piece.split())


def _texts(code: bytes) -> Iterator[str]:
    """The texts of a class file's constant pool (JVM specification, 4.4)."""
    position, entry, count = 10, 1, int.from_bytes(code[8:10], "big")
    while entry < count:
        tag = code[position]
        if tag == _UTF8:
            end = position + 3 + int.from_bytes(code[position + 1 : position + 3], "big")
            yield code[position + 3 : end].decode(errors="replace")
            position = end
        else:
            position += 1 + _SIZES[tag]
        entry += 2 if tag in _WIDE else 1
