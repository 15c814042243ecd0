"""The state of an audit between its runs: cursors, the ranges that were read or lost, carried state, and reports.

A job is a continued audit: one Kafka cluster, one set of topics, one run after the other. Its ledger accounts for every
settled offset once: one run read it, or a gap gives the reason why none did.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.errors import Bug
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.names import TopicPartition
from eosctl.model.report import Result

STATE_VERSION: Final = 3
"""The layout of carried payloads and the number of buckets: raised when this eosctl cannot go on with older ones."""


class Cursor(NamedTuple):
    """The progress of a job in one partition: `offset` is the first offset that no run has accounted for.

    topic_id identifies the topic that the job read (KIP-516), None if the broker reports none.
    """

    topic: str
    partition: int
    topic_id: str | None
    offset: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class LedgerRangeKind(StrEnum):
    """The fate of a range's offsets.

    read: one run read them. expired: the log start passed them before a run came. recreated: the topic was deleted and
    created again, and the offsets after the cursor are lost (start and end are the cursor; the end of the old log is
    unknown). truncated: the log ended before the cursor because an unclean leader election lost committed records;
    other records get these offsets, and the cursor moves back.
    """

    READ = "read"
    EXPIRED = "expired"
    RECREATED = "recreated"
    TRUNCATED = "truncated"


class LedgerRange(NamedTuple):
    """Offsets [start, end) of one partition of the topic with this ID, and their fate.

    records counts data records including aborted ones; control_records counts markers; all are 0 unless the range was
    read.
    """

    topic: str
    partition: int
    topic_id: str | None
    start: int
    end: int
    kind: LedgerRangeKind = LedgerRangeKind.READ
    records: int = 0
    control_records: int = 0
    aborted_records: int = 0


class CommittedRange(NamedTuple):
    run_number: int
    range: LedgerRange


class Advance(Struct, frozen=True):
    """The move of one cursor by one run: its position before (None: there was none) and after, and why.

    Raises Bug where the ranges do not account for every offset on the way, once and in order:
    1. A range that was read or has expired begins where the one before it ended, the first one at the cursor.
    2. A truncated range ends at the cursor, which goes on at its start.
    3. After a recreated one the new topic begins wherever its log starts. A cursor ends (after is None) only so, where
       the new topic has no such partition.
    """

    before: Cursor | None
    after: Cursor | None
    ranges: tuple[LedgerRange, ...] = ()

    def __post_init__(self) -> None:
        place = None if self.before is None else self.before.offset
        for each in self.ranges:
            place = _next_start(each, place)
        if self.after is not None and place is not None and self.after.offset != place:
            raise Bug(f"{self.topic_partition}: the ranges end at {place}, the cursor at {self.after.offset}")
        if self.before is None and self.after is None:
            raise Bug("a step from no cursor to no cursor")
        if self.after is None and place is not None:
            raise Bug(f"{self.topic_partition}: the cursor ends and no range says why")

    @property
    def topic_partition(self) -> TopicPartition:
        cursor = self.before or self.after
        assert cursor is not None
        return cursor.topic_partition


def _next_start(each: LedgerRange, place: int | None) -> int | None:
    """The start of the next range, None for anywhere."""
    where = f"{each.topic}-{each.partition} [{each.start}, {each.end}) {each.kind}"
    match each.kind:
        case LedgerRangeKind.RECREATED:
            if not each.start == each.end == place:
                raise Bug(f"{where}: the cursor is at {place}")
            return None
        case LedgerRangeKind.TRUNCATED:
            if each.end != place or each.start >= each.end:
                raise Bug(f"{where}: the cursor is at {place}")
            return each.start
        case _:
            if place not in {None, each.start} or each.start >= each.end:
                raise Bug(f"{where} does not continue from {place}")
            return each.end


class JobState(Struct, frozen=True):
    """The progress of a job: its last run (number 0: none yet) and its cursors. A run is planned from it.

    cluster_id is the Kafka cluster's; None if the brokers report none.
    """

    job: str
    cluster_id: str | None
    run_number: int
    run_id: str | None
    cursors: Mapping[TopicPartition, Cursor]


class CarriedBucket(NamedTuple):
    kind: StateKind
    bucket: int
    rows: tuple[StateRow, ...]


class LedgerRun(Struct, frozen=True):
    """All that one run writes to the ledger, in one transaction.

    run_id is unique to the run. state is the basis of its plan; as_of is the plan's, in ms. verdict and findings (a
    count) summarize the report, which is JSON. carried is the whole state for the next run, of all kinds and buckets;
    it replaces the previous state and is iterated once.
    """

    run_id: str
    state: JobState
    as_of: int
    verdict: str
    findings: int
    report: str
    eosctl_version: str
    advances: tuple[Advance, ...] = ()
    carried: Iterable[CarriedBucket] = ()


class Committed(NamedTuple):
    """A run that is in the ledger. found_later: the answer to COMMIT was lost, the run was then found by its ID."""

    job: str
    run_number: int
    run_id: str
    found_later: bool = False


class RunSummary(NamedTuple):
    """One run of the history; times in ms since the epoch, committed_at by the clock of the ledger's database.

    offsets counts the offsets that were read, records their data records, gaps the ranges that were not read.
    """

    job: str
    run_number: int
    run_id: str
    as_of: int
    committed_at: int
    verdict: str
    findings: int
    eosctl_version: str
    offsets: int
    records: int
    gaps: int


class JobSummary(NamedTuple):
    job: str
    cluster_id: str | None
    partitions: int
    last_run: RunSummary


class JobStatus(NamedTuple):
    summary: JobSummary
    state: JobState
    ranges: tuple[CommittedRange, ...]


class LedgerStatus(Result, frozen=True):
    """All jobs of a ledger at as_of (ms since the epoch); store is its URL without a password."""

    as_of: int
    store: str
    jobs: tuple[JobStatus, ...]

    @property
    def found(self) -> bool:
        """True if the last run of a job is broken or altered, new or not."""
        return any(each.summary.last_run.verdict in {"broken", "altered"} for each in self.jobs)


class LedgerHistory(Result, frozen=True):
    as_of: int
    store: str
    job: JobSummary
    runs: tuple[RunSummary, ...]
