"""The decisions in a source file, and each changed in one way: a comparison, a condition, an early end."""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


NOTE: Final = "_note_decision"
"""Name of the function that `noting_decisions` calls with the line; it returns None."""


@dataclass(frozen=True, order=True)
class Mutant:
    """One decision of `path`, changed: the source between start and end becomes `changed`."""

    path: str
    line: int
    start: int
    end: int
    kind: str
    original: str
    changed: str

    def apply(self, source: str) -> str:
        """The file's text with the change."""
        return source[: self.start] + self.changed + source[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.original!r} -> {self.changed!r}"


class _Finder:
    """Walks one file's tree. Annotations and assertions decide nothing."""

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = path, source
        self._starts = [0]
        for text in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(text.decode()))
        self._lines = [text.decode() for text in source.encode().splitlines(keepends=True)]

    def of(self, node: ast.AST) -> Iterator[Mutant]:
        """The decisions at and below this node."""
        if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and _is_for_types(node)):
            return
        yield from self._conditions(node)
        match node:
            case ast.comprehension(ifs=[_, *_] as conditions):
                for condition in conditions:
                    yield self._mutant(condition, "filter dropped", "True")
            case ast.If(body=[*_, ast.Return() | ast.Raise() | ast.Continue() | ast.Break()], orelse=[]):
                yield self._mutant(node.test, "early end dropped", "False")
            case ast.IfExp():
                yield self._mutant(node.test, "choice turned", f"not {self._text(node.test)}")
        for child in self._children(node):
            yield from self.of(child)

    def _conditions(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(ops=[operator], left=left, comparators=[right]) if type(operator) in COMPARISONS:
                changed = f"{self._text(left)} {COMPARISONS[type(operator)]} {self._text(right)}"
                yield self._mutant(node, "comparison", changed)
            case ast.BoolOp(values=[_, *_] as values):
                word = " and " if isinstance(node.op, ast.And) else " or "
                for number in range(len(values)):
                    kept = [self._text(each) for at, each in enumerate(values) if at != number]
                    yield self._mutant(node, "condition dropped", f"({word.join(kept)})")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._mutant(node, "condition turned", self._text(operand))

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        skipped: set[int] = set()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            skipped = {id(node.returns), id(node.args)} | {id(each) for each in node.decorator_list}
        if isinstance(node, ast.AnnAssign):
            skipped = {id(node.annotation)}
        return (child for child in ast.iter_child_nodes(node) if id(child) not in skipped)

    def _mutant(self, node: ast.expr, kind: str, changed: str) -> Mutant:
        start, end = self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)
        return Mutant(self._path, node.lineno, start, end, kind, self._source[start:end], changed)

    def _offset(self, line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _text(self, node: ast.expr) -> str:
        text = self._source[
            self._offset(node.lineno, node.col_offset) : self._offset(node.end_lineno, node.end_col_offset)
        ]
        return f"({text})"


def _is_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def decisions(root: Path, path: str) -> list[Mutant]:
    """Every single change of a decision in the file at `path` below `root`, in the order of the file."""
    source = (root / path).read_text()
    return sorted(_Finder(path, source).of(ast.parse(source)))


class _Noting(ast.NodeTransformer):
    """Puts `NOTE(line) or` before each expression that a mutant changes."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Assert):
            return node
        self.generic_visit(node)
        match node:
            case ast.comprehension():
                node.ifs = [_noted(each) for each in node.ifs]
            case ast.If() | ast.IfExp():
                node.test = _noted(node.test)
            case ast.Compare(ops=[_]) | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return _noted(node)
        return node


def _noted(node: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(node.lineno)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.BoolOp(ast.Or(), [call, node]), node))


def noting_decisions(source: str) -> ast.Module:
    """The tree of a file in which each decision notes its line before it is made."""
    return ast.fix_missing_locations(_Noting().visit(ast.parse(source)))


class Decider(NamedTuple):
    """A function at the top of a module or class: a digest of what it does, and the lines of its decisions."""

    digest: str
    lines: tuple[int, ...]


def deciders(source: str) -> dict[str, Decider]:
    """The functions of a file by qualified name. A docstring, a comment and the place in the file change no digest."""
    noting = dict(_functions(noting_decisions(source)))
    return {
        name: Decider(hashlib.sha256(_dump(node).encode()).hexdigest()[:16], _noted_lines(noting[name]))
        for name, node in _functions(ast.parse(source))
    }


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def _dump(function: ast.AST) -> str:
    for node in ast.walk(function):
        match node:
            case (
                ast.FunctionDef(body=[ast.Expr(ast.Constant(str())), _, *_])
                | ast.ClassDef(body=[ast.Expr(ast.Constant(str())), _, *_])
            ):
                node.body = node.body[1:]
    return ast.dump(function)


def _noted_lines(function: ast.AST) -> tuple[int, ...]:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return tuple(sorted({node.args[0].value for node in calls if node.func.id == NOTE}))  # type: ignore[attr-defined]
