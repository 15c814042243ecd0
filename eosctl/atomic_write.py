"""Files that are there whole or not at all, also after a crash, and that only their owner may read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EEXIST, EISDIR, ENOENT, ENOTDIR, EPERM, EROFS
from pathlib import Path
from typing import BinaryIO, Final

from eosctl.errors import ConfigError, UsageError, reason_of

OWNER_ONLY: Final = 0o600
OWNERS_DIRECTORY: Final = 0o700
NAME_A_FILE: Final = "name a file in an existing directory"
NAME_A_PLACE: Final = "name another place, where you may write"
ELSEWHERE: Final = frozenset({EACCES, EEXIST, ENOENT, ENOTDIR, EPERM, EROFS})
"""Errors of a wrong place, and not of a full disk."""
STREAMS: Final = frozenset({"/dev", "/dev/fd", "/proc/self/fd"})
"""Directories whose links are open files of a process, such as /dev/stdout."""


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` when the block ends well, on disk then. If not, it stays as it was.

    Only its owner may read and write it, whatever the umask.

    ConfigError names the path when it cannot be written, as a device cannot: a file would take its place.
    """
    if is_stream(path):
        raise ConfigError(f"cannot write {path}: it is no regular file", hint=NAME_A_FILE)
    draft = path.parent / f".eosctl-{os.urandom(8).hex()}"
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        try:
            os.fchmod(made, OWNER_ONLY)
            with os.fdopen(made, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise _unwritable(f"cannot write {path}", error) from error


def write_atomic_file(path: Path, text: str) -> int:
    content = text.encode()
    with atomic_file(path) as file:
        file.write(content)
    return len(content)


def sync_directory(path: Path) -> None:
    """Puts the names of a directory's files on disk: a file that was renamed into it keeps its name after a crash.

    Who may write into a directory and not read it cannot do that, and it is left to the system.
    """
    try:
        directory = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def is_stream(path: Path) -> bool:
    """True for a device, a pipe, and a link such as /dev/stdout, whatever it leads to now."""
    is_of_process = path.is_symlink() and str(path.parent) in STREAMS
    return is_of_process or (path.exists() and not path.is_file() and not path.is_dir())


def require_new(path: Path, *, overwrite: bool) -> None:
    """UsageError where `path` is there already, unless it may be overwritten; ConfigError where it cannot be written.

    For files that cannot be made again, because they hold what was true at their time.
    """
    require_place(path)
    if not overwrite and os.path.lexists(path):
        raise UsageError(f"{path} exists already, and was not overwritten", hint="give another name, or --overwrite")


def require_place(path: Path) -> None:
    """ConfigError where no file of this name can be written, before work whose answer would be lost."""
    if path.is_dir() or not path.parent.is_dir():
        number = EISDIR if path.is_dir() else ENOTDIR if path.parent.exists() else ENOENT
        raise ConfigError(f"cannot write {path}: {os.strerror(number)}", hint=NAME_A_FILE)


def make_directory(path: Path) -> None:
    """Makes the directory, and those above it that are missing, for their owner only whatever the umask.

    Those that are there stay as they are. ConfigError names the path when it cannot be made.
    """
    try:
        missing = [each for each in (path, *path.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(OWNERS_DIRECTORY, exist_ok=True)
            each.chmod(OWNERS_DIRECTORY)
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(f"cannot make directory {path}", error) from error


def _unwritable(failed: str, error: OSError) -> ConfigError:
    return ConfigError(f"{failed}: {reason_of(error)}", hint=NAME_A_PLACE if error.errno in ELSEWHERE else None)
