"""Names kept for the next TAB."""

from pathlib import Path

from eosctl.codecs.completion_cache import decode_cached_names
from eosctl.model.completion_cache import NOTHING, CachedNames


def read_cached_names(path: Path) -> CachedNames:
    """What the file holds, NOTHING where there is none or it cannot be read."""
    try:
        return decode_cached_names(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return NOTHING
