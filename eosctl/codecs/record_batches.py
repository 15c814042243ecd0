"""Record batches of message format 2 (KIP-98), as they lie in a log and in the answer to a Fetch.

    baseOffset            int64    offset of the first record
    batchLength           int32    bytes after this field
    partitionLeaderEpoch  int32
    magic                 int8     2
    crc                   uint32   CRC-32C of all that follows
    attributes            int16    bits 0-2 codec (none, gzip, snappy, lz4, zstd), 3 timestamp is log append time,
                                   4 transactional, 5 control, 6 baseTimestamp is the delete horizon (KIP-534)
    lastOffsetDelta       int32    kept by compaction, so it may point past the last record that is left
    baseTimestamp         int64    ms; -1 where compaction removed all records
    maxTimestamp          int64    ms
    producerId            int64    -1 without idempotence
    producerEpoch         int16
    baseSequence          int32
    records               int32 count, then the records, compressed as one block

A control batch holds one record; its key is int16 version, int16 type (0 ABORT, 1 COMMIT), its value int16 version,
int32 coordinator epoch.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple, TypeVar

from eosctl.codecs.batch_limits import MOST_BYTES, RAISE_LIMIT, RECORD_BYTES
from eosctl.codecs.compression import Codec, TooLargeError, unpack
from eosctl.codecs.crc32c import crc32c
from eosctl.errors import Undecodable
from eosctl.model.client_keys import MOST_BATCH_BYTES
from eosctl.model.names import TopicPartition
from eosctl.model.records import Entry, Record, RecordState

Taken = TypeVar("Taken")

HEADER: Final = Struct(">qiibIhiqqqhii")
LENGTH: Final = Struct(">i")
CRC: Final = Struct(">I")
CONTROL_KEY: Final = Struct(">hh")
CONTROL_VALUE: Final = Struct(">hi")

LENGTH_AT: Final = 8
MAGIC_AT: Final = 16
CRC_AT: Final = 17
BEFORE_LENGTH_COUNTS: Final = 12
SHORTEST_BATCH: Final = HEADER.size
MAGIC: Final = 2
WRONG_CRC: Final = "CRC does not match"

CODEC_AT: Final = 22
CODEC_MASK: Final = 0x07
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20

Bytes = bytes | bytearray | memoryview


class BatchHeader(NamedTuple):
    """The header of one batch; fields in the order of the bytes."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The last offset that the batch stands for."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Where the next batch may begin."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction (data and markers alike)."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether the batch holds a control record, which consumers never see."""
        return bool(self.attributes & CONTROL_BIT)


class Batch(NamedTuple):
    """One whole batch: its header and all its bytes, header included (a view into the fetched bytes).

    most_bytes is how much memory its records may take once they are unpacked.
    """

    header: BatchHeader
    data: memoryview
    most_bytes: int = MOST_BYTES


class DamagedOffsets(NamedTuple):
    """Offsets [offset, next_offset) that could not be read, and why."""

    offset: int
    next_offset: int
    reason: str


class MarkerType(IntEnum):
    """Type of an end-transaction marker as the control record's key has it."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """The control record that ends a producer's transaction in this partition.

    Under transaction.version 2 (KIP-890) producer_epoch is one more than that of the transaction's data.
    """

    offset: int
    timestamp: int
    type: MarkerType
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


def iter_batches(
    data: Bytes, *, topic_partition: TopicPartition | None = None, most_bytes: int = MOST_BYTES
) -> Iterator[Batch]:
    """The whole batches in `data`, in order; a batch cut off at the end (Fetch answers end so) is left out.

    Raises Undecodable for a length that no batch has and for message formats 0 and 1 (before Kafka 0.11).
    """
    view = memoryview(data)
    place, end = 0, len(view)
    unpack, length_of, make = HEADER.unpack_from, LENGTH.unpack_from, BatchHeader._make
    while end - place > MAGIC_AT:
        stop = place + BEFORE_LENGTH_COUNTS + length_of(view, place + LENGTH_AT)[0]
        if view[place + MAGIC_AT] != MAGIC or stop - place < SHORTEST_BATCH:
            raise _not_a_batch(view, place, topic_partition)
        if stop > end:
            return
        yield Batch(make(unpack(view, place)), view[place:stop], most_bytes)
        place = stop


@cache
def _decoder() -> Any:  # noqa: ANN401  # the library is untyped
    """aiokafka's decoder in C; where it was not built, what default_records has, which imports asyncio and more."""
    try:
        from aiokafka.record._crecords import DefaultRecordBatch
    except ImportError:
        from aiokafka.record.default_records import DefaultRecordBatch
    return DefaultRecordBatch


def has_right_crc(data: Bytes) -> bool:
    """Whether the CRC of a whole batch matches; it covers all that lies behind it."""
    stated: int = CRC.unpack_from(data, CRC_AT)[0]
    return crc32c()(bytes(memoryview(data)[CRC_AT + CRC.size :])) == stated


def _not_a_batch(view: memoryview, place: int, topic_partition: TopicPartition | None) -> Undecodable:
    offset = int.from_bytes(view[place : place + LENGTH_AT], "big", signed=True)
    magic = view[place + MAGIC_AT]
    if magic in {0, 1}:
        return _undecodable(f"message format {magic}, older than Kafka 0.11, is not read", offset, topic_partition)
    return _undecodable(f"not a record batch (magic {magic})", offset, topic_partition)


def _undecodable(reason: str, offset: int, place: TopicPartition | None, hint: str | None = None) -> Undecodable:
    if place is None:
        return Undecodable(f"offset {offset}: {reason}", offset=offset, hint=hint)
    return Undecodable(reason, topic=place.topic, partition=place.partition, offset=offset, hint=hint)


def decode_records(
    batch: Batch,
    *,
    state: RecordState = RecordState.COMMITTED,
    check_crc: bool = True,
    topic_partition: TopicPartition | None = None,
) -> list[Record]:
    """The records of a data batch in offset order, all in transaction state `state`.

    Raises Undecodable for a wrong CRC, an unknown codec, data that does not decompress, records that take more memory
    than they may and records that do not add up; a batch with one bad record gives none.
    """
    header = batch.header
    transactional, producer_id, epoch = header.is_transactional, header.producer_id, header.producer_epoch
    new = tuple.__new__
    return [
        new(Record, (r.offset, r.timestamp, r.key, r.value, state, transactional, producer_id, epoch))
        for r in decode_entries(batch, check_crc=check_crc, topic_partition=topic_partition)
    ]


def iter_entries(batch: Batch) -> Iterator[Entry]:
    """Those of decode_entries one by one, which is faster; what does not add up raises anything when it is its turn."""
    return _checked(batch, lambda data: iter(_decoder()(data)))


def decode_entries(
    batch: Batch, *, check_crc: bool = True, topic_partition: TopicPartition | None = None
) -> list[Entry]:
    """The records of a batch as the decoder gives them: for who keeps few of many. Raises as decode_records does."""
    return _checked(batch, lambda data: list(_decoder()(data)), check_crc, topic_partition)


def plain_records(batch: Batch) -> memoryview:
    """The bytes of a batch's records, uncompressed. Raises as decode_records does, but looks at no record."""
    return _checked(batch, lambda data: memoryview(data)[SHORTEST_BATCH:])


def _checked(
    batch: Batch, take: Callable[[Bytes], Taken], check_crc: bool = True, place: TopicPartition | None = None
) -> Taken:
    """What `take` makes of a sound batch."""
    try:
        return take(_plain(batch, check_crc))
    except (KeyboardInterrupt, SystemExit, ImportError):  # a library that is missing is no damage
        raise
    except BaseException as error:
        reason, hint = _reason(error, batch.most_bytes), RAISE_LIMIT if isinstance(error, TooLargeError) else None
        raise _undecodable(reason, batch.header.base_offset, place, hint) from error


def decode_marker(
    batch: Batch, *, check_crc: bool = True, topic_partition: TopicPartition | None = None
) -> EndTransactionMarker | None:
    """The end-transaction marker in a control batch; None for control records of other types. Raises Undecodable.

    None too for a batch without records: the log cleaner leaves one where a marker was the last that its producer
    wrote, so that the producer's epoch stays known (RETAIN_EMPTY).
    """
    header = batch.header
    records = decode_records(batch, check_crc=check_crc, topic_partition=topic_partition)
    if not records:
        return None
    try:
        record = records[0]
        _, kind = CONTROL_KEY.unpack_from(record.key or b"")
        if kind not in (MarkerType.ABORT, MarkerType.COMMIT):
            return None
        _, coordinator_epoch = CONTROL_VALUE.unpack_from(record.value or b"")
    except StructError as error:
        raise _undecodable("control batch without a control record", header.base_offset, topic_partition) from error
    return EndTransactionMarker(
        record.offset, record.timestamp, MarkerType(kind), header.producer_id, header.producer_epoch, coordinator_epoch
    )


def _plain(batch: Batch, check_crc: bool) -> Bytes:
    header = batch.header
    codec = header.attributes & CODEC_MASK
    if codec > Codec.ZSTD:
        raise Undecodable(f"unknown codec {codec}")
    if check_crc and not has_right_crc(batch.data):
        raise Undecodable(WRONG_CRC)
    count = header.record_count
    room = batch.most_bytes - (RECORD_BYTES * count if count > 0 else 0)
    if room < (0 if codec else len(batch.data)):
        raise TooLargeError
    if not codec:
        return batch.data
    # As if it were not compressed; its length and CRC are still those of the compressed one.
    whole = unpack(codec, batch.data[SHORTEST_BATCH:], SHORTEST_BATCH, room)
    whole[:SHORTEST_BATCH] = batch.data[:SHORTEST_BATCH]
    whole[CODEC_AT] &= ~CODEC_MASK
    return whole


def _reason(error: BaseException, most_bytes: int) -> str:
    if isinstance(error, TooLargeError):
        return f"its records take more than {most_bytes} bytes once they are unpacked ({MOST_BATCH_BYTES})"
    return error.reason if isinstance(error, Undecodable) else "its records cannot be decoded"
