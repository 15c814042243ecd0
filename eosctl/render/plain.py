"""Rows for programs that know no JSON: the first block of the document only, nothing shortened.

plain: tab-separated for awk and cut, without a header. A backslash in a value is written twice, so that every line can
be turned back into its values. csv: RFC 4180 with a header, null is empty; on request
no cell is a formula. name: the first column, for xargs.
"""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import chain
from typing import Final

from eosctl.render.cells import as_text, cell
from eosctl.render.document import Document, Fields, Findings, Table, Tree, look_up

FINDING_FIELDS: Final = ("severity", "id", "subject", "message", "cure")


def plain(document: Document) -> str:
    """One line per row of a Table or finding; for Fields, header and value per line."""
    return "".join(plain_lines(document))


def plain_lines(document: Document) -> Iterator[str]:
    """The same line by line."""
    if not document.blocks:
        return (f"{cell(line)}\n" for line in document.prose)
    return ("\t".join(_plain_cell(value) for value in row) + "\n" for row in _rows(document)[1])


def csv_lines(document: Document, *, text_cells: bool = False) -> Iterator[str]:
    """The header, then a line per row; prose where there are no rows. text_cells: no cell is a formula; numbers are
    numbers."""
    headers, rows = _rows(document)
    for row in chain((headers,), rows):
        line = StringIO()
        csv.writer(line, lineterminator="\n").writerow(_csv_cell(value, text_cells=text_cells) for value in row)
        yield line.getvalue()


def name_lines(document: Document) -> Iterator[str]:
    """The first column of a Table, the subject of a finding, the value of the first of Fields."""
    match document.blocks:
        case (Findings(), *_):
            place = FINDING_FIELDS.index("subject")
        case (Fields(), *_):
            return (f"{cell(value)}\n" for _, value in list(_rows(document)[1])[:1])
        case _:
            place = 0
    return (f"{cell(row[place])}\n" for row in _rows(document)[1])


def _rows(document: Document) -> tuple[list[Tree], Iterable[list[Tree]]]:
    """The headers of the first block, and its rows; of a document without blocks its prose."""
    match document.blocks:
        case (Table() as table, *_):
            paths = [column.path for column in table.columns]
            lines = ([look_up(row, path) for path in paths] for row in _list(document, table.rows))
            return [column.header for column in table.columns], lines
        case (Findings() as findings, *_):
            lines = ([look_up(row, name) for name in FINDING_FIELDS] for row in _list(document, findings.rows))
            return [name.upper() for name in FINDING_FIELDS], lines
        case (Fields() as fields, *_):
            at = look_up(document.data, fields.at)
            return ["SETTING", "VALUE"], ([column.header, look_up(at, column.path)] for column in fields.columns)
    return ["TEXT"], ([line] for line in document.prose)


def _list(document: Document, path: str) -> list[Tree]:
    rows = look_up(document.data, path)
    assert isinstance(rows, list)
    return rows


def _csv_cell(value: Tree, *, text_cells: bool) -> str:
    if value is None:
        return ""
    return as_text(cell(value)) if text_cells and not isinstance(value, int | float) else cell(value)


def _plain_cell(value: Tree) -> str:
    return cell(value.replace("\\", "\\\\") if isinstance(value, str) else value)
