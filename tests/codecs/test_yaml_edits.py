"""Edits of YAML text: the value is as wanted, every other byte as it was."""

import json

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eosctl.codecs.yaml_text import (
    Address,
    addresses,
    append_document,
    append_items,
    remove_value,
    scalar_at,
    set_value,
)
from eosctl.errors import ConfigError

HERE = Address(0)
CONNECTOR = """\
# the orders of all shops
kind: KafkaConnector
metadata:
  name: orders
spec:
    state: running   # since May
    config:
        topic: 'orders'  # a comment

        file: "/data"
    # the end of it
"""
PATH = ("spec", "config", "offsets.storage.topic")
KEYS = st.sampled_from(["a", "b", "on", "12:30", "x.y", "ü", "- z", "null"])
TEXTS = st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=5)
SCALARS = st.one_of(TEXTS, st.integers(-9, 9), st.booleans(), st.none(), st.sampled_from(["a\nb\n", "# x"]))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=9
)
MAPPINGS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A mapping as YAML in one of its styles, or as JSON."""
    data = draw(MAPPINGS)
    if draw(st.booleans()):
        return json.dumps(data, indent=draw(st.sampled_from([None, 2]))), data
    style = draw(st.sampled_from([False, None, True]))
    indent = draw(st.sampled_from([2, 4]))
    return yaml.safe_dump(data, default_flow_style=style, indent=indent, allow_unicode=True), data


def test_a_value_that_is_set_changes_its_own_bytes_only():
    assert set_value(CONNECTOR, HERE, ("spec", "state"), "stopped") == CONNECTOR.replace("running", "stopped")


def test_a_key_that_is_added_stands_behind_the_others_in_their_indentation():
    edited = set_value(CONNECTOR, HERE, PATH, "orders-offsets")
    line = "        offsets.storage.topic: orders-offsets\n"
    assert edited == CONNECTOR.replace('"/data"\n', f'"/data"\n{line}')
    assert remove_value(edited, HERE, PATH) == CONNECTOR


def test_what_is_not_there_is_removed_by_leaving_the_text_as_it_is():
    assert remove_value(CONNECTOR, HERE, PATH) == CONNECTOR


def test_mappings_that_lack_are_made():
    edited = set_value(CONNECTOR, HERE, ("metadata", "annotations", "strimzi.io/connector-offsets"), "alter")
    added = "  annotations:\n    strimzi.io/connector-offsets: alter\n"
    assert edited == CONNECTOR.replace("name: orders\n", f"name: orders\n{added}")


def test_line_ends_of_windows_stay():
    edited = set_value(CONNECTOR.replace("\n", "\r\n"), HERE, PATH, "t")
    assert "\r\n        offsets.storage.topic: t\r\n" in edited
    assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize("empty", ["", " {}", " null"])
def test_an_empty_config_takes_a_key(empty: str):
    edited = set_value(f"spec:\n  class: x\n  config:{empty}\n  tasksMax: 1\n", HERE, PATH, "t")
    config = {"offsets.storage.topic": "t"}
    assert yaml.safe_load(edited) == {"spec": {"class": "x", "config": config, "tasksMax": 1}}


def test_an_item_of_a_list_of_resources_has_an_address_of_its_own():
    text = "kind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- kind: B\n  metadata:\n    name: b\n---\nkind: C\n"
    found = list(addresses(text))
    assert [scalar_at(text, each, ("kind",)) for each in found] == ["A", "B", "C"]
    edited = set_value(set_value(text, found[1], ("spec", "state"), "stopped"), found[0], ("x",), 1)
    assert list(yaml.safe_load_all(edited)) == [
        {
            "kind": "List",
            "items": [
                {"kind": "A", "metadata": {"name": "a"}, "x": 1},
                {"kind": "B", "metadata": {"name": "b"}, "spec": {"state": "stopped"}},
            ],
        },
        {"kind": "C"},
    ]


def test_a_value_that_another_place_shares_is_not_edited():
    text = "a: &shared\n  x: 1\nspec:\n  config: *shared\n"
    with pytest.raises(ConfigError, match=r"spec.config is not a mapping of its own"):
        set_value(text, HERE, PATH, "t")


def test_an_alias_elsewhere_is_no_obstacle():
    text = "a: &shared\n  x: 1\nb: *shared\nspec:\n  config: {}\n"
    assert yaml.safe_load(set_value(text, HERE, PATH, "t"))["spec"] == {"config": {"offsets.storage.topic": "t"}}


@settings(max_examples=50)
@given(texts(), KEYS, SCALARS)
def test_a_key_is_set_in_every_style(made, key, value):
    text, data = made
    before = data.get(key)
    assume(not isinstance(before, list | dict) or not before)
    assume(not (isinstance(before, str) and "\n" in before))
    assert yaml.safe_load(set_value(text, HERE, (key,), value)) == {**data, key: value}


@settings(max_examples=50)
@given(texts(), VALUES)
def test_items_are_appended_in_every_style(made, item):
    text, data = made
    lists = [key for key, value in data.items() if isinstance(value, list)]
    assume(lists)
    edited = append_items(text, HERE, lists[:1], [item])
    assert yaml.safe_load(edited) == {**data, lists[0]: [*data[lists[0]], item]}


@settings(max_examples=50)
@given(texts())
def test_a_key_is_removed_in_every_style(made):
    text, data = made
    key = next(iter(data))
    assert yaml.safe_load(remove_value(text, HERE, (key,))) == {name: data[name] for name in data if name != key}


@settings(max_examples=50)
@given(texts(), MAPPINGS)
def test_a_document_is_appended(made, added):
    text, data = made
    assert list(yaml.safe_load_all(append_document(text, added))) == [data, added]
