"""The record that the user trusts a project's file of profiles."""

from collections.abc import Mapping
from pathlib import Path

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.errors import ConfigError


def record_trust(record: Path, digests: Mapping[str, str]) -> None:
    """Writes the SHA-256 of each file by its path, in the form of sha256sum."""
    if any("\n" in path for path in digests):
        raise ConfigError("a path with a line end in it cannot be trusted", hint="rename the file or its directory")
    make_directory(record.parent)
    write_atomic_file(record, "".join(f"{digest}  {path}\n" for path, digest in digests.items()))


def remove_trust(record: Path) -> None:
    """Removes the record, if there is one."""
    try:
        record.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot remove {record}: {error.strerror or error}") from error
