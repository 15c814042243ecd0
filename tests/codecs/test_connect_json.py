"""JSON and text as a worker reads them; tests/oracle holds the same against Kafka's own classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.json_text import NotJson, int_value, read_json, read_text


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
    ],
)
def test_what_jackson_accepts_is_read(data, value):
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
def test_what_jackson_refuses_is_not_json(data):
    with pytest.raises(NotJson):
        read_json(data)


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
    assert read_text(b"\xc0\x80") == "\ufffd\ufffd"
    assert read_text(b"\xf0\x9f\x98") == "\ufffd"


def test_a_count_is_the_lowest_32_bits():
    assert [int_value(number) for number in (2**32 + 3, 2**31, -(2**31) - 1)] == [3, -(2**31), 2**31 - 1]
