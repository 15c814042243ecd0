"""What an audit concluded, with the figures that its pictures are drawn from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.model.audit import AuditPlan
from eosctl.model.counts import counted
from eosctl.model.earlier_audit import EarlierAudit
from eosctl.model.report import SEVERITIES, Answer, Doubt, Finding, FindingKind, unread_doubts


class AuditVerdict(StrEnum):
    """Whether exactly-once held for a connector; cannot-tell where evidence has expired or could not be read.

    altered: it held, and somebody changed source offsets, so that records are in its topics twice or were left out.
    """

    HELD = "held"
    ALTERED = "altered"
    BROKEN = "broken"
    CANNOT_TELL = "cannot-tell"


WORST_FIRST: Final = (AuditVerdict.BROKEN, AuditVerdict.CANNOT_TELL, AuditVerdict.ALTERED, AuditVerdict.HELD)


class RecordCount(NamedTuple):
    """How many records, as far as it is known; at_most None: no upper bound is known."""

    at_least: int
    at_most: int | None

    @property
    def is_none(self) -> bool:
        """Whether it is known that there are none."""
        return self.at_most == 0


NO_RECORDS: Final = RecordCount(0, 0)


def total_records(counts: Iterable[RecordCount]) -> RecordCount:
    """The sum."""
    least, most = 0, 0
    known = True
    for each in counts:
        least += each.at_least
        known = known and each.at_most is not None
        most += each.at_most or 0
    return RecordCount(least, most if known else None)


def count_words(count: RecordCount, what: str) -> tuple[str, ...]:
    """A clause that says of how many records something is known; none where there are none."""
    least, most = count
    if most == 0:
        return ()
    if most is None and not least:
        return (f"an unknown number of records may have been {what}",)
    number = f"at least {counted(least, 'record')}" if most is None else counted(most, "record")
    if most is not None and least < most:
        number = f"{least:,} to {number}"
    return (f"{number} {'was' if least == most == 1 else 'were'} {what}",)


@dataclass(frozen=True, slots=True)
class ConnectorVerdict:
    """The verdict on one connector: the IDs of the findings behind it, and in words what it rests on.

    repeated_by_change are records that its topics have once more because somebody changed source offsets,
    left_out_by_change those that were never read for the same reason.
    """

    name: str
    verdict: AuditVerdict
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    repeated_by_change: RecordCount = NO_RECORDS
    left_out_by_change: RecordCount = NO_RECORDS


class Gap(NamedTuple):
    """Offsets [start, end) without a batch, and why, in the words of GapKind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class RangeEvidence:
    """What was read of one partition: proof that it was read to its end, and what its batches say together.

    records counts data records as they lie in the log: aborted_records and plain_records (outside any transaction) are
    among them; control_records (markers) are not. size_bytes is that of the batches as stored.
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


@dataclass(frozen=True, slots=True)
class TransactionStatistics:
    """Transactions of one connector (None: of producers that are no known task's).

    sizes and durations are histograms: key n counts those of 2^(n-1) up to 2^n - 1 records or ms, key 0 counts zeros.
    aborted_records and aborted_bytes are what readers with read_uncommitted saw and others did not.
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
    """A producer ID was seen with this epoch for the first time in a partition."""

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
    """A transaction that was open for long: the last stable offset could not pass start_offset meanwhile.

    from_ms is the timestamp of its first record, until_ms that of its marker, by the broker's clock; None while it is
    open. Records have the producer's time, or the broker's (message.timestamp.type=LogAppendTime), unless the connector
    sets it: MirrorSource takes the source's, and the stall then seems to have begun when the record was made there.
    """

    topic: str
    partition: int
    start_offset: int
    from_ms: int
    until_ms: int | None
    producer_id: int
    connector: str | None


@dataclass(frozen=True, slots=True)
class AuditReport(Answer):
    """The whole answer of an audit. The same ranges give the same report, whatever engine read them.

    sinks are connectors in the timeline that write to no topic of Kafka. earlier is the last run of the same job in the
    ledger; None where there was none. newly_read are the data records that this run read, None where that is all.
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

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Connectors of which it is not known whether exactly-once held, and what was not read."""
        unknown = [
            f"cannot tell whether exactly-once held for {each.name}: {'; '.join(each.reasons)}"
            for each in self.connectors
            if each.verdict is AuditVerdict.CANNOT_TELL
        ]
        judged = [] if self.connectors else ["no connector was judged"]
        reasons = (Doubt(None, each, needed=True) for each in (*judged, *unknown))
        return (*reasons, *unread_doubts(self.coverage))

    @property
    def verdict(self) -> AuditVerdict:
        """The worst verdict of all connectors; cannot-tell where there is none."""
        found = {each.verdict for each in self.connectors} or {AuditVerdict.CANNOT_TELL}
        return next(each for each in WORST_FIRST if each in found)

    @property
    def reported(self) -> tuple[Finding, ...]:
        """The findings, the worst first."""
        return tuple(sorted(self.findings, key=lambda each: SEVERITIES.index(each.severity)))

    @property
    def newly_broken(self) -> frozenset[str]:
        """Connectors for which exactly-once did not hold, and of which that was not known."""
        broken = frozenset(each.name for each in self.connectors if each.verdict is AuditVerdict.BROKEN)
        return broken if self.earlier is None else broken - self.earlier.broken

    def owner_of(self, stall: Stall) -> str:
        """Whose transaction kept the last stable offset back: a connector, or who holds the producer ID."""
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
        """Whether the last run had not found as much, or one of its connectors is broken only now."""
        if self.earlier is None:
            return None
        named = finding.evidence.get("connectors")
        return not self.earlier.has(finding) or (
            isinstance(named, list | tuple) and not self.newly_broken.isdisjoint(named)
        )

    @property
    def complete(self) -> bool:
        """Whether it is known of every connector whether exactly-once held."""
        return self.verdict is not AuditVerdict.CANNOT_TELL and not self.coverage.gaps
