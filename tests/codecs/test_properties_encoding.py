"""Properties that are written are read back as they were."""

from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.properties import ENCODING, decode_properties, encode_properties

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(TEXTS, TEXTS))
def test_every_key_and_value_comes_back(properties: dict[str, str]):
    written = encode_properties(properties).encode(ENCODING)

    assert decode_properties(written.decode(ENCODING), origin="a test") == properties
