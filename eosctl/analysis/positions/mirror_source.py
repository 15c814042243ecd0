"""MirrorMaker 2's MirrorSource: the offset of the last record that was mirrored of a partition."""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, order_of
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import Order


def _describe(offset: SourceOffset) -> str:
    return f"offset {offset['offset']} of the source partition"


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    return order_of(before["offset"], after["offset"])


MIRROR_SOURCE: Final = PositionReader(
    "MirrorSource",
    frozenset({"offset"}),
    frozenset({"cluster", "partition", "topic"}),
    _describe,
    _compare,
    "all records behind it are mirrored again, as far as the source topic still holds them",
)
