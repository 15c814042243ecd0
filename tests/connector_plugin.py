"""A connector of the tests' own, compiled from one Java file and put on a worker's plugin path."""

import shutil
from pathlib import Path

from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java


def plugin_path(kafka_version: str, source: Path, directory: Path) -> str:
    """A worker's `plugin.path` with Kafka's own plugins and the source connector in `source`, left in `directory`."""
    jars = resolve_jars(kafka_version, lambda _: None)
    plugin = directory / source.stem
    shutil.copytree(compile_java(jars.compiler, source, jars.classpath), plugin)
    manifest = plugin / "META-INF" / "services" / "org.apache.kafka.connect.source.SourceConnector"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(f"{source.stem}\n")
    return f"{jars.plugin_path},{directory}"
