"""JSON Schemas of documents: the documents that they accept and refuse, and one for each kind.

Each test that runs a command with -o json also checks the document against its schema (tests/schemas.py).
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple, NotRequired, TypedDict

import jsonschema
import pytest
from msgspec import UNSET, Struct, UnsetType

from eosctl.cli import PROGRAM
from eosctl.model.hanging import Advice
from eosctl.model.skipped import Skipped
from eosctl.render.answers.kinds import BY_NAME, KINDS, document_schema
from eosctl.render.document import Column, Document, Table, columns
from tests.commands.tree import commands
from tests.render.published import FILE, decoded, fields_of, incompatible, published_now
from tests.schemas import check_documents

ROOT = Path(__file__).parents[2] / "eosctl"


class Place(NamedTuple):
    """Where it is."""

    topic: str
    partition: int | None


class Row(TypedDict):
    """One of the rows."""

    name: Annotated[str, "what it is called"]
    age_s: float | Skipped
    advice: Advice | None
    places: list[Place]
    more: NotRequired[Mapping[str, object]]


class Data(TypedDict):
    """The found data."""

    rows: list[Row]


TABLE = Table("rows", (*columns(Row, "name"), Column("ROWS", "places")))
ROW = {"name": "a", "age_s": 1.5, "advice": Advice.ABORT, "places": [Place("orders", None)]}


def written(**changes):
    """The document with one row, changed so (None: the field is left out), as programs read it."""
    row = {name: value for name, value in (ROW | changes).items() if value is not Ellipsis}
    document = Document("things", {"rows": [row], "complete": True, "unread": []}, blocks=(TABLE,))
    return json.loads(json.dumps(document.envelope()))


def accepts(envelope, *, closed=False):
    """Whether the schema, which is a valid one, accepts it."""
    schema = document_schema("things", 1, Data, closed=closed)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(envelope)


@pytest.mark.parametrize(
    "changes", [{}, {"age_s": Skipped("it was denied")}, {"advice": None}, {"places": []}, {"more": {"x": [1]}}]
)
def test_the_schema_accepts_each_form_that_a_view_may_write(changes):
    assert accepts(written(**changes))
    assert accepts(written(**changes), closed=True)


@pytest.mark.parametrize(
    "changes",
    [{"name": ...}, {"name": 1}, {"age_s": None}, {"age_s": "1.5"}, {"advice": "kill"}, {"places": [{"topic": "t"}]}],
)
def test_a_missing_field_or_one_of_another_type_is_refused(changes):
    assert not accepts(written(**changes))


def test_a_field_of_a_later_version_is_accepted_unless_the_schema_is_closed():
    later = written(colour="red")
    assert accepts(later)
    assert not accepts(later, closed=True)


@pytest.mark.parametrize("change", [{"kind": "others"}, {"version": 2}, {"as_of": 5}])
def test_another_kind_or_version_is_refused(change):
    assert not accepts(written() | change)


def test_fields_are_described_where_they_are_declared_and_objects_by_their_docstrings():
    row = document_schema("things", 1, Data)["$defs"]["Row"]
    assert row["properties"]["name"] == {"type": "string", "description": "what it is called"}
    assert row["description"] == "One of the rows."
    assert row["required"] == ["name", "age_s", "advice", "places"]


class Found(Struct, frozen=True):
    """The found item."""

    name: Annotated[str, "what it is called"]
    more: Annotated[int | UnsetType, "how many more"] = UNSET


def test_a_struct_is_described_by_its_fields_and_may_leave_out_what_is_unset():
    schema = document_schema("things", 1, Found, completed=False)["properties"]["data"]
    assert schema["properties"] == {
        "name": {"type": "string", "description": "what it is called"},
        "more": {"type": "integer", "description": "how many more"},
    }
    assert schema["required"] == ["name"]


def test_a_type_that_json_cannot_hold_has_no_schema():
    class Bytes(TypedDict):
        """A value without a form in JSON."""

        key: bytes

    with pytest.raises(TypeError, match="has no JSON Schema"):
        document_schema("things", 1, Bytes)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_has_a_valid_schema_that_allows_more_fields(kind):
    schema = kind.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["kind"] == {"const": kind.name}
    assert '"additionalProperties": false' not in json.dumps(schema)


def test_documents_keep_the_fields_that_were_published():
    before = decoded(FILE.read_text(encoding="utf-8").splitlines())
    assert list(incompatible(before, published_now())) == [], "raise the version in KINDS, and say it in CHANGELOG.md"
    assert before == published_now(), "publish what is new: make reference"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": int}, ["things: data.rows[].name was string, and now may be integer"]),
        ({"name": str | None}, ["things: data.rows[].name was string, and now may be null"]),
        ({"name": NotRequired[str]}, ["things: data.rows[].name was string, and now may be missing"]),
        ({"name": None}, ["things: data.rows[].name was removed"]),
        ({"age_s": float, "colour": str}, []),
        ({"age_s": int | Skipped}, []),
    ],
)
def test_a_field_that_goes_or_has_another_type_needs_a_new_version(changes, said):
    def published(fields, version=1):
        row = TypedDict("Row", {name: each for name, each in fields.items() if each is not None})
        schema = document_schema("things", version, TypedDict("Data", {"rows": list[row]}))
        return {"things": (version, dict(fields_of(schema)))}

    before = {"name": str, "age_s": float | Skipped}
    assert list(incompatible(published(before), published(before | changes))) == said
    assert list(incompatible(published(before), published(before | changes, version=2))) == []
    assert list(incompatible(published(before), {})) == ["there are no documents of kind things any more"]


@pytest.mark.parametrize("wrong", [{"rows": 2}, {"rows": 1, "complete": None}])
def test_lines_of_jsonl_are_held_against_the_schema_with_their_rows_in_their_places(wrong):
    data = {"profile": "", "samples": 1, "complete": True, "unread": []}
    envelope = {"kind": "watch", "version": 1, "as_of": None, "cluster_id": None, "data": data}
    row = {"kind": "watch/samples", "version": 1, "data": {"metric": "m", "labels": {}, "value": 1.0}}
    lines = [json.dumps(each, separators=(",", ":")) for each in (envelope, row)]
    check_documents("\n".join(lines))
    data["samples"], data["complete"] = wrong["rows"], wrong.get("complete", True)
    lines[0] = json.dumps(envelope, separators=(",", ":"))
    with pytest.raises((AssertionError, jsonschema.ValidationError)):
        check_documents("\n".join(lines))


def test_every_kind_of_document_in_the_code_is_in_the_table():
    files = [path for room in ("render", "shell") for path in (ROOT / room).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    named = {name for text in texts for name in re.findall(r'Document\(\s*(?:kind=)?"([^"]+)"', text)}
    assert len(named) > 30
    assert named <= BY_NAME.keys()


def test_the_commands_that_print_a_kind_exist():
    paths = {each.path.removeprefix(f"{PROGRAM} ") for each in commands()}
    assert {each for kind in KINDS for each in kind.commands} <= {*paths, "--help-json"}
