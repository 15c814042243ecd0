"""The input of an audit: topics with their roles, and the offset ranges that it fixed before it read the first byte."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from eosctl.model.names import Side
from eosctl.model.report import SEVERITIES, Finding, FindingKind, Result, Severity, Uncertainty, unread_doubts
from eosctl.model.skipped import Coverage, Skipped, Unread, not_asked
from eosctl.model.text import pluralize
from eosctl.model.topics import OffsetRange
from eosctl.model.transaction_log import TransactionalIdHolder
from eosctl.model.whole_numbers import whole

BUCKETS: Final = 64
"""Into how many parts keys and producer IDs are divided, so that each part fits in memory. A ledger keeps it."""

NOT_ASKED: Final = not_asked("not asked")

MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ABORT_INTERVAL: Final = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
"""Broker settings: how long a transaction may be open, and how often coordinators look for older ones."""
DEFAULTS_MS: Final = {MAX_TIMEOUT: 15 * 60_000, ABORT_INTERVAL: 10_000}
MARKERS_MS: Final = 5_000
"""How long a coordinator may take to write markers."""


class TopicRole(StrEnum):
    """The role of a topic decides how much of it the audit reads.

    offsets: keys and values are decoded; config: the records are replayed; output: batch headers are enough.
    """

    OFFSETS = "offsets"
    CONFIG = "config"
    OUTPUT = "output"


class AuditedTopic(Struct, frozen=True):
    """A topic under audit.

    topic_id is Kafka's (KIP-516), None if the broker has none; a topic that was deleted and created again has another
    ID. retention_ms is the age at which Kafka deletes records (None: unknown, or their size decides; -1: never).
    connectors are the connectors known to use the topic: the owner of an offsets topic, or the writers of an output
    topic; none for the worker's own topics. own: the topic is a connector-specific offsets topic. grammar names the
    rules by which records of an output topic belong together (None: unknown, only batch headers are read). kept_back
    are the reasons why a connector leaves out parts of such an event.
    """

    name: str
    role: TopicRole
    topic_id: str | None = None
    cleanup_policy: str | Skipped = NOT_ASKED
    connectors: tuple[str, ...] = ()
    retention_ms: int | None = None
    own: bool = False
    grammar: str | None = None
    kept_back: tuple[str, ...] = ()


class PartitionBounds(NamedTuple):
    """The start and end of a partition's log when the audit was planned; audited_from is where this audit begins."""

    topic: str
    partition: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    audited_from: int


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


class AuditPlan(Result, frozen=True):
    """All that an audit will read, resolved once; a task never requests an offset that is not here.

    as_of is in ms since the epoch. All last stable offsets were read before the first high watermark. So each
    transaction that ended below a last stable offset is below the high watermarks of all partitions. expired are ranges
    that the log start passed before any audit read them. connectors are the source connectors known by name; holders
    are the owners of producer IDs that are still known. selected are the connectors with a requested verdict (none:
    all). named are the requested topics (none: all known); only connectors that write to one of them are judged.
    left_out are topics that a judged connector writes to and that were not requested. unread gives the reason for each
    unread partition or fact: no verdict is `held` without it, or if users names connectors, not theirs.
    longest_transaction_ms is the longest time from the first record of a transaction to its markers. digested: the
    bytes of all ranges are digested.
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
    digested: bool = False

    @property
    def gaps(self) -> Coverage:
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
        holders = () if isinstance(self.holders, Skipped) else self.holders
        return {each.producer_id: each.transactional_id for each in holders}

    def topic(self, name: str) -> AuditedTopic:
        return next(topic for topic in self.topics if topic.name == name)


class StateKind(StrEnum):
    """The subject of a state row: a partition's log, keys of an offsets topic, transactions, or the config topic.

    changes are the consequences of altered source offsets. events are parts of changes that connectors wrote as several
    records; event-writers are their producers. database-transactions are records that name one. digests cover the bytes
    of ranges. mirror is how far a mirrored pair of partitions was compared; only a mirror's audit has it.
    source-records are of a table's topic; only executors give them.
    """

    LOG = "log"
    KEYS = "keys"
    TRANSACTIONS = "transactions"
    CONFIG = "config"
    CHANGES = "changes"
    EVENTS = "events"
    EVENT_WRITERS = "event-writers"
    DATABASE_TRANSACTIONS = "database-transactions"
    DIGESTS = "digests"
    MIRROR = "mirror"
    SOURCE_RECORDS = "source-records"


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


WORDS: Final = frozenset({"reason"})
"""Evidence in words, which may say how long something has lasted."""
AMOUNTS: Final = frozenset({"count", "records", "tombstones", "keys"})
"""Evidence that is how much was found: less than before is nothing new."""


class EarlierFinding(NamedTuple):
    severity: Severity
    evidence: Mapping[str, Any]

    def has(self, severity: Severity, evidence: Mapping[str, object]) -> bool:
        """True if the new finding shows nothing beyond this one: no new place, no larger amount, no worse severity."""
        return self.severity.reaches(severity) and all(
            _is_within(name, _plain(value), self.evidence.get(name))
            for name, value in evidence.items()
            if name not in WORDS
        )


def _is_within(name: str, now: object, before: object) -> bool:
    if name in AMOUNTS and isinstance(now, int) and isinstance(before, int):
        return now <= before
    if isinstance(now, list) and isinstance(before, list):
        return all(each in before for each in now)
    return now == before


def _plain(value: object) -> object:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    match value:
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case set() | frozenset():
            return [_plain(each) for each in sorted(value)]
    return value


class EarlierAudit(Struct, frozen=True):
    """Number and time (RFC 3339) of the run, its findings by ID and subject, and the connectors that were broken."""

    run_number: int
    as_of: str
    findings: Mapping[tuple[str, str], tuple[EarlierFinding, ...]]
    broken: frozenset[str]

    def has(self, finding: Finding) -> bool:
        same = self.findings.get((finding.id, finding.subject), ())
        return any(each.has(finding.severity, finding.evidence) for each in same)


class AuditVerdict(StrEnum):
    """The verdict on exactly-once for a connector; cannot-tell if evidence has expired or could not be read.

    altered: it held, but altered source offsets repeated or skipped records.
    """

    HELD = "held"
    ALTERED = "altered"
    BROKEN = "broken"
    CANNOT_TELL = "cannot-tell"


WORST_FIRST: Final = (AuditVerdict.BROKEN, AuditVerdict.CANNOT_TELL, AuditVerdict.ALTERED, AuditVerdict.HELD)


def worst(verdicts: Iterable[AuditVerdict]) -> AuditVerdict:
    """Cannot-tell where there is none."""
    return min(verdicts, key=WORST_FIRST.index, default=AuditVerdict.CANNOT_TELL)


class JudgedResult(Result, frozen=True):
    """A result that ends with a verdict: the worst of all that was judged."""

    @property
    def verdicts(self) -> Iterable[AuditVerdict]:
        return ()

    @property
    def verdict(self) -> AuditVerdict:
        return worst(self.verdicts)

    @property
    def complete(self) -> bool:
        return self.verdict is not AuditVerdict.CANNOT_TELL and not self.coverage.gaps


class RecordCount(NamedTuple):
    """A number of records with its bounds; at_most None: no upper bound is known."""

    at_least: int
    at_most: int | None

    @property
    def is_none(self) -> bool:
        return self.at_most == 0


NO_RECORDS: Final = RecordCount(0, 0)


def total_records(counts: Iterable[RecordCount]) -> RecordCount:
    least, most = 0, 0
    known = True
    for each in counts:
        least += each.at_least
        known = known and each.at_most is not None
        most += each.at_most or 0
    return RecordCount(least, most if known else None)


def count_words(count: RecordCount, what: str) -> tuple[str, ...]:
    least, most = count
    if most == 0:
        return ()
    if most is None and not least:
        return (f"an unknown number of records may have been {what}",)
    number = f"at least {pluralize(least, 'record')}" if most is None else pluralize(most, "record")
    if most is not None and least < most:
        number = f"{least:,} to {number}"
    return (f"{number} {'was' if least == most == 1 else 'were'} {what}",)


class ConnectorVerdict(Struct, frozen=True):
    """The verdict on one connector, the IDs of the findings behind it, and its reasons in words.

    repeated_by_change counts records that its topics have twice because source offsets were altered; left_out_by_change
    counts records that were never read for the same reason. covers and not_covered name the subjects that the verdict
    includes and excludes.
    """

    name: str
    verdict: AuditVerdict
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    repeated_by_change: RecordCount = NO_RECORDS
    left_out_by_change: RecordCount = NO_RECORDS
    covers: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()


class RangeDigest(NamedTuple):
    """SHA-256 (hex) over all batches of a range, as stored, in offset order; damaged offsets count as none."""

    topic: str
    partition: int
    start: int
    end: int
    settled: bool
    batches: int
    size_bytes: int
    sha256: str


class Gap(NamedTuple):
    """Offsets [start, end) without a batch, and why, in the words of GapKind."""

    start: int
    end: int
    kind: str


class RangeEvidence(Struct, frozen=True):
    """The reading of one partition: proof that it was read to its end, and totals of its batches.

    records counts data records as they lie in the log: aborted_records and plain_records (outside any transaction) are
    among them; control_records (markers) are not. size_bytes is the size of the batches as stored.
    """

    topic: str
    partition: int
    start: int
    end: int
    records: int = 0
    control_records: int = 0
    aborted_records: int = 0
    plain_records: int = 0
    batches: int = 0
    size_bytes: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    gaps: tuple[Gap, ...] = ()


class TransactionStatistics(Struct, frozen=True):
    """Transactions of one connector (None: of producers of no known task).

    sizes and durations are histograms: key n counts transactions of 2^(n-1) up to 2^n - 1 records or ms, key 0 counts
    zeros. aborted_records and aborted_bytes are what readers with read_uncommitted saw and others did not.
    """

    connector: str | None
    committed: int = 0
    aborted: int = 0
    records: int = 0
    size_bytes: int = 0
    aborted_records: int = 0
    aborted_bytes: int = 0
    sizes: Mapping[int, int] = field(default_factory=dict)
    durations: Mapping[int, int] = field(default_factory=dict)


class TimelineEvent(NamedTuple):
    """Something that happened to a connector: kind is "commit", "fencing", "session" (a producer began) or "deleted".

    tasks is the task count of a commit or a task-count record, None for a producer.
    """

    connector: str
    timestamp: int
    kind: str
    topic: str
    partition: int
    offset: int
    tasks: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None


class EpochPoint(NamedTuple):
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    timestamp: int
    connector: str | None


class Growth(NamedTuple):
    """Records and tombstones that one partition got within one hour; hour counts hours since the epoch."""

    topic: str
    partition: int
    hour: int
    records: int
    tombstones: int


class Stall(NamedTuple):
    """A long open transaction: the last stable offset could not pass start_offset meanwhile.

    from_ms is the timestamp of its first record. until_ms is that of its marker, by the broker's clock; None while it
    is open. The time of a record is the producer's, or the broker's (message.timestamp.type=LogAppendTime), unless the
    connector sets it. MirrorSource keeps the source's timestamp, and the stall then seems to begin when the record was
    made there.
    """

    topic: str
    partition: int
    start_offset: int
    from_ms: int
    until_ms: int | None
    producer_id: int
    connector: str | None


class WitnessRecord(NamedTuple):
    """Records [offset, last_offset] of a partition, and their part in the finding.

    value is the value of an offsets topic's record; timestamp is in ms since the epoch; producer and transactional ID
    are None if the finding does not know them. side is a mirror's source or target.
    """

    role: str
    topic: str
    partition: int
    offset: int
    last_offset: int
    value: str | None = None
    timestamp: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    transactional_id: str | None = None
    side: Side | None = None

    def __str__(self) -> str:
        last = "" if self.last_offset == self.offset else f" to {self.last_offset}"
        return f"{self.topic}-{self.partition}@{self.offset}{last}"


class Witness(NamedTuple):
    """The fewest records that prove a finding, in words that a person can check.

    The last record is the first wrong one. commands print the records. before is the last earlier event of the config
    topic about the connector.
    """

    finding_id: str
    name: str
    subject: str
    words: str
    records: tuple[WitnessRecord, ...]
    commands: tuple[str, ...]
    before: TimelineEvent | None = None

    @property
    def broken(self) -> WitnessRecord:
        return self.records[-1]


class AuditReport(JudgedResult, frozen=True):
    """The whole answer of an audit. The same ranges give the same report with every engine.

    sinks are connectors in the timeline that write to no topic of Kafka. earlier is the last run of the same job in the
    ledger, None without one. newly_read counts the data records that this run read, None if it read all. digests cover
    the ranges that this run read, if the plan requested them.
    """

    plan: AuditPlan
    connectors: tuple[ConnectorVerdict, ...]
    findings: tuple[Finding, ...]
    ranges: tuple[RangeEvidence, ...]
    transactions: tuple[TransactionStatistics, ...] = ()
    timeline: tuple[TimelineEvent, ...] = ()
    epochs: tuple[EpochPoint, ...] = ()
    growth: tuple[Growth, ...] = ()
    stalls: tuple[Stall, ...] = ()
    sinks: tuple[str, ...] = ()
    earlier: EarlierAudit | None = None
    newly_read: int | None = None
    kinds: tuple[FindingKind, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    digests: tuple[RangeDigest, ...] = ()

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        unknown = [
            f"cannot tell whether exactly-once held for {each.name}: {'; '.join(each.reasons)}"
            for each in self.connectors
            if each.verdict is AuditVerdict.CANNOT_TELL
        ]
        judged = [] if self.connectors else ["no connector was judged"]
        reasons = (Uncertainty(None, each, needed=True) for each in (*judged, *unknown))
        return (*reasons, *unread_doubts(self.coverage))

    @property
    def verdicts(self) -> Iterable[AuditVerdict]:
        return (each.verdict for each in self.connectors)

    @property
    def reported(self) -> tuple[Finding, ...]:
        return tuple(sorted(self.findings, key=lambda each: SEVERITIES.index(each.severity)))

    @property
    def newly_broken(self) -> frozenset[str]:
        broken = frozenset(each.name for each in self.connectors if each.verdict is AuditVerdict.BROKEN)
        return broken if self.earlier is None else broken - self.earlier.broken

    def owner_of(self, stall: Stall) -> str:
        holder = self.plan.transactional_ids.get(stall.producer_id)
        return stall.connector or (f"producer {stall.producer_id}" if holder is None else f"transactional ID {holder}")

    @property
    def window(self) -> tuple[int, int] | None:
        """The timestamps of the first and the last batch that were read, in ms; None where no batch has one."""
        times = [
            each
            for read in self.ranges
            for each in (read.first_timestamp, read.last_timestamp)
            if each is not None and each >= 0
        ]
        return (min(times), max(times)) if times else None

    def is_new(self, finding: Finding) -> bool | None:
        """True if the last run found less, or if one of the finding's connectors is broken only now."""
        if self.earlier is None:
            return None
        named = finding.evidence.get("connectors")
        return not self.earlier.has(finding) or (
            isinstance(named, list | tuple) and not self.newly_broken.isdisjoint(named)
        )


class OffsetsWrite(NamedTuple):
    topic: str
    partition: int
    offset: int
    producer_id: int


class OutputPart(NamedTuple):
    topic: str
    partition: int
    first: int
    last: int
    records: int


class CommittedData(NamedTuple):
    """Data in the transaction of a source offset; it may be empty."""

    write: OffsetsWrite
    data: tuple[OutputPart, ...]


class Anomaly(NamedTuple):
    kind: str
    connectors: tuple[str, ...]
    topic: str
    partition: int
    first: int
    last: int
    producer_id: int
    producer_epoch: int
    timestamp: int
    records: int


class Tally(NamedTuple):
    kind: str
    connectors: tuple[str, ...]
    topic: str
    transactions: int
    records: int


class OwnerFigures(NamedTuple):
    """Transactions of one connector (None: of no known task); see TransactionStatistics."""

    connector: str | None
    committed: int
    aborted: int
    records: int
    size_bytes: int
    aborted_records: int
    aborted_bytes: int
    sizes: tuple[tuple[int, int], ...]
    durations: tuple[tuple[int, int], ...]


class TransactionSummary(NamedTuple):
    """Conclusions from the transactions of some producer IDs; two of them can be added.

    committed is the data in the transactions of some source offsets.
    """

    figures: tuple[OwnerFigures, ...] = ()
    tallies: tuple[Tally, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    stalls: tuple[Stall, ...] = ()
    committed: tuple[CommittedData, ...] = ()


class ClosedTransactions(NamedTuple):
    """Conclusions from closed transactions, by producer ID: no connector is named.

    stalls and committed cover all producers.
    """

    producers: tuple[tuple[int, TransactionSummary], ...] = ()
    stalls: tuple[Stall, ...] = ()
    committed: tuple[CommittedData, ...] = ()


class KeyAnomaly(NamedTuple):
    """A fault of a key of an offsets topic, at an offset; key is its JSON text.

    before and after are the places and values concerned, in words that name topic, partition and offset. was and now
    are the transactions that wrote them, if any; then is the next one's, where the data of `now` alone show nothing.
    """

    kind: str
    connector: str | None
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str
    before: str
    after: str
    was: OffsetsWrite | None = None
    now: OffsetsWrite | None = None
    then: OffsetsWrite | None = None


class OffsetsChange(NamedTuple):
    """The consequences of source offsets that were changed during one stop of a connector.

    places are the first of the changed offsets, offsets is how many there are. before is the data that records of were
    written again, again is where they are, by partition. open: the connector has not come as far again as it was.
    """

    connector: str
    timestamp: int
    places: tuple[KeyAnomaly, ...]
    offsets: int
    repeated: RecordCount
    left_out: RecordCount
    before: tuple[OutputPart, ...] = ()
    again: tuple[OutputPart, ...] = ()
    open: bool = False

    @property
    def is_harmless(self) -> bool:
        """True if the change neither repeats nor skips a record."""
        return self.repeated.is_none and self.left_out.is_none


class ConnectorKeys(NamedTuple):
    """The keys of one connector (None: malformed keys): their number, and the producer IDs that wrote them.

    first_transactional, upgraded and last_write are timestamps. first_transactional None: it never committed in a
    transaction. upgraded is the time of the last key's first transactional write after non-transactional ones.
    """

    connector: str | None
    keys: int
    records: int
    tombstones: int
    producers: tuple[int, ...]
    first_transactional: int | None
    upgraded: int | None
    last_write: int


class KeySummary(NamedTuple):
    """Conclusions from some keys: anomalies are the earliest of each kind and connector, all are counted.

    suspicions are anomalies that count or not by the data of their transactions. latest are the last writes of keys: a
    later audit may ask what was committed with them.
    """

    connectors: tuple[ConnectorKeys, ...] = ()
    counts: tuple[tuple[str, str, int], ...] = ()
    anomalies: tuple[KeyAnomaly, ...] = ()
    suspicions: tuple[KeyAnomaly, ...] = ()
    latest: tuple[OffsetsWrite, ...] = ()


class ConfigAnomaly(NamedTuple):
    kind: str
    connector: str | None
    offset: int
    timestamp: int
    words: str


class ConnectorHistory(NamedTuple):
    """The history of one connector in the config topic.

    starts are its commits and task-count records as (timestamp, offset, kind, tasks), kind "commit" or "fencing".
    """

    connector: str
    known: bool
    fenced_ever: bool
    starts: tuple[tuple[int, int, str, int], ...]


class ConfigSummary(NamedTuple):
    connectors: tuple[ConnectorHistory, ...] = ()
    anomalies: tuple[ConfigAnomaly, ...] = ()


class SparkOptions(Struct, frozen=True):
    """The address of Spark, and the identity of its executors at Kafka.

    master is a master URL (None: this machine, or as spark-submit says). remote is a Spark Connect server.
    executor_properties is a file on the executors, or `env:NAME`; a mirror's source has its own.
    """

    master: str | None = None
    remote: str | None = None
    executor_properties: str | None = None
    source_executor_properties: str | None = None


class SparkBundle(Result, frozen=True):
    sizes: Mapping[str, int]
