"""Debezium for MySQL and MariaDB: positions in the binary log, or sets of GTIDs.

1. With `gtids` in both: the set that holds the other one is further (BinlogHistoryRecordComparator). Sets of which none
   holds the other cannot be compared. While a transaction is read, the set is that of before it: in equal sets the
   events that were read of it (`event`) count, and the rows of the next one (`row`).
2. Without: file, position, and then `event` and `row`, if both are of one server.
3. A GTID of MariaDB (`domain-server-sequence`) stands for all of its domain and server up to it (MariaDbGtidSet).
"""

import re
from collections.abc import Mapping
from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.analysis.positions.snapshots import is_snapshot
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order

_FILE: Final = re.compile(r".*\.([0-9]{1,19})")
_OF_MARIADB: Final = re.compile(r"([0-9]{1,10}-[0-9]{1,10})-([0-9]{1,20})")
_INTERVAL: Final = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")


def _describe(offset: SourceOffset) -> str:
    words = f"{offset['file']} position {offset['pos']}"
    words += f", GTIDs {offset['gtids']}" if offset.get("gtids") else ""
    if "event" in offset or "row" in offset:
        events, rows = _within(offset)
        words += f", event {events} row {rows} of the next transaction"
    return f"snapshot at {words}" if is_snapshot(offset) else words


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    was, now = before.get("gtids"), after.get("gtids")
    if was and now:
        found = _by_gtids(_intervals(str(was)), _intervals(str(now)))
        return order_of(_within(before), _within(after)) if found is Order.SAME else found
    if was or now or before.get("server_id") != after.get("server_id"):
        return Order.INCOMPARABLE
    return order_of(_place(before), _place(after))


def _place(offset: SourceOffset) -> object:
    found = _FILE.fullmatch(str(offset["file"]))
    return None if found is None else (int(found[1]), offset["pos"], *_within(offset))


def _within(offset: SourceOffset) -> tuple[object, object]:
    """How much of the transaction that begins there was read."""
    return offset.get("event", 0), offset.get("row", 0)


def _intervals(gtids: str) -> Mapping[str, list[tuple[int, int]]] | None:
    """By server the intervals of transactions, both ends included; None where it is no such set."""
    sets: dict[str, list[tuple[int, int]]] = {}
    for part in gtids.replace("\n", "").split(","):
        of_mariadb = _OF_MARIADB.fullmatch(part.strip())
        if of_mariadb is not None:
            sets.setdefault(of_mariadb[1], []).append((0, int(of_mariadb[2])))
            continue
        server, *ranges = part.strip().split(":")
        for each in ranges:
            found = _INTERVAL.fullmatch(each)
            if found is None:
                return None
            sets.setdefault(server, []).append((int(found[1]), int(found[2] or found[1])))
        if not ranges:
            return None
    return sets


def _by_gtids(
    was: Mapping[str, list[tuple[int, int]]] | None, now: Mapping[str, list[tuple[int, int]]] | None
) -> Order:
    if was is None or now is None:
        return Order.INCOMPARABLE
    back, ahead = _holds(was, now), _holds(now, was)
    if back and ahead:
        return Order.SAME
    return Order.AFTER if ahead else Order.BEFORE if back else Order.INCOMPARABLE


def _holds(whole: Mapping[str, list[tuple[int, int]]], part: Mapping[str, list[tuple[int, int]]]) -> bool:
    return all(
        any(low <= first and last <= high for low, high in whole.get(server, ()))
        for server, ranges in part.items()
        for first, last in ranges
    )


MYSQL: Final = PositionReader(
    "Debezium MySQL or MariaDB",
    frozenset({"file", "pos"}),
    frozenset({"server"}),
    _describe,
    _compare,
    "all changes behind it are read again, if the server still has that binary log; look at SHOW BINARY LOGS",
)
