"""Keys of `__consumer_offsets`."""

from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.group_offsets import OffsetCommitKey, decode_offset_commit_key
from eosctl.errors import Undecodable
from eosctl.model.names import TopicPartition

NAMES = st.text(st.characters(codec="utf-8"), max_size=30)


def key(version: int, group_id: str, topic: str, partition: int) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return (
        pack(">h", version) + pack(">h", len(group)) + group + pack(">h", len(name)) + name + pack(">i", partition)
    )  # fmt: skip


@given(st.sampled_from([0, 1]), NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_an_offset_commit_tells_its_group_and_partition(version: int, group_id: str, topic: str, partition: int):
    wanted = OffsetCommitKey(group_id, TopicPartition(topic, partition))
    assert decode_offset_commit_key(key(version, group_id, topic, partition)) == wanted


@pytest.mark.parametrize("version", [2, 3, 8])
def test_other_kinds_of_records_are_told_apart(version: int):
    assert decode_offset_commit_key(pack(">h", version) + b"anything") is None


@pytest.mark.parametrize(
    "broken", [b"", b"\x00", key(1, "g", "t", 0)[:-1], key(1, "g", "t", 0) + b"x", key(-1, "", "", 0)]
)
def test_keys_that_are_cut_or_too_long_are_undecodable(broken: bytes):
    with pytest.raises(Undecodable):
        decode_offset_commit_key(broken)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_key_or_undecodable(data: bytes):
    with suppress(Undecodable):
        decode_offset_commit_key(data)
