"""Export files: KIP-875's body, and what is wrong with one that was edited."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.offsets_topic import decode_kip875, encode_kip875
from eosctl.errors import ConfigError
from eosctl.model.offsets import ConnectorOffset

VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
OFFSETS = st.lists(
    st.builds(ConnectorOffset, st.dictionaries(st.text(), VALUES), st.none() | st.dictionaries(st.text(), VALUES)),
    unique_by=lambda each: repr(sorted(each.partition.items())),
)


def test_the_body_is_what_the_rest_interface_answers() -> None:
    text = encode_kip875([ConnectorOffset({"filename": "ü"}, {"position": 3})])
    assert text == '{"offsets": [\n  {"partition": {"filename": "ü"}, "offset": {"position": 3}}\n]}\n'
    assert encode_kip875([]) == '{"offsets": []}\n'


@given(OFFSETS)
def test_what_is_written_is_read_back(offsets: list[ConnectorOffset]) -> None:
    assert decode_kip875(encode_kip875(offsets), "f") == tuple(offsets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.json line 1: not JSON"),
        ('{"offsets": [\n{"partition": {}, "offset": {}},\n]}', "f.json line 3: not JSON"),
        ("[]", 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": {}}', 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": [], "x": 1}', 'f.json line 1: not an object with the one member "offsets"'),
        ('{"offsets": [{"partition": {}}]}', r"f.json line 1: offsets\[0\] is not an object with partition and offset"),
        (
            '{"offsets": [\n{"partition": null, "offset": {}}]}',
            r"f.json line 2: offsets\[0\].partition is not an object",
        ),
        (
            '{"offsets": [\n{"partition": {}, "offset": {}},\n{"partition": {"a": 1},\n "offset": {"b": []}}]}',
            r"f.json line 3: offsets\[1\].offset.b is nested",
        ),
        (
            '{"offsets": [{"partition": {"a": 9223372036854775808}, "offset": null}]}',
            r"f.json line 1: offsets\[0\].partition.a is beyond 64 bits",
        ),
        (
            '{"offsets": [\n{"partition": {"a": 1, "b": 2}, "offset": null},\n'
            '{"partition": {"b": 2, "a": 1}, "offset": null}]}',
            r"f.json line 3: offsets\[1\].partition repeats offsets\[0\].partition",
        ),
        ('{"offsets": [{"partition": {"a": NaN}, "offset": null}]}', r"f.json line 1: not JSON \(NaN is not JSON\)"),
    ],
)
def test_an_error_names_the_line_and_the_field(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decode_kip875(text, "f.json")


@given(st.text())
def test_any_text_is_a_body_or_undecodable(text: str) -> None:
    try:
        decode_kip875(text, "f")
    except ConfigError:
        return
