"""Batches of records, and records as lines."""

import gzip
import struct
import sys
import tracemalloc

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.record_batches import (
    MOST_BYTES,
    Codec,
    EndTransactionMarker,
    MarkerType,
    TooLargeError,
    begins_batch,
    claimed_length,
    decode_entries_with,
    decode_marker,
    decode_records,
    iter_batches,
    most_batch_bytes,
    next_batch,
    unpack,
)
from eosctl.codecs.record_lines import read_record_lines
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.names import TopicPartition
from eosctl.model.records import Record, RecordState

ORDERS = TopicPartition("orders", 2)
COORDINATOR_EPOCH_9 = struct.pack(">hi", 0, 9)


def batch_bytes(codec=Codec.NONE, base_offset=0, records=3, transactional=True):
    builder = DefaultRecordBatchBuilder(2, int(codec), transactional, 77, 3, 0, 1 << 20)
    for place in range(records):
        builder.append(place, 1700000000000 + place, b"k%d" % place, None if place == 1 else b"v" * 40, [("h", b"x")])
    return struct.pack(">q", base_offset) + bytes(builder.build())[8:]


def control_bytes(kind, value=COORDINATOR_EPOCH_9):
    builder = DefaultRecordBatchBuilder(2, 0, 1, 77, 4, -1, 1 << 20)
    builder.append(0, 1700000000000, None if kind is None else struct.pack(">hh", 0, kind), value, [])
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


PACK = {
    Codec.GZIP: gzip.compress,
    Codec.SNAPPY: cramjam.snappy.compress_raw,
    Codec.LZ4: cramjam.lz4.compress,
    Codec.ZSTD: cramjam.zstd.compress,
}
PLAIN = bytes(range(256)) * 100


@pytest.mark.parametrize("codec", PACK)
def test_as_many_bytes_as_are_allowed_are_unpacked_and_one_more_is_too_many(codec):
    packed = memoryview(bytes(PACK[codec](PLAIN)))
    assert bytes(unpack(codec, packed, 2, len(PLAIN))[2:]) == PLAIN
    with pytest.raises(TooLargeError):
        unpack(codec, packed, 2, len(PLAIN) - 1)
    with pytest.raises(Exception) as damaged:  # noqa: PT011  # each library has its own
        unpack(codec, packed[:40], 2, len(PLAIN))
    assert not isinstance(damaged.value, TooLargeError)


XERIAL = b"\x82SNAPPY\x00" + bytes([0, 0, 0, 1]) * 2
BLOCK = bytes(cramjam.snappy.compress_raw(b"abc"))
FRAMED = struct.pack(">i", len(BLOCK)) + BLOCK


def test_blocks_of_snappy_follow_a_header_or_there_is_one_without():
    assert bytes(unpack(Codec.SNAPPY, memoryview(XERIAL + FRAMED * 2), 1, 6)) == b"\0abcabc"
    assert bytes(unpack(Codec.SNAPPY, memoryview(BLOCK), 1, 3)) == b"\0abc"
    with pytest.raises(TooLargeError):
        unpack(Codec.SNAPPY, memoryview(XERIAL + FRAMED * 2), 1, 5)


@pytest.mark.parametrize("length", [-1, 0, len(BLOCK) + 1])
def test_a_block_of_snappy_is_as_long_as_what_is_there_or_shorter(length):
    with pytest.raises(ValueError, match=f"a block of {length} bytes"):
        unpack(Codec.SNAPPY, memoryview(XERIAL + struct.pack(">i", length) + BLOCK), 1, 100)


def test_several_members_of_gzip_and_zeros_behind_them_are_read():
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + bytes(20_000)
    assert bytes(unpack(Codec.GZIP, memoryview(packed), 2, 100)[2:]) == b"one two"


@pytest.mark.parametrize("packed", [b"", gzip.compress(PLAIN)[:-9], gzip.compress(b"one") + gzip.compress(b"two")[:9]])
def test_gzip_that_is_cut_is_not_taken_for_its_beginning(packed):
    with pytest.raises(EOFError, match="is cut"):
        unpack(Codec.GZIP, memoryview(packed), 0, len(PLAIN))


def header(length=None, magic=2, base_offset=5, last_offset_delta=0, count=1):
    batch = bytearray(batch_bytes(base_offset=base_offset, records=1))
    struct.pack_into(">i", batch, 8, len(batch) - 12 if length is None else length - 12)
    batch[16] = magic
    struct.pack_into(">i", batch, 23, last_offset_delta)
    struct.pack_into(">i", batch, 57, count)
    return bytes(batch)


ONE = batch_bytes(base_offset=5, records=1)


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (ONE, len(ONE)),
        (ONE[:12], len(ONE)),
        (ONE[:11], 0),
        (header(length=61), 61),
        (header(length=60), 0),
        (header(length=-1), 0),
    ],
)
def test_the_length_that_a_batch_claims_is_one_that_a_batch_has(data, length):
    assert claimed_length(data) == length
    assert claimed_length(b"x" + data, 1) == length


@pytest.mark.parametrize(
    ("data", "offset", "begins"),
    [
        (ONE, 5, True),
        (ONE[:61], 0, True),
        (ONE[:60], 0, False),
        (ONE, 6, False),
        (header(base_offset=(1 << 31) - 1), 0, True),
        (header(base_offset=1 << 31), 0, False),
        (header(magic=1), 0, False),
        (header(length=61), 0, True),
        (header(length=60), 0, False),
        (header(last_offset_delta=-1), 0, False),
        (header(count=0), 0, True),
        (header(count=-1), 0, False),
    ],
)
def test_a_batch_begins_where_a_plausible_header_lies(data, offset, begins):
    assert begins_batch(b"x" + data, 1, offset) is begins


DAMAGED = header(magic=9, base_offset=4)
WRONG_CRC = bytearray(ONE)
WRONG_CRC[-1] ^= 1


@pytest.mark.parametrize(
    ("data", "offset", "place"),
    [
        (DAMAGED + ONE, 5, len(DAMAGED)),
        # Behind the claimed length a header is enough; elsewhere the batch has to be whole and its CRC right.
        (DAMAGED + bytes(WRONG_CRC), 5, len(DAMAGED)),
        (header(length=-1, magic=9) + ONE, 5, len(ONE)),
        (header(length=-1, magic=9) + bytes(WRONG_CRC), 5, None),
        (header(length=-1, magic=9) + bytes(WRONG_CRC) + ONE, 5, 2 * len(ONE)),
        (header(length=-1, magic=9) + ONE[:-1], 5, None),
        (header(length=-1, magic=9) + ONE, 6, None),
        (header(length=-1, magic=9), 5, None),
        (DAMAGED + DAMAGED, 5, None),
        (DAMAGED + DAMAGED + ONE, 5, 2 * len(DAMAGED)),
        (b"\2" * 20 + ONE, 5, 20),
        (b"", 0, None),
    ],
)
def test_behind_damaged_bytes_the_next_batch_is_found(data, offset, place):
    assert next_batch(data, 0, offset) == place


def limit(given):
    return most_batch_bytes(ClientProperties((), properties={"eosctl.batch.max.bytes": Property(given, "-X")}))


def test_the_memory_of_a_batch_is_what_the_user_gives_or_64_mib():
    assert most_batch_bytes(ClientProperties(())) == MOST_BYTES == 64 << 20
    assert [limit(given) for given in ("1", "0200", "9" * 15)] == [1, 200, 10**15 - 1]


@pytest.mark.parametrize("given", ["", "0", "000", "-1", "64M", "1e9", "\u0661", "\u00b2", "9" * 16, "9" * 30])
def test_a_limit_that_is_not_a_number_is_reported(given):
    with pytest.raises(ConfigError, match=r"-X: eosctl\.batch\.max\.bytes=.* is no number of bytes"):
        limit(given)


@pytest.mark.parametrize("codec", Codec)
def test_the_records_of_a_batch_may_take_their_bytes_and_256_more_each(codec):
    data, plain = batch_bytes(codec), batch_bytes(Codec.NONE)
    enough = 3 * 256 + (len(plain) - 61 if codec else len(plain))
    [batch] = iter_batches(data, most_bytes=enough)
    assert len(decode_records(batch)) == 3
    for most in (enough - 1, 3 * 256 - 1, 0):
        [tight] = iter_batches(data, most_bytes=most)
        with pytest.raises(
            Undecodable, match=f"its records take more than {most} bytes once they are unpacked"
        ) as caught:
            decode_records(tight)
        assert str(caught.value.hint).endswith("give -X eosctl.batch.max.bytes=<bytes>")


@pytest.mark.parametrize("codec", [5, 7])
def test_a_codec_that_no_batch_has_is_named(codec):
    data = bytearray(batch_bytes())
    data[22] |= codec
    [batch] = iter_batches(data)
    with pytest.raises(Undecodable, match=f"unknown codec {codec}") as caught:
        decode_records(batch, check_crc=False)
    assert caught.value.hint is None


def test_the_records_of_a_batch_without_any_of_the_words_are_not_decoded():
    [batch] = iter_batches(batch_bytes(Codec.GZIP))
    assert decode_entries_with(batch, [b"none of them", b"v" * 40]) is not None
    assert decode_entries_with(batch, [b"none of them"]) is None
    assert decode_entries_with(batch, []) is None


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
def test_a_marker_shows_how_the_transaction_ended(kind):
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


@pytest.mark.parametrize(("kind", "value"), [(1, b"\0"), (1, None), (None, COORDINATOR_EPOCH_9)])
def test_a_marker_without_type_or_coordinator_epoch_is_refused(kind, value):
    [batch] = iter_batches(control_bytes(kind, value=value))
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


def read(*lines):
    return list(read_record_lines(lines, "config.jsonl"))


def test_a_value_is_taken_as_text_as_an_object_or_as_a_tombstone():
    assert read(
        '{"offset":3,"timestamp":9,"key":"commit-a","value":"{\\"tasks\\": 1}"}\n',
        '{"offset":4,"timestamp":9,"key":"commit-a","value":{"tasks":1}}\r\n',
        b'{"offset":9,"timestamp":9,"key":"connector-\xc3\xbc","value":null}',
    ) == [
        Record(3, 9, b"commit-a", b'{"tasks": 1}'),
        Record(4, 9, b"commit-a", b'{"tasks":1}'),
        Record(9, 9, "connector-ü".encode(), None),
    ]


def test_optional_fields_say_who_wrote_it_how():
    line = '{"offset":0,"key":null,"value":"x","state":"open","producer_id":5,"producer_epoch":1,"partition":0}'
    assert read(line) == [Record(0, -1, None, b"x", RecordState.OPEN, True, 5, 1)]


def test_a_console_consumer_line_is_key_tab_value():
    assert read("commit-a\t{}\n", "\n", "connector-a\tnull\n", "null\tx\ty\n") == [
        Record(0, -1, b"commit-a", b"{}"),
        Record(1, -1, b"connector-a", None),
        Record(2, -1, None, b"x\ty"),
    ]


def test_a_console_consumer_may_print_timestamp_partition_and_offset():
    assert read("CreateTime:8\tPartition:0\tOffset:41\tcommit-a\t{}", "CreateTime:9\tPartition:0\tOffset:43\tb\tc") == [
        Record(41, 8, b"commit-a", b"{}"),
        Record(43, 9, b"b", b"c"),
    ]


def test_the_notice_that_a_new_console_consumer_prints_first_is_no_record():
    notice = (
        "Option --property is deprecated and will be removed in a future version. Use --formatter-property instead."
    )
    assert read(f"{notice}\n", "commit-a\t{}\n") == [Record(0, -1, b"commit-a", b"{}")]


def test_no_lines_are_no_records():
    assert read() == read("\n", "  \n") == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['{"offset":0,"key":"a","value":1}', '{"offset":1,"key":'], "config.jsonl, line 2: the line is not JSON"),
        (['{"offset":0,"key":"a"}'], "line 1: `value` is missing"),
        (['{"offset":0,"value":null}'], "line 1: `key` is missing"),
        (['{"key":"a","value":null}'], "line 1: `offset` is missing or not a whole number"),
        (['{"offset":true,"key":"a","value":null}'], "`offset` is missing or not a whole number"),
        (['{"offset":0,"key":"a","value":null,"state":"gone"}'], "`state` is not one of committed, aborted, open"),
        (['{"offset":0,"key":"a","value":null,"state":[]}'], "`state` is not one of committed, aborted, open"),
        (['{"offset":0,"key":"a","value":null,"transactional":1}'], "`transactional` is neither true nor false"),
        (['{"offset":5,"key":"a","value":1}', '{"offset":5,"key":"a","value":1}'], "offset 5 comes after offset 5"),
        (
            ['{"offset":5,"key":"a","value":1,"partition":0}', '{"offset":6,"key":"a","value":1,"partition":1}'],
            "line 2: partition 1 after partition 0",
        ),
        (["{"], "line 1: the line is not JSON"),
        (['{"offset":0,"key":"a","value":1}', "[]"], "line 2: the line is not a JSON object"),
        (["commit-a"], "line 1: there is no TAB"),
        ([b"\xff\xfec\0o\0"], "NUL characters"),
        ([b'{"\xff'], "the line is not UTF-8 text"),
    ],
)
def test_a_malformed_line_is_named(lines, reason):
    with pytest.raises(Undecodable) as refusal:
        read(*lines)
    assert reason in str(refusal.value)


def test_the_error_does_not_quote_the_line():
    with pytest.raises(Undecodable) as refusal:
        read('{"offset":0,"key":"session-key","value":"hunter2"')
    assert "hunter2" not in f"{refusal.value}{refusal.value.hint}{refusal.value.__cause__}"


@given(st.lists(st.binary()))
def test_any_lines_are_records_or_undecodable(lines):
    try:
        read(*lines)
    except Undecodable:
        return


@given(st.lists(st.text(), min_size=1))
def test_any_text_after_an_object_is_a_record_or_undecodable(lines):
    try:
        read('{"offset":0,"key":"a","value":null}', *lines)
    except Undecodable:
        return


def _peak(count):
    lines = (f'{{"offset":{n},"timestamp":1,"key":"commit-a","value":{{"tasks":1}}}}\n' for n in range(count))
    tracemalloc.start()
    for _ in read_record_lines(lines):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_stays_flat():
    _peak(100)
    assert _peak(5_000) < _peak(500) * 1.1 + 10_000
