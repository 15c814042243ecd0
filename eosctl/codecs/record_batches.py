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

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple, TypeVar

from eosctl.errors import ConfigError, Undecodable
from eosctl.model.client_properties import MOST_BATCH_BYTES, ClientProperties
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Entry, Record, RecordState, Shown

# The compressed records of a batch, unpacked into a buffer that never grows beyond a limit.
#
# Compressed data states its size, but that is not trusted: 8 kB of zstd may become 1 GB. A buffer is offered to
# the library, which stops where it is full; then a larger one is, up to the limit.
#
#     gzip    RFC 1952, one member or several
#     snappy  one raw block; or, as Java writes it, 16 bytes of header and then blocks: int32 length, raw block
#     lz4     the frame format
#     zstd    frames


XERIAL: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = 16
BLOCK_LENGTH: Final = Struct(">i")
SNAPPY_AT_MOST: Final = 22
"""Three bytes of raw snappy stand for 64 at most."""

FIRST_GUESS: Final = 8
NEXT_GUESS: Final = 8
SMALLEST: Final = 1 << 12
GZIP: Final = 31
GZIP_STEP: Final = 1 << 13
OUT_OF_ROOM: Final = "failed to write whole buffer"


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TooLargeError(Exception):
    """The records would take more bytes than they may."""


def _gunzip(packed: memoryview, lead: int, most: int) -> bytearray:
    out, member = bytearray(lead), zlib.decompressobj(GZIP)
    for place in range(0, len(packed), GZIP_STEP):
        rest = bytes(packed[place : place + GZIP_STEP])
        while rest:
            if member.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                member = zlib.decompressobj(GZIP)
            out += member.decompress(rest, lead + most + 1 - len(out))
            if len(out) > lead + most:
                raise TooLargeError
            rest = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise EOFError("the gzip data is cut")
    return out


def _unsnappy(packed: memoryview, lead: int, most: int) -> bytearray:
    out = bytearray(lead)
    if bytes(packed[: len(XERIAL)]) != XERIAL:
        _add_block(out, packed, lead + most)
        return out
    place = XERIAL_HEADER
    while place < len(packed):
        (length,) = BLOCK_LENGTH.unpack_from(packed, place)
        place += BLOCK_LENGTH.size
        if not 0 < length <= len(packed) - place:
            raise ValueError(f"a block of {length} bytes")
        _add_block(out, packed[place : place + length], lead + most)
        place += length
    return out


def _add_block(out: bytearray, block: memoryview, most: int) -> None:
    import cramjam

    begin, claimed = len(out), cramjam.snappy.decompress_raw_len(block)
    if begin + claimed > most:
        raise TooLargeError
    out += bytes(min(claimed, SNAPPY_AT_MOST * len(block)))
    with memoryview(out) as view:
        cramjam.snappy.decompress_raw_into(block, view[begin:])


def _unpack_growing(unpack_into: Callable[..., int], packed: memoryview, lead: int, most: int) -> bytearray:
    """A buffer of the right size, found by trying: data that is damaged fails in the largest one, too."""
    size = min(most, max(SMALLEST, FIRST_GUESS * len(packed)))
    while True:
        out = bytearray(lead + size)
        try:
            with memoryview(out) as view:
                count = unpack_into(packed, view[lead:])
        except Exception as error:
            if size >= most and OUT_OF_ROOM in str(error):
                raise TooLargeError from error
            if size >= most:
                raise
            size = min(most, size * NEXT_GUESS)
            continue
        del out[lead + count :]
        return out


def _unlz4(packed: memoryview, lead: int, most: int) -> bytearray:
    import cramjam

    return _unpack_growing(cramjam.lz4.decompress_into, packed, lead, most)


def _unzstd(packed: memoryview, lead: int, most: int) -> bytearray:
    import cramjam

    return _unpack_growing(cramjam.zstd.decompress_into, packed, lead, most)


_BY_CODEC: Final = (None, _gunzip, _unsnappy, _unlz4, _unzstd)


def unpack(codec: int, packed: memoryview, lead: int, most: int) -> bytearray:
    """The unpacked bytes, at most `most`, after `lead` bytes for the caller to fill.

    Raises TooLargeError, and the libraries' errors for damaged data. NONE is not packed.
    """
    of_codec = _BY_CODEC[codec]
    assert of_codec is not None
    return of_codec(packed, lead, most)


# The memory that the unpacked records of one batch may take.  `eosctl.batch.max.bytes` among the client properties sets
# it. Besides the bytes it counts RECORD_BYTES for each record: each is an object of a few hundred bytes, even if empty.


MOST_BYTES: Final = 1 << 26
RECORD_BYTES: Final = 256
RAISE_LIMIT: Final = f"if one of your producers wrote such a batch, give -X {MOST_BATCH_BYTES}=<bytes>"


def most_batch_bytes(properties: ClientProperties) -> int:
    """The limit that the properties set, in bytes, otherwise MOST_BYTES. Raises ConfigError if it is no number."""
    given = properties.get(MOST_BATCH_BYTES)
    if given is None:
        return MOST_BYTES
    if not given.isascii() or not given.isdigit() or not 0 < len(given) < 16 or not int(given):
        raise ConfigError(
            f"{properties.origin(MOST_BATCH_BYTES)}: {MOST_BATCH_BYTES}={given} is no number of bytes",
            hint=f"give a whole number from 1 on, such as {MOST_BYTES}",
        )
    return int(given)


# CRC-32C (Castagnoli), which covers a record batch from its attributes to its end.


Bytes = bytes | bytearray | memoryview

PIECE: Final = 1 << 16
"""Bytes that are copied at a time for the library, which takes no view: so many stay in the processor's cache."""


@cache
def crc32c() -> Callable[[Bytes], int]:
    """The fastest one that is installed: several GB/s where it is the processor's own instruction."""
    with warnings.catch_warnings(action="ignore"):
        import google_crc32c
    if google_crc32c.implementation == "c":
        return _piece_by_piece(google_crc32c.value, google_crc32c.extend)
    # Without a wheel for the platform that one is a loop in Python; this one is always in C.
    from aiokafka.record.util import calc_crc32c

    slower: Callable[[Bytes], int] = calc_crc32c
    return slower


def _piece_by_piece(value: Callable[[bytes], int], extend: Callable[[int, bytes], int]) -> Callable[[Bytes], int]:
    def compute(data: Bytes) -> int:
        found = value(bytes(data[:PIECE]))
        for at in range(PIECE, len(data), PIECE):
            found = extend(found, bytes(data[at : at + PIECE]))
        return found

    return compute


FIRST: Final = 1 << 16
"""Bytes whose CRC takes aiokafka 0.1 ms: the fastest library takes 2 ms to be imported."""


class FewThenMany:
    """CRC-32C of the first bytes by aiokafka's decoder in C, which has one and is imported anyway, then by crc32c."""

    def __init__(self) -> None:
        self._left = FIRST
        try:
            from aiokafka.record._crecords.cutil import crc32c_cython
        except ImportError:
            crc32c_cython = crc32c()
        self._compute: Callable[[Bytes], int] = crc32c_cython

    def __call__(self, data: Bytes) -> int:
        if self._left > 0:
            self._left -= len(data)
            if self._left <= 0:
                self._compute = crc32c()
        return self._compute(data)


_batch_crc: Final = cache(FewThenMany)


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
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_transactional(self) -> bool:
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
    offset: int
    next_offset: int
    reason: str


class MarkerType(IntEnum):
    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """The control record that ends a producer's transaction in this partition.

    Under transaction.version 2 (KIP-890) producer_epoch is one more than the epoch of the transaction's data.
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
    """aiokafka's decoder in C; if it was not built, the decoder of default_records, which imports asyncio and more."""
    try:
        from aiokafka.record._crecords import DefaultRecordBatch
    except ImportError:
        from aiokafka.record.default_records import DefaultRecordBatch
    return DefaultRecordBatch


def has_right_crc(data: Bytes) -> bool:
    """True if the CRC of a whole batch matches; it covers all bytes after it."""
    stated: int = CRC.unpack_from(data, CRC_AT)[0]
    return _batch_crc()(memoryview(data)[CRC_AT + CRC.size :]) == stated


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

    Raises Undecodable for a wrong CRC, an unknown codec, data that does not decompress, records beyond the memory limit
    and records that do not add up; a batch with one bad record yields none.
    """
    header = batch.header
    transactional, producer_id, epoch = header.is_transactional, header.producer_id, header.producer_epoch
    new = tuple.__new__
    return [
        new(Record, (r.offset, r.timestamp, r.key, r.value, state, transactional, producer_id, epoch))
        for r in decode_entries(batch, check_crc=check_crc, topic_partition=topic_partition)
    ]


def iter_entries(batch: Batch) -> Iterator[Entry]:
    """The records of decode_entries one by one, which is faster; an inconsistent one raises anything at its turn."""
    return _checked(batch, lambda data: iter(_decoder()(data)))


def give_entries(
    batch: Batch, take: Callable[[Iterator[Entry]], object], *, topic_partition: TopicPartition | None = None
) -> None:
    """Has `take` go through the records of decode_entries once, which is faster than to make a list of them.

    Raises as decode_records does; of a batch with a damaged record `take` was given those before it.
    """
    _checked(batch, lambda data: take(iter(_decoder()(data))), place=topic_partition)


def decode_entries(
    batch: Batch, *, check_crc: bool = True, topic_partition: TopicPartition | None = None
) -> list[Entry]:
    """The records of a batch as the decoder gives them: for who keeps few of many. Raises as decode_records does."""
    return _checked(batch, lambda data: list(_decoder()(data)), check_crc, topic_partition)


def decode_entries_with(batch: Batch, words: Sequence[bytes]) -> list[Any] | None:
    """The records of a batch, with headers, if any of the words is in its bytes. Raises as decode_records does."""

    def take(data: Bytes) -> list[Any] | None:
        whole = bytes(data)
        return list(_decoder()(whole)) if any(word in whole for word in words) else None

    return _checked(batch, take)


def plain_records(batch: Batch) -> memoryview:
    """The bytes of a batch's records, uncompressed. Raises as decode_records does, but looks at no record."""
    return _checked(batch, lambda data: memoryview(data)[SHORTEST_BATCH:])


def _checked(
    batch: Batch, take: Callable[[Bytes], Taken], check_crc: bool = True, place: TopicPartition | None = None
) -> Taken:
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

    Also None for a batch without records: the log cleaner keeps one in place of a producer's last marker, so that the
    producer's epoch stays known (RETAIN_EMPTY).
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
    # As if it were not compressed; its length and CRC still describe the compressed one.
    whole = unpack(codec, batch.data[SHORTEST_BATCH:], SHORTEST_BATCH, room)
    whole[:SHORTEST_BATCH] = batch.data[:SHORTEST_BATCH]
    whole[CODEC_AT] &= ~CODEC_MASK
    return whole


def _reason(error: BaseException, most_bytes: int) -> str:
    if isinstance(error, TooLargeError):
        return f"its records take more than {most_bytes} bytes once they are unpacked ({MOST_BATCH_BYTES})"
    return error.reason if isinstance(error, Undecodable) else "its records cannot be decoded"


MOST_SKIPPED: Final = 1 << 31  # a segment's indexes have 32 bits for an offset


def claimed_length(data: Bytes, place: int = 0) -> int:
    """The length of the batch at `place` by its length field; 0 if there is none, or no plausible one."""
    there = len(data) - place >= BEFORE_LENGTH_COUNTS
    length = BEFORE_LENGTH_COUNTS + int(LENGTH.unpack_from(data, place + LENGTH_AT)[0]) if there else 0
    return length if length >= SHORTEST_BATCH else 0


def begins_batch(data: Bytes, place: int, offset: int) -> bool:
    """True if a plausible header lies at `place`, of a batch whose offsets are not below `offset`."""
    if len(data) < place + SHORTEST_BATCH:
        return False
    header = BatchHeader._make(HEADER.unpack_from(data, place))
    near = offset <= header.base_offset < offset + MOST_SKIPPED
    counts = header.batch_length - SHORTEST_BATCH + BEFORE_LENGTH_COUNTS, header.last_offset_delta, header.record_count
    return header.magic == MAGIC and near and min(counts) >= 0


def next_batch(data: bytes, place: int, offset: int) -> int | None:
    """The place after `place`, whose bytes are no batch, where a batch without offsets below `offset` begins; None:
    nowhere.

    1. After the length that the damaged batch claims, if the bytes there look like a batch.
    2. Otherwise at the first place where a whole batch lies whose CRC matches.
    """
    claimed = claimed_length(data, place)
    if claimed and begins_batch(data, place + claimed, offset):
        return place + claimed
    magic = data.find(MAGIC, place + 1 + MAGIC_AT)
    while magic >= 0:
        place = magic - MAGIC_AT
        behind = place + claimed_length(data, place)
        if begins_batch(data, place, offset) and behind <= len(data) and has_right_crc(data[place:behind]):
            return place
        magic = data.find(MAGIC, magic + 1)
    return None


def decode_shown(
    records: bytes | None, aborted: Iterable[tuple[int, int]], offset: int, producer: ProducerIdAndEpoch
) -> Shown:
    """The state of the record of `producer` at `offset` for a read_committed consumer; the Fetch began there.

    aborted are the producer ID and first offset of each transaction that the answer names as aborted: a client skips
    that producer's records from there up to its marker (KIP-98). Raises Undecodable.
    """
    data = (each.header for each in iter_batches(records or b"") if not each.header.is_control)
    if not any(each.base_offset <= offset <= each.last_offset for each in data):
        return Shown.NOT_RETURNED
    named = any(producer_id == producer.producer_id and first <= offset for producer_id, first in aborted)
    return Shown.NAMED_ABORTED if named else Shown.RETURNED


def decode_ending(records: bytes | None, offset: int, producer: ProducerIdAndEpoch) -> str | None:
    """COMMIT or ABORT, by the first marker of the producer after `offset`; None if there is none."""
    for batch in iter_batches(records or b""):
        if batch.header.is_control and batch.header.base_offset > offset:
            marker = decode_marker(batch)
            if marker is not None and marker.producer_id == producer.producer_id:
                return marker.type.name
    return None


def encode_transactional_batch(
    producer: ProducerIdAndEpoch, sequence: int, timestamp: int, key: bytes, value: bytes
) -> bytes:
    """The batch with one record of `producer`: timestamp in ms, `sequence` its number in this epoch, from 0."""
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=True,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=sequence,
        batch_size=1 << 10,
    )
    builder.append(0, timestamp=timestamp, key=key, value=value, headers=[])
    return bytes(builder.build())
