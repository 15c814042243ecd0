"""The user's file of profiles: which one is in use."""

import os
import re
from pathlib import Path

from eosctl.errors import ConfigError


def set_current(path: Path, name: str) -> None:
    """Write `current: name` into the file, whole or not at all, and leave every other line as it is."""
    line = f"current: {_quoted(name)}\n"
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        found = re.search(r"^current:.*\n?", text, re.MULTILINE)
        text = line + text if found is None else text[: found.start()] + line + text[found.end() :]
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600)
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
