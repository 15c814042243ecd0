"""The bytes of the transaction log: decoded and refused ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.codecs.transaction_log import (
    MessageBytes,
    decode_log_record,
    decode_transaction_log_key,
    decode_transaction_log_value,
    encode_transaction_log_key,
    may_begin_with,
)
from eosctl.errors import Undecodable
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Record
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState

ONGOING_V0 = bytes.fromhex(
    "0000" "0000000000000007" "0003" "0000ea60" "01"
    "00000001" "0001" "74" "00000002" "00000000" "00000005"
    "00000199b1a00010" "00000199b1a00000"
)  # fmt: skip
COMPLETE_V1 = bytes.fromhex(
    "0001" "0000000000000007" "0004" "0000ea60" "04" "01" "00000199b1a00010" "00000199b1a00000"
    "02" "00" "08" "0000000000000006" "02" "02" "0002"
)  # fmt: skip


def test_a_value_of_version_0_is_read():
    assert decode_transaction_log_value(ONGOING_V0) == TransactionLogValue(
        version=0,
        producer=ProducerIdAndEpoch(7, 3),
        timeout_ms=60_000,
        state=TransactionState.ONGOING,
        partitions=(TopicPartition("t", 0), TopicPartition("t", 5)),
        last_update_ms=0x199B1A00010,
        start_ms=0x199B1A00000,
    )


def test_a_value_of_version_1_is_read_with_its_tagged_fields():
    value = decode_transaction_log_value(COMPLETE_V1)
    assert (value.state, value.partitions) == (TransactionState.COMPLETE_COMMIT, ())
    assert (value.previous_producer_id, value.next_producer_id, value.client_transaction_version) == (6, -1, 2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "2 bytes were to follow at byte 0 of 0"),
        (b"\x00\x02" + ONGOING_V0[2:], "value version 2 of the transaction log is not known"),
        (b"\xff\xff" + ONGOING_V0[2:], "value version -1 of the transaction log is not known"),
        (ONGOING_V0[:16] + b"\x08" + ONGOING_V0[17:], "transaction status 8 is not known"),
        (ONGOING_V0[:-1], "16 bytes were to follow"),
        (ONGOING_V0[:17], "4 bytes were to follow at byte 17 of 17"),
        (ONGOING_V0[:16], "15 bytes were to follow at byte 2 of 16"),
        (ONGOING_V0[:21] + b"\xff\xff" + ONGOING_V0[23:], "a length of -1 at byte 23"),
        (ONGOING_V0 + b"\0", "1 bytes are left over"),
        (ONGOING_V0[:17] + b"\x7f\xff\xff\xff" + ONGOING_V0[21:], "2147483647 elements cannot follow"),
        (ONGOING_V0[:23] + b"\xff" + ONGOING_V0[24:], "text that is not UTF-8"),
        (COMPLETE_V1[:17] + b"\xff" * 6, "a varint longer than 5 bytes"),
    ],
)
def test_other_bytes_are_refused_with_the_reason(data: bytes, reason: str):
    with pytest.raises(Undecodable, match=reason):
        decode_transaction_log_value(data)


@settings(max_examples=500)
@given(
    st.binary(max_size=80) | st.builds(lambda v, b: v + b, st.sampled_from([b"\0\0", b"\0\1"]), st.binary(max_size=99))
)
def test_any_bytes_are_a_value_or_undecodable(data: bytes):
    for decode in (decode_transaction_log_value, decode_transaction_log_key):
        try:
            decode(data)
        except Undecodable:
            continue


def test_a_key_is_read_and_a_newer_one_is_distinguished():
    key = encode_transaction_log_key("ü-😀-0")
    assert decode_transaction_log_key(key) == "ü-😀-0"
    assert decode_log_record(9, Record(4, 1, b"\0\1" + key[2:], None)) == NewerLogRecord(9, 4, 1)
    assert decode_log_record(9, Record(4, 1, key, b"\0\3 and what only a newer Kafka knows")) == NewerLogRecord(
        9, 4, 3, "ü-😀-0"
    )
    assert decode_log_record(9, Record(4, 1, key, None)) == TransactionLogRecord(9, 4, 1, "ü-😀-0", None)


@pytest.mark.parametrize(
    ("data", "compact", "text"),
    [
        (b"\xff\xff", False, None),
        (b"\0\0", False, ""),
        (b"\0\1a", False, "a"),
        (b"\0", True, None),
        (b"\1", True, ""),
        (b"\2a", True, "a"),
    ],
)
def test_a_text_that_may_be_missing_is_not_an_empty_one(data: bytes, compact: bool, text: str | None):
    assert MessageBytes(data).nullable_text(compact=compact) == text


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (b"", "2 bytes were to follow at byte 0 of 0"),
        (b"\0", "2 bytes were to follow at byte 0 of 1"),
        (b"\0\0", "2 bytes were to follow at byte 2 of 2"),
        (b"\0\0\0", "2 bytes were to follow at byte 2 of 3"),
        (b"\0\1", "key version 1 of the transaction log is not known"),
        (b"\0\1\0\0", "key version 1 of the transaction log is not known"),
        (b"\0\0\0\2a", "2 bytes were to follow at byte 4 of 5"),
        (b"\0\0\0\1ab", "1 bytes are left over"),
    ],
)
def test_another_key_is_refused_with_the_reason(key: bytes, reason: str):
    with pytest.raises(Undecodable, match=reason):
        decode_transaction_log_key(key)
    assert decode_transaction_log_key(b"\0\0\0\0") == ""


def test_a_bad_record_is_reported_with_its_place():
    with pytest.raises(Undecodable, match=r"__transaction_state-9@4: value version -1"):
        decode_log_record(9, Record(4, 1, encode_transaction_log_key("a"), b"\xff\xff"))
    with pytest.raises(Undecodable, match=r"__transaction_state-9@4: 2 bytes were to follow"):
        decode_log_record(9, Record(4, 1, None, ONGOING_V0))


ID = b"eos-cluster-orders-0"


@pytest.mark.parametrize(
    ("key", "prefix", "may"),
    [
        (b"\0\0\0\x14" + ID, b"eos-", True),
        (b"\0\0\0\x14" + ID, b"", True),
        (b"\0\0\0\x14" + ID, b"os-", False),
        (b"\0\x01\0\x14" + ID, b"os-", True),
        (b"", b"os-", True),
    ],
)
def test_a_key_of_another_version_may_be_of_any_id(key: bytes, prefix: bytes, may: bool):
    assert may_begin_with(key, prefix) is may
