"""Values of both sides as one text, and what a point of the source's log saw."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import msgpack
from msgspec.structs import replace

from eosctl.analysis.source_audit import (
    RowReader,
    SeenByAll,
    Unusable,
    binlog_order,
    differing_columns,
    findings_about,
    is_seen,
    read_record,
    table_text,
    topic_text,
    unseen_at_most,
    verdict_of,
)
from eosctl.model.audit import AuditVerdict
from eosctl.model.source_audit import (
    UNSIGNED,
    CapturedTable,
    ColumnKind,
    ComparedTable,
    Handling,
    RowDifference,
    RowSample,
    SourcePoint,
    SourcePosition,
    TableColumn,
)

DEFAULT = Handling()
ID = TableColumn("id", "int8", ColumnKind.INTEGER, key=1)
ORDERS = CapturedTable(
    "public",
    "orders",
    "shop.public.orders",
    (TableColumn("id", "int8", ColumnKind.INTEGER, key=1), TableColumn("name", "text", ColumnKind.TEXT)),
)


def column(kind: ColumnKind, digits: int | None = None) -> TableColumn:
    return TableColumn("c", "t", kind, digits)


@pytest.mark.parametrize(
    ("kind", "digits", "in_table", "in_topic", "handling"),
    [
        (ColumnKind.INTEGER, None, "-7", -7, DEFAULT),
        (ColumnKind.BOOLEAN, None, "true", True, DEFAULT),
        (ColumnKind.PADDED, None, "ab", "ab    ", DEFAULT),
        (ColumnKind.REAL, None, "0.1", 0.1, DEFAULT),
        (ColumnKind.REAL, None, "0.69669914", 0.696699142456, DEFAULT),
        (ColumnKind.DOUBLE, None, "1e+300", 1e300, DEFAULT),
        (ColumnKind.DECIMAL, 3, "53.640", b64encode((53640).to_bytes(3, "big")).decode(), DEFAULT),
        (ColumnKind.DECIMAL, 2, "-1.50", b64encode((-150).to_bytes(2, "big", signed=True)).decode(), DEFAULT),
        (
            ColumnKind.DECIMAL,
            None,
            "1200",
            {"scale": 0, "value": b64encode((1200).to_bytes(2, "big")).decode()},
            DEFAULT,
        ),
        (ColumnKind.DECIMAL, 2, "1.50", "1.5", Handling(decimals="string")),
        (ColumnKind.BYTES, None, "00ff10", "AP8Q", DEFAULT),
        (ColumnKind.BYTES, None, "00ff10", "00FF10", Handling(binaries="hex")),
        (ColumnKind.TIMESTAMP, 6, "1795696216053223", 1795696216053223, DEFAULT),
        (ColumnKind.TIMESTAMP, 3, "1795696216053000", 1795696216053, DEFAULT),
        (ColumnKind.TIME, 3, "45016051000", 45016051000, Handling(times="adaptive_time_microseconds")),
        (ColumnKind.INSTANT, 6, "1795696216053224", "2026-11-26T12:30:16.053224Z", DEFAULT),
        (ColumnKind.INSTANT, 6, "-1", "1969-12-31T23:59:59.999999Z", DEFAULT),
        (ColumnKind.LIST, None, '["a",null]', ["a", None], DEFAULT),
    ],
)
def test_a_value_has_the_same_text_on_both_sides(kind, digits, in_table, in_topic, handling):
    text = topic_text(column(kind, digits), in_topic, handling)
    assert isinstance(text, str)
    assert text == table_text(column(kind, digits), in_table)


@pytest.mark.parametrize(
    ("kind", "digits", "value", "handling"),
    [
        (ColumnKind.TEXT, None, "__debezium_unavailable_value", DEFAULT),
        (ColumnKind.BYTES, None, b64encode(b"__debezium_unavailable_value").decode(), DEFAULT),
        (ColumnKind.DECIMAL, 2, 1.5, Handling(decimals="double")),
        (ColumnKind.TIMESTAMP, 6, 1795696216053, Handling(times="connect")),
        (ColumnKind.TIMESTAMP, 6, "2026-11-26T12:30:16", Handling(times="isostring")),
        (ColumnKind.OTHER, None, 86400000000, DEFAULT),
        (ColumnKind.INTEGER, None, "7", DEFAULT),
    ],
)
def test_a_value_that_is_not_there_or_has_lost_digits_is_not_compared(kind, digits, value, handling):
    assert topic_text(column(kind, digits), value, handling) is False
    one = CapturedTable("public", "one", "one", (ID, column(kind, digits)))
    images = [
        each.image
        for each in RowReader(one, handling).records(
            [(None, envelope("c", {"id": 1, "c": each})) for each in (value, None)]
        )
    ]
    assert differing_columns(one.columns, *images) == ()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ColumnKind.DECIMAL, "NaN"),  # Debezium writes NULL
        (ColumnKind.DATE, "infinite"),
        (ColumnKind.DATE, "-141428"),  # a snapshot's calendar is the Julian one before 1582-10-15
        (ColumnKind.INSTANT, "none"),  # a zero date
    ],
)
def test_a_value_that_debezium_writes_as_another_one_is_not_compared(kind, text):
    assert table_text(column(kind), text) is False


def test_a_large_unsigned_number_is_compared_where_debezium_writes_it_precisely():
    larger = TableColumn("c", UNSIGNED, ColumnKind.INTEGER)
    most = b64encode((2**64 - 1).to_bytes(9, "big")).decode()
    assert topic_text(larger, most, Handling(unsigned="precise")) == table_text(larger, str(2**64 - 1))
    assert topic_text(larger, -1, DEFAULT) is False
    assert topic_text(larger, 5, DEFAULT) == "5"


def test_null_differs_from_an_empty_text():
    null, empty = (RowReader(ORDERS, DEFAULT).rows([["1", each]])[0].image for each in (None, ""))
    assert differing_columns(ORDERS.columns, null, empty) == ("name",)


# -- records


def envelope(operation: str, row: dict[str, object] | None, **source: object) -> bytes:
    return json.dumps({"before": None, "after": row, "op": operation, "source": source}).encode()


def test_an_envelope_gives_the_same_row_with_and_without_schema():
    plain = envelope("u", {"id": 5, "name": "x"}, lsn=100, txId=7)
    wrapped = json.dumps({"schema": {}, "payload": json.loads(plain)}).encode()
    key = b'{"schema":{},"payload":{"id":5}}'
    assert read_record(ORDERS, b'{"id":5}', plain, DEFAULT) == read_record(ORDERS, key, wrapped, DEFAULT)
    read = read_record(ORDERS, key, plain, DEFAULT)
    assert (read.key, read.row, read.position) == ("5", {"id": 5, "name": "x"}, SourcePosition(100, 7))


def test_a_deletion_a_tombstone_and_a_plain_row_are_known():
    deleted = read_record(ORDERS, b'{"id":5}', envelope("d", None, lsn=9), DEFAULT)
    assert (deleted.row, deleted.position) == (None, SourcePosition(9))
    assert read_record(ORDERS, b'{"id":5}', None, DEFAULT) == ("5", None, None)
    assert read_record(ORDERS, b"5", b'{"id":5,"name":"x"}', DEFAULT).row == {"id": 5, "name": "x"}
    rewritten = b'{"id":5,"name":"x","__deleted":"true","__op":"d","__source_lsn":9}'
    assert read_record(ORDERS, None, rewritten, DEFAULT) == ("5", None, SourcePosition(9))


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"\0\0\0\0\1\n", None), (b'{"id":5}', b"\0\0\0\0\1x"), (None, b"{}"), (None, envelope("t", None))],
)
def test_unreadable_parts_are_reported_and_not_skipped_silently(key, value):
    with pytest.raises(Unusable):
        read_record(ORDERS, key, value, DEFAULT)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b'{"id":5}', envelope("c", {"id": 5}, lsn=1, table="others"), "of another table, others"),
        (b'{"id":5}', b'{"id":5,"__table":"others"}', "of another table, others"),
        (b"7", envelope("c", {"id": 5}, lsn=1), "other ones than the primary keys"),  # ValueToKey, ExtractField
        (b'{"id":7}', envelope("c", {"id": 5}, lsn=1), "other ones than the primary keys"),
    ],
)
def test_a_record_of_another_table_or_under_another_key_is_none_of_the_row(key, value, reason):
    with pytest.raises(Unusable, match=reason):
        read_record(ORDERS, key, value, DEFAULT)


def test_a_partition_s_record_is_the_table_s_and_message_key_columns_may_be_others():
    parted = replace(ORDERS, parts=("orders_1",))
    assert read_record(parted, None, envelope("c", {"id": 5}, table="orders_1"), DEFAULT).key == "5"
    assert read_record(ORDERS, b'{"customer":9}', envelope("c", {"id": 5}, table="orders"), DEFAULT).key == "5"


# -- images


EVERY_KIND = CapturedTable(
    "public",
    "orders",
    "orders",
    (ID, *(TableColumn(str(kind), "t", kind, 2) for kind in ColumnKind), TableColumn("any", "t", ColumnKind.DECIMAL)),
)
UNAVAILABLE = st.sampled_from([DEFAULT.unavailable, b64encode(DEFAULT.unavailable.encode()).decode()])
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40), UNAVAILABLE, st.dates().map(str),
    st.binary(max_size=12).map(lambda raw: b64encode(raw).decode()), st.lists(st.integers() | UNAVAILABLE, max_size=2),
    st.datetimes().map(lambda at: f"{at.isoformat()}Z"), st.just({"scale": 2, "value": "AA=="}), st.just({}),
)  # fmt: skip
ROWS = st.dictionaries(st.sampled_from([each.name for each in EVERY_KIND.columns]), VALUES)
HANDLINGS = st.builds(
    Handling,
    st.sampled_from(["precise", "string", "double"]),
    st.sampled_from(["adaptive", "adaptive_time_microseconds", "connect"]),
    st.sampled_from(["bytes", "base64", "hex"]),
    key_path=st.just(()),
)
SOURCES = st.one_of(
    st.fixed_dictionaries({}, optional={"lsn": VALUES, "txId": VALUES, "file": VALUES, "pos": VALUES, "table": VALUES}),
    st.fixed_dictionaries({"lsn": st.integers(0, 2**40), "txId": st.integers(0, 2**31), "table": st.just("orders")}),
    st.fixed_dictionaries({"file": st.just("binlog.000007"), "pos": st.integers(4, 2**30)}),
    VALUES,
)
OPERATIONS = st.sampled_from(["c", "u", "r", "d", "t", 5, None])


def read_slowly(table: CapturedTable, key: bytes | None, value: bytes | None, handling: Handling) -> Any:
    """The result of `read_record` and `topic_text`: key, texts without digests, position; or why it is unusable."""
    try:
        read = read_record(table, key, value, handling)
    except Unusable as error:
        return str(error)
    if read.row is None:
        return read.key, None, read.position
    row = read.row
    texts = [topic_text(each, row[each.name], handling) if each.name in row else False for each in table.columns]
    return read.key, texts, read.position


@given(st.integers(-3, 3), ROWS, ROWS, SOURCES, OPERATIONS, HANDLINGS, st.sampled_from(["plain", "schema", "row"]))
@example(5, {}, {}, {"lsn": 7}, "c", DEFAULT, "plain")
@example(0, {"instant": "0001-01-01"}, {}, {}, "c", DEFAULT, "plain")
@settings(max_examples=150, deadline=None)
def test_the_short_way_reads_each_record_as_the_long_one(number, row, before, source, operation, handling, form):
    value = {"before": before, "after": {"id": number, **row}, "source": source, "op": operation}
    value = (
        {"schema": {"fields": []}, "payload": value} if form == "schema" else value["after"] if form == "row" else value
    )
    raw, key = json.dumps(value).encode(), json.dumps({"id": number}).encode()
    expected = read_slowly(EVERY_KIND, key, raw, handling)
    [found] = RowReader(EVERY_KIND, handling).records([(key, raw)])
    if isinstance(found, Unusable):
        assert str(found) == expected
        return
    key_text, texts, position = expected
    assert (found.key, found.position, found.image is None) == (key_text, position, texts is None)
    if found.image is not None and texts is not None:
        kept = msgpack.decode(found.image)
        assert [text if type(each) is bytes else each for each, text in zip(kept, texts, strict=True)] == texts
        assert all(type(text) is str for each, text in zip(kept, texts, strict=True) if type(each) is bytes)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sets(st.integers(0, 9))), min_size=1), st.data())
@settings(max_examples=30, deadline=None)
def test_a_transaction_visible_at_all_points_is_visible_at_each(drawn, data):
    base = data.draw(st.sampled_from([100, (1 << 32) - 5, (5 << 32) + 3]))
    points = [
        SourcePoint(1000 + low, 1010 + low, f"{base + first}:{base + first + 10}:"
                    + ",".join(str(base + first + each) for each in sorted(running)))
        for low, first, running in drawn
    ]  # fmt: skip
    bound = SeenByAll.of(points)
    for _ in range(4):
        number = data.draw(st.integers(base - 20, base + 25) | st.integers(0, (1 << 32) - 1)) % (1 << 32)
        position = SourcePosition(data.draw(st.integers(990, 1030)), number, data.draw(st.booleans()))
        if bound.has(position):
            assert all(is_seen(position, each) for each in points)
    assert bound.has(SourcePosition(990, (base - 1) % (1 << 32)))


def test_a_place_of_a_binary_log_is_seen_by_all_before_the_first_point():
    bound = SeenByAll.of([SourcePoint(50, 50), SourcePoint(70, 70)])
    assert [bound.has(SourcePosition(each)) for each in (49, 50, 60)] == [True, False, False]


def test_a_column_of_few_values_and_one_of_long_ones_have_digests():
    wide = replace(ORDERS, columns=(*ORDERS.columns, TableColumn("price", "numeric", ColumnKind.DECIMAL)))
    reader = RowReader(wide, DEFAULT)
    images = [msgpack.decode(reader.rows([["1", "a name", each]])[0].image) for each in ("1.50", "1" * 40, "1" * 41)]
    assert images[0][0::2] == ["1", "1.5"]
    assert len({each[1] for each in images}) == 1
    assert [type(each[2]) for each in images] == [str, bytes, bytes]
    assert images[1] != images[2]


# -- points

POINT = SourcePoint(1000, 2000, "100:110:103,105")


@pytest.mark.parametrize(
    ("position", "seen"),
    [
        (SourcePosition(900, 102), True),
        (SourcePosition(1500, 102), True),  # committed between both positions, before the snapshot
        (SourcePosition(900, 103), False),  # ran
        (SourcePosition(900, 110), False),  # began behind the snapshot's end, and wrote before it
        (SourcePosition(2001, 102), False),  # written behind the snapshot
        (SourcePosition(900, 50), True),
        (SourcePosition(900, 110 + (1 << 24)), True),  # an old one: the numbers have begun anew since
        (SourcePosition(900), True),
        (SourcePosition(1001), False),
        (SourcePosition(1000, 103, is_read=True), True),
        (SourcePosition(1001, 50, is_read=True), False),
    ],
)
def test_a_transaction_sees_what_postgresql_shows_it(position, seen):
    assert is_seen(position, POINT) is seen


def test_ids_of_transactions_are_compared_without_their_epoch():
    point = SourcePoint(1000, 2000, f"{(3 << 32) + 5}:{(3 << 32) + 9}:{(3 << 32) + 6}")
    assert [is_seen(SourcePosition(900, each), point) for each in (5, 6, 9, (1 << 32) - 1)] == [
        True,
        False,
        False,
        True,
    ]


def test_a_binary_log_has_its_files_in_the_order_of_their_numbers():
    assert binlog_order("binlog.000009", 500) < binlog_order("binlog.000010", 4)
    assert binlog_order("binlog", 4) is None
    end = binlog_order("binlog.000010", 400)
    assert not is_seen(SourcePosition(end), SourcePoint(end, end))
    assert is_seen(SourcePosition(end, is_read=True), SourcePoint(end, end))


def test_a_sample_without_a_difference_bounds_what_was_not_seen():
    assert unseen_at_most(1000, 1_000_000) == 2991
    assert unseen_at_most(500, 500) == 0
    assert unseen_at_most(0, 500) == 500


@pytest.mark.parametrize(
    ("compared", "verdict"),
    [
        ({}, AuditVerdict.HELD),
        ({"counts": {RowDifference.MISSING: 0}}, AuditVerdict.HELD),
        ({"counts": {RowDifference.MISSING: 0, RowDifference.EXTRA: 1}}, AuditVerdict.BROKEN),
        ({"undecided": 1}, AuditVerdict.CANNOT_TELL),
        ({"reasons": ("the table was not read",)}, AuditVerdict.CANNOT_TELL),
        ({"counts": {RowDifference.DIFFERING: 1}, "undecided": 1, "reasons": ("r",)}, AuditVerdict.BROKEN),
    ],
)
def test_a_table_is_broken_by_one_difference_and_held_only_where_every_key_was_decided(compared, verdict):
    assert verdict_of(ComparedTable(table=ORDERS, **compared)) is verdict


@pytest.mark.parametrize(("count", "words"), [(1, "k1"), (3, "k1, k2, k3"), (4, "k1, k2, k3 and others")])
def test_a_finding_names_the_first_three_keys_and_where_to_find_the_others(count, words):
    samples = tuple(RowSample(f"k{number + 1}", ("name",), 0, number) for number in range(count))
    counts = {RowDifference.DIFFERING: count, RowDifference.MISSING: 0}
    [found] = findings_about(ComparedTable(table=ORDERS, counts=counts, samples={RowDifference.DIFFERING: samples}))
    assert found.message.endswith(f"topic shop.public.orders: {words}")
    assert found.message.startswith(f"{count} ")
    assert found.evidence["count"] == count
    assert [each["key"] for each in found.evidence["keys"]] == [each.key for each in samples]


# -- each decision alone

ENVELOPE = {"op": "c", "source": {"lsn": 7}, "after": {"id": 5}}


@pytest.mark.parametrize(
    ("value", "row", "position"),
    [
        (ENVELOPE, {"id": 5}, SourcePosition(7)),
        (ENVELOPE | {"op": "r"}, {"id": 5}, SourcePosition(7, None, is_read=True)),
        (ENVELOPE | {"op": "d"}, None, SourcePosition(7)),
        ({"op": "d", "source": {"lsn": 7}, "before": {"id": 5}}, None, SourcePosition(7)),
        (ENVELOPE | {"source": {"lsn": 7, "txId": 3}}, {"id": 5}, SourcePosition(7, 3)),
        (ENVELOPE | {"source": {"lsn": 7, "txId": "3"}}, {"id": 5}, SourcePosition(7)),
        (ENVELOPE | {"source": {}}, {"id": 5}, None),
        (ENVELOPE | {"source": {"file": "b.1", "pos": 4}}, {"id": 5}, SourcePosition((1 << 40) + 4)),
        (ENVELOPE | {"source": {"file": "b.1"}}, {"id": 5}, None),
        (ENVELOPE | {"source": {"file": 1, "pos": 4}}, {"id": 5}, None),
        (ENVELOPE | {"source": {"file": "b", "pos": 4}}, {"id": 5}, None),
        (ENVELOPE | {"source": {"lsn": 7, "table": "orders"}}, {"id": 5}, SourcePosition(7)),
        (ENVELOPE | {"source": {"lsn": 7, "table": 9}}, {"id": 5}, SourcePosition(7)),
        ({"id": 5}, {"id": 5}, None),
        ({"id": 5, "__deleted": "false"}, {"id": 5, "__deleted": "false"}, None),
        ({"id": 5, "__deleted": True}, None, None),
        ({"id": 5, "__deleted": "true", "__op": "d", "__source_lsn": 9}, None, SourcePosition(9)),
        ({"id": 5, "__op": "r", "__source_lsn": 9}, ..., SourcePosition(9, None, is_read=True)),
        ({"id": 5, "__op": "c", "__source_lsn": 9}, ..., SourcePosition(9)),
        ({"id": 5, "op": "c", "__source_lsn": 9}, ..., SourcePosition(9)),
        ({"id": 5, "__source_lsn": 9}, ..., None),
        ({"id": 5, "__source_snapshot": "last", "__source_lsn": 9}, ..., SourcePosition(9, None, is_read=True)),
        ({"id": 5, "__source_snapshot": "false", "__source_lsn": 9}, ..., SourcePosition(9)),
        ({"id": 5, "__source_snapshot": None, "__source_lsn": 9}, ..., SourcePosition(9)),
        ({"id": 5, "__source_table": "orders"}, ..., None),
        ({"id": 5, "op": "c", "source": 3}, ..., None),
    ],
)
def test_each_form_of_a_record_has_its_row_and_position(value, row, position):
    read = read_record(ORDERS, b'{"id":5}', json.dumps(value).encode(), DEFAULT)
    assert read == ("5", value if row is ... else row, position)
    assert read_slowly(ORDERS, b'{"id":5}', json.dumps(value).encode(), DEFAULT)[2] == position


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b'{"id":5}', b"{", "its value is not JSON"),
        (b'{"id":5}', b"[]", "its value is no JSON object"),
        (b'{"id":5}', b'{"op":"t","source":{}}', "a TRUNCATE"),
        (b'{"id":5}', b'{"op":"c","source":{},"after":[5]}', "its row is no JSON object"),
        (b'{"id":5}', b'{"id":5,"__source_table":"others"}', "of another table, others"),
        (None, b'{"name":"x"}', "the primary key is missing"),
        (None, None, "the primary key is missing"),
        (b'{"id":6}', b'{"op":"d","source":{},"before":{"id":5}}', "other ones than the primary keys"),
    ],
)
def test_a_record_that_is_no_row_s_says_why(key, value, reason):
    with pytest.raises(Unusable, match=reason):
        read_record(ORDERS, key, value, DEFAULT)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (b'{"id":5}', None, "5"),
        (b'{"id":5}', b"null", "5"),
        (b"5", None, "5"),
        (b'{"schema":{},"payload":5}', None, "5"),
        (None, b'{"id":5}', "5"),
        (None, b'{"op":"d","source":{},"before":{"id":5}}', "5"),
        (None, b'{"op":"t","id":5}', "5"),
        (b'{"other":9}', b'{"id":5}', "5"),
        (b"\xff", b'{"id":5}', "5"),
    ],
)
def test_the_primary_key_is_found_in_key_row_or_the_row_before(key, value, text):
    assert read_record(ORDERS, key, value, DEFAULT).key == text


TEXTUAL = replace(ORDERS, columns=(TableColumn("id", "text", ColumnKind.TEXT, key=1),))
BOTH_KEYS = replace(ORDERS, columns=(ID, TableColumn("name", "text", ColumnKind.TEXT, key=2)))


def test_a_key_of_plain_text_is_the_only_column_of_the_primary_key():
    assert read_record(TEXTUAL, b"a b", None, DEFAULT).key == "a b"
    for unreadable in ("\u00e4".encode(), b"a\x00b"):
        with pytest.raises(Unusable):
            read_record(TEXTUAL, unreadable, None, DEFAULT)
    with pytest.raises(Unusable):
        read_record(BOTH_KEYS, b"5", None, DEFAULT)
    assert read_record(BOTH_KEYS, b'{"id":5,"name":"x"}', None, DEFAULT).key == '["5", "x"]'


def unscaled(number: int) -> str:
    return b64encode(number.to_bytes(20, "big", signed=True)).decode()


@pytest.mark.parametrize(
    ("kind", "digits", "value", "handling", "text"),
    [
        (ColumnKind.TEXT, None, DEFAULT.unavailable, DEFAULT, False),
        (ColumnKind.LIST, None, [DEFAULT.unavailable], DEFAULT, False),
        (ColumnKind.LIST, None, [DEFAULT.unavailable, "x"], DEFAULT, json.dumps([DEFAULT.unavailable, "x"])),
        (ColumnKind.TEXT, None, 5, DEFAULT, False),
        (ColumnKind.DECIMAL, 2, unscaled(-5), DEFAULT, "-0.05"),
        (ColumnKind.DECIMAL, 2, unscaled(0), DEFAULT, "0"),
        (ColumnKind.DECIMAL, 0, unscaled(50), DEFAULT, "50"),
        (ColumnKind.DECIMAL, None, unscaled(50), DEFAULT, False),
        (ColumnKind.DECIMAL, 2, "1.50", DEFAULT, False),
        (ColumnKind.DECIMAL, 2, "1.50", Handling(decimals="string"), "1.5"),
        (ColumnKind.DECIMAL, 2, 3, Handling(decimals="string"), "3"),
        (ColumnKind.DECIMAL, 2, 1.5, Handling(decimals="string"), False),
        (ColumnKind.DECIMAL, None, {"scale": -2, "value": unscaled(5)}, DEFAULT, "500"),
        (ColumnKind.DECIMAL, None, {"scale": 1, "value": unscaled(55)}, DEFAULT, "5.5"),
        (ColumnKind.DECIMAL, None, {"scale": 16_384, "value": unscaled(5)}, DEFAULT, False),
        (ColumnKind.DECIMAL, None, {"scale": 16_383, "value": unscaled(0)}, DEFAULT, "0"),
        (ColumnKind.DECIMAL, None, {"scale": 1}, DEFAULT, False),
        (ColumnKind.TIMESTAMP, 3, 5, DEFAULT, "5000"),
        (ColumnKind.TIMESTAMP, 4, 5, DEFAULT, "5"),
        (ColumnKind.TIMESTAMP, None, 5, DEFAULT, "5"),
        (ColumnKind.TIMESTAMP, 3, 5, Handling(times="adaptive_time_microseconds"), "5000"),
        (ColumnKind.TIMESTAMP, 4, 5, Handling(times="adaptive_time_microseconds"), "5"),
        (ColumnKind.TIME, 3, 5, Handling(times="adaptive_time_microseconds"), "5"),
        (ColumnKind.TIME, 3, 5, DEFAULT, "5000"),
        (ColumnKind.TIME, 3, 5, Handling(times="connect"), "5000"),
        (ColumnKind.TIME, 4, 5, Handling(times="connect"), False),
        (ColumnKind.DATE, None, 5, Handling(times="connect"), "5"),
        (ColumnKind.DATE, None, 5, Handling(times="isostring"), False),
        (ColumnKind.DATE, None, True, DEFAULT, False),
        (ColumnKind.DATE, None, "5", DEFAULT, False),
        (ColumnKind.INSTANT, 6, 5, DEFAULT, False),
        (ColumnKind.INSTANT, 6, "2026-11-26T12:30:16", DEFAULT, False),
        (ColumnKind.BYTES, None, "_-8=", Handling(binaries="base64-url-safe"), "ffef"),
        (ColumnKind.BYTES, None, "_-8=", DEFAULT, False),
        (ColumnKind.BYTES, None, "zz", Handling(binaries="hex"), False),
    ],
)
def test_a_value_of_the_topic_has_its_text_or_is_not_compared_on_the_short_way_and_the_long(
    kind, digits, value, handling, text
):
    found = topic_text(column(kind, digits), value, handling)
    assert found == text
    assert type(found) is type(text)
    table = CapturedTable("public", "one", "one", (ID, column(kind, digits)))
    [record] = RowReader(table, handling).records([(None, envelope("c", {"id": 1, "c": value}))])
    assert not isinstance(record, Unusable)
    assert record.blanks == ("2" if text is False else "0")


@pytest.mark.parametrize(
    ("value", "handling", "text"),
    [
        (5, DEFAULT, "5"),
        (0, DEFAULT, "0"),
        (-1, DEFAULT, False),
        (unscaled(5), Handling(unsigned="precise"), "5"),
        (unscaled(5), DEFAULT, False),
        (5, Handling(unsigned="precise"), "5"),
        (1.5, DEFAULT, False),
    ],
)
def test_an_unsigned_number_is_a_long_or_a_decimal(value, handling, text):
    found = topic_text(TableColumn("c", UNSIGNED, ColumnKind.INTEGER), value, handling)
    assert (found, type(found)) == (text, type(text))


HALF = 1 << 31


@pytest.mark.parametrize(
    ("position", "seen"),
    [
        (SourcePosition(2000, 102), True),
        (SourcePosition(2001, 102), False),
        (SourcePosition(1000), True),
        (SourcePosition(1000, 109), True),
        (SourcePosition(1000, 110), False),
        (SourcePosition(1000, 110 + (1 << 24) - 1), False),
        (SourcePosition(1000, 110 + (1 << 24)), True),
        (SourcePosition(1001, 110 + (1 << 24)), False),
        (SourcePosition(1001, 110 + HALF - 1), False),
        (SourcePosition(1001, 110 + HALF), True),
        (SourcePosition(1001, 105), False),
    ],
)
def test_what_a_point_sees_ends_at_its_positions_and_at_its_snapshot(position, seen):
    assert is_seen(position, POINT) is seen
    assert is_seen(SourcePosition(999), SourcePoint(1000, 1000))
    assert not is_seen(SourcePosition(1000), SourcePoint(1000, 1000))


QUARTER = 1 << 30


@pytest.mark.parametrize(
    ("points", "bound"),
    [
        ([], SeenByAll(-1, None)),
        ([SourcePoint(50, 50)], SeenByAll(50, None)),
        ([POINT], SeenByAll(1000, 100)),
        ([POINT, SourcePoint(900, 2000, "90:95:")], SeenByAll(900, 90)),
        ([POINT, SourcePoint(900, 900)], SeenByAll(900, 100)),
        ([SourcePoint(5, 5, f"1:{QUARTER}:")], SeenByAll(5, 1)),
        ([SourcePoint(5, 5, f"1:{QUARTER + 1}:")], SeenByAll(5, None)),
    ],
)
def test_the_bound_of_all_points_is_their_lowest_place_and_oldest_transaction(points, bound):
    assert SeenByAll.of(points) == bound


@pytest.mark.parametrize(
    ("position", "seen"),
    [
        (SourcePosition(999, 99), True),
        (SourcePosition(999, 100), False),
        (SourcePosition(1000, 99), False),
        (SourcePosition(999), True),
        (SourcePosition(999, 100, is_read=True), True),
        (SourcePosition(1000, None, is_read=True), False),
        (SourcePosition(999, (100 - QUARTER + 1) % (1 << 32)), True),
        (SourcePosition(999, (100 - QUARTER) % (1 << 32)), False),
    ],
)
def test_a_change_below_the_bound_was_seen_by_all_points(position, seen):
    assert SeenByAll(1000, 100).has(position) is seen
    assert SeenByAll(1000, None).has(position) is (seen and (position.transaction is None or position.is_read))
