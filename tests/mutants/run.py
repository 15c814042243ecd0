"""`python -m tests.mutants.run --seed 1 --count 200`: which changes of single decisions do the pure tests notice?

First the pure tests run once, and coverage.py keeps which test runs which line. Then each mutant of a sample is
written into a copy of the tree, and the tests that run its line are run there, until one fails. A mutant that no test
notices is a survivor, also where no test runs its line. `equivalent.toml` names mutants that change nothing observable,
each with the reason; they do not count.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.decisions import Mutant, decisions

ROOT: Final = Path(__file__).resolve().parents[2]
WORK: Final = ROOT / "build" / "mutants"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")
ROOMS: Final = ("model", "codecs", "analysis", "planning", "executors")
TESTS: Final = (
    "model",
    "codecs",
    "analysis",
    "planning",
    "executors",
    "operations",
    "sources",
    "render",
    "engines",
    "ledger",
)
LONGEST_S: Final = 180
COVERAGE_RC: Final = """[run]
source = eosctl
dynamic_context = test_function
data_file = {data}
"""


def main() -> int:
    """Samples, tries, and writes what was found to build/mutants/result.json; 0 where 95% were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="", help="paths that contain this")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    sample = sampled(given.seed, given.count, given.only)
    runs = tests_by_line()
    begun = time.monotonic()
    noticed = tried(sample, runs, given.processes)
    return report(given.seed, sample, noticed, time.monotonic() - begun)


def sampled(seed: int, count: int, only: str) -> list[Mutant]:
    """So many mutants, drawn evenly over all decisions of the rooms."""
    paths = sorted(str(each.relative_to(ROOT)) for room in ROOMS for each in (ROOT / "eosctl" / room).rglob("*.py"))
    every = [mutant for path in paths if only in path for mutant in decisions(ROOT, path)]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def tests_by_line() -> Mapping[tuple[str, int], frozenset[str]]:
    """The pure tests that run each line; made once for each state of the tree."""
    tree = subprocess.run(
        ["git", "stash", "create"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = WORK / f"lines-{(tree or head.strip())[:12]}.json"
    if not kept.exists():
        kept.write_text(json.dumps(covered()))
    lines: dict[tuple[str, int], frozenset[str]] = {}
    for path, by_line in json.loads(kept.read_text()).items():
        lines |= {(path, int(line)): frozenset(tests) for line, tests in by_line.items()}
    return lines


def covered() -> dict[str, dict[int, list[str]]]:
    """Path, line and the tests that run it, as `tests/x/test_y.py::test_z`."""
    from coverage import CoverageData

    settings, data = WORK / "coveragerc", WORK / "coverage"
    settings.write_text(COVERAGE_RC.format(data=data))
    data.unlink(missing_ok=True)
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", "-m", "not kafka"]
    command += ["-p", "no:cacheprovider", *(f"tests/{each}" for each in TESTS)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    found = CoverageData(str(data))
    found.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in found.measured_files():
        by_line: dict[int, set[str]] = defaultdict(set)
        for line, contexts in found.contexts_by_lineno(file).items():
            by_line[line] = {each for each in map(node_id, contexts) if each}
        lines[str(Path(file).relative_to(ROOT))] = {line: sorted(tests) for line, tests in by_line.items()}
    return lines


def node_id(context: str) -> str:
    """`tests.x.test_y.test_z` as pytest names it; empty for what runs outside of a test."""
    module, _, name = context.rpartition(".")
    while module and not (ROOT / f"{module.replace('.', '/')}.py").exists():
        module, _, outer = module.rpartition(".")
        name = f"{outer}::{name}"
    return f"{module.replace('.', '/')}.py::{name}" if module else ""


def tried(
    sample: Sequence[Mutant], runs: Mapping[tuple[str, int], frozenset[str]], processes: int
) -> dict[Mutant, bool]:
    """Of each mutant, whether a test failed with it."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(processes):
        copies.put(copy_of_tree(WORK / f"tree-{number}"))

    def noticed(mutant: Mutant) -> bool:
        place = copies.get()
        try:
            return fails(place, mutant, runs.get((mutant.path, mutant.line), frozenset()))
        finally:
            copies.put(place)

    with ThreadPoolExecutor(processes) as pool:
        return dict(zip(sample, pool.map(noticed, sample), strict=True))


def copy_of_tree(place: Path) -> Path:
    """What git knows of the tree, below `place`."""
    shutil.rmtree(place, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place


def fails(place: Path, mutant: Mutant, tests: Iterable[str]) -> bool:
    """Whether one of the tests fails with the mutant; a test that does not end has failed."""
    chosen = sorted(tests)
    if not chosen:
        return False
    file = place / mutant.path
    original = file.read_text()
    file.write_text(mutant.apply(original))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        "not kafka",
    ]
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    try:
        # Many tests are named by their files: a command line is not endless.
        names = chosen if len(chosen) < 400 else sorted({each.partition("::")[0] for each in chosen})
        ran = subprocess.run(
            [*command, *names], cwd=place, env=environment, capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(original)
    return ran.returncode != 0


def reasons() -> dict[tuple[str, str, str], str]:
    """Survivors that change nothing that can be observed: path, original and changed text, and why."""
    if not EQUIVALENT.exists():
        return {}
    listed = tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])
    return {(each["path"], each["original"], each["changed"]): each["why"] for each in listed}


def report(seed: int, sample: Sequence[Mutant], noticed: Mapping[Mutant, bool], seconds: float) -> int:
    """Prints survivors and the rate, and keeps both."""
    known = reasons()
    alive = [each for each in sample if not noticed[each]]
    equal = [each for each in alive if (each.path, each.original, each.changed) in known]
    survivors = [each for each in alive if each not in equal]
    counted = len(sample) - len(equal)
    rate = (counted - len(survivors)) / max(counted, 1)
    noticed_count = f"{counted - len(survivors)} noticed, {len(survivors)} survived, {len(equal)} equivalent"
    lines = [
        *map(str, survivors),
        f"{len(sample)} mutants of seed {seed}: {noticed_count}; {rate:.1%} in {seconds:.0f} s",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    kept = {"seed": seed, "mutants": len(sample), "equivalent": len(equal), "rate": round(rate, 4)}
    kept |= {"seconds": round(seconds), "survivors": [str(each) for each in survivors]}
    (WORK / "result.json").write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if rate >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
