"""Kafka's tools take every command line of theirs that a finding, an explanation, a hint or a page prints."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import eosctl
from eosctl.analysis.catalogue.index import KINDS
from eosctl.analysis.errors import ERROR_PATTERNS
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.analysis.evidence import answer
from tests.analysis.test_rules import CONDITIONS
from tests.commands.test_printed_commands import texts
from tests.jvm import java_with

ROOT = Path(__file__).parents[2]
PACKAGE = Path(eosctl.__file__).parent
QUOTED = re.compile(r"`(kafka-[a-z-]+\.sh -[^`]+)`")
"""A tool that is only named has no options."""
UNQUOTED = re.compile(r"(?<!`)kafka-[a-z-]+\.sh --")
BLOCK = re.compile(r"^```(?:console|sh|)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILLED = {
    "<user>": "User:c",
    "<operation>": "Write",
    "<topic>": "t",
    "<value>": "v",
    "{topic}": "t",
    "{connector}": "c",
}


def printed() -> Iterator[tuple[str, str]]:
    """Where a command line is printed, and the line."""
    for kind in KINDS:
        yield from ((f"{kind.id}", line) for each in (kind.cause, *kind.fixes) for line in QUOTED.findall(each))
    for rule_id, evidence, *_ in CONDITIONS:
        for finding in answer(rule_id, evidence).findings:
            yield from ((f"a finding of {rule_id}", line) for line in QUOTED.findall(finding.cure))
    for pattern in ERROR_PATTERNS:
        yield from ((pattern.id, each) for each in pattern.commands if each.startswith("kafka-"))
        yield from ((pattern.id, line) for each in (pattern.cause, *pattern.commands) for line in QUOTED.findall(each))
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parts[-2] != "catalogue" and path.name != "errors.py":
            for number, text in texts(ast.parse(path.read_text())):
                lines = (line for line in QUOTED.findall(text) if "<value><value>" not in line)  # a finding has those
                yield from ((f"{path.relative_to(PACKAGE)}:{number}", line) for line in lines)
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        yield from ((str(page.relative_to(ROOT)), line) for line in lines_of(page.read_text()))


def lines_of(page: str) -> Iterator[str]:
    """The lines of a page's code blocks and spans."""
    blocks = "\n".join(BLOCK.findall(page)).replace("\\\n", " ")
    yield from (
        line.strip().removeprefix("$ ") for line in blocks.splitlines() if re.match(r"(\$ )?kafka-\S+\.sh -", line)
    )
    yield from (line.replace("\n", " ") for line in QUOTED.findall(BLOCK.sub("", page)))


def filled(line: str) -> list[str]:
    """The words of a line, with something in the place of each name that it leaves open."""
    for name, value in FILLED.items():
        line = line.replace(name, value)
    line = line.replace("<broker>", "h:1").replace("HOST:PORT", "h:1").replace("…", "x=1")
    return shlex.split(re.sub(r"<[^<>]*>|\{[a-z_.]*\}", "1", line))


WRONG = (
    "kafka-topics.sh --describe --topic t",
    "kafka-configs.sh --bootstrap-server h:1 --alter --entity-type topics --add-config a=b",
    "kafka-acls.sh --add --allow-principal User:c --operation Write --topic t",
    "kafka-features.sh --bootstrap-server h:1 upgrade --features transaction.version=2",
    "kafka-transactions.sh --bootstrap-server h:1 find-hangings",
)
"""Without servers, or with a wrong option: one for each kind of parser."""


@dataclass(frozen=True)
class Said:
    """The tools' errors, empty where they take the line: for each printed line with its first place, and for WRONG."""

    printed: dict[str, tuple[str, str]]
    wrong: list[str]


@pytest.fixture(scope="module")
def said() -> Said:
    places: dict[str, str] = {}
    for where, line in printed():
        places.setdefault(line, where)
    jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    classes = compile_java(jars.compiler, Path(__file__).with_name("ToolOptionsOracle.java"), jars.classpath)
    asked = [*map(shlex.split, WRONG), *map(filled, places)]
    given = "".join("\t".join(words) + "\n" for words in asked)
    command = [*java_with(jars, classes), "ToolOptionsOracle"]
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=60)
    answers = ran.stdout.splitlines()
    assert len(answers) == len(asked), ran.stdout + ran.stderr
    found = zip(places.items(), answers[len(WRONG) :], strict=True)
    return Said({line: (where, answer) for (line, where), answer in found}, answers[: len(WRONG)])


@pytest.mark.kafka
def test_kafkas_tools_take_every_command_line_that_is_printed(said: Said) -> None:
    assert {line: found for line, found in said.printed.items() if found[1]} == {}
    assert len(said.printed) >= 28


@pytest.mark.kafka
def test_a_command_line_without_its_servers_or_with_a_wrong_option_is_refused(said: Said) -> None:
    """So the test above can fail."""
    assert [line for line, answer in zip(WRONG, said.wrong, strict=True) if not answer] == []


def test_fixes_and_causes_print_commands_of_kafkas_tools_as_code() -> None:
    """A page would take a full stop behind them for a part of their last word."""
    said = {kind.id: text for kind in KINDS for text in (kind.cause, *kind.fixes) if UNQUOTED.search(text)}
    assert said == {}
