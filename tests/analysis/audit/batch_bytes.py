"""Record batches of message format 2 as brokers keep them: data of any codec, markers, what compaction left."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from eosctl.codecs.record_batches import Codec, MarkerType

CRC_AT, ATTRIBUTES_AT, LAST_OFFSET_DELTA_AT = 17, 21, 23
CONTROL_BIT = 0x20


class Written(NamedTuple):
    """A record to be written; delta is its offset in the batch."""

    delta: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Writer(NamedTuple):
    """The producer in a batch's header."""

    producer_id: int = -1
    producer_epoch: int = -1
    transactional: bool = False


def data_batch(
    base_offset: int,
    records: Sequence[Written],
    writer: Writer,
    codec: Codec = Codec.NONE,
    last_delta: int | None = None,
    sequence: int = 0,
) -> bytes:
    """A data batch; last_delta is kept by compaction where the last records are gone, sequence is its base sequence."""
    builder = DefaultRecordBatchBuilder(
        2, int(codec), int(writer.transactional), writer.producer_id, writer.producer_epoch, sequence, 1 << 24
    )
    for delta, timestamp, key, value in records:
        builder.append(delta, timestamp, key, value, [])
    data = bytearray(builder.build())
    if last_delta is not None:
        struct.pack_into(">i", data, LAST_OFFSET_DELTA_AT, last_delta)
    return _finished(data, base_offset)


def marker_batch(offset: int, timestamp: int, kind: MarkerType, writer: Writer) -> bytes:
    """A control batch with the marker that ends a transaction."""
    builder = DefaultRecordBatchBuilder(2, 0, 1, writer.producer_id, writer.producer_epoch, -1, 1 << 10)
    builder.append(0, timestamp, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 3), [])
    data = bytearray(builder.build())
    (attributes,) = struct.unpack_from(">h", data, ATTRIBUTES_AT)
    struct.pack_into(">h", data, ATTRIBUTES_AT, attributes | CONTROL_BIT)
    return _finished(data, offset)


def damaged(data: bytes) -> bytes:
    """The batch with a flipped bit: its CRC does not match."""
    return data[:-1] + bytes([data[-1] ^ 0x40])


def _finished(data: bytearray, base_offset: int) -> bytes:
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">I", data, CRC_AT, calc_crc32c(bytes(data[ATTRIBUTES_AT:])))
    return bytes(data)
