"""Files that the user names: read whole or line by line, with errors that name the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eosctl.errors import ConfigError


def read_text(path: Path, what: str) -> str:
    """The whole text of `path`; `what` says in an error what the file should have been.

    Java properties files are read as ISO 8859-1 by java.util.Properties.load(InputStream) but as UTF-8 by people who
    write them, so UTF-8 is tried first.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, what, error) from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


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
