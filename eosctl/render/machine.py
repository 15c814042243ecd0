"""json, jsonl and yaml: the envelope, whole.

1. json: exactly one document, indented; each row of a list of more than 1,000 is on a line of its own.
2. jsonl: the envelope on the first line, with every list that a block shows replaced by the number of its rows; then
   each of these rows on a line of its own: {"kind": "<kind>/<path of the list>", "version": N, "data": <row>}.
3. yaml: the same tree as json.
"""

import json as stdlib_json
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from eosctl.model.unseen import escaped_in_json
from eosctl.render.document import Document, Fields, RowStream, Tree, look_up
from eosctl.render.yaml_text import yaml_text

MANY: Final = 1000
INDENT: Final = "  "
_encode: Final = stdlib_json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode


def json(envelope: Tree) -> str:
    """One indented JSON document; what is not seen is escaped, all else is UTF-8."""
    return "".join(json_pieces(envelope))


def json_pieces(envelope: Tree) -> Iterator[str]:
    """The same piece by piece: of rows that are streamed there is one at a time."""
    return map(escaped_in_json, chain(_indented(envelope, "\n"), ("\n",)))


def _indented(value: Tree, newline: str) -> Iterator[str]:
    """What json.dumps(indent=2) gives; its rows are written by the compiled encoder where they are many."""
    inner = newline + INDENT
    match value:
        case {} if value:
            lead = "{"
            for name, item in value.items():
                yield f"{lead}{inner}{_encode(name)}: "
                yield from _indented(item, inner)
                lead = ","
            yield newline + "}"
        case [_, *_] if len(value) > MANY:
            lead = "["
            for item in value:
                yield f"{lead}{inner}{_encode(item)}"
                lead = ","
            yield newline + "]"
        case [_, *_]:
            lead = "["
            for item in value:
                yield lead + inner
                yield from _indented(item, inner)
                lead = ","
            yield newline + "]"
        case _:
            yield _encode(value)


def json_line(envelope: Tree) -> str:
    """One JSON document on one line."""
    return (
        escaped_in_json(stdlib_json.dumps(envelope, ensure_ascii=False, separators=(",", ":"), allow_nan=False)) + "\n"
    )


def jsonl(document: Document) -> str:
    """The envelope without its rows, then one line per row."""
    return "".join(jsonl_lines(document))


def jsonl_lines(document: Document) -> Iterator[str]:
    """The same line by line."""
    places = list(dict.fromkeys(block.rows for block in document.blocks if not isinstance(block, Fields)))
    found = {place: look_up(document.data, place) for place in places}
    data: Any = document.data
    for place, rows in found.items():
        assert isinstance(rows, list)
        data = _with(data, place.split("."), len(rows))
    yield json_line({**document.envelope(), "data": data})
    for place, rows in found.items():
        assert isinstance(rows, list)
        for row in rows:
            yield json_line({"kind": f"{document.kind}/{place}", "version": document.version, "data": row})


def yaml(envelope: Tree) -> str:
    """One YAML document."""
    return yaml_text([_kept(envelope)])


def _kept(value: Tree) -> Tree:
    """The tree with the rows that were streamed."""
    if isinstance(value, dict):
        return {name: _kept(each) for name, each in value.items()}
    return list(value) if isinstance(value, RowStream) else value


def _with(data: dict[str, Any], path: list[str], value: Tree) -> dict[str, Any]:
    name, *rest = path
    return {**data, name: _with(data[name], rest, value) if rest else value}
