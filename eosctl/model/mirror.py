"""Input and result of a mirror's audit: pairs of partitions, where they differ, and the verdict on each pair."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.model.audit import AuditedTopic, AuditVerdict, JudgedResult, PartitionBounds, Witness
from eosctl.model.groups import Checkpoint
from eosctl.model.names import Side, TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.model.report import FoundResult
from eosctl.model.skipped import Skipped

NO_TIME: Final = -1


class Compared(StrEnum):
    """The parts of a record in its digest.

    A weaker one is used if no record is equal by the stronger one: the omitted parts were changed on the way, as by
    message.timestamp.type=LogAppendTime or by a header.converter other than ByteArrayConverter.
    """

    WHOLE = "key, value, headers and timestamp"
    WITHOUT_TIMESTAMP = "key, value and headers"
    WITHOUT_HEADERS = "key, value and timestamp"
    KEY_AND_VALUE = "key and value"


class TopicPair(NamedTuple):
    source: str
    target: str


class Translated(NamedTuple):
    """A checkpoint against the records: behind counts source records that the group reads again in the target.

    Below 0 it would skip as many.
    """

    checkpoint: Checkpoint
    behind: int


class PartitionPair(Struct, frozen=True):
    """One partition on both sides, with the bounds that were read before any record.

    position is the source offset of the last record that the mirror committed to the worker's offsets topic, None: no
    commit; Skipped: unread. checkpoints are the latest of each consumer group.
    """

    topics: TopicPair
    partition: int
    source: PartitionBounds
    target: PartitionBounds
    position: int | Skipped | None = None
    checkpoints: tuple[Checkpoint, ...] = ()

    def place(self, side: Side) -> TopicPartition:
        """The partition on that side."""
        return TopicPartition(self.topics.source if side is Side.SOURCE else self.topics.target, self.partition)

    def __str__(self) -> str:
        return f"{self.place(Side.SOURCE)} -> {self.place(Side.TARGET)}"


class Stretch(NamedTuple):
    """Consecutive records of one side that are not consecutive on the other side.

    source_start and source_end are offsets of the source [start, end), target_start and target_end of the target. If a
    side has none of the records, both ends are the place where they would be. records counts them. timestamp (ms;
    NO_TIME: none) belongs to the batch of the first one.
    """

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    records: int
    timestamp: int = NO_TIME


class Damage(NamedTuple):
    side: Side
    start: int
    end: int
    reason: str


class Alignment(Struct, frozen=True):
    """The result of comparing one pair of partitions.

    first and last are the first and the last pair of equal records, in order (source offset, target offset). matched
    counts the source records in the target, without repeats. head are source records before the first equal one, lead
    the target's; lag are source records after the last equal one. gaps: committed source records that the target does
    not have after the first equal one. late: target records after one that follows them in the source. repeats: target
    records that came before. aborted: target records from aborted or undecided source transactions. unknown: target
    records that equal no source record. aborted_in_target counts the target's records of aborted transactions, which
    read_committed consumers skip. continued is the pair of offsets at which this run continued an earlier one.
    translated are the checkpoints that could be compared. source_records counts the source's committed records.
    """

    compared: Compared = Compared.WHOLE
    matched: int = 0
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    head: Stretch | None = None
    lead: Stretch | None = None
    lag: Stretch | None = None
    gaps: tuple[Stretch, ...] = ()
    late: tuple[Stretch, ...] = ()
    repeats: tuple[Stretch, ...] = ()
    aborted: tuple[Stretch, ...] = ()
    unknown: tuple[Stretch, ...] = ()
    damages: tuple[Damage, ...] = ()
    source_records: int = 0
    target_records: int = 0
    source_bytes: int = 0
    target_bytes: int = 0
    aborted_in_target: int = 0
    translated: tuple[Translated, ...] = ()
    more: int = 0
    continued: tuple[int, int] | None = None


class MirroredTopic(Struct, frozen=True):
    """A pair of topics with the settings that decide what may differ.

    isolation is the level of the mirror's consumer.
    """

    topics: TopicPair
    source: AuditedTopic
    target: AuditedTopic

    @property
    def compacted(self) -> tuple[Side, ...] | Skipped:
        sides = {Side.SOURCE: self.source.cleanup_policy, Side.TARGET: self.target.cleanup_policy}
        for policy in sides.values():
            if isinstance(policy, Skipped):
                return policy
        return tuple(side for side, policy in sides.items() if "compact" in str(policy))


class MirrorPlan(Struct, frozen=True):
    """All that an audit of a mirror will read, resolved once. as_of is in ms since the epoch.

    isolation is the isolation.level of the mirror's consumer, if known: with read_uncommitted it mirrors aborted
    records too. unpaired are partitions of only one side. offsets_topics are the topics with the mirror's source
    offsets.
    """

    as_of: int
    source_cluster: str | None
    target_cluster: str | None
    topics: tuple[MirroredTopic, ...]
    pairs: tuple[PartitionPair, ...]
    isolation: IsolationLevel | Skipped
    unpaired: Mapping[str, str] = field(default_factory=dict)
    offsets_topics: tuple[str, ...] = ()

    @property
    def aligned_by(self) -> tuple[str, ...]:
        """The facts that match a target record to its source record.

        Offset syncs do not: a mirror that goes wrong writes wrong ones.
        """
        return ("digests of records", *(f"the mirror's source offsets in {each}" for each in self.offsets_topics))

    def topic(self, pair: TopicPair) -> MirroredTopic:
        return next(each for each in self.topics if each.topics == pair)


class PairVerdict(Struct, frozen=True):
    pair: PartitionPair
    alignment: Alignment
    verdict: AuditVerdict
    evidence: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


class MirrorReport(JudgedResult, FoundResult, frozen=True, kw_only=True):
    """The same records give the same report."""

    plan: MirrorPlan
    pairs: tuple[PairVerdict, ...]
    witnesses: tuple[Witness, ...] = ()
    source_tools: str = ""

    @property
    def verdicts(self) -> Iterable[AuditVerdict]:
        return (each.verdict for each in self.pairs)


# The progress of the comparison of one mirrored pair of partitions, from which a later run continues. || It is the
# state at a pair of offsets before which the end of neither side decided anything.


class Counts(NamedTuple):
    """Counts of one side: committed and aborted records, and bytes.

    Every batch that begins before the offset `until` is counted, and no other.
    """

    until: int = -1
    records: int = 0
    size_bytes: int = 0
    aborted: int = 0


NOTHING: Final = Counts()


class KeptRuns(NamedTuple):
    """Stretches of one kind, how many more there were, and where the next record has to lie to belong to the last."""

    stretches: tuple[Stretch, ...]
    more: int
    following: tuple[int, int] | None


class MissingRun(NamedTuple):
    start: int
    end: int
    stretch: Stretch


class EqualRun(NamedTuple):
    """Records that are equal on both sides, with no other one in between, from a pair of offsets to another one.

    context is the source offset of the record from which on the last ones are kept to look into.
    """

    source_start: int
    target_start: int
    source_last: int
    target_last: int
    records: int
    context: int


class EqualPiece(NamedTuple):
    """A piece of a pair of partitions, from the pair of offsets `begins` to `ends`, and how far it is equal.

    whole is whether nothing on either side follows the run before `ends`. Counted are batches that begin in the piece.
    """

    begins: tuple[int, int]
    ends: tuple[int, int]
    run: EqualRun
    whole: bool
    source: Counts
    target: Counts


class Kept(Struct, frozen=True):
    """Both cursors, and all findings before them.

    A place counts the committed records of a side from the first one on. source_next and target_next are offsets: of
    the expected record, and of the first unexplained target record; source and target places belong to them. waiting
    counts later target records that were looked at. From the source offset `context` on, context_records lie before the
    source's cursor; repeated and late records are searched there. last is the last pair of equal records. aborted_taken
    are the source offsets of aborted records that were found in the target.
    """

    source_next: int
    source_place: int
    context: int
    context_records: int
    target_next: int
    target_place: int
    waiting: int
    first: tuple[int, int] | None
    first_place: int
    last: tuple[int, int] | None
    matched: int
    runs: Mapping[str, KeptRuns]
    missing: tuple[MissingRun, ...] = ()
    aborted_taken: tuple[int, ...] = ()
    searches: tuple[int, int, int] = (0, 0, 0)


class MirrorProgress(Struct, frozen=True):
    topics: TopicPair
    partition: int
    source_id: str
    target_id: str
    kept: Kept
    source: Counts
    target: Counts


class Again(NamedTuple):
    """Why everything is compared again. hides: records that no run compared may be gone."""

    why: str
    hides: bool = False


class ComparedPair(NamedTuple):
    """The result of comparing one pair, and the progress for a later run (None: it must compare everything).

    again says why an earlier run's progress was not gone on from.
    """

    alignment: Alignment
    progress: MirrorProgress | None = None
    again: Again | None = None
