"""Which partition a Java producer puts a key in, if it has no partitioner of its own.

librdkafka's default partitioner is another one; a key written with it may come to lie in two partitions.
"""

from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Utils.murmur2 of Kafka's clients: 32-bit signed, over little-endian words of four bytes."""
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for place in range(0, whole, 4):
        word = int.from_bytes(data[place : place + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if whole < length:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    value ^= value >> 15
    return value - (1 << 32) if value >= 1 << 31 else value


def java_partition(key: bytes, partitions: int) -> int:
    """The partition, out of `partitions`, that a Java producer without a partitioner of its own puts `key` in."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
