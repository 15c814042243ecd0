"""Writing snapshot files."""

from collections.abc import Iterable
from pathlib import Path

from eosctl.atomic_write import atomic_file


def write_snapshot_file(path: Path, lines: Iterable[str]) -> int:
    """Writes the lines to `path`, whole or not at all, readable by its owner only; returns the number of bytes."""
    with atomic_file(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    return path.stat().st_size
