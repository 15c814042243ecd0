"""All kinds of sources whose offsets are known, by the members of offset and source partition."""

from typing import Final

from eosctl.analysis.positions.file_stream import FILE_STREAM
from eosctl.analysis.positions.jdbc import INCREMENTING, TIMESTAMP
from eosctl.analysis.positions.mirror_source import MIRROR_SOURCE
from eosctl.analysis.positions.mongodb import MONGODB
from eosctl.analysis.positions.mysql import MYSQL
from eosctl.analysis.positions.postgresql import POSTGRESQL
from eosctl.analysis.positions.reader import PositionReader
from eosctl.analysis.positions.sql_server import SQL_SERVER
from eosctl.model.offsets import SourceOffset, SourcePartition
from eosctl.model.positions import Order

DEBEZIUM: Final = (POSTGRESQL, MYSQL, SQL_SERVER, MONGODB)
READERS: Final = (*DEBEZIUM, INCREMENTING, TIMESTAMP, FILE_STREAM, MIRROR_SOURCE)


def position_reader(partition: SourcePartition | None, offset: SourceOffset) -> PositionReader | None:
    """The one whose offsets look so; None for offsets of unknown connectors, which nobody explains."""
    if partition is None:
        return None
    members = offset.keys()
    return next((each for each in READERS if each.needs <= members and each.partition <= partition.keys()), None)


def debezium_reader(offset: SourceOffset) -> PositionReader | None:
    """Debezium's one by the members of the offset alone: other connectors may have them, too."""
    members = offset.keys()
    return next((each for each in DEBEZIUM if each.needs <= members), None)


def explain_position(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """What the offset says, after the kind of its source; None where that is not known."""
    reader = position_reader(partition, offset)
    return None if reader is None else f"{reader.source}: {reader.describe(offset)}"


def compare_positions(partition: SourcePartition | None, a: SourceOffset, b: SourceOffset) -> Order | None:
    """Where B lies, seen from A; None where the kind of source is not known, or is not the same."""
    reader = position_reader(partition, a)
    return None if reader is None or reader is not position_reader(partition, b) else reader.compare(a, b)


def meaning_of_rewind(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """What it means to give the connector an earlier position; None where the kind of source is not known."""
    reader = position_reader(partition, offset)
    return None if reader is None else reader.rewind
