"""Spark clusters of this machine: processes, Hadoop, submissions."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import psycopg
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
    """The environment of a process on a node: no path of this checkout, no setting of Spark or eosctl."""
    java_home = str(find_java().resolve().parent.parent)
    python = str(Path(sys.executable).parent)
    path = f"{python}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "HOME": str(Path.home()), "JAVA_HOME": java_home, "LANG": "C.UTF-8", **more}


ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "audit-on-spark.md"
BUNDLED = ROOT / "eosctl" / "spark" / "bundle" / "README.md"
"""The page in a bundle, which prints those of PAGE and some more."""


@dataclass(frozen=True)
class Printed:
    """A command as printed: the variables before it, and the words after `spark-submit`."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """The value of an option that stands once."""
        return self.arguments[self.arguments.index(name) + 1] if name in self.arguments else None

    def with_values(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The arguments with other values of these options, each of which is in the command."""
        assert [name for name in values if name not in self.arguments] == []
        pairs = zip(("", *self.arguments), self.arguments, strict=False)
        return tuple(values.get(before, each) for before, each in pairs)


def printed_submissions(page: Path) -> list[Printed]:
    """All that the page prints, in order."""
    blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [_parsed(each) for each in commands if "spark-submit" in each]


def _parsed(line: str) -> Printed:
    words = shlex.split(line.rpartition("&& ")[2])
    at = words.index("spark-submit")
    assignments = (word.partition("=") for word in words[:at])
    return Printed({name: value for name, _, value in assignments}, tuple(words[at + 1 :]))


def printed(master: str, deploy_mode: str, page: Path = PAGE) -> Printed:
    """The one of a page for a kind of master (`yarn`, `spark`) and a deploy mode; `client` is Spark's default."""
    found = [
        each
        for each in printed_submissions(page)
        if (each.option("--master") or "").startswith(master)
        and (each.option("--deploy-mode") or "client") == deploy_mode
    ]
    assert len(found) == 1, found
    return found[0]


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
    """Stands for a machine: its daemon, and the directory below which its containers or executors run."""

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


DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Standalone:
    """The cluster: its URL, its nodes."""

    directory: Path
    url: str
    nodes: tuple[Node, ...]


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    """The cluster, ready, for the length of a block. Workers know no path of this checkout."""
    classpath = f"{SPARK_HOME / 'jars'}/*"
    # Variables that Spark's start scripts set, and that a worker needs to start executors.
    home = {"SPARK_HOME": str(SPARK_HOME), "SPARK_CONF_DIR": str(directory), "SPARK_SCALA_VERSION": "2.13"}
    with daemons(directory) as started:
        # It would listen on a port that is the same for all.
        (directory / "spark-defaults.conf").write_text("spark.master.rest.enabled false\n", encoding="utf-8")
        port, page = str(started.port()), str(started.port())
        url = f"spark://{HOST}:{port}"
        address = ("--host", HOST, "--port", port, "--webui-port", page)
        master = started.start("master", classpath, f"{DEPLOY}.master.Master", *address, environment=home)
        ready(master, lambda: _workers(page) == 0)
        nodes = []
        for number in range(NODES):
            place = directory / f"node{number}"
            place.mkdir()
            offered = ("--host", HOST, "--cores", "2", "--memory", "2g", "--work-dir", str(place), "--webui-port")
            arguments = (f"{DEPLOY}.worker.Worker", *offered, str(started.port()), url)
            worker = started.start(f"worker{number}", classpath, *arguments, environment=home)
            nodes.append(Node(worker, place))
        ready(master, lambda: _workers(page) == NODES)
        yield Standalone(directory, url, tuple(nodes))


def _workers(page: str) -> int:
    """The number of live workers; -1 if the master does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=30) as answer:
            return sum(each["state"] == "ALIVE" for each in json.load(answer)["workers"])
    except (OSError, ValueError):
        return -1


DEADLINE_S = 900.0
SECRET_FILES = ("client.properties", "pgpass")
"""Files for --files: each is where its reader looks for it, and its content is nowhere else."""
SMALL = {"--executor-cores": "1", "--executor-memory": "512m", "--processes": "6"}
CLUSTER_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.yarn.am.memory": "512m",
    "spark.ui.enabled": "false",
    # No task before every executor is there: one whose node still unpacks would find nothing left to read.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.yarn.jars": f"local:{SPARK_HOME / 'jars'}/*",
}


@dataclass
class Submission:
    """A running submission; its directory is a separate bundle with the credentials in it."""

    process: subprocess.Popen[bytes]
    directory: Path
    output: Path
    command_lines: set[str] = field(default_factory=set)

    def end(self) -> str:
        """Its output; fails if it does not end."""
        self.process.wait(DEADLINE_S)
        return self.output.read_text("utf-8")


@contextmanager
def submitted(
    command: Printed,
    values: Mapping[str, str],
    bundle: Path,
    directory: Path,
    *,
    more: tuple[str, ...] = (),
    settings: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> Iterator[Submission]:
    """The printed command with these values, and `more` behind it; every command line on this machine is noted."""
    own = copied(bundle, directory)
    (own / "conf").mkdir()
    lines = [f"{name} {value}" for name, value in {**CLUSTER_SETTINGS, **settings}.items()]
    (own / "conf" / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    given = {**command.environment, **(environment or {}), "SPARK_CONF_DIR": str(own / "conf")}
    output = own / "said.log"
    # Into a file: nobody reads a pipe before the fault is over.
    with output.open("wb") as said:
        process = subprocess.Popen(
            [str(SPARK_SUBMIT), *command.with_values({**SMALL, **values}), *more],
            cwd=own, env=plain_environment(**given), stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    submission, over = Submission(process, own, output), Event()
    watcher = Thread(target=_note_command_lines, args=(submission.command_lines, over))
    watcher.start()
    try:
        yield submission
    finally:
        over.set()
        watcher.join()
        if process.poll() is None:
            process.kill()
            process.wait()


def _note_command_lines(seen: set[str], over: Event) -> None:
    while not over.wait(0.5):
        for each in psutil.process_iter():
            try:
                seen.add(" ".join(each.cmdline()))
            except psutil.Error:
                continue


@dataclass(frozen=True)
class Kept:
    """The content of a ledger: the report of its newest run (empty without one), the number of runs, cursors,
    ranges."""

    report: dict[str, Any]
    runs: int
    cursors: list[tuple[Any, ...]]
    ranges: list[tuple[Any, ...]]


def kept(conninfo: str) -> Kept:
    """The only job of a ledger in PostgreSQL."""
    with psycopg.connect(conninfo) as connection:
        ask: Callable[[str], list[Any]] = lambda query: connection.execute(query.encode()).fetchall()  # noqa: E731
        reports = ask("SELECT report FROM audit_run ORDER BY run_number")
        cursors = ask("SELECT topic, topic_partition, topic_id, next_offset FROM audit_cursor ORDER BY 1, 2")
        ranges = ask(
            "SELECT topic, topic_partition, kind, topic_id, start_offset, end_offset, records, control_records, "
            "aborted_records FROM audit_range ORDER BY 1, 2, 3, 5"
        )
    return Kept(json.loads(reports[-1][0])["data"] if reports else {}, len(reports), cursors, ranges)


def files_with(secret: str, *places: Path) -> list[str]:
    """The files below these places that hold it, those that carry credentials left out, archives looked into."""
    found = []
    for path in (path for place in places for path in place.rglob("*") if _searched(path)):
        texts = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as zipped:
                texts += [zipped.read(name) for name in zipped.namelist()]
        found += [str(path)] if any(secret.encode() in text for text in texts) else []
    return found


def _searched(path: Path) -> bool:
    unpacked = "environment" in path.parts or "environment.tar.gz" in path.parts
    return path.is_file() and not path.is_symlink() and path.name not in SECRET_FILES and not unpacked


def task_ends(events: Path) -> list[str]:
    """Why each task of the logged applications ended, as Spark names it."""
    logs = [path.read_text("utf-8") for path in sorted(events.rglob("*")) if path.is_file()]
    lines = [line for each in logs for line in each.splitlines()]
    ended = [json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line]
    return [each["Task End Reason"]["Reason"] for each in ended]


def owner_only(path: Path, text: str) -> None:
    """A file that only this user reads."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(text)
