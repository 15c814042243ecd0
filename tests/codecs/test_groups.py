"""Groups in Kafka's bytes, where they end too early, and in the newest versions."""

import struct
import uuid

import pytest

from eosctl.codecs.groups import (
    decode_assigned_partitions,
    decode_checkpoint,
    decode_committed_offset,
    decode_group_generation,
    decode_leader_url,
    decode_member_url,
    decode_offset_commit_key,
    decode_streams_process,
)
from eosctl.errors import Undecodable
from eosctl.model.groups import Checkpoint
from eosctl.model.names import ConnectorTaskId, TopicPartition
from tests.codecs.test_config_topic import PROCESS, assignment, metadata, sized, text


def read_or_why(decode, *given):
    try:
        return decode(*given)
    except Undecodable as error:
        return error.message


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, None),
        (struct.pack(">hq", 0, 7), 7),
        (struct.pack(">hq", 3, -1) + b"more", -1),
        (struct.pack(">hq", 0, 7)[:-1], "9 bytes are no value of an offset commit"),
        (b"", "0 bytes are no value of an offset commit"),
    ],
)
def test_a_committed_offset_is_behind_the_version(value, found):
    assert read_or_why(decode_committed_offset, value) == found


def commit_key(version: int, *, length: int = 1, more: bytes = b"") -> bytes:
    return struct.pack(">h", version) + struct.pack(">h", length) + b"g" + sized(b"t") + struct.pack(">i", 3) + more


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (commit_key(0), ("g", TopicPartition("t", 3))),
        (commit_key(1), ("g", TopicPartition("t", 3))),
        (commit_key(2), None),
        (commit_key(-1), "version -1 and 12 bytes are no key of an offset commit"),
        (commit_key(1, more=b"\0"), "version 1 and 13 bytes are no key of an offset commit"),
        (commit_key(1)[:-1], "the key of an offset commit is cut or no text"),
        (commit_key(1)[:-4], "the key of an offset commit is cut or no text"),
        (commit_key(1, length=-1), "a string of -1 bytes cannot follow at byte 4 of 12"),
        (commit_key(1, length=9), "a string of 9 bytes cannot follow at byte 4 of 12"),
        (b"", "the key of an offset commit is cut or no text"),
        (struct.pack(">hh", 1, 1) + b"\xff" + sized(b"t") + bytes(4), "the key of an offset commit is cut or no text"),
    ],
)
def test_a_key_of_an_offset_commit_ends_with_its_partition(key, found):
    assert read_or_why(decode_offset_commit_key, key) == found


CHECKPOINT_KEY = sized(b"g") + sized(b"t") + struct.pack(">i", 3)
VALUE = struct.pack(">hqq", 0, 7, 9)


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        (CHECKPOINT_KEY, VALUE, Checkpoint("g", "t", 3, 7, 9)),
        (CHECKPOINT_KEY, VALUE + sized(b"m"), Checkpoint("g", "t", 3, 7, 9)),
        (CHECKPOINT_KEY, None, None),
        (None, None, None),
        (None, VALUE, "not a checkpoint of MirrorMaker"),
        (CHECKPOINT_KEY, VALUE[:-1], "not a checkpoint of MirrorMaker"),
        (CHECKPOINT_KEY[:-1], VALUE, "not a checkpoint of MirrorMaker"),
        (sized(b"g") + struct.pack(">h", -1) + bytes(4), VALUE, "not a checkpoint of MirrorMaker"),
        (sized(b"g") + struct.pack(">h", 5) + bytes(4), VALUE, "not a checkpoint of MirrorMaker"),
        (struct.pack(">h", 5) + b"g", VALUE, "not a checkpoint of MirrorMaker"),
        (CHECKPOINT_KEY, struct.pack(">hqq", 1, 7, 9), "a checkpoint of version 1"),
        (CHECKPOINT_KEY, struct.pack(">hqq", -1, 7, 9), "a checkpoint of version -1"),
    ],
)
def test_a_checkpoint_is_of_version_0_and_whole(key, value, found):
    assert read_or_why(decode_checkpoint, key, value) == found


def compact(value: bytes | None) -> bytes:
    return b"\0" if value is None else bytes([len(value) + 1]) + value


def newest(*members: bytes, protocol_type: bytes | None = b"connect", protocol: bytes | None = b"compatible") -> bytes:
    head = struct.pack(">h", 4) + compact(protocol_type) + struct.pack(">i", 5) + compact(protocol) + compact(b"l")
    return head + struct.pack(">q", 9) + bytes([len(members) + 1]) + b"".join(members) + b"\0"


def newest_member(name: bytes | None, metadata: bytes, assignment: bytes) -> bytes:
    texts = compact(name) + compact(None) + compact(b"c") + compact(b"h")
    return texts + struct.pack(">ii", 1, 2) + compact(metadata) + compact(assignment) + b"\0"


WORKER = newest_member(b"m", metadata(0, None), assignment(0, {"o": [0]}))


def test_a_generation_of_the_newest_version_is_compact():
    found = decode_group_generation(newest(newest_member(None, b"\0", b"\0"), WORKER))
    assert found is not None
    stranger, worker = found.group.members
    assert (stranger.member_id, stranger.url, stranger.tasks) == ("", None, None)
    assert (worker.member_id, worker.url, worker.tasks) == ("m", "http://a:8083/", (ConnectorTaskId("o", 0),))
    assert (found.generation, found.group.leader_url, found.group.state) == (5, "http://a:8083/", "Stable")


def test_a_group_without_a_protocol_or_members_is_empty():
    found = decode_group_generation(newest(protocol=None))
    assert found is not None
    assert (found.group.protocol, found.group.state, found.group.leader_url) == ("", "Empty", None)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (newest(WORKER, protocol_type=b"consumer"), None),
        (newest(WORKER, protocol_type=None), None),
        (struct.pack(">h", -1) + bytes(40), "version -1 of a group's metadata is not known (0 to 4 are)"),
        (struct.pack(">h", 5) + bytes(40), "version 5 of a group's metadata is not known (0 to 4 are)"),
    ],
)
def test_other_groups_have_no_generation_and_unknown_versions_are_refused(value, found):
    assert read_or_why(decode_group_generation, value) == found


@pytest.mark.parametrize("value", [newest(WORKER) + b"\0", newest(WORKER)[:-1]])
def test_a_generation_is_as_long_as_its_record(value):
    with pytest.raises(Undecodable):
        decode_group_generation(value)


def test_an_address_that_is_cut_is_no_address():
    whole = metadata(0, None)[: 4 + len("http://a:8083/")]
    assert decode_member_url(whole) == "http://a:8083/"
    for cut in (1, 3, len(whole) - 1):
        with pytest.raises(Undecodable):
            decode_member_url(whole[:cut])
    assert decode_leader_url(struct.pack(">hh", 1, 0) + text("l") + text("")) is None


@pytest.mark.parametrize(
    ("sent", "process"),
    [
        (struct.pack(">ii", 20, 2), PROCESS),
        (struct.pack(">iii", 24, 3, 3), PROCESS),
        (struct.pack(">ii", 19, 2), None),
        (struct.pack(">i", -1), None),
    ],
)
def test_a_thread_has_a_process_where_there_is_place_for_one(sent, process):
    assert decode_streams_process(struct.pack(">hi", 3, 0) + sent + uuid.UUID(PROCESS).bytes) == process


def test_partitions_are_sorted_and_an_absent_list_is_none():
    found = struct.pack(">hi", 1, 2) + text("b") + struct.pack(">ii", 1, 0) + text("a") + struct.pack(">ii", 1, 5)
    assert decode_assigned_partitions(found) == (TopicPartition("a", 5), TopicPartition("b", 0))
    assert decode_assigned_partitions(struct.pack(">hi", 1, 0)) == ()
