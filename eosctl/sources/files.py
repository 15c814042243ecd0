"""Files that the user names: read whole or line by line, with errors that name the file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError

MOST_BYTES: Final = 1 << 28


def read_text(path: Path, what: str) -> str:
    """The whole text of `path`, in UTF-8 or ISO 8859-1; `what` says in an error what the file should have been."""
    content = read_content(path, what)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def read_content(path: Path, what: str) -> bytes:
    """The bytes of `path`; `what` says in an error what the file should have been."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, what, error) from error
    if len(content) > MOST_BYTES:
        raise ConfigError(f"cannot read {what} {path}: it has more than {MOST_BYTES >> 20} MiB")
    return content


@contextmanager
def open_lines(path: Path, what: str) -> Iterator[Iterator[bytes]]:
    """The lines of `path` as bytes with their ends, one at a time: memory does not grow with the file."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise _unreadable(path, what, error) from error
    with file:
        yield iter(file)


def read_ids(path: Path) -> tuple[str, ...]:
    """Transactional IDs, one a line, in order; blank lines are passed over. `-` is standard input."""
    if str(path) == "-":
        return _ids(sys.stdin.buffer.readlines(), "standard input")
    with open_lines(path, "--ids-file") as lines:
        return _ids(list(lines), str(path))


def _ids(lines: list[bytes], source: str) -> tuple[str, ...]:
    try:
        text = [line.decode("utf-8").rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source} is not UTF-8 text, so it holds no transactional IDs") from error
    return tuple(line for line in text if line.strip())


def _unreadable(path: Path, what: str, error: OSError) -> ConfigError:
    return ConfigError(f"cannot read {what} {path}: {error.strerror or error}")
