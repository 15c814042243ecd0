"""Tracing one record: the transaction that wrote it, and the offsets committed with it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.report import Result
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import NO_OWNER, Ownership


class Written(NamedTuple):
    """A transactional data batch: its offsets (as they were before compaction), its writer, its first sequence."""

    first_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


class Ending(NamedTuple):
    """An end-transaction marker; timestamp in ms since the epoch, by the clock of the partition's leader.

    Under transaction.version 2 producer_epoch is one more than the epoch of the transaction's data.
    """

    offset: int
    timestamp: int
    committed: bool
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class Absence(StrEnum):
    DELETED = "deleted"
    NOT_WRITTEN = "not-written"
    COMPACTED = "compacted"
    MARKER = "marker"
    DAMAGED = "damaged"
    NOT_FOUND = "not-found"


class NoRecord(Struct, frozen=True):
    """There is no record at the offset: the reason, and in words its content."""

    topic_partition: TopicPartition
    offset: int
    absence: Absence
    reason: str


class TracedRecord(Struct, frozen=True):
    """A record and its writer. producer is None if the writer was not idempotent.

    state is Skipped if the end of its transaction was not found within the limit. visible: it lies below the last
    stable offset, so read_committed consumers have passed it.
    """

    topic_partition: TopicPartition
    offset: int
    timestamp: int
    producer: ProducerIdAndEpoch | None
    transactional: bool
    state: RecordState | Skipped
    visible: bool


class Found(StrEnum):
    """How the extent of a transaction in a partition is known.

    whole: its first and last batch are there. first-deleted: the log starts after its first batch, or may.
    first-unknown: earlier records were not read, by the limit. by-time: of several transactions of one epoch, the one
    that ended nearest. none: no record of it was found.
    """

    WHOLE = "whole"
    FIRST_DELETED = "first-deleted"
    FIRST_UNKNOWN = "first-unknown"
    BY_TIME = "by-time"
    NONE = "none"


class Extent(Struct, frozen=True):
    """A transaction in one partition: its first and last offset, its marker and how these are known.

    marker is None if it does not exist (yet), or was not found.
    """

    topic_partition: TopicPartition
    first_offset: int | None
    last_offset: int | None
    found: Found
    marker: Ending | None = None


class CommittedOffset(Struct, frozen=True):
    """One offset in the transaction: of a source partition, or of a group in a partition.

    holder is the connector, or the group. of is the source partition as JSON, or the topic and partition. value is the
    source offset as JSON, or the offset; None for a tombstone.
    """

    topic_partition: TopicPartition
    offset: int
    is_group: bool
    holder: str
    of: str
    value: str | None


class LoggedTransaction(Struct, frozen=True):
    """One transaction in the transaction log: its ID, its beginning (None: not logged any more), its partitions.

    decided_ms is when its end was decided, completed_ms when all markers were written, by the coordinator's clock; None
    before that. certain: it cannot be another transaction of its producer that ended about then.
    """

    transactional_id: str
    partitions: tuple[TopicPartition, ...]
    started_ms: int | None
    decided_ms: int | None = None
    completed_ms: int | None = None
    certain: bool = True

    def spans(self, time_ms: int, slack_ms: int = 0) -> bool:
        """Whether a marker of that time can be its own, where clocks are at most slack_ms apart."""
        after = self.completed_ms is not None and time_ms > self.completed_ms + slack_ms
        return self.decided_ms is not None and self.decided_ms - slack_ms <= time_ms and not after


class AbortedTransaction(NamedTuple):
    """An aborted transaction in one partition: its first offset, and its marker's."""

    producer_id: int
    first: int
    marker: int


class OpenTransaction(NamedTuple):
    """A transaction without a marker in one partition, and where it begins there."""

    producer: ProducerIdAndEpoch
    first: int


class ProducerState(Struct, frozen=True):
    """A partition's transactions by the broker's files beside the segments; Skipped if unknown.

    aborted are those of the transaction indexes from the log start on. unindexed have an abort marker and are in no
    index: a broker with these files sends their records to read_committed consumers. opened are open at the end of the
    log, by the last producer snapshot, taken before snapshot_offset, and the later segments; by all segments if that is
    None.
    """

    topic_partition: TopicPartition
    aborted: tuple[AbortedTransaction, ...] | Skipped
    unindexed: tuple[AbortedTransaction, ...]
    opened: tuple[OpenTransaction, ...] | Skipped
    snapshot_offset: int | None


class Trace(Result, frozen=True, kw_only=True):
    """One record, its transaction, and everything that the transaction touched.

    transactional_id is None if the holder of the producer ID is unknown. logged is the transaction in the transaction
    log, Skipped with the reason if it is not there: then the partitions are those that know its producer. extents are
    the partitions that were read, unread the others. producer_state is for the record's partition, None if a cluster
    was queried.
    """

    as_of: int
    cluster_id: str | None
    record: TracedRecord | NoRecord
    transactional_id: str | Skipped | None = None
    ownership: Ownership = NO_OWNER
    logged: LoggedTransaction | Skipped | None = None
    extents: tuple[Extent, ...] = ()
    offsets: tuple[CommittedOffset, ...] = ()
    producer_state: ProducerState | None = None
    unread: Mapping[TopicPartition, Skipped] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return isinstance(self.record, NoRecord) and self.record.absence is not Absence.NOT_FOUND
