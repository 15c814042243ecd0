"""The output formats, by name."""

import csv
import json as stdlib_json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from io import StringIO
from itertools import chain, groupby
from types import MappingProxyType
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.json import Encoder
from msgspec.json import format as with_blanks
from msgspec.structs import replace

from eosctl.model.report import Result, Severity
from eosctl.model.text import UNSEEN, escaped_in_json, escaped_in_yaml, pluralize
from eosctl.model.times import rfc3339
from eosctl.render.cells import (
    GAP,
    HEADING,
    Page,
    as_text,
    cell,
    columns_across,
    escape_controls,
    first_of,
    fit,
    fold,
    more_words,
    rows_of_lines,
)
from eosctl.render.document import (
    Align,
    Column,
    Document,
    Fields,
    Findings,
    RowStream,
    Steps,
    Table,
    Tone,
    Tree,
    is_skipped,
    look_up,
)

# Rows for programs that know no JSON: the first block of the document only, nothing shortened.
#
# plain: tab-separated for awk and cut, without a header. A backslash in a value is written twice, so that every line
# can be turned back into its values. csv: RFC 4180 with a header, null is empty; on request no cell is a formula.
# name: the first column, for xargs.


FINDING_FIELDS: Final = ("severity", "id", "subject", "message", "cure")


def plain(document: Document) -> str:
    """One line per row of a Table or finding; for Fields, header and value per line."""
    return "".join(plain_lines(document))


def plain_lines(document: Document) -> Iterator[str]:
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
    """The name or first column of a Table, the subject of a finding, the value of the first of Fields."""
    match document.blocks:
        case (Table() as table, *_) if table.name:
            return (f"{cell(look_up(row, table.name))}\n" for row in _list(document, table.rows))
        case (Findings(), *_):
            place = FINDING_FIELDS.index("subject")
        case (Fields(), *_):
            return (f"{cell(value)}\n" for _, value in list(_rows(document)[1])[:1])
        case _:
            place = 0
    return (f"{cell(row[place])}\n" for row in _rows(document)[1])


def _rows(document: Document) -> tuple[list[Tree], Iterable[list[Tree]]]:
    """The headers and rows of the first block; for a document without blocks its prose."""
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


SEVERITIES: Final = {"error": Tone.BAD, "warning": Tone.WARN, "info": Tone.FAINT}
INDENT: Final = "  "
NARROWEST: Final = 20
TIMES: Final = frozenset({"timestamp", "last_write"})
"""Figures of evidence that are times, in ms since the epoch."""

Group = list[Tree]


def findings_lines(data: object, block: Findings, page: Page) -> Iterator[str]:
    """The lines of the block; new findings before those of the last run, if known."""
    rows = look_up(data, block.rows)
    assert isinstance(rows, list)
    if page.width is not None:
        rows = [row for row in rows if Severity(_text(row, "severity")).reaches(block.least)]
    left_out = data.get("findings_left_out") if isinstance(data, dict) else None
    if not rows and not left_out:
        yield page.paint(block.empty, Tone.GOOD)
    known = [row for row in rows if look_up(row, "new") is False]
    fresh = [row for row in rows if look_up(row, "new") is not False]
    yield from _groups_lines(fresh, block, page)
    if known:
        if fresh:
            yield ""
        yield page.paint("Known from the last run", HEADING)
        yield from _groups_lines(known, block, page)
    if isinstance(left_out, int) and left_out:
        if rows:
            yield ""
        what = pluralize(left_out, "finding of lower severity is", "findings of lower severity are")
        yield page.paint(f"{what} not shown", Tone.FAINT)


def _groups_lines(rows: list[Tree], block: Findings, page: Page) -> Iterator[str]:
    groups: dict[tuple[str, ...], Group] = {}
    for row in rows:
        key = tuple(_text(row, path) for path in ("severity", "id", "name", "waiver"))
        groups.setdefault(key, []).append(row)
    for number, group in enumerate(
        sorted(groups.values(), key=lambda group: look_up(group[0], "waiver.expired") is False)
    ):
        if number:
            yield ""
        yield from _group_lines(group, block, page)


def _group_lines(group: Group, block: Findings, page: Page) -> Iterator[str]:
    """One finding, or several of a kind: a line for each subject, and a shared fix once."""
    severity, finding_id, name = (_text(group[0], path) for path in ("severity", "id", "name"))
    level = page.paint(severity, SEVERITIES.get(severity))
    subject = _text(group[0], "subject") if len(group) == 1 else f"({len(group):,})"
    yield f"{level} {page.paint(finding_id, HEADING)} {page.paint(name, HEADING)} {subject}"
    fixes = {_text(row, "cure") for row in group}
    shown = group if page.width is None else list(first_of(group, block.most))
    for row in shown:
        message = _text(row, "message")
        yield from _folded(message if len(group) == 1 else f"{_text(row, 'subject')}: {message}", page)
        for line in _evidence(look_up(row, "evidence")) if block.evidence else ():
            yield from _folded(line, page)
        if len(fixes) > 1:
            yield from _fix_lines(_text(row, "cure"), page)
    if len(shown) < len(group):
        yield from _folded(more_words(len(group) - len(shown)), page, Tone.FAINT)
    if len(fixes) == 1:
        yield from _fix_lines(_text(group[0], "cure"), page)
    yield from _waiver_lines(look_up(group[0], "waiver"), page)


def _folded(text: str, page: Page, tone: Tone | None = None) -> Iterator[str]:
    room = None if page.width is None else max(page.width - len(INDENT), NARROWEST)
    return (INDENT + page.paint(line, tone) for line in fold(text, room))


def _fix_lines(fix: str, page: Page) -> Iterator[str]:
    if fix not in {"-", '""'}:
        yield from _folded(f"fix: {fix}", page)


def _waiver_lines(waiver: Tree, page: Page) -> Iterator[str]:
    if isinstance(waiver, dict):
        owner, reason, expires = (cell(waiver[name]) for name in ("owner", "reason", "expires"))
        if waiver["expired"]:
            yield from _folded(f"its waiver expired on {expires} ({owner}: {reason})", page, Tone.WARN)
        else:
            yield from _folded(f"waived until {expires} ({owner}: {reason})", page, Tone.FAINT)


def _evidence(evidence: Tree) -> Iterator[str]:
    """Figures in one line, then a line for each place in a list."""
    if not isinstance(evidence, dict):
        return
    lists = {name: value for name, value in evidence.items() if _is_list_of_objects(value)}
    figures = {name: value for name, value in evidence.items() if name not in lists}
    if figures:
        yield f"evidence: {_figures(figures)}"
    for name, places in lists.items():
        assert isinstance(places, list)
        yield from (f"{escape_controls(name)}: {_figures(place)}" for place in places if isinstance(place, dict))


def _is_list_of_objects(value: Tree) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _figures(named: dict[str, Tree]) -> str:
    return ", ".join(f"{escape_controls(name)} {_figure(name, value)}" for name, value in named.items())


def _figure(name: str, value: Tree) -> str:
    return rfc3339(value) if name in TIMES and isinstance(value, int) and value >= 0 else cell(value)


def _text(row: Tree, path: str) -> str:
    return cell(look_up(row, path))


# The answer for a person: sentences, tables and findings, as wide as the terminal.
#
# Nothing is ever cut short: a transactional ID that a person copies from the screen must be whole. Sentences wrap,
# names do not; a table whose columns cannot share the width is drawn one row at a time, a line per column, and so is a
# table that needs more lines because its sentences have a narrow column. If one long name in a row is the cause, the
# name has a line of its own above the rest of its row.


EMPTY: Final = frozenset({"-", '""'})


def table(document: Document, page: Page) -> str:
    """Prose, blocks in order, then why anything is unknown, then the notes; an empty line between the parts.

    On a terminal a verdict comes last, and tables show what distinguishes rows. A summary of nothing needs no table.
    """
    prose = [line for sentence in document.prose for line in _sentence(sentence, page)]
    parts = [list(_block(document, block, page)) for block in document.blocks if not _is_said(block, document)]
    parts.append([page.paint(line, Tone.FAINT) for reason in _reasons(document) for line in _sentence(reason, page)])
    parts.append([line for note in document.notes for line in _sentence(note, page)])
    parts.insert(len(parts) if document.concludes and page.width is not None else 0, prose)
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _is_said(block: Table | Fields | Findings, document: Document) -> bool:
    """True if it is the answer's one table and empty, so that the summary has said all."""
    if not isinstance(block, Table) or block.title or len(document.blocks) != 1:
        return False
    return bool(document.prose) and not look_up(document.data, block.rows)


def _sentence(text: str, page: Page) -> list[str]:
    return fold(escape_controls(text), page.width)


def _block(document: Document, block: Table | Fields | Findings, page: Page) -> Iterator[str]:
    if block.title:
        yield page.paint(block.title, HEADING)
    match block:
        case Steps() if page.width is not None:
            yield from _steps(look_up(document.data, block.rows), block, page)
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
    laid = _lay(columns, lines, page.width)
    if below := _below(block, columns, lines, laid, page):
        yield from below
    elif laid is None or _is_taller(laid, page):
        yield from _grouped(lines, columns, page) or _expanded(lines, columns, page)
    else:
        yield from laid.header(page)
        yield from (line for number in range(len(lines)) for line in laid.row(number, page))
    if alike:
        yield from (page.paint(line, Tone.FAINT) for line in fold(f"all: {alike}", page.width))
    if len(lines) < len(rows):
        yield page.paint(more_words(len(rows) - len(lines)), Tone.FAINT)


class _Laid(Struct, frozen=True):
    """Rows whose cells share the width, but for the long name of a row, in column `long`: it has a line above them."""

    columns: Sequence[Column]
    lines: list[list[str]]
    widths: Sequence[int]
    long: Mapping[int, int] = MappingProxyType({})

    @property
    def height(self) -> int:
        """The lines that the rows take."""
        beside = _beside(self.lines, self.long)
        folded = (max(map(len, map(fold, cells, self.widths))) for cells in beside)
        return sum(folded) + len(self.long)

    def header(self, page: Page) -> Iterator[str]:
        return self._line([column.header for column in self.columns], [HEADING] * len(self.columns), page)

    def row(self, number: int, page: Page) -> Iterator[str]:
        cells = self.lines[number]
        if number in self.long:
            name = cells[self.long[number]]
            yield page.paint(name, self.columns[self.long[number]].tones.get(name))
            [cells] = _beside([cells], {0: self.long[number]})
            if not any(cells):
                return
        styles = [column.tones.get(text) for column, text in zip(self.columns, cells, strict=True)]
        yield from self._line(cells, styles, page)

    def _line(self, cells: Sequence[str], styles: Sequence[Tone | str | None], page: Page) -> Iterator[str]:
        return rows_of_lines(cells, styles, self.widths, [column.align for column in self.columns], page)


def _lay(columns: Sequence[Column], lines: list[list[str]], width: int | None) -> _Laid | None:
    """The rows as a table, if need be with long names above their rows; None where that is too wide as well."""
    headers = [column.header for column in columns]
    widths = fit([headers, *lines], width)
    if widths is not None:
        return _Laid(columns, lines, widths)
    for long in () if width is None else _long_names(lines, width // 3):
        widths = fit([headers, *_beside(lines, long)], width)
        if widths is not None:
            return _Laid(columns, lines, widths, long)
    return None


def _below(
    block: Table, columns: tuple[Column, ...], lines: list[list[str]], whole: _Laid | None, page: Page
) -> list[str]:
    """The rows with their sentences below them; nothing where the table takes less, or nothing fits."""
    last = next((number for number, column in enumerate(columns) if column.path in block.below), 0)
    if page.width is None or not last:
        return []
    laid = _lay(columns[:last], [cells[:last] for cells in lines], page.width)
    sentences = [": ".join(text for text in cells[last:] if text not in EMPTY) for cells in lines]
    folded = [fold(text, page.width - len(INDENT)) for text in sentences]
    if laid is None or (whole is not None and whole.height <= laid.height + sum(map(len, folded))):
        return []
    headers = ": ".join(column.header for column in columns[last:])
    found = [*laid.header(page), INDENT + page.paint(headers, HEADING)]
    for number, sentence in enumerate(folded):
        found += [*laid.row(number, page), *(INDENT + line for line in sentence)]
    return found


def _steps(rows: Tree, block: Steps, page: Page) -> Iterator[str]:
    reason, command = block.columns
    for row in rows if isinstance(rows, list) else ():
        yield from fold(f"{_text(row, reason.path)}:", page.width)
        yield INDENT + page.paint(_text(row, command.path), HEADING)


def _long_names(lines: list[list[str]], least: int) -> Iterator[dict[int, int]]:
    """The columns of names with more than `least` characters by row, from the longest alone to all of them.

    It ends where a row would have two.
    """
    names = [
        (columns_across(text), row, place)
        for row, cells in enumerate(lines)
        for place, text in enumerate(cells)
        if " " not in text and columns_across(text) > least
    ]
    found: dict[int, int] = {}
    for _, equal in groupby(sorted(names, reverse=True), key=lambda name: name[0]):
        for _, row, place in equal:
            if row in found:
                return
            found[row] = place
        yield dict(found)


def _is_taller(laid: _Laid, page: Page) -> bool:
    """True if the rows take more lines than each of their values on its own line."""
    if page.width is None:
        return False
    room = _room(laid.columns, page.width)
    alone = sum(len(fold(text, room)) for cells in laid.lines for text in cells) + len(laid.lines)
    return laid.height > alone


def _room(columns: Sequence[Column], width: int) -> int:
    """The columns that are left for values beside the headers."""
    return max(width - max(len(column.header) for column in columns) - GAP, 20)


def _beside(lines: list[list[str]], long: Mapping[int, int]) -> list[list[str]]:
    """The rows without the long names, which get a line of their own."""
    return [
        [*cells[: long[row]], "", *cells[long[row] + 1 :]] if row in long else cells for row, cells in enumerate(lines)
    ]


def _cells(row: Tree, columns: tuple[Column, ...], page: Page) -> list[str]:
    return [
        cell(look_up(row, column.path)) if page.width is None or column.brief is None else column.brief(row)
        for column in columns
    ]


def _telling(
    columns: tuple[Column, ...], lines: list[list[str]], page: Page
) -> tuple[tuple[Column, ...], list[list[str]], str]:
    """On a terminal: the first column and the non-empty ones; if these are too wide, a column with one value in all
    rows is removed, too, and stated in one line for all."""
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


def _grouped(lines: list[list[str]], columns: tuple[Column, ...], page: Page) -> list[str]:
    """The rows under their first cell, where rows share it, without the values that all have, which are said once.

    Nothing where the page is too narrow for that, too.
    """
    if page.width is None or len(columns) == 1 or len({cells[0] for cells in lines}) > len(lines) // 2:
        return []
    alike = [number for number in range(2, len(columns)) if len({cells[number] for cells in lines}) == 1]
    kept = [number for number in range(1, len(columns)) if number not in alike]
    rows = [[cells[number] for number in kept] for cells in lines]
    laid = _lay([columns[number] for number in kept], rows, page.width - len(INDENT))
    if laid is None:
        return []
    text = [page.paint(columns[0].header, HEADING), *(INDENT + line for line in laid.header(page))]
    for first, group in groupby(range(len(lines)), key=lambda number: lines[number][0]):
        text += (page.paint(line, columns[0].tones.get(first)) for line in fold(first, page.width))
        text += (INDENT + line for number in group for line in laid.row(number, page))
    said = ", ".join(f"{columns[number].header} {lines[0][number]}" for number in alike)
    return [*text, *(fold(f"all of these: {said}", page.width) if said else ())]


def _expanded(lines: list[list[str]], columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    for number, values in enumerate(lines):
        if number:
            yield ""
        yield from _pairs(values, columns, page)


def _fields(value: Tree, columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    """A list of sentences or commands is a line for each."""
    said = [(column, text) for column in columns for text in _texts(look_up(value, column.path))]
    yield from _pairs([text for _, text in said], tuple(column for column, _ in said), page)


def _texts(value: Tree) -> list[str]:
    listed = value if isinstance(value, list) else []
    said = any(isinstance(each, str) and " " in each for each in listed)
    return [cell(each) for each in listed] if said else [cell(value)]


COMMAND: Final = ("eosctl ", "curl ", "kafka-")
"""A line with this beginning is never wrapped, so that it can be copied."""


def _pairs(values: list[str], columns: tuple[Column, ...], page: Page) -> Iterator[str]:
    left = max(len(column.header) for column in columns)
    room = None if page.width is None else _room(columns, page.width)
    before = None
    for column, text in zip(columns, values, strict=True):
        right = columns_across(text) if room is None or text.startswith(COMMAND) else room
        cells, styles = ["" if column is before else column.header, text], [HEADING, column.tones.get(text)]
        before = column
        yield from rows_of_lines(cells, styles, [left, right], [Align.LEFT, Align.LEFT], page)


def _reasons(document: Document) -> Iterable[str]:
    """Reasons for a block's unknown values, each once."""
    reasons: dict[str, dict[str, None]] = {}
    for block in document.blocks:
        if isinstance(block, Findings):
            continue
        place = look_up(document.data, block.at if isinstance(block, Fields) else block.rows)
        rows: Iterable[Any] = place if isinstance(place, list) else [place]
        for row in place.doubtful() if isinstance(place, RowStream) else rows:
            for column in block.columns:
                value = look_up(row, column.path)
                if isinstance(value, dict) and is_skipped(value):
                    named = {column.header: None} if isinstance(block, Fields) else {}
                    reasons.setdefault(str(value["skipped"]), {}).update(named)
    return [f"{', '.join(headers)} unknown: {reason}".lstrip() for reason, headers in reasons.items()]


# YAML for people and programs: no aliases, and no character that a terminal does not show.


def yaml_text(documents: Iterable[Any], *, width: int = 1 << 30, explicit_start: bool = False) -> str:
    """The documents, in block style; each is written twice where two others share it."""
    import yaml

    every = list(documents)

    def dumped(base: Any) -> str:  # noqa: ANN401  # PyYAML names no common class
        plain: Any = type("Plain", (base,), {"ignore_aliases": lambda *_: True})
        plain.add_representer(str, _quoted)
        options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "default_flow_style": False}
        return str(yaml.dump_all(every, Dumper=plain, width=width, explicit_start=explicit_start, **options))

    try:
        return escaped_in_yaml(dumped(getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    except UnicodeEncodeError:  # the fast one encodes as it goes and knows no lone surrogates
        return escaped_in_yaml(dumped(yaml.SafeDumper))


def _quoted(dumper: Any, text: str) -> Any:  # noqa: ANN401  # PyYAML's classes have no types
    style = None if (text.isascii() and text.isprintable()) or UNSEEN.search(text) is None else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


# json, jsonl and yaml: the envelope, whole.
#
# 1. json: exactly one document, indented; each row of a list of more than 1,000 is on a line of its own.
# 2. jsonl: the envelope on the first line, with every list that a block shows replaced by the number of its rows; then
#    each of these rows on a line of its own: {"kind": "<kind>/<path of the list>", "version": N, "data": <row>}.
# 3. yaml: the same tree as json.


MANY: Final = 1000
_encode: Final = stdlib_json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
_encode_row: Final = Encoder().encode


def json(envelope: Tree) -> str:
    """One indented JSON document in UTF-8; invisible characters are escaped."""
    return "".join(json_pieces(envelope))


def json_pieces(envelope: Tree) -> Iterator[str]:
    """The same piece by piece, with one streamed row at a time."""
    return map(escaped_in_json, chain(_indented(envelope, "\n"), ("\n",)))


def _indented(value: Tree, newline: str) -> Iterator[str]:
    """The text of json.dumps(indent=2); the compiled encoder writes its rows if they are many."""
    inner = newline + INDENT
    match value:
        case {} if value:
            lead = "{"
            for name, item in value.items():
                yield f"{lead}{inner}{_encode(name)}: "
                yield from _indented(item, inner)
                lead = ","
            yield newline + "}"
        case [_, *_] if len(value) > MANY:
            lead, encode = "[", _row if isinstance(value, RowStream) else _encode
            for item in value:
                yield f"{lead}{inner}{encode(item)}"
                lead = ","
            yield newline + "]"
        case [_, *_]:
            lead = "["
            for item in value:
                yield lead + inner
                yield from _indented(item, inner)
                lead = ","
            yield newline + "]"
        case _:
            yield _encode(value)


def _row(row: Tree) -> str:
    """The text of _encode for a row of a RowStream, in an eighth of its time; a double may have another exponent."""
    try:
        return with_blanks(_encode_row(row), indent=0).decode()
    except (TypeError, UnicodeEncodeError):  # a str of another type, half of a surrogate pair
        return _encode(row)


def json_line(envelope: Tree) -> str:
    return (
        escaped_in_json(stdlib_json.dumps(envelope, ensure_ascii=False, separators=(",", ":"), allow_nan=False)) + "\n"
    )


def _line_of(row: Tree) -> str:
    """The text of json_line for a row of a RowStream."""
    try:
        return escaped_in_json(_encode_row(row).decode()) + "\n"
    except (TypeError, UnicodeEncodeError):
        return json_line(row)


def jsonl(document: Document) -> str:
    """The envelope without its rows, then one line per row."""
    return "".join(jsonl_lines(document))


def jsonl_lines(document: Document) -> Iterator[str]:
    places = list(dict.fromkeys(block.rows for block in document.blocks if not isinstance(block, Fields)))
    found = {place: look_up(document.data, place) for place in places}
    data: Any = document.data
    for place, rows in found.items():
        assert isinstance(rows, list)
        data = _with(data, place.split("."), len(rows))
    yield json_line({**document.envelope(), "data": data})
    for place, rows in found.items():
        assert isinstance(rows, list)
        line = _line_of if isinstance(rows, RowStream) else json_line
        for row in rows:
            yield line({"kind": f"{document.kind}/{place}", "version": document.version, "data": row})


def yaml(envelope: Tree) -> str:
    return yaml_text([_kept(envelope)])


def _kept(value: Tree) -> Tree:
    """The tree with its streamed rows."""
    if isinstance(value, dict):
        return {name: _kept(each) for name, each in value.items()}
    return list(value) if isinstance(value, RowStream) else value


def _with(data: dict[str, Any], path: list[str], value: Tree) -> dict[str, Any]:
    name, *rest = path
    return {**data, name: _with(data[name], rest, value) if rest else value}


class Output(StrEnum):
    """`-o`: table and wide for people; the others for programs, never wrapped or shortened."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    PLAIN = "plain"
    NAME = "name"

    @property
    def is_envelope(self) -> bool:
        """True if even a failure prints a document on stdout."""
        return self in {Output.JSON, Output.JSONL, Output.YAML}

    @property
    def is_rows(self) -> bool:
        return self in {Output.CSV, Output.PLAIN, Output.NAME}


def text_of(document: Document, output: Output, page: Page) -> str:
    """The document in that format, ending with a newline."""
    return "".join(pieces_of(document, output, page))


def pieces_of(document: Document, output: Output, page: Page, *, text_cells: bool = False) -> Iterator[str]:
    """The same piece by piece, so that very many rows are neither kept nor joined; table and yaml come whole.

    text_cells: csv has no cell that a spreadsheet takes for a formula.
    """
    match output:
        case Output.TABLE | Output.WIDE:
            return iter((table(document, page if output is Output.TABLE else replace(page, width=None)),))
        case Output.CSV | Output.PLAIN | Output.NAME:
            csv = partial(csv_lines, text_cells=text_cells)
            lines: dict[Output, Callable[[Document], Iterator[str]]] = {
                Output.CSV: csv,
                Output.PLAIN: plain_lines,
                Output.NAME: name_lines,
            }
            return lines[output](document)
        case Output.JSONL:
            return jsonl_lines(document)
        case Output.JSON:
            return json_pieces(document.envelope())
        case Output.YAML:
            return iter((yaml(document.envelope()),))
    assert_never(output)


def json_of(document: Document, result: Result) -> str:
    """A whole answer with its envelope: what `-o json` writes, and a ledger keeps of an audit."""
    return json(document.with_unread(result.coverage, complete=result.complete).envelope())


def text_of_envelope(envelope: Tree, output: Output) -> str:
    """An envelope (an answer's or an error's) in json, jsonl or yaml."""
    match output:
        case Output.JSON:
            return json(envelope)
        case Output.JSONL:
            return json_line(envelope)
        case Output.YAML:
            return yaml(envelope)
        case Output.TABLE | Output.WIDE | Output.CSV | Output.PLAIN | Output.NAME:
            raise ValueError(f"{output} has no envelope")
    assert_never(output)
