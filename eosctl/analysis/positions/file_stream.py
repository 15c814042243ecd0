"""Kafka's FileStreamSource: a position in a file, in bytes."""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, by_members
from eosctl.model.offsets import SourceOffset


def _describe(offset: SourceOffset) -> str:
    return f"byte {offset['position']} of the file"


FILE_STREAM: Final = PositionReader(
    "FileStreamSource",
    frozenset({"position"}),
    frozenset({"filename"}),
    _describe,
    by_members("position"),
    "all lines behind it are read again, if the file is still the same",
)
