"""The compressed records of a batch, unpacked into a buffer that never grows beyond a limit.

What is packed says how large it is, but that is not believed: 8 kB of zstd may become 1 GB. A buffer is offered to the
library, which stops where it is full; then a larger one is, up to the limit.

    gzip    RFC 1952, one member or several
    snappy  one raw block; or, as Java writes it, 16 bytes of header and then blocks: int32 length, raw block
    lz4     the frame format
    zstd    frames
"""

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final

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
    """Compression of a batch's records."""

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


def _fitted(unpack_into: Callable[..., int], packed: memoryview, lead: int, most: int) -> bytearray:
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

    return _fitted(cramjam.lz4.decompress_into, packed, lead, most)


def _unzstd(packed: memoryview, lead: int, most: int) -> bytearray:
    import cramjam

    return _fitted(cramjam.zstd.decompress_into, packed, lead, most)


_BY_CODEC: Final = (None, _gunzip, _unsnappy, _unlz4, _unzstd)


def unpack(codec: int, packed: memoryview, lead: int, most: int) -> bytearray:
    """What the packed bytes become, at most `most` bytes, behind `lead` bytes for the caller to fill.

    Raises TooLargeError, and what the libraries raise for damaged data. NONE is not packed.
    """
    of_codec = _BY_CODEC[codec]
    assert of_codec is not None
    return of_codec(packed, lead, most)
