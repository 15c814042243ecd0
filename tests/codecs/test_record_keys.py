"""A key and the same key in a header become one text, whatever converters wrote them."""

import json
import struct

import pytest

from eosctl.codecs.record_keys import BothKeys, read_keys

KEY, HEADER = {"id": 1039}, b'{"id":1039}'


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def avro(*values: object) -> bytes:
    """Avro's binary encoding of a record without unions."""
    found = b""
    for value in values:
        if isinstance(value, bool):
            found += bytes([value])
        elif isinstance(value, int):
            found += zigzag(value)
        else:
            text = str(value).encode()
            found += zigzag(len(text)) + text
    return found


def protobuf(*values: object) -> bytes:
    """The first message of a schema, fields numbered from 1, defaults left out."""
    found = b"\0"
    for number, value in enumerate(values, 1):
        if isinstance(value, int) and value:
            found += varint(number << 3) + varint(value & (1 << 64) - 1)
        elif isinstance(value, str) and value:
            found += varint(number << 3 | 2) + varint(len(value.encode())) + value.encode()
    return found


CONFLUENT, APICURIO = b"\0" + struct.pack(">i", 7), b"\0" + struct.pack(">q", 7)


@pytest.mark.parametrize(
    ("key", "header"),
    [
        (b'{"id":1039}', HEADER),
        (b'{"schema":{"type":"struct"},"payload":{"id":1039}}', HEADER),
        (b'{"id":1039}', b'{"schema":{"type":"struct"},"payload":{"id":1039}}'),
        (b"1039", HEADER),
        (struct.pack(">q", 1039), HEADER),
        (struct.pack(">i", 1039), HEADER),
        (b'{"renamed":1039}', HEADER),
        (b'{"id":1039,"__dbz__physicalTableIdentifier":"a.b"}', HEADER),
        (CONFLUENT + avro(1039), HEADER),
        (APICURIO + avro(1039), HEADER),
        (CONFLUENT + avro(-5, "x y", True), b'{"id":-5,"name":"x y","new":true}'),
        (CONFLUENT + protobuf(1039), HEADER),
        (CONFLUENT + protobuf(-5, "x y", 0), b'{"id":-5,"name":"x y","more":0}'),
        (CONFLUENT + b"\0\x09" + struct.pack("<d", 1.5) + b"\x10\x07", b'{"share":1.5,"id":7}'),
        (CONFLUENT + avro(1039), b"\0" + struct.pack(">i", 9) + avro(1039)),
        (b"a-b", b'{"id":"a-b"}'),
        (b'{"id":"12"}', b'{"id":"12"}'),
        (b"12", b'{"id":"12"}'),
        (b'{"id":"a\\nb"}', b'{"id":"a\nb"}'),
        (b'{"id":1039,"name":"a,b=c"}', b"Struct{id=1039,name=a,b=c}"),
    ],
)
def test_the_same_key_in_two_forms(key, header):
    found = read_keys(key, header)
    assert found is not None
    assert found.key == found.header


@pytest.mark.parametrize(
    ("key", "header"),
    [
        (b'{"id":"AGQ="}', b'{"id":1.00}'),
        (b'{"id":19000}', b'{"id":"2022-01-08"}'),
        (None, HEADER),
        (b'{"id":1}', None),
        (b'{"id":1}', b""),
        (CONFLUENT + b"\x80\x80", HEADER),
        (CONFLUENT + avro(1, 2), HEADER),
        (b'{"id":1}', b'{"id":1,"more":2}'),
        (b'{"id":1}', b"Struct{other=1}"),
        (b"[[[[[", HEADER),
        (CONFLUENT + avro("abc"), b'{"id":null}'),
        (CONFLUENT + b"\x01", b'{"a":"","b":-1}'),
        (CONFLUENT + b"\x0a" + b"abcd", b'{"id":"abcd"}'),
        (CONFLUENT + b"\0\x0a\x05abcd", b'{"id":"abcd"}'),
        (CONFLUENT + b"\0\x08\x85\x01\x08\x87\x01", b'{"id":7}'),
        (CONFLUENT + b"\0\x0a\x01a", b'{"id":7}'),
        (b"5", b"Struct{id=5}"),
        (b"[1]", b"Struct{id=1}"),
        (b'{"id":1.5}', b"Struct{id=1.5}"),
        (b"\xff", b"Struct{id=1}"),
        (CONFLUENT + b"\xff", b'{"id":"x"}'),
        (b"abc", b'{"id":null}'),
        (struct.pack(">i", 1039), b'{"id":null}'),
    ],
)
def test_keys_that_cannot_be_compared_are_none(key, header):
    assert read_keys(key, header) is None


def test_a_null_is_compared_with_anything():
    assert read_keys(b'{"id":null}', b'{"id":5}') == BothKeys("[null]", "[5]")
    assert read_keys(b'{"id":5}', b'{"id":null}') == BothKeys("[5]", "[null]")


@pytest.mark.parametrize("number", [0, 1, -1, 63, 64, 2**31, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("encode", [avro, protobuf])
def test_every_long_is_read_from_both_binary_forms(encode, number):
    found = read_keys(CONFLUENT + encode(number), json.dumps({"id": 5}).encode())
    assert found is not None
    assert (found.key, found.header) == (json.dumps([number]), "[5]")
