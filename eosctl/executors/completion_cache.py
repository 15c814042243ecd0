"""The cache of names that a TAB offers: one file for each question, written whole, evicted after a day.

A file holds {"version": 1, "names": [...], "read_at": ms, "asked_at": ms}. It is a cache: what cannot be read is read
from the cluster again.
"""

import json
from pathlib import Path
from typing import Final

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.codecs.json_limits import load_json
from eosctl.codecs.json_nouns import JsonNoun
from eosctl.errors import Undecodable
from eosctl.model.completion_cache import FORGOTTEN_MS, NOTHING, CachedNames

VERSION: Final = 1
NAMES: Final = JsonNoun[CachedNames](CachedNames)


def read_cached_names(path: Path) -> CachedNames:
    """What the file holds, NOTHING where there is none or it cannot be read."""
    try:
        return decode_cached_names(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return NOTHING


def decode_cached_names(text: str) -> CachedNames:
    """The names in a file's text, NOTHING where it is not one of ours."""
    try:
        value = load_json(text)
        if not isinstance(value, dict) or value.pop("version", None) != VERSION:
            return NOTHING
        return NAMES.decode(value, "the cache")
    except (ValueError, Undecodable):
        return NOTHING


def encode_cached_names(cached: CachedNames) -> str:
    """A file's text: one JSON object."""
    return json.dumps({"version": VERSION, **NAMES.encode(cached)})


def cache_names(path: Path, cached: CachedNames) -> None:
    """Writes the file. Raises OSError or ConfigError where that fails."""
    make_directory(path.parent)
    write_atomic_file(path, encode_cached_names(cached))


def evict_old_names(directory: Path, now: int) -> None:
    """Removes the files in `directory` that were written more than FORGOTTEN_MS before `now`."""
    for path in directory.glob("*.json"):
        if now - path.stat().st_mtime * 1000 > FORGOTTEN_MS:
            path.unlink(missing_ok=True)
