"""Kafka's own `kafka-transactions.sh`, several commands in one JVM.

The client is of the brokers' release, and so is the tool where it is published: of 4.4.0 it is not.
"""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from eosctl.sandbox.java import compile_java
from tests.faulty_sandbox import Sandbox
from tests.jvm import client_of, jars_of, java_with

SOURCE = Path(__file__).with_name("TransactionsToolOracle.java")
HANGING = ("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp")

Row = dict[str, str]
Hanging = tuple[str, int, int, int, int, int, int]


def run_transactions_tool(sandbox: Sandbox, commands: Iterable[Sequence[object]]) -> list[list[Row]]:
    """The rows that each of the commands prints, by the names of its columns."""
    jars = jars_of(sandbox)
    classes = compile_java(jars.compiler, SOURCE, jars.classpath)
    oracle = [*java_with(jars, classes, client=client_of(sandbox)), "org.apache.kafka.tools.TransactionsToolOracle"]
    ran = subprocess.run(
        [*oracle, sandbox.bootstrap_servers],
        input="".join("\t".join(map(str, command)) + "\n" for command in commands),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [_rows(printed) for printed in ran.stdout.split("END\n")[:-1]]


def _rows(printed: str) -> list[Row]:
    """Columns are filled up with spaces, with a tab behind each; a cell may be empty."""
    lines = (line.removesuffix("\t").split("\t") for line in printed.splitlines() if line.strip())
    header, *rows = ([cell.strip() for cell in line] for line in lines)
    return [dict(zip(header, cells, strict=True)) for cells in rows]


def find_hanging(sandbox: Sandbox, topics: Iterable[str], max_timeout_minutes: int = 0) -> list[Hanging]:
    """The hanging transactions of `find-hanging`, topic by topic: topic, then the numbers of HANGING, sorted."""
    narrow = ("--max-transaction-timeout", max_timeout_minutes)
    found = run_transactions_tool(sandbox, [("find-hanging", "--topic", topic, *narrow) for topic in topics])
    rows = ([row[name] for name in HANGING] for printed in found for row in printed)
    return sorted((topic, *map(int, numbers)) for topic, *numbers in rows)
