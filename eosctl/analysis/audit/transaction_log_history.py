"""The past of some producer IDs, folded from the records of `__transaction_state`, in offset order.

1. Every record of a transactional ID names the producer ID that held it then; tombstones name none.
2. InitProducerId logs Empty with the epoch of the session that begins. What follows of the same producer ID, up to the
   next Empty, is of that session, a last transaction that was aborted with a higher epoch included.
3. PrepareCommit and PrepareAbort name all partitions of the transaction. What is logged before it is passed over.
4. CompleteCommit and CompleteAbort are appended once all markers are written, which takes as long as a partition has no
   leader. Their last update is of the decision; the timestamp of their record is later than the markers.
5. The cleaner keeps the last record of an ID in what it has cleaned, and everything in what it has not. So if a
   session's Empty is there, all of its later records are.
"""

from collections.abc import Collection, Iterable
from typing import Final

from eosctl.model.audit import TransactionalIdHolder
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transaction_log import LogRecord, TransactionLogRecord
from eosctl.model.transaction_log_history import LoggedTransaction, TransactionLogHistory
from eosctl.model.transactions import TransactionState

PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})


def fold_transaction_log_history(records: Iterable[LogRecord], producer_ids: Collection[int]) -> TransactionLogHistory:
    """What the records say of these producer IDs."""
    sessions: dict[str, ProducerIdAndEpoch] = {}
    holders: set[tuple[int, str]] = set()
    transactions: list[LoggedTransaction] = []
    known: dict[frozenset[TopicPartition], frozenset[TopicPartition]] = {}
    incomplete: dict[str, int] = {}
    for record in records:
        if not isinstance(record, TransactionLogRecord) or record.value is None:
            continue
        value, name = record.value, record.transactional_id
        if value.producer.producer_id not in producer_ids:
            continue
        holders.add((value.producer.producer_id, name))
        if value.state is TransactionState.EMPTY:
            sessions[name] = value.producer
        session = sessions.get(name)
        last = incomplete.pop(name, None)
        if last is not None and value.state in COMPLETE:
            transactions[last] = transactions[last]._replace(completed_ms=record.timestamp)
        if value.state in PREPARED and session is not None and session.producer_id == value.producer.producer_id:
            places = frozenset(value.partitions or ())
            incomplete[name] = len(transactions)
            transactions.append(
                LoggedTransaction(
                    session.producer_id,
                    session.producer_epoch,
                    record.offset,
                    value.last_update_ms,
                    value.state is TransactionState.PREPARE_COMMIT,
                    known.setdefault(places, places),
                )
            )
    return TransactionLogHistory(tuple(TransactionalIdHolder(*each) for each in sorted(holders)), tuple(transactions))
