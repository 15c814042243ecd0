"""Every place that refuses has a test without Kafka that holds it, by name: a new one is noticed here."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = ("model", "codecs", "planning", "executors", "ledger")
REFUSING: Final = frozenset({"Refused", "Objection"})

HELD: Final = ROOT / "tests" / "golden" / "refusals.lock"
"""Each function that refuses, and the test that fails where it does not."""


def held() -> dict[str, str]:
    lines = HELD.read_text().splitlines()
    return {name: test for name, _, test in (line.partition(" ") for line in lines)}


def refusing(tree: ast.AST, within: tuple[str, ...] = ()) -> Iterator[str]:
    """The functions that make a refusal or an objection; a planner's are in functions that are named so."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                inner = (*within, node.name)
                if isinstance(node, ast.FunctionDef) and "object" in node.name and "objective" not in node.name:
                    yield ".".join(inner)
                yield from refusing(node, inner)
            case ast.Call(func=ast.Name(id=name)) if name in REFUSING:
                yield ".".join(within)
                yield from refusing(node, within)
            case _:
                yield from refusing(node, within)


def test_every_place_that_refuses_names_the_test_that_holds_it() -> None:
    found = {
        f"{room}.{file.stem}.{name}"
        for room in ROOMS
        for file in sorted((ROOT / "eosctl" / room).rglob("*.py"))
        for name in refusing(ast.parse(file.read_text()))
        if room == "planning" or "object" not in name.rpartition(".")[2]
    }
    assert found == held().keys()


def test_the_tests_that_hold_refusals_are_there() -> None:
    for place in held().values():
        file, _, name = place.partition("::")
        tests = ast.parse((ROOT / "tests" / file).read_text()).body
        assert name in {each.name for each in tests if isinstance(each, ast.FunctionDef)}, place
