"""Kafka's own `kafka-transactions.sh find-hanging`, topic by topic."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from eosctl.sandbox.java import compile_java
from eosctl.sandbox.sandbox import Sandbox
from tests.jvm import jars_of, java_with

SOURCE = Path(__file__).with_name("FindHangingOracle.java")
HEADERS = ("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp")

Row = tuple[str, int, int, int, int, int, int]


def find_hanging(sandbox: Sandbox, topics: Iterable[str], max_timeout_minutes: int = 0) -> list[Row]:
    """What the tool of the sandbox's own version calls hanging: topic, then the numbers of HEADERS, sorted."""
    jars = jars_of(sandbox)
    classes = compile_java(jars.compiler, SOURCE, jars.classpath)
    oracle = [*java_with(jars, classes), "org.apache.kafka.tools.FindHangingOracle"]
    ran = subprocess.run(
        [*oracle, sandbox.bootstrap_servers, str(max_timeout_minutes)],
        input="".join(f"{topic}\n" for topic in topics),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    rows = []
    for line in ran.stdout.splitlines():
        words = line.split()
        if len(words) == len(HEADERS) + 1 and words[1].isdigit():
            rows.append((words[0], *(int(word) for word in words[1 : len(HEADERS)])))
    return sorted(rows)
