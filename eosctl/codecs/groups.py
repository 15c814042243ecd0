"""Stored data of groups: records of `__consumer_offsets`, and the messages that Connect workers exchange through their
coordinator.

A key (OffsetCommitKey.json, GroupMetadataKey.json of Kafka):

    int16 version 0 or 1: an offset commit; 2: a generation of a group; above: newer kinds
    string group ID; of an offset commit string topic, int32 partition

A generation (GroupMetadataValue.json):

    int16 version 0 to 4
    string protocol type, int32 generation, nullable string protocol, nullable string leader
    from version 2 on int64 time of the state
    array of { string member ID, from version 3 on nullable string group instance ID, string client ID,
    string client host, from version 1 on int32 rebalance timeout, int32 session timeout,
    bytes subscription, bytes assignment }

In version 4 its strings, bytes and arrays are compact, and each structure ends with tagged fields.

Workers (ConnectProtocol; KIP-415), as far as eosctl needs it: member metadata and assignment begin with a version
(int16): 0 eager, 1 compatible, 2 sessioned. Then, lists as int32 count (-1: null):

    member metadata    url, int64 config offset; from version 1 on int32 length (-1: null) and the assignment it has
    assignment         int16 error, leader's member ID, leader's url, int64 config offset, list of work;
                       from version 1 on list of work revoked, int32 delay
    work               connector, list of int32 task numbers; -1 is the connector itself

Consumers (ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json), as far as eosctl needs them:

    subscription       int16 version, array of topics, bytes user data (int32 length, -1: null)
    assignment         int16 version, array of { topic, array of int32 partition }
    user data of a     int32 version; from version 3 on int32 newest version; 16 bytes UUID of the process
    Streams thread     (SubscriptionInfoData.json)

Numbers are big-endian, strings an int16 length and UTF-8.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple
from uuid import UUID

from eosctl.codecs.transaction_log import MessageBytes
from eosctl.errors import Undecodable
from eosctl.model.groups import CONNECT_PROTOCOL, Checkpoint, ConnectGroup, GroupGeneration, GroupMember
from eosctl.model.names import ConnectorTaskId, TopicPartition

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
        group_id, place = _string(key, INT16.size)
        topic, place = _string(key, place)
        (partition,) = INT32.unpack_from(key, place)
    except (StructError, UnicodeDecodeError) as error:
        raise Undecodable("the key of an offset commit is cut or no text") from error
    if version < 0 or place + INT32.size != len(key):
        raise Undecodable(f"version {version} and {len(key)} bytes are no key of an offset commit")
    return OffsetCommitKey(group_id, TopicPartition(topic, partition))


def _string(key: bytes, place: int) -> tuple[str, int]:
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


# Generations of groups.


GROUP_METADATA: Final = 2
NEWEST_GENERATION: Final = 4
COMPACT: Final = 4
EMPTY_GROUP: Final = "Empty"
STABLE_GROUP: Final = "Stable"


def group_of_generation(key: bytes) -> str | None:
    """The group whose generation a record with this key holds; None for another record. Raises Undecodable."""
    data = MessageBytes(key)
    if data.take(INT16) != GROUP_METADATA:
        return None
    return data.text(data.take(INT16))


def decode_group_generation(value: bytes) -> GroupGeneration | None:
    """The generation; None where the group is no Connect cluster. Raises Undecodable."""
    data = MessageBytes(value)
    version = data.take(INT16)
    if not 0 <= version <= NEWEST_GENERATION:
        raise Undecodable(f"version {version} of a group's metadata is not known (0 to {NEWEST_GENERATION} are)")
    compact = version >= COMPACT
    protocol_type = data.nullable_text(compact=compact)
    generation = data.take(INT32)
    protocol, leader = data.nullable_text(compact=compact), data.nullable_text(compact=compact)
    if version >= 2:
        data.take(INT64)
    members = [_member(data, version) for _ in range(data.count(compact))]
    if compact:
        data.tagged_fields()
    data.end()
    if protocol_type != CONNECT_PROTOCOL:
        return None
    leader_url = next((url for _, url in members if url), None)
    state = STABLE_GROUP if members else EMPTY_GROUP
    found = tuple(member for member, _ in members)
    return GroupGeneration(generation, leader, ConnectGroup(state, protocol_type, protocol or "", found, leader_url))


def _member(data: MessageBytes, version: int) -> tuple[GroupMember, str | None]:
    """The member, and the leader's address by its assignment."""
    compact = version >= COMPACT
    member_id = data.nullable_text(compact=compact) or ""
    if version >= 3:
        data.nullable_text(compact=compact)
    for _ in ("client ID", "client host"):
        data.nullable_text(compact=compact)
    if version >= 1:
        data.take(INT32)
    data.take(INT32)
    metadata, assignment = data.raw(compact=compact), data.raw(compact=compact)
    if compact:
        data.tagged_fields()
    try:
        tasks = decode_tasks(metadata, assignment)
        return GroupMember(member_id, decode_member_url(metadata), tasks), decode_leader_url(assignment)
    except Undecodable:  # a member that is no Connect worker, as the protocol type says
        return GroupMember(member_id, None), None


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
    data = key or b""
    try:
        group, place = _decoded_text(data, 0)
        topic, place = _decoded_text(data, place)
        (partition,) = PARTITION.unpack_from(data, place)
        version, upstream, downstream = VALUE.unpack_from(value)
    except (StructError, UnicodeDecodeError) as error:
        raise Undecodable("not a checkpoint of MirrorMaker") from error
    if version:
        raise Undecodable(f"a checkpoint of version {version}")
    return Checkpoint(group, topic, partition, upstream, downstream)


def _decoded_text(data: bytes, place: int) -> tuple[str, int]:
    (length,) = LENGTH.unpack_from(data, place)
    begin = place + LENGTH.size
    if length < 0:
        raise StructError("no length")
    return data[begin : begin + length].decode(), begin + length


EAGER: Final = 0


def decode_member_url(metadata: bytes) -> str | None:
    """The REST address that a worker advertises; None where the group has no metadata of it just now."""
    return _text(metadata, INT16.size)[0] if metadata else None


def decode_leader_url(assignment: bytes) -> str | None:
    """The REST address of the leader by this assignment; None where the member has no assignment."""
    if not assignment:
        return None
    _, end = _text(assignment, 2 * INT16.size)
    return _text(assignment, end)[0] or None


def decode_tasks(metadata: bytes, assignment: bytes) -> tuple[ConnectorTaskId, ...]:
    """The tasks that a member of a stable group has, in order.

    1. Eager: the tasks of its assignment.
    2. Later versions assign only new tasks (IncrementalCooperativeAssignor): the tasks that it had when it joined, by
       its metadata, and the tasks of its assignment. Tasks that are revoked count until it has joined without them: it
       joins again once they have ended.
    """
    found = set(_assigned_tasks(assignment))
    if metadata and _integer(metadata, 0, INT16.size) != EAGER:
        _, end = _text(metadata, INT16.size)
        found |= set(_assigned_tasks(_bytes(metadata, end + INT64.size)))
    return tuple(sorted(found))


def _assigned_tasks(assignment: bytes) -> Iterator[ConnectorTaskId]:
    if not assignment:
        return
    _, end = _text(assignment, 2 * INT16.size)
    _, end = _text(assignment, end)
    place = end + INT64.size
    count, place = _integer(assignment, place, INT32.size), place + INT32.size
    for _ in range(count):
        connector, place = _text(assignment, place)
        tasks, place = _integer(assignment, place, INT32.size), place + INT32.size
        for _ in range(tasks):
            number, place = _integer(assignment, place, INT32.size), place + INT32.size
            if number >= 0:
                yield ConnectorTaskId(connector, number)


def _integer(data: bytes, start: int, size: int) -> int:
    if len(data) < start + size:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where a number begins")
    return int.from_bytes(data[start : start + size], "big", signed=True)


def _bytes(data: bytes, start: int) -> bytes:
    length, begin = _integer(data, start, INT32.size), start + INT32.size
    if len(data) < begin + length:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where {length} bytes begin")
    return data[begin : begin + max(0, length)]


def _text(data: bytes, start: int) -> tuple[str, int]:
    begin = start + INT16.size
    length = int.from_bytes(data[start:begin], "big", signed=True)
    end = begin + max(0, length)
    if len(data) < end:
        raise Undecodable(f"a group member's data ends at byte {len(data)}, where a text of {length} bytes begins")
    try:
        return data[begin:end].decode(), end
    except UnicodeDecodeError as error:
        raise Undecodable(f"a group member's data has no UTF-8 text at byte {begin}") from error


UUID_BYTES: Final = 16
NEWEST_VERSION_SENT: Final = 3
"""From this version on the user data of a Streams thread has the newest version that it knows, before the UUID."""


def decode_streams_process(subscription: bytes) -> str | None:
    """The UUID of the process of a Kafka Streams thread; None if the user data has no place for one. Raises
    Undecodable.

    Only the subscriptions of threads, which their client.id shows, have this user data.
    """
    data = MessageBytes(subscription)
    data.take(INT16)
    for _ in range(data.count(compact=False)):
        data.text(data.take(INT16))
    if data.take(INT32) < INT32.size + UUID_BYTES:
        return None
    if data.take(INT32) >= NEWEST_VERSION_SENT:
        data.take(INT32)
    return str(UUID(int=(data.take(INT64) & _INT64_MASK) << 64 | data.take(INT64) & _INT64_MASK))


_INT64_MASK: Final = (1 << 64) - 1


def decode_assigned_partitions(assignment: bytes) -> tuple[TopicPartition, ...]:
    """The partitions of a consumer's assignment, in order; none where it has no assignment. Raises Undecodable."""
    if not assignment:
        return ()
    data = MessageBytes(assignment)
    data.take(INT16)
    return tuple(sorted(data.partitions() or ()))
