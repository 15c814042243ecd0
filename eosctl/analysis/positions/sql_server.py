"""Debezium for SQL Server: log sequence numbers of commit and change, in three parts of hexadecimal digits."""

import re
from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.analysis.positions.snapshots import is_snapshot
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order

_LSN: Final = re.compile(r"([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{4})")


def _describe(offset: SourceOffset) -> str:
    words = f"commit {offset['commit_lsn']}, change {offset.get('change_lsn')}"
    return f"snapshot at {words}" if is_snapshot(offset) else words


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    return order_of(_place(before), _place(after))


def _place(offset: SourceOffset) -> object:
    lsns = [_lsn(offset["commit_lsn"]), _lsn(offset.get("change_lsn"))]
    serial = offset.get("event_serial_no")
    return None if None in lsns else (*(part for each in lsns for part in each or ()), 0 if serial is None else serial)


def _lsn(text: object) -> tuple[int, ...] | None:
    """`NULL`, as Debezium writes where there is no change yet, lies before all others."""
    if text in (None, "NULL"):
        return (0, 0, 0)
    found = _LSN.fullmatch(str(text))
    return None if found is None else tuple(int(part, 16) for part in found.groups())


SQL_SERVER: Final = PositionReader(
    "Debezium SQL Server",
    frozenset({"commit_lsn"}),
    frozenset({"server"}),
    _describe,
    _compare,
    "all changes behind it are read again, if the capture instances still hold them; look at sys.fn_cdc_get_min_lsn",
)
