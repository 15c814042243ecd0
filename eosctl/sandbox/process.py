"""One process of the sandbox: started, watched, stopped, killed, paused."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError, TimedOut
from eosctl.sandbox import parent_death_signal

POLL_S: Final = 0.05
STOP_DEADLINE_S: Final = 20.0
TAIL_LINES: Final = 25
ERROR_LINES: Final = 5


class Spawner:
    """Starts processes that die with this one, however it dies.

    The kernel ties a child to the thread that started it, so one thread starts them all and lives until `close`.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-spawner")

    def spawn(self, command: Sequence[str], log: Path, user: str | None = None) -> subprocess.Popen[bytes]:
        """Starts `command` with stdout and stderr appended to `log`, in a process group of its own, as `user` if named.

        A Ctrl-C in the terminal then reaches only the parent, which stops its processes in order.
        """
        return self._thread.submit(self._spawn, command, log, user).result()

    @staticmethod
    def _spawn(command: Sequence[str], log: Path, user: str | None) -> subprocess.Popen[bytes]:
        leash = [sys.executable, "-S", "-E", parent_death_signal.__file__, str(os.getpid())]
        leashed = [*leash, *(() if user is None else ("--user", user)), *command]
        with log.open("ab") as output:
            return subprocess.Popen(
                leashed, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, process_group=0
            )

    def close(self) -> None:
        self._thread.shutdown()


class Process:
    """A process of `user`, or of this one's; errors call it `name`, `log` holds its output over all its starts."""

    def __init__(self, name: str, command: Sequence[str], log: Path, spawner: Spawner, user: str | None = None) -> None:
        self.name = name
        self.log = log
        self._user = user
        self._command = tuple(command)
        self._spawner = spawner
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process ID, or None when it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        if self.pid is None:
            self._process = self._spawner.spawn(self._command, self.log, self._user)

    def wait_until(self, is_ready: Callable[[], bool], deadline: float) -> None:
        """Returns when `is_ready`; raises ConfigError when the process ends before, TimedOut at `deadline`, killing it.

        `deadline` is of `time.monotonic`. Both errors carry the end of the log and its path.
        """
        while not is_ready():
            if self._process is None or self._process.poll() is not None:
                code = None if self._process is None else self._process.returncode
                raise ConfigError(
                    f"{self.name} ended with code {code} before it was ready\n{self.log_tail()}", hint=self._hint()
                )
            if time.monotonic() > deadline:
                self.kill()
                hint = f"the machine may be too busy: try again; {self._hint()}"
                raise TimedOut(f"{self.name} was not ready in time; its log ends:\n{self.log_tail()}", hint=hint)
            time.sleep(POLL_S)

    def stop(self, deadline_s: float = STOP_DEADLINE_S, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it with the signal `how`, and with SIGKILL when it still runs after `deadline_s`."""
        self._signal(signal.SIGCONT)
        self._signal(how)
        try:
            self._reap(deadline_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def terminate(self) -> None:
        """Sends SIGTERM, which a paused process gets too, and returns at once."""
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._reap(None)

    def log_tail(self) -> str:
        """The last lines of its log, after its last error where that is further up."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        errors = [number for number, line in enumerate(lines[:-TAIL_LINES]) if "] ERROR " in line or "] FATAL " in line]
        error = lines[errors[-1] : errors[-1] + ERROR_LINES] if errors else []
        return "\n".join([*error, *(["..."] if error else []), *lines[-TAIL_LINES:]])

    def _hint(self) -> str:
        return f"the whole log is {self.log}"

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _reap(self, timeout: float | None) -> None:
        if self._process is not None:
            self._process.wait(timeout)
