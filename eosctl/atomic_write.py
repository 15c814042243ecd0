"""Files that are there whole or not at all, also after a crash, and that only their owner may read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from eosctl.errors import ConfigError

OWNER_ONLY: Final = 0o600
AS_UMASK: Final = 0o666


@contextmanager
def atomic_file(path: Path, mode: int = OWNER_ONLY) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` when the block ends well, on disk then; else `path` stays as it was.

    mode are the permissions of the file, less those of the umask.

    ConfigError names the path when it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


def write_atomic_file(path: Path, text: str) -> int:
    """Writes the text to `path`, in UTF-8; returns the number of bytes."""
    content = text.encode()
    with atomic_file(path) as file:
        file.write(content)
    return len(content)


def sync_directory(path: Path) -> None:
    """Puts the names of a directory's files on disk: a file that was renamed into it keeps its name after a crash."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
