"""Batches that are small on the wire and large in memory."""

import gzip
import struct
from functools import cache

import cramjam

from eosctl.codecs.compression import Codec

PACK = {
    Codec.GZIP: gzip.compress,
    Codec.SNAPPY: cramjam.snappy.compress_raw,
    Codec.LZ4: cramjam.lz4.compress,
    Codec.ZSTD: cramjam.zstd.compress,
}
RECORD = bytes([12, 0, 0, 0, 1, 1, 0])
"""The shortest one: six bytes behind its length, without key, value and headers."""


def batch(codec: Codec, records: bytes, count: int, *, offset: int = 0) -> bytes:
    """A batch whose header and CRC are right, whatever its records are."""
    from aiokafka.record.util import calc_crc32c

    packed = bytes(PACK[codec](records)) if codec else records
    rest = struct.pack(">hiqqqhii", codec, max(0, count - 1), 1, 1, -1, -1, -1, count) + packed
    return struct.pack(">qiibI", offset, len(rest) + 9, 0, 2, calc_crc32c(rest)) + rest


@cache
def of_zeros(codec: Codec, size: int = 1 << 27) -> bytes:
    """One record with a value of so many zeros."""
    return batch(codec, one_record(bytes(size)), 1)


def one_record(value: bytes) -> bytes:
    """A record without key, offset and timestamp."""
    body = bytes([0, 0, 0, 1]) + varint(len(value)) + value + b"\x00"
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    """A number, not negative, as records have it: zigzag, seven bits a byte."""
    number, out = number << 1, bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
