"""A broker's log directory as what an audit reads from: partitions' segment files, without a broker.

    <topic>-<partition>/00000000000000000000.log       batches from that offset on
    <topic>-<partition>/00000000000000000000.log.swap  what a cleaner puts in the place of segments
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
7. A broker may go on writing, cleaning and deleting: what is gone when it is read is damage, unless a segment that was
   read covers it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from eosctl.codecs.batch_limits import MOST_BYTES
from eosctl.codecs.record_batches import Batch, DamagedOffsets, MarkerType, decode_marker, decode_records
from eosctl.codecs.transaction_log import decode_log_record
from eosctl.errors import ConfigError, Undecodable, UsageError
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.names import TopicPartition
from eosctl.model.transaction_log import LogRecord
from eosctl.sources.audit_log import ControlBatch, DataBatch, LogItem, LogSource
from eosctl.sources.log_checkpoints import CLEANER, LOG_START, read_checkpoint
from eosctl.sources.log_segment import DIRECTORY, SegmentBatches, SegmentGone

SEGMENT: Final = re.compile(r"(?P<base>\d{20})\.log(?P<swap>\.swap)?")
GONE: Final = "the segment file was deleted before it was read"
SHORTER: Final = "the last segment was truncated before it was read"
TOPIC_ID: Final = re.compile(r"^topic_id:\s*(\S+)$", re.MULTILINE)


class AbortedTransaction(NamedTuple):
    """A producer's data from `first` up to the abort marker at `marker`."""

    producer_id: int
    first: int
    marker: int


@dataclass(frozen=True, slots=True)
class PartitionSegments:
    """The segments of one partition, and what their markers say.

    cut_bytes is how many bytes at the end of the last one are no whole batch, cleaned whether it was ever compacted;
    most_batch_bytes is how much memory the records of one batch may take.
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
            raise ConfigError(f"cannot read {directory}: {error.strerror or error}") from error
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
    """Segments by their first offset; a `.swap` file only where there is no other of that offset."""
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
        found = TOPIC_ID.search((directory / "partition.metadata").read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if found is None else found[1]


def read_segments(segments: PartitionSegments, offsets: OffsetRange) -> Iterator[LogItem]:
    """Everything in the range, in offset order: the second way through."""
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

    cut_bytes is what is no whole batch at the end of the last one.
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
    """Reads the segments of the partitions that it was given."""

    segments: tuple[PartitionSegments, ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        mine = next(each for each in self.segments if each.topic_partition == offsets.topic_partition)
        return read_segments(mine, offsets)


@dataclass(frozen=True, slots=True)
class OpenSegments:
    """Opens a SegmentSource."""

    segments: tuple[PartitionSegments, ...]

    def __call__(self) -> SegmentSource:
        """A source of its own."""
        return SegmentSource(self.segments)
