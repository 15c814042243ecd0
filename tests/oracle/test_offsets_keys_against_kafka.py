"""Keys of an offsets topic read, partitioned and written again by us and by Kafka's own classes."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eosctl.codecs.ledger import decode_json, read_offsets_key
from eosctl.codecs.offsets_topic import decode_offsets_key, encode_offsets_key, hash_map_order
from eosctl.model.offsets import OffsetKey
from eosctl.model.records import murmur2
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import Oracle, java_with, sized

pytestmark = pytest.mark.kafka

SOURCE = Path(__file__).with_name("OffsetsOracle.java")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | TEXT
    # Java before 19 writes some doubles with a digit too many; these it does not.
    | st.integers(-(10**9), 10**9).map(lambda number: number / 8)
    | st.sampled_from([1e10, 1e-4, 1.5e300])
)
PARTITIONS = st.dictionaries(TEXT, SCALARS, max_size=30)
MALFORMED = st.sampled_from(
    [b"", b"null", b"x", b"[]", b'["a"]', b'["a",{},1]', b"[1,{}]", b'["a",1]', b'["a",[]]', b'["a",null]', b'{"a":1}']
)


class OffsetsOracle(Oracle):
    """One JVM that is asked about one key after the other."""

    def __init__(self) -> None:
        jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
        classes = compile_java(jars.compiler, SOURCE, jars.classpath)
        super().__init__([*java_with(jars, classes), "OffsetsOracle"])

    def ask(self, key: bytes) -> dict[str, Any]:
        return self.answer_to(sized(key))


@pytest.fixture(scope="module")
def oracle() -> Iterator[OffsetsOracle]:
    with OffsetsOracle() as started:
        yield started


@settings(max_examples=300)
@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(-(10**40), 10**40), max_size=4))
@example([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**64 + 1, 10**18, 10**19])
def test_integers_of_any_size_are_the_longs_that_a_worker_sees(oracle: OffsetsOracle, numbers: list[int]) -> None:
    raw = json.dumps(["c", {f"n{place}": number for place, number in enumerate(numbers)}]).encode()
    again = json.loads(base64.b64decode(oracle.ask(raw)["again"]))
    assert decode_json(raw) == again
    assert json.loads(read_offsets_key(raw).text) == again


@settings(max_examples=500)
@given(connector=TEXT, partition=PARTITIONS)
@example(connector="MirrorSourceConnector", partition={"topic": "t", "partition": 0, "cluster": "A"})
def test_a_key_is_read_placed_and_written_again_as_by_kafka(
    oracle: OffsetsOracle, connector: str, partition: dict[str, object]
) -> None:
    raw = encode_offsets_key(connector, partition)
    answer = oracle.ask(raw)
    assert answer["murmur2"] == murmur2(raw)
    assert answer["listed"]
    # Kafka's converter puts the members into a java.util.HashMap on the way.
    assert base64.b64decode(answer["again"]) == encode_offsets_key(connector, hash_map_order(partition))


@settings(max_examples=500)
@given(MALFORMED | st.binary(max_size=30))
def test_any_bytes_are_listed_or_ignored_as_by_kafka(oracle: OffsetsOracle, raw: bytes) -> None:
    key = decode_offsets_key(raw)
    answer = oracle.ask(raw)
    assert answer["murmur2"] == murmur2(raw)
    assert answer["listed"] is (isinstance(key, OffsetKey) and key.partition is not None)
