"""Writing what spark-submit needs to run an audit: eosctl as a zip, the program, and how to get the libraries there."""

import zipfile
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from eosctl.atomic_write import atomic_file, make_directory, write_atomic_file

PACKAGE: Final = "eosctl"
ZIP: Final = "eosctl.zip"
REQUIREMENTS: Final = "requirements.txt"
LOG4J2: Final = "log4j2.properties"
EXECUTORS_NEED: Final = ("pyarrow", "pandas")
"""What pyspark itself needs beside it; pyspark is there already."""
STORE_NEEDS: Final = ("psycopg", "psycopg-binary")
"""What a ledger in PostgreSQL needs, where it is installed here."""
_DATED: Final = (1980, 1, 1, 0, 0, 0)


def write_spark_bundle(directory: Path, log4j2: str) -> tuple[Path, ...]:
    """Writes the files, each whole or not at all, into `directory`, which is made; returns them in order of name.

    The zip is the same for the same eosctl. Raises ConfigError where a file cannot be written.
    """
    make_directory(directory)
    texts = {each.name: each.read_text(encoding="utf-8") for each in _bundled()}
    texts |= {REQUIREMENTS: _requirements(), LOG4J2: log4j2}
    for name, text in texts.items():
        write_atomic_file(directory / name, text)
    with atomic_file(directory / ZIP) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, each in _members(files(PACKAGE), PACKAGE):
            zipped.writestr(zipfile.ZipInfo(name, _DATED), each.read_bytes(), zipfile.ZIP_DEFLATED)
    return tuple(sorted(directory / name for name in (*texts, ZIP)))


def _bundled() -> list[Traversable]:
    return [each for each in files(PACKAGE).joinpath("spark", "bundle").iterdir() if each.is_file()]


def _members(directory: Traversable, path: str) -> list[tuple[str, Traversable]]:
    """The files of the package, in order of name, without what Python compiled."""
    found: list[tuple[str, Traversable]] = []
    for each in sorted(directory.iterdir(), key=lambda each: each.name):
        name = f"{path}/{each.name}"
        if each.is_file() and not each.name.endswith(".pyc"):
            found.append((name, each))
        elif each.is_dir() and each.name != "__pycache__":
            found += _members(each, name)
    return found


def _requirements() -> str:
    """The libraries that eosctl is installed with here, in their versions."""
    names = [_name(each) for each in metadata.requires(PACKAGE) or () if "extra ==" not in each]
    installed = {each.name for each in metadata.distributions()} & {*STORE_NEEDS}
    return "".join(f"{name}=={metadata.version(name)}\n" for name in sorted({*names, *EXECUTORS_NEED, *installed}))


def _name(requirement: str) -> str:
    end = next((place for place, each in enumerate(requirement) if not each.isalnum() and each not in "-_."), None)
    return requirement[:end]
