"""Documents held against the JSON Schemas that `eosctl schema` publishes, by a validator that is not eosctl's.

The schemas are closed here: a field that no schema names is a fault, as one that is missing or of another type is.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from eosctl.render.answers.kinds import BY_NAME

MOST_ROWS = 30
"""Only the ends of a longer list are checked."""


def check_documents(text: str) -> None:
    """Fails if the text is a document, or lines of -o jsonl that begin with one, and violates its schema."""
    if not text.startswith('{"kind":') and not text.startswith('{\n  "kind":'):
        return
    if text.startswith('{"kind":'):
        envelope, *lines = map(json.loads, text.split("\n") if text[-1] != "\n" else text[:-1].split("\n"))
        rows: dict[str, list[Any]] = {}
        for each in lines:
            rows.setdefault(each["kind"].removeprefix(f"{envelope['kind']}/"), []).append(each["data"])
        if "data" in envelope:
            schema = BY_NAME[envelope["kind"]].schema()
            envelope["data"] = _with_rows(envelope["data"], schema["properties"]["data"], schema, "", rows)
        assert not rows, f"rows of no list: {list(rows)}"
    else:
        envelope = json.loads(text)
    _validator(envelope["kind"]).validate(_shortened(envelope))
    if "SEEN_KINDS" in os.environ:
        with Path(os.environ["SEEN_KINDS"]).open("a") as seen:
            seen.write(f"{envelope['kind']}\n")


def _with_rows(value: Any, of: Any, schema: Any, path: str, rows: dict[str, list[Any]]) -> Any:
    """The value with rows in the place of their number, wherever its schema has a list."""
    of = schema["$defs"][of["$ref"].rpartition("/")[2]] if "$ref" in of else of
    if of.get("type") == "array" and isinstance(value, int):
        found = rows.pop(path, [])
        assert len(found) == value, f"{path} has {len(found)} rows, and says {value}"
        return found
    if not isinstance(value, dict):
        return value
    known = of.get("properties", {})
    return {
        name: _with_rows(each, known.get(name, {}), schema, f"{path}.{name}".removeprefix("."), rows)
        for name, each in value.items()
    }


@cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    assert kind in BY_NAME, f"no schema is known for documents of kind {kind}"
    schema = BY_NAME[kind].schema(closed=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        half = MOST_ROWS // 2
        return [_shortened(each) for each in (value if len(value) <= MOST_ROWS else value[:half] + value[-half:])]
    return value
