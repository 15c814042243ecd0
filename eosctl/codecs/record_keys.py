"""Keys of records and keys in headers, as texts that can be compared, without a schema registry.

A connector gives the key of another record in a header. The header's converter is another one than the key's, so the
same key has two forms. Where both are read with certainty they become one text; otherwise nothing is said.

1. A header is what SimpleHeaderConverter, JsonConverter or StringConverter make of a Struct: its values, in order.
2. A key may be JSON, with its schema or without, text, a long or an int (Kafka's serializers), or Avro or Protobuf
   behind the ID of a schema. The values of the header say which types the fields of the binary forms have.
3. Names of fields are left out: a transformation may have renamed them, or kept the only value of a key. Fields that
   it added behind the others are left out, too.
4. Values that differ in type between both forms cannot be compared: decimals, for one, and dates of Kafka Connect.
5. What neither is read as JSON or text is compared byte by byte behind the ID of the schema.
"""

import json
import re
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

Values = tuple[Any, ...]

SCHEMA_ID_LENGTHS: Final = (4, 8)
"""Bytes of a schema's ID behind the magic byte 0: those of Confluent's and Apicurio's serializers."""
INTEGER_LENGTHS: Final = (4, 8)
STRUCT: Final = b"Struct{"
DOUBLE: Final = Struct("<d")
_TAGS: Final = {bool: 0, int: 0, str: 2, float: 1}


class BothKeys(NamedTuple):
    key: str
    header: str


def read_keys(key: bytes | None, header: bytes | None) -> BothKeys | None:
    """The key of a record and the one in its header as comparable texts; None where one is missing or unclear."""
    if not key or not header:
        return None
    if header.startswith(STRUCT):
        return _as_struct(key, header)
    named = _json(header)
    if named is None:
        return None if _is_text(header) else BothKeys(_opaque(key), _opaque(header))
    for values in _readings(key, named):
        mine = values[: len(named)]
        if len(mine) == len(named) and all(map(_are_alike, mine, named)):
            return BothKeys(_text(mine), _text(named))
    return None


def _text(values: Values) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _are_alike(one: object, other: object) -> bool:
    return type(one) is type(other) or one is None or other is None


def _json(raw: bytes) -> Values | None:
    """The values of a JSON object, or a single JSON value; None for bytes that are no JSON.

    SimpleHeaderConverter escapes no control characters.
    """
    try:
        value = json.loads(raw.decode(), strict=False)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        value = value["payload"]
    return tuple(value.values()) if isinstance(value, dict) else (value,)


def _is_text(raw: bytes) -> bool:
    try:
        return raw.decode().isprintable()
    except ValueError:
        return False


def _opaque(raw: bytes) -> str:
    return (raw[1 + SCHEMA_ID_LENGTHS[0] :] if raw[0] == 0 and len(raw) > 1 + SCHEMA_ID_LENGTHS[0] else raw).hex()


def _as_struct(key: bytes, header: bytes) -> BothKeys | None:
    """Rule 1 for StringConverter, which gives Struct.toString of Kafka Connect; the key's names divide it."""
    try:
        value = json.loads(key.decode())
        text = header.decode()
    except (ValueError, RecursionError):
        return None
    value = value.get("payload") if isinstance(value, dict) and value.keys() == {"schema", "payload"} else value
    if not isinstance(value, dict) or not all(type(each) in {str, int, bool} for each in value.values()):
        return None
    found = re.fullmatch(r"Struct\{" + ",".join(f"{re.escape(name)}=(.*)" for name in value) + r"\}", text, re.DOTALL)
    mine = tuple(each if isinstance(each, str) else json.dumps(each) for each in value.values())
    return None if found is None else BothKeys(_text(mine), _text(found.groups()))


def _readings(key: bytes, like: Values) -> Iterator[Values]:
    found = _json(key)
    if found is not None:
        yield found
    kinds = [type(each) for each in like]
    if kinds == [str] and not key.startswith(b"{") and _is_text(key):
        yield (key.decode(),)
    for body in _bodies(key):
        for read in (_avro, _protobuf):
            try:
                values = read(body, kinds)
            except (ValueError, IndexError, KeyError):
                continue
            yield values
    if kinds == [int] and len(key) in INTEGER_LENGTHS:
        yield (int.from_bytes(key, "big", signed=True),)


def _bodies(key: bytes) -> Iterator[memoryview]:
    """The bytes after a schema ID, for each length of an ID; no schema has the ID 0."""
    view = memoryview(key)
    if key[0] == 0:
        yield from (view[1 + length :] for length in SCHEMA_ID_LENGTHS if any(key[1 : 1 + length]))


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
        if shift > 63:
            raise ValueError


def _avro(data: memoryview, kinds: Sequence[type]) -> Values:
    """Fields one behind the other, without unions. Raises ValueError, IndexError or KeyError for anything else."""
    values: list[Any] = []
    place = 0
    for kind in kinds:
        number, behind = _varint(data, place)
        signed = number >> 1 ^ -(number & 1)
        if kind is bool:
            values.append({0: False, 1: True}[number])
        elif kind is int:
            values.append(signed)
        elif kind is str and 0 <= signed <= len(data) - behind:
            values.append(bytes(data[behind : behind + signed]).decode())
            behind += signed
        else:
            raise ValueError
        place = behind
    if place != len(data):
        raise ValueError
    return tuple(values)


def _protobuf(data: memoryview, kinds: Sequence[type]) -> Values:
    """The first message of its schema, whose fields have the numbers 1, 2, ...; defaults are not written (proto3)."""
    values: list[Any] = [kind() for kind in kinds]
    if data[0] != 0:
        raise ValueError
    place, before = 1, 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, kind = tag >> 3, kinds[(tag >> 3) - 1]
        if number <= before or _TAGS[kind] != tag & 7:
            raise ValueError
        before = number
        if kind is float:
            values[number - 1], place = DOUBLE.unpack_from(data, place)[0], place + DOUBLE.size
            continue
        found, place = _varint(data, place)
        if kind is str:
            values[number - 1] = bytes(data[place : place + found]).decode()
            if place + found > len(data):
                raise ValueError
            place += found
        else:
            values[number - 1] = bool(found) if kind is bool else found - (1 << 64 if found >> 63 else 0)
    return tuple(values)
