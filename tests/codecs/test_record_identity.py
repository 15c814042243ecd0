"""Which source record a record is."""

import json

import pytest

from eosctl.codecs.record_identity import selected
from eosctl.errors import UsageError
from eosctl.model.certification import selector_of


def text(selector: str, value: object = None, key: bytes | None = None, **headers: bytes | None) -> str | None:
    content = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return selected(selector_of("--identity", selector), key, content, list(headers.items()), 3)


def test_value_key_header_and_partition():
    assert text("value", b"line 1") == "line 1"
    assert text("key", b"v", key=b"k") == "k"
    assert text("header:lane", b"v", lane=b"2") == "2"
    assert text("header:lane", b"v", other=b"1", lane=b"2", more=b"3") == "2"
    assert text("header:lane", b"v", other=b"1") is None
    assert text("partition", b"v") == "3"


def test_paths_lead_into_json():
    assert text("json:after.id", {"after": {"id": 7}}) == "7"
    assert text("json:id,name", {"id": 7, "name": "a"}) == "7,a"
    assert text("json:a.b", {"a.b": "dotted"}) == "dotted"


def test_the_payload_of_an_envelope_is_looked_into():
    assert text("json:id", {"schema": {}, "payload": {"id": 7}}) == "7"


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"\xff",
        b'"after.id"',
        b'["after.id"]',
        b"not json",
        b"[]",
        b"{}",
        b'{"after": null}',
        b'{"after": {"id": null}}',
    ],
)
def test_a_record_without_that_part_has_no_identity(value: bytes | None):
    assert text("json:after.id", value) is None


def test_bytes_that_are_no_text_are_distinguished():
    assert text("value", b"\xff") != text("value", b"\xfe")


@pytest.mark.parametrize("wrong", ["", "json", "json:", "json:a,,b", "header:", "value:x", "offset"])
def test_another_word_is_refused(wrong: str):
    with pytest.raises(UsageError, match="not a part of a record"):
        selector_of("--identity", wrong)
