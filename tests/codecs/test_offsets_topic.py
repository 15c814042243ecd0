"""The offsets topic, in Kafka's bytes and through REST."""

import json
from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.codecs.groups import OffsetCommitKey, decode_checkpoint, decode_offset_commit_key
from eosctl.codecs.json_text import NotJson, read_json
from eosctl.codecs.offsets_topic import (
    canonical,
    decode_kip875,
    decode_offsets_key,
    decode_offsets_value,
    encode_kip875,
    encode_offsets_key,
    encode_offsets_value,
    hash_map_order,
    java_double,
    offsets_in,
    rename_key,
)
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.groups import Checkpoint
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import ConnectorOffset, MalformedKey, MalformedValue, OffsetKey
from eosctl.model.plan import OffsetsWrite

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"]))
)
MAPS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), SCALARS, max_size=5)
NAMES = st.text(st.characters(exclude_categories=["Cs"]))


def test_a_key_is_a_connector_and_its_source_partition() -> None:
    raw = b'["file-source",{"filename":"/tmp/x","n":1,"f":1.5,"b":true,"z":null}]'
    assert decode_offsets_key(raw) == OffsetKey(
        raw, "file-source", {"filename": "/tmp/x", "n": 1, "f": 1.5, "b": True, "z": None}
    )


PIECES = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"', '"a"', '"b":', "null", "true", "NaN", "-Infinity", " ", "\n", "x", "\x00"),
        *("0", "-0", "01", "1.0", "1e2", "1e400", "-", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "\\x", "\\/", "\ufeff"),
        *map(str, (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30)),
    ]
)
PLAIN = st.sampled_from(['{"a":1,"b":"x"}', '{"position":8421}', '{"a":null,"b":true}', "{}"])


@given(PLAIN, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), PIECES), max_size=3), st.booleans())
@settings(max_examples=300)
def test_the_plain_way_reads_only_what_json_in_full_reads_alike(
    text: str, edits: list[tuple[int, int, str]], half: bool
) -> None:
    for at, gone, piece in edits:
        text = text[:at] + piece + text[at + gone :]
    raw = text.encode() + b"\xc3" * half
    for key in (False, True):
        data = b'["c",' + raw + b"]" if key else raw
        found = decode_offsets_key(data) if key else decode_offsets_value(data)
        try:
            whole = read_json(data)
        except NotJson:
            assert isinstance(found, MalformedKey | MalformedValue)
            continue
        if isinstance(found, MalformedKey | MalformedValue):
            continue
        assert repr(["c", found.partition] if isinstance(found, OffsetKey) else found) == repr(whole)


def test_a_null_source_partition_is_a_key() -> None:
    assert decode_offsets_key(b'["c",null]') == OffsetKey(b'["c",null]', "c", None)
    assert OffsetKey(b'["c",null]', "c", None).members == {}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "the key is null"),
        (b"", "the key is null, not a list of 2"),
        (b"file-source", "the key is not JSON"),
        (b'{"a":1}', "the key is an object, not a list of 2"),
        (b'["a"]', "the key is a list of 1, not of 2"),
        (b'["a",{},{}]', "the key is a list of 3, not of 2"),
        (b"[1,{}]", "the connector is a number, not text"),
        (b'["a","b"]', "the source partition is text, not an object"),
        (b'["a",[]]', "the source partition is a list, not an object"),
        (b"\xff\xfe\x00", "the key is not JSON"),
    ],
)
def test_a_key_that_workers_ignore_is_malformed_with_the_reason(raw: bytes | None, reason: str) -> None:
    key = decode_offsets_key(raw)
    assert isinstance(key, MalformedKey)
    assert key.raw == raw
    assert reason in key.reason


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (None, None),
        (b"null", None),
        (b'{"position":123}', {"position": 123}),
        (b'{"n":18446744073709551617}', {"n": 1}),
        (b'{"n":1.0}', {"n": 1.0}),
        (b"{}", {}),
    ],
)
def test_a_value_is_read_as_a_worker_reads_it(raw: bytes | None, value: object) -> None:
    assert decode_offsets_value(raw) == value


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "the value is not JSON"),
        (b"[1]", "the value is a list, not an object"),
        (b'{"a":{"b":1}}', "member 'a' is nested, which Connect refuses"),
    ],
)
def test_a_value_that_no_connector_gets_has_a_reason(raw: bytes, reason: str) -> None:
    value = decode_offsets_value(raw)
    assert isinstance(value, MalformedValue)
    assert reason in value.reason


@given(st.binary(max_size=60))
def test_any_bytes_are_a_key_and_a_value_of_some_kind(raw: bytes) -> None:
    assert isinstance(decode_offsets_key(raw), OffsetKey | MalformedKey)
    value = decode_offsets_value(raw)
    assert value is None or isinstance(value, dict | MalformedValue)


@given(NAMES, st.none() | MAPS)
def test_a_key_that_was_written_is_read_back(connector: str, partition: dict[str, object] | None) -> None:
    raw = encode_offsets_key(connector, partition)
    assert decode_offsets_key(raw) == OffsetKey(raw, connector, partition)


def test_json_is_written_as_jackson_writes_it() -> None:
    assert encode_offsets_key('a"\\/\n\x01\x7f', {"ü": 1, "d": 1e7}) == (
        '["a\\"\\\\/\\n\\u0001\x7f",{"ü":1,"d":1.0E7}]'.encode()
    )
    assert encode_offsets_key("😀", None) == b'["\\uD83D\\uDE00",null]'
    assert encode_offsets_value(None) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (100.0, "100.0"),
        (0.001, "0.001"),
        (1e-4, "1.0E-4"),
        (1234567.0, "1234567.0"),
        (12345678.0, "1.2345678E7"),
        (1e10, "1.0E10"),
        (-0.0, "-0.0"),
        (123.456, "123.456"),
        (5e-324, "4.9E-324"),
    ],
)
def test_a_double_is_written_as_java_writes_it(number: float, text: str) -> None:
    assert java_double(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_double_is_the_same_number(number: float) -> None:
    assert float(java_double(number)) == number


@pytest.mark.parametrize(
    ("raw", "renamed"),
    [
        (b'["old",{"b":1.50,"a":2}]', b'["new \\"x\\"",{"b":1.50,"a":2}]'),
        (b' [ "o\\u006cd" , null ] ', b' [ "new \\"x\\"" , null ] '),
    ],
)
def test_a_rename_leaves_every_other_byte_as_it_is(raw: bytes, renamed: bytes) -> None:
    assert rename_key(raw, 'new "x"') == renamed


@given(NAMES, NAMES, st.none() | MAPS)
def test_a_renamed_key_is_of_the_new_connector(old: str, new: str, partition: dict[str, object] | None) -> None:
    key = decode_offsets_key(rename_key(encode_offsets_key(old, partition), new))
    assert isinstance(key, OffsetKey)
    assert (key.connector, key.partition) == (new, partition)


@pytest.mark.parametrize("raw", [b"not a key", '["c",{}]'.encode("utf-16")])
def test_a_key_that_is_not_utf_8_cannot_be_renamed(raw: bytes) -> None:
    with pytest.raises(Undecodable, match="a key cannot be renamed"):
        rename_key(raw, "new")


def key_of(text: str) -> OffsetKey:
    key = decode_offsets_key(text.encode())
    assert isinstance(key, OffsetKey)
    return key


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ('["c",{"x":1,"y":2}]', '["c", {"y":2,"x":1}]', True),
        ('["c",{"x":"\\u00fc"}]', '["c",{"x":"ü"}]', True),
        ('["c",{"x":1}]', '["c",{"x":1.0}]', False),
        ('["c",{"x":1}]', '["c",{"x":true}]', False),
        ('["c",null]', '["c",{}]', False),
    ],
)
def test_the_canonical_form_is_that_of_the_json(a: str, b: str, same: bool) -> None:
    assert (canonical(key_of(a)) == canonical(key_of(b))) is same


def test_members_are_ordered_as_in_a_java_hash_map() -> None:
    # Checked with a JDK: the keys of MirrorSourceConnector.
    assert json.dumps(hash_map_order({"topic": "t", "partition": 0, "cluster": "A"})) == (
        '{"cluster": "A", "partition": 0, "topic": "t"}'
    )


KEY = pack(">h2sh9si", 2, b"g1", 9, b"eu.orders", 3)
VALUE = pack(">hqqh", 0, 250, 249, 0)


def test_key_and_value_are_read():
    assert decode_checkpoint(KEY, VALUE) == Checkpoint("g1", "eu.orders", 3, 250, 249)
    assert decode_checkpoint(KEY, None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, VALUE), (KEY[:-1], VALUE), (KEY, VALUE[:9]), (b"\xff\xff", VALUE), (KEY, b"\0\1" + VALUE[2:])],
)
def test_a_malformed_checkpoint_is_refused(key: bytes | None, value: bytes):
    with pytest.raises(Undecodable):
        decode_checkpoint(key, value)


VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
OFFSETS = st.lists(
    st.builds(ConnectorOffset, st.dictionaries(st.text(), VALUES), st.none() | st.dictionaries(st.text(), VALUES)),
    unique_by=lambda each: repr(sorted(each.partition.items())),
)


def test_the_body_is_what_the_rest_interface_answers() -> None:
    text = encode_kip875([ConnectorOffset({"filename": "ü"}, {"position": 3})])
    assert text == '{"offsets": [\n  {"partition": {"filename": "ü"}, "offset": {"position": 3}}\n]}\n'
    assert encode_kip875([]) == '{"offsets": []}\n'


@settings(max_examples=30)
@given(OFFSETS)
def test_a_document_is_read_back_as_it_was_written(offsets: list[ConnectorOffset]) -> None:
    assert decode_kip875(encode_kip875(offsets), "f") == tuple(offsets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.json line 1: not JSON"),
        ('{"offsets": [\n{"partition": {}, "offset": {}},\n]}', "f.json line 3: not JSON"),
        ("[]", 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": {}}', 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": [], "x": 1}', 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": [{"partition": {}}]}', r"f.json line 1: offsets\[0\] is not an object with partition and offset"),
        (
            '{"offsets": [\n{"partition": null, "offset": {}}]}',
            r"f.json line 2: offsets\[0\].partition is not an object",
        ),
        (
            '{"offsets": [\n{"partition": {}, "offset": {}},\n{"partition": {"a": 1},\n "offset": {"b": []}}]}',
            r"f.json line 3: offsets\[1\].offset.b is nested",
        ),
        (
            '{"offsets": [{"partition": {"a": 9223372036854775808}, "offset": null}]}',
            r"f.json line 1: offsets\[0\].partition.a is beyond 64 bits",
        ),
        (
            '{"offsets": [\n{"partition": {"a": 1, "b": 2}, "offset": null},\n'
            '{"partition": {"b": 2, "a": 1}, "offset": null}]}',
            r"f.json line 3: offsets\[1\].partition repeats offsets\[0\].partition",
        ),
        ('{"offsets": [{"partition": {"a": NaN}, "offset": null}]}', r"f.json line 1: not JSON \(NaN is not JSON\)"),
    ],
)
def test_an_error_names_the_line_and_the_field(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decode_kip875(text, "f.json")


@given(st.text())
def test_any_text_is_a_body_or_undecodable(text: str) -> None:
    try:
        decode_kip875(text, "f")
    except ConfigError:
        return


SHORT_NAMES = st.text(st.characters(codec="utf-8"), max_size=30)


def key(version: int, group_id: str, topic: str, partition: int) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return (
        pack(">h", version) + pack(">h", len(group)) + group + pack(">h", len(name)) + name + pack(">i", partition)
    )  # fmt: skip


@given(st.sampled_from([0, 1]), SHORT_NAMES, SHORT_NAMES, st.integers(0, 2**31 - 1))
def test_an_offset_commit_names_its_group_and_partition(version: int, group_id: str, topic: str, partition: int):
    wanted = OffsetCommitKey(group_id, TopicPartition(topic, partition))
    assert decode_offset_commit_key(key(version, group_id, topic, partition)) == wanted


@pytest.mark.parametrize("version", [2, 3, 8])
def test_other_kinds_of_records_are_distinguished(version: int):
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


@pytest.mark.parametrize(("members", "ordered"), [("abcdefghijkq", "aqbcdefghijk"), ("abcdefghijklq", "abcdefghijklq")])
def test_a_hash_map_grows_with_its_thirteenth_member(members: str, ordered: str) -> None:
    """HashMap.putVal resizes where ++size > 16 * 0.75: q is in the bucket of a, and with 32 buckets behind all."""
    assert "".join(hash_map_order(dict.fromkeys(members, 1))) == ordered


@pytest.mark.parametrize(
    ("key", "value", "offsets"),
    [
        (b'["c",{"f":1}]', b'{"p":1}', (ConnectorOffset({"f": 1}, {"p": 1}),)),
        (b'["c",{"f":1}]', None, (ConnectorOffset({"f": 1}, None),)),
        (b'["c",{"f":1}]', b"[1]", ()),
        (b'["c",null]', b'{"p":1}', ()),
        (b"hello", b'{"p":1}', ()),
    ],
)
def test_records_that_a_worker_reads_as_offsets_are_offsets(key: bytes, value: bytes | None, offsets):
    assert offsets_in([OffsetsWrite(0, key, value, None)]) == offsets


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (9.99e-4, "9.99E-4"),
        (0.0123, "0.0123"),
        (9_999_999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (-2.5, "-2.5"),
        (1.0, "1.0"),
    ],
)
def test_a_double_is_written_with_an_exponent_below_a_thousandth_and_from_ten_millions_on(number, text) -> None:
    assert java_double(number) == text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_not_written(number: float) -> None:
    with pytest.raises(TypeError, match="NaN and Infinity are not JSON"):
        java_double(number)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"not a key", "the key is not JSON"),
        ('["c",{}]'.encode("utf-16-be"), "it is not UTF-8"),
        ('["ü",{}]'.encode("utf-16"), "it is not UTF-8"),
        (b'["c",1]', "the source partition is a number, not an object"),
    ],
)
def test_a_key_that_cannot_be_renamed_says_why(raw: bytes, reason: str) -> None:
    with pytest.raises(Undecodable) as caught:
        rename_key(raw, "new")
    assert caught.value.message.startswith(f"a key cannot be renamed: {reason}")


NO_ENTRY = "offsets[0] is not an object with partition and offset"


def one_entry(partition: str, offset: str) -> str:
    return f'{{"offsets": [{{"partition": {partition}, "offset": {offset}}}]}}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"offsets": []}', ()),
        (one_entry("{}", "null"), (ConnectorOffset({}, None),)),
        (one_entry("{}", "{}"), (ConnectorOffset({}, {}),)),
        (one_entry('{"a": 9223372036854775807}', "null"), (ConnectorOffset({"a": 2**63 - 1}, None),)),
        (one_entry('{"a": -9223372036854775808}', "null"), (ConnectorOffset({"a": -(2**63)}, None),)),
        (one_entry('{"a": 1e300, "b": true}', "null"), (ConnectorOffset({"a": 1e300, "b": True}, None),)),
        (one_entry('{"a": -9223372036854775809}', "null"), "offsets[0].partition.a is beyond 64 bits"),
        (one_entry("{}", '{"a": 9223372036854775808}'), "offsets[0].offset.a is beyond 64 bits"),
        (one_entry('{"a": {}}', "null"), "offsets[0].partition.a is nested, which Connect refuses"),
        (one_entry("{}", "[]"), "offsets[0].offset is not an object"),
        (one_entry("[]", "null"), "offsets[0].partition is not an object"),
        (
            '{"offsets": [{"partition": {}, "offset": {}, "x": 1}]}',
            "offsets[0] is not an object with partition and offset",
        ),
        ('{"offsets": [5]}', "offsets[0] is not an object with partition and offset"),
    ],
)
def test_an_entry_has_a_flat_partition_and_a_flat_offset_or_null(text: str, found) -> None:
    if isinstance(found, tuple):
        assert decode_kip875(text, "f") == found
    else:
        with pytest.raises(ConfigError) as caught:
            decode_kip875(text, "f")
        assert caught.value.message == f"f line 1: {found}"


@pytest.mark.parametrize(
    ("raw", "value"),
    [(None, None), (b"null", None), (b"{}", {}), (b'{"a":null}', {"a": None}), (b'{"a":1.5}', {"a": 1.5})],
)
def test_a_tombstone_and_null_are_no_offset(raw: bytes | None, value: object) -> None:
    assert decode_offsets_value(raw) == value


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"5", "the value is a number, not an object"),
        (b"true", "the value is a boolean, not an object"),
        (b'"a"', "the value is text, not an object"),
        (b"[]", "the value is a list, not an object"),
        (b'{"a":1,"b":[]}', "member 'b' is nested, which Connect refuses"),
        (b'{"a":{}}', "member 'a' is nested, which Connect refuses"),
    ],
)
def test_a_value_that_connect_refuses_names_its_member(raw: bytes, reason: str) -> None:
    assert decode_offsets_value(raw) == MalformedValue(raw, reason)
