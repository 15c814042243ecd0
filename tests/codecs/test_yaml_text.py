"""Edits of YAML texts, one decision a row: where a value lands, what stays as it was, and what is left to a hand."""

from datetime import date

import pytest

from eosctl.codecs import yaml_text
from eosctl.codecs.yaml_text import (
    Address,
    address_of,
    addresses,
    append_document,
    append_items,
    decode_kubernetes_yaml,
    decode_yaml,
    remove_value,
    resource_text,
    scalar_at,
    set_value,
)
from eosctl.errors import ConfigError

FIRST = Address(0)
HAND = ": make the change by hand"


def refused_or(edit, text, path, *value):
    try:
        return edit(text, FIRST, path, *value)
    except ConfigError as error:
        return f"{error.message}: {error.hint}"


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ("a: 1\n", ("a",), 2, "a: 2\n"),
        ("a: 1\n", ("b",), 2, "a: 1\nb: 2\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2\n"),
        ("a: 1\r\n", ("b",), 2, "a: 1\r\nb: 2\r\n"),
        ("a:\n  b: 1\nc: 2\n", ("a", "d"), 3, "a:\n  b: 1\n  d: 3\nc: 2\n"),
        ("a: {c: 2}\n", ("a", "b"), 1, 'a: {c: 2, "b": 1}\n'),
        ("a: {b: [1, 2]}\n", ("a", "c"), 5, 'a: {b: [1, 2], "c": 5}\n'),
        ("a: [1]\n", ("a", 0), 2, "a: [2]\n"),
        ("a:\n- 1\n- 2\n", ("a", 1), 3, "a:\n- 1\n- 3\n"),
        # What is empty gives way to a mapping.
        ("a: {}\n", ("a", "b"), 1, '{"a": {"b": 1}}\n'),
        ("a:\n", ("a", "b"), 1, '{"a": {"b": 1}}\n'),
        ("a: []\nc: 1\n", ("a", "b"), 1, "c: 1\na:\n  b: 1\n"),
        ("a: []\nc: 1\n", ("a",), "x", "c: 1\na: x\n"),
        ("a: 1\nb:\n  c: null\n", ("b", "c"), 4, "a: 1\nb:\n  c: 4\n"),
        # A comma would end a plain scalar in braces; a line break and a character that is not seen are escaped.
        ("a: {b: 1}\n", ("a", "b"), "x, y", 'a: {b: "x, y"}\n'),
        ("a: 1\n", ("a",), "x, y", "a: x, y\n"),
        ("a: 1\n", ("a",), "l\nm", 'a: "l\\nm"\n'),
        ("a: 1\n", ("a",), "\u2028", 'a: "\\L"\n'),
        ('{"a": 1}', ("b",), "\u2028", '{"a": 1, "b": "\\u2028"}'),
        (' {"a": 1}', ("b",), "\u2028", ' {"a": 1, "b": "\\u2028"}'),
        ('{"a": 1}', ("b",), "\U000e0001", '{"a": 1, "b": "\U000e0001"}'),
        ("a: {b: 1}\n", ("a", "b"), "😀", 'a: {b: "😀"}\n'),
        # An asterisk in a text is no alias.
        ("x: 1\na: '*'\n", ("x",), 3, "x: 3\na: '*'\n"),
        ("x: &s 1\ny: 2\na: '*'\n", ("x",), 3, "x: 3\ny: 2\na: '*'\n"),
        ("a: |\n  x\n", ("a",), 2, "a is not a plain value" + HAND),
        ("a: >\n  x\n", ("a",), 2, "a is not a plain value" + HAND),
        ("a: [1]\n", ("a",), 2, "a is not a plain value" + HAND),
        ("a: 1\n", ("a", "b"), 3, "a is not a mapping of its own" + HAND),
        ("a: {b: 1}\n", ("a", 0), 3, "a is not a sequence of its own" + HAND),
        ("x: &s {k: 1}\na: *s\n", ("x", "k"), 3, "x is not a mapping of its own" + HAND),
        ("x: &s 1\na: *s\n", ("x",), 3, "x is not a plain value" + HAND),
        ("p: 1\n---\nx: &s 1\na: *s\n", ("p",), 3, "p: 3\n---\nx: &s 1\na: *s\n"),
    ],
)
def test_a_value_is_set_where_it_stands_or_left_to_a_hand(text, path, value, after):
    assert refused_or(set_value, text, path, value) == after


@pytest.mark.parametrize(
    ("text", "path", "items", "after"),
    [
        ("a: [1]\n", ("a",), [2], "a: [1, 2]\n"),
        ("a:\n- 1\n", ("a",), [2, 3], "a:\n- 1\n- 2\n- 3\n"),
        ("b: 1\n", ("a",), [2], "b: 1\na:\n- 2\n"),
        ("b: 1\n", ("a", "c"), [2], "b: 1\na:\n  c:\n  - 2\n"),
        ("a: []\n", ("a",), [2], '{"a": [2]}\n'),
        ("a:\n", ("a",), [2], '{"a": [2]}\n'),
        ("a: 1\n", ("a",), [2], "a is not a separate list" + HAND),
        ("a: {b: 1}\n", ("a",), [2], "a is not a separate list" + HAND),
        ("x: &s [1]\na: *s\n", ("x",), [2], "x is not a separate list" + HAND),
    ],
)
def test_items_are_added_at_the_end_of_a_list_that_is_no_other_one(text, path, items, after):
    assert refused_or(append_items, text, path, items) == after


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("a: 1\nb: 2\n", ("a",), "b: 2\n"),
        ("a: 1\nb: 2\n", ("b",), "a: 1\n"),
        ("a: 1\nb: 2", ("b",), "a: 1\n"),
        ("a: 1\n", ("a",), "{}\n"),
        ("a: 1\n", ("c",), "a: 1\n"),
        ("a:\n  b: 1\nc: 2\n", ("a", "b"), "a:\n  {}\nc: 2\n"),
        ("a:\n  b: 1\n", ("d", "b"), "a:\n  b: 1\n"),
        ("a: {b: 1}\n", ("a", "b"), "a: {}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "b"), "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", ("a", "c"), "a: {b: 1}\n"),
        ("a: {b: 1, c: 2, d: 3}\n", ("a", "c"), "a: {b: 1, d: 3}\n"),
        ("a: 1\n", ("a", "b"), "a is not a mapping of its own" + HAND),
        ("- a: 1\n  b: 2\n", (0, "a"), "a shares its line with another key" + HAND),
        ("- a: 1\n  b: 2\n", (0, "b"), "- a: 1\n"),
        ("x: &s {k: 1}\na: *s\n", ("x", "k"), "x is not a mapping of its own" + HAND),
        ("x: &s {k: {l: 1}}\na: *s\n", ("x", "k", "l"), "x is not a mapping of its own" + HAND),
    ],
)
def test_a_key_is_removed_with_its_line_and_nothing_else(text, path, after):
    assert refused_or(remove_value, text, path) == after


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("- 1", []),
        ("x", []),
        ("a: 1", [FIRST]),
        ("items: 5", [FIRST]),
        ("items: [{a: 1}, {b: 2}]", [Address(0, 0), Address(0, 1)]),
        ("---\n---\na: 1\n", [Address(1)]),
    ],
)
def test_only_mappings_and_items_of_lists_are_resources(text, found):
    assert list(addresses(text)) == found


KINDS = "kind: A\nmetadata: {name: n}\n---\nkind: B\nmetadata: {name: n}\n---\nkind: B\nmetadata: {name: m}\n"


@pytest.mark.parametrize(("kind", "name", "document"), [("A", "n", 0), ("B", "n", 1), ("B", "m", 2)])
def test_a_resource_is_found_by_both_kind_and_name(kind, name, document):
    assert address_of(KINDS, kind, name) == Address(document)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a: 1", ("a",), "1"),
        ("a: {b: x}", ("a", "b"), "x"),
        ("a: {b: x}", ("a",), ""),
        ("a: 1", ("b", "c"), ""),
        ("a: [x, y]", ("a", 1), "y"),
        ("a: 1", ("a", 0), ""),
    ],
)
def test_a_scalar_that_is_not_there_is_an_empty_text(text, path, value):
    assert scalar_at(text, FIRST, path) == value


@pytest.mark.parametrize(
    ("text", "address", "alone"),
    [
        ("# c\na: 1\n---\nb: 2\n", FIRST, "# c\na: 1\n"),
        ("# c\na: 1\n---\nb: 2\n", Address(1), "b: 2\n"),
        ("# c\n---\na: 1 # y\n", FIRST, "a: 1 # y\n"),
        ("---\na: 1 # y\n", FIRST, "a: 1 # y\n"),
        ("%YAML 1.1\n---\na: 1 # y\n", FIRST, "a: 1 # y\n"),
        ("# only\na: 1\n", FIRST, "# only\na: 1\n"),
        ("a: 1\n--- # x\nb: 2\n", Address(1), "b: 2\n"),
        ("items:\n- a: 1 # x\n- b: 2\n", Address(0, 1), "b: 2\n"),
        # A document that begins on the line of its separator is no separator.
        ("--- {a: 1}\n---\nb: 2\n", FIRST, "--- {a: 1}\n"),
        ("a: 1\n--- {b: 2}\n---\nc: 3\n", Address(1), "b: 2\n"),
    ],
)
def test_a_resource_alone_is_its_document_with_its_comments(text, address, alone):
    assert resource_text(text, address) == alone


@pytest.mark.parametrize(
    ("text", "after"), [("", "---\na: 1\n"), ("x: 1", "x: 1\n---\na: 1\n"), ("x: 1\n", "x: 1\n---\na: 1\n")]
)
def test_a_document_is_added_on_a_line_of_its_own(text, after):
    assert append_document(text, {"a": 1}) == after


@pytest.mark.parametrize(
    ("scalar", "yaml", "kubernetes"),
    [
        ("2026-01-01", date(2026, 1, 1), "2026-01-01"),
        ("12:30", 750, "12:30"),
        ("1_0:30.5", 630.5, "1_0:30.5"),
        ("1e3", "1e3", 1000.0),
        (".5e1", ".5e1", 5.0),
        ("12", 12, 12),
        ("1.5", 1.5, 1.5),
    ],
)
def test_kubernetes_reads_dates_times_and_exponents_otherwise(scalar, yaml, kubernetes):
    assert decode_yaml(f"a: {scalar}", "f") == {"a": yaml}
    assert decode_kubernetes_yaml(f"a: {scalar}", "f") == ({"a": kubernetes},)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("? [a]\n: 1", "f: line 1: a key is not text"),
        ("? {a: 1}\n: 1", "f: line 1: a key is not text"),
        ("b: 1\nc: {a: 1, a: 2}", "f: line 2: a is given twice"),
        ("a: 1\n---\nb: 2", "f: line 2: this is not YAML: but found another document"),
        ("a: \x01", "f: this is not YAML"),
        (f"a: {'9' * 5000}", "f: a value is too large or nested too deeply"),
        (f"a: 0x{'9' * 5000}", "f: a value is too large or nested too deeply"),
        ("[" * 201, "f: it is nested too deeply"),
    ],
)
def test_a_text_that_is_not_one_plain_document_is_refused_with_its_line(text, says):
    with pytest.raises(ConfigError) as caught:
        decode_yaml(text, "f")
    assert caught.value.message == says


def test_merges_are_no_key_that_is_given_twice_and_have_a_limit(monkeypatch):
    assert decode_yaml("x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x\n", "f") == {"x": {"a": 1}, "y": {"a": 1}}
    monkeypatch.setattr(yaml_text, "MOST_MERGED", 2)
    assert decode_yaml("x: &x {a: 1}\ny: {<<: *x, b: 2}\n", "f") == {"x": {"a": 1}, "y": {"a": 1, "b": 2}}
    with pytest.raises(ConfigError, match="f: line 2: << merges more than 2 keys"):
        decode_yaml("x: &x {a: 1}\ny: {<<: *x, b: 2, c: 3}\n", "f")


def test_of_several_documents_kubernetes_reads_each():
    assert decode_kubernetes_yaml("a: 1\n---\nb: 2", "f") == ({"a": 1}, {"b": 2})
