"""Finds hanging transactions by KIP-664's rule, as TransactionsCommand's find-hanging applies it.

1. Candidate: a producer with an open transaction in the partition whose last timestamp is older than the longest
   transaction timeout, strictly. The timestamp is its last batch's, as the producer set it.
2. Its producer ID is looked up among all transactional IDs that coordinators list. None has it: hanging.
3. The coordinator of that ID does not know it: hanging.
4. The partition is not among those of the ID's transaction: hanging. In Ongoing a coordinator lists all partitions that
   were added, in Prepare* those that still lack their marker, so to any other partition it will write none.
5. Otherwise the transaction is in progress. State and epoch are not looked at.

The lookups take time, in which a transaction may end. A candidate that has ended meanwhile looks like case 4. So it
must still be open, at the same offset, after the coordinators were queried: a marker is written before the transaction
is complete. TransactionsCommand does not look again.

An age is measured by two clocks: the producer's, in the timestamp, and ours. If the timestamp is in our future, or our
clock differs from the cluster's, a transaction that looks young may be old. Of these, one that would hang by rules 2 to
4 is undecided; one that is in progress is so at any age. TransactionsCommand leaves them out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from eosctl.model.connectors import OFFSETS_TOPIC, ConnectorState
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import (
    Advice,
    GroupLag,
    HeldBack,
    OpenTransaction,
    PartitionStability,
    PendingCommit,
    Verdict,
    WaitingGroup,
)
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets, RecordCounts, RecordTally
from eosctl.model.transactions import ActiveProducer, TransactionState

TIMEOUT_SCAN_MS: Final = 10_000
"""Default of transaction.abort.timed.out.transaction.cleanup.interval.ms: how late a coordinator aborts on timeout."""
ALL_AGES: Final = -(1 << 62)
"""A longest transaction timeout that every open transaction is older than."""


def find_candidates(
    producers: Iterable[ActiveProducer], as_of: int, max_transaction_timeout_ms: int
) -> tuple[ActiveProducer, ...]:
    """Producers whose open transaction is older than the longest timeout, at as_of (ms since the epoch)."""
    return tuple(
        each
        for each in producers
        if each.transaction_start_offset is not None
        and as_of - (-1 if each.last_timestamp is None else each.last_timestamp) > max_transaction_timeout_ms
    )


def find_young(
    producers: Iterable[ActiveProducer], as_of: int, max_transaction_timeout_ms: int
) -> tuple[ActiveProducer, ...]:
    """Producers with a younger open transaction, as far as the clocks show."""
    opened = tuple(each for each in producers if each.transaction_start_offset is not None)
    old = frozenset(find_candidates(opened, as_of, max_transaction_timeout_ms))
    return tuple(each for each in opened if each not in old)


def why_undated(last_timestamp: int | None, as_of: int, clock: ClusterClock | Skipped) -> str | None:
    """Reason why the age of a young-looking transaction is unknown at as_of (ms), or None."""
    if last_timestamp is not None and last_timestamp > as_of:
        return f"the timestamp of its last batch is {(last_timestamp - as_of) / 1000:.1f} s in the future"
    if isinstance(clock, Skipped):
        return f"the cluster's clock could not be compared with this machine's: {clock.reason}"
    return None if clock.agrees else str(clock)


def judge(transactions: Iterable[OpenTransaction], as_of: int) -> tuple[Verdict, ...]:
    return tuple(Verdict(each, each.reason, advise(each, as_of)) for each in transactions)


def advise(transaction: OpenTransaction, as_of: int) -> Advice:
    """Advice on an open transaction, whether it hangs or not.

    1. The coordinator is writing markers for the producer (Prepare*): wait. If it hangs, look again afterwards.
    2. The producer has a transaction of two-phase commit in progress (KIP-939), this one or another: complete. No
       timeout ends it (TransactionStateManager.timedOutTransactions), and fencing aborts what its application may have
       decided to commit.
    3. It is in progress and younger than its own timeout: wait, its coordinator aborts it then.
    4. The producer has a transaction in progress, this one or another: fence the ID, for it may write here again.
    5. Otherwise no client or coordinator will end it: abort.
    """
    described = transaction.description
    if described is None or described.producer.producer_id != transaction.producer.producer_id:
        return Advice.ABORT
    if described.state in {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}:
        return Advice.WAIT
    if described.state is not TransactionState.ONGOING:
        return Advice.ABORT
    if described.is_two_phase:
        return Advice.COMPLETE
    in_time = described.start_ms is not None and as_of <= described.start_ms + described.timeout_ms + TIMEOUT_SCAN_MS
    return Advice.WAIT if in_time and transaction.reason is None else Advice.FENCE


def still_open(verdicts: Sequence[Verdict], producers: Iterable[ActiveProducer]) -> tuple[Verdict, ...]:
    """The verdicts whose transactions are still open when the partition leaders are asked again."""
    open_now = {
        (each.topic_partition, each.producer.producer_id, each.transaction_start_offset)
        for each in producers
        if each.transaction_start_offset is not None
    }
    return tuple(each for each in verdicts if not each.hangs or each.transaction.place in open_now)


# The transaction that holds a last stable offset back: the open one that begins first (KIP-98).
#
# The last stable offset is the start of the first transaction that is still open, or the high watermark. A
# transaction's start in a partition is the offset of its first batch there.


def holders(offsets: PartitionOffsets, transactions: Iterable[OpenTransaction]) -> tuple[OpenTransaction, ...]:
    """The open transactions of the partition that begin first; empty if nothing is held back."""
    if offsets.held_back <= 0:
        return ()
    here = [each for each in transactions if each.topic_partition == offsets.topic_partition]
    exact = [each for each in here if each.start_offset == offsets.last_stable_offset]
    first = min((each.start_offset for each in here), default=None)
    return tuple(exact or [each for each in here if each.start_offset == first])


def stability(
    offsets: Mapping[TopicPartition, PartitionOffsets],
    transactions: Iterable[OpenTransaction],
    since_ms: Mapping[TopicPartition, int],
) -> tuple[PartitionStability, ...]:
    """Every partition with its holders, those that are held back longest first."""
    found = list(transactions)
    all_ = [
        PartitionStability(each, holders(each, found), since_ms.get(partition)) for partition, each in offsets.items()
    ]
    return tuple(
        sorted(all_, key=lambda each: (each.since_ms is None, each.since_ms or 0, each.offsets.topic_partition))
    )


def reading_committed(
    committed: Mapping[str, Mapping[TopicPartition, int] | Skipped], offsets: Mapping[TopicPartition, PartitionOffsets]
) -> dict[str, Mapping[TopicPartition, int]]:
    """The positions of each group in these partitions. A group beyond a last stable offset reads uncommitted."""
    found: dict[str, Mapping[TopicPartition, int]] = {}
    for group_id, all_of in committed.items():
        here = {} if isinstance(all_of, Skipped) else {place: at for place, at in all_of.items() if place in offsets}
        if here and all(at <= offsets[place].last_stable_offset for place, at in here.items()):
            found[group_id] = here
    return found


def behind(offsets: PartitionOffsets, position: int) -> int:
    """How many offsets lie from the position to the last stable offset."""
    return max(0, offsets.last_stable_offset - max(position, offsets.log_start_offset))


def group_lags(
    positions: Mapping[str, Mapping[TopicPartition, int]],
    groups: Mapping[str, ListedGroup],
    offsets: Mapping[TopicPartition, PartitionOffsets],
    tallies: Mapping[TopicPartition, RecordTally | Skipped],
) -> tuple[GroupLag, ...]:
    """Of each group; those with most records before them first."""
    found = [
        _group_lag(groups[group_id], {offsets[place]: at for place, at in here.items()}, tallies)
        for group_id, here in positions.items()
        if group_id in groups
    ]
    return tuple(
        sorted(found, key=lambda each: (-each.counts.readable - each.uncounted, -each.held_back, each.group.group_id))
    )


def _group_lag(
    group: ListedGroup,
    positions: Mapping[PartitionOffsets, int],
    tallies: Mapping[TopicPartition, RecordTally | Skipped],
) -> GroupLag:
    counts, uncounted, partitions = RecordCounts(0, 0, 0, 0), 0, 0
    for offsets, position in positions.items():
        left = behind(offsets, position)
        partitions += bool(left or offsets.held_back)
        tally = tallies.get(offsets.topic_partition)
        start = max(position, offsets.log_start_offset)
        known = tally.counts(start, offsets.last_stable_offset) if isinstance(tally, RecordTally) else None
        if known is None:
            uncounted += left
        else:
            counts = RecordCounts(*map(sum, zip(counts, known, strict=True)))
    return GroupLag(group, partitions, counts, uncounted, sum(each.held_back for each in positions))


def held_back(
    transaction: OpenTransaction,
    offsets: PartitionOffsets | Skipped,
    groups: Iterable[WaitingGroup] | Skipped,
    connect: Iterable[str],
    commits: tuple[PendingCommit, ...] | Skipped = (),
) -> HeldBack:
    """The partitions and groups that one open transaction keeps from readers."""
    holds = not isinstance(offsets, Skipped) and offsets.last_stable_offset == transaction.start_offset
    listed = groups if isinstance(groups, Skipped) else tuple(groups)
    return HeldBack(offsets, holds, listed, tuple(connect), commits)


# Parts of Connect that wait behind an open transaction in a topic.
#
# 1. Config topic: a worker with exactly-once enabled reads it committed and to its high watermark at start and before
#    each round of fencing, so it does not start, and tasks that are started turn FAILED.
# 2. Offsets topic (of the workers, or a connector's own): a source task with exactly-once reads it committed and to
#    the end before it starts, so connectors whose offsets are there do not start.
# 3. A sink connector reads as the group `connect-<name>`, unless `consumer.override.group.id` says otherwise.


SINK_GROUP: Final = "consumer.override.group.id"


class ConnectTopics(Struct, frozen=True):
    """The internal topics of one Connect cluster, and its connectors as its config topic has them."""

    group_id: str
    config_topic: str
    offsets_topic: str
    connectors: Mapping[str, ConnectorState]


def waiting_parts(topic: str, groups: Iterable[str], cluster: ConnectTopics | None) -> tuple[str, ...]:
    """Parts of the Connect cluster that wait behind this topic, in words; empty if no cluster is known."""
    if cluster is None:
        return ()
    found = []
    if topic == cluster.config_topic:
        found.append(f"workers of Connect cluster {cluster.group_id}: config topic; none with exactly-once starts")
    own = [name for name, state in cluster.connectors.items() if _config(state, OFFSETS_TOPIC) == topic]
    if topic == cluster.offsets_topic:
        found.append(f"source connectors of Connect cluster {cluster.group_id}: offsets topic; none starts its tasks")
    found += [f"connector {name}: its offsets topic; it does not start its tasks" for name in sorted(own)]
    sinks = {_config(state, SINK_GROUP) or f"connect-{name}": name for name, state in cluster.connectors.items()}
    found += [f"sink connector {sinks[group]}: it reads this topic" for group in sorted(set(groups) & sinks.keys())]
    return tuple(found)


def _config(state: ConnectorState, key: str) -> str | None:
    value = None if state.config is None else state.config.get(key)
    return value if isinstance(value, str) else None
