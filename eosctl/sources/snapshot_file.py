"""Snapshot files on disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eosctl.codecs.config_topic import decode_config_records
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.errors import Undecodable, Unsupported
from eosctl.files import RECORDS, SNAPSHOT, open_lines
from eosctl.model.config_topic import ConfigRecord, ConfigTopicLog
from eosctl.model.evidence import Snapshot
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.workers import ConnectFacts


def read_snapshot_file(path: Path) -> Snapshot:
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


NOT_LIVE: Final = not_asked("records were read from a file")


def read_records_file(path: Path, group_id: str | None, connect: ConnectFacts | Skipped) -> Snapshot:
    """The records in `path`, a stream that can be read once, beside what the workers report.

    as_of is 0: unknown. Errors that name the file and the line are raised by the stream.
    """
    log = ConfigTopicLog(path.name, NOT_LIVE, NOT_LIVE, _records(path))
    return Snapshot(0, NOT_LIVE, group_id, log, NOT_LIVE, connect)


def _records(path: Path) -> Iterator[ConfigRecord]:
    with open_lines(path, RECORDS) as lines:
        yield from decode_config_records(read_record_lines(lines, str(path)))
