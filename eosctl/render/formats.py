"""The output formats, by name."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import assert_never

from eosctl.render import machine
from eosctl.render.document import Document, Tree
from eosctl.render.layout import Page
from eosctl.render.plain import csv_lines, name_lines, plain_lines


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
        """Whether even a failure leaves a document on stdout."""
        return self in {Output.JSON, Output.JSONL, Output.YAML}

    @property
    def is_rows(self) -> bool:
        """Whether stdout has room for rows only."""
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
            from eosctl.render.table import table

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
            return machine.jsonl_lines(document)
        case Output.JSON:
            return machine.json_pieces(document.envelope())
        case Output.YAML:
            return iter((machine.yaml(document.envelope()),))
    assert_never(output)


def text_of_envelope(envelope: Tree, output: Output) -> str:
    """An envelope (an answer's or an error's) in json, jsonl or yaml."""
    match output:
        case Output.JSON:
            return machine.json(envelope)
        case Output.JSONL:
            return machine.json_line(envelope)
        case Output.YAML:
            return machine.yaml(envelope)
        case Output.TABLE | Output.WIDE | Output.CSV | Output.PLAIN | Output.NAME:
            raise ValueError(f"{output} has no envelope")
    assert_never(output)
