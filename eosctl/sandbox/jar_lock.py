"""The lock files of Kafka's jars: the SHA-256 of each jar of a set, as `requirements/*.lock` has them for Python.

`locks/<version>.sha256` (all jars) and `locks/<version>-brokers.sha256` have the form of sha256sum. Maven's own
checksums come from where the jars come from; these do not. `python -m eosctl.sandbox.jar_lock` writes those of the
tested versions from the cache: read the difference.
"""

import hashlib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError

LOCKS: Final = Path(__file__).parent / "locks"
STAMP: Final = "verified"


def locked_jars(name: str) -> Mapping[str, str] | None:
    """The SHA-256 of each jar of the set `name` (`4.3.1`, `4.3.1-brokers`) by its file name; None without lock file."""
    file = LOCKS / f"{name}.sha256"
    if not file.is_file():
        return None
    return {name: digest for digest, _, name in (line.partition("  ") for line in file.read_text().splitlines())}


def is_verified(directory: Path, locked: Mapping[str, str] | None) -> bool:
    """Whether the jars in `directory` were held against this lock file before; True where there is none."""
    stamp = directory / STAMP
    return locked is None or (stamp.is_file() and stamp.read_text() == _digest_of(locked))


def verify_jars(directory: Path, locked: Mapping[str, str] | None) -> None:
    """Raises ConfigError unless the jars in `directory` are exactly those that the lock file names."""
    if locked is None:
        return
    found = {jar.name: _sha256(jar) for jar in jars_in(directory)}
    wrong = sorted(name for name in found.keys() | locked.keys() if found.get(name) != locked.get(name))
    if wrong:
        raise ConfigError(
            f"{len(wrong)} of the jars in {directory} are not those of their lock file, the first: {wrong[0]} "
            f"({_difference(wrong[0], found, locked)})",
            hint=f"they were changed on the way, or where they come from, or here: remove {directory} and "
            "fetch them again; if it stays, do not use them, and ask who runs the repository or proxy",
        )
    (directory / STAMP).write_text(_digest_of(locked))


def jars_in(directory: Path) -> list[Path]:
    """Every jar of a set, wherever it is sorted to."""
    places = (directory / "libs", directory / "plugins", directory / "tools")
    return sorted((jar for place in places for jar in place.rglob("*.jar")), key=lambda jar: jar.name)


def _difference(name: str, found: Mapping[str, str], locked: Mapping[str, str]) -> str:
    if name not in found:
        return "missing"
    return "not expected" if name not in locked else f"SHA-256 {found[name]}, expected {locked[name]}"


def _digest_of(locked: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{digest} {name}\n" for name, digest in locked.items()).encode()).hexdigest()


def _sha256(jar: Path) -> str:
    with jar.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_locks() -> None:
    from eosctl.sandbox import jars, versions

    whole, brokers = versions.TESTED_KAFKA_VERSIONS, versions.TESTED_BROKERS
    for version, jar_set in (*product(whole, jars.JarSet), *product(brokers, (jars.JarSet.BROKERS,))):
        lock = LOCKS / f"{version}{jar_set.value}.sha256"
        lock.unlink(missing_ok=True)
        found = jars_in(jars.resolve_jars(version, lambda _: None, jar_set).directory)
        lock.write_text("".join(f"{_sha256(jar)}  {jar.name}\n" for jar in found))


if __name__ == "__main__":
    _write_locks()
