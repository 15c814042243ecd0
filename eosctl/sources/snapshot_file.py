"""Snapshot files on disk."""

from collections.abc import Iterator
from pathlib import Path

from eosctl.codecs.snapshot import decode_snapshot
from eosctl.errors import Undecodable, Unsupported
from eosctl.files import SNAPSHOT, open_lines
from eosctl.model.snapshot import Snapshot


def read_snapshot_file(path: Path) -> Snapshot:
    """The snapshot in `path`; errors name the file and the line."""
    try:
        with open_lines(path, SNAPSHOT) as lines:
            return decode_snapshot(_text(lines))
    except (Undecodable, Unsupported) as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from error


def _text(lines: Iterator[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Undecodable(f"line {number} is not UTF-8, so this is no snapshot") from error
