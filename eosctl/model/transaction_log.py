"""The transaction log: what coordinators write about transactional IDs into `__transaction_state` (KIP-98, KIP-890)."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.errors import EosctlError, Unreachable
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Finding, Result
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few
from eosctl.model.transactions import Ownership, TransactionState

DAY_MS: Final = 86_400_000
NEAR_EXPIRY: Final = 7
"""An ID whose last seventh of transactional.id.expiration.ms has begun is near expiry: a day of the default week."""
KEPT_DAYS: Final = 28
"""How many days before the last commit a history reaches back at most: four weeks."""


class CommitDay(NamedTuple):
    """The intervals that ended on one day: its number since the epoch, how many there were, and the longest, in ms."""

    day: int
    intervals: int
    longest_ms: int


class CommitHistory(Struct, frozen=True):
    """The known commits of one transactional ID; times are in ms since the epoch.

    first_ms is the first commit and last_ms the last. claimed_ms is when a producer last initialized the ID
    (InitProducerId), or None. days are those on which an interval ended, the oldest first; intervals in which a
    producer initialized the ID do not count, because the task was started meanwhile.
    """

    first_ms: int
    last_ms: int
    claimed_ms: int | None = None
    days: tuple[CommitDay, ...] = ()

    @property
    def intervals(self) -> int:
        return sum(each.intervals for each in self.days)

    @property
    def longest_ms(self) -> int:
        """The longest interval in ms; 0 if none is known."""
        return max((each.longest_ms for each in self.days), default=0)

    @property
    def span_ms(self) -> int:
        return self.last_ms - self.first_ms

    @property
    def quiet_since_ms(self) -> int:
        """The last commit, or the later time at which a producer initialized the ID, in ms since the epoch."""
        return max(self.last_ms, self.claimed_ms or 0)


REASONS_SHOWN: Final = 10


class TransactionLogValue(Struct, frozen=True):
    """The logged state of one transactional ID.

    version is the record's (0, or 1 from transaction.version 1 on). last_update_ms and start_ms are in ms since the
    epoch; start_ms is -1 before the first transaction and stale once one is complete. partitions is None in Empty. The
    other fields are from version 1: -1 and 0 if the record does not carry them. next_producer_id follows one whose
    epochs are used up. client_transaction_version is the transaction.version of the transaction's client.
    next_producer_epoch belongs to two-phase commit (KIP-939).
    """

    version: int
    producer: ProducerIdAndEpoch
    timeout_ms: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...] | None
    last_update_ms: int
    start_ms: int
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1


class TransactionLogRecord(Struct, frozen=True):
    """One record of the transaction log and its place; value None is a tombstone: the ID expired or was removed."""

    partition: int
    offset: int
    timestamp: int
    transactional_id: str
    value: TransactionLogValue | None

    def holders(self, producer_ids: Collection[int]) -> "Iterator[TransactionalIdHolder]":
        """Its ID, for each of these producer IDs that it holds, or held before its epochs were used up."""
        held = () if self.value is None else {self.value.producer.producer_id, self.value.previous_producer_id}
        return (TransactionalIdHolder(each, self.transactional_id) for each in held if each in producer_ids)


class NewerLogRecord(Struct, frozen=True):
    """A record whose key or value has a version that this eosctl does not know; brokers skip it with a warning.

    version is the value's if the key, which names transactional_id, could be read; otherwise the key's.
    """

    partition: int
    offset: int
    version: int
    transactional_id: str | None = None

    @property
    def part(self) -> str:
        return "key" if self.transactional_id is None else "value"


LogRecord = TransactionLogRecord | NewerLogRecord
NEWER: Final = Skipped("a newer Kafka wrote records of the transaction log")


class TransactionLogFacts(Struct, frozen=True):
    """The transaction log in a snapshot: the last records of each ID, in the order of reading.

    leaders maps a partition to the node that coordinates its IDs (-1: none). expiration_ms is
    transactional.id.expiration.ms. read counts the log's records; records may keep fewer. unread gives the reasons for
    unread partitions.
    """

    leaders: Mapping[int, int]
    expiration_ms: int | Skipped
    read: int
    records: tuple[LogRecord, ...]
    unread: Mapping[int, Skipped] = field(default_factory=dict)


class LogEnd(NamedTuple):
    """Where a reading of a partition ended: the offset after its last record, and the epoch of its leader before."""

    leader_epoch: int
    offset: int


class LogReading(Struct, frozen=True):
    """The facts about these IDs in the transaction log, and the end of the reading: the next one continues there.

    values are the last states of IDs in the partitions of ends; commits are the histories of all IDs that have one.
    cluster_id is the log's, None: any. A watched address may lead to another cluster one day.
    """

    ids: frozenset[str] = frozenset()
    ends: Mapping[int, LogEnd] = field(default_factory=dict)
    values: Mapping[str, TransactionLogValue] = field(default_factory=dict)
    commits: Mapping[str, CommitHistory] = field(default_factory=dict)
    cluster_id: str | None = None

    def ends_for(self, transactional_ids: Iterable[str]) -> Mapping[int, LogEnd]:
        """Where a reading about these IDs begins: at the log start if one of them is new."""
        return self.ends if self.ids.issuperset(transactional_ids) else {}


class LoggedHolders(Struct, frozen=True):
    """The IDs that held these producer IDs, in the part of the transaction log that is read.

    ends are the ends of that part, by partition; left counts the offsets after them. read_bytes are of the last
    reading. unread gives the reasons for unread partitions.
    """

    producer_ids: frozenset[int] = frozenset()
    holders: frozenset["TransactionalIdHolder"] = frozenset()
    ends: Mapping[int, LogEnd] = field(default_factory=dict)
    left: int = 0
    read_bytes: int = 0
    unread: Mapping[int, Skipped] = field(default_factory=dict)

    def continued(self, producer_ids: Iterable[int]) -> "LoggedHolders":
        """This reading, if it looked for all of these producer IDs; otherwise one that has to begin."""
        wanted = frozenset(producer_ids)
        return self if wanted <= self.producer_ids else LoggedHolders(wanted)


class TransactionLogRecords(Struct, frozen=True):
    """The transaction log as a reader gives it. records are a stream that can be read once, in the order of reading.

    leaders, expiration_ms and unread are as in TransactionLogFacts. left_out counts records of the log that are not in
    the stream. ends are the ends of the partitions. continues: the records are exactly those after the ends of an
    earlier reading.
    """

    leaders: Mapping[int, int]
    expiration_ms: int | Skipped
    records: Iterable[LogRecord]
    unread: Mapping[int, Skipped] = field(default_factory=dict)
    left_out: int = 0
    ends: Mapping[int, LogEnd] = field(default_factory=dict)
    continues: bool = False


class LoggedId(Struct, frozen=True):
    """One transactional ID: its last record, and how many records of it the log still holds."""

    last: TransactionLogRecord
    records: int

    @property
    def value(self) -> TransactionLogValue | None:
        """Its state; None where the last record is a tombstone."""
        return self.last.value


class FoldedLog(Struct, frozen=True):
    """All IDs by name, the number of records read, and the skipped records of newer versions.

    unknown are the IDs whose last record has a newer version: an earlier record does not show their state. broken are
    records that no coordinator writes after the previous one of the same ID, the last one of each ID.
    """

    ids: Mapping[str, LoggedId]
    records: int
    newer: tuple[NewerLogRecord, ...]
    unknown: Mapping[str, Skipped] = field(default_factory=dict)
    broken: Mapping[str, tuple[TransactionLogRecord, TransactionLogRecord]] = field(default_factory=dict)


class HistoryEntry(Struct, frozen=True):
    record: TransactionLogRecord
    words: str


class LogAnswer(Result, frozen=True, kw_only=True):
    """The common fields of the two answers about the transaction log; as_of is in ms since the epoch.

    unread gives the reasons for unread partitions; notes say what makes the answer less certain. absent are requested
    IDs without a record in a completely read log.
    """

    as_of: int
    cluster_id: str | None
    unread: Mapping[int, Skipped]
    notes: tuple[str, ...]
    absent: frozenset[str]

    @property
    def found(self) -> bool:
        return bool(self.absent) or any(map(self.fails, self.reported))

    @property
    def all_notes(self) -> tuple[str, ...]:
        return (*self.notes, f"not read: {self._reasons}") if self.unread else self.notes

    @property
    def failure(self) -> EosctlError | None:
        """Unreachable where nothing was found in a log that was not read as a whole."""
        if not self.unread or self.found:
            return None
        return Unreachable(f"the transaction log was not read as a whole: {self._reasons}")

    @property
    def _reasons(self) -> str:
        return first_few([each.reason for each in self.unread.values()], most=REASONS_SHOWN)


class TransactionLogReport(LogAnswer, frozen=True, kw_only=True):
    """The last state of each ID with its owner, and present or expected problems.

    leaders maps a partition of the log to its leader.
    """

    log: FoldedLog
    owners: Mapping[str, Ownership]
    leaders: Mapping[int, int] | Skipped
    findings: tuple[Finding, ...]

    @property
    def reported(self) -> tuple[Finding, ...]:
        return self.findings


class TransactionHistory(LogAnswer, frozen=True, kw_only=True):
    entries: tuple[HistoryEntry, ...]


class TransactionalIdHolder(NamedTuple):
    producer_id: int
    transactional_id: str


class LoggedTransaction(NamedTuple):
    """A transaction that its coordinator decided to commit or to abort, by PrepareCommit or PrepareAbort.

    producer_epoch is the epoch at the start of the producer's session; offset is the record's offset in the log.
    decided_ms and completed_ms are the coordinator's times; completed_ms is None until all markers are written.
    partitions are all that were added to it, with or without records.
    """

    producer_id: int
    producer_epoch: int
    offset: int
    decided_ms: int
    committed: bool
    partitions: frozenset[TopicPartition]
    completed_ms: int | None = None


class TransactionLogHistory(Struct, frozen=True):
    """The holders of requested producer IDs, as far back as the log goes, and transactions in their order.

    The log has all transactions of a session or none: compaction removes the oldest records first.
    """

    holders: tuple[TransactionalIdHolder, ...] = ()
    transactions: tuple[LoggedTransaction, ...] = ()
