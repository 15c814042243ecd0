"""Kafka's FileStreamSource: a position in a file, in bytes."""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order


def _describe(offset: SourceOffset) -> str:
    return f"byte {offset['position']} of the file"


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    return order_of(before["position"], after["position"])


FILE_STREAM: Final = PositionReader(
    "FileStreamSource",
    frozenset({"position"}),
    frozenset({"filename"}),
    _describe,
    _compare,
    "all lines behind it are read again, if the file is still the same",
)
