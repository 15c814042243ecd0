"""Records of an offsets topic: bytes to keys and values, and bytes as a worker would write them.

    key     ["<connector>",{<source partition>}]    or null in place of the object
    value   {<source offset>}                       or a null value: a tombstone

Both are plain JSON without schema, written by Jackson without blanks (JsonConverter, schemas.enable=false).

1. Reading follows OffsetUtils.processPartitionKey: a list of exactly two, text first, an object or null second.
2. To change or delete an offset, the bytes of the key in the topic are used again: a connector's own map may be ordered
   otherwise than anything that writes the same JSON again, and then there are two keys.
   (Java before 19 even writes some doubles with a digit more than Java 19 does.)
3. A rename exchanges the connector's name inside the key and leaves every other byte as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from struct import Struct
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import DecodeError, Meta
from msgspec.json import Decoder

from eosctl.codecs.json_text import MOST_CHARACTERS, NotJson, load_json, long_value, read_json
from eosctl.errors import ConfigError, Undecodable
from eosctl.late_pattern import late_pattern
from eosctl.model import preconditions
from eosctl.model.names import java_hash
from eosctl.model.offsets import (
    ConnectorOffset,
    Entry,
    MalformedKey,
    MalformedValue,
    OffsetKey,
    OffsetsTopic,
    SourceOffset,
    SourcePartition,
)
from eosctl.model.text import escaped_in_json

if TYPE_CHECKING:
    from eosctl.model.plan import OffsetsWrite


_NAME: Final = late_pattern(r'(\ufeff?[ \t\r\n]*\[[ \t\r\n]*)"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPED: Final = late_pattern(r'[\x00-\x1f"\\]|[^\x00-\uffff]')
_NAMED: Final = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
_KINDS: Final = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}


# Nearly all keys and values are plain: strict JSON of one level in UTF-8, without doubles, every integer a Java long.
# A decoder in C that accepts nothing else reads them as read_json would, in a fraction of its time.
_Member = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str | bool | None
_PLAIN_KEY: Final = Decoder(tuple[str, dict[str, _Member] | None]).decode
_PLAIN_VALUE: Final = Decoder(dict[str, _Member]).decode
_NOT_PLAIN: Final = (DecodeError, UnicodeDecodeError)


def decode_offsets_key(raw: bytes | None) -> OffsetKey | MalformedKey:
    """The key as a worker reads it. Never raises: what it would ignore is a MalformedKey."""
    if raw is None:
        return MalformedKey(None, "the key is null")
    try:
        if len(raw) <= MOST_CHARACTERS:
            connector, partition = _PLAIN_KEY(raw)
            return OffsetKey(raw, connector, partition)
    except _NOT_PLAIN:
        pass
    return _decode_any_key(raw)


def _decode_any_key(raw: bytes) -> OffsetKey | MalformedKey:
    try:
        value = read_json(raw)
    except NotJson as error:
        return MalformedKey(raw, f"the key is not JSON: {error}")
    match value:
        case [str(connector), (dict() | None) as partition]:
            return OffsetKey(raw, connector, partition)
    return MalformedKey(raw, _fault(value))


def _fault(value: object) -> str:
    match value:
        case [str(), other]:
            return f"the source partition is {_kind(other)}, not an object"
        case [other, _]:
            return f"the connector is {_kind(other)}, not text"
        case list():
            return f"the key is a list of {len(value)}, not of 2"
    return f"the key is {_kind(value)}, not a list of 2"


def decode_offsets_value(raw: bytes | None) -> SourceOffset | MalformedValue | None:
    """The source offset as a worker gives it to the connector, None for a tombstone (and for the JSON null).

    Never raises: a value that a worker cannot pass on (OffsetUtils.validateFormat) is a MalformedValue.
    """
    if raw is None:
        return None
    try:
        if len(raw) <= MOST_CHARACTERS:
            return _PLAIN_VALUE(raw)
    except _NOT_PLAIN:
        pass
    return _decode_any_value(raw)


def _decode_any_value(raw: bytes) -> SourceOffset | MalformedValue | None:
    try:
        value = read_json(raw)
    except NotJson as error:
        return MalformedValue(raw, f"the value is not JSON: {error}")
    if value is None:
        return None
    if not isinstance(value, dict):
        return MalformedValue(raw, f"the value is {_kind(value)}, not an object")
    nested = next((name for name, item in value.items() if isinstance(item, dict | list)), None)
    return value if nested is None else MalformedValue(raw, f"member {nested!r} is nested, which Connect refuses")


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a number")


def canonical(key: OffsetKey) -> str:
    """The same text for two keys that are the same JSON: members in any order, a long never equal to a double."""
    return json.dumps([key.connector, key.partition], sort_keys=True)


def canonical_partition(partition: SourcePartition | None) -> str:
    """The same text for two source partitions that are the same JSON."""
    return json.dumps(partition, sort_keys=True, ensure_ascii=False)


def rename_key(raw: bytes, connector: str) -> bytes:
    """The key with another connector's name, as Jackson writes it, and every other byte as it was.

    Raises Undecodable for a key that is not of a source partition or not in UTF-8.
    """
    key = decode_offsets_key(raw)
    if isinstance(key, MalformedKey):
        raise Undecodable(f"a key cannot be renamed: {key.reason}")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Undecodable("a key cannot be renamed: it is not UTF-8") from error
    found = _NAME.match(text)
    if found is None:
        raise Undecodable("a key cannot be renamed: it is not UTF-8")
    return (found[1] + _text(connector) + text[found.end() :]).encode()


def encode_offsets_key(connector: str, partition: SourcePartition | None) -> bytes:
    """The key as Jackson writes it, members in the order of `partition`."""
    return jackson_bytes([connector, partition])


def encode_offsets_value(offset: SourceOffset | None) -> bytes | None:
    """The value as Jackson writes it; None is a tombstone."""
    return None if offset is None else jackson_bytes(offset)


def jackson_bytes(value: object) -> bytes:
    """JSON as Connect's converter writes it: no blanks, doubles as Java's, UTF-8 up to U+FFFF and escapes beyond."""
    return _jackson(value).encode("utf-8", "replace")


def _jackson(value: object) -> str:
    match value:
        case None | bool():
            text = {None: "null", True: "true", False: "false"}[value]
        case int():
            text = str(value)
        case float():
            text = java_double(value)
        case str():
            text = _text(value)
        case Mapping():
            text = "{" + ",".join(f"{_text(str(name))}:{_jackson(item)}" for name, item in value.items()) + "}"
        case list() | tuple():
            text = "[" + ",".join(map(_jackson, value)) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a source partition or offset")
    return text


def _text(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    """Jackson's UTF8JsonGenerator escapes what takes two UTF-16 units, one unit after the other."""
    char = match[0]
    units = char.encode("utf-16-be").hex().upper()
    return _NAMED.get(char) or "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def java_double(number: float) -> str:
    """Double.toString of Java 19 and later: the shortest digits, but two at least: `100.0`, `1.0E-4`, `4.9E-324`."""
    if not isfinite(number):
        raise TypeError("NaN and Infinity are not JSON")
    sign, digits, exponent = _decimal(number)
    if digits == "0":
        return f"{sign}0.0"
    if -3 <= exponent < 7:
        whole = digits[: exponent + 1].ljust(exponent + 1, "0") if exponent >= 0 else "0"
        part = digits[exponent + 1 :] if exponent >= 0 else "0" * (-exponent - 1) + digits
        return f"{sign}{whole}.{part or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _decimal(number: float) -> tuple[str, str, int]:
    """Sign, significant digits, and the exponent of the first of them."""
    mantissa, _, power = repr(number).partition("e")
    if len(mantissa.strip("-0.")) == 1:
        mantissa, _, power = f"{number:.1e}".partition("e")
    sign, magnitude = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, part = magnitude.partition(".")
    digits = (whole + part).lstrip("0")
    leading = len(whole + part) - len(digits)
    return sign, digits.rstrip("0") or "0", len(whole) - 1 - leading + int(power or 0)


def hash_map_order(partition: SourcePartition) -> dict[str, object]:
    """`partition` in the order of a java.util.HashMap after its members were inserted one by one.

    Workers from 3.6 write a key in this order if it came over REST (KAFKA-15182).
    """
    buckets = 16
    while len(partition) > buckets * 3 // 4:
        buckets *= 2
    return {name: partition[name] for name in sorted(partition, key=lambda name: _bucket(name, buckets))}


def _bucket(name: str, buckets: int) -> int:
    value = java_hash(name) & 0xFFFFFFFF
    return (value ^ value >> 16) & (buckets - 1)


def offsets_in(records: Iterable[OffsetsWrite]) -> tuple[ConnectorOffset, ...]:
    """The offsets in these records as a worker reads them; a tombstone is an offset of None."""
    found = []
    for each in records:
        key, value = decode_offsets_key(each.key), decode_offsets_value(each.value)
        if isinstance(key, OffsetKey) and key.partition is not None and not isinstance(value, MalformedValue):
            found.append(ConnectorOffset(key.partition, value))
    return tuple(found)


# One connector's offsets in one topic as digests, so that two readings can be compared without keeping both.
#
# 1. Only live offsets count: of each raw key in each partition the last committed record, unless it is a tombstone. A
#    tombstone and no record are the same to a worker, and compaction turns the one into the other at any time.
# 2. The digest of records includes their offsets in the partition: a value that went away and came back is noticed.
# 3. The digest of values does not: it is known before the records are written.


_LENGTH: Final = Struct(">I").pack

Value = tuple[bytes, int, bytes]
"""Raw key, partition, value."""


def entries_by_connector(topic: OffsetsTopic) -> dict[str, list[Entry]]:
    """The well-formed keys of the topic by connector; a key that lies in two partitions has two entries."""
    found: dict[str, list[Entry]] = {}
    for part in topic.partitions:
        for raw, records in part.keys.items():
            key = decode_offsets_key(raw)
            if isinstance(key, OffsetKey):
                found.setdefault(key.connector, []).append((key, records))
    return found


def offsets_now(entries: Iterable[Entry]) -> preconditions.OffsetsNow:
    """The digests of one connector's offsets in one topic, and the open transactions that wrote some."""
    live, producers = [], set()
    for key, records in entries:
        if records.open is not None:
            producers.add(str(records.open.producer))
        last = records.committed
        if last is not None and last.value is not None:
            live.append((key.raw, records.topic_partition.partition, last.value, last.offset))
    live.sort()
    values = [_framed(raw, partition, value) for raw, partition, value, _ in live]
    places = [row + _cell(b"%d" % each[3]) for row, each in zip(values, live, strict=True)]
    return preconditions.OffsetsNow(_digest("records", places), _digest("values", values), tuple(sorted(producers)))


def value_digest(values: Iterable[Value]) -> str:
    return _digest("values", [_framed(*each) for each in sorted(values)])


def _framed(key: bytes, partition: int, value: bytes) -> bytes:
    return _cell(key) + _cell(b"%d" % partition) + _cell(value)


def _cell(cell: bytes) -> bytes:
    return _LENGTH(len(cell)) + cell


def _digest(name: str, rows: list[bytes]) -> str:
    return f"{name}:{hashlib.sha256(b''.join(rows)).hexdigest()}"


# Export files: the body of KIP-875, as `GET /connectors/<name>/offsets` answers and PATCH takes it.
#
#     {"offsets": [{"partition": {…}, "offset": {…}}, …]}
#
# 1. partition is an object, offset an object or null (PATCH deletes it then); both have no nested members.
# 2. A partition stands there once.
# 3. Integers beyond 64 bits are refused, because a worker would cut them.


HINT: Final = 'expected is the answer of GET /connectors/<name>/offsets: {"offsets": [{"partition": {}, "offset": {}}]}'
_BLANK: Final = " \t\r\n"


def encode_kip875(offsets: Iterable[ConnectorOffset]) -> str:
    entries = [
        escaped_in_json(
            json.dumps({"partition": dict(each.partition), "offset": each.offset}, ensure_ascii=False, allow_nan=False)
        )
        for each in offsets
    ]
    return '{"offsets": [\n  ' + ",\n  ".join(entries) + "\n]}\n" if entries else '{"offsets": []}\n'


def decode_kip875(text: str, origin: str) -> tuple[ConnectorOffset, ...]:
    """The entries of the body in `text`; ConfigError names `origin` (the file), line and field."""
    try:
        body = load_json(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{origin} line {error.lineno}: not JSON ({error.msg})", hint=HINT) from error
    entries = body.get("offsets") if isinstance(body, dict) else None
    if not isinstance(entries, list) or len(body) != 1:
        raise ConfigError(f'{origin} line 1: not an object with the one member "offsets", a list', hint=HINT)
    return tuple(_Entries(text, origin).read(entries))


class _Entries:
    def __init__(self, text: str, origin: str) -> None:
        self._text = text
        self._origin = origin
        self._seen: dict[str, int] = {}

    def read(self, entries: list[object]) -> list[ConnectorOffset]:
        return [self._entry(number, each) for number, each in enumerate(entries)]

    def _entry(self, number: int, entry: object) -> ConnectorOffset:
        place = f"offsets[{number}]"
        if not isinstance(entry, dict) or entry.keys() != {"partition", "offset"}:
            raise self._wrong(number, place, "is not an object with partition and offset")
        partition, offset = entry["partition"], entry["offset"]
        self._check(number, f"{place}.partition", partition)
        if offset is not None:
            self._check(number, f"{place}.offset", offset)
        identity = json.dumps(partition, sort_keys=True)
        if identity in self._seen:
            raise self._wrong(number, f"{place}.partition", f"repeats offsets[{self._seen[identity]}].partition")
        self._seen[identity] = number
        return ConnectorOffset(partition, offset)

    def _check(self, number: int, place: str, members: object) -> None:
        if not isinstance(members, dict):
            raise self._wrong(number, place, "is not an object")
        for name, value in members.items():
            if isinstance(value, dict | list):
                raise self._wrong(number, f"{place}.{name}", "is nested, which Connect refuses")
            if type(value) is int and value != long_value(value):
                raise self._wrong(number, f"{place}.{name}", "is beyond 64 bits")

    def _wrong(self, number: int, place: str, what: str) -> ConfigError:
        return ConfigError(f"{self._origin} line {self._line(number)}: {place} {what}", hint=HINT)

    def _line(self, number: int) -> int:
        """The line where entry `number` begins: the text is walked entry by entry, now that one is wrong."""
        decoder = json.JSONDecoder()
        place = self._text.index("[", self._text.index('"offsets"')) + 1
        for left in range(number, -1, -1):
            while self._text[place] in _BLANK + ",":
                place += 1
            if left:
                _, place = decoder.raw_decode(self._text, place)
        return self._text.count("\n", 0, place) + 1
