"""Names kept for the next TAB."""

from pathlib import Path

from eosctl.codecs.remembered_names import decode_remembered_names
from eosctl.model.remembered_names import NOTHING, RememberedNames


def read_remembered_names(path: Path) -> RememberedNames:
    """What the file holds, NOTHING where there is none or it cannot be read."""
    try:
        return decode_remembered_names(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return NOTHING
