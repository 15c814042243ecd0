"""What Connect workers exchange through their group's coordinator (ConnectProtocol; KIP-415), as eosctl needs it.

Both begin with a version (int16): 0 eager, 1 compatible, 2 sessioned. Then, big-endian, text as int16 length and UTF-8,
lists as int32 count (-1: null):

    member metadata    url, int64 config offset; from version 1 on int32 length (-1: null) and the assignment it has
    assignment         int16 error, leader's member ID, leader's url, int64 config offset, list of work;
                       from version 1 on list of work revoked, int32 delay
    work               connector, list of int32 task numbers; -1 is the connector itself
"""

from collections.abc import Iterator
from typing import Final

from eosctl.errors import Undecodable
from eosctl.model.names import ConnectorTaskId

EAGER: Final = 0
SHORT: Final = 2
INT: Final = 4
LONG: Final = 8


def decode_member_url(metadata: bytes) -> str | None:
    """The REST address that a worker advertises; None where the group has no metadata of it just now."""
    return _text(metadata, SHORT)[0] if metadata else None


def decode_leader_url(assignment: bytes) -> str | None:
    """The REST address of the leader by this assignment; None where the member has no assignment."""
    if not assignment:
        return None
    _, end = _text(assignment, 2 * SHORT)
    return _text(assignment, end)[0] or None


def decode_tasks(metadata: bytes, assignment: bytes) -> tuple[ConnectorTaskId, ...]:
    """The tasks that a member of a stable group has, in order.

    1. Eager: the tasks of its assignment.
    2. Later versions assign only new tasks (IncrementalCooperativeAssignor): the tasks that it had when it joined, by
       its metadata, and the tasks of its assignment. Tasks that are revoked count until it has joined without them: it
       joins again once they have ended.
    """
    found = set(_assigned_tasks(assignment))
    if metadata and _integer(metadata, 0, SHORT) != EAGER:
        _, end = _text(metadata, SHORT)
        found |= set(_assigned_tasks(_bytes(metadata, end + LONG)))
    return tuple(sorted(found))


def _assigned_tasks(assignment: bytes) -> Iterator[ConnectorTaskId]:
    if not assignment:
        return
    _, end = _text(assignment, 2 * SHORT)
    _, end = _text(assignment, end)
    place = end + LONG
    count, place = _integer(assignment, place, INT), place + INT
    for _ in range(count):
        connector, place = _text(assignment, place)
        tasks, place = _integer(assignment, place, INT), place + INT
        for _ in range(tasks):
            number, place = _integer(assignment, place, INT), place + INT
            if number >= 0:
                yield ConnectorTaskId(connector, number)


def _integer(data: bytes, start: int, size: int) -> int:
    if len(data) < start + size:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where a number begins")
    return int.from_bytes(data[start : start + size], "big", signed=True)


def _bytes(data: bytes, start: int) -> bytes:
    length, begin = _integer(data, start, INT), start + INT
    if len(data) < begin + length:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where {length} bytes begin")
    return data[begin : begin + max(0, length)]


def _text(data: bytes, start: int) -> tuple[str, int]:
    begin = start + SHORT
    length = int.from_bytes(data[start:begin], "big", signed=True)
    end = begin + max(0, length)
    if len(data) < end or len(data) < begin:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where a text of {length} bytes begins")
    try:
        return data[begin:end].decode(), end
    except UnicodeDecodeError as error:
        raise Undecodable(f"a group member's data has no UTF-8 text at byte {begin}") from error
