"""One audit by a printed command on a cluster of this machine, with a fault meanwhile, and its checks."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
import pyspark

from eosctl.executors.audit_export import REQUIREMENTS, write_spark_bundle
from tests.faults.quotas import quota
from tests.faulty_sandbox import Sandbox
from tests.postgresql import PASSWORD, PostgreSQL
from tests.spark.audited_cluster import OFFSETS, OUTPUT
from tests.spark.hadoop import Hadoop, hadoop_version
from tests.spark.spark_table import keep
from tests.spark.standalone import (
    DRIVER,
    LAUNCHER,
    READING_S,
    ROOT,
    Kept,
    Node,
    Printed,
    Submission,
    files_with,
    jvms_below,
    kill,
    reading_executors,
    submitted,
)
from tests.spark.test_spark_bundle import USER, concluded
from tests.spark.unanswered_commit import unanswered_commit
from tests.waiting import eventually

T = TypeVar("T")
WAITS = "spark.yarn.submit.waitAppCompletion"
SLOWLY = 3_000
"""Bytes a second: the topics take half a minute, and the kills happen meanwhile."""


@dataclass(frozen=True)
class Site:
    """The audited topics, the user, the bundle, and the local engine's ledger."""

    sandbox: Sandbox
    postgresql: PostgreSQL
    bundle: Path
    local: Kept

    @property
    def password(self) -> str:
        """That of the user who reads."""
        return self.sandbox.users[USER]


def question(sandbox: Sandbox) -> list[str]:
    """The audit's options for the local engine."""
    address = ["-b", sandbox.sasl_bootstrap_servers, "--command-config", "client.properties"]
    return [*address, "--topic", OUTPUT, "--worker-offsets-topic", OFFSETS]


def pack(bundle: Path) -> None:
    """The bundle with its environment, which is packed once for the same requirements and script."""
    write_spark_bundle(bundle)
    asked = (bundle / REQUIREMENTS).read_bytes() + (bundle / "environment.sh").read_bytes() + sys.version.encode()
    digest = hashlib.sha256(asked).hexdigest()[:16]
    packed = ROOT / "build" / f"environment-{digest}.tar.gz"
    if not packed.exists():
        subprocess.run(["sh", bundle / "environment.sh"], env={**os.environ, "PYTHON": sys.executable}, check=True)
        packed.parent.mkdir(exist_ok=True)
        shutil.copy(bundle / "environment.tar.gz", packed)
    (bundle / "environment.tar.gz").unlink(missing_ok=True)
    os.link(packed, bundle / "environment.tar.gz")


@dataclass
class Ran:
    """One audit on a cluster: its output, its exit code, the ledger, and why its tasks ended."""

    said: str
    code: int
    ledger: Kept
    ends: list[str]
    elapsed_s: float
    attempts: int = 1
    final_status: str = ""


@dataclass(frozen=True)
class Running:
    """A submission in progress, whose run is to be kept in this database."""

    site: Site
    database: str
    submission: Submission
    waits: bool
    """True if spark-submit ends with its application, not before."""

    def until(self, ask: Callable[[], T], what: str) -> T:
        """The first true answer; fails where the application ends before there is one."""

        def asked() -> T:
            found, code = ask(), self.submission.process.poll()
            over = code is not None and (self.waits or code != 0)
            assert found or not over, f"the application ended before {what}: {self.submission.end()}"
            return found

        return eventually(asked, what, deadline_s=READING_S)

    def executor(self, nodes: Sequence[Node]) -> psutil.Process:
        """One with a running task, as soon as there is one."""
        return self.until(lambda: [each for node in nodes for each in reading_executors(node.directory)], "a task")[0]


Fault = Callable[[Running], None]
"""The fault of the cluster meanwhile."""


def nothing(_running: Running) -> None:
    """No fault."""


@contextmanager
def slow(site: Site, *, is_slow: bool) -> Iterator[None]:
    """Brokers that answer eosctl slowly, so that there is a time for the fault."""
    if not is_slow:
        yield
        return
    with quota(site.sandbox.bootstrap_servers, consumer_byte_rate=SLOWLY):
        yield


def run(
    site: Site, command: Printed, where: dict[str, str], directory: Path, *more: str,
    settings: dict[str, str], environment: dict[str, str] | None = None, fault: Fault = nothing,
) -> tuple[Submission, str, str, float]:  # fmt: skip
    """The submission when it is over, the name of its database, what it said, how long it took."""
    database, began = site.postgresql.new_database(), time.monotonic()
    store = site.postgresql.url(database).partition("?")[0]
    values = {"-b": site.sandbox.sasl_bootstrap_servers, "--topic": OUTPUT, "--store": f"{store}?passfile=pgpass"}
    with submitted(
        command, {**values, **where}, site.bundle, directory, more=("--worker-offsets-topic", OFFSETS, *more),
        settings=settings, environment=environment,
    ) as submission:  # fmt: skip
        with slow(site, is_slow=fault is not nothing):
            fault(Running(site, database, submission, settings.get(WAITS) != "false"))
        return submission, database, submission.end(), time.monotonic() - began


def same_as_local(ran: Ran, local: Kept) -> None:
    """The report of the local engine, and the ledger that it made."""
    assert concluded(ran.ledger.report) == concluded(local.report), ran.said
    assert (ran.ledger.cursors, ran.ledger.ranges) == (local.cursors, local.ranges)


def no_secret(site: Site, submission: Submission, *places: Path) -> None:
    """Neither password is in a command line of this machine, or in a file that was left or logged."""
    for secret in (site.password, PASSWORD):
        assert [each for each in submission.command_lines if secret in each] == []
        assert files_with(secret, *places) == []


def record(site: Site, master: str, deploy_mode: str, fault: str, ran: Ran) -> None:
    """A row of the table that `make spark` writes into the page."""
    row = {
        "master": master, "deploy_mode": deploy_mode, "fault": fault, "status": ran.final_status, "exit_code": ran.code,
        "attempts": ran.attempts, "tasks_lost": sum(each != "Success" for each in ran.ends),
        "runs_in_ledger": ran.ledger.runs, "elapsed_s": round(ran.elapsed_s),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "versions": f"Spark {pyspark.__version__}, Hadoop {hadoop_version()}, Kafka {site.sandbox.kafka_version}",
    }  # fmt: skip
    keep(row)


def kill_executor(nodes: Sequence[Node]) -> Fault:
    """SIGKILL for an executor while a task runs in it."""
    return lambda running: kill(running.executor(nodes))


def lose_node(nodes: Sequence[Node]) -> Fault:
    """SIGKILL for all of a node on which a task runs and no application master."""

    def fault(running: Running) -> None:
        def without_master() -> Node | None:
            reading = (each for each in nodes if reading_executors(each.directory))
            return next((each for each in reading if not _masters(each)), None)

        node = running.until(without_master, "a node that only reads")
        assert node is not None
        node.lose()

    return fault


def _masters(node: Node) -> bool:
    return any(jvms_below(node.directory, main) for main in (DRIVER, LAUNCHER))


def kill_application(cluster: Hadoop) -> Fault:
    """An application that is ended by its user while a task runs."""

    def fault(running: Running) -> None:
        running.executor(cluster.nodes)
        cluster.kill_application()

    return fault


def kill_driver(nodes: Sequence[Node]) -> Fault:
    """SIGKILL for the first driver while a task runs."""

    def fault(running: Running) -> None:
        running.executor(nodes)
        _kill_driver(nodes)

    return fault


def kill_driver_after_commit(nodes: Sequence[Node]) -> Fault:
    """SIGKILL for the first driver when its run is in the ledger, before it hears of that."""

    def fault(running: Running) -> None:
        running.executor(nodes)
        with unanswered_commit(running.site.postgresql.conninfo(running.database)) as is_waited_for:
            running.until(is_waited_for, "its commit")
            _kill_driver(nodes)

    return fault


def _kill_driver(nodes: Sequence[Node]) -> None:
    (driver,) = [jvm for node in nodes for jvm in jvms_below(node.directory, DRIVER)]
    for each in (driver, *driver.children(recursive=True)):
        kill(each)
