"""The kinds of documents, and the JSON Schema of one."""

import json
from typing import Final

from eosctl.render.document import Column, Document, Table, figure
from eosctl.render.documents.help import KindRow, KindsData, SchemaData
from eosctl.render.kinds import BY_NAME, DocumentKind

KINDS_BY_NAME: Final = BY_NAME
KINDS = Table(
    "kinds",
    (
        Column("KIND", "kind", "what the document calls itself"),
        figure("VERSION", "version", "the revision of its shape"),
        Column("COMMANDS", "commands", "the commands that print it"),
    ),
)


def view_kinds() -> Document:
    """`schema`: every kind."""
    rows: list[KindRow] = [
        {"kind": each.name, "version": each.version, "commands": list(each.commands)} for each in BY_NAME.values()
    ]
    data: KindsData = {"kinds": rows}
    return Document("schemas", data, blocks=(KINDS,))


def view_schema(kind: DocumentKind) -> Document:
    """`schema KIND` in a format for programs."""
    data: SchemaData = {"schema": kind.schema()}
    return Document("schema", data)


def schema_text(kind: DocumentKind) -> str:
    """`schema KIND`: the schema itself."""
    return json.dumps(kind.schema(), indent=2) + "\n"
