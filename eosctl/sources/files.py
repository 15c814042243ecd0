"""Files that the user names: read whole or line by line, with errors that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eosctl.errors import ConfigError


def read_text(path: Path, what: str) -> str:
    """The whole text of `path`, in UTF-8 or else ISO 8859-1; `what` says in an error what the file should have been."""
    content = read_content(path, what)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def read_content(path: Path, what: str) -> bytes:
    """The bytes of `path`; `what` says in an error what the file should have been."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, what, error) from error


@contextmanager
def open_lines(path: Path, what: str) -> Iterator[Iterator[bytes]]:
    """The lines of `path` as bytes with their ends, one at a time: memory does not grow with the file."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise _unreadable(path, what, error) from error
    with file:
        yield iter(file)


def _unreadable(path: Path, what: str, error: OSError) -> ConfigError:
    return ConfigError(f"cannot read {what} {path}: {error.strerror or error}")
