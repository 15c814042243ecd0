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
import resource
import select
import signal
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

from tests.mutants.decisions import NOTE, Decider, Mutant, deciders, noting_decisions

LONGEST_S: Final = 600.0
OFTEN: Final = 4
SPARE_S: Final = 5
"""A mutant that takes more CPU than its tests take OFTEN without it, and SPARE_S, does not end."""
COSTLY_S: Final = 0.4
Functions = Mapping[tuple[str, str, int], list[FunctionType]]


class Trial:
    """The plugin: after the collection it measures the tests, tries the mutants, and runs no test as such."""

    def __init__(
        self,
        root: Path,
        rooms: Sequence[str],
        mutants: Sequence[Mutant],
        work: Path,
        *,
        processes: int,
        budgets_s: Sequence[float],
    ) -> None:
        self._budgets_s = budgets_s
        self._root, self._rooms, self._mutants, self._work, self._processes = root, rooms, mutants, work, processes
        # What runs is what was there when it was imported: the tree may change while mutants are tried.
        self._sources = {
            str(each.relative_to(root)): each.read_text() for each in sorted((root / "eosctl").rglob("*.py"))
        }
        self._failed = False
        self.noticed: dict[Mutant, str] = {}
        self.untried: dict[Mutant, list[str]] = {}
        self.chosen: dict[Mutant, list[list[str]]] = {}
        self.reaching: dict[Mutant, int] = {}
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl
    def pytest_collection(self) -> None:
        """A property fails with its first bad example here: a smaller one notices no more."""
        from hypothesis import Phase, settings  # pytest has to load it first

        settings.register_profile("mutants", parent=settings.default, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a fork: the test failed."""
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measures, tries, and leaves the results in `noticed`: the test that failed, or nothing."""
        items = {each.nodeid: each for each in session.items}
        gc.unfreeze()
        functions = _functions(str(self._root / "eosctl"))
        gc.freeze()
        tests = self._tests_by_line(items, functions)

        self.reaching = {each: len(tests.get((each.path, each.line), ())) for each in self._mutants}
        self.chosen = {
            each: self._within_budget(each.path, tests.get((each.path, each.line), ())) for each in self._mutants
        }

        costs = {each: sum(self._seconds[name] for name in self.chosen[each][0]) for each in self._mutants}
        order = sorted(range(len(self._mutants)), key=lambda index: costs[self._mutants[index]])

        def shard(number: int) -> Iterable[object]:
            for index in order[number :: self._processes]:
                mutant = self._mutants[index]
                for names in list(filter(None, self.chosen[mutant])) or [[]]:
                    found, tried = self._try(mutant, [items[name] for name in names], functions)
                    if found or not tried:
                        break
                yield index, found, tried

        for index, name, tried in self._in_forks("tried", shard):
            mutant = self._mutants[index]
            if tried:
                self.noticed[mutant] = name
            else:
                around = {each for (path, _), known in tests.items() if path == mutant.path for each in known}
                self.untried[mutant] = sorted({each.partition("::")[0] for each in around})
        noticing = sorted({name for name in self.noticed.values() if name in items})
        failing = {name for [name] in self._in_forks("failing", lambda number: self._failing(items, noticing, number))}
        # A test that fails without the mutant, too, notices nothing.
        self.noticed = {mutant: "" if name in failing else name for mutant, name in self.noticed.items()}
        return True

    def _failing(self, items: Mapping[str, pytest.Item], names: Sequence[str], number: int) -> Iterable[list[str]]:
        """Those of the process's share of these tests that fail as they are."""
        mine = names[number :: self._processes]
        for name, following in zip(mine, [*mine[1:], None], strict=False):
            if self._run(items[name], None if following is None else items[following]):
                yield [name]

    def _in_forks(self, name: str, work: Callable[[int], Iterable[object]]) -> list[list[Any]]:
        """The rows that the processes made, side by side."""
        files = {number: self._work / f"{name}-{number}.jsonl" for number in range(self._processes)}
        errors = self._work / "errors.txt"
        children = [_fork(lambda number=number: _write(files[number], work(number)), errors) for number in files]
        ended = [os.waitpid(child, 0)[1] for child in children]
        if any(ended):
            raise RuntimeError(f"a process that {name} ended early: see {errors}")
        return [json.loads(line) for file in files.values() for line in file.read_text().splitlines()]

    def _tests_by_line(
        self, items: Mapping[str, pytest.Item], functions: Functions
    ) -> Mapping[tuple[str, int], list[str]]:
        """Path and line to the tests that come to a decision there, the quickest first.

        A test whose file is as it was, and each function in which it decided something, is not measured again.
        """
        kept = self._work / "measured.jsonl"
        places = {path: deciders(source) for path, source in self._sources.items() if path.split("/")[1] in self._rooms}
        digests = {
            file: _digest((self._root / file).read_text()) for file in {name.partition("::")[0] for name in items}
        }
        rows = list(map(json.loads, kept.read_text().splitlines() if kept.exists() else ()))
        chosen = {name.partition("::")[0] for name in items}
        others = [row for row in rows if row["test"].partition("::")[0] not in chosen]
        known = {
            row["test"]: row
            for row in rows
            if row["test"] in items
            and row["file"] == digests[row["test"].partition("::")[0]]
            and all(
                name in places.get(path, ()) and places[path][name].digest == digest
                for path, names in row["decided"].items()
                for name, (digest, _) in names.items()
            )
        }
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for name, item in items.items():
            if name not in known:
                files[name.partition("::")[0]].append(item)
        shares = [sorted(files)[number :: self._processes] for number in range(self._processes)]

        def measure(number: int) -> Iterable[object]:
            hits = self._hits(functions) if shares[number] else set()
            for share in shares[number]:
                for name, seconds, lines in self._measure(files[share], hits):
                    decided = {path: _decided(places[path], each) for path, each in lines.items()}
                    row = {"test": name, "file": digests[share], "seconds": seconds, "decided": decided}
                    with kept.open("a") as out:
                        out.write(json.dumps(row) + "\n")
                    yield row

        for row in self._in_forks("measured", measure):
            known[row["test"]] = row
        kept.write_text("".join(json.dumps(row) + "\n" for row in (*others, *known.values())))
        self._seconds = {name: row["seconds"] for name, row in known.items()}
        return _by_line(known, places)

    def _hits(self, functions: Functions) -> set[tuple[str, int]]:
        """Path and line of each decision that is come to from now on: all functions of the rooms note it."""
        hits: set[tuple[str, int]] = set()
        for file in sorted({file for file, *_ in functions}):
            path = os.path.relpath(file, self._root)
            if path.split("/")[1] not in self._rooms:
                continue
            noting = compile(noting_decisions(self._sources[path]), file, "exec")
            codes = {(each.co_qualname, each.co_firstlineno): each for each in _all(noting)}
            for (there, name, line), found in functions.items():
                code = codes.get((name, line)) if there == file else None
                for each in found if code is not None else ():
                    if code.co_freevars == each.__code__.co_freevars:
                        each.__globals__[NOTE] = lambda line, path=path: hits.add((path, line))
                        each.__code__ = code
        return hits

    def _measure(
        self, items: Sequence[pytest.Item], hits: set[tuple[str, int]]
    ) -> Iterable[tuple[str, float, Mapping[str, list[int]]]]:
        """Of each of these tests: its name, CPU seconds, and the lines of the decisions that it comes to."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            hits.clear()
            begun = time.process_time()
            self._run(item, following)
            lines: dict[str, list[int]] = defaultdict(list)
            for path, line in sorted(hits):
                lines[path].append(line)
            yield item.nodeid, round(time.process_time() - begun, 3), lines

    def _within_budget(self, path: str, names: Iterable[str]) -> list[list[str]]:
        """The nearest of these tests, as many as each of the budgets has CPU for; the costly ones last."""
        ordered = sorted(nearest_first(path, names), key=lambda name: self._seconds[name] > COSTLY_S)
        chosen: list[list[str]] = []
        for budget_s in self._budgets_s:
            seconds, some = 0.0, list[str]()
            for name in ordered[sum(map(len, chosen)) :]:
                seconds += self._seconds[name]
                if some and seconds > budget_s:
                    break
                some.append(name)
            chosen.append(some)
        return chosen

    def _run(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._failed

    def _try(self, mutant: Mutant, chosen: Sequence[pytest.Item], functions: Functions) -> tuple[str, bool]:
        """Name of the test that fails with the mutant, or nothing; and whether it could be tried here."""
        changed = _changed(str(self._root / mutant.path), self._sources[mutant.path], mutant, functions)
        if not changed:
            return "", False
        reading, writing = os.pipe()
        longest = SPARE_S + int(OFTEN * sum(self._seconds[each.nodeid] for each in chosen))

        def run() -> None:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (longest, longest))
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


def _decided(places: Mapping[str, Decider], lines: Iterable[int]) -> dict[str, tuple[str, list[int]]]:
    """The functions in which these lines are, each with its digest and which of its decisions they are."""
    there = {line: (name, at) for name, each in places.items() for at, line in enumerate(each.lines)}
    found: dict[str, tuple[str, list[int]]] = {}
    for name, at in filter(None, map(there.get, lines)):
        found.setdefault(name, (places[name].digest, []))[1].append(at)
    return found


def _by_line(
    measured: Mapping[str, dict[str, Any]], places: Mapping[str, Mapping[str, Decider]]
) -> Mapping[tuple[str, int], list[str]]:
    tests: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, row in sorted(measured.items(), key=lambda each: each[1]["seconds"]):
        for path, decided in row["decided"].items():
            for function, (_, numbers) in decided.items():
                for number in numbers:
                    tests[path, places[path][function].lines[number]].append(name)
    return tests


def nearest_first(path: str, names: Iterable[str]) -> list[str]:
    """Of each test function one example before the second; within that those of the file's noun and folder first.

    Within that they stay in their order.
    """
    folders = Path(path).parts[1:-1]
    examples: Counter[str] = Counter()

    def distance(name: str) -> tuple[int, int]:
        function = name.partition("[")[0]
        examples[function] += 1
        file = Path(function.partition("::")[0])
        near = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, file.parts[1:-1], strict=False)))
        return examples[function], -near - (near > 0 and Path(path).stem in file.stem)

    return sorted(names, key=distance)


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


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


def _changed(file: str, source: str, mutant: Mutant, functions: Functions) -> list[tuple[FunctionType, CodeType]]:
    """The functions that hold the decision with their new code; none where it is decided at import."""
    before, after = compile(source, file, "exec"), compile(mutant.apply(source), file, "exec")
    old, new = _outermost(before, mutant.line), _outermost(after, mutant.line)
    if old is None or new is None or old.co_freevars != new.co_freevars:
        return []
    # Those within it that exist already, as what a decorator or a factory made at import, have code of their own.
    codes = {(each.co_qualname, each.co_firstlineno): each for each in (new, *_all(new))}
    found = [
        (function, codes[place])
        for each in (old, *_all(old))
        if (place := (each.co_qualname, each.co_firstlineno)) in codes
        for function in functions.get((file, *place), [])
    ]
    # A closure that exists cannot take code with other variables of the function around it.
    fits = all(function.__code__.co_freevars == code.co_freevars for function, code in found)
    return found if fits else []


def _outermost(code: CodeType, line: int) -> CodeType | None:
    """The outermost function around a line; None at the level of a module or class, as in a table of lambdas."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    for each in inner:
        lines = [at for *_, at in each.co_lines() if at is not None]
        lines += [at for deeper in _all(each) for *_, at in deeper.co_lines() if at is not None]
        if lines and min(lines) <= line <= max(lines):
            is_class = not each.co_flags & inspect.CO_NEWLOCALS
            return _outermost(each, line) if is_class else None if each.co_name == "<lambda>" else each
    return None


def _all(code: CodeType) -> Iterable[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _all(each)
