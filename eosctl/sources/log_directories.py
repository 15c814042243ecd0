"""A broker's log directory as what an audit reads from: partitions' segment files, without a broker.

    <topic>-<partition>/00000000000000000000.log       batches from that offset on
    <topic>-<partition>/00000000000000000000.log.swap  what a cleaner puts in the place of segments
    <topic>-<partition>/00000000000000000000.txnindex  aborted transactions whose markers are in this segment
    <topic>-<partition>/00000000000000000042.snapshot  the producers before that offset
    <topic>-<partition>/partition.metadata             version: 0, topic_id: <ID> (KIP-516)

1. No broker reports which transactions were aborted, so the segments are gone through twice: once for their markers.
2. The end of the last segment stands for the high watermark; what a copy cut in the middle of a batch is not there.
3. The last stable offset is the first offset of the earliest transaction without a marker.
4. A `.swap` file is whole. A broker that starts puts it in the place of the segments that it covers, so it is read
   where the segment of its name is gone. `.cleaned` and `.deleted` files are not read, nor are directories of
   partitions that are being deleted (`-delete`), moved (`-future`) or were assigned elsewhere (`-stray`).
5. Of several directories with the same partition (replicas, or a copy beside the original) the longest log is read.
6. The first segment's name is where the log starts, or behind that the broker's log-start-offset-checkpoint. Its
   cleaner-offset-checkpoint has the partitions that were compacted.
7. A broker may go on writing, cleaning and deleting: a missing piece is damage, unless a segment that was
   read covers it.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.codecs.producer_state import decode_producer_snapshot, decode_transaction_index
from eosctl.codecs.record_batches import (
    HEADER,
    LENGTH_AT,
    MOST_BYTES,
    MOST_SKIPPED,
    WRONG_CRC,
    Batch,
    DamagedOffsets,
    MarkerType,
    begins_batch,
    claimed_length,
    decode_marker,
    decode_records,
    has_right_crc,
    iter_batches,
    next_batch,
)
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import ConfigError, Undecodable, Unsupported, UsageError, reason_of
from eosctl.files import CHECKPOINT, PRODUCER_STATE, open_file, read_bounded, read_content
from eosctl.late_pattern import late_pattern
from eosctl.model.audit import AuditPlan
from eosctl.model.names import TRANSACTION_LOG, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Record
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange, PartitionOffsets
from eosctl.model.tracing import AbortedTransaction, OpenTransaction, ProducerState
from eosctl.model.transaction_log import LogRecord
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem, LogSource

T = TypeVar("T")

# Checkpoint files of a broker's log directory: what it keeps about partitions beside their segments.
#
#     0                              version
#     2                              number of entries
#     orders 0 83                    topic, partition, offset
#     connect-offsets 0 86
#
# `cleaner-offset-checkpoint` has every partition that the log cleaner has cleaned, `log-start-offset-checkpoint` those
# whose log begins behind their first segment's first offset: DeleteRecords moved it.


CLEANER: Final = "cleaner-offset-checkpoint"
LOG_START: Final = "log-start-offset-checkpoint"
BEFORE_ENTRIES: Final = 2


def read_checkpoint(directory: Path, name: str) -> Mapping[TopicPartition, int]:
    """Partitions to their offsets; empty where the file is not there. Raises ConfigError where it is no checkpoint."""
    path = directory / name
    try:
        with open_file(path) as file:
            lines = read_bounded(file, CHECKPOINT).decode("utf-8").splitlines()[BEFORE_ENTRIES:]
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read {path}: it is not text") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {reason_of(error)}") from error
    return dict(_entry(line, path) for line in lines)


def _entry(line: str, path: Path) -> tuple[TopicPartition, int]:
    try:
        topic, partition, offset = line.split()
        return TopicPartition(topic, int(partition)), int(offset)
    except ValueError as error:
        raise ConfigError(f"{path} is no checkpoint: {line!r} is not TOPIC PARTITION OFFSET") from error


# A segment file of a partition, as it lies in a broker's log directory: no broker needed.
#
# The file is record batches one after the other.
#
# 1. A file that was allocated ahead (log.preallocate) ends in zeros.
# 2. The last segment may end within a batch: a broker crashed, a copy was cut, or a broker is writing. A broker that
#    starts cuts that off.
# 3. Anywhere else bytes that are no batch are damage: passed over up to the next batch, with the missing offsets.
# 4. Every CRC is checked, as a broker does when it starts after a crash.
# 5. A batch whose offsets are below those before it is none. Those that an earlier segment holds already are left out:
#    a cleaner that was interrupted while it replaced segments leaves both.


CHUNK: Final = 1 << 22
ZERO: Final = b"\0"
CUT_OFF: Final = "the batch is cut off"
DIRECTORY: Final = late_pattern(r"(?P<topic>.+)-(?P<partition>\d+)")


class SegmentGone(ConfigError):
    """The segment file is not there (any more)."""


def partition_of_segment(path: Path) -> TopicPartition | None:
    """The partition whose segment it is, by the name of its directory; None where that shows none."""
    match = DIRECTORY.fullmatch(path.absolute().parent.name)
    return None if match is None else TopicPartition(match["topic"], int(match["partition"]))


class SegmentBatches:
    """The batches of one segment file in offset order, and its damage, read once; memory does not grow with it.

    begins is the offset up to which earlier segments reach, ends the first one of the next segment, None for the last.
    most_batch_bytes is the memory limit for the records of one batch. next_offset is the offset after the last one
    read. cut_bytes counts the bytes at the end of the last segment that are no whole batch, with cut_reason (0 and
    empty until the end is reached).
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
            with open_file(self._path) as file:
                yield from self._items(file)
        except FileNotFoundError as error:
            raise SegmentGone(f"cannot read the segment {self._path}: it is not there") from error
        except OSError as error:
            raise ConfigError(f"cannot read the segment {self._path}: {reason_of(error)}") from error

    def _items(self, file: BinaryIO) -> Iterator[Batch | DamagedOffsets]:
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
        """True if it continues the batches before; raises Undecodable for an impossible one."""
        if not has_right_crc(batch.data):
            raise Undecodable(WRONG_CRC)
        first, behind = batch.header.base_offset, batch.header.next_offset
        if self.next_offset <= first < behind and first < self.next_offset + MOST_SKIPPED:
            self.next_offset = behind
            return True
        if self.next_offset == self._begins >= behind > first >= 0:
            return False
        raise Undecodable(f"offsets {first} to {behind - 1} after offset {self.next_offset - 1}")

    def _lies_there(self, file: BinaryIO, place: int, length: int) -> bool:
        """Whether the bytes that a batch claims to have are all there, and a batch, zeros or nothing follow them."""
        if place + length > os.fstat(file.fileno()).st_size:
            return False
        following = _read(file, place + length, HEADER.size)
        return not following.strip(ZERO) or begins_batch(following, 0, self.next_offset)

    def _next_batch(self, file: BinaryIO, place: int) -> int | None:
        """The place after damaged bytes where the next batch begins; None: nowhere in this file.

        Windows overlap by half. So a batch longer than half a chunk is found only by a correct length.
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

    def _damage(self, file: BinaryIO, place: int, behind: int | None, reason: str) -> Iterator[DamagedOffsets]:
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


def _read(file: BinaryIO, place: int, size: int) -> bytes:
    return os.pread(file.fileno(), size, place)


def _is_zero(file: BinaryIO, place: int) -> bool:
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
            raise self._undecodable(f"offset {batches.next_offset}: {batches.cut_reason}", A_SEGMENT)
        self.cut_bytes = batches.cut_bytes

    def _records(self, batch: Batch) -> list[Record]:
        try:
            return decode_records(batch)
        except Undecodable as error:
            raise self._undecodable(error.message) from error

    def _undecodable(self, what: str, hint: str | None = None) -> Undecodable:
        return Undecodable(f"{self._path}: {what}", hint=hint)


SEGMENT: Final = late_pattern(r"(?P<base>\d{20})\.log(?P<swap>\.swap)?")
A_SEGMENT: Final = "is it a segment? A broker's segment is a .log file in a partition's directory"
GONE: Final = "the segment file was deleted before it was read"
SHORTER: Final = "the last segment was truncated before it was read"
TOPIC_ID: Final = late_pattern(r"^topic_id:\s*(\S+)$", re.MULTILINE)


class PartitionSegments(Struct, frozen=True):
    """The segments of one partition, and the facts from their markers.

    cut_bytes counts the bytes at the end of the last one that are no whole batch. cleaned: it was compacted.
    most_batch_bytes is the memory limit for the records of one batch.
    """

    topic_partition: TopicPartition
    paths: tuple[Path, ...]
    topic_id: str | None
    log_start_offset: int
    last_stable_offset: int
    end_offset: int
    aborted: tuple[AbortedTransaction, ...]
    cut_bytes: int = 0
    cleaned: bool = False
    most_batch_bytes: int = MOST_BYTES


def find_segments(directories: Iterable[Path], topics: Sequence[str] = ()) -> Mapping[TopicPartition, tuple[Path, ...]]:
    """The segment files under log directories (or of single partitions' directories), by partition, in order.

    topics keeps only those. Raises UsageError where there is none, ConfigError for a directory that cannot be read.
    """
    found: dict[TopicPartition, dict[Path, list[Path]]] = {}
    for directory in directories:
        try:
            files = [path for pattern in ("*.log", "*.log.swap") for path in _under(directory, pattern)]
        except OSError as error:
            raise ConfigError(f"cannot read {directory}: {reason_of(error)}") from error
        for path in files:
            home = path.absolute().parent
            match = DIRECTORY.fullmatch(home.name)
            if SEGMENT.fullmatch(path.name) and match is not None and (not topics or match["topic"] in topics):
                place = TopicPartition(match["topic"], int(match["partition"]))
                found.setdefault(place, {}).setdefault(home, []).append(path)
    if not found:
        names = ", ".join(map(str, directories))
        raise UsageError(f"no segment of {', '.join(topics) or 'any topic'} in {names}", hint="DIR holds TOPIC-N/*.log")
    return {place: _longest(found[place].values()) for place in sorted(found)}


def _under(directory: Path, pattern: str) -> Iterator[Path]:
    yield from directory.glob(pattern)
    yield from directory.glob(f"*/{pattern}")


def _longest(logs: Iterable[Sequence[Path]]) -> tuple[Path, ...]:
    """Of the logs of one partition the one that reaches furthest, its segments in order."""
    return max((_in_order(paths) for paths in logs), key=_length)


def _in_order(paths: Iterable[Path]) -> tuple[Path, ...]:
    by_base = {_base(path): path for path in sorted(set(paths), reverse=True)}
    return tuple(by_base[base] for base in sorted(by_base))


def _length(paths: Sequence[Path]) -> tuple[int, int, int]:
    try:
        size = paths[-1].stat().st_size
    except FileNotFoundError:
        size = 0
    return _base(paths[-1]), size, -_base(paths[0])


def survey_segments(topic_partition: TopicPartition, paths: Sequence[Path]) -> PartitionSegments:
    """The first of the two ways through: bounds, and aborted transactions."""
    opened: dict[int, int] = {}
    aborted: list[AbortedTransaction] = []
    directory = paths[0].absolute().parent.parent
    start = max(_base(paths[0]), read_checkpoint(directory, LOG_START).get(topic_partition, 0))
    end = start
    log = _Log(paths)
    for item in log:
        if isinstance(item, DamagedOffsets):
            continue
        header = item.header
        end = header.next_offset
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
        start,
        max(start, min(opened.values(), default=end)),
        end,
        tuple(aborted),
        log.cut_bytes,
        topic_partition in read_checkpoint(directory, CLEANER),
    )


def _topic_id(directory: Path) -> str | None:
    try:
        with open_file(directory / "partition.metadata") as file:
            found = TOPIC_ID.search(read_bounded(file, CHECKPOINT).decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return None if found is None else found[1]


def read_segments(segments: PartitionSegments, offsets: OffsetRange) -> Iterator[LogItem]:
    aborted: dict[int, list[AbortedTransaction]] = {}
    for each in segments.aborted:
        aborted.setdefault(each.producer_id, []).append(each)
    log = _Log(_from(segments.paths, offsets.start), segments.end_offset, segments.most_batch_bytes)
    for item in log:
        last = item.next_offset - 1 if isinstance(item, DamagedOffsets) else item.header.last_offset
        if last < offsets.start:
            continue
        if isinstance(item, DamagedOffsets):
            if item.offset >= offsets.end:
                return
            start, end = max(item.offset, offsets.start), min(item.next_offset, offsets.end)
            yield DamagedOffsets(start, end, item.reason)
        elif last >= offsets.end:
            return
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
    match = SEGMENT.fullmatch(path.name)
    return 0 if match is None else int(match["base"])


def _marker(batch: Batch) -> ControlBatch | DamagedOffsets:
    try:
        return ControlBatch(batch, decode_marker(batch))
    except Undecodable as error:
        return DamagedOffsets(batch.header.base_offset, batch.header.next_offset, error.reason)


class _Log:
    """Batches and damages of segments that follow each other; end is the offset that they reached once, if known.

    cut_bytes counts the bytes of an incomplete batch at the end.
    """

    def __init__(self, paths: Sequence[Path], end: int | None = None, most_batch_bytes: int = MOST_BYTES) -> None:
        self._paths, self._end, self._most = paths, end, most_batch_bytes
        self.cut_bytes = 0

    def __iter__(self) -> Iterator[Batch | DamagedOffsets]:
        reached = 0
        bases: list[int | None] = [_base(path) for path in self._paths]
        for path, base, ends in zip(self._paths, bases, [*bases[1:], None], strict=True):
            segment = SegmentBatches(path, max(reached, base or 0), ends, self._most)
            try:
                yield from segment
            except SegmentGone:
                reached, gone = max(reached, base or 0), self._end if ends is None else ends
                if gone is not None and reached < gone:
                    yield DamagedOffsets(reached, gone, GONE)
                    reached = gone
            else:
                reached, self.cut_bytes = max(reached, segment.next_offset), segment.cut_bytes
        if self._end is not None and reached < self._end:
            yield DamagedOffsets(reached, self._end, SHORTER)


# A broker's files about a partition's producers, next to its segments.
#
# 1. A segment without aborted transactions has no transaction index, or an empty one. So where an index is missing, the
#    offset index or the time index of the segment, which every segment has, must show that indexes were copied at all.
# 2. A broker writes a producer snapshot when it begins a segment and when it stops, and later batches are in the
#    segments. It starts from the last one that is not beyond the end of the log.
# 3. Compaction removes an abort marker later than its data, so there a marker without its entry proves nothing.


SNAPSHOT: Final = late_pattern(r"(?P<offset>\d{20})\.snapshot")


def read_producer_state(segments: PartitionSegments) -> ProducerState:
    """Raises Undecodable for a damaged file, ConfigError for one that cannot be read."""
    aborted = _or_unknown(lambda: _indexed(segments))
    within = range(segments.log_start_offset, segments.end_offset + 1)
    found = {each.offset: each.path for each in _snapshots(segments) if each.offset in within}
    last = max(found, default=None)
    known = frozenset() if isinstance(aborted, Skipped) else {(each.producer_id, each.marker) for each in aborted}
    is_known = not isinstance(aborted, Skipped) and not segments.cleaned
    return ProducerState(
        segments.topic_partition,
        aborted,
        tuple(each for each in segments.aborted if is_known and (each.producer_id, each.marker) not in known),
        _or_unknown(lambda: _opened(segments, last, None if last is None else found[last])),
        last,
    )


def _or_unknown(read: Callable[[], T | Skipped]) -> T | Skipped:
    """Another version of a file makes its content unknown; damage is an error."""
    try:
        return read()
    except Unsupported as error:
        return Skipped.of(error)


def _indexed(segments: PartitionSegments) -> tuple[AbortedTransaction, ...] | Skipped:
    found: list[AbortedTransaction] = []
    for path in segments.paths:
        index = _beside(path, "txnindex")
        if index.exists():
            base = _base(path)
            entries = _decoded(index, partial(decode_transaction_index, base_offset=base))
            found += [AbortedTransaction(*each[:3]) for each in entries]
        elif not any(_beside(path, other).exists() for other in ("index", "timeindex")):
            return Skipped(f"segment {path} has no index files")
    return tuple(each for each in found if each.marker >= segments.log_start_offset)


def _beside(segment: Path, suffix: str) -> Path:
    return segment.with_name(segment.name.replace(".log", f".{suffix}", 1))


class _Snapshot(NamedTuple):
    offset: int
    path: Path


def _snapshots(segments: PartitionSegments) -> list[_Snapshot]:
    paths = segments.paths[0].absolute().parent.glob("*.snapshot")
    return [_Snapshot(int(match["offset"]), path) for path in paths if (match := SNAPSHOT.fullmatch(path.name))]


def _opened(
    segments: PartitionSegments, start: int | None, snapshot: Path | None
) -> tuple[OpenTransaction, ...] | Skipped:
    """By the snapshot of the producers before start, and the segments from there on."""
    found: dict[int, OpenTransaction] = {}
    if snapshot is None and segments.log_start_offset > 0:
        return Skipped("no producer snapshot is there, and the log starts behind its first offset")
    for each in () if snapshot is None else _decoded(snapshot, decode_producer_snapshot):
        if each.transaction_start_offset is not None:
            found[each.producer.producer_id] = OpenTransaction(each.producer, each.transaction_start_offset)
    place, begin = segments.topic_partition, segments.log_start_offset if start is None else start
    for item in read_segments(segments, OffsetRange(*_name(place), begin, segments.end_offset, settled=False)):
        if isinstance(item, DamagedOffsets):
            return Skipped(f"offsets {item.offset} to {item.next_offset - 1} are damaged: {item.reason}")
        header = item.batch.header
        if isinstance(item, ControlBatch) and item.marker is not None:
            found.pop(header.producer_id, None)
        elif isinstance(item, DataBatch) and header.is_transactional:
            producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
            found.setdefault(header.producer_id, OpenTransaction(producer, header.base_offset))
    return tuple(sorted(found.values(), key=lambda each: each.first))


def _decoded(path: Path, decode: Callable[[bytes], T]) -> T:
    """Errors of the codec, with the file's name."""
    try:
        return decode(read_content(path, PRODUCER_STATE))
    except (Undecodable, Unsupported) as error:
        raise type(error)(f"{path}: {error.message}") from error


def read_transaction_log_segments(partitions: Iterable[PartitionSegments]) -> Iterator[LogRecord]:
    """The records of these partitions of `__transaction_state`. Raises Undecodable for a record that is none of it."""
    for each in partitions:
        place = each.topic_partition
        whole = OffsetRange(place.topic, place.partition, each.log_start_offset, each.end_offset)
        for item in read_segments(each, whole):
            if isinstance(item, DataBatch):
                for record in decode_records(item.batch):
                    yield decode_log_record(place.partition, record)


@dataclass(frozen=True)
class SegmentSource(LogSource):
    segments: tuple[PartitionSegments, ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        mine = next(each for each in self.segments if each.topic_partition == offsets.topic_partition)
        return read_segments(mine, offsets)


class OpenSegments(Struct, frozen=True):
    segments: tuple[PartitionSegments, ...]

    def __call__(self) -> SegmentSource:
        return SegmentSource(self.segments)


class SegmentLog:
    """Partitions whose segments lie under log directories. Each is scanned once for its bounds."""

    def __init__(self, directories: Sequence[Path], most_batch_bytes: int) -> None:
        self._directories, self._most = directories, most_batch_bytes
        self._surveyed: dict[TopicPartition, PartitionSegments] = {}

    @cached_property
    def all(self) -> Mapping[TopicPartition, tuple[Path, ...]]:
        return find_segments(self._directories)

    def partitions(self, topic: str) -> Sequence[TopicPartition]:
        found = [each for each in self.all if each.topic == topic]
        if not found:
            raise UsageError(f"no segment of topic {topic} in {', '.join(map(str, self._directories))}")
        return found

    def bounds(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets]:
        return {place: self._bounds(place) for place in places}

    def _bounds(self, place: TopicPartition) -> PartitionOffsets:
        segments = self._segments(place)
        return PartitionOffsets(place, segments.log_start_offset, segments.last_stable_offset, segments.end_offset)

    def cut_bytes(self, place: TopicPartition) -> int:
        return self._segments(place).cut_bytes

    def read(self, offsets: OffsetRange) -> Iterator[LogItem]:
        return read_segments(self._segments(offsets.topic_partition), offsets)

    def offsets_at(
        self, places: Collection[TopicPartition], time_ms: int
    ) -> Mapping[TopicPartition, tuple[int, int] | None]:
        """By the batches' latest timestamps: the first record of the batch may be earlier."""
        return {place: self._offset_at(place, time_ms) for place in places}

    def _offset_at(self, place: TopicPartition, time_ms: int) -> tuple[int, int] | None:
        bounds = self._bounds(place)
        for item in self.read(
            OffsetRange(*_name(place), bounds.log_start_offset, bounds.high_watermark, settled=False)
        ):
            if isinstance(item, DataBatch) and item.batch.header.max_timestamp >= time_ms:
                return item.batch.header.base_offset, item.batch.header.max_timestamp
        return None

    def transaction_log(self) -> Iterator[LogRecord]:
        places = [each for each in self.all if each.topic == TRANSACTION_LOG]
        return read_transaction_log_segments([self._segments(each) for each in places])

    def producer_state(self, place: TopicPartition) -> ProducerState:
        return read_producer_state(self._segments(place))

    def _segments(self, place: TopicPartition) -> PartitionSegments:
        if place not in self.all:
            raise UsageError(f"no segment of {place} in {', '.join(map(str, self._directories))}")
        if place not in self._surveyed:
            self._surveyed[place] = replace(survey_segments(place, self.all[place]), most_batch_bytes=self._most)
        return self._surveyed[place]


def _name(place: TopicPartition) -> tuple[str, int]:
    return place.topic, place.partition
