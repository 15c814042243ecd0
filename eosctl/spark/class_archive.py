"""An archive of Spark's classes, with which its JVM starts in half the CPU time: class data sharing, JEP 350.

1. A JVM without an archive writes one when it ends. It ends after the process that started it, so nobody waits.
2. An archive is of one Java and one set of jars: their paths and times are in its name. The JVM looks itself whether it
   fits, and does without where it does not.
3. The header of an archive is written last: one that was left half written begins with zeros, and is written again.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

MAGIC_BYTES: Final = 4
SILENT: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""What does not fit is no news for the user; a JVM would say it on standard output."""


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
