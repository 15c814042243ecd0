"""The stable surface for programs within a major version, one line each, in tests/golden/surface.lock.

    option doctor --fail-on           a command's option
    choice doctor --fail-on warning   a value that it takes
    argument apply plan
    exit 8                            an exit code
    call Cluster.offsets *connectors  a parameter of the Python API
    field OffsetsReport.findings      what an answer of the Python API has

The fields of JSON documents are held by tests/render/published.py, the IDs of findings by tests/golden/findings.lock.
`python -m tests.project.surface` writes the file. Once it is of version 1 or later, a line may go with the next major
version only.
"""

import inspect
import sys
import types
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, get_type_hints

import eosctl
from eosctl.cli import PROGRAM, root_command
from eosctl.errors import EXIT_FINE, EXIT_FOUND, EXIT_INCOMPLETE, EosctlError
from eosctl.model.report import Result
from eosctl.shell.command_tree import walk
from eosctl.version import __version__

FILE: Final = Path(__file__).resolve().parents[1] / "golden" / "surface.lock"
CLASSES: Final = ("Cluster", "ProposedPlan", "ProposedFencing")
REQUESTS: Final = ("Workers", "FencingRequest", "MigrationOptions")
FUNCTIONS: Final = ("connect", "open_snapshot", "document", "text", "require")


def surface() -> list[str]:
    """The lines as they are now, in order."""
    return sorted({*_options(), *_exit_codes(), *_api()})


def _options() -> Iterator[str]:
    for command in walk(root_command(), PROGRAM):
        path = command.path.removeprefix(PROGRAM).strip() or PROGRAM
        for each in command.parameters:
            yield from (f"option {path} {name}" for name in each.names)
            yield from (f"choice {path} {each.names[-1]} {value}" for value in each.choices if each.names)
            if not each.names:
                yield f"argument {path} {each.name}"


def _exit_codes() -> Iterator[str]:
    yield from (f"exit {code}" for code in (EXIT_FINE, EXIT_FOUND, EXIT_INCOMPLETE))
    waiting: list[type[EosctlError]] = [EosctlError]
    while waiting:
        kind = waiting.pop()
        yield f"exit {kind.exit_code}"
        waiting += kind.__subclasses__()


def _api() -> Iterator[str]:
    yield from (f"name {name}" for name in dir(eosctl))
    for name in FUNCTIONS:
        yield from _calls(name, getattr(eosctl, name))
    answers: set[type] = set()
    for name in CLASSES:
        kind = getattr(eosctl, name)
        for member, found in inspect.getmembers(kind):
            if member.startswith("_"):
                continue
            if isinstance(found, types.FunctionType):
                yield from _calls(f"{name}.{member}", found)
                answers |= {each for each in get_type_hints(found).values() if _is_answer(each)}
            else:
                yield f"call {name}.{member}"
    for kind in (*answers, *(getattr(eosctl, name) for name in REQUESTS)):
        yield from (f"field {kind.__name__}.{field}" for field in kind.__struct_fields__)
    yield from (f"field Result.{field}" for field in ("complete", "coverage", "failure", "found", "reported"))


def _is_answer(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Result)


def _calls(name: str, function: types.FunctionType) -> Iterator[str]:
    yield f"call {name}"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
            yield f"call {name} {star}{parameter.name}"


def lost(before: Iterable[str], now: Collection[str]) -> list[str]:
    """The removed lines."""
    return [line for line in before if line not in now]


def refusal(before: str, now: Collection[str], version: str) -> str | None:
    """Why the file may not be written, for what it has and the version of eosctl; None where it may."""
    recorded, *lines = before.splitlines()
    if recorded == _heading(version) and not version.startswith("0.") and (gone := lost(lines, now)):
        return "\n".join((*gone, "these go with the next major version only: see docs/dev/versioning.md"))
    return None


def _heading(version: str) -> str:
    return f"version {version.partition('.')[0]}"


def main() -> str | None:
    now = surface()
    if FILE.exists() and (refused := refusal(FILE.read_text("utf-8"), now, __version__)):
        return refused
    FILE.write_text("\n".join((_heading(__version__), *now, "")), "utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
