"""Transactional IDs from a file or from standard input."""

import sys
from pathlib import Path

from eosctl.errors import ConfigError
from eosctl.sources.files import open_lines


def read_ids(path: Path) -> tuple[str, ...]:
    """One ID a line, in order; blank lines are passed over, and an ID may hold any other character. `-` is stdin."""
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
