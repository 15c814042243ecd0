"""Python programs run as forks of one process that has imported eosctl already.

Starting Python and importing eosctl takes 0.6 s of CPU, a fork next to none. A fork is a process like any other, with
its own ID, streams, directory and environment, and it can be killed.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = ("httpcore", "yaml", "confluent_kafka.admin", "aiokafka.record.default_records", "psycopg", "rich.table")
LEFT_OUT = ("eosctl.spark", "eosctl.__main__")


class Forked:
    """A program that runs, with the names of subprocess.Popen for what text-mode pipes and `returncode` are."""

    def __init__(self, ends: list[int], status: socket.socket) -> None:
        self.stdin, self.stdout, self.stderr = os.fdopen(ends[0], "w"), os.fdopen(ends[1]), os.fdopen(ends[2])
        self._status = status.makefile("r")
        status.close()
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def send_signal(self, number: signal.Signals) -> None:
        """Sends it to the process, if it has not ended yet."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, text: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Writes to it, unless it has ended, and returns its stdout and stderr; killed after `timeout`."""
        with suppress(BrokenPipeError):
            self.stdin.write(text)
            self.stdin.flush()
        with suppress(BrokenPipeError):
            self.stdin.close()
        with ThreadPoolExecutor(2) as readers:
            reading = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                out, err = (each.result(timeout) for each in reading)
            except TimeoutError:
                self.kill()
                raise
        self.returncode = int(self._status.readline())
        for stream in (self.stdout, self.stderr, self._status):
            stream.close()
        return out, err


def run(*argv: str, timeout: float = 120, **options: Any) -> subprocess.CompletedProcess[str]:
    """The result of the Python script `argv[0]`; the options are those of `start`."""
    running = start(*argv, **options)
    out, err = running.communicate(timeout=timeout)
    assert running.returncode is not None
    return subprocess.CompletedProcess(argv, running.returncode, out, err)


def start(
    *argv: str,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    stdout: int | None = None,
) -> Forked:
    """Runs the Python script `argv[0]`, by default with this process's environment and directory.

    It writes to the descriptor `stdout` where one is given, else into a pipe.
    """
    pipes = [os.pipe() for _ in range(3)]
    if stdout is not None:
        os.dup2(stdout, pipes[1][1])
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
    here, there = socket.socketpair()
    asked = {"argv": argv, "environment": dict(environment or os.environ), "directory": str(directory or Path.cwd())}
    socket.send_fds(_server(), [json.dumps(asked).encode()], [*theirs, there.fileno()])
    for each in theirs:
        os.close(each)
    there.close()
    return Forked(ours, here)


@cache
def _server() -> socket.socket:
    """The connection to the process that forks; it ends when this process does."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.set_inheritable(True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    server = os.posix_spawn(sys.executable, [sys.executable, __file__, str(there.fileno())], environment)
    there.close()
    atexit.register(_end, here, server)
    return here


def _end(control: socket.socket, server: int) -> None:
    control.close()
    os.waitpid(server, 0)  # so that its time and that of its forks counts as ours


def _serve(control: socket.socket) -> str | None:
    """Forks for each requested program. Returns the script in the fork, None after the last client has gone."""
    forks: list[int] = []
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 4)
        forks = [fork for fork in forks if os.waitpid(fork, os.WNOHANG if message else 0)[0] == 0]
        if not message:
            return None
        forks.append(os.fork())
        if forks[-1] == 0:
            control.close()
            return _forked(json.loads(message), descriptors)
        for each in descriptors:
            os.close(each)


def _forked(asked: Mapping[str, object], descriptors: list[int]) -> str:
    """Forks once more, reports ID and exit code of that fork, and returns in it, as the requested process."""
    status = descriptors.pop()
    child = os.fork()
    if child:
        for each in (0, 1, 2, *descriptors):
            os.close(each)
        os.write(status, f"{child}\n".encode())
        _, ended = os.waitpid(child, 0)
        os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
        os._exit(0)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.close(status)
    os.chdir(str(asked["directory"]))
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = list(asked["argv"])
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    return sys.argv[0]


def _import_all() -> None:
    import kafka.protocol

    import eosctl

    for package in (eosctl, kafka.protocol):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.startswith(LEFT_OUT):
                importlib.import_module(each.name)
    for name in LIBRARIES:
        importlib.import_module(name)


if __name__ == "__main__":
    _import_all()
    gc.freeze()  # nothing of it is looked at again when a fork ends
    script = _serve(socket.socket(fileno=int(sys.argv[1])))
    if script is not None:
        runpy.run_path(script, run_name="__main__")
