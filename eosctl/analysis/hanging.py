"""Which open transactions hang: KIP-664's rule, as TransactionsCommand's find-hanging applies it.

1. Candidate: a producer with an open transaction in the partition whose last timestamp is older than the longest
   transaction timeout, strictly. The timestamp is its last batch's, as the producer set it.
2. Its producer ID is looked up among all transactional IDs that coordinators list. None has it: hanging.
3. The coordinator of that ID does not know it: hanging.
4. The partition is not among those of the ID's transaction: hanging. In Ongoing a coordinator lists all partitions that
   were added, in Prepare* those that still lack their marker, so to any other partition it will write none.
5. Otherwise the transaction is in progress. State and epoch are not looked at.

The lookups take time, in which a transaction may end. One that was a candidate and has ended looks like case 4, so what
hangs must be seen still open, at the same offset, after the coordinators were asked: a marker is written before the
transaction is complete. TransactionsCommand does not look again.

An age is measured by two clocks: the producer's, in the timestamp, and ours. Where the timestamp lies in our future, or
our clock is not the cluster's, a transaction that looks young may be old. Of these, one that would hang by rules 2 to 4
is undecided; one that is in progress is so at any age. TransactionsCommand leaves them out.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from eosctl.model.clock import ClusterClock
from eosctl.model.hanging import Advice, OpenTransaction, Verdict
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionState

TIMEOUT_SCAN_MS: Final = 10_000
"""Default of transaction.abort.timed.out.transaction.cleanup.interval.ms: how late a coordinator aborts on timeout."""
ALL_AGES: Final = -(1 << 62)
"""A longest transaction timeout that every open transaction is older than."""


def find_candidates(
    producers: Iterable[ActiveProducer], as_of: int, max_transaction_timeout_ms: int
) -> tuple[ActiveProducer, ...]:
    """Those with an open transaction that is older than the longest timeout, at as_of (ms since the epoch)."""
    return tuple(
        each
        for each in producers
        if each.transaction_start_offset is not None
        and as_of - (-1 if each.last_timestamp is None else each.last_timestamp) > max_transaction_timeout_ms
    )


def find_young(
    producers: Iterable[ActiveProducer], as_of: int, max_transaction_timeout_ms: int
) -> tuple[ActiveProducer, ...]:
    """Those with an open transaction that are no candidates: younger, as far as the clocks show."""
    opened = tuple(each for each in producers if each.transaction_start_offset is not None)
    old = frozenset(find_candidates(opened, as_of, max_transaction_timeout_ms))
    return tuple(each for each in opened if each not in old)


def why_undated(last_timestamp: int | None, as_of: int, clock: ClusterClock | Skipped) -> str | None:
    """Why it is not known how old a transaction is that looks young at as_of (ms); None where it is known."""
    if last_timestamp is not None and last_timestamp > as_of:
        return f"the timestamp of its last batch is {(last_timestamp - as_of) / 1000:.1f} s in the future"
    if isinstance(clock, Skipped):
        return f"the cluster's clock could not be compared with this machine's: {clock.reason}"
    return None if clock.agrees else str(clock)


def judge(transactions: Iterable[OpenTransaction], as_of: int) -> tuple[Verdict, ...]:
    """A verdict on each candidate, with advice by `advise`."""
    return tuple(Verdict(each, each.reason, advise(each, as_of)) for each in transactions)


def advise(transaction: OpenTransaction, as_of: int) -> Advice:
    """What to do about an open transaction, whether it hangs or not.

    1. The coordinator is writing markers for the producer (Prepare*): wait. If it hangs, look again afterwards.
    2. The producer has a transaction of two-phase commit in progress (KIP-939), this one or another: complete. No
       timeout ends it (TransactionStateManager.timedOutTransactions), and fencing aborts what its application may have
       decided to commit.
    3. It is in progress and younger than its own timeout: wait, its coordinator aborts it then.
    4. The producer has a transaction in progress, this one or another: fence the ID, for it may write here again.
    5. Otherwise nobody will end it: abort.
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
    """The verdicts without those of transactions that the partitions' leaders, asked again, no longer have open."""
    open_now = {
        (each.topic_partition, each.producer.producer_id, each.transaction_start_offset)
        for each in producers
        if each.transaction_start_offset is not None
    }
    return tuple(each for each in verdicts if not each.hangs or each.transaction.place in open_now)
