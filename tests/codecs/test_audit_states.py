"""States of an audit as bytes, and the JSON of keys and offsets."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import Advance, compare_offsets
from eosctl.codecs.json_text import NotJson, read_json
from eosctl.codecs.ledger import decode_audit_state, decode_json, encode_audit_state, read_offsets_key
from eosctl.errors import Undecodable
from eosctl.model.audit_states import ItemKind, ProducerItems, ReadKey, TransactionItem


def test_a_state_comes_back():
    items = ProducerItems(7, (TransactionItem(ItemKind.COMMIT, 1, 2, 3, 4, 5, 6, -1),))
    assert decode_audit_state(encode_audit_state([items]), list[ProducerItems]) == [items]


@given(st.binary(max_size=40))
def test_other_bytes_are_refused(data):
    with suppress(Undecodable):
        assert isinstance(decode_audit_state(data, ProducerItems), ProducerItems)


@given(st.one_of(st.binary(max_size=12), st.text('{}[]",:0123456789.eE+-truefalsn \t\\u', max_size=12).map(str.encode)))
def test_json_is_what_connects_reader_takes_for_json(raw):
    try:
        expected = read_json(raw)
    except NotJson:
        with pytest.raises(ValueError, match=r".+"):
            decode_json(raw)
    else:
        assert decode_json(raw) == expected


LONGS = st.integers(10**16, 10**21) | st.integers(2**63 - 3, 2**63 + 3)


@given(LONGS, st.booleans())
def test_long_integers_are_those_that_connects_reader_makes_of_them(number: int, negative: bool):
    raw = b'{"n":%d}' % (-number if negative else number)
    assert decode_json(raw) == read_json(raw)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'["c",{"b":1,"a":"x"}]', ReadKey("c", '["c",{"a":"x","b":1}]')),
        (b'[ "c", {"a":"x", "b":1} ]', ReadKey("c", '["c",{"a":"x","b":1}]')),
        (b'["c",{}]', ReadKey("c", '["c",{}]')),
    ],
)
def test_keys_of_the_same_json_share_a_text(raw, expected):
    assert read_offsets_key(raw) == expected


@pytest.mark.parametrize("raw", [None, b"", b"\xff", b"{}", b'["c"]', b'["c",{},1]', b"[1,{}]"])
def test_other_keys_have_no_connector_and_a_reason(raw):
    key = read_offsets_key(raw)
    assert key.connector is None
    assert key.reason


def test_an_integer_beyond_64_bits_is_the_long_that_connect_makes_of_it():
    before, after = decode_json(b'{"n":9223372036854775807}'), decode_json(b'{"n":9223372036854775808}')
    assert (before, after) == ({"n": 2**63 - 1}, {"n": -(2**63)})
    assert compare_offsets(before, after, None, decode_json) is Advance.BACK
    assert read_offsets_key(b'["c",{"n":18446744073709551617}]') == read_offsets_key(b'["c",{"n":1}]')
