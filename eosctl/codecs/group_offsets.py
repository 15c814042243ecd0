"""Keys of `__consumer_offsets` (OffsetCommitKey.json of Kafka).

    int16 version 0 or 1: an offset commit; 2 and above: something else about a group (its members, and newer kinds)
    string group ID, string topic, int32 partition

Strings are an int16 length and UTF-8.
"""

from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from eosctl.errors import Undecodable
from eosctl.model.mirror import Checkpoint
from eosctl.model.names import TopicPartition

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")
INT64: Final = Struct(">q")
NEWEST_OFFSET_COMMIT: Final = 1


class OffsetCommitKey(NamedTuple):
    group_id: str
    topic_partition: TopicPartition


def decode_offset_commit_key(key: bytes) -> OffsetCommitKey | None:
    """The group and partition of an offset commit; None for a record of another kind. Raises Undecodable."""
    try:
        (version,) = INT16.unpack_from(key)
        if version > NEWEST_OFFSET_COMMIT:
            return None
        group_id, place = _text(key, INT16.size)
        topic, place = _text(key, place)
        (partition,) = INT32.unpack_from(key, place)
    except (StructError, UnicodeDecodeError) as error:
        raise Undecodable("the key of an offset commit is cut or no text") from error
    if version < 0 or place + INT32.size != len(key):
        raise Undecodable(f"version {version} and {len(key)} bytes are no key of an offset commit")
    return OffsetCommitKey(group_id, TopicPartition(topic, partition))


def _text(key: bytes, place: int) -> tuple[str, int]:
    (length,) = INT16.unpack_from(key, place)
    start = place + INT16.size
    if length < 0 or start + length > len(key):
        raise Undecodable(f"a string of {length} bytes cannot follow at byte {start} of {len(key)}")
    return key[start : start + length].decode("utf-8"), start + length


def decode_committed_offset(value: bytes | None) -> int | None:
    """The committed offset (OffsetCommitValue.json: an int64 after the version, in all versions); None: a tombstone.

    Raises Undecodable.
    """
    if value is None:
        return None
    if len(value) < INT16.size + INT64.size:
        raise Undecodable(f"{len(value)} bytes are no value of an offset commit")
    return int(INT64.unpack_from(value, INT16.size)[0])


# Records of MirrorMaker's checkpoints topic: where a consumer group of the source would go on in the target.
#
#     key    group STRING, topic STRING, partition INT32   the topic is the target's
#     value  version INT16 (0), upstreamOffset INT64, offset INT64, metadata STRING
#
# A STRING is an INT16 with its length in bytes, and UTF-8.


LENGTH: Final = Struct(">h")
PARTITION: Final = Struct(">i")
VALUE: Final = Struct(">hqq")


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint | None:
    """The checkpoint; None for a tombstone. Raises Undecodable for other records, or a version other than 0."""
    if value is None:
        return None
    try:
        group, place = _decoded_text(key or b"", 0)
        topic, place = _decoded_text(key or b"", place)
        (partition,) = PARTITION.unpack_from(key or b"", place)
        version, upstream, downstream = VALUE.unpack_from(value)
    except (StructError, UnicodeDecodeError) as error:
        raise Undecodable("not a checkpoint of MirrorMaker") from error
    if version:
        raise Undecodable(f"a checkpoint of version {version}")
    return Checkpoint(group, topic, partition, upstream, downstream)


def _decoded_text(data: bytes, place: int) -> tuple[str, int]:
    (length,) = LENGTH.unpack_from(data, place)
    begin = place + LENGTH.size
    if length < 0 or begin + length > len(data):
        raise StructError("cut")
    return data[begin : begin + length].decode(), begin + length
