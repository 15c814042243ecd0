"""A shell in a terminal, with keys pressed: what stands in its line after a TAB."""

import os
import pty
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMPLETIONS = Path(__file__).resolve().parents[2] / "completions"
DEADLINE_S = 20.0
SETUP = {
    "bash": """PS1='ready> '
source {completions}/eosctl.bash
bind 'set enable-bracketed-paste off'
tell() {{ printf %s "$READLINE_LINE" > {told}.new; mv {told}.new {told}; }}
bind -x '"\\C-g": tell'
""",
    "zsh": """PS1='ready> '
unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste
autoload -Uz compinit; compinit -u -D
source {completions}/_eosctl
tell() {{ print -rn -- "$BUFFER" > {told}.new; mv {told}.new {told} }}
zle -N tell; bindkey '^G' tell
setopt no_beep
""",
}
ARGUMENTS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}


class Keyboard:
    """One interactive shell; `line_after(keys)` is its line when they have been pressed."""

    def __init__(self, shell: str, terminal: int, told: Path) -> None:
        self._terminal, self._told, self._seen = terminal, told, ""
        setup = told.with_name("setup")
        setup.write_text(SETUP[shell].format(completions=COMPLETIONS, told=told))
        self._press(f"source {setup}; echo set''up\n")
        self._wait(lambda: "setup\r\n" in self._seen)

    def line_after(self, keys: str) -> str:
        """Press `keys` in an empty line; the line then."""
        self._told.unlink(missing_ok=True)
        self._press(f"\x15{keys}\x07")
        self._wait(self._told.exists)
        return self._told.read_text()

    def _press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def _wait(self, is_done) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_done():
            assert time.monotonic() < deadline, self._seen
            if select.select([self._terminal], [], [], 0.05)[0]:
                self._seen += os.read(self._terminal, 65536).decode(errors="replace")


@contextmanager
def keyboard(shell: str, directory: Path, **environment: str) -> Iterator[Keyboard]:
    """`shell` in a new terminal with this `eosctl` on its PATH; killed at the end."""
    program = shutil.which(shell)
    assert program is not None, f"{shell} is not installed: apt-get install {shell}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        os.execve(
            program, [shell, *ARGUMENTS[shell]], {"PATH": path, "TERM": "dumb", "LC_ALL": "C.UTF-8", **environment}
        )
    try:
        yield Keyboard(shell, terminal, directory / "told")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
