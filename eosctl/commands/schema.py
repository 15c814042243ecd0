"""`eosctl schema`: the JSON Schemas of what `-o json` prints."""

from typing import Annotated, TypeAlias

import typer

from eosctl.errors import UsageError
from eosctl.model.names import did_you_mean
from eosctl.render.answers.kinds import KINDS_TABLE
from eosctl.shell.options import GlobalOptions, printing, showing

app = typer.Typer()

Kind: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="KIND", help="The `kind` of a document.", show_default=False),
]


@app.command()
@showing(KINDS_TABLE)
@printing
def schema(options: GlobalOptions, kind: Kind = None) -> None:
    """Print the JSON Schema of a document that -o json prints.

    Use it to validate documents, or to generate code that reads them. Without KIND all kinds are listed. Fields may be
    added without a new version, so the schemas allow fields that they do not name. In every answer, `complete` is false
    if needed facts could not be read, and `unread` lists them. The schema itself is printed, unless -o json, jsonl or
    yaml asks for a document with it.

    Examples:
      eosctl schema
      eosctl schema doctor > doctor.schema.json
      eosctl schema error
    """
    from eosctl.render.answers import kinds

    if kind is None:
        options.console.result(kinds.view_kinds())
    elif kind not in kinds.KINDS_BY_NAME:
        hint = did_you_mean(kind, kinds.KINDS_BY_NAME, "`eosctl schema` lists all kinds")
        raise UsageError(f"there is no document of kind {kind}", hint=hint)
    else:
        envelope = options.console.output.is_envelope
        found = kinds.KINDS_BY_NAME[kind]
        options.console.result(kinds.view_schema(found) if envelope else kinds.schema_text(found))
