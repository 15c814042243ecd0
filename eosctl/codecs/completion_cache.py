"""The file of remembered names: {"version": 1, "names": [...], "read_at": ms, "asked_at": ms}."""

import json

from eosctl.model.completion_cache import NOTHING, CachedNames

VERSION = 1


def encode_cached_names(remembered: CachedNames) -> str:
    """One JSON object."""
    fields = {"names": remembered.names, "read_at": remembered.read_at, "asked_at": remembered.asked_at}
    return json.dumps({"version": VERSION, **fields})


def decode_cached_names(text: str) -> CachedNames:
    """What the file holds, NOTHING where it is not one of ours: it is a cache, and what is lost is read again."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return NOTHING
    if not isinstance(fields, dict) or fields.get("version") != VERSION:
        return NOTHING
    names, read_at, asked_at = fields.get("names"), fields.get("read_at"), fields.get("asked_at")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        return NOTHING
    if type(read_at) is not int or type(asked_at) is not int:
        return NOTHING
    return CachedNames(tuple(names), read_at, asked_at)
