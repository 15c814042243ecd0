"""Jars by their Maven coordinates, with what they need at run time: by Maven where the machine has it, or by Ivy."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError
from eosctl.sandbox.ivy import find_ivy, retrieve_with_ivy
from eosctl.sandbox.java import find_java
from eosctl.sandbox.maven import copy_with_maven

COORDINATES: Final = "coordinates"


def holds_all(directory: Path, coordinates: Sequence[str]) -> bool:
    """Whether `directory` was fetched whole, for these very coordinates."""
    asked = directory / COORDINATES
    return asked.is_file() and asked.read_text().split() == list(coordinates)


@contextmanager
def replacing(directory: Path, coordinates: Sequence[str]) -> Iterator[Path]:
    """An empty directory that takes the place of `directory` when the block ends without an error.

    A half-fetched one never has the final name, so a killed process leaves nothing that could be taken for a whole one.
    """
    for leftover in directory.parent.glob(f".{directory.name}.*"):
        shutil.rmtree(leftover)
    staging = directory.with_name(f".{directory.name}.{os.getpid()}")
    staging.mkdir(parents=True)
    yield staging
    (staging / COORDINATES).write_text("\n".join(coordinates) + "\n")
    if directory.exists():
        old = directory.with_name(f".{directory.name}.old")
        directory.rename(old)
        shutil.rmtree(old)
    staging.rename(directory)


def retrieve_artifacts(coordinates: Sequence[str], into: Path, narrate: Callable[[str], None]) -> None:
    """Puts the jars of `coordinates` (`group:artifact:version`) and of what they need into `into`.

    Raises ConfigError when there is neither Maven nor Ivy, or when something cannot be fetched.
    """
    scratch = into / "resolver"
    scratch.mkdir()
    maven = shutil.which("mvn")
    if maven is not None:
        copy_with_maven(maven, coordinates, into, scratch, narrate)
    elif (ivy := find_ivy()) is not None:
        retrieve_with_ivy(find_java(), ivy, coordinates, into, scratch, narrate)
    else:
        raise ConfigError(
            "neither Maven nor Ivy is here to fetch jars",
            hint="put mvn on the PATH, or install pyspark (pip install 'eosctl[sandbox]'), which carries Ivy",
        )
    shutil.rmtree(scratch)
