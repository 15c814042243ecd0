"""Running commands against the clock, and writing down what was measured where."""

import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eosctl.version import __version__

RESULTS = Path(__file__).parent / "results"
ADDITIONS = "for number in range(10_000_000): number + 1"
"""A Python program whose CPU-seconds say how fast a machine is at that time; .ci/run prints them, too."""
ADDITIONS_S = 0.5
"""Its CPU-seconds on the machine that bars in seconds are for; on a slower one they apply in proportion."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians of several runs: elapsed_s is wall time, cpu_s user and system time of the process and its children.

    peak_mb is the most memory that one of them had.
    """

    runs: int
    elapsed_s: float
    fastest_s: float
    slowest_s: float
    cpu_s: float
    peak_mb: float = 0.0


@dataclass(frozen=True, slots=True)
class Command:
    """The command to run, and its exit code after success."""

    args: Sequence[str]
    exit_code: int = 0


def measure_in_turns(commands: Mapping[str, Command], runs: int, *, is_warm: bool = False) -> dict[str, Measured]:
    """Run every command once to warm the disk, then all in turn `runs` times, so that noise meets all alike.

    All have compiled bytecode from the second time on, as pip leaves it, whatever the environment says. is_warm: they
    run `runs` times only, with the bytecode that is there.
    """
    samples: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as bytecode:
        compiled = {} if is_warm else {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        environment = os.environ | compiled
        for number in range(1 if is_warm else 0, runs + 1):
            for name, command in commands.items():
                sample = _run(command, environment)
                if number:
                    samples[name].append(sample)
    return {name: _measured(taken) for name, taken in samples.items()}


def _run(command: Command, environment: Mapping[str, str]) -> tuple[float, float, float]:
    start = time.perf_counter()
    process = subprocess.Popen(command.args, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != command.exit_code:
        raise RuntimeError(f"{' '.join(command.args)} ended with {process.returncode}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _measured(samples: Sequence[tuple[float, float, float]]) -> Measured:
    elapsed = [sample[0] for sample in samples]
    cpu_s = statistics.median(sample[1] for sample in samples)
    figures = (statistics.median(elapsed), min(elapsed), max(elapsed), cpu_s, max(sample[2] for sample in samples))
    return Measured(len(samples), *(round(figure, 4) for figure in figures))


def write_result(name: str, figures: Mapping[str, Any], versions: Mapping[str, str]) -> Path:
    """Write results/<name>.json: when, with which versions, on how large a machine, and the figures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    result = {
        "benchmark": name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),  # noqa: TID251  # a benchmark may ask the time
        "versions": {"eosctl": __version__, "python": platform.python_version(), **versions},
        "machine": {
            "cpus": len(os.sched_getaffinity(0)),
            "memory_gb": round(memory / 1e9, 1),
            "system": platform.system(),
            "load": round(os.getloadavg()[0], 1),
        },
        **figures,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def as_json(measured: Mapping[str, Measured]) -> dict[str, Any]:
    """The figures of several commands by name."""
    return {name: asdict(figures) for name, figures in measured.items()}
