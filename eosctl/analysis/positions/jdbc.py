"""Confluent's JDBC source: the highest value of an incrementing column, a timestamp, or both.

With both, rows are read in the order of their timestamps, and of the incrementing column among equal ones.
"""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order
from eosctl.model.times import rfc3339


def _describe(offset: SourceOffset) -> str:
    parts = []
    if (time := offset.get("timestamp")) is not None:
        parts.append(f"rows up to {rfc3339(time) if type(time) is int else time}")
    if (number := offset.get("incrementing")) is not None:
        parts.append(f"incrementing column {number}")
    return ", ".join(parts)


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    if before.keys() != after.keys():
        return Order.INCOMPARABLE
    return order_of(_place(before), _place(after))


def _place(offset: SourceOffset) -> tuple[object, ...]:
    members = ("timestamp", "timestamp_nanos", "incrementing")
    return tuple(offset[member] for member in members if member in offset)


_REWIND: Final = "rows above it are read again, as they are now; rows that were deleted meanwhile are not"
INCREMENTING: Final = PositionReader("JDBC", frozenset({"incrementing"}), frozenset(), _describe, _compare, _REWIND)
TIMESTAMP: Final = PositionReader(
    "JDBC", frozenset({"timestamp", "timestamp_nanos"}), frozenset(), _describe, _compare, _REWIND
)
