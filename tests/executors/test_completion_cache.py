"""Names kept for completion: what is written is read, and whatever else lies there is nothing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from eosctl.executors.files import decode_cached_names, encode_cached_names
from eosctl.model.names import FORGOTTEN_MS, FRESH_MS, NOTHING, PATIENCE_MS, CachedNames

NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5).map(tuple)
TIMES = st.integers(0, 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["version", "names", "read_at", "asked_at"]), inner)
    ),
)


@given(st.builds(CachedNames, NAMES, TIMES, TIMES))
def test_what_is_written_is_read(remembered):
    assert decode_cached_names(encode_cached_names(remembered)) == remembered


@given(st.text() | JSON.map(json.dumps))
def test_anything_else_is_nothing_or_names(text):
    found = decode_cached_names(text)
    assert found == NOTHING or all(isinstance(name, str) for name in found.names)


def test_names_are_asked_for_again_when_they_are_old_and_not_at_once_after_a_failure():
    fresh = CachedNames(("orders",), 1_000, 1_000)
    assert not fresh.is_due(1_000 + FRESH_MS - 1)
    assert fresh.is_due(1_000 + FRESH_MS)
    failed = fresh.unanswered(1_000 + FRESH_MS)
    assert not failed.is_due(1_000 + FRESH_MS + PATIENCE_MS - 1)
    assert failed.is_due(1_000 + FRESH_MS + PATIENCE_MS)
    assert failed.known(1_000 + FORGOTTEN_MS - 1) == ("orders",)
    assert failed.known(1_000 + FORGOTTEN_MS) == ()
