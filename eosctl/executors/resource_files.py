"""Resources to apply, written to files that only their owner may read: they may hold secrets."""

from pathlib import Path

from eosctl.atomic_write import make_directory, write_atomic_file


def write_resource_file(path: Path, text: str) -> None:
    """Writes the text to `path`, whose directory is made; ConfigError where that cannot be done."""
    make_directory(path.parent)
    write_atomic_file(path, text)
