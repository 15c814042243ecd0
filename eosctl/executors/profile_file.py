"""The user's file of profiles: which one is in use, and a profile more."""

import re
from collections.abc import Mapping
from pathlib import Path

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.codecs.profiles import with_profile_keys
from eosctl.files import PROFILES, read_text


def set_current(path: Path, name: str) -> None:
    """Write `current: name` into the file, whole or not at all, and leave every other line as it is."""
    line = f"current: {_quoted(name)}\n"
    text = _text_of(path)
    found = re.search(r"^current:.*\n?", text, re.MULTILINE)
    _write(path, line + text if found is None else text[: found.start()] + line + text[found.end() :])


def set_profile(path: Path, name: str, keys: Mapping[str, object]) -> None:
    """Write these keys of profile `name` into the file, whole or not at all, and leave every other line as it is."""
    _write(path, with_profile_keys(_text_of(path), name, keys, str(path)))


def _text_of(path: Path) -> str:
    return read_text(path, PROFILES) if path.exists() else ""


def _write(path: Path, text: str) -> None:
    """To the file that is meant, where the path is a link to it."""
    make_directory(path.parent)
    write_atomic_file(path.resolve(), text)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
