"""JSON: as Connect reads it, and as our nouns are written."""

import json
import struct
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, defstruct

from eosctl.codecs.json_nouns import JsonNoun
from eosctl.codecs.json_text import (
    MOST_NESTED,
    NotJson,
    halves_as_text,
    int_value,
    is_too_deep,
    load_json,
    read_json,
    read_text,
)
from eosctl.codecs.plan import JournalEntry, JournalHead
from eosctl.codecs.record_batches import decode_ending, decode_shown, encode_transactional_batch
from eosctl.codecs.snapshot import IN_LINES, LINES, SECTIONS
from eosctl.errors import Undecodable
from eosctl.model.config_topic import ConfigRecord
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers
from eosctl.model.names import CachedNames, ProducerIdAndEpoch, TopicPartition
from eosctl.model.records import Shown
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transaction_log import LogRecord
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", None),
        (b" null ", None),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":18446744073709551618}', {"a": 2}),
        (b'{"a":007}', {"a": 7}),
        (b'{"a":"007"}', {"a": "007"}),
        (b'{"a":-007.50}', {"a": -7.5}),
        (b'{"a":100.007}', {"a": 100.007}),
        (b'{"a":1} and more', {"a": 1}),
        (b'{"a":1}\xff', {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        ('{"a":"é"}'.encode("utf-16"), {"a": "é"}),
        ('{"a":1}'.encode("utf-32-be"), {"a": 1}),
        (b'"\\ud83d"', "?"),
        (b'{"\\uD83D":["\\uDC00"]}', {"?": ["?"]}),
    ],
)
def test_json_that_jackson_accepts_is_read(data, value):
    assert read_json(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"nullx",
        b"null\xff",
        b"1x",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b"{'a':1}",
        b'{"a":1',
        b'{"a":"\x01"}',
        b"\xfe\xff",
        b"[" * 100_000,
        b'{"a":' + b"1" * 1001 + b"}",
    ],
)
def test_text_that_jackson_refuses_is_not_json(data):
    with pytest.raises(NotJson):
        read_json(data)


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("[" * MOST_NESTED + "]" * MOST_NESTED, False),
        ("[" * (MOST_NESTED + 1) + "]" * (MOST_NESTED + 1), True),
        ("[" + "[]," * MOST_NESTED + "[]]", False),
        ("[" + '"[",' * (MOST_NESTED + 1) + "1]", False),
        ('{"a":' * MOST_NESTED + "[1]" + "}" * MOST_NESTED, True),
        ("[{}]" * MOST_NESTED, False),
    ],
)
def test_nesting_is_counted_where_it_is_open(text: str, deep: bool):
    assert is_too_deep(text) is deep


@pytest.mark.parametrize("text", ["1e999", "-1e999", "[NaN]", '["\\ud800"]', "[" * 201 + "]" * 201, "9" * 5_000])
def test_a_file_holds_no_json_that_others_read_otherwise(text: str):
    with pytest.raises(json.JSONDecodeError):
        load_json(text)
    assert load_json("1e308") == 1e308
    assert load_json('["\\ud83d\\ude00"]') == ["😀"]
    assert load_json('["\\ud800"]', halves=True) == ["\ud800"]


def test_a_refusal_never_quotes_the_bytes():
    with pytest.raises(NotJson) as refusal:
        read_json(b'{"password":"hunter2"')
    assert "hunter2" not in str(refusal.value)


@given(st.binary())
def test_any_bytes_are_json_or_not_json(data):
    try:
        read_json(data)
    except NotJson:
        return


@given(st.binary())
def test_any_bytes_are_text(data):
    assert isinstance(read_text(data), str)


def test_malformed_utf8_becomes_as_many_replacement_characters_as_in_java():
    assert read_text(b"a\xed\xa0\x80b") == "a\ufffdb"
    assert [read_text(b"a\xed\xa0b"), read_text(b"\xed\xa0")] == ["a\ufffdb", "\ufffd"], "half a pair that is cut"
    assert read_text(b"\xc0\x80") == "\ufffd\ufffd"
    assert read_text(b"\xf0\x9f\x98") == "\ufffd"


def test_a_count_is_the_lowest_32_bits():
    assert [int_value(number) for number in (2**32 + 3, 2**31, -(2**31) - 1)] == [3, -(2**31), 2**31 - 1]


SECTION_HINTS = {name: hint for name, hint in get_type_hints(Snapshot).items() if name in SECTIONS}
NOUNS: dict[str, tuple[JsonNoun[Any], Any]] = {
    **{name: (SECTIONS[name], hint) for name, hint in SECTION_HINTS.items()},
    **{name: (noun, noun._hint) for name, noun in LINES.values()},
    "journal": (JsonNoun(JournalEntry), JournalEntry),
    "journal head": (JsonNoun(JournalHead), JournalHead),
    "cached names": (JsonNoun(CachedNames), CachedNames),
}


@pytest.mark.parametrize("name", NOUNS)
@settings(max_examples=30)
@given(st.data())
def test_every_noun_of_a_file_is_read_as_it_was_written(name: str, data: st.DataObject) -> None:
    noun, hint = NOUNS[name]
    value = data.draw(values_of(hint))
    assert noun.decode(json.loads(json.dumps(noun.encode(value))), name) == value


OBJECTS = sorted(NOUNS.keys() - {"transactions", "unlisted"})
"""All but those that are a mapping or a list."""


@pytest.mark.parametrize("name", OBJECTS)
@settings(max_examples=10)
@given(st.data())
def test_a_noun_with_a_missing_or_an_additional_member_is_refused(name: str, data: st.DataObject) -> None:
    noun, hint = NOUNS[name]
    encoded = json.loads(json.dumps(noun.encode(data.draw(values_of(hint)))))
    lost = data.draw(st.sampled_from(sorted(encoded)))
    for changed in ({**encoded, "one more": 1}, {key: each for key, each in encoded.items() if key != lost}):
        with pytest.raises(Undecodable):
            noun.decode(changed, name)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Leaf(Struct, frozen=True):
    names: Mapping[str, str] | Skipped
    colour: Colour = Colour.RED


class Branch(NamedTuple):
    leaves: tuple[Leaf, ...]
    by_node: Mapping[int, bytes | None]
    by_place: Mapping[TopicPartition, bool]


DENIED = {"skipped": "denied", "cause": "unknown"}
BRANCH = JsonNoun[Branch](Branch)
GOOD = Branch(
    (Leaf({"a": "b"}), Leaf(Skipped("denied"), Colour.BLUE)), {1: b"\xff", -2: None}, {TopicPartition("t", 0): True}
)


def test_a_noun_is_an_object_with_its_fields() -> None:
    assert BRANCH.encode(GOOD) == {
        "leaves": [{"names": {"a": "b"}, "colour": "red"}, {"names": DENIED, "colour": "blue"}],
        "by_node": {"1": "/w==", "-2": None},
        "by_place": [[{"topic": "t", "partition": 0}, True]],
    }


def test_a_mapping_with_a_member_named_skipped_is_no_skipped() -> None:
    leaf = Leaf({"skipped": "denied"})
    assert JsonNoun(Leaf).encode(leaf)["names"] == [["skipped", "denied"]]
    assert JsonNoun[Leaf](Leaf).decode({"names": [["skipped", "denied"]], "colour": "red"}, "x") == leaf


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["leaves"], {}, "leaves is an object, not a list"),
        (["leaves", 1], 5, "leaves[1] is a whole number, not an object"),
        (["leaves", 0, "names", "a"], 1, "leaves[0].names.a is a whole number, not text"),
        (["leaves", 0, "names"], {**DENIED, "skipped": None}, "leaves[0].names.skipped is null, not text"),
        (
            ["leaves", 0, "names"],
            {**DENIED, "b": ""},
            "leaves[0].names has a member 'b' that does not belong there",
        ),
        (["leaves", 0, "colour"], "green", "leaves[0].colour is 'green', not red or blue"),
        (["leaves", 0, "colour"], None, "leaves[0].colour is null, not red or blue"),
        (["by_node", "01"], "", "by_node.01 is not named by a whole number"),
        (["by_node", "1"], "?", "by_node.1 is not base64"),
        (["by_place", 0], [], "by_place[0] is not a key and a value"),
        (["by_place", 0, 0, "partition"], "0", "by_place[0].partition is text, not a whole number"),
        (["by_place", 0, 0, "partition"], True, "by_place[0].partition is a boolean, not a whole number"),
        (
            ["by_place", 0, 0, "partition"],
            1.0,
            "by_place[0].partition is a number with a fraction, not a whole number",
        ),
        (["by_place", 0, 1], 1, "by_place[0] is a whole number, not a boolean"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_by_its_path(path: list[Any], value: object, message: str) -> None:
    encoded = target = json.loads(json.dumps(BRANCH.encode(GOOD)))
    for each in path[:-1]:
        target = target[each]
    target[path[-1]] = value
    with pytest.raises(Undecodable) as wrong:
        BRANCH.decode(encoded, "the file", "x")
    assert wrong.value.message == f"the file: x.{message}"


def test_a_record_is_of_one_of_the_kinds_that_are_known() -> None:
    with pytest.raises(Undecodable, match="line 3: kind is 'x', which is no kind that this eosctl knows"):
        JsonNoun(ConfigRecord).decode({"kind": "x"}, "line 3")
    with pytest.raises(Undecodable, match="line 3 lacks 'kind'"):
        JsonNoun(LogRecord).decode({}, "line 3")


def test_the_cause_of_what_was_skipped_is_kept() -> None:
    noun = JsonNoun[int | Skipped](int | Skipped)
    read = noun.decode(noun.encode(Skipped("no answer", Cause.UNREACHABLE)), "x")
    assert isinstance(read, Skipped)
    assert (read.reason, read.cause) == ("no answer", Cause.UNREACHABLE)


def test_a_name_that_a_newer_kafka_added_is_unknown() -> None:
    assert JsonNoun(TransactionState).decode("PrepareSomething", "x") is TransactionState.UNKNOWN


def test_a_type_without_a_form_is_found_at_once() -> None:
    with pytest.raises(TypeError, match="set"):
        JsonNoun[Any](set).encode(set())
    with pytest.raises(TypeError, match="has a field that stands for something else"):
        JsonNoun[Any](defstruct("Odd", [("skipped", str)])).encode(None)


def test_partitions_are_named_as_kafka_names_them() -> None:
    encoded = JsonNoun(PartitionProducers).encode(PartitionProducers(TopicPartition("orders", 3), -1, None))
    assert encoded["topic_partition"] == {"topic": "orders", "partition": 3}


TEXT = st.text(max_size=4) | st.just("skipped")
SCALARS = {
    str: TEXT,
    int: st.integers(-(1 << 70), 1 << 70),
    bool: st.booleans(),
    type(None): st.none(),
    bytes: st.binary(max_size=4),
    object: st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2),
    KafkaVersion: st.builds(KafkaVersion, *[st.integers(0, 99)] * 3),
}


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of the type hint; the fields of separate lines are as after decoding."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin in {Union, UnionType}:
        return st.one_of(*map(values_of, arguments))
    if origin in {tuple, frozenset}:
        return st.lists(values_of(arguments[0]), max_size=3).map(origin)
    if origin is Mapping:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    apart = IN_LINES.get(hint, {})
    fields = {name: values_of(each) for name, each in get_type_hints(hint).items() if name not in apart}
    return st.builds(hint, **fields, **{name: st.just(each) for name, each in apart.items()})


OURS, THEIRS = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(8, 0)
CONTROL_AT = 22


def data(offset: int, producer: ProducerIdAndEpoch = OURS) -> bytes:
    """One record at that offset."""
    return _at(offset, encode_transactional_batch(producer, 0, 1_000, b"key", b"value"))


def marker(offset: int, kind: int, producer: ProducerIdAndEpoch = OURS) -> bytes:
    """A control batch with a valid CRC."""
    builder = DefaultRecordBatchBuilder(2, 0, 1, producer.producer_id, producer.producer_epoch, -1, 1 << 10)
    builder.append(0, 1_000, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0), [])
    whole = bytearray(_at(offset, bytes(builder.build())))
    whole[CONTROL_AT] |= 0x20
    from aiokafka.record.util import calc_crc32c

    struct.pack_into(">I", whole, 17, calc_crc32c(bytes(whole[21:])))
    return bytes(whole)


def _at(offset: int, batch: bytes) -> bytes:
    return struct.pack(">q", offset) + batch[8:]


@pytest.mark.parametrize(
    ("records", "aborted", "expected"),
    [
        (data(5), [], Shown.RETURNED),
        (data(5), [(7, 5)], Shown.NAMED_ABORTED),
        (data(5), [(7, 6), (8, 5)], Shown.RETURNED),
        (data(6), [], Shown.NOT_RETURNED),
        (b"", [], Shown.NOT_RETURNED),
        (None, [(7, 5)], Shown.NOT_RETURNED),
        (marker(5, 1), [], Shown.NOT_RETURNED),
    ],
)
def test_a_record_is_shown_named_or_withheld(records, aborted, expected):
    assert decode_shown(records, aborted, 5, OURS) is expected


def test_the_first_marker_of_the_producer_behind_it_counts():
    log = data(5) + marker(6, 1, THEIRS) + marker(7, 0) + marker(8, 1)
    assert decode_ending(log, 5, OURS) == "ABORT"
    assert decode_ending(log, 7, OURS) == "COMMIT"
    assert decode_ending(data(5), 5, OURS) is None
    assert decode_ending(None, 5, OURS) is None
    assert decode_ending(data(5) + marker(6, 2) + marker(7, 0), 5, OURS) == "ABORT", "a control record of another type"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"a"', '"a"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d"', r'"\\ud83d"'),
        (r'"\ude00\ud83d"', r'"\\ude00\\ud83d"'),
        (r'"\\ud83d"', r'"\\ud83d"'),
        (r'"\n\ud83d"', r'"\n\\ud83d"'),
        (r'"\uD83D\uDE00\udfff"', r'"\uD83D\uDE00\\udfff"'),
    ],
)
def test_half_of_a_surrogate_pair_becomes_the_text_of_its_escape(text: str, kept: str) -> None:
    assert halves_as_text(text) == kept
    json.loads(kept).encode()
