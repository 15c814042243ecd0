"""Files of the user's: profiles, what is trusted, resources, snapshots, and the names that a TAB offers."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from eosctl.atomic_write import atomic_file, make_directory, write_atomic_file
from eosctl.codecs.json_nouns import JsonNoun
from eosctl.codecs.json_text import load_json
from eosctl.codecs.profiles import with_profile_keys
from eosctl.errors import ConfigError, Undecodable, reason_of
from eosctl.files import PROFILES, read_text
from eosctl.model.names import FORGOTTEN_MS, NOTHING, CachedNames


def set_current(path: Path, name: str) -> None:
    """Write `current: name` into the file, whole or not at all, without changing any other line."""
    line = f"current: {_quote(name)}\n"
    text = _text_of(path)
    found = re.search(r"^current:.*\n?", text, re.MULTILINE)
    _write(path, line + text if found is None else text[: found.start()] + line + text[found.end() :])


def set_profile(path: Path, name: str, keys: Mapping[str, object]) -> None:
    """Write these keys of profile `name` into the file, whole or not at all, without changing any other line."""
    _write(path, with_profile_keys(_text_of(path), name, keys, str(path)))


def _text_of(path: Path) -> str:
    return read_text(path, PROFILES) if path.exists() else ""


def _write(path: Path, text: str) -> None:
    """To the file that is meant, where the path is a link to it."""
    make_directory(path.parent)
    write_atomic_file(path.resolve(), text)


def _quote(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def record_trust(record: Path, digests: Mapping[str, str]) -> None:
    """Writes the SHA-256 of each file by its path, in the form of sha256sum."""
    if any("\n" in path for path in digests):
        raise ConfigError("a path with a line end in it cannot be trusted", hint="rename the file or its directory")
    make_directory(record.parent)
    write_atomic_file(record, "".join(f"{digest}  {path}\n" for path, digest in digests.items()))


def remove_trust(record: Path) -> None:
    try:
        record.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot remove {record}: {reason_of(error)}") from error


def write_resource_file(path: Path, text: str) -> None:
    make_directory(path.parent)
    write_atomic_file(path, text)


def write_snapshot_file(path: Path, lines: Iterable[str]) -> int:
    """Writes the lines to `path`, whole or not at all, readable by its owner only; returns the number of bytes."""
    with atomic_file(path) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    return path.stat().st_size


# The cache of names that a TAB offers: one file for each question, written whole, evicted after a day.
#
# A file holds {"version": 1, "names": [...], "read_at": ms, "asked_at": ms}. It is a cache: what cannot be read is
# read from the cluster again.


VERSION: Final = 1
NAMES: Final = JsonNoun[CachedNames](CachedNames)


def read_cached_names(path: Path) -> CachedNames:
    """The names in the file, NOTHING if there is none or it cannot be read."""
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
