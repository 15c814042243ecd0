"""What Connect workers exchange through their group's coordinator (KIP-415), as far as eosctl needs it.

Both begin with a version (int16): 0 eager, 1 compatible, 2 sessioned. Then, big-endian, text as int16 length and UTF-8:

    member metadata    url, int64 config offset, and from version 1 on more
    assignment         int16 error, leader's member ID, leader's url, int64 config offset, and more
"""

from typing import Final

from eosctl.errors import Undecodable

SHORT: Final = 2


def decode_member_url(metadata: bytes) -> str | None:
    """The REST address that a worker advertises; None where the group has no metadata of it just now."""
    return _text(metadata, SHORT)[0] if metadata else None


def decode_leader_url(assignment: bytes) -> str | None:
    """The REST address of the leader by this assignment; None where the member has no assignment."""
    if not assignment:
        return None
    _, end = _text(assignment, 2 * SHORT)
    return _text(assignment, end)[0] or None


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
