"""Which test makes the condition of each rule on a real cluster, by `@pytest.mark.proves("EOS040", …)` on the test.

The mark stays with the test when it is moved or renamed, and goes with it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = "tests/integration"


def proofs(root: Path) -> dict[str, str]:
    """Rule ID to the test that proves it, as pytest names it; ValueError where two tests claim one."""
    found: dict[str, str] = {}
    for path in sorted((root / FOLDER).glob("test_*.py")):
        for rule, function in _claims(ast.parse(path.read_text("utf-8"))):
            test = f"{FOLDER}/{path.name}::{function}"
            if rule in found:
                raise ValueError(f"{found[rule]} and {test} both claim to prove {rule}")
            found[rule] = test
    return found


def _claims(module: ast.Module) -> Iterator[tuple[str, str]]:
    for function in (node for node in module.body if isinstance(node, ast.FunctionDef)):
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "proves":
                yield from ((str(ast.literal_eval(each)), function.name) for each in mark.args)
