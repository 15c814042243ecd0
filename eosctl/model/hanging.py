"""Hanging transactions (KIP-664): open in a partition although no coordinator will ever end them there."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field

from eosctl.errors import EosctlError, Unreachable
from eosctl.model.groups import ListedGroup
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Result
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets, RecordCounts
from eosctl.model.transactions import (
    ActiveProducer,
    Described,
    ListedTransactions,
    Ownership,
    TransactionalIdAccess,
    TransactionDescription,
    TransactionState,
    no_leader_answers,
    transactional_ids_by_producer,
)

Place = tuple[TopicPartition, int, int]
"""A partition, a producer ID, and the offset at which its transaction begins there."""


class HangingReason(StrEnum):
    NO_TRANSACTIONAL_ID = "no-transactional-id"
    NOT_DESCRIBED = "unknown-to-coordinator"
    NOT_LISTED = "partition-not-in-transaction"
    OVERTAKEN = "earlier-transaction"


class Advice(StrEnum):
    """The remedy for an open transaction: fence its transactional ID, wait for its coordinator, abort it, have its
    application complete it (KIP-939), or write the commit marker that its coordinator decided on.

    Unknown: it may be committed elsewhere, so neither an abort nor a commit is right before that is known.
    """

    FENCE = "fence"
    COMPLETE = "complete"
    WAIT = "wait"
    ABORT = "abort"
    COMMIT = "commit"
    UNKNOWN = "unknown"


class FirstBatch(NamedTuple):
    """The first batch of an open transaction in a partition: its producer's epoch, and its time in ms."""

    producer_epoch: int
    written_ms: int


class OpenTransaction(Struct, frozen=True):
    """An open transaction in one partition, with its coordinator's state of the producer ID.

    transactional_id is None if no coordinator lists the producer ID; description is None if the coordinator does not
    know the ID. earlier is its first batch, if that belongs to an earlier transaction of the producer.
    """

    active: ActiveProducer
    start_offset: int
    transactional_id: str | None
    description: TransactionDescription | None
    earlier: FirstBatch | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        return self.active.topic_partition

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return self.active.producer

    @property
    def place(self) -> Place:
        return self.topic_partition, self.producer.producer_id, self.start_offset

    @property
    def timeout_at_ms(self) -> int | None:
        """When its transaction timeout passes and its coordinator aborts it; None if there is no timeout, or it is
        unknown.

        In ms since the epoch, by the coordinator's clock. Only an ongoing transaction without two-phase commit
        (KIP-939) has a timeout.
        """
        described = self.description
        if described is None or described.state is not TransactionState.ONGOING or described.is_two_phase:
            return None
        return None if described.start_ms is None else described.start_ms + described.timeout_ms

    @property
    def decided_by(self) -> str:
        """What to do where it is not known whether its coordinator decided to commit it."""
        name = "" if self.transactional_id is None else f" {shlex.quote(self.transactional_id)}"
        return (
            f"grant Read on __transaction_state if it is missing; `eosctl transactions log{name} --history` shows what "
            "is left of the decisions. If no broker was 4.3.0 or later since it began, no marker was forgotten: abort "
            "it with --force. Otherwise abort it only if its application produces the records again"
        )

    @property
    def reason(self) -> HangingReason | None:
        """Why it hangs, by rules 2 to 6 of eosctl.analysis.hanging; None if it is in progress."""
        if self.earlier is not None:
            return HangingReason.OVERTAKEN
        if self.transactional_id is None:
            return HangingReason.NO_TRANSACTIONAL_ID
        if self.description is None:
            return HangingReason.NOT_DESCRIBED
        return None if self.topic_partition in self.description.partitions else HangingReason.NOT_LISTED


class Decision(Struct, frozen=True):
    """What the coordinator decided about a transaction, and when (ms since the epoch): it is in the transaction log."""

    transactional_id: str
    committed: bool
    decided_ms: int

    def finished_by(self, transaction: OpenTransaction) -> str:
        """The command that writes the marker of a commit in the partitions that lack it."""
        held = transaction.producer
        return (
            f"write the commit marker: eosctl transactions commit {shlex.quote(self.transactional_id)} "
            f"--producer-id {held.producer_id} --producer-epoch {held.producer_epoch} "
            "--missing-markers"
        )


class Verdict(Struct, frozen=True):
    """An open transaction that is older than the longest transaction timeout. reason None: it does not hang.

    decision is about a hanging one: None if its coordinator decided on nothing with this partition, Skipped if it may
    have decided to commit.
    """

    transaction: OpenTransaction
    reason: HangingReason | None
    advice: Advice
    decision: Decision | Skipped | None = None

    @property
    def hangs(self) -> bool:
        return self.reason is not None


class UnknownAge(Struct, frozen=True):
    """An open transaction that no coordinator will end, and the reason why it is not known how old it is.

    decision is as in Verdict.
    """

    transaction: OpenTransaction
    reason: str
    decision: Decision | Skipped | None = None


class WaitingGroup(Struct, frozen=True):
    """A group whose committed offset (or start offset of a share group) is at or before the last stable offset.

    lag counts the offsets from its committed offset to the high watermark. Brokers do not show whether a consumer group
    reads committed; one that reads uncommitted is not held back. Share groups that read uncommitted are left out.
    protocol_type is as listed.
    """

    group_id: str
    state: str
    committed_offset: int
    lag: int
    protocol_type: str = ""

    def __str__(self) -> str:
        return str(ListedGroup(self.group_id, self.protocol_type, self.state))


class PendingCommit(Struct, frozen=True):
    """Offsets of a group in an undecided transaction; the record is in `__consumer_offsets` (KIP-447).

    A member of the group that requests stable offsets gets UNSTABLE_OFFSET_COMMIT for these partitions until the
    transaction ends: it does not start to read them. Java consumers of any isolation level request them
    (ConsumerCoordinator and CommitRequestManager set requireStable), librdkafka with read_committed.
    """

    group_id: str
    partitions: tuple[TopicPartition, ...]


class HeldBack(Struct, frozen=True):
    """The effect of an open transaction on read_committed consumers of its partition.

    holds_lso: the last stable offset is at its beginning; otherwise another transaction begins earlier. connect names
    the waiting parts of a Connect cluster. commits are the offset commits that it delays; empty outside
    `__consumer_offsets`.
    """

    offsets: PartitionOffsets | Skipped
    holds_lso: bool
    groups: tuple[WaitingGroup, ...] | Skipped
    connect: tuple[str, ...]
    commits: tuple[PendingCommit, ...] | Skipped = ()


def waiting_groups(
    offsets: PartitionOffsets, committed: Mapping[str, int], groups: Mapping[str, ListedGroup]
) -> tuple[WaitingGroup, ...]:
    """Groups whose committed offset lies at or before the last stable offset, largest lag first.

    A group that committed beyond it reads uncommitted and waits for nothing. One that has lag before the last stable
    offset still moves on, until it gets there.
    """
    unlisted = ListedGroup("", "", "")
    waiting = [
        WaitingGroup(group_id, group.state, offset, offsets.high_watermark - offset, group.protocol_type)
        for group_id, offset in committed.items()
        for group in (groups.get(group_id, unlisted),)
        if 0 <= offset <= offsets.last_stable_offset < offsets.high_watermark
    ]
    return tuple(sorted(waiting, key=lambda each: (-each.lag, each.group_id)))


class HangingTransactions(Result, frozen=True, kw_only=True):
    """The result of a search for hanging transactions; as_of is in ms since the epoch.

    verdicts cover the transactions that are old enough; held_back has their effects on consumers. undecided cannot be
    judged because of undecided_reasons. undated hang if they are old enough, which the clocks leave open; clock is the
    cluster's (None: not needed). owners are the owners of transactional IDs. searched counts partitions; not_searched
    are those without an answer from a leader. young are open transactions younger than the longest timeout; their
    coordinators were not queried. producers counts the producers of the partitions that each broker leads.
    """

    as_of: int
    cluster_id: str | None
    verdicts: tuple[Verdict, ...]
    held_back: Mapping[Place, HeldBack]
    undecided: tuple[OpenTransaction, ...]
    undecided_reasons: tuple[str, ...]
    undated: tuple[UnknownAge, ...]
    clock: ClusterClock | Skipped | None
    owners: Mapping[str, Ownership]
    access: TransactionalIdAccess
    searched: int
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]
    young: tuple[ActiveProducer, ...] = ()
    producers: Mapping[int, int] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        return any(each.hangs for each in self.verdicts)

    @property
    def failure(self) -> EosctlError | None:
        if self.found:
            return None
        if self.undecided:
            return Unreachable(
                f"of {pluralize(len(self.undecided), 'open transaction')} it is not known whether they hang: "
                f"{'; '.join(self.undecided_reasons)}",
                hint="bring the brokers of these coordinators back first, then run the command again",
            )
        if self.not_searched:
            return Unreachable(
                "nothing hangs where it could be seen, but no leader answers for "
                f"{pluralize(len(self.not_searched), 'partition')}"
            )
        return None


class JoinedTransactions(Struct, frozen=True):
    """Open transactions with the coordinators' answers; undecided are those that a silent coordinator might know.

    reasons name the silent coordinators, if they matter.
    """

    transactions: tuple[OpenTransaction, ...]
    undecided: tuple[OpenTransaction, ...]
    reasons: tuple[str, ...]

    def require(self) -> None:
        if self.undecided:
            raise Unreachable(
                "; ".join(self.reasons),
                hint="without its answer it is not known whether a transaction hangs; bring its broker back first",
            )


def join_open_transactions(
    candidates: Iterable[ActiveProducer],
    transactional_ids: Mapping[int, str],
    descriptions: Mapping[str, TransactionDescription],
) -> tuple[OpenTransaction, ...]:
    found = []
    for each in candidates:
        name = transactional_ids.get(each.producer.producer_id)
        described = None if name is None else descriptions.get(name)
        if each.transaction_start_offset is not None:
            found.append(OpenTransaction(each, each.transaction_start_offset, name, described))
    return tuple(sorted(found, key=lambda each: each.place))


def join_answers(
    candidates: Collection[ActiveProducer], listed: ListedTransactions, described: Mapping[str, Described]
) -> JoinedTransactions:
    """Joins producers with an open transaction with their listed IDs and the descriptions of these.

    A broker that does not list its IDs hides them, and so does a leaderless partition of the transaction log. A
    producer that no broker lists is then undecided, and so is one whose coordinator does not answer. Raises
    NotAuthorized if an ID may not be described.
    """
    ids = {each.producer.producer_id for each in candidates}
    names = transactional_ids_by_producer(listed.transactions)
    unlisted = ids - names.keys() if listed.unlisted else set()
    reasons = list(listed.unlisted) if unlisted else []
    silent: set[str] = set()
    descriptions: dict[str, TransactionDescription] = {}
    for name, answer in described.items():
        if isinstance(answer, Unreachable):
            reasons.append(answer.message)
            silent.add(name)
        elif isinstance(answer, EosctlError):
            raise answer
        elif answer is not None:
            descriptions[name] = answer
    hidden = unlisted | {producer_id for producer_id, name in names.items() if name in silent}
    joined = join_open_transactions(candidates, names, descriptions)
    return JoinedTransactions(
        tuple(each for each in joined if each.producer.producer_id not in hidden),
        tuple(each for each in joined if each.producer.producer_id in hidden),
        tuple(dict.fromkeys(reasons)),
    )


class PartitionStability(Struct, frozen=True):
    """One partition's offsets, and the open transactions between last stable offset and high watermark.

    holders begin at the last stable offset; if none does (a log may be compacted), the earliest ones. since_ms is the
    timestamp of the first batch at or after the last stable offset, None if nothing is held back.
    """

    offsets: PartitionOffsets
    holders: tuple[OpenTransaction, ...]
    since_ms: int | None


class GroupReading(Struct, frozen=True):
    """A consumer group by the offsets that it committed, of a share group its start offsets.

    pending are the partitions whose offsets of the group an open transaction commits: members that read committed do
    not begin there (KIP-447).
    """

    group: ListedGroup
    committed: Mapping[TopicPartition, int] | Skipped
    pending: tuple[TopicPartition, ...] | Skipped = ()

    @property
    def group_id(self) -> str:
        return self.group.group_id

    def at(self, place: TopicPartition) -> int | None:
        return None if isinstance(self.committed, Skipped) else self.committed.get(place)

    def is_held_back(self, offsets: PartitionOffsets) -> bool:
        """True if the group may wait for records; a group that committed beyond the last stable offset does not."""
        committed = self.at(offsets.topic_partition)
        return offsets.held_back > 0 and committed is not None and committed <= offsets.last_stable_offset


class GroupLag(Struct, frozen=True):
    """The content after a group's committed offsets in all its partitions, for members with read_committed.

    partitions counts those where it is behind or held back. counts are the sums of those that were counted; uncounted
    are the offsets before the last stable offsets of the others. held_back are the offsets between last stable offset
    and high watermark where the group is not beyond.
    """

    group: ListedGroup
    partitions: int
    counts: RecordCounts
    uncounted: int
    held_back: int


class LastStableOffsets(Result, frozen=True, kw_only=True):
    """Partitions with the transactions that hold back their last stable offsets; as_of is in ms since the epoch.

    free counts the other partitions; not_searched are those without an answer from a leader. owners belong to
    transactional IDs; group is the requested one, and counts are of what it can still read of the partitions. Without
    it, lags are those of all consumer groups that may read committed, those with most before them first. overtaken are
    the transactions that began as an earlier one of their producer, whose marker is missing.
    """

    as_of: int
    cluster_id: str | None
    partitions: tuple[PartitionStability, ...]
    free: int
    owners: Mapping[str, Ownership]
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]
    group: GroupReading | None = None
    counts: Mapping[TopicPartition, RecordCounts | Skipped] = field(default_factory=dict)
    lags: tuple[GroupLag, ...] | Skipped = ()
    overtaken: Mapping[Place, Verdict] = field(default_factory=dict)

    @property
    def failure(self) -> EosctlError | None:
        return no_leader_answers(self.not_searched)


NO_LEADER: Final = -1


class PartitionProducers(Struct, frozen=True):
    """One partition, its leader, and the leader's report.

    leader is NO_LEADER and offsets None if no leader answered. since_ms is the timestamp of the first batch at or after
    the last stable offset, None if nothing is held back. waiting are the groups that may wait there; commits are the
    offset commits of its open transactions by producer ID.
    """

    topic_partition: TopicPartition
    leader: int
    offsets: PartitionOffsets | None
    producers: tuple[ActiveProducer, ...] = ()
    since_ms: int | None = None
    waiting: tuple[WaitingGroup, ...] | Skipped = ()
    commits: Mapping[int, tuple[PendingCommit, ...]] | Skipped = field(default_factory=dict)


class ProducersFacts(Struct, frozen=True):
    """All visible partitions, the visibility of transactional IDs, and the cluster's groups.

    Leaders were queried before the coordinators and again afterwards: an open transaction that ended in between is left
    out.
    """

    partitions: Mapping[TopicPartition, PartitionProducers]
    access: TransactionalIdAccess | Skipped
    groups: Mapping[str, ListedGroup] | Skipped
