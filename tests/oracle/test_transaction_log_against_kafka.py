"""Our reading of the transaction log held against Kafka's own generated classes, on whatever Hypothesis thinks of."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.codecs.transaction_log import (
    decode_transaction_log_key,
    decode_transaction_log_value,
    encode_transaction_log_key,
)
from eosctl.errors import Undecodable
from tests.oracle.transaction_log_bytes import (
    NAMES,
    UNKNOWN_TAGS,
    TransactionLogOracle,
    encode,
    read_by_kafka,
    values,
)

pytestmark = pytest.mark.kafka
SHORT = settings(max_examples=200, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=3000, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def oracle() -> Iterator[TransactionLogOracle]:
    with TransactionLogOracle("4.3.1") as started:
        yield started


@pytest.fixture(scope="module")
def old_oracle() -> Iterator[TransactionLogOracle]:
    with TransactionLogOracle("3.9.2") as started:
        yield started


def hold_value(oracle, value, tags):
    data = encode(value, tags if value.version else None)
    answer = oracle.value(data)
    assert answer["left"] == 0
    assert decode_transaction_log_value(data) == read_by_kafka(answer) == value


def hold_damaged(oracle, value, place, byte, cut):
    """One byte changed, and the end cut off: Kafka reads these records equally, and both refuse the same ones."""
    data = bytearray(encode(value))
    data[place % len(data)] = byte
    damaged = bytes(data[: len(data) - cut % 6])
    answer = oracle.value(damaged)
    try:
        ours = decode_transaction_log_value(damaged)
    except Undecodable:
        ours = None
    if "refused" in answer or not 0 <= answer["data"]["transactionStatus"] <= 7:
        assert ours is None
    elif ours is not None:
        assert ours == read_by_kafka(answer)


@SHORT
@given(value=values(), tags=UNKNOWN_TAGS)
def test_values_are_read_as_kafka_reads_them(oracle, value, tags):
    hold_value(oracle, value, tags)


@pytest.mark.long
@LONG
@given(value=values(), tags=UNKNOWN_TAGS)
def test_thousands_of_values_are_read_as_kafka_reads_them(oracle, value, tags):
    hold_value(oracle, value, tags)


@SHORT
@given(value=values(), place=st.integers(0), byte=st.integers(0, 255), cut=st.integers(0, 5))
def test_damaged_values_are_read_as_kafka_reads_them_or_refused(oracle, value, place, byte, cut):
    hold_damaged(oracle, value, place, byte, cut)


@pytest.mark.long
@LONG
@given(value=values(), place=st.integers(0), byte=st.integers(0, 255), cut=st.integers(0, 5))
def test_thousands_of_damaged_values_are_read_as_kafka_reads_them_or_refused(oracle, value, place, byte, cut):
    hold_damaged(oracle, value, place, byte, cut)


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(value=values())
def test_an_older_kafka_reads_version_1_without_the_tags_it_does_not_know(old_oracle, value):
    answer = old_oracle.value(encode(value))
    theirs = read_by_kafka(answer)
    ours = decode_transaction_log_value(encode(value))
    assert (theirs.producer, theirs.state, theirs.partitions) == (ours.producer, ours.state, ours.partitions)
    assert (theirs.last_update_ms, theirs.start_ms) == (ours.last_update_ms, ours.start_ms)


@SHORT
@given(name=NAMES)
def test_keys_are_read_as_kafka_reads_them(oracle, name):
    data = encode_transaction_log_key(name)
    answer = oracle.key(data)
    assert (answer["version"], answer["left"], answer["data"]["transactionalId"]) == (0, 0, name)
    assert decode_transaction_log_key(data) == name
