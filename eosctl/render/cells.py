"""Values as the text of one cell, safe to send to a terminal."""

import json
import re
from typing import Final

from eosctl.render.document import Tree, is_skipped

_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAMED: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escape_controls(text: str) -> str:
    """`text` with every control character, line separator and lone surrogate written as an escape.

    A connector's name is any text: printed as it is, it could clear the screen or forge a second row.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


def cell(value: Tree) -> str:
    """One line of text: null is `-`, unknown `unknown`, flags `yes` and `no`, lists joined by commas."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return escape_controls(value) if value else '""'
        case list():
            return ",".join(cell(item) for item in value) if value else "-"
        case dict():
            return "unknown" if is_skipped(value) else escape_controls(json.dumps(value, ensure_ascii=False))
    return str(value)
