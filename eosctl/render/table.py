"""The answer for a person: sentences, tables and findings, as wide as the terminal.

Nothing is ever cut short: a transactional ID that a person copies from the screen must be whole. Cells wrap; a table
whose columns cannot share the width legibly is drawn one row at a time, a line per column.
"""

from collections.abc import Iterable, Iterator

from eosctl.render.cells import cell, escape_controls
from eosctl.render.document import Align, Column, Document, Fields, Findings, Table, Tone, Tree, is_skipped, look_up
from eosctl.render.findings import findings_lines
from eosctl.render.layout import HEADING, Page, columns_across, fit, fold, rows_of_lines


def table(document: Document, page: Page) -> str:
    """Prose, blocks in order, then why anything is unknown, then the notes; an empty line between the parts."""
    parts = [[line for sentence in document.prose for line in _sentence(sentence, page)]]
    parts += [list(_block(document, block, page)) for block in document.blocks]
    parts.append([page.paint(line, Tone.FAINT) for reason in _reasons(document) for line in _sentence(reason, page)])
    parts.append([line for note in document.notes for line in _sentence(note, page)])
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
    columns = block.columns
    headers = [column.header for column in columns]
    lines = [[cell(look_up(row, column.path)) for column in columns] for row in rows]
    widths = fit([headers, *lines], page.width)
    if widths is None:
        yield from _expanded(rows, columns, page)
        return
    aligns = [column.align for column in columns]
    yield from rows_of_lines(headers, [HEADING] * len(columns), widths, aligns, page)
    for values in lines:
        styles = [column.tones.get(text) for column, text in zip(columns, values, strict=True)]
        yield from rows_of_lines(values, styles, widths, aligns, page)


def _expanded(rows: list[Tree], columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield from _fields(row, columns, page)


def _fields(value: Tree, columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    left = max(len(column.header) for column in columns)
    room = None if page.width is None else max(page.width - left - 2, 20)
    for column in columns:
        text = cell(look_up(value, column.path))
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
            values = [look_up(row, column.path) for column in block.columns]
            reasons |= {
                str(value["skipped"]): None for value in values if isinstance(value, dict) and is_skipped(value)
            }
    return [f"unknown: {reason}" for reason in reasons]
