"""Rows of a table and records of its topic as images that can be compared, and what a point of the source's log saw.

An image is a list in MessagePack: the text of each column, NULL, or False for a value that is not compared. Of texts
that may be long, or a person's, it has a digest of eight bytes. Both sides make the same text of a value, by the kind
of its column:

    integer, date        a whole number (days since the epoch)
    timestamp, instant   microseconds since the epoch; time: since midnight
    decimal              digits without trailing zeros
    real, double         Python's shortest form of the number of 32 or 64 bits
    bytes                hexadecimal

docs/source-audit.md has the rule of the point.
"""

import json
from base64 import b64decode, urlsafe_b64decode
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from struct import error as StructError
from struct import pack, unpack
from types import UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, defstruct, msgpack
from msgspec.json import Decoder, decode, encode
from msgspec.structs import astuple

from eosctl.analysis.catalogue.audit import SOURCE_ROW_DIFFERS, SOURCE_ROW_EXTRA, SOURCE_ROW_MISSING
from eosctl.late_pattern import late_pattern
from eosctl.model.audit import AuditVerdict
from eosctl.model.report import Finding
from eosctl.model.source_audit import (
    UNSIGNED,
    CapturedTable,
    ColumnKind,
    ComparedTable,
    Handling,
    RowDifference,
    SourcePoint,
    SourcePosition,
    TableColumn,
)

WIDTH: Final = 8
DIGESTED: Final = frozenset({ColumnKind.TEXT, ColumnKind.PADDED, ColumnKind.BYTES, ColumnKind.LIST})
"""Kinds of which an image has digests; of a decimal that is longer than MOST_TEXT, too."""
MOST_TEXT: Final = 24
MOST_KNOWN: Final = 4096
"""Digests that are kept, for columns of few values."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US: Final = 86_400_000_000
GREGORIAN: Final = -141_427
"""1582-10-15, in days since the epoch."""
XIDS: Final = 1 << 32
MOST_DIGITS: Final = 16_383
"""The largest scale of a numeric of PostgreSQL."""
PLAIN: Final = late_pattern(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
MOST_RUNNING: Final = 1 << 24
"""Transactions that may run at once, generously: an ID so much behind the snapshot's end is an old one, wrapped."""


class TopicRecord(NamedTuple):
    """A record's statement about a row: its key as in `key_text`, its values (None: deleted), and its position."""

    key: str
    row: Mapping[str, object] | None
    position: SourcePosition | None


class Unusable(ValueError):  # a record's answer, not an error
    """The record cannot be read as a row's, and why."""


# -- values ------------------------------------------------------------------------------------------------------------


def differing_columns(columns: Sequence[TableColumn], one: bytes, other: bytes) -> tuple[str, ...]:
    """The names of those columns that are compared on both sides and differ."""
    both = zip(columns, msgpack.decode(one), msgpack.decode(other), strict=True)
    return tuple(column.name for column, mine, its in both if mine != its and mine is not False and its is not False)


def blanks_of(texts: Sequence[str | bool | None]) -> str:
    """The columns of a row whose values are not compared, as bits of a number in hexadecimal digits."""
    if False not in texts:
        return "0"
    return format(sum(1 << number for number, each in enumerate(texts) if each is False), "x")


SAME_TEXT: Final = frozenset({ColumnKind.TEXT, ColumnKind.BYTES, ColumnKind.INTEGER})


def table_text(column: TableColumn, text: str | None) -> str | bool | None:
    """The text of a value as the database gives it; False where it is not compared.

    Debezium writes NULL for a decimal that is not finite, and other numbers for infinite times. Its snapshots write
    times before 1582 by the Julian calendar, its streamed changes by the Gregorian one.
    """
    if text is None or column.kind in SAME_TEXT:
        return text
    read = _READ.get(column.kind)
    try:
        return False if read is None else read(text)
    except (ValueError, ArithmeticError, StructError):
        return False


def topic_text(column: TableColumn, value: Any, handling: Handling) -> str | bool | None:  # noqa: ANN401  # any JSON
    """The text of a value as a record has it; False where it is not compared: the placeholder, or an unknown form."""
    if value is None:
        return None
    if value in (handling.unavailable, [handling.unavailable]):
        return False
    try:
        return _of_topic(column, value, handling)
    except (ValueError, TypeError, KeyError, ArithmeticError, StructError, AttributeError):
        return False


def _of_topic(column: TableColumn, value: Any, handling: Handling) -> str | bool:  # noqa: ANN401  # any JSON
    form = _FORMS.get(column.kind)
    if form is not None and column.type != UNSIGNED:
        return form[1](value) if isinstance(value, form[0]) else False
    match column.kind:
        case ColumnKind.DECIMAL:
            return _decimal_of(value, column, handling)
        case ColumnKind.BYTES:
            return _bytes_of(value, handling)
        case ColumnKind.INTEGER:
            return _unsigned_of(value, handling)
        case ColumnKind.DATE | ColumnKind.TIME | ColumnKind.TIMESTAMP | ColumnKind.INSTANT:
            return _time_of(column, value, handling)
    return False


def _finite(text: str) -> str:
    if PLAIN.fullmatch(text):
        return _short(text)
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return _decimal(number)


def _since(first: int) -> Callable[[str], str]:
    """A whole number from this one on."""

    def read(text: str) -> str:
        number = int(text)
        if number < first:
            raise ValueError(text)
        return str(number)

    return read


def _real(value: float) -> str:
    return repr(unpack("<f", pack("<f", value))[0])


def _decimal(value: Decimal) -> str:
    """Digits without trailing zeros, and `0` for all zeros."""
    return _short(format(value, "f")) if value.is_finite() else str(value)


def _short(text: str) -> str:
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


_READ: Final[Mapping[ColumnKind, Callable[[str], str]]] = {
    ColumnKind.PADDED: lambda text: text.rstrip(" "),
    ColumnKind.BOOLEAN: lambda text: "true" if text in {"true", "t", "1"} else "false",
    ColumnKind.REAL: lambda text: _real(float(text)),
    ColumnKind.DOUBLE: lambda text: repr(float(text)),
    ColumnKind.DECIMAL: _finite,
    ColumnKind.LIST: lambda text: json.dumps(json.loads(text)),
    ColumnKind.TIME: lambda text: str(int(text)),
    ColumnKind.DATE: _since(GREGORIAN),
    **dict.fromkeys((ColumnKind.TIMESTAMP, ColumnKind.INSTANT), _since(GREGORIAN * DAY_US)),
}
"""A database's text to the one that is compared."""
_FORMS: Final[Mapping[ColumnKind, tuple[type | UnionType, Callable[[Any], str]]]] = {
    ColumnKind.TEXT: (str, str),
    ColumnKind.PADDED: (str, lambda value: value.rstrip(" ")),
    ColumnKind.INTEGER: (int, lambda value: str(int(value))),
    ColumnKind.BOOLEAN: (int, lambda value: "true" if value else "false"),
    ColumnKind.REAL: (int | float | str, lambda value: _real(float(value))),
    ColumnKind.DOUBLE: (int | float | str, lambda value: repr(float(value))),
    ColumnKind.LIST: (list, json.dumps),
}
"""The types in JSON that a kind of column has, and the text of such a value."""


def _decimal_of(value: Any, column: TableColumn, handling: Handling) -> str | bool:  # noqa: ANN401  # any JSON
    """precise: unscaled bytes with the column's scale, or with its own in a struct; string and NUMERIC: the digits.

    A double has lost digits that the table has, and is not compared.
    """
    if handling.decimals == "double":
        return False
    if isinstance(value, dict):
        return _unscaled(value["value"], value["scale"])
    if isinstance(value, str) and handling.decimals == "precise":
        return False if column.digits is None else _unscaled(value, column.digits)
    return _decimal(Decimal(str(value))) if isinstance(value, str | int) else False


def _unsigned_of(value: Any, handling: Handling) -> str | bool:  # noqa: ANN401  # any JSON
    """long: a number of 64 bits with a sign; precise: a decimal without fraction."""
    if isinstance(value, str) and handling.unsigned == "precise":
        return _unscaled(value, 0)
    return str(value) if isinstance(value, int) and value >= 0 else False


def _unscaled(text: str, scale: int) -> str:
    if abs(scale) > MOST_DIGITS:
        raise ValueError(scale)
    number = int.from_bytes(b64decode(text, validate=True), "big", signed=True)
    if scale <= 0:
        return str(number * 10**-scale)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return _short(f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}")


def _bytes_of(value: Any, handling: Handling) -> str | bool:  # noqa: ANN401  # any JSON
    if handling.binaries == "hex":
        return bytes.fromhex(value).hex()
    raw = urlsafe_b64decode(value) if handling.binaries == "base64-url-safe" else b64decode(value, validate=True)
    return False if raw == handling.unavailable.encode() else raw.hex()


def _time_of(column: TableColumn, value: Any, handling: Handling) -> str | bool:  # noqa: ANN401  # any JSON
    """Microseconds, or days of a date. A column of milliseconds has three digits or fewer of a fraction."""
    if column.kind is ColumnKind.INSTANT:
        return str(_micros(value)) if isinstance(value, str) else False
    if isinstance(value, bool) or not isinstance(value, int) or handling.times not in TIMES:
        return False
    if column.kind is ColumnKind.DATE:
        return str(value)
    digits = 6 if column.digits is None else column.digits
    is_micros = digits > 3 or (column.kind is ColumnKind.TIME and handling.times == "adaptive_time_microseconds")
    if handling.times == "connect" and digits > 3:
        return False  # the topic has lost digits
    return str(value if is_micros else value * 1000)


TIMES: Final = frozenset({"adaptive", "adaptive_time_microseconds", "connect"})


def _micros(text: str) -> int:
    passed = datetime.fromisoformat(text) - EPOCH
    return passed.days * DAY_US + passed.seconds * 1_000_000 + passed.microseconds


def key_text(table: CapturedTable, row: Mapping[str, object], handling: Handling) -> str | None:
    """The values of the primary key as one text, the same for both sides; None where one is missing or not compared."""
    texts = [topic_text(each, row.get(each.name), handling) for each in table.key]
    return joined_key(texts)


def joined_key(texts: Sequence[str | bool | None]) -> str | None:
    """The texts of a key's values as one; None if one of them is no text."""
    if len(texts) == 1:
        return texts[0] if isinstance(texts[0], str) else None
    if not texts or not all(isinstance(each, str) for each in texts):
        return None
    return json.dumps(texts, ensure_ascii=False)


# -- records -----------------------------------------------------------------------------------------------------------


def read_record(
    table: CapturedTable, key: bytes | None, value: bytes | None, handling: Handling
) -> TopicRecord:  # fmt: skip
    """The change or row in a record of the table's topic, in Debezium's envelope or as a plain row. Raises Unusable.

    A record's key need not be the primary key (message.key.columns, ValueToKey): where the row has that, too, both must
    be the same. With a key path only the row counts, and its columns are the members beside the key.
    """
    read = None if value is None else _object(value, "value")
    if read is not None and read.get("op") == "t" and "source" in read:
        raise Unusable("a TRUNCATE, whose deleted keys are not in the topic")
    row, position, name = (None, None, None) if read is None else _row_of(read)
    if row is not None and not isinstance(row, dict):
        raise Unusable("its row is no JSON object")
    if name is not None and name not in (table.name, *table.parts):
        raise Unusable(f"they are of another table, {name}")
    before = read.get("before") if isinstance(read, dict) and isinstance(read.get("before"), dict) else None
    keyed = _keyed(table, key)
    others: Sequence[Mapping[str, object] | None] = (before, read) if row is None else ()
    if handling.key_path:
        others = tuple(_beside_key(table, each, handling.key_path) for each in others)
        keyed, row = {}, _beside_key(table, row, handling.key_path)
    found = {text for each in (keyed, row, *others) if each and (text := key_text(table, each, handling)) is not None}
    if len(found) > 1:
        raise Unusable("their keys are other ones than the primary keys of their rows")
    if not found:
        raise Unusable("the primary key is missing in key and value, or is not JSON")
    return TopicRecord(found.pop(), row, position)


def _beside_key(
    table: CapturedTable, row: Mapping[str, object] | None, paths: Sequence[Sequence[str]]
) -> Mapping[str, object] | None:
    """The members beside the key's, and the key's values by the names of its columns; None where a path has no end."""
    members: dict[str, object] = {}
    key: dict[str, object] = {}
    for column, (*way, name) in zip(table.key, paths, strict=True):
        place: object = row
        for each in way:
            place = place.get(each) if isinstance(place, dict) else None
        if not isinstance(place, dict) or name not in place:
            return None
        members |= place
        key[column.name] = place[name]
    return members | key


def _keyed(table: CapturedTable, key: bytes | None) -> Mapping[str, object]:
    if key is None:
        return {}
    try:
        found = decode(key)
    except DecodeError:
        found = key.decode() if key.isascii() and key.decode().isprintable() else None
    found = _payload(found)
    if isinstance(found, dict):
        return found
    columns = table.key
    return {columns[0].name: found} if len(columns) == 1 else {}


def _payload(read: object) -> object:
    return read["payload"] if isinstance(read, dict) and read.keys() == {"schema", "payload"} else read


def _object(raw: bytes, what: str) -> dict[str, Any] | None:
    try:
        read = _payload(decode(raw))
    except (DecodeError, RecursionError):
        raise Unusable(f"its {what} is not JSON") from None
    if read is not None and not isinstance(read, dict):
        raise Unusable(f"its {what} is no JSON object")
    return read


def _row_of(read: Mapping[str, Any]) -> tuple[Mapping[str, object] | None, SourcePosition | None, str | None]:
    """The row, its position, and the name of its table (None: not said).

    Envelope: `op`, `after` and `source`. Plain row: its members, with `__deleted` and `__source_…` of Debezium.
    """
    if "op" in read and isinstance(read.get("source"), dict) and ("after" in read or "before" in read):
        row = None if read["op"] == "d" else read.get("after")
        return row, _position(read["source"], is_read=read["op"] == "r"), _name(read["source"].get("table"))
    prefixed = {name.removeprefix("__source_"): each for name, each in read.items() if name.startswith("__source_")}
    is_deleted = str(read.get("__deleted")).lower() == "true"
    if "snapshot" in prefixed or "op" in read or "__op" in read:
        is_read = str(prefixed.get("snapshot", "false")) not in {"false", "None"} or read.get("__op") == "r"
        name = _name(prefixed.get("table", read.get("__table")))
        return (None if is_deleted else read), _position(prefixed, is_read=is_read), name
    return (None if is_deleted else read), None, _name(prefixed.get("table", read.get("__table")))


def _name(read: object) -> str | None:
    return read if isinstance(read, str) else None


def _position(source: Mapping[str, Any], *, is_read: bool) -> SourcePosition | None:
    lsn, transaction = source.get("lsn"), source.get("txId")
    if isinstance(lsn, int):
        return SourcePosition(lsn, transaction if isinstance(transaction, int) else None, is_read)
    return _in_binlog(source.get("file"), source.get("pos"), is_read=is_read)


def _in_binlog(file: object, pos: object, *, is_read: bool) -> SourcePosition | None:
    if isinstance(file, str) and isinstance(pos, int):
        order = binlog_order(file, pos)
        return None if order is None else SourcePosition(order, None, is_read)
    return None


def binlog_order(file: str, place: int) -> int | None:
    """A place in a binary log as one number; None for a file whose name has none at its end."""
    number = file.rpartition(".")[2]
    return (int(number) << 40) + place if number.isdecimal() and len(number) < 8 else None


# -- images ------------------------------------------------------------------------------------------------------------


class RowImage(NamedTuple):
    """The stored part of a row: its key (None: it is not compared), image, and the columns without a value."""

    key: str | None
    image: bytes
    blanks: str


class RecordImage(NamedTuple):
    """The stored part of a record; image None: the row was deleted."""

    key: str
    image: bytes | None
    blanks: str
    position: SourcePosition | None


class _Source(Struct):
    """Debezium's `source` as far as it is used; another type is read by `read_record`."""

    lsn: int | None = None
    txId: int | None = None
    file: str | None = None
    pos: int | None = None
    table: str | None = None


Row = TypeVar("Row")


class _Envelope(Struct, Generic[Row]):
    op: str
    source: _Source
    after: Row | UnsetType | None = UNSET


class _WithSchema(Struct, Generic[Row], forbid_unknown_fields=True):
    schema: Raw
    payload: _Envelope[Row]


ROW_FOLLOWS: Final = frozenset({"c", "u", "r"})
ABSENT: Final = object()
Texts = Sequence[str | bool | None]
"""Of one column's values; False: it is not compared."""
ReadValue = Callable[[Any], str | bool | None]
ReadColumn = Callable[[Sequence[Any]], Texts]


class RowReader:
    """Makes images of a table's rows and of its topic's records, many at a time, column by column.

    The usual record of Debezium, an envelope with the row after the change, is read by a fast path. Other forms are
    left to `read_record` and `topic_text`, which give the same result.
    """

    def __init__(self, table: CapturedTable, handling: Handling) -> None:
        self._table, self._handling = table, handling
        self._names = frozenset({None, table.name, *table.parts})
        self._of_table = [_table_reader(each) for each in table.columns]
        self._of_topic = [_topic_reader(each, handling) for each in table.columns]
        self._decoders = None if handling.key_path else _decoders(table.columns)
        self._digested = [number for number, each in enumerate(table.columns) if each.kind in DIGESTED]
        self._decimals = [number for number, each in enumerate(table.columns) if each.kind is ColumnKind.DECIMAL]
        self._key = [table.columns.index(each) for each in table.key]
        self._encode = msgpack.Encoder().encode
        self._key_names = [each.name for each in table.key]
        self._usual_key = _usual_key(table)
        self._known: dict[str, bytes] = {}
        self._has_schema = False

    def rows(self, rows: Sequence[Sequence[str | None]]) -> list[RowImage]:
        """Of rows as the database gives them."""
        return self._images([read(values) for read, values in zip(self._of_table, _columns(rows), strict=False)])

    def records(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> list[RecordImage | Unusable]:
        """Of records by their keys and values."""
        found: list[RecordImage | Unusable | None] = [None] * len(records)
        usual = [
            (number, envelope, astuple(envelope.after))
            for number, (_, value) in enumerate(records)
            if value is not None
            and (envelope := self._envelope(value)) is not None
            and isinstance(envelope.after, Struct)
        ]
        images = self._images_of([values for _, _, values in usual])
        for (number, envelope, values), (key, image, blanks) in zip(usual, images, strict=True):
            if key is not None and self._is_of(records[number][0], values, key):
                found[number] = RecordImage(key, image, blanks, _place(envelope))
        return [self._other_record(*records[number]) if each is None else each for number, each in enumerate(found)]

    def _envelope(self, value: bytes) -> _Envelope[Any] | None:
        """With a row of the table; None: it has another form. The last record's form is tried first."""
        if self._decoders is None:
            return None
        plain, with_schema = self._decoders
        for has_schema in (self._has_schema, not self._has_schema):
            try:
                found = with_schema.decode(value).payload if has_schema else plain.decode(value)
            except (DecodeError, RecursionError):
                continue
            self._has_schema = has_schema
            return found if found.op in ROW_FOLLOWS and found.source.table in self._names else None
        return None

    def _is_of(self, key: bytes | None, values: Sequence[object], text: str) -> bool:
        """Whether the record's key is the row's; a key that has not all columns says nothing."""
        if self._usual_key is not None and key == self._usual_key % text.encode():
            return True
        keyed = _keyed(self._table, key)
        for name, number in zip(self._key_names, self._key, strict=True):
            given, its = keyed.get(name, ABSENT), values[number]
            if given != its:
                return key_text(self._table, keyed, self._handling) in {None, text}
        return True

    def _other_record(self, key: bytes | None, value: bytes | None) -> RecordImage | Unusable:
        try:
            read = read_record(self._table, key, value, self._handling)
        except Unusable as error:
            return error
        if read.row is None:
            return RecordImage(read.key, None, "0", read.position)
        [made] = self._images_of([[read.row.get(each.name, ABSENT) for each in self._table.columns]])
        return RecordImage(read.key, made.image, made.blanks, read.position)

    def _images_of(self, rows: Sequence[Sequence[object]]) -> list[RowImage]:
        """Of the values of all columns; ABSENT ones are not compared, as all that have another form."""
        return self._images([read(values) for read, values in zip(self._of_topic, _columns(rows), strict=False)])

    def _images(self, columns: Sequence[Texts]) -> list[RowImage]:
        """Of rows whose texts are given by columns; none of no rows."""
        if not columns:
            return []
        keys = [columns[number] for number in self._key]
        kept: list[Sequence[str | bytes | bool | None]] = [*columns]
        known, digest = self._known.get, self._digest
        for number in self._digested:
            kept[number] = [(known(text) or digest(text)) if type(text) is str else text for text in columns[number]]
        for number in self._decimals:
            kept[number] = [
                digest(text) if type(text) is str and len(text) > MOST_TEXT else text for text in columns[number]
            ]
        is_whole = not any(False in each for each in columns)
        joined = map(joined_key, _columns(keys))
        blanks = repeat("0") if is_whole else map(blanks_of, _columns(columns))
        return list(map(RowImage, joined, map(self._encode, _columns(kept)), blanks))

    def _digest(self, text: str) -> bytes:
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=WIDTH).digest()
        if len(self._known) < MOST_KNOWN and len(text) <= MOST_TEXT:
            self._known[text] = digest
        return digest


def _columns(rows: "Sequence[Sequence[Value]]") -> "Iterator[tuple[Value, ...]]":
    """Of rows, or rows of columns; none of none."""
    return zip(*rows, strict=True)


Value = TypeVar("Value")


def _decoders(columns: Sequence[TableColumn]) -> tuple[Decoder[_Envelope[Any]], Decoder[_WithSchema[Any]]] | None:
    """They give a row as a Struct of these columns, whose values are of any type, or ABSENT.

    None for names that JSON has to escape: msgspec takes no such field.
    """
    names = {f"column_{number}": each.name for number, each in enumerate(columns)}
    if any(encode(each) != f'"{each}"'.encode() for each in names.values()):
        return None
    row: Any = defstruct("Row", [(name, Any, ABSENT) for name in names], rename=names)
    return Decoder(_Envelope[row]), Decoder(_WithSchema[row])


def _usual_key(table: CapturedTable) -> bytes | None:
    """The record key around a number, for tables whose key is one whole number; None for other keys."""
    if [each.kind for each in table.key] != [ColumnKind.INTEGER]:
        return None
    return encode({table.key[0].name: 0})[:-2].replace(b"%", b"%%") + b"%b}"


def _place(envelope: _Envelope[Any]) -> SourcePosition | None:
    source, is_read = envelope.source, envelope.op == "r"
    if source.lsn is not None:
        return SourcePosition(source.lsn, source.txId, is_read)
    return _in_binlog(source.file, source.pos, is_read=is_read)


def _table_reader(column: TableColumn) -> ReadColumn:
    """`table_text` of each value of the column, with a short way for the usual form of the commonest kinds."""
    if column.kind in SAME_TEXT:
        return lambda values: values

    def other(text: str | None) -> str | bool | None:
        return table_text(column, text)

    if column.kind in {ColumnKind.TIMESTAMP, ColumnKind.INSTANT}:
        return lambda values: [
            text if text is not None and text.isdecimal() and text[0] != "0" else other(text) for text in values
        ]
    if column.kind is ColumnKind.DECIMAL:
        is_plain = PLAIN.fullmatch
        return lambda values: [_short(text) if text is not None and is_plain(text) else other(text) for text in values]
    return lambda values: list(map(other, values))


def _topic_reader(column: TableColumn, handling: Handling) -> ReadColumn:
    """`topic_text` of each value of the column, with a short way for the usual form of the commonest kinds."""

    def other(value: object) -> str | bool | None:
        return topic_text(column, value, handling)

    if column.kind is ColumnKind.INTEGER and column.type != UNSIGNED:
        return lambda values: [str(value) if type(value) is int else other(value) for value in values]
    if column.kind is ColumnKind.TEXT:
        unavailable = handling.unavailable
        return lambda values: [
            value if type(value) is str and value != unavailable else other(value) for value in values
        ]
    read = _short_way(column, handling, other)
    return lambda values: list(map(read, values))


def _short_way(column: TableColumn, handling: Handling, other: ReadValue) -> ReadValue:
    digits = column.digits or 0
    if column.kind is ColumnKind.INSTANT:
        return _instants(other)
    if column.kind is ColumnKind.DECIMAL and handling.decimals == "precise" and 0 < digits <= MOST_DIGITS:
        return _unscaled_by(digits, handling.unavailable, other)
    return other


def _instants(other: ReadValue) -> ReadValue:
    parse = datetime.fromisoformat

    def read(value: Any) -> str | bool | None:  # noqa: ANN401  # any JSON
        try:
            passed = parse(value) - EPOCH
        except (ValueError, TypeError):  # a time without its zone is no instant
            return other(value)
        return str(passed.days * DAY_US + passed.seconds * 1_000_000 + passed.microseconds)

    return read


def _unscaled_by(scale: int, unavailable: str, other: ReadValue) -> ReadValue:
    def read(value: object) -> str | bool | None:
        if type(value) is not str or value == unavailable:
            return other(value)
        try:
            number = int.from_bytes(a2b_base64(value, strict_mode=True), "big", signed=True)
        except ValueError:
            return other(value)
        digits = str(abs(number)).rjust(scale + 1, "0")
        return _short(f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}")

    return read


# -- points ------------------------------------------------------------------------------------------------------------


def is_seen(position: SourcePosition, point: SourcePoint) -> bool:
    """True if the transaction at the point saw this change.

    A snapshot's record holds the changes that were committed before its position. For other records PostgreSQL's own
    rule decides: a transaction is seen if its ID is below the snapshot's xmax and not among those that ran.
    """
    if position.is_read:
        return position.order <= point.low
    if point.snapshot is None:
        return position.order < point.low
    if position.order > point.high:
        return False
    if position.transaction is None:
        return position.order <= point.low
    end, running = _snapshot(point.snapshot)
    ahead = (position.transaction - end) % XIDS
    if ahead < XIDS // 2 and (position.order > point.low or ahead < MOST_RUNNING):
        return False
    return position.transaction % XIDS not in running


class SeenByAll(NamedTuple):
    """A bound below which every point of a comparison saw a change.

    low is the lowest one of the points. oldest is the lowest ID of a transaction that ran at any of them (64 bits);
    None: of a change that names its transaction nothing is known, without is_seen.
    """

    low: int
    oldest: int | None

    @classmethod
    def of(cls, points: Iterable[SourcePoint]) -> "SeenByAll":
        """IDs of 32 bits are compared within a quarter of their circle."""
        low, oldest, ends = -1, [], []
        for point in points:
            low = point.low if low < 0 else min(low, point.low)
            if point.snapshot is not None:
                first, end, _ = point.snapshot.split(":")
                oldest.append(int(first))
                ends.append(int(end))
        return cls(low, min(oldest) if oldest and max(ends) - min(oldest) < XIDS // 4 else None)

    def has(self, position: SourcePosition) -> bool:
        """Whether all points saw this change; False: that is not known."""
        if position.order >= self.low:
            return False
        if position.transaction is None or position.is_read:
            return True
        return self.oldest is not None and 0 < (self.oldest - position.transaction) % XIDS < XIDS // 4


@lru_cache(maxsize=64)
def _snapshot(text: str) -> tuple[int, frozenset[int]]:
    """xmax, and the IDs that ran as 32 bits, of `10:20:10,14,15`."""
    _, end, running = text.split(":")
    return int(end), frozenset(int(each) % XIDS for each in running.split(",") if each)


# -- verdicts ----------------------------------------------------------------------------------------------------------


CONFIDENCE: Final = 0.95
KINDS: Final = {
    RowDifference.MISSING: SOURCE_ROW_MISSING,
    RowDifference.EXTRA: SOURCE_ROW_EXTRA,
    RowDifference.DIFFERING: SOURCE_ROW_DIFFERS,
}
WORDS: Final = {
    RowDifference.MISSING: "rows of {table} are not in topic {topic}",
    RowDifference.EXTRA: "keys of topic {topic} are not in {table}",
    RowDifference.DIFFERING: "rows of {table} have other values in topic {topic}",
}


def unseen_at_most(sample: int, rows: int) -> int:
    """The most rows that may differ although no row of a random sample does, with a confidence of 95 %."""
    if sample <= 0:
        return rows
    return min(max(rows - sample, 0), int((1 - (1 - CONFIDENCE) ** (1 / sample)) * rows))


def verdict_of(compared: ComparedTable) -> AuditVerdict:
    if any(compared.counts.values()):
        return AuditVerdict.BROKEN
    return AuditVerdict.CANNOT_TELL if compared.undecided or compared.reasons else AuditVerdict.HELD


def findings_about(compared: ComparedTable) -> tuple[Finding, ...]:
    """One finding for each way in which keys of the table differ, with a sample of the keys."""
    table, found = compared.table, []
    for difference, kind in KINDS.items():
        count = compared.counts.get(difference, 0)
        if count:
            samples = compared.samples.get(difference, ())
            words = WORDS[difference].format(table=table.label, topic=table.topic)
            sample = [
                {"key": each.key, "columns": list(each.columns), "partition": each.partition, "offset": each.offset}
                for each in samples
            ]
            first = ", ".join(each.key for each in samples[:3])
            found.append(
                kind.finding(
                    table.label,
                    f"{count:,} {words}: {first}{' and others' if count > 3 else ''}",
                    {"topic": table.topic, "count": count, "keys": sample},
                )
            )
    return tuple(found)
