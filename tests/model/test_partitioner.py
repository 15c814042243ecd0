"""murmur2 and the partition that Java's producer gives a key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from eosctl.model.records import java_partition, murmur2


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_what_kafka_s_own_test_expects(data: bytes, value: int) -> None:
    assert murmur2(data) == value


@given(st.binary(max_size=200))
def test_murmur2_agrees_with_kafka_python(data: bytes) -> None:
    assert murmur2(data) & 0xFFFFFFFF == kafka_python_murmur2(data) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        (b'["file-source",{"filename":"/tmp/test.txt"}]', 21),
        (b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]', 7),
        (b'["reddit-source",{"subreddit":"apachekafka"}]', 3),
    ],
)
def test_a_key_lies_where_a_connector_puts_it_among_25_partitions(key: bytes, partition: int) -> None:
    assert java_partition(key, 25) == partition
