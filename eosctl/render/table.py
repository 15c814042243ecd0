"""The answer for a person: sentences, tables and findings, as wide as the terminal.

Nothing is ever cut short: a transactional ID that a person copies from the screen must be whole. Sentences wrap, names
do not; a table whose columns cannot share the width is drawn one row at a time, a line per column. Where that is due to
few rows with a long name, the name stands on a line of its own above the rest of its row.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.render.cells import cell, escape_controls
from eosctl.render.document import Align, Column, Document, Fields, Findings, Table, Tone, Tree, is_skipped, look_up
from eosctl.render.findings import findings_lines
from eosctl.render.layout import GAP, HEADING, Page, columns_across, first_of, fit, fold, more_words, rows_of_lines

EMPTY: Final = frozenset({"-", '""'})


def table(document: Document, page: Page) -> str:
    """Prose, blocks in order, then why anything is unknown, then the notes; an empty line between the parts.

    On a terminal a verdict comes last, and tables show what distinguishes rows.
    """
    prose = [line for sentence in document.prose for line in _sentence(sentence, page)]
    parts = [list(_block(document, block, page)) for block in document.blocks]
    parts.append([page.paint(line, Tone.FAINT) for reason in _reasons(document) for line in _sentence(reason, page)])
    parts.append([line for note in document.notes for line in _sentence(note, page)])
    parts.insert(len(parts) if document.concludes and page.width is not None else 0, prose)
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _sentence(text: str, page: Page) -> list[str]:
    return fold(escape_controls(text), page.width)


def _block(document: Document, block: Table | Fields | Findings, page: Page) -> Iterator[str]:
    if block.title:
        yield page.paint(block.title, HEADING)
    match block:
        case Table():
            yield from _table(look_up(document.data, block.rows), block, page)
        case Fields():
            yield from _fields(look_up(document.data, block.at), block.columns, page)
        case Findings():
            yield from findings_lines(document.data, block, page)


def _table(rows: Tree, block: Table, page: Page) -> Iterator[str]:
    if not isinstance(rows, list) or not rows:
        yield page.paint(block.empty, Tone.FAINT)
        return
    shown = rows if page.width is None else [row for row in rows if block.shows(row)] or rows
    columns, lines, alike = _telling(block.columns, [_cells(row, block.columns, page) for row in shown], page)
    lines = lines if page.width is None else list(first_of(lines, block.most))
    headers = [column.header for column in columns]
    lone = frozenset[int]()
    widths = fit([headers, *lines], page.width)
    if widths is None and page.width is not None:
        lone = _with_long_names(lines, page.width)
        widths = fit([headers, *_beside(lines, lone)], page.width) if lone else None
    if widths is None:
        yield from _expanded(lines, columns, page)
    else:
        aligns = [column.align for column in columns]
        yield from rows_of_lines(headers, [HEADING] * len(columns), widths, aligns, page)
        for number, (cells, values) in enumerate(zip(lines, _beside(lines, lone), strict=True)):
            if number in lone:
                yield from (page.paint(each, columns[0].tones.get(cells[0])) for each in fold(cells[0], page.width))
            styles = [column.tones.get(text) for column, text in zip(columns, values, strict=True)]
            yield from rows_of_lines(values, styles, widths, aligns, page)
    if alike:
        yield from (page.paint(line, Tone.FAINT) for line in fold(f"all: {alike}", page.width))
    if len(lines) < len(rows):
        yield page.paint(more_words(len(rows) - len(lines)), Tone.FAINT)


def _with_long_names(lines: list[list[str]], width: int) -> frozenset[int]:
    """The rows whose first cell takes more than a third of the page, where they are at most half of all."""
    found = frozenset(number for number, cells in enumerate(lines) if columns_across(cells[0]) > width // 3)
    return found if len(found) <= len(lines) // 2 else frozenset()


def _beside(lines: list[list[str]], lone: frozenset[int]) -> list[list[str]]:
    """The rows without those first cells, which get a line of their own."""
    return [["", *cells[1:]] if number in lone else cells for number, cells in enumerate(lines)]


def _cells(row: Tree, columns: tuple[Column, ...], page: Page) -> list[str]:
    return [
        cell(look_up(row, column.path)) if page.width is None or column.brief is None else column.brief(row)
        for column in columns
    ]


def _telling(
    columns: tuple[Column, ...], lines: list[list[str]], page: Page
) -> tuple[tuple[Column, ...], list[list[str]], str]:
    """On a terminal: the first column and those that are not empty; where these are too wide, and all rows have one
    value in a column, it goes too, and is said in one line for all."""
    if page.width is None:
        return columns, lines, ""
    values = [{line[number] for line in lines} for number in range(len(columns))]
    kept = [number for number in range(len(columns)) if number == 0 or not values[number] <= EMPTY]
    natural = [max(map(columns_across, {columns[number].header, *values[number]})) for number in kept]
    alike = []
    if len(lines) > 1 and sum(natural) + GAP * (len(kept) - 1) > page.width:
        alike = [each for each in kept[1:] if len(values[each]) == 1 and values[each].isdisjoint(columns[each].tones)]
    kept = [number for number in kept if number not in alike]
    said = ", ".join(f"{columns[number].header} {lines[0][number]}" for number in alike)
    return tuple(columns[number] for number in kept), [[line[number] for number in kept] for line in lines], said


def _expanded(lines: list[list[str]], columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    for number, values in enumerate(lines):
        if number:
            yield ""
        yield from _pairs(values, columns, page)


def _fields(value: Tree, columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    yield from _pairs([cell(look_up(value, column.path)) for column in columns], columns, page)


def _pairs(values: list[str], columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    left = max(len(column.header) for column in columns)
    room = None if page.width is None else max(page.width - left - GAP, 20)
    for column, text in zip(columns, values, strict=True):
        right = columns_across(text) if room is None else room
        cells, styles = [column.header, text], [HEADING, column.tones.get(text)]
        yield from rows_of_lines(cells, styles, [left, right], [Align.LEFT, Align.LEFT], page)


def _reasons(document: Document) -> Iterable[str]:
    """Why the values that a block shows as unknown are unknown, each reason once."""
    reasons: dict[str, None] = {}
    for block in document.blocks:
        if isinstance(block, Findings):
            continue
        place = look_up(document.data, block.at if isinstance(block, Fields) else block.rows)
        for row in place if isinstance(place, list) else [place]:
            for column in block.columns:
                value = look_up(row, column.path)
                if isinstance(value, dict) and is_skipped(value):
                    reasons[str(value["skipped"])] = None
    return [f"unknown: {reason}" for reason in reasons]
