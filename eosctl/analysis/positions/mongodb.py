"""Debezium for MongoDB: the time and order of an operation, and the resume token of its change stream.

A resume token is opaque; what is compared are seconds and the order within them.
"""

from typing import Final

from eosctl.analysis.positions.reader import PositionReader, by_members
from eosctl.model.offsets import SourceOffset
from eosctl.model.times import rfc3339


def _describe(offset: SourceOffset) -> str:
    seconds, token = offset["sec"], offset.get("resume_token")
    time = rfc3339(seconds * 1000) if type(seconds) is int else str(seconds)
    words = f"{time} operation {offset['ord']}"
    return words if token is None else f"{words}, resume token {str(token)[:24]}…"


MONGODB: Final = PositionReader(
    "Debezium MongoDB",
    frozenset({"sec", "ord"}),
    frozenset({"server_id"}),
    _describe,
    by_members("sec", "ord"),
    "the change stream is resumed behind its token, if the oplog still holds that; look at db.getReplicationInfo()",
)
