"""A segment file of a partition, as it lies in a broker's log directory: no broker needed.

The file is record batches one after the other. A copy of the segment that a broker is writing may end within a batch,
and a file that was allocated ahead may end in zeros.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from eosctl.codecs.record_batches import (
    BEFORE_LENGTH_COUNTS,
    LENGTH,
    LENGTH_AT,
    SHORTEST_BATCH,
    Batch,
    decode_records,
    iter_batches,
)
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record

CHUNK: Final = 1 << 22
ZERO: Final = b"\0"
DIRECTORY: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")


def partition_of_segment(path: Path) -> TopicPartition | None:
    """The partition whose segment it is, by the name of its directory; None where that tells none."""
    match = DIRECTORY.fullmatch(path.absolute().parent.name)
    return None if match is None else TopicPartition(match["topic"], int(match["partition"]))


class LogSegment:
    """The records of one segment file, in offset order, read once; memory does not grow with the file.

    cut_bytes is how many bytes at the end belong to a batch that is not whole (0 until the end is reached).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cut_bytes = 0

    def __iter__(self) -> Iterator[Record]:
        """Raises ConfigError where the file cannot be read, Undecodable for bytes that are no batch."""
        rest = b""
        try:
            with self._path.open("rb") as file:
                while chunk := file.read(max(CHUNK, _missing(rest))):
                    rest += chunk
                    whole, rest = _whole_batches(rest)
                    for batch in whole:
                        if not batch.header.is_control:
                            yield from decode_records(batch)
        except OSError as error:
            raise ConfigError(f"cannot read the segment {self._path}: {error.strerror or error}") from error
        except Undecodable as error:
            raise Undecodable(f"{self._path}: {error.message}") from error
        self.cut_bytes = len(rest) if rest.strip(ZERO) else 0


def _whole_batches(data: bytes) -> tuple[list[Batch], bytes]:
    """The whole batches at the beginning of `data`, and what is left: the beginning of a batch, or zeros."""
    batches: list[Batch] = []
    place = 0
    try:
        for batch in iter_batches(data):
            batches.append(batch)
            place += len(batch.data)
    except Undecodable:
        if data[place:].strip(ZERO):
            raise
    rest = data[place:]
    # A batch may begin with zeros; more of them than a header has stand for all that follow.
    return batches, rest if len(rest) <= SHORTEST_BATCH or rest.strip(ZERO) else rest[:SHORTEST_BATCH]


def _missing(rest: bytes) -> int:
    """Bytes that the batch at the beginning of `rest` still lacks, as far as its length is there."""
    if len(rest) < LENGTH_AT + LENGTH.size:
        return 0
    return max(0, BEFORE_LENGTH_COUNTS + int(LENGTH.unpack_from(rest, LENGTH_AT)[0]) - len(rest))
