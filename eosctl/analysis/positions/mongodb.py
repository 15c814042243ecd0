"""Debezium for MongoDB: the time and order of an operation, and the resume token of its change stream.

A resume token is opaque; what is compared are seconds and the order within them.
"""

from datetime import UTC, datetime
from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order

_LATEST: Final = 253402300799


def _describe(offset: SourceOffset) -> str:
    seconds, token = offset["sec"], offset.get("resume_token")
    known = type(seconds) is int and 0 <= seconds <= _LATEST
    time = f"{datetime.fromtimestamp(int(str(seconds)), UTC):%Y-%m-%dT%H:%M:%SZ}" if known else str(seconds)
    words = f"{time} operation {offset['ord']}"
    return words if token is None else f"{words}, resume token {str(token)[:24]}…"


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    return order_of((before["sec"], before["ord"]), (after["sec"], after["ord"]))


MONGODB: Final = PositionReader(
    "Debezium MongoDB",
    frozenset({"sec", "ord"}),
    frozenset({"server_id"}),
    _describe,
    _compare,
    "the change stream is resumed behind its token, if the oplog still holds that; look at db.getReplicationInfo()",
)
