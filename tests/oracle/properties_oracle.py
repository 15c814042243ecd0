"""java.util.Properties itself, through PropertiesOracle.java."""

import json
import struct
import subprocess
from pathlib import Path
from typing import Self

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java, find_java

SOURCE = Path(__file__).with_name("PropertiesOracle.java")


class PropertiesOracle:
    """One JVM that reads properties files; a context manager that ends it."""

    def __init__(self) -> None:
        jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
        classes = compile_java(jars.compiler, SOURCE, str(jars.compiler))
        launcher = [find_java(), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", classes, "PropertiesOracle"]
        self._process = subprocess.Popen(launcher, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def decode(self, file: bytes) -> dict[str, str] | None:
        """Key -> value as Java reads the file, None where it refuses it."""
        self._process.stdin.write(struct.pack(">i", len(file)) + file)
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return None if "malformed" in answer else answer["properties"]
