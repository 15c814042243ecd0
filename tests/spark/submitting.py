"""Running a printed `spark-submit` on a cluster of this machine, hurting it meanwhile, and reading what it left."""

import json
import os
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import psycopg

from tests.spark.cluster_processes import SPARK_HOME, SPARK_SUBMIT, copied, plain_environment
from tests.spark.printed_submissions import Printed

DEADLINE_S = 900.0
SECRET_FILES = ("client.properties", "pgpass")
"""What is sent with --files: each is where its reader looks for it, and nowhere else is what stands in it."""
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
    """A submission that runs; its directory is a bundle of its own with the credentials in it."""

    process: subprocess.Popen[bytes]
    directory: Path
    output: Path
    command_lines: set[str] = field(default_factory=set)

    def end(self) -> str:
        """What it said; fails when it does not end."""
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
    """What a ledger holds: the report of its newest run (empty without one), how many runs, cursors, what was read."""

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
