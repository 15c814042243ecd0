"""Java properties at the end of the text: which continuation makes a key, and which nothing."""

import pytest

from eosctl.codecs.properties import decode_properties, encode_properties
from eosctl.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("", {}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\n", {"a": "b"}),
        ("a=b\\\n#c", {"a": "b#c"}),
        ("\\", {"": ""}),
        ("\\\n", {"": ""}),
        ("\\\r", {"": ""}),
        ("\\\r\n", {}),
        ("\\\n\n", {}),
        ("\\\n#c", {}),
        ("\\\n#c\\", {}),
        ("#c\\", {}),
        ("#c\\\n", {}),
        ("\\\na=b", {"a": "b"}),
        ("\\\n#c\na=b", {"a": "b"}),
        ("\\\\", {"\\": ""}),
        ("a=b\n\\", {"a": "b", "": ""}),
        ("a=\\ud83d", {"a": "\ud83d"}),
        ("a=\\ud83d\\ude00x", {"a": "😀x"}),
    ],
)
def test_a_continuation_at_the_end_is_a_key_where_java_makes_one(text, decoded):
    assert decode_properties(text, origin="f") == decoded


def test_two_units_are_joined_only_where_an_escape_was_read():
    """The text of a file is what its encoding makes of it: units in it stay as they are."""
    assert decode_properties("a=\ud83d\ude00", origin="f") == {"a": "\ud83d\ude00"}


@pytest.mark.parametrize(
    ("value", "written"), [("a", "a"), ("é", "\\u00e9"), ("😀", "\\ud83d\\ude00"), (" ", "\\u0020")]
)
def test_a_character_that_is_not_plain_is_written_as_its_units(value, written):
    assert encode_properties({"k": value}) == f"k={written}\n"


def test_an_escape_that_is_no_number_says_how_to_write_a_backslash():
    with pytest.raises(ConfigError) as caught:
        decode_properties("a=\\u12", origin="f")
    assert caught.value.hint == "write a backslash as \\\\"
