"""The five output formats, by name."""

from collections.abc import Iterator
from enum import StrEnum
from typing import assert_never

from eosctl.render import machine
from eosctl.render.document import Document, Tree
from eosctl.render.layout import Page
from eosctl.render.plain import plain_lines


class Output(StrEnum):
    """`-o`: table for people; the others for programs, never wrapped or shortened."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    PLAIN = "plain"

    @property
    def is_envelope(self) -> bool:
        """Whether even a failure leaves a document on stdout."""
        return self in {Output.JSON, Output.JSONL, Output.YAML}


def text_of(document: Document, output: Output, page: Page) -> str:
    """The document in that format, ending with a newline."""
    return "".join(pieces_of(document, output, page))


def pieces_of(document: Document, output: Output, page: Page) -> Iterator[str]:
    """The same piece by piece, so that very many rows are neither kept nor joined; table and yaml come whole."""
    match output:
        case Output.TABLE:
            from eosctl.render.table import table

            return iter((table(document, page),))
        case Output.PLAIN:
            return plain_lines(document)
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
        case Output.TABLE | Output.PLAIN:
            raise ValueError(f"{output} has no envelope")
    assert_never(output)
