"""Record batches: bytes in, records and markers out, and any other bytes refused."""

import struct
import sys

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.record_batches import (
    Codec,
    EndTransactionMarker,
    MarkerType,
    decode_marker,
    decode_records,
    iter_batches,
)
from eosctl.errors import Undecodable
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState

ORDERS = TopicPartition("orders", 2)
COORDINATOR_EPOCH_9 = struct.pack(">hi", 0, 9)


def batch_bytes(codec=Codec.NONE, base_offset=0, records=3, transactional=True):
    builder = DefaultRecordBatchBuilder(2, int(codec), transactional, 77, 3, 0, 1 << 20)
    for place in range(records):
        builder.append(place, 1700000000000 + place, b"k%d" % place, None if place == 1 else b"v" * 40, [("h", b"x")])
    return struct.pack(">q", base_offset) + bytes(builder.build())[8:]


def control_bytes(kind, value=COORDINATOR_EPOCH_9):
    builder = DefaultRecordBatchBuilder(2, 0, 1, 77, 4, -1, 1 << 20)
    builder.append(0, 1700000000000, struct.pack(">hh", 0, kind), value, [])
    data = bytearray(builder.build())
    (attributes,) = struct.unpack_from(">h", data, 21)
    struct.pack_into(">h", data, 21, attributes | 0x20)
    return bytes(data)


@pytest.mark.parametrize("codec", Codec)
def test_records_of_every_codec_come_back(codec):
    [batch] = iter_batches(batch_bytes(codec, base_offset=40))
    records = decode_records(batch, state=RecordState.OPEN)
    assert [(record.offset, record.timestamp) for record in records] == [
        (40, 1700000000000),
        (41, 1700000000001),
        (42, 1700000000002),
    ]
    assert [record.key for record in records] == [b"k0", b"k1", b"k2"]
    assert [record.value for record in records] == [b"v" * 40, None, b"v" * 40]
    assert {(record.state, record.transactional, record.producer_id, record.producer_epoch) for record in records} == {
        (RecordState.OPEN, True, 77, 3)
    }


def test_a_batch_knows_where_the_next_one_begins():
    [batch] = iter_batches(batch_bytes(base_offset=40))
    assert (batch.header.base_offset, batch.header.last_offset, batch.header.next_offset) == (40, 42, 43)
    assert (batch.header.is_transactional, batch.header.is_control) == (True, False)


@given(st.integers(0, 2 * len(batch_bytes()) - 1))
def test_a_batch_that_is_cut_off_is_left_out(length):
    data = batch_bytes(base_offset=0) + batch_bytes(base_offset=3)
    assert len(list(iter_batches(data[:length]))) == length // len(batch_bytes())


def test_a_batch_before_kafka_0_11_is_refused_with_its_place():
    data = bytearray(batch_bytes(base_offset=40))
    data[16] = 1
    with pytest.raises(Undecodable, match="orders-2@40: message format 1"):
        list(iter_batches(data, topic_partition=ORDERS))


@pytest.mark.parametrize("place", [21, 30, 60, 70, 100])
def test_a_flipped_byte_is_noticed_by_its_crc(place):
    data = bytearray(batch_bytes(base_offset=40))
    data[place] ^= 0x01
    [batch] = iter_batches(data)
    with pytest.raises(Undecodable, match="orders-2@40: CRC does not match"):
        decode_records(batch, topic_partition=ORDERS)


@pytest.mark.parametrize("kind", MarkerType)
def test_a_marker_tells_how_the_transaction_ended(kind):
    [batch] = iter_batches(control_bytes(kind))
    assert batch.header.is_control
    assert decode_marker(batch, check_crc=False) == EndTransactionMarker(0, 1700000000000, kind, 77, 4, 9)


def test_a_control_record_of_another_type_is_no_marker():
    [batch] = iter_batches(control_bytes(2))
    assert decode_marker(batch, check_crc=False) is None


def test_a_batch_that_the_log_cleaner_emptied_holds_no_marker():
    emptied = bytearray(control_bytes(MarkerType.COMMIT)[:61])
    emptied[8:12], emptied[57:61] = struct.pack(">i", 61 - 12), struct.pack(">i", 0)
    [batch] = iter_batches(emptied)
    assert batch.header.is_control
    assert decode_marker(batch, check_crc=False) is None


def test_a_marker_without_coordinator_epoch_is_refused():
    [batch] = iter_batches(control_bytes(1, value=b"\0"))
    with pytest.raises(Undecodable, match="control batch without a control record"):
        decode_marker(batch, check_crc=False)


SEEDS = [batch_bytes(codec) for codec in Codec] + [control_bytes(0)]


@st.composite
def damaged(draw):
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(12, len(data) - 1))
        data[place : place + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    if draw(st.booleans()) and len(data) > 12:
        data[8:12] = struct.pack(">i", len(data) - 12)
    return bytes(data)


@given(st.one_of(st.binary(max_size=200), damaged()), st.booleans())
def test_any_bytes_are_a_value_or_undecodable(data, check_crc):
    try:
        for batch in iter_batches(data, topic_partition=ORDERS):
            decode_records(batch, check_crc=check_crc)
            decode_marker(batch, check_crc=check_crc)
    except Undecodable:
        pass


def test_a_library_that_is_missing_is_no_damage_to_the_records(monkeypatch):
    (batch,) = iter_batches(batch_bytes(Codec.ZSTD))
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(ImportError):
        decode_records(batch)
