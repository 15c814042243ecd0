"""All bars on speed in one run of a quarter of an hour, on an idle machine: each contender beside its peer.

Runs benchmarks.startup, offsets, audit and mirror, which write their results as always, and prints one table of the
bars. `--before DIRECTORY` is an earlier working tree, whose commands take turns with these; figures from before that
were measured in other runs are in FIGURES. Written to results/bars.json.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.measure import RESULTS, write_result
from benchmarks.startup import BARS, BEFORE, HERE, SPEED

Result = Mapping[str, Any]


class Figure(NamedTuple):
    """A ratio in the result of a benchmark, its bar, and what it was before; None: it was not measured."""

    name: str
    result: str
    of: Callable[[Result], float]
    bar: float
    at_least: bool
    before: float | None = None


class Row(NamedTuple):
    """A line of the table. now None: its benchmark failed.

    here is the bar at the speed that this machine had meanwhile, met whether it holds.
    """

    name: str
    before: float | None
    now: float | None
    bar: float
    here: float
    met: bool


OFFSETS: Final = "offsets_beside_its_bytes"
FIGURES: Final = (
    Figure(
        "offsets show, 1 M records: CPU to its bytes'", OFFSETS, lambda it: it["of fetching its bytes"], 3, False, 5.3
    ),
    Figure(
        "audit, 1 process: a consumer's CPU to its",
        "audit",
        lambda it: it["ratios"]["audit beside consume, CPU"],
        1,
        True,
        1.07,
    ),
    Figure(
        "audit, all cores: a consumer's CPU to its",
        "audit",
        lambda it: it["ratios"]["audit on all cores beside consume, CPU"],
        1,
        True,
    ),
    Figure(
        "audit, all cores: a consumer's elapsed time to its",
        "audit",
        lambda it: it["ratios"]["audit on all cores beside consume, work"],
        1,
        True,
        0.88,
    ),
    Figure(
        "mirror audit: CPU of two consumers and a dict to its",
        "mirror",
        lambda it: it["ratios"]["two consumers and a dict"],
        5,
        True,
        4.36,
    ),
)


def main() -> int:
    """Measure, print, write results/bars.json; 1 where a bar is missed or a benchmark fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="an earlier working tree of eosctl")
    earlier = parser.parse_args().before
    startup = _measured(
        "startup", "startup", "--runs", "11", *([] if earlier is None else ["--before", str(earlier.resolve())])
    )
    found = {
        OFFSETS: _measured("offsets", OFFSETS, "--beside-its-bytes", "--runs", "5"),
        "audit": _measured("audit", "audit", "--parts", "read"),
        "mirror": _measured("mirror", "mirror", "--runs", "2"),
    }
    rows = [*_commands(startup), *(_row(each, found[each.result]) for each in FIGURES)]
    additions_s = None if startup is None else startup["measured"][SPEED]["cpu_s"]
    print(f"{'':54} {'before':>7} {'now':>7} {'bar':>7} {'here':>7}   {SPEED}: {additions_s} CPU-s")
    for row in rows:
        figures = " ".join(_text(each) for each in (row.before, row.now, row.bar, row.here))
        print(f"{row.name:54} {figures}   {'' if row.met else 'MISSED'}")
    print(write_result("bars", {"additions_s": additions_s, "rows": [row._asdict() for row in rows]}, {}))
    return 0 if all(row.met for row in rows) else 1


def _measured(benchmark: str, result: str, *options: str) -> Result | None:
    """What the benchmark wrote; None where it wrote nothing. A bar of its own that it misses does not count here."""
    path = RESULTS / f"{result}.json"
    before = path.stat().st_mtime_ns if path.exists() else 0
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", f"benchmarks.{benchmark}", *options], cwd=HERE, check=False)
    print(f"benchmarks.{benchmark}: {time.monotonic() - begun:.0f} s", flush=True)
    if not path.exists() or path.stat().st_mtime_ns == before:
        return None
    measured: Result = json.loads(path.read_text(encoding="utf-8"))
    return measured


def _row(figure: Figure, result: Result | None) -> Row:
    now = None if result is None else figure.of(result)
    met = now is not None and (now >= figure.bar if figure.at_least else now <= figure.bar)
    return Row(figure.name, figure.before, now, figure.bar, figure.bar, met)


def _commands(startup: Result | None) -> Iterator[Row]:
    """Seconds elapsed of whole commands, and their CPU beside that of the earlier tree."""
    measured = {} if startup is None else startup["measured"]
    slower = 1.0 if startup is None else startup["slower"]
    for name, bar in BARS.items():
        now, before = measured.get(name), measured.get(name + BEFORE)
        elapsed = None if now is None else now["elapsed_s"]
        yield Row(
            f"{name}: s elapsed",
            None if before is None else before["elapsed_s"],
            elapsed,
            bar,
            round(bar * slower, 3),
            elapsed is not None and elapsed <= bar * slower,
        )
        if now is not None and before is not None:
            ratio = round(now["cpu_s"] / before["cpu_s"], 2)
            yield Row(f"{name}: CPU to the CPU before", None, ratio, 1.0, 1.0, ratio <= 1)


def _text(figure: float | None) -> str:
    return f"{'?' if figure is None else format(figure, '.2f'):>7}"


if __name__ == "__main__":
    sys.exit(main())
