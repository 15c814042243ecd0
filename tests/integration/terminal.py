"""A program in a terminal of a given width, and what it wrote there."""

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

DEADLINE_S = 120.0
HOME, SCREEN_LEFT = "\x1b[H", "\x1b[?1049l"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
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
        except OSError:  # Linux: the other end is closed
            break
        if not more:
            break
        written += more
    os.close(ours)
    return process.wait(timeout=DEADLINE_S), written.decode().replace("\r\n", "\n")


class LiveTerminal:
    """`eosctl args` that draws on a whole terminal of this size; a context manager that kills it."""

    def __init__(self, args: Sequence[str], columns: int, lines: int) -> None:
        self._ours, self._theirs = pty.openpty()
        termios.tcsetwinsize(self._theirs, (lines, columns))
        self.settings_before = termios.tcgetattr(self._theirs)
        kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
        self._process = subprocess.Popen(
            [PROGRAM, *args], stdin=self._theirs, stdout=self._theirs, stderr=self._theirs,
            env={**kept, "TERM": "xterm-256color"}, start_new_session=True,
            preexec_fn=_takes_the_terminal,  # noqa: PLW1509  # one system call, in the child
        )  # fmt: skip
        self.written = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def resize(self, columns: int, lines: int) -> None:
        """Another size, as when its window is drawn larger."""
        termios.tcsetwinsize(self._theirs, (lines, columns))

    def frame(self) -> list[str]:
        """The lines of the last frame that was drawn whole, without colours."""
        self._read(0.1)
        frames = self.written.split(HOME)
        return [ESCAPE.sub("", line).rstrip() for line in frames[-2].splitlines()] if len(frames) > 2 else []

    def press(self, keys: str) -> None:
        """Presses these keys."""
        os.write(self._ours, keys.encode())

    def send(self, signal: int) -> None:
        """Sends it this signal."""
        self._process.send_signal(signal)

    def ended(self) -> tuple[int, bool]:
        """Its exit code, and whether the terminal is as it was before; waits for the end."""
        deadline = time.monotonic() + DEADLINE_S
        while (code := self._process.poll()) is None:
            assert time.monotonic() < deadline, self.written
            self._read(0.05)
        self._read(0.05)
        return code, termios.tcgetattr(self._theirs) == self.settings_before and SCREEN_LEFT in self.written

    def _read(self, timeout_s: float) -> None:
        while select.select([self._ours], [], [], timeout_s)[0]:
            self.written += os.read(self._ours, 65536).decode(errors="replace").replace("\r\n", "\n")


def _takes_the_terminal() -> None:
    """So that its Ctrl-C is a signal, as in any shell."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
