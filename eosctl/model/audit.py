"""What an audit reads: topics with their roles, and the offset ranges that it fixed before it read the first byte."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.model.coverage import Coverage, Unread
from eosctl.model.names import TopicPartition
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.whole_numbers import whole

BUCKETS: Final = 64
"""Into how many parts keys and producer IDs are divided, so that each part fits in memory. A ledger keeps it."""


NOT_ASKED: Final = not_asked("not asked")

MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ABORT_INTERVAL: Final = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
"""Settings of brokers: how long a transaction may be open, and how often coordinators look for older ones."""
DEFAULTS_MS: Final = {MAX_TIMEOUT: 15 * 60_000, ABORT_INTERVAL: 10_000}
MARKERS_MS: Final = 5_000
"""How long a coordinator may take to write markers."""


class TopicRole(StrEnum):
    """What a topic is to the audit, and with that how much of it has to be read.

    offsets: keys and values are decoded; config: the records are replayed; output: batch headers are enough.
    """

    OFFSETS = "offsets"
    CONFIG = "config"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class AuditedTopic:
    """A topic under audit.

    topic_id is Kafka's (KIP-516), None where the broker has none: a topic deleted and created again has another one.
    cleanup_policy is the topic setting; retention_ms how old records grow at least before Kafka deletes them (None: it
    is not known, or their size decides; -1: for ever). connectors are those known to use it: the one whose own
    offsets topic it is, or those that write their records to it; none for the worker's own topics. own is an offsets
    topic that is not the worker's: only connectors that name it keep offsets there, known or not.
    """

    name: str
    role: TopicRole
    topic_id: str | None = None
    cleanup_policy: str | Skipped = NOT_ASKED
    connectors: tuple[str, ...] = ()
    retention_ms: int | None = None
    own: bool = False


class OffsetRange(NamedTuple):
    """Offsets [start, end) of one partition.

    A settled range ends at or before the last stable offset: of every record in it is known whether it was committed.
    The range behind it, up to the high watermark, is read for its batch headers only, and read again next time.
    """

    topic: str
    partition: int
    start: int
    end: int
    settled: bool = True

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that it lies in."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Offsets in it: at least the number of its records."""
        return self.end - self.start


class PartitionBounds(NamedTuple):
    """Where a partition's log began and ended when the audit was planned; audited_from is where this audit begins."""

    topic: str
    partition: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    audited_from: int


class TransactionalIdHolder(NamedTuple):
    """A producer ID, and the transactional ID that held it when the audit was planned."""

    producer_id: int
    transactional_id: str


class OpenAtPlan(NamedTuple):
    """A transaction that was open in a partition when the audit was planned; hangs: no coordinator will ever end it.

    reason says why, in the words of KIP-664's rule; transactional_id is None where no coordinator lists the producer.
    """

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    transactional_id: str | None
    hangs: bool
    reason: str | None


def longest_transaction_ms(settings: Iterable[Mapping[str, str]]) -> int:
    """transaction.max.timeout.ms, and how late a coordinator aborts after it and writes its markers, by the brokers."""
    limits = (
        sum(default if (found := whole(each.get(key, ""))) is None else found for key, default in DEFAULTS_MS.items())
        for each in settings
    )
    return max(limits, default=sum(DEFAULTS_MS.values())) + MARKERS_MS


LONGEST_TRANSACTION_MS: Final = longest_transaction_ms(())


@dataclass(frozen=True, slots=True)
class AuditPlan(Answer):
    """All that an audit will read, resolved once; a task never asks for an offset that is not here.

    as_of is in ms since the epoch. Last stable offsets were all read before the first high watermark: what belongs to
    a transaction that ended below a last stable offset lies below the high watermarks, in every partition.
    expired are ranges that the log start passed before an audit came by. connectors are the source connectors known by
    name; holders says whose producer IDs are still known.
    selected are the connectors that a verdict is requested for (none: all), named the topics that are (none: all
    known): of other connectors than those that write to one of them nothing is judged. left_out are topics that a
    judged connector writes to and that were not requested.
    unread says of partitions and facts that could not be read why: no verdict is `held` without them. Where users names
    connectors for one of them, it is the verdict on these alone.
    longest_transaction_ms is how long after its first record a coordinator may write a transaction's markers.
    """

    as_of: int
    cluster_id: str | None
    group_id: str | None
    topics: tuple[AuditedTopic, ...]
    bounds: tuple[PartitionBounds, ...]
    ranges: tuple[OffsetRange, ...]
    expired: tuple[OffsetRange, ...] = ()
    connectors: tuple[str, ...] | Skipped = ()
    holders: tuple[TransactionalIdHolder, ...] | Skipped = ()
    open: tuple[OpenAtPlan, ...] | Skipped = ()
    selected: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unread: dict[str, Skipped] = field(default_factory=dict)
    users: dict[str, tuple[str, ...]] = field(default_factory=dict)
    longest_transaction_ms: int = LONGEST_TRANSACTION_MS

    @property
    def gaps(self) -> Coverage:
        """What of the plan's facts was not read."""
        facts = {
            "source connectors": self.connectors,
            "holders of producer IDs": self.holders,
            "open transactions": self.open,
            **self.unread,
        }
        skipped = ((what, fact) for what, fact in facts.items() if isinstance(fact, Skipped))
        return Coverage(unread=tuple(Unread(what, fact.reason, fact.cause) for what, fact in skipped))

    @property
    def transactional_ids(self) -> Mapping[int, str]:
        """The transactional IDs that hold producer IDs, as far as they are known."""
        holders = () if isinstance(self.holders, Skipped) else self.holders
        return {each.producer_id: each.transactional_id for each in holders}

    def topic(self, name: str) -> AuditedTopic:
        """The audited topic of that name."""
        return next(topic for topic in self.topics if topic.name == name)


class StateKind(StrEnum):
    """What a state row is about: a partition's log, keys of an offsets topic, transactions, or the config topic.

    changes is what came of source offsets that somebody changed.
    mirror is how far a mirrored pair of partitions was compared: only a mirror's audit carries it.
    """

    LOG = "log"
    KEYS = "keys"
    TRANSACTIONS = "transactions"
    CONFIG = "config"
    CHANGES = "changes"
    MIRROR = "mirror"


class StateRow(NamedTuple):
    """Part of the state of one range, as it travels between processes and rests in a ledger.

    Rows of one kind and bucket are merged in the order of (topic, partition, start); payload is the encoded state.
    """

    kind: StateKind
    bucket: int
    topic: str
    partition: int
    start: int
    settled: bool
    payload: bytes
