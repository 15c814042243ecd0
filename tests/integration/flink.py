"""Jobs of Flink from its registry, each in one process, and the checkpoints that they leave."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from eosctl.sandbox.jars import resolve_plugin
from eosctl.sandbox.java import QUICK_START, compile_java, find_java
from tests.faulty_sandbox import Sandbox
from tests.jvm import jars_of
from tests.waiting import eventually

PARTS: Final = {
    3: ("flink-connector-kafka:4.0.1-2.0", "flink-clients:2.0.1", "flink-connector-base:2.0.1"),
    4: ("flink-connector-kafka:5.0.0-2.2", "flink-clients:2.2.1", "flink-connector-base:2.2.1"),
}
"""By the brokers' major version. The first has Kafka's client 3.9 (transaction.version 1), the second 4.2 (2)."""
PATIENCE_S: Final = 240


class Said(NamedTuple):
    """A line of a job: what it did with a transaction, its ID, producer ID and epoch, and why it failed."""

    word: str
    transactional_id: str
    producer: str
    why: str = ""

    @property
    def line(self) -> str:
        """As a list of transactions to commit has it."""
        return f"{self.transactional_id} {self.producer}"


class Job(NamedTuple):
    """A job with two subtasks; numbers is how many it writes, and then it ends."""

    sandbox: Sandbox
    topic: str
    prefix: str
    naming: str
    directory: Path
    numbers: int

    @contextmanager
    def runs(self, output: str, commits: int, rate: int, restored: Path | None = None) -> Iterator["RunningJob"]:
        """The job, at so many numbers a second, which waits after so many commits. It is killed at the end."""
        jars = jars_of(self.sandbox)
        parts = [resolve_plugin(f"org.apache.flink:{each}", lambda _: None) for each in self._parts]
        classpath = ":".join(f"{each}/*" for each in parts)
        classes = compile_java(jars.compiler, Path(__file__).with_name("FlinkJob.java"), classpath)
        command = [str(find_java()), *QUICK_START, "-Xmx400m", "-cp", f"{classes}:{classpath}", "FlinkJob"]
        servers, checkpoints = self.sandbox.bootstrap_servers, (self.directory / "checkpoints").as_uri()
        arguments = [servers, self.topic, self.prefix, self.naming, checkpoints]
        arguments += [restored.as_uri() if restored else "-", self.numbers, rate, commits]
        said = self.directory / output
        with (
            said.open("wb") as out,
            said.with_suffix(".err").open("wb") as err,
            subprocess.Popen([*command, *map(str, arguments)], stdout=out, stderr=err) as started,
        ):
            try:
                yield RunningJob(started, said)
            finally:
                started.kill()

    @property
    def _parts(self) -> tuple[str, ...]:
        return PARTS[self.sandbox.spec.version.major]

    def checkpoint(self) -> Path:
        """The directory of its last completed checkpoint."""
        found = (self.directory / "checkpoints").glob("*/chk-*/_metadata")
        return max(found, key=lambda each: int(each.parent.name.removeprefix("chk-"))).parent


class RunningJob(NamedTuple):
    process: subprocess.Popen[bytes]
    output: Path

    def said(self, *words: str) -> list[Said]:
        """What it said with these words."""
        whole, _, _ = self.output.read_text().rpartition("\n")
        found = [line.split(" ") for line in whole.splitlines()]
        lines = [Said(word, name, f"{producer} {epoch}", *why) for word, name, producer, epoch, *why in found]
        return [each for each in lines if each.word in words]

    def holds(self) -> None:
        """Returns when its subtask 1 waits before a commit of a completed checkpoint."""
        eventually(lambda: self.said("holds"), self._trouble, deadline_s=PATIENCE_S)

    def ends(self) -> None:
        """Returns when it has written all numbers and committed them."""
        assert self.process.wait(PATIENCE_S) == 0, self._trouble()

    def _trouble(self) -> str:
        return self.output.with_suffix(".err").read_text()[-2000:]
