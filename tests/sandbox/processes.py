"""Processes that were started."""

import os


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
