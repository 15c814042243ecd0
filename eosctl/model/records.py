"""Records as they lie in a partition, with the transaction facts that no consumer API shows."""

from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from eosctl.model.names import ProducerIdAndEpoch


class RecordState(StrEnum):
    """The outcome of the transaction a record was written in; a record outside any transaction is committed."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class IsolationLevel(StrEnum):
    """Records that a consumer gets: all, or only committed ones below the last stable offset."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class Entry(Protocol):
    """A record without the fields of its batch: a Record, or a decoded entry of a batch."""

    @property
    def offset(self) -> int:
        """Its offset."""

    @property
    def timestamp(self) -> int:
        """Its timestamp, in ms since the epoch."""

    @property
    def key(self) -> bytes | None:
        """Its key."""

    @property
    def value(self) -> bytes | None:
        """Its value."""


class Writer(NamedTuple):
    transactional: bool
    producer_id: int
    producer_epoch: int


class Written(NamedTuple):
    """What the records of a batch have in common: no offset is less than `offset`, and there are `records` of them."""

    offset: int
    records: int
    state: RecordState
    writer: Writer


class Record(NamedTuple):
    """One record: its place, its bytes and its writer. A tuple because topics have millions of them.

    offset is within its partition; timestamp is in ms since the epoch; key and value are bytes or None (a tombstone);
    transactional is the bit of its batch; producer_id and producer_epoch are -1 if the writer was not idempotent.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    state: RecordState = RecordState.COMMITTED
    transactional: bool = False
    producer_id: int = -1
    producer_epoch: int = -1

    @property
    def producer(self) -> ProducerIdAndEpoch | None:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch) if self.producer_id >= 0 else None


class BatchTimes(Protocol):
    """The timestamps in the header of a record batch, in ms since the epoch."""

    @property
    def base_timestamp(self) -> int:
        """See first_time."""

    @property
    def max_timestamp(self) -> int:
        """The latest of its records."""


def first_time(header: BatchTimes) -> int:
    """The timestamp of a batch's first record, in ms; -1 where none of its records has one.

    Compaction may put another one into its place, in either case the latest record's is taken:
    1. -1 in a batch whose records are all gone. It is kept where its producer wrote no later one.
    2. The time from which on tombstones and markers may go (KIP-534). It is later than the records unless their
       timestamps lie ahead.
    """
    return header.base_timestamp if 0 <= header.base_timestamp <= header.max_timestamp else header.max_timestamp


# Which partition a Java producer puts a key in, if it has no partitioner of its own.
#
# librdkafka's default partitioner is another one; a key written with it may come to lie in two partitions.


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
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Shown(StrEnum):
    """Whether a read_committed Fetch shows a record."""

    RETURNED = "returned"
    NAMED_ABORTED = "returned, and its transaction named as aborted"
    NOT_RETURNED = "not returned"
