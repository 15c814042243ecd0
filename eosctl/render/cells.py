"""Values as the text of one cell, safe to send to a terminal."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from eosctl.model.text import UNSEEN
from eosctl.render.document import Tree, is_skipped, look_up

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

    Removing one apostrophe from each cell that begins with one restores the content, because a second one
    stands before content that begins with an apostrophe of its own.
    """
    first = content.lstrip(" \xa0\u3000")[:1]
    return f"'{content}" if first in _FORMULA or content.startswith("'") else content


POSTGRESQL: Final = frozenset({"lsn_proc", "lsn_commit", "txId", "ts_usec"})
"""Members that Debezium for PostgreSQL writes beside `lsn`."""
POSITIONS: Final = (("file", "pos"), ("commit_lsn",), ("sec", "ord"))
"""Of Debezium's other connectors the members that give the position; the rest is about time and transactions."""
NO_SNAPSHOT: Final = (None, False, "false")


def brief_of(path: str, *others: str) -> Callable[[Tree], str]:
    """The short form of the object at `path` of a row: `position=3943`, `lsn=0/16F1C00`.

    All of its members are named where one at `others` is another object that would look the same.
    """

    def brief(row: Tree) -> str:
        value = look_up(row, path)
        text = _position(value)
        beside = (look_up(row, each) for each in others)
        alike = any(each != value and _position(each) == text for each in beside)
        return _members(value) if alike else text

    return brief


def brief_owner(row: Tree) -> str:
    """`orders/0` for a task of Connect, `leader` for a leader; in words where the owner is not known."""
    owners = look_up(row, "owners")
    if not isinstance(owners, list) or not owners:
        return cell(look_up(row, "owner"))
    return " or ".join(_owner(each) for each in owners)


def _owner(owner: Tree) -> str:
    connector, task = look_up(owner, "connector"), look_up(owner, "task")
    return "leader" if connector is None else f"{cell(connector)}/{task}"


def _position(value: Tree) -> str:
    if not isinstance(value, dict) or is_skipped(value):
        return cell(value)
    lsn = value.get("lsn")
    if type(lsn) is int and lsn >= 0 and not POSTGRESQL.isdisjoint(value):
        return f"lsn={lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}{_snapshot(value)}"
    known = next((names for names in POSITIONS if value.keys() >= {*names}), None)
    return _members(value) if known is None else _members({each: value[each] for each in known}) + _snapshot(value)


def _snapshot(value: Mapping[str, Tree]) -> str:
    return "" if value.get("snapshot") in NO_SNAPSHOT else ",snapshot"


def _members(value: Tree) -> str:
    if not isinstance(value, dict) or is_skipped(value):
        return cell(value)
    return ",".join(f"{cell(name)}={cell(each)}" for name, each in value.items()) or "{}"
