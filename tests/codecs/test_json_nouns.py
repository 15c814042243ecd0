"""Nouns as JSON: whatever a noun holds is read back as it was, and nothing but its own form is accepted."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, defstruct

from eosctl.codecs.json_nouns import JsonNoun
from eosctl.codecs.plan import JournalEntry, JournalHead
from eosctl.codecs.snapshot import LINES, SECTIONS
from eosctl.errors import Undecodable
from eosctl.model.config_topic import ConfigRecord
from eosctl.model.evidence import Snapshot
from eosctl.model.hanging import PartitionProducers
from eosctl.model.names import CachedNames, TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transaction_log import LogRecord
from eosctl.model.transactions import TransactionState
from tests.codecs.any_noun import values_of

SECTION_HINTS = {name: hint for name, hint in get_type_hints(Snapshot).items() if name in SECTIONS}
NOUNS: dict[str, tuple[JsonNoun[Any], Any]] = {
    **{name: (SECTIONS[name], hint) for name, hint in SECTION_HINTS.items()},
    **{name: (noun, noun._hint) for name, noun in LINES.values()},
    "journal": (JsonNoun(JournalEntry), JournalEntry),
    "journal head": (JsonNoun(JournalHead), JournalHead),
    "cached names": (JsonNoun(CachedNames), CachedNames),
}


@pytest.mark.parametrize("name", NOUNS)
@given(st.data())
def test_every_noun_of_a_file_is_read_as_it_was_written(name: str, data: st.DataObject) -> None:
    noun, hint = NOUNS[name]
    value = data.draw(values_of(hint))
    assert noun.decode(json.loads(json.dumps(noun.encode(value))), name) == value


OBJECTS = sorted(NOUNS.keys() - {"transactions", "unlisted"})
"""All but those that are a mapping or a list."""


@pytest.mark.parametrize("name", OBJECTS)
@given(st.data())
def test_a_noun_that_lacks_a_member_or_has_another_one_is_refused(name: str, data: st.DataObject) -> None:
    noun, hint = NOUNS[name]
    encoded = json.loads(json.dumps(noun.encode(data.draw(values_of(hint)))))
    lost = data.draw(st.sampled_from(sorted(encoded)))
    for changed in ({**encoded, "one more": 1}, {key: each for key, each in encoded.items() if key != lost}):
        with pytest.raises(Undecodable):
            noun.decode(changed, name)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Leaf(Struct, frozen=True):
    names: Mapping[str, str] | Skipped
    colour: Colour = Colour.RED


class Branch(NamedTuple):
    leaves: tuple[Leaf, ...]
    by_node: Mapping[int, bytes | None]
    by_place: Mapping[TopicPartition, bool]


DENIED = {"skipped": "denied", "cause": "unknown"}
BRANCH = JsonNoun[Branch](Branch)
GOOD = Branch(
    (Leaf({"a": "b"}), Leaf(Skipped("denied"), Colour.BLUE)), {1: b"\xff", -2: None}, {TopicPartition("t", 0): True}
)


def test_a_noun_is_an_object_with_its_fields() -> None:
    assert BRANCH.encode(GOOD) == {
        "leaves": [{"names": {"a": "b"}, "colour": "red"}, {"names": DENIED, "colour": "blue"}],
        "by_node": {"1": "/w==", "-2": None},
        "by_place": [[{"topic": "t", "partition": 0}, True]],
    }


def test_a_mapping_with_a_member_named_skipped_is_no_skipped() -> None:
    leaf = Leaf({"skipped": "denied"})
    assert JsonNoun(Leaf).encode(leaf)["names"] == [["skipped", "denied"]]
    assert JsonNoun[Leaf](Leaf).decode({"names": [["skipped", "denied"]], "colour": "red"}, "x") == leaf


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["leaves"], {}, "leaves is an object, not a list"),
        (["leaves", 1], 5, "leaves[1] is a whole number, not an object"),
        (["leaves", 0, "names", "a"], 1, "leaves[0].names.a is a whole number, not text"),
        (["leaves", 0, "names"], {**DENIED, "skipped": None}, "leaves[0].names.skipped is null, not text"),
        (
            ["leaves", 0, "names"],
            {**DENIED, "b": ""},
            "leaves[0].names has a member 'b' that does not belong there",
        ),
        (["leaves", 0, "colour"], "green", "leaves[0].colour is 'green', not red or blue"),
        (["leaves", 0, "colour"], None, "leaves[0].colour is null, not red or blue"),
        (["by_node", "01"], "", "by_node.01 is not named by a whole number"),
        (["by_node", "1"], "?", "by_node.1 is not base64"),
        (["by_place", 0], [], "by_place[0] is not a key and a value"),
        (["by_place", 0, 0, "partition"], "0", "by_place[0].partition is text, not a whole number"),
        (["by_place", 0, 0, "partition"], True, "by_place[0].partition is a boolean, not a whole number"),
        (
            ["by_place", 0, 0, "partition"],
            1.0,
            "by_place[0].partition is a number with a fraction, not a whole number",
        ),
        (["by_place", 0, 1], 1, "by_place[0] is a whole number, not a boolean"),
    ],
)
def test_what_is_not_of_its_type_is_named_by_its_path(path: list[Any], value: object, told: str) -> None:
    encoded = target = json.loads(json.dumps(BRANCH.encode(GOOD)))
    for each in path[:-1]:
        target = target[each]
    target[path[-1]] = value
    with pytest.raises(Undecodable) as wrong:
        BRANCH.decode(encoded, "the file", "x")
    assert wrong.value.message == f"the file: x.{told}"


def test_a_record_is_of_one_of_the_kinds_that_are_known() -> None:
    with pytest.raises(Undecodable, match="line 3: kind is 'x', which is no kind that this eosctl knows"):
        JsonNoun(ConfigRecord).decode({"kind": "x"}, "line 3")
    with pytest.raises(Undecodable, match="line 3 lacks 'kind'"):
        JsonNoun(LogRecord).decode({}, "line 3")


def test_the_cause_of_what_was_skipped_is_kept() -> None:
    noun = JsonNoun[int | Skipped](int | Skipped)
    read = noun.decode(noun.encode(Skipped("no answer", Cause.UNREACHABLE)), "x")
    assert isinstance(read, Skipped)
    assert (read.reason, read.cause) == ("no answer", Cause.UNREACHABLE)


def test_a_name_that_a_newer_kafka_added_is_unknown() -> None:
    assert JsonNoun(TransactionState).decode("PrepareSomething", "x") is TransactionState.UNKNOWN


def test_a_type_without_a_form_is_found_at_once() -> None:
    with pytest.raises(TypeError, match="set"):
        JsonNoun[Any](set).encode(set())
    with pytest.raises(TypeError, match="has a field that stands for something else"):
        JsonNoun[Any](defstruct("Odd", [("skipped", str)])).encode(None)


def test_partitions_are_named_as_kafka_names_them() -> None:
    encoded = JsonNoun(PartitionProducers).encode(PartitionProducers(TopicPartition("orders", 3), -1, None))
    assert encoded["topic_partition"] == {"topic": "orders", "partition": 3}
