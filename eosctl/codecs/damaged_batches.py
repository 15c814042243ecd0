"""Where batches begin again behind bytes that are none."""

from typing import Final

from eosctl.codecs.record_batches import (
    BEFORE_LENGTH_COUNTS,
    HEADER,
    LENGTH,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    SHORTEST_BATCH,
    BatchHeader,
    Bytes,
    has_right_crc,
)

MOST_SKIPPED: Final = 1 << 31  # a segment's indexes have 32 bits for an offset


def claimed_length(data: Bytes, place: int = 0) -> int:
    """How many bytes the batch at `place` has by its length field; 0 where that is not there or no batch's."""
    there = len(data) - place >= BEFORE_LENGTH_COUNTS
    length = BEFORE_LENGTH_COUNTS + int(LENGTH.unpack_from(data, place + LENGTH_AT)[0]) if there else 0
    return length if length >= SHORTEST_BATCH else 0


def begins_batch(data: Bytes, place: int, offset: int) -> bool:
    """Whether a header that makes sense lies at `place`, of a batch whose offsets are not below `offset`."""
    if len(data) < place + SHORTEST_BATCH:
        return False
    header = BatchHeader._make(HEADER.unpack_from(data, place))
    near = offset <= header.base_offset < offset + MOST_SKIPPED
    counts = header.batch_length - SHORTEST_BATCH + BEFORE_LENGTH_COUNTS, header.last_offset_delta, header.record_count
    return header.magic == MAGIC and near and min(counts) >= 0


def next_batch(data: bytes, place: int, offset: int) -> int | None:
    """Where behind `place`, whose bytes are no batch, one begins that has no offset below `offset`; None: nowhere.

    1. Behind as many bytes as the damaged batch claims to have, if what lies there looks like a batch.
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
