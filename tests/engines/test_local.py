"""Worker processes of the local engine, and their end."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

STARTS = """
import os, sys, threading
from eosctl.engines.local import worker_processes
if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    with worker_processes(2) as pool:
        for each in [pool.submit(os.getpid) for _ in range(20)]:
            each.result()
        print(*pool._processes, flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("started_by", ["fork", "spawn"])
def test_worker_processes_end_when_their_parent_is_killed(tmp_path, started_by):
    script = tmp_path / "starts.py"
    script.write_text(STARTS)
    command = [sys.executable, str(script), started_by]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = parent.stdout.readline().split()
        parent.kill()
    assert workers
    deadline = time.monotonic() + 30
    while living := [each for each in workers if _runs(each)]:
        assert time.monotonic() < deadline, living
        time.sleep(0.05)


def _runs(process: str) -> bool:
    try:
        return ") Z " not in Path("/proc", process, "stat").read_text()
    except FileNotFoundError:
        return False
