"""MirrorMaker 2's MirrorSource: the offset of the last record that was mirrored of a partition."""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, by_members
from eosctl.model.offsets import SourceOffset


def _describe(offset: SourceOffset) -> str:
    return f"offset {offset['offset']} of the source partition"


MIRROR_SOURCE: Final = PositionReader(
    "MirrorSource",
    frozenset({"offset"}),
    frozenset({"cluster", "partition", "topic"}),
    _describe,
    by_members("offset"),
    "all records behind it are mirrored again, as far as the source topic still holds them",
)
