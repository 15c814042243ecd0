"""Records read from lines of text."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.record_lines import read_record_lines
from eosctl.errors import Undecodable
from eosctl.model.records import Record, RecordState


def read(*lines):
    return list(read_record_lines(lines, "config.jsonl"))


def test_a_value_is_taken_as_text_as_an_object_or_as_a_tombstone():
    assert read(
        '{"offset":3,"timestamp":9,"key":"commit-a","value":"{\\"tasks\\": 1}"}\n',
        '{"offset":4,"timestamp":9,"key":"commit-a","value":{"tasks":1}}\r\n',
        b'{"offset":9,"timestamp":9,"key":"connector-\xc3\xbc","value":null}',
    ) == [
        Record(3, 9, b"commit-a", b'{"tasks": 1}'),
        Record(4, 9, b"commit-a", b'{"tasks":1}'),
        Record(9, 9, "connector-ü".encode(), None),
    ]


def test_optional_fields_say_who_wrote_it_how():
    line = '{"offset":0,"key":null,"value":"x","state":"open","producer_id":5,"producer_epoch":1,"partition":0}'
    assert read(line) == [Record(0, -1, None, b"x", RecordState.OPEN, True, 5, 1)]


def test_a_console_consumer_line_is_key_tab_value():
    assert read("commit-a\t{}\n", "\n", "connector-a\tnull\n", "null\tx\ty\n") == [
        Record(0, -1, b"commit-a", b"{}"),
        Record(1, -1, b"connector-a", None),
        Record(2, -1, None, b"x\ty"),
    ]


def test_a_console_consumer_may_print_timestamp_partition_and_offset():
    assert read("CreateTime:8\tPartition:0\tOffset:41\tcommit-a\t{}", "CreateTime:9\tPartition:0\tOffset:43\tb\tc") == [
        Record(41, 8, b"commit-a", b"{}"),
        Record(43, 9, b"b", b"c"),
    ]


def test_the_notice_that_a_new_console_consumer_prints_first_is_no_record():
    notice = (
        "Option --property is deprecated and will be removed in a future version. Use --formatter-property instead."
    )
    assert read(f"{notice}\n", "commit-a\t{}\n") == [Record(0, -1, b"commit-a", b"{}")]


def test_no_lines_are_no_records():
    assert read() == read("\n", "  \n") == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['{"offset":0,"key":"a","value":1}', '{"offset":1,"key":'], "config.jsonl, line 2: the line is not JSON"),
        (['{"offset":0,"key":"a"}'], "line 1: `value` is missing"),
        (['{"offset":0,"value":null}'], "line 1: `key` is missing"),
        (['{"key":"a","value":null}'], "line 1: `offset` is missing or not a whole number"),
        (['{"offset":true,"key":"a","value":null}'], "`offset` is missing or not a whole number"),
        (['{"offset":0,"key":"a","value":null,"state":"gone"}'], "`state` is not one of committed, aborted, open"),
        (['{"offset":0,"key":"a","value":null,"state":[]}'], "`state` is not one of committed, aborted, open"),
        (['{"offset":0,"key":"a","value":null,"transactional":1}'], "`transactional` is neither true nor false"),
        (['{"offset":5,"key":"a","value":1}', '{"offset":5,"key":"a","value":1}'], "offset 5 comes after offset 5"),
        (
            ['{"offset":5,"key":"a","value":1,"partition":0}', '{"offset":6,"key":"a","value":1,"partition":1}'],
            "line 2: partition 1 after partition 0",
        ),
        (["{"], "line 1: the line is not JSON"),
        (['{"offset":0,"key":"a","value":1}', "[]"], "line 2: the line is not a JSON object"),
        (["commit-a"], "line 1: there is no TAB"),
        ([b"\xff\xfec\0o\0"], "NUL characters"),
        ([b'{"\xff'], "the line is not UTF-8 text"),
    ],
)
def test_a_malformed_line_is_named(lines, reason):
    with pytest.raises(Undecodable) as refusal:
        read(*lines)
    assert reason in str(refusal.value)


def test_the_error_does_not_quote_the_line():
    with pytest.raises(Undecodable) as refusal:
        read('{"offset":0,"key":"session-key","value":"hunter2"')
    assert "hunter2" not in f"{refusal.value}{refusal.value.hint}{refusal.value.__cause__}"


@given(st.lists(st.binary()))
def test_any_lines_are_records_or_undecodable(lines):
    try:
        read(*lines)
    except Undecodable:
        return


@given(st.lists(st.text(), min_size=1))
def test_any_text_after_an_object_is_a_record_or_undecodable(lines):
    try:
        read('{"offset":0,"key":"a","value":null}', *lines)
    except Undecodable:
        return


def _peak(count):
    lines = (f'{{"offset":{n},"timestamp":1,"key":"commit-a","value":{{"tasks":1}}}}\n' for n in range(count))
    tracemalloc.start()
    for _ in read_record_lines(lines):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_stays_flat():
    _peak(100)
    assert _peak(20_000) < _peak(2_000) * 1.1 + 10_000
