"""The forms of nouns in JSON: what each type accepts, and the place and words of what it refuses."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import pytest
from msgspec import Struct

from eosctl.codecs.json_nouns import JsonNoun, check_version
from eosctl.errors import Undecodable, Unsupported
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.versions import KafkaVersion


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Newer(StrEnum):
    OLD = "old"
    UNKNOWN = "unknown"


class Point(NamedTuple):
    x: int
    name: str | None = None


class Line(Struct, frozen=True):
    start: Point
    end: Point | Skipped | None


class Dot(Struct, frozen=True):
    at: int


GONE = {"skipped": "no", "cause": "denied"}


@pytest.mark.parametrize(
    ("hint", "value", "found"),
    [
        (int, 0, 0),
        (int, True, "f: v is a boolean, not a whole number"),
        (int, "0", "f: v is text, not a whole number"),
        (int, None, "f: v is null, not a whole number"),
        (bool, False, False),
        (bool, 0, "f: v is a whole number, not a boolean"),
        (str, "", ""),
        (str, None, "f: v is null, not text"),
        (str | None, None, None),
        (int | None, "a", "f: v is text, not a whole number"),
        (object, [1, None], [1, None]),
        (bytes, "", b""),
        (bytes, "YQ==", b"a"),
        (bytes, "YQ=", "f: v is not base64"),
        (bytes, 5, "f: v is a whole number, not text"),
        (KafkaVersion, "3.9", KafkaVersion(3, 9)),
        (KafkaVersion, "x", "f: v is not a Kafka version"),
        (Colour, "red", Colour.RED),
        (Colour, "green", "f: v is 'green', not red or blue"),
        (Colour, 5, "f: v is a whole number, not red or blue"),
        (Newer, "newest", Newer.UNKNOWN),
        (Newer, None, "f: v is null, not old or unknown"),
        (tuple[int, ...], [], ()),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, ...], {}, "f: v is an object, not a list"),
        (tuple[int, ...], [1, "a"], "f: v[1] is text, not a whole number"),
        (frozenset[str], ["a", "a"], frozenset({"a"})),
        (Mapping[str, int], {"a": 1}, {"a": 1}),
        (Mapping[str, int], {"a": "b"}, "f: v.a is text, not a whole number"),
        (Mapping[str, int], [["skipped", 1]], {"skipped": 1}),
        (Mapping[str, int], [["a"]], "f: v[0] is not a key and a value"),
        (Mapping[str, int], [["a", 1, 2]], "f: v[0] is not a key and a value"),
        (Mapping[str, int], [{"a": 1}], "f: v[0] is not a key and a value"),
        (Mapping[str, int], 5, "f: v is a whole number, not an object"),
        (Mapping[int, str], {"1": "a", "-2": "b"}, {1: "a", -2: "b"}),
        (Mapping[int, str], {"01": "a"}, "f: v.01 is not named by a whole number"),
        (Mapping[int, str], {"a": "a"}, "f: v.a is not named by a whole number"),
        (Mapping[Point, int], [[{"x": 1, "name": None}, 2]], {Point(1): 2}),
        (Mapping[Point, int], {}, "f: v is an object, not a list"),
        (Point, {"x": 1, "name": "a"}, Point(1, "a")),
        (Point, {"x": 1}, "f: v lacks 'name'"),
        (Point, {"name": None}, "f: v lacks 'x'"),
        (Point, {"x": 1, "name": None, "y": 2}, "f: v has a member 'y' that does not belong there"),
        (Point, [1, None], "f: v is a list, not an object"),
        (Line, {"start": {"x": 1, "name": None}, "end": None}, Line(Point(1), None)),
        (Line, {"start": {"x": 1, "name": None}, "end": GONE}, Line(Point(1), Skipped("no", Cause.DENIED))),
        (Line, {"start": {"x": "a", "name": None}, "end": None}, "f: v.start.x is text, not a whole number"),
        (Line, {"start": {"x": 1, "name": None}, "end": 5}, "f: v.end is a whole number, not an object"),
        (Point | Dot, {"kind": "dot", "at": 1}, Dot(1)),
        (Point | Dot, {"kind": "point", "x": 1, "name": None}, Point(1)),
        (Point | Dot, {"at": 1}, "f: v lacks 'kind'"),
        (Point | Dot, {"kind": "line", "at": 1}, "f: v.kind is 'line', which is no kind that this eosctl knows"),
        (Point | Dot, {"kind": ["dot"], "at": 1}, "f: v.kind is ['dot'], which is no kind that this eosctl knows"),
        (Point | Dot, 5, "f: v is a whole number, not an object"),
    ],
)
def test_a_value_is_of_its_type_or_its_place_is_named(hint: Any, value: object, found: object) -> None:
    noun: JsonNoun[Any] = JsonNoun(hint)
    if isinstance(found, str) and found.startswith("f:"):
        with pytest.raises(Undecodable) as caught:
            noun.decode(value, "f", "v")
        assert caught.value.message == found
    else:
        assert noun.decode(value, "f", "v") == found
        assert type(noun.decode(value, "f", "v")) is type(found)


@pytest.mark.parametrize(
    ("hint", "value", "written"),
    [
        (frozenset[str], frozenset({"b", "a", "c"}), ["a", "b", "c"]),
        (Mapping[str, int], {"skipped": 1, "a": 2}, [["skipped", 1], ["a", 2]]),
        (Mapping[str, int], {"a": 2}, {"a": 2}),
        (Mapping[int, int], {1: 2}, {"1": 2}),
        (Mapping[Point, int], {Point(1): 2}, [[{"x": 1, "name": None}, 2]]),
        (Line, Line(Point(1, "a"), Skipped("no", Cause.DENIED)), {"start": {"x": 1, "name": "a"}, "end": GONE}),
        (Line, Line(Point(1), None), {"start": {"x": 1, "name": None}, "end": None}),
        (Point | Dot, Dot(1), {"kind": "dot", "at": 1}),
        (bytes | None, b"a", "YQ=="),
        (bytes | None, None, None),
        (Colour, Colour.RED, "red"),
    ],
)
def test_a_noun_is_written_as_it_is_read(hint: Any, value: object, written: object) -> None:
    noun: JsonNoun[Any] = JsonNoun(hint)
    assert noun.encode(value) == written
    assert noun.decode(written, "f") == value


def test_fields_that_are_elsewhere_have_their_value_when_it_is_read() -> None:
    noun: JsonNoun[Point] = JsonNoun(Point, {Point: {"name": "there"}})
    assert noun.encode(Point(1, "here")) == {"x": 1}
    assert noun.decode({"x": 1}, "f") == Point(1, "there")


class Kinded(Struct, frozen=True):
    kind: int


class Skipping(Struct, frozen=True):
    skipped: int


@pytest.mark.parametrize("hint", [Skipping, Kinded | Dot, float, dict])
def test_a_type_whose_json_would_be_ambiguous_has_no_form(hint: Any) -> None:
    with pytest.raises(TypeError):
        JsonNoun(hint).encode(None)


def test_a_field_named_kind_is_only_ambiguous_beside_other_kinds() -> None:
    assert JsonNoun(Kinded).decode({"kind": 5}, "f") == Kinded(5)


def test_without_a_member_the_place_alone_is_named() -> None:
    with pytest.raises(Undecodable) as caught:
        JsonNoun(int).decode("a", "line 3")
    assert caught.value.message == "line 3 is text, not a whole number"
    with pytest.raises(Undecodable) as caught:
        JsonNoun(Point).decode({"x": "a", "name": None}, "line 3")
    assert caught.value.message == "line 3: x is text, not a whole number"


STRANGER = Undecodable("a stranger")


@pytest.mark.parametrize(
    ("head", "refused"),
    [
        ({"kind": "k", "version": 2}, None),
        ({"kind": "k", "version": 1}, Unsupported),
        ({"kind": "k", "version": 3}, Unsupported),
        ({"kind": "k", "version": "2"}, Undecodable),
        ({"kind": "k", "version": True}, Undecodable),
        ({"kind": "k"}, Undecodable),
        ({"kind": "l", "version": 2}, STRANGER),
        ({"version": 2}, STRANGER),
        ([], STRANGER),
        (None, STRANGER),
    ],
)
def test_a_file_is_of_its_kind_and_of_one_version(head: object, refused: Any) -> None:
    if refused is None:
        check_version(head, "file", "k", 2, STRANGER)
        return
    with pytest.raises(type(refused) if refused is STRANGER else refused) as caught:
        check_version(head, "file", "k", 2, STRANGER)
    assert (caught.value is STRANGER) is (refused is STRANGER)
