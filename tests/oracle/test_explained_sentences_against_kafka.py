"""Kafka's sentences are inputs of `explain`: those quoted by pages, and all of them for the names in them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.analysis.errors import ERROR_PATTERNS, explain_error, names_in
from eosctl.sandbox.jars import TESTED_BROKERS, TESTED_KAFKA_VERSIONS, resolve_broker_jars, resolve_jars
from tests.oracle.kafka_sentences import NAME, filled, pieces, sentences

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *(page for page in sorted(ROOT.glob("docs/**/*.md")) if page.parent.name != "reference"))
SEGMENT = re.compile(r"(?<=[.;!?])\s+(?=[A-Z`*])|\n\s*\n|\n(?=[-#*\d])|\|")
"""Between two sentences, paragraphs, items and cells of a table."""
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
FEWEST_WORDS = 5
"""Shorter runs of words are in Kafka and in our pages by chance."""
NO_ERROR_OF_OURS = {"is larger than the maximum string length"}
"""A JSON parser's limit: a line of Kafka's record generator."""
PLACEHOLDER = re.compile(r"[A-Z_:]+|User:NAME|[\w<>]*[\d_<>.-][\w<>.-]*|[Oo]rders|__cluster_metadata")
"""Names in pages and in Kafka's sentences: in capitals, in angle brackets, with a digit, or those of examples."""


@pytest.fixture(scope="module")
def said() -> dict[str, set[str]]:
    """Kafka's sentences by the version of its jars."""
    said = {version: sentences(resolve_jars(version, lambda _: None).directory) for version in TESTED_KAFKA_VERSIONS}
    return said | {each: sentences(resolve_broker_jars(each, lambda _: None).directory) for each in TESTED_BROKERS}


def segments() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for segment in SEGMENT.split(LINK.sub(r"\1", page.read_text())):
            yield str(page.relative_to(ROOT)), " ".join(segment.split())


@pytest.mark.kafka
def test_each_sentence_of_kafka_that_a_page_quotes_is_explained_as_it_is_quoted(said: dict[str, set[str]]) -> None:
    quotable = {piece.casefold() for each in said.values() for sentence in each for piece in pieces(sentence)}
    quoted = [(page, piece, segment) for page, segment in segments() for piece in pieces_in(segment, quotable)]
    assert [each for each in quoted if not explain_error(each[2])] == []
    assert len({piece for _, piece, _ in quoted}) > 10


def pieces_in(segment: str, quotable: set[str]) -> set[str]:
    words = [word.strip("`*.:,;'\"()[]") for word in segment.casefold().split()]
    runs = (
        " ".join(words[at:end])
        for at in range(len(words))
        for end in range(at + FEWEST_WORDS, min(at + 25, len(words) + 1))
    )
    return {run for run in runs if run in quotable} - NO_ERROR_OF_OURS


def test_no_word_of_a_page_is_taken_for_a_name() -> None:
    taken = {(page, name) for page, segment in segments() for name in names_in(segment).values()}
    assert [each for each in sorted(taken) if not PLACEHOLDER.fullmatch(each[1])] == []


@pytest.mark.kafka
def test_no_word_of_kafkas_sentences_is_taken_for_a_name(said: dict[str, set[str]]) -> None:
    every = {filled(sentence) for each in said.values() for sentence in each}
    taken = {name: text for text in every for name in names_in(text).values() if NAME not in name}
    assert [each for each in taken.items() if not PLACEHOLDER.fullmatch(each[0])] == []
    assert len(every) > 10_000


@pytest.mark.kafka
def test_the_page_counts_the_explained_sentences_of_kafka(said: dict[str, set[str]]) -> None:
    every = set().union(*said.values())
    known = {each for each in every if any(pattern.matches(filled(each)) for pattern in ERROR_PATTERNS)}
    counted = {version: str(len(each & known)) for version, each in said.items()}
    page = (ROOT / "docs/dev/explained.md").read_text()
    rows = re.findall(r"^\| (\d\.\d\.\d) \| \d+ \| (\d+) \|$", page, re.MULTILINE)
    assert dict(rows) == counted
