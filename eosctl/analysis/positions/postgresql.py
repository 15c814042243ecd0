"""Debezium for PostgreSQL: log sequence numbers.

1. Transactions are streamed in the order of their commits, and so is `lsn_commit`, the last commit before an event. The
   `lsn` of an event may be lower than those of the transaction before: their records lie side by side in the log.
2. `lsn` of a snapshot is that of its moment. One that has not ended is begun again.
3. The first transactions after a snapshot have no `lsn_commit`.
4. `lsn_proc` is that of the last event that was processed whole. A connector that restarts within a transaction is sent
   its BEGIN again, and skips what it has processed: the `lsn` of the BEGIN is lower, and the position is the same. Of
   any other message a lower `lsn` is a position before.
5. `transaction_id` is kept from the last transaction for which metadata were written. It may be of an earlier one than
   `txId`, and decides nothing.
"""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.analysis.positions.snapshots import is_snapshot, is_unfinished_snapshot
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order


def lsn_text(lsn: object) -> str:
    """A log sequence number as PostgreSQL writes it, 0/16F1C00."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}" if type(lsn) is int and lsn >= 0 else str(lsn)


def _describe(offset: SourceOffset) -> str:
    at = lsn_text(offset["lsn"])
    if is_unfinished_snapshot(offset):
        return f"snapshot at {at}, in progress: it will be begun again"
    if is_snapshot(offset):
        return f"snapshot at {at}, complete"
    words = f"streaming at {at}"
    if "lsn_commit" in offset:
        words += f", last commit {lsn_text(offset['lsn_commit'])}"
    if "txId" in offset:
        words += f", transaction {offset['txId']}"
    stale = str(offset.get("transaction_id") or "").partition(":")[0]
    if stale and stale != str(offset.get("txId")):
        words += f" (transaction_id {offset['transaction_id']} is of an earlier one)"
    return words


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    """Rules 1, 3 and 4: by commits, then by position; where only one has a commit, only if both numbers agree."""
    was, now = before.get("lsn_commit"), after.get("lsn_commit")
    by_lsn = order_of(before["lsn"], after["lsn"])
    if was is not None and now is not None:
        return order_of((was, _reached(before)), (now, _reached(after)))
    if was is None and now is None:
        return by_lsn
    expected = Order.AFTER if was is None else Order.BEFORE
    return expected if by_lsn is expected else Order.INCOMPARABLE


def _reached(offset: SourceOffset) -> object:
    """Rule 4. What is no number is left to the comparison."""
    lsn, processed = offset["lsn"], offset.get("lsn_proc")
    if offset.get("messageType") == "BEGIN" and type(lsn) is int and type(processed) is int:
        return max(lsn, processed)
    return lsn


POSTGRESQL: Final = PositionReader(
    "Debezium PostgreSQL",
    frozenset({"lsn"}),
    frozenset({"server"}),
    _describe,
    _compare,
    "the server streams from the slot's confirmed_flush_lsn, whatever the offset says, so that what the slot has left "
    "behind is not read again; changes behind the offset are skipped. Look at confirmed_flush_lsn in "
    "pg_replication_slots",
)
