"""A Spark session for an audit: quiet, and with the settings that must exist before its JVM starts.

1. In a process that spark-submit started, or where a session is active, Spark is taken as it is set up, and only
   settings of SQL are made. A session that was active stays so.
2. With `remote`, a Spark Connect server: one that listens, or `local[N]`, which starts one on this machine.
3. Otherwise a session of this process. The JVM's own words go to a file, whose end is shown should it not start.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from eosctl.errors import Unreachable
from eosctl.model.audit import BUCKETS

# An archive of Spark's classes, with which its JVM starts in half the CPU time: class data sharing, JEP 350.
#
# 1. A JVM without an archive writes one when it ends. It ends after the process that started it, which does not wait.
# 2. An archive is of one Java and one set of jars: their paths and times are in its name. The JVM looks itself whether
#    it fits, and does without where it does not.
# 3. The header of an archive is written last: one that was left half written begins with zeros, and is written again.


MAGIC_BYTES: Final = 4
SILENT: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""Options that do not fit are no news for the user; a JVM would report them on standard output."""


def archive_options(directory: Path | None, java_home: Path, jars: Path) -> str:
    """Options of a JVM that uses the archive in `directory`, or makes it; empty where that is None or not writable.

    Raises nothing: without an archive Spark only starts more slowly.
    """
    if directory is None or " " in str(directory):
        return ""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        archive = directory / f"{_fingerprint(java_home, jars)}.jsa"
        if _is_complete(archive):
            return f"-XX:SharedArchiveFile={archive} -Xshare:auto {SILENT}"
        writable = os.access(directory, os.W_OK)
    except OSError:
        return ""
    return f"-XX:ArchiveClassesAtExit={archive} {SILENT}" if writable else ""


def _fingerprint(java_home: Path, jars: Path) -> str:
    parts = [java_home.resolve(), jars.resolve()]
    times = [(java_home / "lib" / "modules").stat().st_mtime_ns, jars.stat().st_mtime_ns]
    return hashlib.sha256(repr((*map(str, parts), *times)).encode()).hexdigest()[:24]


def _is_complete(archive: Path) -> bool:
    if not archive.exists():
        return False
    with archive.open("rb") as file:
        return any(file.read(MAGIC_BYTES))


APPLICATION: Final = "eosctl audit"

SQL: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.shuffle.partitions": str(BUCKETS),
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Rows are states, up to some MB each: few of them make a batch, and they are too few to compile code for.

AQE merges small shuffle partitions.
"""

SHORT_LIVED: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""The JVM plans and shuffles, Python does the work: compiling Java thoroughly costs more than it saves."""

JARS: Final = Path(pyspark.__file__).parent / "jars"

LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.daemon.module": "eosctl.spark.worker_daemon",
}
"""Settings if executors are on this machine, too."""


def session_settings(master: str, log4j2: Path, memory: str, java_options: str) -> dict[str, str]:
    """The settings of a session of this process."""
    return {
        "spark.master": master,
        "spark.app.name": APPLICATION,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j2} {java_options}".strip(),
        "spark.log.level": "ERROR",
        "spark.speculation": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(LOCAL if master.startswith("local") else {"spark.task.maxFailures": "4"}),
        **SQL,
    }


FindJava = Callable[[], Path]
"""Gives the `java` of this machine; raises ConfigError where there is none."""


@contextmanager
def spark_session(
    find_java: FindJava,
    *,
    master: str | None = None,
    remote: str | None = None,
    memory: str = "1g",
    settings: dict[str, str] | None = None,
    archives: Path | None = None,
) -> Iterator[SparkSession]:
    """A session by the rules above; master None is `local[*]`. `settings` are further ones of Spark.

    find_java returns the `java` for Spark if JAVA_HOME names none. archives is the directory for the class archives of
    a Spark on this machine (class_archive).

    Raises ConfigError without a Java, Unreachable if the session does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        session = active or SparkSession.builder.appName(APPLICATION).getOrCreate()
        for name, value in SQL.items():
            session.conf.set(name, value)
        yield session
        if active is None:
            session.stop()
        return
    quiet = files("eosctl").joinpath("spark", "bundle", "log4j2.properties").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="eosctl-spark-") as directory:
        log4j2 = Path(directory, "log4j2.properties")
        log4j2.write_text(quiet, encoding="utf-8")
        place = remote if remote is not None and remote.startswith("local") else master or "local[*]"
        options = SHORT_LIVED
        if remote is None or remote.startswith("local"):
            options = f"{SHORT_LIVED} {archive_options(archives, _offer_java(find_java), JARS)}"
        wanted = session_settings(place, log4j2, memory, options) | (settings or {})
        session = _started(wanted, remote, Path(directory, "said"))
        try:
            yield session
        finally:
            session.stop()


def master_of(session: SparkSession) -> str:
    """The master URL; empty where a Spark Connect server does not report it."""
    try:
        return str(session.conf.get("spark.master") or "")
    except PySparkException:
        return ""


def _started(settings: dict[str, str], remote: str | None, said: Path) -> SparkSession:
    builder = SparkSession.builder
    if remote is None:
        # Executors on this machine are to be the interpreter that runs this.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif remote.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.remote(remote)
        settings.pop("spark.master")
    else:
        builder = builder.remote(remote)
        settings = dict(SQL)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _words_to(said):
            return builder.getOrCreate()
    except Exception as error:  # pyspark raises whatever it meets
        words = said.read_text(encoding="utf-8", errors="replace")[-1000:] if said.exists() else ""
        raise Unreachable(f"Spark does not start: {error}\n{words}".strip()) from error


def _offer_java(find_java: FindJava) -> Path:
    """Sets JAVA_HOME to a found Java, if pyspark would find none itself."""
    if "JAVA_HOME" not in os.environ:
        java = find_java().resolve()
        os.environ["JAVA_HOME"] = str(java.parent.parent)
    return Path(os.environ["JAVA_HOME"])


@contextmanager
def _words_to(path: Path) -> Iterator[None]:
    """Sends the output of processes started in this block to a file, as long as they live.

    Readers of this process's output then need not wait for the end of Spark's JVM.
    """
    streams = (1, 2)
    kept = [os.dup(stream) for stream in streams]
    try:
        with path.open("wb") as file:
            for stream in streams:
                os.dup2(file.fileno(), stream)
        yield
    finally:
        for stream, copy in zip(streams, kept, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
