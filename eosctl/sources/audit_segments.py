"""A broker's log directory as what an audit reads from: partitions' segment files, without a broker.

    <topic>-<partition>/00000000000000000000.log   batches from that offset on
    <topic>-<partition>/partition.metadata         version: 0, topic_id: <ID> (KIP-516)

1. Nobody tells which transactions were aborted, so the segments are gone through twice: once for their markers.
2. The end of the last segment stands for the high watermark; what a copy cut in the middle of a batch is not there.
3. The last stable offset is the first offset of the earliest transaction without a marker.
"""

import mmap
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from eosctl.codecs.record_batches import (
    BEFORE_LENGTH_COUNTS,
    LENGTH,
    LENGTH_AT,
    MAGIC_AT,
    Batch,
    MarkerType,
    decode_marker,
    iter_batches,
)
from eosctl.errors import ConfigError, Undecodable, UsageError
from eosctl.model.audit import OffsetRange
from eosctl.model.names import TopicPartition
from eosctl.sources.audit_log import ControlBatch, DamagedOffsets, DataBatch, LogItem
from eosctl.sources.log_segment import DIRECTORY

TOPIC_ID: Final = re.compile(r"^topic_id:\s*(\S+)$", re.MULTILINE)


class AbortedTransaction(NamedTuple):
    """A producer's data from `first` up to the abort marker at `marker`."""

    producer_id: int
    first: int
    marker: int


@dataclass(frozen=True, slots=True)
class PartitionSegments:
    """The segments of one partition, and what their markers tell."""

    topic_partition: TopicPartition
    paths: tuple[Path, ...]
    topic_id: str | None
    log_start_offset: int
    last_stable_offset: int
    end_offset: int
    aborted: tuple[AbortedTransaction, ...]


def find_segments(directories: Iterable[Path], topics: Sequence[str] = ()) -> Mapping[TopicPartition, tuple[Path, ...]]:
    """The segment files under log directories (or of single partitions' directories), by partition, in order.

    topics keeps only those. Raises UsageError where there is none, ConfigError for a directory that cannot be read.
    """
    found: dict[TopicPartition, list[Path]] = {}
    for directory in directories:
        try:
            files = [*directory.glob("*.log"), *directory.glob("*/*.log")]
        except OSError as error:
            raise ConfigError(f"cannot read {directory}: {error.strerror or error}") from error
        for path in files:
            match = DIRECTORY.fullmatch(path.absolute().parent.name)
            if match is not None and (not topics or match["topic"] in topics):
                found.setdefault(TopicPartition(match["topic"], int(match["partition"])), []).append(path)
    if not found:
        names = ", ".join(map(str, directories))
        raise UsageError(f"no segment of {', '.join(topics) or 'any topic'} in {names}", hint="DIR holds TOPIC-N/*.log")
    return {place: tuple(sorted(found[place])) for place in sorted(found)}


def survey_segments(topic_partition: TopicPartition, paths: Sequence[Path]) -> PartitionSegments:
    """The first of the two ways through: bounds, and aborted transactions."""
    opened: dict[int, int] = {}
    aborted: list[AbortedTransaction] = []
    start, end = None, 0
    for item in _items(paths):
        if isinstance(item, DamagedOffsets):
            continue
        header = item.header
        start, end = header.base_offset if start is None else start, header.next_offset
        if not header.is_control:
            if header.is_transactional:
                opened.setdefault(header.producer_id, header.base_offset)
            continue
        marker = _marker(item)
        if isinstance(marker, ControlBatch) and marker.marker is not None:
            first = opened.pop(header.producer_id, None)
            if first is not None and marker.marker.type is MarkerType.ABORT:
                aborted.append(AbortedTransaction(header.producer_id, first, marker.marker.offset))
    return PartitionSegments(
        topic_partition,
        tuple(paths),
        _topic_id(paths[0].parent),
        start or 0,
        min(opened.values(), default=end),
        end,
        tuple(aborted),
    )


def _topic_id(directory: Path) -> str | None:
    try:
        found = TOPIC_ID.search((directory / "partition.metadata").read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else found[1]


def read_segments(segments: PartitionSegments, offsets: OffsetRange) -> Iterator[LogItem]:
    """Everything in the range, in offset order: the second way through."""
    aborted: dict[int, list[AbortedTransaction]] = {}
    for each in segments.aborted:
        aborted.setdefault(each.producer_id, []).append(each)
    for item in _items(_from(segments.paths, offsets.start)):
        last = item.offset if isinstance(item, DamagedOffsets) else item.header.last_offset
        if last >= offsets.end:
            return
        if last < offsets.start:
            continue
        if isinstance(item, DamagedOffsets):
            yield item
        elif item.header.is_control:
            yield _marker(item)
        else:
            yield DataBatch(item, offsets.settled and _is_aborted(item, aborted.get(item.header.producer_id, ())))


def _is_aborted(batch: Batch, aborted: Iterable[AbortedTransaction]) -> bool:
    header = batch.header
    return header.is_transactional and any(each.first <= header.base_offset < each.marker for each in aborted)


def _from(paths: Sequence[Path], start: int) -> Sequence[Path]:
    """The segments from that one on which holds `start`: a file is named after its first offset."""
    first = max((number for number, path in enumerate(paths) if _base(path) <= start), default=0)
    return paths[first:]


def _base(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0


def _marker(batch: Batch) -> ControlBatch | DamagedOffsets:
    try:
        return ControlBatch(batch, decode_marker(batch))
    except Undecodable as error:
        return DamagedOffsets(batch.header.base_offset, batch.header.next_offset, error.reason)


def _items(paths: Iterable[Path]) -> Iterator[Batch | DamagedOffsets]:
    for path in paths:
        try:
            with path.open("rb") as file:
                if path.stat().st_size:
                    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                        yield from _batches(bytes(data))
        except OSError as error:
            raise ConfigError(f"cannot read the segment {path}: {error.strerror or error}") from error


def _batches(data: bytes) -> Iterator[Batch | DamagedOffsets]:
    """Batches, and damages where bytes are none: passed over by their length, if that makes sense."""
    view = memoryview(data)
    place = 0
    while place < len(view):
        try:
            for batch in iter_batches(view[place:]):
                yield batch
                place += len(batch.data)
            return
        except Undecodable as error:
            if not view[place:].tobytes().strip(b"\0"):
                return
            offset = int.from_bytes(view[place : place + LENGTH_AT], "big", signed=True)
            length = BEFORE_LENGTH_COUNTS + int(LENGTH.unpack_from(view, place + LENGTH_AT)[0])
            if length <= MAGIC_AT:
                yield DamagedOffsets(offset, offset + 1, f"{error.reason}; the rest of the segment is not readable")
                return
            place += length
            following = view[place : place + LENGTH_AT]
            behind = int.from_bytes(following, "big", signed=True) if len(following) == LENGTH_AT else offset + 1
            yield DamagedOffsets(offset, max(behind, offset + 1), error.reason)
