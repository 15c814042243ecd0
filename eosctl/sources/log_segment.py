"""A segment file of a partition, as it lies in a broker's log directory: no broker needed.

The file is record batches one after the other.

1. A file that was allocated ahead (log.preallocate) ends in zeros.
2. The last segment may end within a batch: a broker crashed, a copy was cut, or a broker is writing. A broker that
   starts cuts that off.
3. Anywhere else bytes that are no batch are damage: passed over up to the next batch, with the missing offsets.
4. Every CRC is checked, as a broker does when it starts after a crash.
5. A batch whose offsets are below those before it is none. Those that an earlier segment holds already are left out:
   a cleaner that was interrupted while it replaced segments leaves both.
"""

import os
import re
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from eosctl.codecs.batch_limits import MOST_BYTES
from eosctl.codecs.damaged_batches import MOST_SKIPPED, begins_batch, claimed_length, next_batch
from eosctl.codecs.record_batches import (
    HEADER,
    LENGTH_AT,
    WRONG_CRC,
    Batch,
    DamagedOffsets,
    decode_records,
    has_right_crc,
    iter_batches,
)
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record

CHUNK: Final = 1 << 22
ZERO: Final = b"\0"
CUT_OFF: Final = "the batch is cut off"
DIRECTORY: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")


class SegmentGone(ConfigError):
    """The segment file is not there (any more)."""


def partition_of_segment(path: Path) -> TopicPartition | None:
    """The partition whose segment it is, by the name of its directory; None where that shows none."""
    match = DIRECTORY.fullmatch(path.absolute().parent.name)
    return None if match is None else TopicPartition(match["topic"], int(match["partition"]))


class SegmentBatches:
    """The batches of one segment file in offset order and what is damaged, read once; memory does not grow with it.

    begins is the offset up to which earlier segments reach, ends the first one of the next segment, None for the last;
    most_batch_bytes is how much memory the records of one batch may take.
    next_offset is the offset behind what was read. cut_bytes is how many bytes at the end of the last segment are no
    whole batch, and cut_reason why (0 and empty until the end is reached).
    """

    def __init__(
        self, path: Path, begins: int = 0, ends: int | None = None, most_batch_bytes: int = MOST_BYTES
    ) -> None:
        self._path, self._begins, self._ends, self._most = path, begins, ends, most_batch_bytes
        self.next_offset = begins
        self.cut_bytes = 0
        self.cut_reason = ""

    def __iter__(self) -> Iterator[Batch | DamagedOffsets]:
        """Raises SegmentGone where there is no such file, ConfigError where it cannot be read."""
        try:
            with self._path.open("rb") as file:
                yield from self._items(file)
        except FileNotFoundError as error:
            raise SegmentGone(f"cannot read the segment {self._path}: it is not there") from error
        except OSError as error:
            raise ConfigError(f"cannot read the segment {self._path}: {error.strerror or error}") from error

    def _items(self, file: BufferedReader) -> Iterator[Batch | DamagedOffsets]:
        place = wanted = 0
        while data := _read(file, place, max(wanted, CHUNK, HEADER.size)):
            used, reason = 0, ""
            try:
                for batch in iter_batches(data, most_bytes=self._most):
                    if self._is_next(batch):
                        yield batch
                    used += len(batch.data)
            except Undecodable as error:
                reason = error.reason
            place, wanted = place + used, 0
            if used and not reason:
                continue
            length = claimed_length(data, used)
            if not reason and length > len(data) and self._lies_there(file, place, length):
                wanted = length
                continue
            behind = self._next_batch(file, place)
            yield from self._damage(file, place, behind, reason or CUT_OFF)
            if behind is None:
                return
            place = behind

    def _is_next(self, batch: Batch) -> bool:
        """Whether it goes on from the batches before; raises Undecodable for one that cannot be where it is."""
        if not has_right_crc(batch.data):
            raise Undecodable(WRONG_CRC)
        first, behind = batch.header.base_offset, batch.header.next_offset
        if self.next_offset <= first < behind and first < self.next_offset + MOST_SKIPPED:
            self.next_offset = behind
            return True
        if self.next_offset == self._begins >= behind > first >= 0:
            return False
        raise Undecodable(f"offsets {first} to {behind - 1} behind offset {self.next_offset - 1}")

    def _lies_there(self, file: BufferedReader, place: int, length: int) -> bool:
        """Whether the bytes that a batch claims to have are all there, and a batch, zeros or nothing follow them."""
        if place + length > os.fstat(file.fileno()).st_size:
            return False
        following = _read(file, place + length, HEADER.size)
        return not following.strip(ZERO) or begins_batch(following, 0, self.next_offset)

    def _next_batch(self, file: BufferedReader, place: int) -> int | None:
        """Where behind damaged bytes the next batch begins; None: nowhere in this file.

        Windows overlap by half. So a batch that is longer than half a chunk is found behind a right length only.
        """
        length = claimed_length(_read(file, place, HEADER.size))
        if length and begins_batch(_read(file, place + length, HEADER.size), 0, self.next_offset):
            return place + length
        while len(window := _read(file, place, CHUNK)) > HEADER.size:
            found = next_batch(window, 0, self.next_offset) if window.strip(ZERO) else None
            if found is not None:
                return place + found
            place += max(1, CHUNK // 2)
        return None

    def _damage(self, file: BufferedReader, place: int, behind: int | None, reason: str) -> Iterator[DamagedOffsets]:
        if behind is not None:
            following = int.from_bytes(_read(file, behind, LENGTH_AT), "big")
        elif self._ends is not None:
            following = self._ends
        else:
            if not _is_zero(file, place):
                self.cut_bytes, self.cut_reason = os.fstat(file.fileno()).st_size - place, reason
            return
        if following > self.next_offset:
            yield DamagedOffsets(self.next_offset, following, reason)
            self.next_offset = following


def _read(file: BufferedReader, place: int, size: int) -> bytes:
    return os.pread(file.fileno(), size, place)


def _is_zero(file: BufferedReader, place: int) -> bool:
    """Whether the file holds nothing but zeros from there on."""
    while data := _read(file, place, CHUNK):
        if data.strip(ZERO):
            return False
        place += len(data)
    return True


class LogSegment:
    """The records of one segment file, in offset order, read once; memory does not grow with the file.

    cut_bytes is how many bytes at the end belong to a batch that is not whole (0 until the end is reached).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cut_bytes = 0

    def __iter__(self) -> Iterator[Record]:
        """Raises ConfigError where the file cannot be read, Undecodable for bytes that are no batch."""
        batches = SegmentBatches(self._path)
        for item in batches:
            if isinstance(item, DamagedOffsets):
                raise self._undecodable(f"offset {item.offset}: {item.reason}")
            if not item.header.is_control:
                yield from self._records(item)
        if batches.cut_bytes and batches.cut_reason != CUT_OFF:
            raise self._undecodable(f"offset {batches.next_offset}: {batches.cut_reason}")
        self.cut_bytes = batches.cut_bytes

    def _records(self, batch: Batch) -> list[Record]:
        try:
            return decode_records(batch)
        except Undecodable as error:
            raise self._undecodable(error.message) from error

    def _undecodable(self, what: str) -> Undecodable:
        return Undecodable(f"{self._path}: {what}")
