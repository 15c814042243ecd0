"""The records of a table's topic, read from ranges of offsets: each as an image with its position, ready for its row.

Another engine than the local one gives the records of a whole range as blocks by the bucket of their key. It leaves out
those that the next record of their key replaces for every point of the comparison: what is left leads to the same
answer (rule 2 of docs/source-audit.md).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from msgspec import Struct, msgpack

from eosctl.analysis.source_audit import RowReader, SeenByAll, Unusable
from eosctl.codecs.record_batches import DamagedOffsets, decode_entries
from eosctl.errors import Undecodable
from eosctl.model.audit import AuditPlan
from eosctl.model.source_audit import CapturedTable, Handling, SourcePosition
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import ControlBatch, LogSource

RECORDS_A_STEP: Final = 20_000
BUCKETS: Final = 256
"""Keys are divided into so many parts by a hash. One part at a time is compared in memory."""


class Later(IntEnum):
    """Facts about a key's records after the last one that counts.

    UNORDERED: the key has records in several partitions, and which one is the last is not known.
    """

    NONE = 0
    STREAMED = 1
    SNAPSHOT = 2
    UNORDERED = 3


class SourceRecord(Struct, array_like=True, gc=False):
    """A record of a key and its place in the topic; image None: the row was deleted.

    place, transaction and is_read are its position in the source's log (place None: it has none).
    """

    key: str
    image: bytes | None
    blanks: str
    partition: int
    offset: int
    place: int | None = None
    transaction: int | None = None
    is_read: bool | int | None = None
    is_later: int = Later.NONE

    @property
    def position(self) -> SourcePosition | None:
        return None if self.place is None else SourcePosition(self.place, self.transaction, bool(self.is_read))

    def without_row(self, is_later: Later) -> "SourceRecord":
        """Only its place in the topic, and what is known of later ones."""
        return SourceRecord(self.key, None, "0", self.partition, self.offset, is_later=is_later)


class RecordFacts(NamedTuple):
    """What was read of a partition up to the offset `end`, besides the records: those that are no row's, by the reason,
    the highest position of a streamed change, and whether a record of a row had no position."""

    partition: int
    end: int
    unusable: Mapping[str, int]
    highest: int
    is_without_position: bool

    def and_then(self, later: "RecordFacts") -> "RecordFacts":
        unusable = {
            each: self.unusable.get(each, 0) + later.unusable.get(each, 0)
            for each in dict.fromkeys((*self.unusable, *later.unusable))
        }
        is_without = self.is_without_position or later.is_without_position
        return RecordFacts(self.partition, later.end, unusable, max(self.highest, later.highest), is_without)


def read_records(
    reader: RowReader, source: LogSource, plan: AuditPlan, offsets: OffsetRange
) -> Iterator[tuple[list[SourceRecord], RecordFacts]]:
    """The committed records of the range, in steps. Raises Undecodable for damaged batches."""
    waiting: list[tuple[int, bytes | None, bytes | None]] = []
    for item in source.read(plan, offsets):
        if isinstance(item, DamagedOffsets):
            raise Undecodable(item.reason, topic=offsets.topic, partition=offsets.partition, offset=item.offset)
        if isinstance(item, ControlBatch) or item.aborted:
            continue
        entries = decode_entries(item.batch, topic_partition=offsets.topic_partition)
        waiting.extend((each.offset, each.key, each.value) for each in entries)
        if len(waiting) >= RECORDS_A_STEP:
            yield _read(reader, offsets.partition, waiting, item.batch.header.next_offset)
            waiting = []
    yield _read(reader, offsets.partition, waiting, offsets.end)


def _read(
    reader: RowReader, partition: int, records: Sequence[tuple[int, bytes | None, bytes | None]], end: int
) -> tuple[list[SourceRecord], RecordFacts]:
    read: list[SourceRecord] = []
    unusable: dict[str, int] = {}
    highest, is_without = 0, False
    images = reader.records([(key, value) for _, key, value in records])
    for (offset, _, _), each in zip(records, images, strict=True):
        if isinstance(each, Unusable):
            unusable[str(each)] = unusable.get(str(each), 0) + 1
            continue
        key, image, blanks, position = each
        if position is None:
            is_without = is_without or image is not None
            read.append(SourceRecord(key, image, blanks, partition, offset))
            continue
        if not position.is_read and position.order > highest:
            highest = position.order
        read.append(SourceRecord(key, image, blanks, partition, offset, *position))
    return read, RecordFacts(partition, end, unusable, highest, is_without)


# -- blocks ------------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """What was read of the keys of one bucket, encoded, in the order of reading."""

    bucket: int
    content: bytes


def key_hash(key: str) -> int:
    return crc32(key.encode(errors="surrogatepass"))


class Keyed(Protocol):
    """A row or record of a key."""

    key: str


def blocks_of(keyed: Iterable[Keyed], first: int = 0) -> Iterator[Block]:
    """One for each bucket from `first` on that has any of them."""
    parts: list[list[Keyed]] = [[] for _ in range(BUCKETS)]
    for each in keyed:
        parts[key_hash(each.key) % BUCKETS].append(each)
    encode = msgpack.Encoder().encode
    return (Block(number, encode(part)) for number, part in enumerate(parts) if part and number >= first)


# -- a range as a whole ------------------------------------------------------------------------------------------------


class RecordsAsked(NamedTuple):
    """The table and the handling by which records are read, and what all points of its rows saw."""

    table: CapturedTable
    handling: Handling
    seen_by_all: SeenByAll


class RangeRecords(NamedTuple):
    """The records of one range that count, and the facts about all of them."""

    blocks: Sequence[Block]
    facts: RecordFacts


ReadApart = Callable[[AuditPlan, RecordsAsked, Sequence[OffsetRange], Callable[[int], None]], Iterator[RangeRecords]]
"""Reads ranges elsewhere, and gives each, in their order; meanwhile it says of how many offsets more it has read."""


def range_records(
    asked: RecordsAsked, reader: RowReader, source: LogSource, plan: AuditPlan, offsets: OffsetRange
) -> RangeRecords:
    last: dict[str, list[SourceRecord]] = {}
    facts = RecordFacts(offsets.partition, offsets.start, {}, 0, is_without_position=False)
    for records, more in read_records(reader, source, plan, offsets):
        facts = facts.and_then(more)
        for each in records:
            before = last.setdefault(each.key, [])
            if before and _replaces(each, before[-1], asked.seen_by_all):
                before[-1] = each
            else:
                before.append(each)
    return RangeRecords(tuple(blocks_of(chain.from_iterable(last.values()))), facts)


def _replaces(record: SourceRecord, before: SourceRecord, seen: SeenByAll) -> bool:
    """Whether every row's answer is the same without the record before this one, which is in the same partition.

    Both were seen by all points, in the order of their changes; or none has a position, and this one is no tombstone,
    which belongs to the record before it.
    """
    position, earlier = record.position, before.position
    if position is None or earlier is None:
        return position is earlier and record.image is not None
    return earlier.order <= position.order and seen.has(earlier) and seen.has(position)
