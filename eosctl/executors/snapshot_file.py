"""Writing snapshot files."""

import os
from collections.abc import Iterable
from pathlib import Path

from eosctl.errors import ConfigError


def write_snapshot_file(path: Path, lines: Iterable[str]) -> int:
    """Writes the lines to `path`, whole or not at all, readable by its owner only; returns the number of bytes."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return path.stat().st_size
