"""The five output formats, by name."""

from enum import StrEnum
from typing import assert_never

from eosctl.render.document import Document, Tree
from eosctl.render.layout import Page


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
    from eosctl.render import machine

    match output:
        case Output.TABLE:
            from eosctl.render.table import table

            return table(document, page)
        case Output.PLAIN:
            from eosctl.render.plain import plain

            return plain(document)
        case Output.JSONL:
            return machine.jsonl(document)
        case Output.JSON | Output.YAML:
            return text_of_envelope(document.envelope(), output)
    assert_never(output)


def text_of_envelope(envelope: Tree, output: Output) -> str:
    """An envelope (an answer's or an error's) in json, jsonl or yaml."""
    from eosctl.render import machine

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
