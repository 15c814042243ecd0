"""Strimzi's own model classes, which read resources and write them again."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars, resolve_plugin
from eosctl.sandbox.java import QUICK_START, compile_java, find_java
from tests.jvm import Oracle

DEFAULTS = {"patternType": "literal", "host": "*"}
"""Defaults that the classes do not write."""
SOURCE = Path(__file__).with_name("StrimziOracle.java")


class StrimziOracle(Oracle):
    """One JVM with `io.strimzi:api` of one version."""

    def __init__(self, strimzi_version: str) -> None:
        self.serves_v1 = strimzi_version >= "0.49"
        libraries = resolve_plugin(f"io.strimzi:api:{strimzi_version}", lambda _: None)
        compiler = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None).compiler
        classes = compile_java(compiler, SOURCE, f"{libraries}/*")
        path = os.pathsep.join([f"{libraries}/*", str(classes)])
        super().__init__([str(find_java()), *QUICK_START, "-Xmx256m", "-cp", path, "StrimziOracle"])

    def complaints(self, resource: Mapping[str, Any]) -> list[str]:
        """Fields that the classes do not know, that they lose, or why they do not read the resource."""
        answer = self.answer(resource)
        if "error" in answer:
            return [answer["error"]]
        return [f"unknown: {each}" for each in answer["unknown"]] + list(
            _lost({key: value for key, value in resource.items() if key != "apiVersion"}, answer["written"], "")
        )


def _lost(given: Any, written: Any, path: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            yield from _lost(value, written.get(key), f"{path}.{key}")
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for at, pair in enumerate(zip(given, written, strict=True)):
            yield from _lost(*pair, f"{path}[{at}]")
    elif given != written and not (written is None and given in ({}, [], None, DEFAULTS.get(path.rpartition(".")[2]))):
        yield f"lost: {path}: {given!r} is {written!r}"
