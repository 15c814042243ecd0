"""Rows of a ledger, whose database may have been changed by hand: each column's type and range."""

import json

import pytest

from eosctl.codecs.json_text import MOST_NESTED
from eosctl.codecs.ledger import (
    decode_audit_state,
    decode_cursor,
    decode_earlier_audit,
    decode_json,
    decode_range,
    decode_run,
    decode_state,
    id_text,
    int_of,
    marks,
    range_values,
    read_offsets_key,
    text_of,
)
from eosctl.errors import Undecodable
from eosctl.model.audit import EarlierFinding, StateKind, StateRow
from eosctl.model.audit_states import ReadKey
from eosctl.model.ledger import Cursor, LedgerRange, LedgerRangeKind
from eosctl.model.report import Severity

MOST = 2**63 - 1


def read_or_why(decode, *given):
    try:
        return decode(*given)
    except Undecodable as error:
        return error.message


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0, 0),
        (1, 1),
        (MOST, MOST),
        (-1, "the ledger's c is -1, not a number from 0 to 2^63-1"),
        (MOST + 1, "the ledger's c is 9223372036854775808, not a number from 0 to 2^63-1"),
        (True, "the ledger's c is True, not a number from 0 to 2^63-1"),
        (None, "the ledger's c is None, not a number from 0 to 2^63-1"),
        (5.0, "the ledger's c is 5.0, not a number from 0 to 2^63-1"),
        ("5", "the ledger's c is of type str, not a number from 0 to 2^63-1"),
        (b"5", "the ledger's c is of type bytes, not a number from 0 to 2^63-1"),
    ],
)
def test_a_number_of_the_ledger_is_a_long_of_0_or_more(value, found):
    assert read_or_why(int_of, value, "c") == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("", ""),
        ("a", "a"),
        ("a\0", "the ledger's c is of type str, not text"),
        (b"a", "the ledger's c is of type bytes, not text"),
        (5, "the ledger's c is 5, not text"),
        (None, "the ledger's c is None, not text"),
    ],
)
def test_a_text_of_the_ledger_has_no_nul(value, found):
    assert read_or_why(text_of, value, "c") == found


@pytest.mark.parametrize(("identity", "text"), [(None, ""), ("", ""), ("x", "x")])
def test_a_topic_without_an_id_has_an_empty_one_in_its_row(identity, text):
    assert id_text(identity) == text


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (("t", 1, "id", 7), Cursor("t", 1, "id", 7)),
        (("t", 0, "", 0), Cursor("t", 0, None, 0)),
        ((1, 1, "id", 7), "the ledger's audit_cursor.topic is 1, not text"),
        (("t", -1, "id", 7), "the ledger's audit_cursor of t (partition) is -1, not a number from 0 to 2^63-1"),
        (("t", 1, None, 7), "the ledger's audit_cursor of t (topic_id) is None, not text"),
        (("t", 1, "id", -7), "the ledger's audit_cursor of t (next_offset) is -7, not a number from 0 to 2^63-1"),
    ],
)
def test_a_cursor_is_read_or_its_column_is_named(row, found):
    assert read_or_why(decode_cursor, row) == found


def of_range(**changed):
    row = {
        "run": 3,
        "topic": "t",
        "partition": 1,
        "id": "",
        "start": 5,
        "end": 9,
        "kind": "read",
        "a": 4,
        "b": 2,
        "c": 0,
    }
    return tuple({**row, **changed}.values())


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, (3, LedgerRange("t", 1, None, 5, 9, LedgerRangeKind.READ, 4, 2, 0))),
        ({"id": "i"}, (3, LedgerRange("t", 1, "i", 5, 9, LedgerRangeKind.READ, 4, 2, 0))),
        ({"kind": "expired"}, (3, LedgerRange("t", 1, None, 5, 9, LedgerRangeKind.EXPIRED, 4, 2, 0))),
        ({"kind": "new"}, "the ledger's audit_range of t (kind) is a kind that is not known"),
        ({"kind": 1}, "the ledger's audit_range of t (kind) is 1, not text"),
        ({"run": True}, "the ledger's audit_range of t (run_number) is True, not a number from 0 to 2^63-1"),
        ({"c": -1}, "the ledger's audit_range of t (records) is -1, not a number from 0 to 2^63-1"),
        ({"start": -1}, "the ledger's audit_range of t (start_offset) is -1, not a number from 0 to 2^63-1"),
        ({"end": -1}, "the ledger's audit_range of t (end_offset) is -1, not a number from 0 to 2^63-1"),
    ],
)
def test_a_range_is_read_or_its_column_is_named(changed, found):
    assert read_or_why(decode_range, of_range(**changed)) == found


def test_a_range_is_written_in_the_order_of_its_columns():
    found = range_values([LedgerRange("t", 1, None, 5, 9, LedgerRangeKind.READ, 4, 2, 0)])
    assert found == [("t", 1, "", 5, 9, "read", 4, 2, 0)]
    assert decode_range((3, *found[0]))[1] == LedgerRange("t", 1, None, 5, 9, LedgerRangeKind.READ, 4, 2, 0)


@pytest.mark.parametrize(("columns", "more", "found"), [("a", 0, "?"), ("a, b", 0, "?, ?"), ("a, b", 1, "?, ?, ?")])
def test_each_column_has_a_mark(columns, more, found):
    assert marks(columns, more) == found
    assert marks(columns) == ", ".join("?" * len(columns.split(",")))


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (0, 5, "audit_run.job is 5, not text"),
        (1, "5", "audit_run.run_number is of type str"),
        (2, 5, "audit_run.run_id is 5, not text"),
        (5, 5, "audit_run.verdict is 5, not text"),
        (6, "x", "audit_run.findings is of type str"),
        (7, 5, "audit_run.eosctl_version is 5, not text"),
        (10, -1, "audit_run.gaps is -1, not a number"),
    ],
)
def test_a_run_names_the_column_that_is_not_of_its_type(at, value, says):
    row = ["j", 1, "id", 2, 3, "clean", 0, "1.0", 4, 5, 6]
    assert decode_run(row).gaps == 6
    row[at] = value
    assert says in read_or_why(decode_run, row)


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        (b"x", StateRow(StateKind.LOG, 2, "t", 1, 5, True, b"x")),
        (bytearray(b"x"), StateRow(StateKind.LOG, 2, "t", 1, 5, True, b"x")),
        (memoryview(b"x"), StateRow(StateKind.LOG, 2, "t", 1, 5, True, b"x")),
        ("x", "the ledger's audit_state of t (payload) is of type str, not bytes"),
        (None, "the ledger's audit_state of t (payload) is None, not bytes"),
    ],
)
def test_a_state_is_bytes_however_the_database_gives_them(payload, found):
    assert read_or_why(decode_state, ("log", 2, "t", 1, 5, payload)) == found


def test_a_state_of_an_unknown_kind_is_not_read():
    assert "audit_state of t (kind) is a kind that is not known" in read_or_why(
        decode_state, ("logs", 2, "t", 1, 5, b"")
    )


def report(**changed):
    finding = {"id": "lost", "subject": "o", "severity": "error", "evidence": {"count": 2}}
    connectors = [{"name": "a", "verdict": "broken"}, {"name": "b", "verdict": "kept"}]
    data = {"findings": [finding, {**finding, "evidence": {"count": 3}}], "connectors": connectors, **changed}
    return json.dumps({"as_of": "2026-01-01T00:00:00Z", "data": data})


def test_an_earlier_report_gives_each_finding_of_a_place_and_the_broken_connectors():
    found = decode_earlier_audit(report(), 7)
    assert found is not None
    assert (found.run_number, found.as_of, found.broken) == (7, "2026-01-01T00:00:00Z", {"a"})
    expected = tuple(EarlierFinding(Severity.ERROR, {"count": count}) for count in (2, 3))
    assert found.findings == {("lost", "o"): expected}


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[]", "{}", '{"data": {}}', "[" * 100_000),
        *(report(findings=5), report(findings=[{}]), report(findings=[{"severity": "loud", "evidence": {}}])),
        *(report(connectors=[{"name": "a"}]), report(connectors=None)),
    ],
)
def test_a_text_that_is_no_report_makes_no_finding_known(text):
    assert decode_earlier_audit(text, 1) is None


def test_a_state_that_is_not_of_its_type_asks_for_a_new_ledger():
    with pytest.raises(Undecodable) as caught:
        decode_audit_state(b"\xc1", int)
    assert caught.value.hint == "was the ledger changed by hand? Audit into a new one"


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"[" * MOST_NESTED + b"]" * MOST_NESTED, True),
        (b"[" * (MOST_NESTED + 1) + b"]" * (MOST_NESTED + 1), False),
        (b'{"a":' * (MOST_NESTED + 1) + b"1" + b"}" * (MOST_NESTED + 1), False),
        (b"[" + b"[]," * MOST_NESTED + b"{}]", True),
        (b"\xff", False),
        (b"NaN", False),
        (b"01", False),
    ],
)
def test_json_is_read_as_deep_as_connect_reads_it(raw, read):
    if read:
        assert decode_json(raw) == json.loads(raw)
    else:
        with pytest.raises(ValueError, match=r"."):
            decode_json(raw)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b'["c",null]', ReadKey("c", '["c",null]', None)),
        (b'["c",{"a":1.0}]', ReadKey("c", '["c",{"a":1.0}]', None)),
        (None, ReadKey(None, "null", "the key is null")),
        (b"\xff", ReadKey(None, "\\xff", read_offsets_key(b"\xff").reason)),
        (b'["c",1]', ReadKey(None, '["c",1]', "the source partition is a number, not an object")),
        (b'["c",[]]', ReadKey(None, '["c",[]]', "the source partition is a list, not an object")),
        (b"[1,{}]", ReadKey(None, "[1,{}]", "the connector is a number, not text")),
        (b'["c"]', ReadKey(None, '["c"]', "the key is a list of 1, not of 2")),
        (b'["c",{},1]', ReadKey(None, '["c",{},1]', "the key is a list of 3, not of 2")),
        (b'{"c":1}', ReadKey(None, '{"c":1}', "the key is an object, not a list of 2")),
        (b'"ca"', ReadKey(None, '"ca"', "the key is text, not a list of 2")),
    ],
)
def test_a_key_is_a_connector_and_its_partition_or_the_reason_why_not(raw, found):
    assert read_offsets_key(raw) == found
