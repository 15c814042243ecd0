"""A contender with all processes that it starts: what they took together, and the end of the last one."""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER of Linux: processes whose parent has ended become children of this one."""


@dataclass(frozen=True, slots=True)
class Ended:
    """elapsed_s until the process itself had ended; cpu_s of it and of those it left behind, as far as their parents
    told; memory_mib is the largest resident set of the process itself or of a child that it waited for."""

    elapsed_s: float
    cpu_s: float
    memory_mib: float
    stdout: str


def adopt_orphans() -> None:
    """Become the parent of what contenders leave behind, such as Spark's JVM, to wait for it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def run_to_the_last(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run the command, and wait for every process of its group. Raises RuntimeError where it fails."""
    start = time.perf_counter()
    # Not a pipe: Spark's JVM has it open, too, and ends later than what started it.
    with tempfile.TemporaryFile("w+") as stdout:
        process = subprocess.Popen(
            command, stdout=stdout, stderr=subprocess.DEVNULL, env=dict(environment), start_new_session=True
        )
        _, status, usage = os.wait4(process.pid, 0)
        elapsed_s = time.perf_counter() - start
        stdout.seek(0)
        told = stdout.read()
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    while True:
        try:
            _, _, left = os.wait4(-process.pid, 0)
        except ChildProcessError:
            break
        cpu_s += left.ru_utime + left.ru_stime
    if process.returncode != 0 or not told.strip():
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Ended(elapsed_s, cpu_s, usage.ru_maxrss / 1024, told)
