"""Values as the text of one cell, safe to send to a terminal, and cells in columns that fit a width.

Rich knows how wide a character is and how a style is written. Laying rows out is done here, because a table of 10,000
fenced IDs takes Rich's own Table five to ten seconds and this half of one.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from eosctl.model.text import UNSEEN
from eosctl.render.document import Align, Tone, Tree, is_skipped, look_up

_FORMULA: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""A spreadsheet takes a cell with this beginning for a formula; full-width signs in some languages."""

_NAMED: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escape_controls(text: str) -> str:
    """`text` with each invisible or cursor-moving character written as an escape.

    These are control characters, line separators, lone surrogates, and characters without width or of direction. A
    connector's name is any text: printed unescaped, it could clear the screen, forge a second row, or look like
    another.
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
    """The content of a CSV cell that a spreadsheet shows as text: an apostrophe precedes a would-be formula.

    Content that begins with an apostrophe gets a second one, so removing one apostrophe from each cell that begins with
    one restores the content.
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


T = TypeVar("T")
GAP: Final = 2
HEADING: Final = "bold"
STYLES: Final = {Tone.GOOD: "green", Tone.BAD: "bold red", Tone.WARN: "yellow", Tone.FAINT: "dim"}


class Page(Struct, frozen=True):
    """The width of the reader's page (None: as wide as needed) and whether it shows colours."""

    width: int | None
    colour: bool

    def paint(self, text: str, style: Tone | str | None) -> str:
        """`text` in that style, or as it is on a page without colours."""
        if not (self.colour and style and text):
            return text
        return _style(STYLES.get(style, style) if isinstance(style, Tone) else style)(text)


@cache
def _style(definition: str) -> "_Painter":
    from rich.color import ColorSystem
    from rich.style import Style

    style = Style.parse(definition)
    return _Painter(*style.render("\0", color_system=ColorSystem.STANDARD).split("\0"))


class _Painter(Struct, frozen=True):
    start: str
    end: str

    def __call__(self, text: str) -> str:
        return f"{self.start}{text}{self.end}"


def columns_across(text: str) -> int:
    """The terminal columns of `text`: two for East Asian wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fold(text: str, width: int | None) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces only: a name that is longer stays whole."""
    if width is None or (len(text) if text.isascii() else columns_across(text)) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns_across(joined) <= width:
            lines[-1] = joined
        else:
            lines[-1:] = [*filter(None, lines[-1:]), word]
    return lines


def fit(lines: Sequence[Sequence[str]], width: int | None) -> list[int] | None:
    """Column widths for rows of cells whose sum with gaps is at most `width`; None when they cannot share it legibly.

    The widest columns give way first, down to their longest word: names stay whole while sentences wrap. The first of
    `lines` are the headers.
    """
    columns = list(zip(*lines, strict=True))
    natural = [max(map(columns_across, column)) for column in columns]
    room = None if width is None else width - GAP * (len(columns) - 1)
    if room is None or sum(natural) <= room:
        return natural
    words = [max(columns_across(word) for cell in column for word in cell.split(" ")) for column in columns]
    for cap in range(max(natural), 0, -1) if sum(words) <= room else ():
        capped = [min(wide, max(word, cap)) for wide, word in zip(natural, words, strict=True)]
        if sum(capped) <= room:
            return capped
    return None


def first_of(rows: Sequence[T], most: int | None) -> Iterator[T]:
    """The first `most` of the rows; all where there is no limit, or one more than that."""
    return iter(rows) if most is None or len(rows) <= most + 1 else islice(rows, most)


def more_words(count: int) -> str:
    return f"and {count:,} more: -o wide shows all"


def rows_of_lines(
    cells: Sequence[str],
    styles: Sequence[Tone | str | None],
    widths: Sequence[int],
    aligns: Sequence[Align],
    page: Page,
) -> Iterator[str]:
    """One row as one or more lines, folded where a cell is wider than its column."""
    folded = [fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, folded))):
        parts = []
        for lines, style, width, align in zip(folded, styles, widths, aligns, strict=True):
            text = lines[number] if number < len(lines) else ""
            padding = " " * (width - (len(text) if text.isascii() else columns_across(text)))
            painted = page.paint(text, style) if page.colour else text
            parts.append(padding + painted if align is Align.RIGHT else painted + padding)
        yield (" " * GAP).join(parts).rstrip()
