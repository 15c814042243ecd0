"""Events that a source connector writes as several records, and their traces in the records of a topic.

A state merges with the state of the next range of its partition. Offsets belong to the partition that the StateRow
names.
"""

from enum import IntEnum
from typing import Final, NamedTuple

KEPT_OPEN: Final = 1_000
"""Unfinished events that are kept of each bucket and topic; all are counted."""


class EventRole(IntEnum):
    """The role of a record in its event.

    RETURNS is no record of the event: it writes a key again that events of this start have left.
    """

    OPENS = 0
    CONTINUES = 1
    CLOSES = 2
    RETURNS = 3


class EventPart(NamedTuple):
    """The part of an event in one record: the event leads from the key `start` to the key `goal`, as canonical text."""

    role: EventRole
    start: str
    goal: str


class EventItem(NamedTuple):
    """A part of an event with its place; last is the offset of the event's last record that lies in this partition."""

    role: EventRole
    start: str
    goal: str
    offset: int
    last: int
    timestamp: int
    producer_id: int
    producer_epoch: int


class Deletion(NamedTuple):
    """A record that says that a row was deleted; key is a digest."""

    offset: int
    timestamp: int
    producer_epoch: int
    key: bytes


class FollowedDeletion(NamedTuple):
    """A deletion without its tombstone, and the next record of its producer in the partition.

    next_offset None: there is none, and the producer wrote with next_epoch elsewhere.
    """

    offset: int
    timestamp: int
    producer_epoch: int
    next_offset: int | None
    next_epoch: int


class FirstRecord(NamedTuple):
    """The first record of a producer in a range, with the digest of its key where it is a tombstone, or a deletion."""

    offset: int
    producer_epoch: int
    tombstone_of: bytes | None
    deletion_of: bytes | None


class EventWriter(NamedTuple):
    """The committed records of one producer ID in one partition.

    unfinished is a deletion without a later record. tombstones counts deletions with a tombstone after them.
    bare_deletions counts those without one before a record of the same epoch, followed those before a record of another
    epoch. unreadable counts parts of events whose keys cannot be compared.
    """

    producer_id: int
    first: FirstRecord
    last_offset: int
    last_epoch: int
    last_timestamp: int
    unfinished: Deletion | None
    tombstones: int
    bare_deletions: int
    followed: tuple[FollowedDeletion, ...]
    unreadable: int


class PartitionWriters(NamedTuple):
    topic: str
    partition: int
    writers: tuple[EventWriter, ...]


class OpenEvent(NamedTuple):
    """An event whose closing record is not there; see EventItem."""

    topic: str
    partition: int
    start: str
    goal: str
    offset: int
    last: int
    timestamp: int
    producer_id: int
    producer_epoch: int


class TransactionRole(IntEnum):
    """The role of a record in a transaction of the database whose records are counted."""

    BEGINS = 0
    COUNTED = 1
    ENDS = 2


class TransactionPart(NamedTuple):
    """number is the place of a counted record in its transaction, from 1 on; with ENDS the number of its records."""

    role: TransactionRole
    transaction: str
    number: int


class TransactionItem(NamedTuple):
    """Parts of one role and transaction, numbered from first to last without a gap, and where they lie.

    connectors are those that write to the topic: two databases may have transactions of one name.
    """

    connectors: tuple[str, ...]
    role: TransactionRole
    transaction: str
    first: int
    last: int
    offset: int
    last_offset: int
    timestamp: int
    producer_id: int
    producer_epoch: int


class HalfTransaction(NamedTuple):
    """A transaction of the database of which records are missing, with the numbers of those that there are.

    topic and partition have its end, last_topic and last_partition its last record, or its end where it has none. begun
    is the time of its begin, in ms since the epoch.
    """

    transaction: str
    found: tuple[tuple[int, int], ...]
    begun: int
    topic: str
    partition: int
    end: TransactionItem
    last_topic: str
    last_partition: int
    last: TransactionItem


class TransactionCounts(NamedTuple):
    """whole counts the transactions of which all records are there."""

    whole: int = 0
    half: tuple[HalfTransaction, ...] = ()


class TopicEvents(NamedTuple):
    """Events of one topic: how many are whole, unfinished, and closed by a record without one that opens."""

    topic: str
    whole: int
    open: int
    unopened: int


class EventSummary(NamedTuple):
    """The conclusions from all buckets of events; events has the earliest unfinished ones of each topic."""

    topics: tuple[TopicEvents, ...] = ()
    events: tuple[OpenEvent, ...] = ()
