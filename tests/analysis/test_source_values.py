"""Single values, keys and positions of `source_audit`: what makes each decision another one."""

import json
from base64 import b64encode, urlsafe_b64encode

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from eosctl.analysis.source_audit import (
    DAY_US,
    GREGORIAN,
    MOST_DIGITS,
    MOST_RUNNING,
    XIDS,
    RecordImage,
    RowImage,
    RowReader,
    SeenByAll,
    Unusable,
    binlog_order,
    blanks_of,
    differing_columns,
    findings_about,
    is_seen,
    joined_key,
    read_record,
    table_text,
    topic_text,
    unseen_at_most,
)
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

DEFAULT = Handling()
GONE = DEFAULT.unavailable
ID = TableColumn("id", "int8", ColumnKind.INTEGER, key=1)
NAME = TableColumn("name", "text", ColumnKind.TEXT)
ORDERS = CapturedTable("public", "orders", "shop.public.orders", (ID, NAME))
TWO_KEYS = replace(ORDERS, columns=(TableColumn("b", "text", ColumnKind.TEXT, key=2), ID))
LARGE = "bigint unsigned"


def recorded(reader: RowReader, key: bytes | None, value: bytes | None) -> RecordImage:
    [found] = reader.records([(key, value)])
    if isinstance(found, Unusable):
        raise found
    return found


def row_of(reader: RowReader, values: list[str | None]) -> RowImage:
    [found] = reader.rows([values])
    return found


def column(kind: ColumnKind, digits: int | None = None, type_: str = "t") -> TableColumn:
    return TableColumn("c", type_, kind, digits)


def unscaled(number: int) -> str:
    return b64encode(number.to_bytes(8, "big", signed=True)).decode()


@pytest.mark.parametrize(
    ("kind", "text", "made"),
    [
        (ColumnKind.TEXT, None, None),
        (ColumnKind.PADDED, None, None),
        (ColumnKind.TEXT, " x ", " x "),
        (ColumnKind.PADDED, " x ", " x"),
        *((ColumnKind.BOOLEAN, text, "true") for text in ("true", "t", "1")),
        *((ColumnKind.BOOLEAN, text, "false") for text in ("false", "f", "0")),
        (ColumnKind.REAL, "0.1", "0.10000000149011612"),
        (ColumnKind.REAL, "x", False),
        (ColumnKind.DOUBLE, "0.10", "0.1"),
        (ColumnKind.DECIMAL, "1.50", "1.5"),
        (ColumnKind.DECIMAL, "100", "100"),
        (ColumnKind.DECIMAL, "2.00", "2"),
        (ColumnKind.DECIMAL, "-0.00", "0"),
        (ColumnKind.DECIMAL, "0.0", "0"),
        (ColumnKind.DECIMAL, "1E+3", "1000"),
        (ColumnKind.DECIMAL, ".50", "0.5"),
        (ColumnKind.DECIMAL, "Infinity", False),
        (ColumnKind.DECIMAL, "x", False),
        (ColumnKind.LIST, '["a",1]', '["a", 1]'),
        (ColumnKind.LIST, "{1,2}", False),
        (ColumnKind.TIME, "007", "7"),
        (ColumnKind.TIME, "x", False),
        (ColumnKind.TIME, "-1", "-1"),
        (ColumnKind.REAL, "1e99", False),
        (ColumnKind.LIST, "{", False),
        (ColumnKind.DATE, str(GREGORIAN), str(GREGORIAN)),
        (ColumnKind.DATE, str(GREGORIAN - 1), False),
        (ColumnKind.TIMESTAMP, str(GREGORIAN * DAY_US), str(GREGORIAN * DAY_US)),
        (ColumnKind.TIMESTAMP, str(GREGORIAN * DAY_US - 1), False),
        (ColumnKind.INSTANT, str(GREGORIAN * DAY_US), str(GREGORIAN * DAY_US)),
        (ColumnKind.INSTANT, str(GREGORIAN * DAY_US - 1), False),
        (ColumnKind.TIMESTAMP, "007", "7"),
        (ColumnKind.TIMESTAMP, "0", "0"),
        (ColumnKind.TIMESTAMP, "12", "12"),
        (ColumnKind.TIMESTAMP, "x", False),
        (ColumnKind.INSTANT, "none", False),
        (ColumnKind.OTHER, "x", False),
    ],
)
def test_the_text_of_a_value_of_the_table_by_the_kind_of_its_column(kind, text, made):
    assert table_text(column(kind), text) == made
    table = replace(ORDERS, columns=(ID, column(kind)))
    short = row_of(RowReader(table, DEFAULT), ["1", text])
    assert short.blanks == ("2" if made is False else "0")
    if kind not in {ColumnKind.TEXT, ColumnKind.PADDED, ColumnKind.LIST}:
        assert msgpack.decode(short.image) == ["1", made]


@pytest.mark.parametrize(
    ("asked", "value", "made"),
    [
        (column(ColumnKind.TEXT), None, None),
        (column(ColumnKind.TEXT), GONE, False),
        (column(ColumnKind.TEXT), 5, False),
        (column(ColumnKind.LIST), [GONE], False),
        (column(ColumnKind.LIST), [GONE, "a"], json.dumps([GONE, "a"])),
        (column(ColumnKind.LIST), "a", False),
        (column(ColumnKind.PADDED), " a ", " a"),
        (column(ColumnKind.PADDED), 5, False),
        (column(ColumnKind.INTEGER), "5", False),
        (column(ColumnKind.INTEGER), True, "1"),
        (column(ColumnKind.BOOLEAN), 1, "true"),
        (column(ColumnKind.BOOLEAN), 0, "false"),
        (column(ColumnKind.BOOLEAN), "true", False),
        (column(ColumnKind.REAL), "1.5", "1.5"),
        (column(ColumnKind.REAL), [1], False),
        (column(ColumnKind.DOUBLE), 2, "2.0"),
        (column(ColumnKind.OTHER), "x", False),
        # A sign of 64 bits: a larger number was written as a negative one.
        (column(ColumnKind.INTEGER, None, LARGE), 0, "0"),
        (column(ColumnKind.INTEGER, None, LARGE), -1, False),
        (column(ColumnKind.INTEGER, None, LARGE), unscaled(5), False),
        (column(ColumnKind.INTEGER, None, LARGE), 1.0, False),
    ],
)
def test_the_text_of_a_value_of_a_record_by_the_kind_of_its_column(asked, value, made):
    assert topic_text(asked, value, DEFAULT) == made


def test_an_unsigned_number_is_a_decimal_only_where_the_config_says_so():
    larger = column(ColumnKind.INTEGER, None, UNSIGNED)
    assert topic_text(larger, unscaled(5), Handling(unsigned="precise")) == "5"
    assert topic_text(larger, 5, Handling(unsigned="precise")) == "5"
    assert topic_text(larger, unscaled(5), Handling(unsigned="long")) is False


@pytest.mark.parametrize(
    ("value", "digits", "mode", "made"),
    [
        (unscaled(150), 2, "precise", "1.5"),
        (unscaled(-5), 2, "precise", "-0.05"),
        (unscaled(5), 1, "precise", "0.5"),
        (unscaled(7), 0, "precise", "7"),
        (unscaled(7), -2, "precise", "700"),
        (unscaled(0), 2, "precise", "0"),
        (unscaled(1), None, "precise", False),
        (unscaled(0), MOST_DIGITS, "precise", "0"),
        (unscaled(0), MOST_DIGITS + 1, "precise", False),
        (unscaled(0), -MOST_DIGITS, "precise", "0"),
        (unscaled(0), -MOST_DIGITS - 1, "precise", False),
        ({"value": unscaled(150), "scale": 1}, None, "precise", "15"),
        ({"value": unscaled(150), "scale": 1}, None, "string", "15"),
        ({"value": unscaled(150)}, None, "precise", False),
        ("1.50", 2, "string", "1.5"),
        ("NaN", 2, "string", "NaN"),
        (5, 2, "string", "5"),
        (5, 2, "precise", "5"),
        (5.5, 2, "string", False),
        (5.5, 2, "double", False),
        ("5.5", 2, "double", False),
        ("no base64!", 2, "precise", False),
    ],
)
def test_a_decimal_is_read_as_the_config_has_it_written(value, digits, mode, made):
    asked, handling = column(ColumnKind.DECIMAL, digits), Handling(decimals=mode)
    assert topic_text(asked, value, handling) == made
    table = replace(ORDERS, columns=(ID, asked))
    row = json.dumps({"op": "c", "source": {}, "after": {"id": 1, "c": value}}).encode()
    assert msgpack.decode(recorded(RowReader(table, handling), None, row).image) == ["1", made]


@pytest.mark.parametrize(
    ("value", "mode", "made"),
    [
        ("00FF", "hex", "00ff"),
        ("0", "hex", False),
        (urlsafe_b64encode(b"\xfb\xef\xff").decode(), "base64-url-safe", "fbefff"),
        (urlsafe_b64encode(b"\xfb\xef\xff").decode(), "base64", False),
        (b64encode(b"\xfb\xef\xff").decode(), "base64", "fbefff"),
        (b64encode(b"\xfb\xef\xff").decode(), "bytes", "fbefff"),
        (b64encode(GONE.encode()).decode(), "base64", False),
        (urlsafe_b64encode(GONE.encode()).decode(), "base64-url-safe", False),
        (5, "bytes", False),
    ],
)
def test_bytes_are_read_as_the_config_has_them_written(value, mode, made):
    assert topic_text(column(ColumnKind.BYTES), value, Handling(binaries=mode)) == made


@pytest.mark.parametrize("kind", [ColumnKind.TIME, ColumnKind.TIMESTAMP])
@pytest.mark.parametrize("times", ["adaptive", "adaptive_time_microseconds", "connect"])
@pytest.mark.parametrize("digits", [0, 3, 4, 6, None])
def test_a_time_has_the_unit_of_its_mode_and_digits(kind, times, digits):
    finer = digits is None or digits > 3
    if times == "connect":
        expected: str | bool = False if finer else "7000"
    elif kind is ColumnKind.TIME and times == "adaptive_time_microseconds":
        expected = "7"
    else:
        expected = "7" if finer else "7000"
    assert topic_text(column(kind, digits), 7, Handling(times=times)) == expected


@pytest.mark.parametrize("kind", [ColumnKind.DATE, ColumnKind.TIME, ColumnKind.TIMESTAMP])
@pytest.mark.parametrize(("value", "times"), [(True, "adaptive"), ("7", "adaptive"), (7.0, "adaptive"), (7, "iso")])
def test_a_time_of_another_form_or_mode_is_not_compared(kind, value, times):
    assert topic_text(column(kind, 3), value, Handling(times=times)) is False


def test_a_date_is_a_number_of_days_in_each_mode():
    assert [topic_text(column(ColumnKind.DATE), 7, Handling(times=each)) for each in ("adaptive", "connect")] == [
        "7"
    ] * 2


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ("1970-01-02T00:00:01.000002Z", "86401000002"),
        ("1970-01-01T01:00:00+01:00", "0"),
        ("1970-01-01T00:00:00", False),
        (5, False),
        ("x", False),
    ],
)
def test_an_instant_needs_its_zone(value, made):
    asked = column(ColumnKind.INSTANT, 6)
    assert topic_text(asked, value, DEFAULT) == made
    table = replace(ORDERS, columns=(ID, asked))
    row = json.dumps({"op": "c", "source": {}, "after": {"id": 1, "c": value}}).encode()
    assert msgpack.decode(recorded(RowReader(table, DEFAULT), None, row).image) == ["1", made]


# -- keys and columns


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (["5"], "5"),
        ([None], None),
        ([False], None),
        ([], None),
        (["5", "a"], '["5", "a"]'),
        (["5", "ä"], '["5", "ä"]'),
        (["5", None], None),
        ([False, "5"], None),
    ],
)
def test_a_key_is_one_text_only_where_each_of_its_values_is_one(texts, key):
    assert joined_key(texts) == key


@pytest.mark.parametrize(
    ("texts", "bits"), [([], "0"), (["a", None], "0"), ([False, None], "1"), (["a", False], "2"), ([False] * 5, "1f")]
)
def test_columns_without_a_value_are_bits_of_a_number(texts, bits):
    assert blanks_of(texts) == bits


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("a", "a", False),
        ("a", "b", True),
        ("a", None, True),
        (None, None, False),
        (False, "a", False),
        ("a", False, False),
    ],
)
def test_a_column_differs_only_where_both_sides_are_compared(one, other, differ):
    found = differing_columns((NAME,), msgpack.encode([one]), msgpack.encode([other]))
    assert found == (("name",) if differ else ())


def test_the_columns_of_a_key_have_the_key_s_order():
    row = {"id": 5, "b": "x"}
    assert read_record(TWO_KEYS, None, json.dumps(row).encode(), DEFAULT).key == '["5", "x"]'
    assert row_of(RowReader(TWO_KEYS, DEFAULT), ["x", "5"]).key == '["5", "x"]'


# -- records


def record(read: object) -> tuple[str, object, SourcePosition | None]:
    key, row, position = read_record(ORDERS, None, json.dumps(read).encode(), DEFAULT)
    return key, row, position


ROW = {"id": 5, "name": "x"}


@pytest.mark.parametrize(
    ("value", "row", "position"),
    [
        ({"op": "c", "source": {"lsn": 9}, "after": ROW}, ROW, SourcePosition(9)),
        ({"op": "c", "source": {"lsn": 9, "txId": 3}, "after": ROW}, ROW, SourcePosition(9, 3)),
        ({"op": "c", "source": {"lsn": 9, "txId": "3"}, "after": ROW}, ROW, SourcePosition(9)),
        ({"op": "r", "source": {"lsn": 9}, "after": ROW}, ROW, SourcePosition(9, None, is_read=True)),
        ({"op": "d", "source": {"lsn": 9}, "before": ROW}, None, SourcePosition(9)),
        ({"op": "d", "source": {"lsn": 9}, "before": ROW, "after": {"id": 6}}, None, SourcePosition(9)),
        ({"op": "c", "source": {"lsn": 9}, "before": {"id": 6}, "after": ROW}, ROW, SourcePosition(9)),
        ({"op": "c", "source": {"file": "b.000002", "pos": 7}, "after": ROW}, ROW, SourcePosition((2 << 40) + 7)),
        ({"op": "c", "source": {"file": "b.000002", "pos": "7"}, "after": ROW}, ROW, None),
        ({"op": "c", "source": {"file": 2, "pos": 7}, "after": ROW}, ROW, None),
        ({"op": "c", "source": {"lsn": "9"}, "after": ROW}, ROW, None),
        ({"op": "c", "source": {"table": 5}, "after": ROW}, ROW, None),
    ],
)
def test_an_envelope_gives_its_row_and_the_position_of_its_change(value, row, position):
    assert record(value) == ("5", row, position)


@pytest.mark.parametrize(
    ("added", "is_deleted", "position"),
    [
        ({}, False, None),
        ({"__source_lsn": 9}, False, None),  # nothing says whether a snapshot wrote it
        ({"__deleted": True}, True, None),
        ({"__deleted": "TRUE"}, True, None),
        ({"__deleted": "false"}, False, None),
        ({"__op": "u", "__source_lsn": 9}, False, SourcePosition(9)),
        ({"__op": "r", "__source_lsn": 9}, False, SourcePosition(9, None, is_read=True)),
        ({"op": "u", "__source_lsn": 9}, False, SourcePosition(9)),
        ({"__op": "d", "__deleted": "true", "__source_lsn": 9}, True, SourcePosition(9)),
        ({"__source_snapshot": "false", "__source_lsn": 9}, False, SourcePosition(9)),
        ({"__source_snapshot": None, "__source_lsn": 9}, False, SourcePosition(9)),
        ({"__source_snapshot": "last", "__source_lsn": 9}, False, SourcePosition(9, None, is_read=True)),
        ({"__source_snapshot": "true", "__source_lsn": 9}, False, SourcePosition(9, None, is_read=True)),
        # Rows with such columns: an envelope has an operation and one of its rows.
        ({"op": "u", "source": {"lsn": 9}}, False, None),
        ({"source": {"lsn": 9}, "after": {"id": 6}}, False, None),
        ({"__op": "u", "lsn": 9, "snapshot": "true"}, False, None),
    ],
)
def test_a_plain_row_says_with_debezium_s_fields_whether_it_was_deleted_and_where(added, is_deleted, position):
    value = {**ROW, **added}
    assert record(value) == ("5", None if is_deleted else value, position)


@pytest.mark.parametrize(
    ("value", "is_of_another_table"),
    [
        ({"op": "c", "source": {"table": "orders"}, "after": ROW}, False),
        ({"op": "c", "source": {"table": "others"}, "after": ROW}, True),
        ({**ROW, "__table": "others"}, True),
        ({**ROW, "__source_table": "others"}, True),
        ({**ROW, "__op": "c", "__table": "others"}, True),
        ({**ROW, "__op": "c", "__source_table": "others", "__table": "orders"}, True),
        ({**ROW, "__source_table": "orders", "__table": "others"}, False),
    ],
)
def test_the_name_of_another_table_makes_a_record_unusable(value, is_of_another_table):
    if is_of_another_table:
        with pytest.raises(Unusable, match="of another table, others"):
            record(value)
    else:
        assert record(value)[0] == "5"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b'{"id":5}', b"nonsense", "its value is not JSON"),
        (b'{"id":5}', b"[5]", "its value is no JSON object"),
        (b'{"id":5}', b'{"op":"c","source":{},"after":5}', "its row is no JSON object"),
        (b'{"id":5}', b'{"op":"t","source":{}}', "a TRUNCATE"),
        (b'{"id":5}', b'{"id":6}', "other ones than the primary keys"),
        (b'{"other":5}', b'{"name":"x"}', "the primary key is missing"),
        (b"null", None, "the primary key is missing"),
        (None, None, "the primary key is missing"),
        (b"\xff", None, "the primary key is missing"),
        (b"\x01", None, "the primary key is missing"),
        (b'{"id":5}', b'{"op":"d","source":{},"before":{"id":6}}', "other ones than the primary keys"),
    ],
)
def test_a_record_that_names_no_row_of_the_table_says_why(key, value, reason):
    with pytest.raises(Unusable, match=reason):
        read_record(ORDERS, key, value, DEFAULT)


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        (b'{"id":5}', b'{"op":"t","id":5}', ("5", {"op": "t", "id": 5}, None)),  # a column called op
        (b'{"id":5}', b"null", ("5", None, None)),
        (b'{"id":5}', b'{"op":"c","source":{},"before":{"id":6},"after":{"id":5}}', ("5", {"id": 5}, None)),
        (b'{"id":5}', b'{"op":"d","source":{},"before":"gone"}', ("5", None, None)),
        (b'{"id":5}', b'{"id":5,"__deleted":"true"}', ("5", None, None)),
        (None, b'{"id":5,"__deleted":"true"}', ("5", None, None)),
        (b"5", None, ("5", None, None)),
        (b'{"schema":{},"payload":5}', None, ("5", None, None)),
        (b'{"schema":{},"payload":{"id":5}}', None, ("5", None, None)),
        (b'{"payload":{"id":5},"id":6}', None, ("6", None, None)),
    ],
)
def test_the_key_of_a_record_is_its_own_or_the_row_s(key, value, found):
    assert tuple(read_record(ORDERS, key, value, DEFAULT)) == found


def test_a_text_that_is_no_json_is_the_key_of_a_table_with_one_column_only():
    by_name = replace(ORDERS, columns=(replaced := NAME._replace(key=1),))
    assert read_record(by_name, b"a b", None, DEFAULT).key == "a b"
    two = replace(ORDERS, columns=(replaced, ID._replace(key=2)))
    with pytest.raises(Unusable, match="primary key is missing"):
        read_record(two, b"a b", None, DEFAULT)


@pytest.mark.parametrize(
    ("file", "order"),
    [
        ("mysql-bin.000002", (2 << 40) + 7),
        ("mysql-bin.9999999", (9_999_999 << 40) + 7),
        ("mysql-bin.10000000", None),
        ("mysql-bin.x", None),
        ("mysql-bin.", None),
        ("7", (7 << 40) + 7),
    ],
)
def test_a_file_of_a_binary_log_has_a_number_of_at_most_seven_digits(file, order):
    assert binlog_order(file, 7) == order


# -- images of records, by the short way


@pytest.mark.parametrize(
    ("key", "change", "key_text"),
    [
        (b'{"id":5}', {}, "5"),
        (b'{"id": 5}', {}, "5"),  # other bytes, the same key
        (b'{"other":5}', {}, "5"),
        (None, {}, "5"),
        (b'{"id":"5"}', {}, "5"),  # another type is not compared
        (b'{"id":5}', {"op": "d", "before": ROW, "after": None}, "5"),
    ],
)
def test_the_short_way_takes_a_key_that_is_the_row_s_or_says_nothing(key, change, key_text):
    value = json.dumps({"op": "c", "source": {"lsn": 9}, "after": ROW, **change}).encode()
    found = recorded(RowReader(ORDERS, DEFAULT), key, value)
    assert isinstance(found, RecordImage)
    assert (found.key, found.position) == (key_text, SourcePosition(9))
    assert (found.image is None) == (change != {})


@pytest.mark.parametrize("change", [{"after": {"id": 6}}, {"source": {"table": "others"}}, {"op": "t"}, {"after": 5}])
def test_the_short_way_refuses_what_the_long_one_refuses(change):
    value = json.dumps({"op": "c", "source": {"lsn": 9}, "after": ROW, **change}).encode()
    with pytest.raises(Unusable):
        recorded(RowReader(ORDERS, DEFAULT), b'{"id":5}', value)


def test_records_with_and_without_a_schema_may_follow_each_other():
    reader = RowReader(ORDERS, DEFAULT)
    plain = {"op": "c", "source": {"lsn": 9}, "after": ROW}
    both = [json.dumps(each).encode() for each in (plain, {"schema": {}, "payload": plain})]
    assert len({recorded(reader, None, both[each]) for each in (0, 1, 1, 0)}) == 1


def test_an_envelope_without_a_row_is_the_deletion_of_its_key():
    value = json.dumps({"op": "c", "source": {"lsn": 9}, "after": None}).encode()
    assert recorded(RowReader(ORDERS, DEFAULT), b'{"id":5}', value) == RecordImage("5", None, "0", SourcePosition(9))


def test_a_table_whose_names_json_escapes_is_read_as_well():
    odd = replace(ORDERS, columns=(ID, TableColumn('a"b', "text", ColumnKind.TEXT)))
    value = json.dumps({"op": "c", "source": {"lsn": 9}, "after": {"id": 5, 'a"b': None}}).encode()
    assert msgpack.decode(recorded(RowReader(odd, DEFAULT), None, value).image) == ["5", None]
    only = replace(ORDERS, columns=(TableColumn('a"b', "int8", ColumnKind.INTEGER, key=1),))
    value = json.dumps({"op": "c", "source": {"lsn": 9}, "after": {'a"b': 5}}).encode()
    assert recorded(RowReader(only, DEFAULT), None, value).key == "5"


@pytest.mark.parametrize("name", ["id", "100%"])
def test_a_key_of_one_number_is_read_under_each_name(name):
    table = replace(ORDERS, columns=(TableColumn(name, "int8", ColumnKind.INTEGER, key=1),))
    value = json.dumps({"op": "c", "source": {}, "after": {name: 5}}).encode()
    assert recorded(RowReader(table, DEFAULT), json.dumps({name: 5}).encode(), value).key == "5"
    with pytest.raises(Unusable, match="other ones"):
        recorded(RowReader(table, DEFAULT), json.dumps({name: 6}).encode(), value)


# -- points


POINT = SourcePoint(1000, 2000, "100:110:103,105")


@pytest.mark.parametrize(
    ("position", "seen"),
    [
        (SourcePosition(1000, 102), True),
        (SourcePosition(2000, 102), True),
        (SourcePosition(2001, 102), False),
        (SourcePosition(1000, 109), True),
        (SourcePosition(1000, 110), False),
        (SourcePosition(1500, 105), False),
        (SourcePosition(1000), True),
        (SourcePosition(1001), False),
        (SourcePosition(1000, 110 + MOST_RUNNING - 1), False),
        (SourcePosition(1000, 110 + MOST_RUNNING), True),
        (SourcePosition(1001, 110 + MOST_RUNNING), False),
        (SourcePosition(1500, 110 + XIDS // 2 - 1), False),
        (SourcePosition(1500, 110 + XIDS // 2), True),
        (SourcePosition(1000, 110, is_read=True), True),
        (SourcePosition(1001, 102, is_read=True), False),
    ],
)
def test_a_point_with_a_snapshot_sees_a_change_up_to_each_of_its_limits(position, seen):
    assert is_seen(position, POINT) is seen


def test_a_point_without_a_snapshot_sees_what_is_before_it():
    assert [is_seen(SourcePosition(each, 5), SourcePoint(1000, 2000)) for each in (999, 1000)] == [True, False]


@pytest.mark.parametrize(
    ("points", "position", "seen"),
    [
        ([POINT], SourcePosition(999, 99), True),
        ([POINT], SourcePosition(1000, 99), False),
        ([POINT], SourcePosition(999, 100), False),
        ([POINT], SourcePosition(999), True),
        ([POINT], SourcePosition(999, 100, is_read=True), True),
        ([POINT], SourcePosition(999, (100 - XIDS // 4) % XIDS), False),
        ([POINT], SourcePosition(999, (101 - XIDS // 4) % XIDS), True),
        ([SourcePoint(1000, 1000)], SourcePosition(999, 5), False),
        ([SourcePoint(0, 0), POINT], SourcePosition(5, 99), False),
        ([POINT, SourcePoint(900, 950, "90:95:")], SourcePosition(899, 89), True),
        ([POINT, SourcePoint(900, 950, "90:95:")], SourcePosition(900, 89), False),
        ([POINT, SourcePoint(900, 950, "90:95:")], SourcePosition(899, 90), False),
        ([POINT, SourcePoint(1000, 950, f"101:{99 + XIDS // 4}:")], SourcePosition(999, 99), True),
        ([POINT, SourcePoint(1000, 950, f"101:{100 + XIDS // 4}:")], SourcePosition(999, 99), False),
        ([], SourcePosition(5, 99), False),
    ],
)
def test_all_points_saw_a_change_before_the_lowest_of_them(points, position, seen):
    assert SeenByAll.of(points).has(position) is seen


# -- verdicts


@pytest.mark.parametrize(
    ("sample", "rows", "most"),
    [
        (500, 500, 0),
        (501, 500, 0),
        (0, 0, 0),
        (0, 500, 500),
        (-1, 500, 500),
        (1, 500, 475),
        (499, 500, 1),
        (250, 500, 5),
    ],
)
def test_a_sample_bounds_the_rows_that_it_did_not_read(sample, rows, most):
    assert unseen_at_most(sample, rows) == most


def test_each_way_to_differ_is_a_finding_of_its_own():
    counts = {RowDifference.MISSING: 1, RowDifference.EXTRA: 0, RowDifference.DIFFERING: 2}
    found = findings_about(ComparedTable(table=ORDERS, counts=counts))
    assert [(each.id, each.evidence["count"], each.evidence["keys"]) for each in found] == [
        ("EOS222", 1, []),
        ("EOS224", 2, []),
    ]


BY_NAME = replace(ORDERS, columns=(NAME._replace(key=1), TableColumn("id", "int8", ColumnKind.INTEGER)))


def kept(column: TableColumn, value: object, handling: Handling = DEFAULT) -> object:
    """What the image of a record's row has of this value."""
    row = json.dumps({"op": "c", "source": {}, "after": {"id": 1, "c": value}}).encode()
    return msgpack.decode(recorded(RowReader(replace(ORDERS, columns=(ID, column)), handling), None, row).image)[1]


@pytest.mark.parametrize(
    ("asked", "value", "handling", "made"),
    [
        (column(ColumnKind.INTEGER, None, UNSIGNED), -1, DEFAULT, False),
        (column(ColumnKind.INTEGER), True, DEFAULT, "1"),
        (column(ColumnKind.TEXT), 5, DEFAULT, False),
        (column(ColumnKind.TEXT), GONE, DEFAULT, False),
        (column(ColumnKind.TIME, 3), "AAAA", DEFAULT, False),
        (column(ColumnKind.DECIMAL, 2), "1500", Handling(decimals="string"), "1500"),
        (column(ColumnKind.DECIMAL, 2), "1" * 24, Handling(decimals="string"), "1" * 24),
        (column(ColumnKind.DECIMAL, 2), GONE, Handling(decimals="precise"), False),
        (column(ColumnKind.DECIMAL, 2), unscaled(-150), DEFAULT, "-1.5"),
        (column(ColumnKind.DECIMAL, 1), unscaled(0), DEFAULT, "0"),
    ],
)
def test_the_short_way_makes_the_text_of_the_long_one(asked, value, handling, made):
    assert kept(asked, value, handling) == made == topic_text(asked, value, handling)


def test_a_decimal_of_more_than_24_characters_has_a_digest():
    assert isinstance(kept(column(ColumnKind.DECIMAL, 2), "1" * 25, Handling(decimals="string")), bytes)


@pytest.mark.parametrize(
    ("key", "row", "found"),
    [
        (b'{"name":"x"}', {"name": "x"}, "x"),
        (b'{"name":"y"}', {"name": "x"}, None),
        (b'{"name":"5"}', {"name": '"5"'}, None),
        (b'{"name":5}', {"name": "5"}, "5"),
        (b'{"name":"x"}', {"id": 5}, "x"),
        (b'{"other":5}', {"id": 5}, None),
    ],
)
def test_a_key_of_a_text_is_the_row_s(key, row, found):
    value = json.dumps({"op": "c", "source": {}, "after": row}).encode()
    if found is None:
        with pytest.raises(Unusable):
            recorded(RowReader(BY_NAME, DEFAULT), key, value)
    else:
        assert recorded(RowReader(BY_NAME, DEFAULT), key, value).key == found


@pytest.mark.parametrize("key", [b'{"id":true}', b'{"id":1.0}', b'{"id":1}', b"1"])
def test_a_number_of_another_type_is_the_same_key_or_none(key):
    value = json.dumps({"op": "c", "source": {}, "after": {"id": 1}}).encode()
    assert recorded(RowReader(ORDERS, DEFAULT), key, value).key == "1"


def test_records_of_each_form_may_follow_each_other_in_one_reader():
    reader = RowReader(ORDERS, DEFAULT)
    forms = [
        {"op": "c", "source": {"lsn": 9}, "after": ROW},
        {**ROW, "__op": "c", "__source_lsn": 9},
        {"schema": {}, "payload": {"op": "c", "source": {"lsn": 9}, "after": ROW}},
    ]
    assert len({recorded(reader, b'{"id":5}', json.dumps(each).encode()) for each in (*forms, *reversed(forms))}) == 1
    assert recorded(reader, b'{"id":5}', None).image is None
