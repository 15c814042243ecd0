"""Hanging transactions (KIP-664): open in a partition although no coordinator will ever end them there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from eosctl.errors import EosctlError, Unreachable
from eosctl.model.clock import ClusterClock
from eosctl.model.counts import counted
from eosctl.model.id_access import TransactionalIdAccess
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.producers import ActiveProducer
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import Ownership, TransactionDescription, TransactionState

Place = tuple[TopicPartition, int, int]
"""A partition, a producer ID, and the offset at which its transaction begins there."""


class HangingReason(StrEnum):
    """Why no coordinator will write a marker into the partition."""

    NO_TRANSACTIONAL_ID = "no-transactional-id"
    NOT_DESCRIBED = "unknown-to-coordinator"
    NOT_LISTED = "partition-not-in-transaction"


class Advice(StrEnum):
    """What to do about an open transaction: fence its transactional ID, wait for its coordinator, abort it, or have its
    application complete it (KIP-939).
    """

    FENCE = "fence"
    COMPLETE = "complete"
    WAIT = "wait"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that is open in one partition, with what its coordinator knows of the producer ID.

    transactional_id is None where no coordinator lists the producer ID; description is None where the coordinator
    does not know the ID.
    """

    active: ActiveProducer
    start_offset: int
    transactional_id: str | None
    description: TransactionDescription | None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it is open in."""
        return self.active.topic_partition

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The producer that wrote it."""
        return self.active.producer

    @property
    def place(self) -> Place:
        """What distinguishes it from every other one."""
        return self.topic_partition, self.producer.producer_id, self.start_offset

    @property
    def timeout_at_ms(self) -> int | None:
        """When its transaction timeout passes, and its coordinator aborts it; None where it does not, or is not known.

        In ms since the epoch, by the coordinator's clock. Only an ongoing transaction that is not of two-phase commit
        (KIP-939) has a timeout.
        """
        described = self.description
        if described is None or described.state is not TransactionState.ONGOING or described.is_two_phase:
            return None
        return None if described.start_ms is None else described.start_ms + described.timeout_ms

    @property
    def reason(self) -> HangingReason | None:
        """Why it hangs, by rules 2 to 5 of eosctl.analysis.hanging; None where it is in progress."""
        if self.transactional_id is None:
            return HangingReason.NO_TRANSACTIONAL_ID
        if self.description is None:
            return HangingReason.NOT_DESCRIBED
        return None if self.topic_partition in self.description.partitions else HangingReason.NOT_LISTED


@dataclass(frozen=True, slots=True)
class Verdict:
    """An open transaction that is older than the longest transaction timeout. reason None: it does not hang."""

    transaction: OpenTransaction
    reason: HangingReason | None
    advice: Advice

    @property
    def hangs(self) -> bool:
        """Whether it hangs by KIP-664's rule."""
        return self.reason is not None


@dataclass(frozen=True, slots=True)
class Undated:
    """An open transaction that no coordinator will end, and the reason why it is not known how old it is."""

    transaction: OpenTransaction
    reason: str


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """A group whose committed offset, of a share group its start offset, lies at or before the last stable offset.

    lag counts the offsets from its committed offset to the high watermark. Whether members of a consumer group read
    committed cannot be seen from outside: one that reads uncommitted is not held back. A share group that does is not
    among them.
    """

    group_id: str
    state: str
    committed_offset: int
    lag: int


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """Offsets of a group that a transaction commits, not yet decided; it lies in `__consumer_offsets` (KIP-447).

    A member of the group that reads committed asks for stable offsets and gets UNSTABLE_OFFSET_COMMIT for these
    partitions until the transaction ends: it does not begin to read them.
    """

    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What an open transaction keeps from read_committed consumers of its partition.

    holds_lso is whether it is the one that the last stable offset stands at: another one may begin before it.
    connect says which parts of a Connect cluster wait, in words. commits are the offset commits that it holds up; none
    outside `__consumer_offsets`.
    """

    offsets: PartitionOffsets | Skipped
    holds_lso: bool
    groups: tuple[WaitingGroup, ...] | Skipped
    connect: tuple[str, ...]
    commits: tuple[PendingCommit, ...] | Skipped = ()


def waiting_groups(
    offsets: PartitionOffsets, committed: Mapping[str, int], states: Mapping[str, str]
) -> tuple[WaitingGroup, ...]:
    """Groups whose committed offset lies at or before the last stable offset, largest lag first.

    A group that committed beyond it reads uncommitted and waits for nothing. One that has lag before the last stable
    offset still moves on, until it gets there.
    """
    waiting = [
        WaitingGroup(group_id, states.get(group_id, ""), offset, offsets.high_watermark - offset)
        for group_id, offset in committed.items()
        if 0 <= offset <= offsets.last_stable_offset < offsets.high_watermark
    ]
    return tuple(sorted(waiting, key=lambda each: (-each.lag, each.group_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HangingTransactions(Answer):
    """What a search for hanging transactions found; as_of is in ms since the epoch.

    verdicts are those on transactions that are old enough, held_back what each keeps from readers; undecided those that
    cannot be judged because of undecided_reasons; undated those that hang if they are as old as that, which clock, the
    cluster's (None: it was not needed), leaves open; owners those of transactional IDs. searched counts partitions,
    not_searched are those that no leader answers for. young are the open transactions that are younger than the longest
    timeout: whether their coordinators know them was not asked.
    """

    as_of: int
    cluster_id: str | None
    verdicts: tuple[Verdict, ...]
    held_back: Mapping[Place, HeldBack]
    undecided: tuple[OpenTransaction, ...]
    undecided_reasons: tuple[str, ...]
    undated: tuple[Undated, ...]
    clock: ClusterClock | Skipped | None
    owners: Mapping[str, Ownership]
    access: TransactionalIdAccess
    searched: int
    not_searched: tuple[TopicPartition, ...]
    notes: tuple[str, ...]
    young: tuple[ActiveProducer, ...] = ()

    @property
    def found(self) -> bool:
        """Whether something hangs."""
        return any(each.hangs for each in self.verdicts)

    @property
    def failure(self) -> EosctlError | None:
        """Unreachable where nothing hangs in what was seen, but not all was seen or could be judged."""
        if self.found:
            return None
        if self.undecided:
            return Unreachable(
                f"of {counted(len(self.undecided), 'open transaction')} it is not known whether they hang: "
                f"{'; '.join(self.undecided_reasons)}",
                hint="bring the brokers of these coordinators back first, then run the command again",
            )
        if self.not_searched:
            return Unreachable(
                "nothing hangs where it could be seen, but no leader answers for "
                f"{counted(len(self.not_searched), 'partition')}"
            )
        return None
