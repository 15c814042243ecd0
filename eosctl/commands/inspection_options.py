"""The options of inspect-config."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.model.records import IsolationLevel

NamedConnectors: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[CONNECTOR]...", help="Only these; all if none is named.")
]
Isolation: TypeAlias = Annotated[
    IsolationLevel,
    typer.Option(help="Read as a worker with exactly-once enabled does (read_committed), or as the others do."),
]
ReaderVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Read as a worker of this version; else as the worker at --connect-url, else as 4.3.",
    ),
]
RecordsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Read records from this file and not from a cluster; their form is described above."
    ),
]
History: TypeAlias = Annotated[bool, typer.Option(help="Show every record and what it did, instead of the outcome.")]
