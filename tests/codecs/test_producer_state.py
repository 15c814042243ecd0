"""Files that a broker keeps of a partition's producers, a field a row."""

import struct

import pytest

from eosctl.codecs.producer_state import (
    IndexedAbort,
    SnapshotProducer,
    decode_producer_snapshot,
    decode_transaction_index,
)
from eosctl.codecs.record_batches import crc32c
from eosctl.errors import Undecodable, Unsupported
from eosctl.model.names import ProducerIdAndEpoch


def entry(producer_id: int = 7, first: int = 10, last: int = 12, stable: int = 13, version: int = 0) -> bytes:
    return struct.pack(">hqqqq", version, producer_id, first, last, stable)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", ()),
        (entry(), (IndexedAbort(7, 10, 12, 13),)),
        (entry(0, 0, 1, 2), (IndexedAbort(0, 0, 1, 2),)),
        (entry(last=10, first=9) + entry(last=11, first=5), (IndexedAbort(7, 9, 10, 13), IndexedAbort(7, 5, 11, 13))),
    ],
)
def test_an_index_holds_the_aborted_transactions_in_the_order_of_their_markers(data, found) -> None:
    assert decode_transaction_index(data, 0) == found


@pytest.mark.parametrize(
    ("data", "base_offset", "words"),
    [
        (entry()[:-1], 0, "the entry at byte 0 is cut off: 33 of 34 bytes"),
        (entry() + b"\0", 0, "the entry at byte 34 is cut off: 1 of 34 bytes"),
        (entry() + b"\0\0", 0, "the entry at byte 34 is cut off: 2 of 34 bytes"),
        (bytes(34), 0, "the entry at byte 0 is no aborted transaction behind offset -1"),
        (entry(first=-1), 0, "is no aborted transaction"),
        (entry(first=12), 0, "is no aborted transaction"),
        (entry(first=13), 0, "is no aborted transaction"),
        (entry(producer_id=-1), 0, "is no aborted transaction"),
        (entry(), 13, "the entry at byte 0 is no aborted transaction behind offset 12"),
        (entry() + entry(), 0, "the entry at byte 34 is no aborted transaction behind offset 12"),
        (entry() + entry(last=11), 0, "the entry at byte 34 is no aborted transaction behind offset 12"),
    ],
)
def test_what_is_no_entry_of_an_index_is_damage(data: bytes, base_offset: int, words: str) -> None:
    with pytest.raises(Undecodable, match=words):
        decode_transaction_index(data, base_offset)


@pytest.mark.parametrize("data", [entry(version=1), entry(version=256), entry(version=1)[:2], entry() + b"\0\1"])
def test_an_index_of_another_version_is_not_read(data: bytes) -> None:
    with pytest.raises(Unsupported, match=r"which is not known \(0 is\)"):
        decode_transaction_index(data, 0)


def test_an_index_may_begin_at_its_segments_first_offset() -> None:
    assert decode_transaction_index(entry(), 12) == (IndexedAbort(7, 10, 12, 13),)


def snapshot(*starts: int, version: int = 1, more: bytes = b"") -> bytes:
    producers = b"".join(
        struct.pack(">qhiqiqiq", 7 + at, 1, 5, 20, 2, 1_000, 3, start) for at, start in enumerate(starts)
    )
    rest = struct.pack(">i", len(starts)) + producers + more
    return struct.pack(">hI", version, crc32c()(rest)) + rest


def test_a_producer_of_a_snapshot_has_an_open_transaction_from_its_first_offset() -> None:
    found = decode_producer_snapshot(snapshot(-1, 0, 18))
    assert [each.transaction_start_offset for each in found] == [None, 0, 18]
    assert found[0] == SnapshotProducer(ProducerIdAndEpoch(7, 1), 5, 20, 2, 1_000, 3, None)
    assert decode_producer_snapshot(snapshot()) == ()


def test_a_snapshot_that_is_damaged_or_newer_is_not_read() -> None:
    with pytest.raises(Undecodable, match="the CRC of the producer snapshot does not match"):
        decode_producer_snapshot(snapshot(1)[:-1] + b"\2")
    with pytest.raises(Undecodable, match="1 bytes are left over"):
        decode_producer_snapshot(snapshot(1, more=b"\0"))
    with pytest.raises(Unsupported, match=r"the snapshot has version 2, which is not known \(1 is\)"):
        decode_producer_snapshot(snapshot(1, version=2))
