"""What the transaction log still holds of the past, for an audit: who held a producer ID, and its transactions."""

from dataclasses import dataclass
from typing import NamedTuple

from eosctl.model.audit import TransactionalIdHolder
from eosctl.model.names import TopicPartition


class LoggedTransaction(NamedTuple):
    """A transaction that its coordinator decided to commit or to abort, as PrepareCommit or PrepareAbort shows.

    producer_epoch is that with which its producer began the session; offset that of the record in the log. decided_ms
    and completed_ms are the coordinator's times, the second once all markers were written, None until then. partitions
    are all that were added to it, whether anything was written there or not.
    """

    producer_id: int
    producer_epoch: int
    offset: int
    decided_ms: int
    committed: bool
    partitions: frozenset[TopicPartition]
    completed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TransactionLogHistory:
    """holders of the producer IDs that were asked for, as far as the log goes back; transactions in their order.

    Of a session there are all transactions or none: compaction removes the oldest records first.
    """

    holders: tuple[TransactionalIdHolder, ...] = ()
    transactions: tuple[LoggedTransaction, ...] = ()
