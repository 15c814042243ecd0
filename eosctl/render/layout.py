"""Columns and lines that fit a width.

Rich knows how wide a character is and how a style is written. Laying rows out is done here, because a table of 10,000
fenced IDs takes Rich's own Table five to ten seconds and this half of one.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from eosctl.render.document import Align, Tone

T = TypeVar("T")
GAP: Final = 2
HEADING: Final = "bold"
STYLES: Final = {Tone.GOOD: "green", Tone.BAD: "bold red", Tone.WARN: "yellow", Tone.FAINT: "dim"}


class Page(Struct, frozen=True):
    """How wide the reader's page is (None: as wide as needed) and whether it shows colours."""

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
    """How many terminal columns `text` takes: two for East Asian wide characters, none for combining ones."""
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
    """The "and N more" line."""
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
