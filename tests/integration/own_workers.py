"""Workers that no sandbox starts: MirrorMaker in its dedicated mode, and standalone workers."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from eosctl.sandbox.jars import parse_kafka_version
from eosctl.sandbox.properties import logging_configuration
from tests.faulty_sandbox import Sandbox
from tests.jvm import jars_of

MIRROR_MAKER: Final = "org.apache.kafka.connect.mirror.MirrorMaker"
STANDALONE: Final = "org.apache.kafka.connect.cli.ConnectStandalone"


@contextmanager
def running(sandbox: Sandbox, main: str, file: Path, *more: Path) -> Iterator[Path]:
    """The worker of class `main` with these files while the block runs; its log."""
    log, logging = file.with_suffix(".log"), file.with_suffix(".logging.properties")
    text, names_file = logging_configuration(parse_kafka_version(sandbox.spec.workers_version))
    logging.write_text(text)
    jars = jars_of(sandbox)
    plugins = ":".join(f"{each}/*" for each in jars.plugin_path.iterdir())
    options = ["-Xmx512m", f"-D{names_file}=file:{logging}", "-cp", f"{jars.classpath}:{plugins}"]
    with log.open("w") as output:
        process = subprocess.Popen([sandbox.java, *options, main, file, *more], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(60)
