"""Finds hanging transactions by KIP-664's rule, as TransactionsCommand's find-hanging applies it.

1. Candidate: a producer with an open transaction in the partition whose last timestamp is older than the longest
   transaction timeout, strictly. The timestamp is its last batch's, as the producer set it.
2. Its producer ID is looked up among all transactional IDs that coordinators list. None has it: hanging.
3. The coordinator of that ID does not know it: hanging.
4. The partition is not among those of the ID's transaction: hanging. In Ongoing a coordinator lists all partitions that
   were added, in Prepare* those that still lack their marker, so to any other partition it will write none.
5. Otherwise the transaction is in progress. State and epoch are not looked at.
6. It began in this partition as an earlier transaction of its producer, which is complete, but whose marker was
   forgotten here. A leader joins the records of both, and the next marker ends both as it ends the later one: an abort
   loses records that were committed, a commit shows records that were aborted. TransactionsCommand does not see it.

The lookups take time, in which a transaction may end. A candidate that has ended meanwhile looks like case 4. So it
must still be open, at the same offset, after the coordinators were queried: a marker is written before the transaction
is complete. TransactionsCommand does not look again.

An age is measured by two clocks: the producer's, in the timestamp, and ours. If the timestamp is in our future, or our
clock differs from the cluster's, a transaction that looks young may be old. Of these, one that would hang by rules 2 to
4 is undecided; one that is in progress is so at any age. TransactionsCommand leaves them out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.model.connectors import OFFSETS_TOPIC, ConnectorState
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import (
    Advice,
    Decision,
    FirstBatch,
    GroupLag,
    HangingReason,
    HeldBack,
    OpenTransaction,
    PartitionStability,
    PendingCommit,
    Place,
    Verdict,
    WaitingGroup,
)
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.times import CLOCKS_MS, ClusterClock, rfc3339
from eosctl.model.topics import PartitionOffsets, RecordCounts, RecordTally
from eosctl.model.transaction_log import NEWER, LogRecord, NewerLogRecord, TransactionLogRecord, TransactionLogValue
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


def decided(verdicts: Iterable[Verdict], decisions: Mapping[Place, Decision | Skipped | None]) -> tuple[Verdict, ...]:
    """The verdicts with the decisions about those that hang, and the advice that follows from them.

    1. Overtaken: the next marker is the one of the later transaction. Wait for its commit where the earlier one was
       committed, otherwise fence its producer.
    2. Decided commit: an abort would lose its records here, whatever its producer does now.
    3. Unknown: no marker is right, and fencing comes later, because its producer may be at work. Only a coordinator
       that writes markers is waited for.
    """
    return tuple(
        _with_decision(each, decisions.get(each.transaction.place)) if each.hangs else each for each in verdicts
    )


def _with_decision(verdict: Verdict, decision: Decision | Skipped | None) -> Verdict:
    advice = verdict.advice
    if isinstance(decision, Decision) and decision.committed:
        advice = Advice.WAIT if verdict.reason is HangingReason.OVERTAKEN else Advice.COMMIT
    elif isinstance(decision, Skipped) and advice is not Advice.WAIT:
        advice = Advice.UNKNOWN
    return replace(verdict, advice=advice, decision=decision)


def still_open(verdicts: Sequence[Verdict], producers: Iterable[ActiveProducer]) -> tuple[Verdict, ...]:
    """The verdicts whose transactions are still open when the partition leaders are asked again."""
    open_now = {(each.topic_partition, each.producer.producer_id, each.transaction_start_offset) for each in producers}
    return tuple(each for each in verdicts if not each.hangs or each.transaction.place in open_now)


# What the coordinator decided about a transaction that hangs.
#
# Brokers from 4.3.0 on complete a transaction without the marker of a partition that has no leader. Its records are
# committed elsewhere then, and an abort here loses them. The transaction log has the decision:
#
# 1. PrepareCommit or PrepareAbort of the producer ID has all partitions of the transaction. A Complete* state has none,
#    and compaction may leave only that.
# 2. transaction.version 2: each transaction has its own epoch, and the decision has the next one (KIP-890).
# 3. Up to 1 the decision has the epoch of the transaction, an abort by the coordinator the next one. Transactions of
#    one epoch differ in their times: the first batch is not before the start (the producer stamps it before its
#    coordinator starts the transaction) and the last one not after the decision. Producers set these times, and
#    connectors by the timestamps of their records. So only a first batch clearly after the decision rules it out.
# 4. Without a matching decision none was made, if the log reaches back to the transaction. Compaction removes the
#    oldest records of an ID first, so every record after the first remaining one is there.
# 5. Without the log the coordinator's answer shows the last transaction of the ID only. It rules a commit out where
#    the producer had no transaction since it was initialized, or where the next epoch aborted (rule 2).
# 6. A broker that has become a coordinator lists no ID before it begins to read its part of the log, and answers
#    without an error. So a producer ID that no coordinator lists, but that the log has in progress here, is unknown.
# 7. A producer ID that neither a coordinator nor the log has was never in a transaction, or its ID is forgotten.


OWN_EPOCH: Final = 2
"""The transaction.version from which on each transaction has its own epoch."""
ENDED: Final = {
    TransactionState.PREPARE_COMMIT: True,
    TransactionState.COMPLETE_COMMIT: True,
    TransactionState.PREPARE_ABORT: False,
    TransactionState.COMPLETE_ABORT: False,
}
PAST_LAST_EPOCH: Final = 32_767
"""The epoch of the last decision under a producer ID; its completion has the next producer ID and epoch 0."""
NOT_LOGGED: Final = "the transaction log no longer reaches back to it (compaction)"
NOT_LOADED: Final = Skipped(
    "no coordinator lists its producer ID, and the transaction log has it in progress with this partition: a broker "
    "that starts has not read the log yet"
)


class _Ended(NamedTuple):
    """A transaction in the log that was decided. partitions None: only its completion is left."""

    transactional_id: str
    epoch: int
    own_epoch: bool
    start_ms: int
    decided_ms: int
    committed: bool
    partitions: frozenset[TopicPartition] | None


class Marked(NamedTuple):
    """A decision, and a time (ms) that its markers are not older than, unlike those of the transaction before it."""

    decision: Decision
    marked_ms: int


class _LoggedProducer(Struct):
    """The first remaining record of the ID that held a producer ID, the last state under it, and its decisions."""

    first: TransactionLogRecord
    last: TransactionLogValue
    ended: list[_Ended] = field(default_factory=list)


class LoggedDecisions:
    """The decisions about these producer IDs, folded from records of the transaction log in the order of offsets."""

    def __init__(self, records: Iterable[LogRecord], producer_ids: Collection[int]) -> None:
        self._producers: dict[int, _LoggedProducer] = {}
        self._newer: set[str | None] = set()
        first: dict[str, TransactionLogRecord] = {}
        for record in records:
            if isinstance(record, NewerLogRecord):
                self._newer.add(record.transactional_id)
            elif record.value is not None:
                begun = first.setdefault(record.transactional_id, record)
                for producer_id in {record.value.producer.producer_id, record.value.previous_producer_id}:
                    if producer_id in producer_ids:
                        one = self._producers.setdefault(producer_id, _LoggedProducer(begun, record.value))
                        one.last = record.value
                        _add(one.ended, producer_id, record.transactional_id, record.value)

    def partitions(self) -> frozenset[TopicPartition]:
        """All partitions of the transactions that were committed."""
        ended = [each for one in self._producers.values() for each in one.ended if each.committed]
        return frozenset().union(*(each.partitions or () for each in ended))

    def last_before(self, transaction: OpenTransaction) -> "Marked | None":
        """The last decision with this partition and the epoch of the transaction in progress."""
        logged, producer = self._producers.get(transaction.producer.producer_id), transaction.producer
        ended = [
            each
            for each in (() if logged is None else logged.ended)
            if each.epoch == producer.producer_epoch and transaction.topic_partition in (each.partitions or ())
        ]
        if not ended:
            return None
        last = ended[-1]
        before = min(CLOCKS_MS, max(0, last.decided_ms - last.start_ms) // 2)
        return Marked(Decision(last.transactional_id, last.committed, last.decided_ms), last.decided_ms - before)

    def about(
        self, transaction: OpenTransaction, first_ms: int | None, *, held: bool = False
    ) -> Decision | Skipped | None:
        """By rules 1 to 4, 6 and 7; first_ms is the timestamp of its first batch (None: not known).

        held: the log is known to have an ID that held the producer ID.
        """
        name = transaction.transactional_id
        if self._newer if name is None else self._newer & {None, name}:
            return NEWER
        logged = self._producers.get(transaction.producer.producer_id)
        if logged is None:
            return Skipped(NOT_LOGGED) if held or transaction.description is not None else None
        is_here = transaction.topic_partition in (logged.last.partitions or ())
        if name is None and logged.last.state is TransactionState.ONGOING and is_here:
            return NOT_LOADED
        matches = [
            (each, is_it) for each in logged.ended if (is_it := _is_it(each, transaction, first_ms)) is not False
        ]
        return _of_matches(matches) or (None if _reaches(logged.first, transaction, first_ms) else Skipped(NOT_LOGGED))


def _of_matches(matches: Sequence[tuple[_Ended, bool | None]]) -> Decision | Skipped | None:
    """The decision among those that are about a transaction (True), or may be (None)."""
    sure = [each for each, is_it in matches if is_it]
    outcomes = {each.committed for each, _ in matches}
    if len(outcomes) > 1:
        return Skipped("a commit and an abort of its producer are in the transaction log, and either may be its end")
    if sure:
        return Decision(sure[-1].transactional_id, sure[-1].committed, sure[-1].decided_ms)
    if outcomes == {True}:
        at = rfc3339(matches[-1][0].decided_ms)
        return Skipped(f"{matches[-1][0].transactional_id} committed a transaction at {at}, which may be this one")
    return None


def _add(ended: list[_Ended], producer_id: int, name: str, value: TransactionLogValue) -> None:
    committed = ENDED.get(value.state)
    if committed is None:
        return
    held, prepared = value.producer, value.state in {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
    rolled_over = held.producer_id != producer_id
    if (rolled_over and (prepared or held.producer_epoch)) or (not prepared and ended):
        return  # of a later transaction, or the completion of the last one
    one = _Ended(
        name,
        PAST_LAST_EPOCH if rolled_over else held.producer_epoch,
        value.client_transaction_version >= OWN_EPOCH,
        value.start_ms,
        value.last_update_ms,
        committed,
        frozenset(value.partitions or ()) if prepared else None,
    )
    ended.append(one)


def _is_it(ended: _Ended, transaction: OpenTransaction, first_ms: int | None) -> bool | None:
    """True if the decision is about the transaction, None if it may be."""
    if ended.partitions is not None and transaction.topic_partition not in ended.partitions:
        return False
    raised = ended.epoch - transaction.producer.producer_epoch
    if ended.own_epoch:
        return False if raised != 1 else True if ended.partitions is not None or not ended.committed else None
    if raised not in ({0} if ended.committed else {0, 1}):
        return False
    last = transaction.active.last_timestamp
    if last is None:
        return None
    first = last if first_ms is None else first_ms
    if first > ended.decided_ms + CLOCKS_MS:
        return False
    within = ended.start_ms - CLOCKS_MS <= first and last <= ended.decided_ms
    return True if within and ended.partitions is not None else None


def _reaches(first: TransactionLogRecord, transaction: OpenTransaction, first_ms: int | None) -> bool:
    """Whether the log has every decision about the ID since the transaction began."""
    value = first.value
    assert value is not None
    held, producer = value.producer, transaction.producer
    if held.producer_id != producer.producer_id:
        return value.previous_producer_id != producer.producer_id
    if held.producer_epoch < producer.producer_epoch:
        return True
    if held.producer_epoch > producer.producer_epoch:
        return False
    if value.state is TransactionState.EMPTY or value.client_transaction_version >= OWN_EPOCH:
        return True
    begun = transaction.active.last_timestamp if first_ms is None else first_ms
    return begun is not None and first.timestamp + CLOCKS_MS < begun


def may_be_earlier(transaction: OpenTransaction, first: FirstBatch) -> bool:
    """Whether the first batch may belong to an earlier transaction of the producer than the one in progress.

    It does if its epoch is lower: an epoch rises when a transaction has ended. With one epoch it is older than the
    start of the present transaction.
    """
    described = transaction.description
    if transaction.reason is not None or described is None or described.state is not TransactionState.ONGOING:
        return False
    if described.producer.producer_id != transaction.producer.producer_id or described.start_ms is None:
        return False
    if first.producer_epoch < described.producer.producer_epoch:
        return True
    return 0 <= first.written_ms < described.start_ms - CLOCKS_MS


def overtaken(transaction: OpenTransaction, first: FirstBatch, decision: Decision | Skipped | None) -> Verdict:
    """The verdict on the earlier transaction, to which the first batch belongs."""
    earlier = replace(transaction, earlier=first)
    [verdict] = decided([Verdict(earlier, earlier.reason, Advice.FENCE)], {earlier.place: decision})
    return verdict


def as_written(transaction: OpenTransaction, first: FirstBatch) -> OpenTransaction:
    """The earlier transaction as its first batch shows it."""
    producer = ProducerIdAndEpoch(transaction.producer.producer_id, first.producer_epoch)
    active = replace(transaction.active, producer=producer, last_timestamp=first.written_ms)
    return replace(transaction, active=active)


def by_coordinator(transaction: OpenTransaction, unread: str) -> Skipped | None:
    """By rule 5: Skipped if it may be committed, with the reason why the log was not read; otherwise None."""
    described, producer = transaction.description, transaction.producer
    if described is None or described.producer.producer_id != producer.producer_id:
        return None
    raised = described.producer.producer_epoch - producer.producer_epoch
    aborted = described.state in {TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT}
    if raised < 0 or (raised == 0 and described.state is TransactionState.EMPTY) or (raised == 1 and aborted):
        return None
    return Skipped(
        f"{described.transactional_id} is {described.state.value} as {described.producer}, so this one may be "
        f"committed; the transaction log shows it, and was not read: {unread}"
    )


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
