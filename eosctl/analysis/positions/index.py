"""All kinds of sources whose offsets are known, by the members of offset and source partition."""

from typing import Final

from eosctl.analysis.positions.debezium import (
    MONGODB,
    MYSQL,
    POSTGRESQL,
    SQL_SERVER,
    PositionReader,
    by_members,
    order_of,
)
from eosctl.model.offsets import Order, SourceOffset, SourcePartition
from eosctl.model.times import rfc3339

# Confluent's JDBC source: the highest value of an incrementing column, a timestamp, or both.
#
# With both, rows are read in the order of their timestamps, and of the incrementing column among equal ones.


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


# Kafka's FileStreamSource: a position in a file, in bytes.


def _describe_file(offset: SourceOffset) -> str:
    return f"byte {offset['position']} of the file"


FILE_STREAM: Final = PositionReader(
    "FileStreamSource",
    frozenset({"position"}),
    frozenset({"filename"}),
    _describe_file,
    by_members("position"),
    "all lines behind it are read again, if the file is still the same",
)


# MirrorMaker 2's MirrorSource: the offset of the last record that was mirrored of a partition.


def _describe_mirror(offset: SourceOffset) -> str:
    return f"offset {offset['offset']} of the source partition"


MIRROR_SOURCE: Final = PositionReader(
    "MirrorSource",
    frozenset({"offset"}),
    frozenset({"cluster", "partition", "topic"}),
    _describe_mirror,
    by_members("offset"),
    "all records behind it are mirrored again, as far as the source topic still holds them",
)


DEBEZIUM: Final = (POSTGRESQL, MYSQL, SQL_SERVER, MONGODB)
READERS: Final = (*DEBEZIUM, INCREMENTING, TIMESTAMP, FILE_STREAM, MIRROR_SOURCE)


def position_reader(partition: SourcePartition | None, offset: SourceOffset) -> PositionReader | None:
    """The reader for offsets of this form; None for unknown connectors."""
    if partition is None:
        return None
    members = offset.keys()
    return next((each for each in READERS if each.needs <= members and each.partition <= partition.keys()), None)


def debezium_reader(offset: SourceOffset) -> PositionReader | None:
    """Debezium's reader by the offset's members alone, which other connectors may have too."""
    members = offset.keys()
    return next((each for each in DEBEZIUM if each.needs <= members), None)


def explain_position(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """The meaning of the offset, after its kind of source; None for an unknown kind."""
    reader = position_reader(partition, offset)
    return None if reader is None else f"{reader.source}: {reader.describe(offset)}"


def compare_positions(partition: SourcePartition | None, a: SourceOffset, b: SourceOffset) -> Order | None:
    """Position of B relative to A; None where the kind of source is unknown or differs."""
    reader = position_reader(partition, a)
    return None if reader is None or reader is not position_reader(partition, b) else reader.compare(a, b)


def meaning_of_rewind(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """Effect of an earlier position on the connector; None for an unknown kind of source."""
    reader = position_reader(partition, offset)
    return None if reader is None else reader.rewind
