"""The history of transactional IDs: what each record of the transaction log says, given the one before it."""

from collections.abc import Iterable, Iterator

from eosctl.model.counts import counted
from eosctl.model.transaction_log import HistoryEntry, LogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState


def history(records: Iterable[LogRecord]) -> Iterator[HistoryEntry]:
    """Every record with what it says, given the one before it of the same ID; in the order of reading.

    Compaction keeps the last record of each ID only, so a history may begin anywhere.
    """
    before: dict[str, TransactionLogValue | None] = {}
    for record in records:
        if isinstance(record, TransactionLogRecord):
            name, now = record.transactional_id, record.value
            forgotten = name in before and before[name] is None
            yield HistoryEntry(record, _words(before.get(name), now, record.timestamp, forgotten=forgotten))
            before[name] = now


def _words(before: TransactionLogValue | None, now: TransactionLogValue | None, at: int, *, forgotten: bool) -> str:
    if now is None:
        return "forgotten: idle for transactional.id.expiration.ms"
    match now.state:
        case TransactionState.EMPTY:
            words = _initialised(before, now, forgotten=forgotten)
        case TransactionState.ONGOING:
            words = _ongoing(before, now)
        case TransactionState.PREPARE_COMMIT:
            words = "commit decided; markers are being written"
        case TransactionState.PREPARE_ABORT:
            words = f"abort decided{_by_coordinator(before, now)}; markers are being written"
        case TransactionState.COMPLETE_COMMIT:
            words = f"committed{_duration(now, at)}"
        case TransactionState.COMPLETE_ABORT:
            words = f"aborted{_duration(now, at)}"
        case state:
            words = str(state.value)
    return words


def _initialised(before: TransactionLogValue | None, now: TransactionLogValue, *, forgotten: bool) -> str:
    if before is None:
        again = " again, after it was forgotten" if forgotten else ""
        return f"initialised{again}, epoch {now.producer.producer_epoch}"
    if before.producer.producer_id != now.producer.producer_id:
        return f"initialised with another producer ID: the epochs of {before.producer.producer_id} are used up"
    epochs = f"{before.producer.producer_epoch} to {now.producer.producer_epoch}"
    return f"initialised, epoch {epochs}: the producer before it is fenced"


def _ongoing(before: TransactionLogValue | None, now: TransactionLogValue) -> str:
    there = len(now.partitions or ())
    if before is None or before.state is not TransactionState.ONGOING:
        return f"transaction in progress in {counted(there, 'partition')}"
    return f"{there - len(before.partitions or ())} partitions added"


def _by_coordinator(before: TransactionLogValue | None, now: TransactionLogValue) -> str:
    """Before transaction.version 2 a producer's own abort keeps the epoch; only a coordinator raises it."""
    raised = before is not None and now.producer.producer_epoch > before.producer.producer_epoch
    return " by its coordinator (timeout or fencing)" if raised and now.client_transaction_version < 2 else ""


def _duration(now: TransactionLogValue, at: int) -> str:
    """By the time of its record: its last update is that of the decision, and the markers may have come much later."""
    return f" after {at - now.start_ms} ms" if 0 <= now.start_ms <= at else ""
