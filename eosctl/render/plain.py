"""Tab-separated lines for awk and cut: no header, nothing shortened, the first block of the document only.

A backslash in a value is written twice, so that every line can be turned back into its values.
"""

from collections.abc import Iterable, Iterator

from eosctl.render.cells import cell
from eosctl.render.document import Document, Fields, Findings, Table, Tree, look_up

FINDING_FIELDS = ("severity", "id", "subject", "message", "cure")


def plain(document: Document) -> str:
    """One line per row of a Table or finding; for Fields, header and value per line."""
    return "".join(plain_lines(document))


def plain_lines(document: Document) -> Iterator[str]:
    """The same line by line."""
    match document.blocks:
        case (Table() as table, *_):
            paths = [column.path for column in table.columns]
            return _lines([look_up(row, path) for path in paths] for row in _rows(document, table.rows))
        case (Findings() as findings, *_):
            return _lines([look_up(row, name) for name in FINDING_FIELDS] for row in _rows(document, findings.rows))
        case (Fields() as fields, *_):
            at = look_up(document.data, fields.at)
            return _lines([column.header, look_up(at, column.path)] for column in fields.columns)
    return (f"{cell(line)}\n" for line in document.prose)


def _rows(document: Document, path: str) -> list[Tree]:
    rows = look_up(document.data, path)
    assert isinstance(rows, list)
    return rows


def _lines(rows: Iterable[list[Tree]]) -> Iterator[str]:
    return ("\t".join(_plain_cell(value) for value in row) + "\n" for row in rows)


def _plain_cell(value: Tree) -> str:
    return cell(value.replace("\\", "\\\\") if isinstance(value, str) else value)
