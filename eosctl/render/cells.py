"""Values as the text of one cell, safe to send to a terminal."""

import json
import re
from typing import Final

from eosctl.model.unseen import UNSEEN
from eosctl.render.document import Tree, is_skipped

_FORMULA: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Spreadsheets take a cell that begins so for a formula; those of full width in some languages."""

_NAMED: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escape_controls(text: str) -> str:
    """`text` with every character written as an escape that is seen as nothing, or moves what is seen.

    These are control characters, line separators, lone surrogates, and characters without width or of direction. A
    connector's name is any text: printed as it is, it could clear the screen, forge a second row, or look like another.
    """
    return text if text.isascii() and text.isprintable() else UNSEEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _NAMED.get(char) or _numbered(ord(char))


def _numbered(point: int) -> str:
    if point < 1 << 8:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 1 << 16 else f"\\U{point:08x}"


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


def as_text(content: str) -> str:
    """The content of a CSV cell that a spreadsheet shows as text: an apostrophe stands before what would be a formula.

    Whoever takes one apostrophe away from each cell that begins with one has the content again, because a second one
    stands before content that begins with an apostrophe of its own.
    """
    first = content.lstrip(" \xa0\u3000")[:1]
    return f"'{content}" if first in _FORMULA or content.startswith("'") else content
