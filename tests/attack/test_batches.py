"""Batches that are small on the wire and large in memory: their limit is kept, named with their place, and raised."""

import gzip
import random
import struct

import cramjam
import pytest

from eosctl.analysis.offsets import OffsetsFold
from eosctl.codecs.record_batches import (
    MOST_BYTES,
    Codec,
    TooLargeError,
    decode_entries,
    decode_records,
    iter_batches,
    most_batch_bytes,
    unpack,
)
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState, Writer
from tests.attack import bombs
from tests.attack.bombs import RECORD, batch, of_zeros, one_record
from tests.attack.peak import peak_mib

PLACE = TopicPartition("connect-offsets", 3)
PACKED = [codec for codec in Codec if codec is not Codec.NONE]
BLOCK = bytes(cramjam.snappy.compress_raw(bytes(1 << 24)))
XERIAL = b"\x82SNAPPY\x00" + bytes([0, 0, 0, 1]) * 2


def refused(data: bytes, most_bytes: int = MOST_BYTES) -> str:
    """Why the one batch in the data cannot be decoded."""
    [found] = iter_batches(data, topic_partition=PLACE, most_bytes=most_bytes)
    with pytest.raises(Undecodable) as caught:
        decode_records(found, topic_partition=PLACE)
    return caught.value.message


@pytest.mark.parametrize("codec", PACKED)
def test_a_batch_that_would_become_large_is_named_with_its_place_in_little_memory(codec: Codec):
    bomb = of_zeros(codec)
    assert len(bomb) < 13 << 20
    assert refused(bomb) == (
        "connect-offsets-3@0: its records take more than 67108864 bytes once they are unpacked (eosctl.batch.max.bytes)"
    )
    assert peak_mib(lambda: refused(bomb)) < 150


@pytest.mark.parametrize("codec", Codec)
def test_very_many_records_are_too_many_whatever_their_bytes(codec: Codec):
    data = batch(codec, RECORD * 500_000, 500_000)
    assert "take more than 67108864 bytes" in refused(data)
    assert peak_mib(lambda: refused(data)) < 30


@pytest.mark.parametrize("codec", Codec)
def test_the_limit_can_be_raised(codec: Codec):
    data = batch(codec, one_record(bytes(1 << 20)), 1)
    [tight] = iter_batches(data, most_bytes=1 << 20)
    with pytest.raises(Undecodable):
        decode_entries(tight)
    [wide] = iter_batches(data, most_bytes=(1 << 20) + 1000)
    assert [len(each.value or b"") for each in decode_entries(wide)] == [1 << 20]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", [0, 1, 4000, 100_000])
def test_records_that_pack_well_and_badly_are_unpacked(codec: Codec, size: int):
    values = [bytes(size), bytes(range(256)) * (size // 256)]
    data = batch(codec, b"".join(map(one_record, values)), 2)
    [found] = iter_batches(data)
    assert [each.value for each in decode_entries(found)] == values


def test_a_claim_to_hold_fewer_than_no_records_raises_no_limit():
    data = batch(Codec.ZSTD, one_record(bytes(1 << 28)), -(1 << 31))
    assert "take more than" in refused(data)


LARGEST_CLAIM = b"\xff\xff\xff\xff\x0f"
ODD_SNAPPY = {
    "a claim of 4 GiB": LARGEST_CLAIM + b"abc",
    "a claim of less than the limit": b"\xff\xff\xff\x1f" + b"abc",
    "a block of negative length": XERIAL + struct.pack(">i", -4) * 3,
    "a block of no length": XERIAL + bytes(8),
    "a block that is longer than what is there": XERIAL + struct.pack(">i", 1 << 30) + b"abc",
    "a block that is cut": XERIAL + b"\x00\x00",
    "blocks that are large together": XERIAL + (struct.pack(">i", len(BLOCK)) + BLOCK) * 8,
}


@pytest.mark.parametrize("name", ODD_SNAPPY)
def test_what_snappy_says_of_itself_is_not_believed(name: str, monkeypatch):
    monkeypatch.setitem(bombs.PACK, Codec.SNAPPY, lambda _: ODD_SNAPPY[name])
    data = batch(Codec.SNAPPY, b"", 1)
    assert "connect-offsets-3@0: " in refused(data)
    assert peak_mib(lambda: refused(data)) < 100


def test_several_members_of_gzip_and_zeros_behind_them_are_read():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + bytes(20_000)
    assert bytes(unpack(Codec.GZIP, memoryview(packed), 2, 100)[2:]) == b"one two"


@pytest.mark.parametrize("codec", PACKED)
def test_damaged_data_says_so(codec: Codec):
    whole = bytes(bombs.PACK[codec](bytes(range(256)) * 100))
    for damaged in (b"", whole[: len(whole) // 2], whole[:5] + b"\xff" * 9 + whole[14:]):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # each library has its own
            unpack(codec, memoryview(damaged), 0, 1 << 20)
        assert not isinstance(caught.value, TooLargeError)


@pytest.mark.parametrize("given", ["", "0", "-1", "64M", "1e9", "\u0661", "9" * 30])
def test_a_limit_that_is_no_number_is_said(given: str):
    properties = ClientProperties((), properties={"eosctl.batch.max.bytes": Property(given, "-X")})
    with pytest.raises(ConfigError, match=r"-X: eosctl\.batch\.max\.bytes=.* is no number of bytes"):
        most_batch_bytes(properties)


@pytest.mark.parametrize("seed", range(40))
def test_records_are_had_or_the_batch_is_refused_in_little_memory(seed: int):
    bomb = bombs.any_bomb(5, random.Random(seed))
    [found] = iter_batches(bomb.data, topic_partition=PLACE)

    def decode() -> None:
        if bomb.is_refused:
            with pytest.raises(Undecodable, match="connect-offsets-3@5: "):
                decode_records(found, topic_partition=PLACE)
        else:
            decode_records(found, topic_partition=PLACE)

    assert peak_mib(decode) < 200


def test_many_keys_in_a_batch_are_folded_in_bounded_memory():
    """As many records as a batch may have, each with a key of its own: what `offsets show` makes of them."""
    count = 50_000
    keys = b"".join(one_keyed(number) for number in range(count))
    data = batch(Codec.ZSTD, keys, count)

    def fold() -> None:
        [found] = iter_batches(data)
        OffsetsFold().add_batch(decode_entries(found), RecordState.COMMITTED, Writer(False, -1, -1))

    assert peak_mib(fold) < 80


def one_keyed(number: int) -> bytes:
    key = b'["c",{"n":%06d}]' % number
    body = bytes([0, 0, 0, len(key) << 1]) + key + b"\x01\x00"
    return bytes([len(body) << 1]) + body
