"""Every command line that a fix, a hint or an explanation prints runs as printed, once its names are filled in."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import eosctl
from eosctl.analysis.catalogue.index import KINDS
from eosctl.analysis.errors import ERROR_PATTERNS
from eosctl.cli import PROGRAM, root_command
from tests.analysis.evidence import answer
from tests.analysis.test_rules import CONDITIONS
from tests.commands.tree import commands

PACKAGE = Path(eosctl.__file__).parent
ROOT = PACKAGE.parent
BLOCK = re.compile(r"^```(?:console|sh|bash|)\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"`(eosctl [^`]+)`")
BARE = re.compile(r"(?:^|: )(eosctl [a-z][^`;]* --[^`;]*)$")
FILLED = ("1", "enabled")
"""Replacements for a name in a command line, such as `<topic>`: the second is for choices."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each text of a module with its line, values of f-strings as `<value>`; docstrings are left out."""
    nodes = list(ast.walk(tree))
    docstrings = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = docstrings | parts
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "<value>" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def printed() -> Iterator[tuple[str, str]]:
    """Where a command line is printed, and the line."""
    for kind in KINDS:
        for line in commands_in("; ".join(kind.fixes)):
            yield f"{kind.id}'s fix", line
    yield from in_findings()
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        yield from ((str(page.relative_to(ROOT)), line) for line in lines_of(page.read_text()))
    for pattern in ERROR_PATTERNS:
        for line in (found for each in pattern.commands for found in commands_in(each)):
            yield f"explanation {pattern.id}", line
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parts[-2] in {"commands", "reference"} or path.name == "cli.py":
            continue  # their texts are help: its examples have tests of their own
        source = path.read_text()
        for number, text in texts(ast.parse(source)) if "eosctl " in source else ():
            for line in commands_in(text):
                yield f"{path.relative_to(PACKAGE)}:{number}", line


def in_findings() -> Iterator[tuple[str, str]]:
    """The commands in the findings of each rule, with the names in the findings."""
    for rule_id, evidence, *_ in CONDITIONS:
        for finding in answer(rule_id, evidence).findings:
            yield from ((f"a finding of {rule_id}", line) for line in commands_in(finding.cure))


def lines_of(page: str) -> Iterator[str]:
    """The command lines in the code blocks of a page, without what a shell does with their output."""
    for block in BLOCK.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(eosctl [a-z].*)", line.strip())
            if found is not None:
                yield re.split(r" (?:[|>]|&&|#|2>) ?| \\$", found[1])[0].strip()


def commands_in(text: str) -> list[str]:
    return QUOTED.findall(text) or BARE.findall(text)


def what_is_wrong(line: str) -> str | None:
    """The command tree's objection to the line; None if it accepts it."""
    wrong = None
    for value in FILLED:
        filled = re.sub(r"<[^<>]*>|\{[a-z_]+\}", value, line).replace("…", "1").replace("[--", "--")
        try:
            parse(shlex.split(filled)[1:])
        except Exception as error:  # noqa: BLE001  # whatever the command tree raises, a user would see
            wrong = f"{type(error).__name__}: {error}"
            continue
        return None
    return wrong


def parse(words: list[str]) -> None:
    """Raises what the command tree raises for these words."""
    command, context = root_command(), None
    while words and (child := getattr(command, "get_command", lambda *_: None)(context, words[0])) is not None:
        command, context = child, command.make_context(PROGRAM, [], parent=context, resilient_parsing=True)
        words = words[1:]
    command.make_context(PROGRAM, words, parent=context)


def test_each_printed_command_runs_as_printed() -> None:
    first = {line: where for where, line in reversed(list(printed()))}  # fixes and explanations come first
    named = {each.path for each in commands() if not each.is_group}
    typed = {line for line, where in first.items() if line not in named or where.startswith(("EOS", "explanation"))}
    wrong = {f"{first[line]} prints `{line}`": what_is_wrong(line) for line in typed}
    assert len(typed) > 150
    assert {place: what for place, what in wrong.items() if what is not None} == {}


def test_a_colon_of_a_fix_or_an_explanation_has_text_behind_it() -> None:
    said = {kind.id: (kind.title, kind.cause, kind.fix) for kind in KINDS}
    said |= {each.id: (each.title, each.cause, *each.commands) for each in ERROR_PATTERNS}
    cut = re.compile(r":\s*([.;]|$)")
    assert {name: text for name, texts in said.items() for text in texts if cut.search(text)} == {}
