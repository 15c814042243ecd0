"""Documents held against the JSON Schemas that `eosctl schema` publishes, by a validator that is not eosctl's.

The schemas are closed here: a field that no schema names is a fault, as one that is missing or of another type is.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from eosctl.render.kinds import BY_NAME

MOST_ROWS = 30
"""Of a long list its ends are looked at."""


def check_documents(text: str) -> None:
    """Fails where the text is a document, or lines of -o jsonl that begin with one, and not what its schema says."""
    if not text.startswith('{"kind":') and not text.startswith('{\n  "kind":'):
        return
    lines = text.splitlines() if text.startswith('{"kind":') else [text]
    envelope, *rows = map(json.loads, lines[:MOST_ROWS])
    if rows or (len(lines) == 1 and text.startswith('{"kind":') and envelope["kind"] != "error"):
        return  # jsonl has the number of rows in the place of a list
    _validator(envelope["kind"]).validate(_shortened(envelope))
    if "SEEN_KINDS" in os.environ:
        with Path(os.environ["SEEN_KINDS"]).open("a") as seen:
            seen.write(f"{envelope['kind']}\n")


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
