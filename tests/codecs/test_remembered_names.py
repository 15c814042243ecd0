"""Names kept for completion: what is written is read, and whatever else lies there is nothing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.remembered_names import decode_remembered_names, encode_remembered_names
from eosctl.model.remembered_names import FORGOTTEN_MS, FRESH_MS, NOTHING, PATIENCE_MS, RememberedNames

NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5).map(tuple)
TIMES = st.integers(0, 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["version", "names", "read_at", "asked_at"]), inner)
    ),
)


@given(st.builds(RememberedNames, NAMES, TIMES, TIMES))
def test_what_is_written_is_read(remembered):
    assert decode_remembered_names(encode_remembered_names(remembered)) == remembered


@given(st.text() | JSON.map(json.dumps))
def test_anything_else_is_nothing_or_names(text):
    found = decode_remembered_names(text)
    assert found == NOTHING or all(isinstance(name, str) for name in found.names)


def test_names_are_asked_for_again_when_they_are_old_and_not_at_once_after_a_failure():
    fresh = RememberedNames(("orders",), 1_000, 1_000)
    assert not fresh.is_due(1_000 + FRESH_MS - 1)
    assert fresh.is_due(1_000 + FRESH_MS)
    failed = fresh.unanswered(1_000 + FRESH_MS)
    assert not failed.is_due(1_000 + FRESH_MS + PATIENCE_MS - 1)
    assert failed.is_due(1_000 + FRESH_MS + PATIENCE_MS)
    assert failed.known(1_000 + FORGOTTEN_MS - 1) == ("orders",)
    assert failed.known(1_000 + FORGOTTEN_MS) == ()
