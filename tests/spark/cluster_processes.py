"""The processes of a Spark cluster on this machine: its daemons, and what they start below their directories."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from eosctl.sandbox.java import find_java
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.site import PortLeases

SPARK_HOME = Path(pyspark.__file__).parent
SPARK_SUBMIT = SPARK_HOME / "bin" / "spark-submit"
HOST = "127.0.0.1"
READY_S, READING_S = 240.0, 1200.0
NODES = 2
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
# A NodeManager without Hadoop's native library starts a `chmod` for each file that it unpacks: so in half the time.
FORKS = "-Djdk.lang.Process.launchMechanism=VFORK"
DRIVER, EXECUTOR = "org.apache.spark.deploy.yarn.ApplicationMaster", "CoarseGrainedExecutorBackend"
LAUNCHER = "org.apache.spark.deploy.yarn.ExecutorLauncher"
"""The application master in client mode, whose driver is elsewhere."""


def plain_environment(**more: str) -> dict[str, str]:
    """What a process on a node has: no path of this checkout, no setting of Spark or eosctl."""
    java_home = str(find_java().resolve().parent.parent)
    python = str(Path(sys.executable).parent)
    path = f"{python}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(Path.home()), "JAVA_HOME": java_home, "LANG": "C.UTF-8", **more}


class Daemons:
    """Daemons, which die with this process, in one directory; their logs have their names."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._spawner, self._ports = Spawner(), PortLeases()
        self._started: list[Process] = []

    def port(self) -> int:
        """A port that nobody else takes."""
        return self._ports.take()

    def start(
        self, name: str, classpath: str, main: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Process:
        """A JVM with this main class; it need not be ready."""
        settings = [f"{key}={value}" for key, value in plain_environment(**(environment or {})).items()]
        java = [str(find_java()), *JVM, FORKS, "-Xmx256m", "-cp", classpath, main, *arguments]
        process = Process(name, ["/usr/bin/env", "-i", *settings, *java], self.directory / f"{name}.log", self._spawner)
        process.start()
        self._started.append(process)
        return process

    def close(self) -> None:
        """Ends them, and all that they started."""
        for each in reversed(self._started):
            each.kill()
        for left in processes_below(self.directory):
            kill(left)
        self._spawner.close()
        self._ports.release()


@contextmanager
def daemons(directory: Path) -> Iterator[Daemons]:
    """Daemons for the length of a block."""
    directory.mkdir(exist_ok=True)
    started = Daemons(directory)
    try:
        yield started
    finally:
        started.close()


def ready(process: Process, is_ready: Callable[[], bool]) -> None:
    """Returns when it is; fails with the end of the log otherwise."""
    process.wait_until(is_ready, time.monotonic() + READY_S)


@dataclass(frozen=True)
class Node:
    """What stands for a machine: its daemon, and the directory below which its containers or executors run."""

    daemon: Process
    directory: Path

    def lose(self) -> None:
        """SIGKILL for the daemon and all that it started."""
        self.daemon.kill()
        for each in processes_below(self.directory):
            kill(each)


def processes_below(directory: Path, *words: str) -> list[psutil.Process]:
    """The processes whose working directory lies below `directory`, with all these words in the command line."""
    found = []
    for each in psutil.process_iter():
        try:
            below, command = Path(each.cwd()).is_relative_to(directory), each.cmdline()
        except (psutil.Error, OSError):
            continue
        if below and each.pid != os.getpid() and all(any(word in part for part in command) for word in words):
            found.append(each)
    return found


def jvms_below(directory: Path, main: str) -> list[psutil.Process]:
    """The JVMs with this main class, without the shells that started them."""
    return [each for each in processes_below(directory, main) if each.name() == "java"]


def kill(process: psutil.Process) -> None:
    """SIGKILL; one that is gone is fine."""
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return


def reading_executors(directory: Path) -> list[psutil.Process]:
    """Executors below `directory` in which a task runs: pyspark's daemon forks a worker for it."""
    return [each for each in jvms_below(directory, EXECUTOR) if _forked(each)]


def _forked(executor: psutil.Process) -> bool:
    try:
        pythons = [each for each in executor.children(recursive=True) if "daemon" in " ".join(each.cmdline())]
        return any("daemon" in " ".join(each.parent().cmdline()) for each in pythons)
    except (psutil.Error, AttributeError):
        return False


def copied(bundle: Path, directory: Path) -> Path:
    """The files of a bundle, in a directory of a submission's own."""
    return Path(shutil.copytree(bundle, directory))
