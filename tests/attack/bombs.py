"""Batches that are small on the wire and large in memory."""

import gzip
import random
import struct
from functools import cache
from typing import Final, NamedTuple

import cramjam

from eosctl.codecs.record_batches import MOST_BYTES, RECORD_BYTES, SHORTEST_BATCH, Codec

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


class Bomb(NamedTuple):
    """A batch, its description, and whether its records cannot be read: too many, too large, or others."""

    data: bytes
    what: str
    is_refused: bool


THREE: Final = (b"one", b"two", b"three")


def any_bomb(offset: int, chance: random.Random) -> Bomb:
    """A batch at the offset that becomes large, or says what is not so of its records, or of the lengths in them."""
    codec, size = chance.choice(list(Codec)), 1 << chance.randint(20, 27)
    kind = chance.choice(["large", "many", "count", "length", "value", "packed"])
    whole = b"".join(map(one_record, THREE))
    if kind == "large":
        data, refused = batch(codec, one_record(bytes(size)), 1, offset=offset), size >= MOST_BYTES
    elif kind == "many":
        count = size >> 6
        data = batch(codec, RECORD * count, count, offset=offset)
        refused = count * (RECORD_BYTES + len(RECORD)) > MOST_BYTES
    elif kind == "count":
        count = chance.choice([0, 1, 2, 4, 1 << 20, (1 << 31) - 1, -1, -(1 << 31)])
        data, refused = batch(codec, whole, count, offset=offset), True
    elif kind == "length":
        length = chance.choice([0, 1, 8, 11, 1 << 20, (1 << 31) - 1, (1 << 62) - 1])
        data, refused = batch(codec, varint(length) + whole[1:], 3, offset=offset), True
    elif kind == "value":
        length = chance.choice([4, 1 << 20, (1 << 31) - 1, (1 << 62) - 1])
        data, refused = batch(codec, whole[:5] + varint(length) + whole[6:], 3, offset=offset), True
    else:
        data = batch(codec, whole, 3, offset=offset)
        packed = bytearray(data[SHORTEST_BATCH:])
        packed[chance.randrange(len(packed))] ^= 1 << chance.randrange(8)
        data, refused = data[:SHORTEST_BATCH] + bytes(packed), True
    return Bomb(data, f"{codec.name} {kind} at {offset}, {len(data)} bytes", refused)


def varint(number: int) -> bytes:
    """A number, not negative, as records have it: zigzag, seven bits a byte."""
    number, out = number << 1, bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
