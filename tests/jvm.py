"""How tests start Kafka's own classes."""

import json
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from eosctl.sandbox.jars import TESTED_BROKERS, KafkaJars, resolve_broker_jars, resolve_jars
from eosctl.sandbox.java import QUICK_START, find_java
from eosctl.sandbox.site import WORKER_MAIN, class_archives
from tests.faulty_sandbox import Sandbox


def jars_of(sandbox: Sandbox) -> KafkaJars:
    """All jars of the brokers' version, with tools and compiler: brokers alone may need fewer.

    For a release without all of them they are those of its workers' version.
    """
    only_brokers = sandbox.kafka_version in TESTED_BROKERS
    return resolve_jars(sandbox.spec.workers_version if only_brokers else sandbox.kafka_version, lambda _: None)


def client_of(sandbox: Sandbox) -> KafkaJars | None:
    """The jars with a client of the brokers' release, where `jars_of` has another; otherwise None."""
    if sandbox.kafka_version not in TESTED_BROKERS:
        return None
    return resolve_broker_jars(sandbox.kafka_version, lambda _: None)


def java_with(jars: KafkaJars, *classes: Path, client: KafkaJars | None = None, with_archive: bool = True) -> list[str]:
    """A command that lacks the name of a main class only, which is among Kafka's jars or in one of the directories.

    It uses the sandbox's class archive, which fits as long as the jars come first: 0.4 s of CPU to start, not 0.6 s. A
    client of another release takes the place of that in the jars, without an archive. with_archive False is for a
    release that is asked once: a broker and a worker would be started to make an archive that is not there.
    """
    java = find_java()
    archive = () if client or not with_archive else class_archives(java, jars, lambda _: None).get(WORKER_MAIN, ())
    places = ([client.classpath] if client else []) + [jars.classpath, *map(str, classes)]
    return [str(java), *QUICK_START, "-Xmx256m", *archive, "-cp", os.pathsep.join(places)]


class Oracle:
    """A JVM that answers each question, a line of JSON or bytes, with an object in JSON; a context manager ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.terminate()
        self._process.wait(30)

    def answer(self, question: object) -> Any:
        """Its answer; fails with the JVM's exit code if that has ended."""
        return self.answer_to(json.dumps(question).encode() + b"\n")

    def answer_to(self, question: bytes) -> Any:
        """The same for a question in bytes. Other output of a library is skipped."""
        self._process.stdin.write(question)
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(b"{"):
                return json.loads(line)
        raise AssertionError(f"the oracle ended with {self._process.wait(30)} at {question!r}")


def sized(data: bytes | None) -> bytes:
    """The bytes with their length before them, as an oracle reads them; -1 for none."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
