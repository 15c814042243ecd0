"""Tries mutants within one pytest: tests are collected once, and each mutant is tried in a fork that has them.

A fork replaces the code of the function that holds the decision, in place: whoever imported the function has the mutant
then. What Python runs once, at import, is not changed by that; such mutants are tried in a process of their own.
"""

import contextlib
import gc
import hashlib
import inspect
import json
import os
import select
import signal
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from tests.mutants.decisions import Mutant, decisions

LONGEST_S: Final = 60.0
Functions = Mapping[tuple[str, str, int], list[FunctionType]]


class Trial:
    """The plugin: after the collection it measures the tests, tries the mutants, and runs no test as such."""

    def __init__(self, root: Path, mutants: Sequence[Mutant], work: Path, processes: int) -> None:
        self._root, self._mutants, self._work, self._processes = root, mutants, work, processes
        self._failed = False
        self.noticed: dict[Mutant, str] = {}
        self.untried: dict[Mutant, list[str]] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a fork: the test failed."""
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measures, tries, and leaves the results in `noticed`: the test that failed, or nothing."""
        items = {each.nodeid: each for each in session.items}
        tests = self._tests_by_line(items)
        gc.unfreeze()
        functions = _functions(str(self._root / "eosctl"))
        gc.freeze()

        def shard(number: int) -> Iterable[object]:
            for index in range(number, len(self._mutants), self._processes):
                mutant = self._mutants[index]
                chosen = [items[name] for name in tests.get((mutant.path, mutant.line), ())]
                yield index, *self._try(mutant, chosen, functions)

        for index, name, tried in self._in_forks("tried", shard):
            mutant = self._mutants[index]
            if tried:
                self.noticed[mutant] = name
            else:
                around = {each for (path, _), known in tests.items() if path == mutant.path for each in known}
                self.untried[mutant] = sorted({each.partition("::")[0] for each in around})
        return True

    def _in_forks(self, name: str, work: Callable[[int], Iterable[object]]) -> list[list[Any]]:
        """The rows that the processes made, side by side."""
        files = {number: self._work / f"{name}-{number}.jsonl" for number in range(self._processes)}
        errors = self._work / "errors.txt"
        children = [_fork(lambda number=number: _write(files[number], work(number)), errors) for number in files]
        ended = [os.waitpid(child, 0)[1] for child in children]
        if any(ended):
            raise RuntimeError(f"a process that {name} ended early: see {errors}")
        return [json.loads(line) for file in files.values() for line in file.read_text().splitlines()]

    def _tests_by_line(self, items: Mapping[str, pytest.Item]) -> Mapping[tuple[str, int], list[str]]:
        """Path and line to the tests that run it, the quickest first.

        Tests whose file and whose eosctl are as they were are not measured again.
        """
        kept = self._work / "measured.json"
        state = _digest(sorted((self._root / "eosctl").rglob("*.py")))
        files = {file: _digest([self._root / file]) for file in {name.partition("::")[0] for name in items}}
        known = json.loads(kept.read_text()) if kept.exists() else {}
        if known.get("state") != state:
            known = {"state": state, "tests": {}}
        measured = {
            name: ran
            for name, ran in known["tests"].items()
            if name in items and ran["file"] == files[name.partition("::")[0]]
        }
        new = [items[name] for name in items if name not in measured]
        for name, seconds, lines in self._in_forks("measured", lambda number: self._measure(new, number)):
            measured[name] = {"file": files[name.partition("::")[0]], "seconds": seconds, "lines": lines}
        kept.write_text(json.dumps({"state": state, "tests": measured}))
        tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        for name, ran in sorted(measured.items(), key=lambda each: each[1]["seconds"]):
            for path, lines in ran["lines"].items():
                for line in lines:
                    tests[path, line].append(name)
        return tests

    def _measure(self, items: Sequence[pytest.Item], number: int) -> Iterable[object]:
        """Of each test of this process's share: seconds, and the lines with decisions that it runs."""
        import coverage

        data = self._work / f"coverage-{number}"
        data.unlink(missing_ok=True)
        measure = coverage.Coverage(data_file=str(data), source=[str(self._root / "eosctl")], config_file=False)
        share = range(len(items) * number // self._processes, len(items) * (number + 1) // self._processes)
        seconds: dict[str, float] = {}
        measure.start()
        for at in share:
            measure.switch_context(items[at].nodeid)
            begun = time.monotonic()
            self._run(items[at], items[at + 1] if at + 1 in share else None)
            seconds[items[at].nodeid] = round(time.monotonic() - begun, 3)
        measure.stop()
        lines: dict[str, dict[str, list[int]]] = {name: {} for name in seconds}
        for file in measure.get_data().measured_files():
            path = os.path.relpath(file, self._root)
            decided = {each.line for each in decisions(self._root, path)}
            for line, names in measure.get_data().contexts_by_lineno(file).items():
                for name in filter(None, names if line in decided else ()):
                    lines[name].setdefault(path, []).append(line)
        return ([name, seconds[name], lines[name]] for name in seconds)

    def _run(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._failed

    def _try(self, mutant: Mutant, chosen: Sequence[pytest.Item], functions: Functions) -> tuple[str, bool]:
        """Name of the test that fails with the mutant, or nothing; and whether it could be tried here."""
        changed = _changed(self._root, mutant, functions)
        if not changed:
            return "", False
        reading, writing = os.pipe()

        def run() -> None:
            os.setsid()
            for function, code in changed:
                function.__code__ = code
            for at, item in enumerate(chosen):
                if self._run(item, chosen[at + 1] if at + 1 < len(chosen) else None):
                    os.write(writing, item.nodeid.encode()[:4000])
                    return

        child = _fork(run)
        os.close(writing)
        ended = select.select([descriptor := os.pidfd_open(child)], [], [], LONGEST_S)[0]
        os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as pipe:
            name = pipe.read().decode()
        return name or ("" if ended and status == 0 else "(did not end)"), True


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(each.read_bytes() for each in files)).hexdigest()[:16]


def _fork(work: Callable[[], None], errors: Path | None = None) -> int:
    """Process ID of a fork that does the work, is silent, and ends without what Python does at its end."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silent, descriptor)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - the parent says where the traceback is
        if errors:
            errors.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _write(file: Path, rows: Iterable[object]) -> None:
    with file.open("w") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")
            out.flush()


def _functions(below: str) -> Functions:
    """Each function of a module or class: file, qualified name and first line, to the functions that there are."""
    found: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(below):
            code = each.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(each)
    return found


def _changed(root: Path, mutant: Mutant, functions: Functions) -> list[tuple[FunctionType, CodeType]]:
    """The functions that hold the decision with their new code; none where it is decided at import."""
    file = root / mutant.path
    source = file.read_text()
    before, after = compile(source, str(file), "exec"), compile(mutant.apply(source), str(file), "exec")
    old, new = _outermost(before, mutant.line), _outermost(after, mutant.line)
    if old is None or new is None or old.co_freevars != new.co_freevars:
        return []
    return [(each, new) for each in functions.get((str(file), old.co_qualname, old.co_firstlineno), [])]


def _outermost(code: CodeType, line: int) -> CodeType | None:
    """The outermost function around a line; None at the level of a module or class."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    for each in inner:
        lines = [at for *_, at in each.co_lines() if at is not None]
        lines += [at for deeper in _all(each) for *_, at in deeper.co_lines() if at is not None]
        if lines and min(lines) <= line <= max(lines):
            is_class = not each.co_flags & inspect.CO_NEWLOCALS
            return _outermost(each, line) if is_class else each
    return None


def _all(code: CodeType) -> Iterable[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _all(each)
