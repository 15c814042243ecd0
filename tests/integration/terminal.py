"""A program in a terminal of a given width, and what it wrote there."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

DEADLINE_S = 120.0
PROGRAM = str(Path(sys.executable).with_name("eosctl"))


def in_terminal(
    args: Sequence[str], columns: int, cwd: Path, environment: Mapping[str, str] | None = None, *, narrate: bool = True
) -> tuple[int, str]:
    """Exit code and screen of `eosctl args` at a terminal with its colours; narrate: standard error is there, too."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EOSCTL_", "NO_COLOR"))}
    kept |= {"TERM": "xterm-256color", "COLUMNS": str(columns), **(environment or {})}
    process = subprocess.Popen(
        [PROGRAM, *args], stdin=theirs, stdout=theirs, stderr=theirs if narrate else subprocess.DEVNULL,
        cwd=cwd, env=kept, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    written = b""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        assert time.monotonic() < deadline, written.decode(errors="replace")
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            more = os.read(ours, 65536)
        except OSError:  # Linux: nobody holds the other end any more
            break
        if not more:
            break
        written += more
    os.close(ours)
    return process.wait(timeout=DEADLINE_S), written.decode().replace("\r\n", "\n")
