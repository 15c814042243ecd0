"""Python programs run as forks of one process that has imported eosctl already.

Starting Python and importing eosctl takes 0.6 s of CPU, a fork next to none. A fork is a process like any other, with
its own ID, streams, directory and environment, and it can be killed.

All processes that run tests ask the same server, which imports eosctl for the first request. It ends with the process
that started it, and its forks with it.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

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

    @property
    def is_over(self) -> bool:
        """True once it has ended; communicate says how."""
        return self.returncode is not None or bool(select.select([self._status], [], [], 0)[0])

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
    asked = {"argv": argv, "environment": dict(environment or os.environ), "directory": str(directory or Path.cwd())}
    status = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    status.connect(server())
    socket.send_fds(status, [json.dumps(asked).encode()], theirs)
    for each in theirs:
        os.close(each)
    return Forked(ours, status)


@cache
def server() -> str:
    """The address of the server of this process and of its forks."""
    directory = tempfile.mkdtemp(prefix="eosctl-forks-")
    address = str(Path(directory, "socket"))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    here, there = socket.socketpair()
    inherited = [str(each.fileno()) for each in (listener, there)]
    for each in (listener, there):
        each.set_inheritable(True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    pid = os.posix_spawn(sys.executable, [sys.executable, __file__, *inherited], environment)
    listener.close()
    there.close()
    atexit.register(_end, os.getpid(), here, pid, directory)
    return address


def _end(owner: int, control: socket.socket, server: int, directory: str) -> None:
    if owner == os.getpid():  # and not a fork of it
        control.close()
        os.waitpid(server, 0)  # so that its time and that of its forks counts as ours
        shutil.rmtree(directory)


class Server:
    """Forks for each request, and tells the ID and, at its end, the exit code of the fork over the same connection."""

    def __init__(self, listener: socket.socket, control: socket.socket) -> None:
        self._listener, self._control = listener, control
        self._forks: dict[int, socket.socket] = {}
        self._ended, wakes = socket.socketpair()
        for each in (self._ended, wakes):
            each.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno())
        self._wakes = wakes  # open as long as signals come

    def serve(self) -> str:
        """Returns the script in a fork; ends the process after that which started it."""
        while True:
            ready, _, _ = select.select([self._listener, self._control, self._ended], [], [])
            if self._ended in ready:
                self._ended.recv(4096)
                self._tell()
            if self._control in ready:
                self._stop()
            if self._listener in ready and (script := self._fork()):
                return script

    def _fork(self) -> str | None:
        connection, _ = self._listener.accept()
        message, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:  # who asked is gone
            return None
        if "eosctl" not in sys.modules:
            _import_all()
            gc.freeze()  # the collector of a fork would write to all of it
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (self._listener, self._control, self._ended, self._wakes, connection, *self._forks.values()):
                each.close()
            return _become(json.loads(message), descriptors)
        for each in descriptors:
            os.close(each)
        self._forks[child] = connection
        _say(connection, child)
        return None

    def _tell(self) -> None:
        while self._forks:
            child, ended = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            with self._forks.pop(child) as connection:
                _say(connection, os.waitstatus_to_exitcode(ended))

    def _stop(self) -> NoReturn:
        for each in self._forks:
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)
        os._exit(0)


def _say(connection: socket.socket, number: int) -> None:
    with suppress(ConnectionError):  # who asked is gone
        connection.send(f"{number}\n".encode())


def _become(asked: Mapping[str, object], descriptors: list[int]) -> str:
    """Makes this process the requested one, and returns its script."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(str(asked["directory"]))
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = list(asked["argv"])
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    return sys.argv[0]


def _run(script: str) -> None:
    """Runs it and ends as Python does, but leaves what is in memory: to free it would copy all pages of the server."""
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        code = ended.code or 0
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


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
    _run(Server(*(socket.socket(fileno=int(each)) for each in sys.argv[1:])).serve())
