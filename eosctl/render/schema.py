"""JSON Schema (draft 2020-12) of documents, derived from the types of their data as `document.tree` writes them.

    TypedDict, dataclass, named tuple   object with a property for each field
    Skipped                             {"skipped": reason}
    list, tuple                         array
    Mapping                             object with members of one type
    StrEnum                             one of its values
    X | Y                               any of them
    object, Any                         any JSON

A field is described by what the glossary says of its column, a type by the first sentence of its docstring. Objects
are open: fields may be added without a new version. `closed` allows only those that there are now, for tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Final, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from eosctl.model.skipped import Skipped
from eosctl.render.document import Column, Fields, Table
from eosctl.render.documents.skipped import SkippedRow

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
PLAIN: Final[Mapping[object, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    object: {},
    Any: {},
}


class UnreadRow(TypedDict):
    """Something that the answer was to rest on and that was not read, and why."""

    what: str
    reason: str


class CompletedFields(TypedDict):
    """What every answer has beside its own fields; rows_left_out is there where --limit left rows out."""

    complete: bool
    unread: list[UnreadRow]
    rows_left_out: NotRequired[int]


class _Schemas:
    """Makes the schemas of types; those of objects are definitions, each once."""

    def __init__(self, *, closed: bool) -> None:
        self.definitions: dict[str, Schema] = {}
        self._closed = closed

    def of(self, hint: Any) -> Schema:  # noqa: ANN401  # types, unions and generic aliases
        """The schema of values of this type; TypeError for a type that has none."""
        origin, arguments = get_origin(hint), get_args(hint)
        if hint in PLAIN:
            return dict(PLAIN[hint])
        if origin in {Union, UnionType}:
            return self._any_of([self.of(each) for each in arguments])
        if origin in {list, tuple, Sequence}:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin in {dict, Mapping}:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return {"type": "string", "enum": [each.value for each in hint]}
        return self._definition(SkippedRow if hint is Skipped else hint)

    def _any_of(self, schemas: list[Schema]) -> Schema:
        """Those that are a type and nothing else become one list of types."""
        names = [each["type"] for each in schemas if each.keys() == {"type"}]
        others = [each for each in schemas if each.keys() != {"type"}]
        joined: list[Schema] = [{"type": names[0] if len(names) == 1 else names}] if names else []
        return joined[0] if joined and not others else {"anyOf": [*others, *joined]}

    def _definition(self, kind: Any) -> Schema:  # noqa: ANN401  # a TypedDict, a dataclass or a named tuple
        if not (is_typeddict(kind) or is_dataclass(kind) or hasattr(kind, "_fields")):
            raise TypeError(f"{kind} has no JSON Schema")
        name = kind.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # it may hold itself
            self.definitions[name] = self.object_of(kind)
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, *kinds: Any) -> Schema:  # noqa: ANN401  # TypedDicts, dataclasses or named tuples
        """An object with the fields of all of them."""
        hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
        optional = {name for kind in kinds if is_typeddict(kind) for name in kind.__optional_keys__}
        schema: Schema = {
            "type": "object",
            "description": _sentence(kinds[0].__doc__),
            "properties": {name: self.of(hint) for name, hint in hints.items()},
            "required": [name for name in hints if name not in optional],
        }
        return schema | ({"additionalProperties": False} if self._closed else {})


def document_schema(
    name: str, version: int, data: type, blocks: Sequence[object] = (), *, completed: bool = True, closed: bool = False
) -> Schema:
    """The schema of documents of this kind, whose data is of this type.

    blocks show parts of it, and describe them; completed: it has complete and unread, as every answer has.
    """
    schemas = _Schemas(closed=closed)
    whole = schemas.object_of(data, CompletedFields) if completed else schemas.object_of(data)
    for path, meaning in _meanings(blocks):
        _describe(whole, schemas.definitions, path, meaning)
    return _envelope(
        name,
        version,
        {
            "as_of": {"type": ["string", "null"], "description": "When the facts were read, RFC 3339 in UTC."},
            "cluster_id": {"type": ["string", "null"], "description": "The Kafka cluster's."},
            "data": whole,
        },
        schemas,
    )


def error_schema(error: type, *, closed: bool = False) -> Schema:
    """The schema of what is printed where there is no answer."""
    schemas = _Schemas(closed=closed)
    return _envelope("error", 1, {"error": schemas.object_of(error)}, schemas)


def _envelope(name: str, version: int, members: Mapping[str, Schema], schemas: _Schemas) -> Schema:
    properties = {"kind": {"const": name}, "version": {"const": version}, **members}
    return {
        "$schema": DIALECT,
        "$id": f"urn:eosctl:{name}:{version}",
        "title": f"eosctl {name}",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "$defs": schemas.definitions,
    }


def _sentence(text: str | None) -> str:
    """The docstring on one line."""
    return " ".join((text or "").split())


def _meanings(blocks: Sequence[object]) -> Iterator[tuple[list[str], str]]:
    """The path from the data to each value that a column shows, and what the glossary says of it."""
    for block in blocks:
        if isinstance(block, Table | Fields):
            start = block.rows.split(".") if isinstance(block, Table) else [*filter(None, block.at.split("."))]
            yield from (([*start, *each.path.split(".")], each.meaning) for each in _meant(block.columns))


def _meant(columns: Sequence[Column]) -> Iterator[Column]:
    return (each for each in columns if each.meaning)


def _describe(whole: Schema, definitions: Mapping[str, Schema], path: Sequence[str], meaning: str) -> None:
    """Puts the meaning where the path leads to, unless something is said there already."""
    at: Schema = whole
    for name in path:
        inner = [_resolved(each, definitions) for each in (at, at.get("items"), *at.get("anyOf", ())) if each]
        found = next((each["properties"][name] for each in inner if name in each.get("properties", ())), None)
        if found is None:
            return
        at = found if "$ref" not in found else _resolved(found, definitions)
    at.setdefault("description", meaning)


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
