"""The user's file of profiles: which one is in use."""

import re
from pathlib import Path

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.errors import ConfigError


def set_current(path: Path, name: str) -> None:
    """Write `current: name` into the file, whole or not at all, and leave every other line as it is."""
    line = f"current: {_quoted(name)}\n"
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    found = re.search(r"^current:.*\n?", text, re.MULTILINE)
    make_directory(path.parent)
    write_atomic_file(path, line + text if found is None else text[: found.start()] + line + text[found.end() :])


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
