"""Waiting on conditions."""

import os
import time
from collections.abc import Callable


def eventually(is_so: Callable[[], object], deadline_s: float = 30.0) -> None:
    """Returns when `is_so` is true; fails after the deadline."""
    deadline = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {deadline_s} s"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
