"""A value that needs no decoding never sets an offset back, regardless of its bytes."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import Advance, BatchWriter, compare_offsets
from eosctl.analysis.audit.key_scan import MOST_SHAPES, ONES, KeyScan, PlainShapes, is_plain
from eosctl.codecs.ledger import decode_json

NAMES = st.sampled_from(["lsn", "file", "pos", "a", "b", "a1", "é", "x y"])
TEXTS = st.from_regex(r"[a-b\"\\é]{0,2}[0-9]{0,2}[a-b]?[0-9]{0,2}", fullmatch=True)
MEMBERS = st.one_of(
    st.integers(-120, 120), st.integers(10**17, 10**20), st.floats(-2, 2), TEXTS, st.booleans(), st.none()
)
VALUES = st.one_of(
    st.dictionaries(NAMES, MEMBERS, max_size=3).map(lambda value: json.dumps(value, separators=(",", ":"))),
    st.dictionaries(NAMES, MEMBERS, max_size=3).map(lambda value: json.dumps(value, ensure_ascii=False)),
    st.from_regex(r"\{\"a\":[0-9]{1,3},\"[ab1]\":[0-9]{1,2}\}", fullmatch=True),
    st.from_regex(r"[0-9{}\":a,.e-]{0,12}", fullmatch=True),
).map(str.encode)


def _fields(value: bytes) -> object:
    try:
        return decode_json(value)
    except ValueError:
        return None


def _digits_changed(value: bytes, digits: list[int]) -> bytes:
    changed = iter(digits)
    return bytes(next(changed, byte) if 48 <= byte <= 57 else byte for byte in value)


@given(VALUES, st.lists(st.integers(48, 57), max_size=20))
@example(b'{"a":1,"a":2}', [50, 49])
@example(b'{"a1":5,"b":2}', [50, 53, 49])
@example(b'{"a":"x1y","b":2}', [50, 49])
@example(b'{"a":0.10000000000000000001,"b":2}', [48] + [49] + [48] * 18 + [50, 49])
def test_values_of_a_plain_shape_with_bytes_that_are_not_lower_are_no_setback(value: bytes, digits: list[int]):
    other = _digits_changed(value, digits)
    assume(is_plain(value.translate(ONES)))
    before, after = sorted([value, other])

    assert compare_offsets(_fields(before), _fields(after), b"key", decode_json) is not Advance.BACK


@given(st.lists(st.one_of(VALUES, st.none()), min_size=1, max_size=12), st.data())
def test_a_scan_counts_the_setbacks_that_decoding_every_value_shows(values: list[bytes | None], data: st.DataObject):
    related = [value for base in values for value in (base, base and _digits_changed(base, data.draw(DIGITS)))]
    writer = BatchWriter(1, 0, True)
    scan = KeyScan(decode_json)
    scan.add_batch([_Entry(offset, 0, b"key", value) for offset, value in enumerate(related)], writer)

    [state] = scan.states()
    expected = [
        offset
        for offset, (before, after) in enumerate(pairwise(related), 1)
        if before is not None and after is not None
        if compare_offsets(_fields(before), _fields(after), b"key", decode_json) is Advance.BACK
    ]
    assert state.setbacks.total == len(expected)
    assert [change.after.offset for change in state.setbacks.places] == expected[:10]


DIGITS = st.lists(st.integers(48, 57), max_size=6)


class _Entry:
    def __init__(self, offset: int, timestamp: int, key: bytes, value: bytes | None) -> None:
        self.offset, self.timestamp, self.key, self.value = offset, timestamp, key, value


def test_keys_that_connectors_write_have_a_plain_shape():
    plain: list[dict[str, Any]] = [
        {"offset": 12},
        {"lsn": 27_000_000, "snapshot": "last", "txId": 7, "done": True},
        {"file": "binlog.000012", "pos": 4},
        {},
    ]
    other: list[Any] = [{"a": -1}, {"a": 1.5}, {"a": {"b": 1}}, {"a1": 1}, {"a": 10**18}, [1], 1, {"a": 'x"'}]

    assert [is_plain(json.dumps(value).encode().translate(ONES)) for value in plain] == [True] * 4
    assert [is_plain(json.dumps(value).encode().translate(ONES)) for value in other] == [False] * 8


def test_values_of_one_plain_shape_share_one_object():
    shapes = PlainShapes()
    shape = shapes.of(b'{"lsn":12}')
    assert shape == b'{"lsn":11}'
    assert shapes.of(b'{"lsn":98}') is shape
    assert shapes.of(b'{"lsn":-9}') is None


@given(VALUES)
def test_remembered_shapes_do_not_change_which_shapes_are_plain(value: bytes):
    fresh, full = PlainShapes(), PlainShapes()
    full._known = dict.fromkeys((b"%d" % number for number in range(MOST_SHAPES)), None)
    expected = value.translate(ONES) if is_plain(value.translate(ONES)) else None
    assert [fresh.of(value), fresh.of(value), full.of(value)] == [expected] * 3
    assert len(full._known) == MOST_SHAPES
