"""`python -m tests.mutants.run --seed 1 --count 200`: which changes of single decisions do the pure tests notice?

Each mutant of a sample is given to the pure tests that run its line, until one fails. A mutant that no test notices
is a survivor, also where no test runs its line. `equivalent.toml` names mutants that change nothing observable, each
with the reason; they do not count.
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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.mutants.decisions import Mutant, decisions
from tests.mutants.trial import Trial

ROOT: Final = Path(__file__).resolve().parents[2]
WORK: Final = ROOT / "build" / "mutants"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")
RATE: Final = Path(__file__).with_name("rate.json")
ROOMS: Final = ("model", "codecs", "analysis", "planning", "executors", "ledger", "render")
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


def main() -> int:
    """Samples, tries, and writes what was found to build/mutants/result-SEED.json; 0 where 95% were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--files", nargs="+", default=["*"], help="paths that match one of these patterns")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="folders and files below tests")
    parser.add_argument("--budget", type=float, default=2, help="CPU seconds of tests for each, the nearest first")
    parser.add_argument("--again", type=float, default=10, help="and so many more for one that survived those")
    parser.add_argument("--check", type=int, default=0, help="so many are tried in a fresh process, too")
    parser.add_argument("--keep", action="store_true", help=f"add the rate to {RATE.name}")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    samples = {seed: sampled(seed, given.count, given.files) for seed in given.seed}
    every = sorted(set().union(*samples.values()))
    results = tried(every, given.tests, given.processes, (given.budget, given.again), given.check)
    about: dict[str, object] = {"budget": given.budget + given.again}
    if given.files != ["*"]:
        about["files"] = " ".join(given.files)
    return max(report(seed, sample, results, about, keep=given.keep) for seed, sample in samples.items())


def sampled(seed: int, count: int, patterns: Sequence[str]) -> list[Mutant]:
    """So many mutants, drawn evenly over all decisions of the rooms in files that match a pattern."""
    paths = sorted(
        str(each.relative_to(ROOT))
        for room in ROOMS
        for each in (ROOT / "eosctl" / room).rglob("*.py")
        if room != "render" or each.parent.name == "answers"
    )
    matching = (path for path in paths if any(fnmatch(path, each) for each in patterns))
    every = [mutant for path in matching for mutant in decisions(ROOT, path)]
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


class Result(NamedTuple):
    """The test that failed with a mutant, or nothing; how many were tried of how many that come to its line."""

    noticed: str
    tests: int
    reaching: int


def tried(
    sample: Sequence[Mutant], tests: Sequence[str], processes: int, budgets_s: Sequence[float], checks: int
) -> dict[Mutant, Result]:
    """What was found of each mutant; SystemExit where a fresh process says otherwise."""
    trial = Trial(ROOT, ROOMS, sample, WORK, processes=processes, budgets_s=budgets_s)
    os.environ["CI"] = "true"
    # A browser decides nothing in these rooms, and takes a minute; what is killed shows what others do in less time.
    slow = ("render/test_audit_page_in_browser.py", "executors/test_audit_crash.py", "executors/test_apply_crash.py")
    arguments = ["-q", "-m", "not kafka", *(f"--ignore=tests/{each}" for each in slow)]
    arguments += [f"tests/{each}" for each in tests]
    arguments += ["-p", "no:cacheprovider"]
    os.chdir(ROOT)
    ended = pytest.main([*arguments, "-s", "--timeout=0"], plugins=[trial])
    if ended or len(trial.noticed) + len(trial.untried) != len(sample):
        raise SystemExit(f"the tests could not be collected or tried: pytest ended with {ended}")
    tree = copy_of_tree(WORK / "tree")
    for mutant in random.Random(0).sample(sorted(trial.noticed), min(checks, len(trial.noticed))):
        name = trial.noticed[mutant]
        names = [name] if "::" in name else list(chain(*trial.chosen[mutant]))
        if bool(fails(tree, mutant, names)) != bool(name):
            raise SystemExit(f"a fresh process says otherwise of {mutant}, of which was said: {name or 'survived'}")
    noticed = trial.noticed | {mutant: at_import(tree, mutant, files) for mutant, files in trial.untried.items()}
    return {each: Result(noticed[each], sum(map(len, trial.chosen[each])), trial.reaching[each]) for each in sample}


def at_import(tree: Path, mutant: Mutant, files: Sequence[str]) -> str:
    """What `fails` says, where these files do not fail without the mutant, too."""
    found = fails(tree, mutant, files)
    return found if found and not fails(tree, replace(mutant, start=0, end=0, changed=""), files) else ""


def copy_of_tree(place: Path) -> Path:
    """What git knows of the tree, below `place`."""
    shutil.rmtree(place, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place


def fails(place: Path, mutant: Mutant, tests: Sequence[str]) -> str:
    """What a mutant does to these tests, or files of tests, in a process of their own."""
    if not tests:
        return ""
    names = place / "tests.txt"
    names.write_text("".join(f"{each}\n" for each in tests))
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
        "-m",
        "not kafka",
    ]
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            [*command, f"@{names}"], cwd=place, env=environment, capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:  # on a busy machine, perhaps
        return ""
    finally:
        file.write_text(original)
    return "(decided at import)" if ran.returncode else ""


def reasons() -> dict[tuple[str, str, str], str]:
    """Survivors that change nothing that can be observed: path, original and changed text, and why."""
    if not EQUIVALENT.exists():
        return {}
    listed = tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])
    return {(each["path"], each["original"], each["changed"]): each["why"] for each in listed}


def report(
    seed: int, sample: Sequence[Mutant], results: Mapping[Mutant, Result], about: Mapping[str, object], *, keep: bool
) -> int:
    """Prints survivors and the rate, and keeps both."""
    known = reasons()
    alive = [each for each in sample if not results[each].noticed]
    equal = [each for each in alive if (each.path, each.original, each.changed) in known]
    survivors = [each for each in alive if each not in equal]
    counted = len(sample) - len(equal)
    rate = (counted - len(survivors)) / max(counted, 1)
    noticed_count = f"{counted - len(survivors)} noticed, {len(survivors)} survived, {len(equal)} equivalent"
    cut = sum(results[each].tests < results[each].reaching for each in survivors)
    lines = [
        *(f"{each} ({results[each].tests} of {results[each].reaching} tests)" for each in survivors),
        f"{len(sample)} mutants of seed {seed}: {noticed_count}; {rate:.1%}",
    ]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    counts = {"equivalent": len(equal), "survived": len(survivors), "cut_by_budget": cut}
    kept = {"seed": seed, "mutants": len(sample), **about, **counts, "rate": round(rate, 4)}
    if keep:
        rows = json.loads(RATE.read_text()) if RATE.exists() else []
        rows.append({"date": time.strftime("%Y-%m-%d", time.gmtime()), **kept})
        RATE.write_text(json.dumps(rows, indent=2) + "\n")
    kept |= {"survivors": lines[:-1]}
    (WORK / f"result-{seed}.json").write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if rate >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
