"""Keeping names for the next TAB, and clearing away those that nobody asked for in a day."""

import os
from pathlib import Path

from eosctl.codecs.completion_cache import encode_cached_names
from eosctl.model.completion_cache import FORGOTTEN_MS, CachedNames


def cache_names(path: Path, remembered: CachedNames) -> None:
    """Write the file, whole or not at all, readable by its owner only. OSError where that fails."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(encode_cached_names(remembered))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def evict_old_names(directory: Path, now: int) -> None:
    """Remove the files in `directory` that were written more than FORGOTTEN_MS before `now`."""
    for path in directory.glob("*.json"):
        if now - path.stat().st_mtime * 1000 > FORGOTTEN_MS:
            path.unlink(missing_ok=True)
